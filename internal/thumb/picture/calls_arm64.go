package picture

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	foreignCalls = 0 // numbers of another ABI have another auditArch
)

// This architecture has only the calls of seccomp.go.
var (
	olderCalls     []uint32
	olderFileCalls []uint32
	olderOpen      []limitedCall
)
