package picture

// For tests that run as the child or examine the filter.
var (
	Confine = confine
	Ruleset = ruleset
)
