//go:build !amd64 && !arm64

package picture

// The filter is untested on this architecture: without one the child refuses to decode.
const (
	auditArch    = 0
	foreignCalls = 0
)

var ownCalls, olderCalls, fileCalls, olderFileCalls []uint32

func limitedCalls(uint32) []limitedCall { return nil }
func readOnlyCalls() []limitedCall      { return nil }
