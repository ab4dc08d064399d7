//go:build linux && !amd64 && !arm64

package picture

// The filter is untested on this architecture. Without a filter the child refuses to decode.
const (
	auditArch       = 0
	foreignABIStart = 0
)

var commonCalls, legacyCalls, fileCalls, legacyFileCalls []uint32

// There are no such calls without a filter.
func conditionalCalls(uint32) []conditionalCall { return nil }

// There are no such calls without a filter.
func readOnlyCalls() []conditionalCall { return nil }
