package picture

// For tests that are the child, or look at what the kernel is told.
var (
	Confine = confine
	Ruleset = ruleset
)
