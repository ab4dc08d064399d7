package picture

import "golang.org/x/sys/unix"

const (
	auditArch       = unix.AUDIT_ARCH_AARCH64
	foreignABIStart = 0 // numbers of another ABI have another auditArch
)

// This architecture has only the calls of calls.go.
var (
	legacyCalls     []uint32
	legacyFileCalls []uint32
	legacyOpenCalls []conditionalCall
)
