package picture

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignABIStart is the first call number of the x32 ABI, which the kernel reports as x86-64.
	foreignABIStart = 0x40000000
)

// Older calls that only this architecture has, in addition to their successors in calls.go.
var (
	legacyCalls = []uint32{unix.SYS_DUP2, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT, unix.SYS_TIME,
		unix.SYS_ARCH_PRCTL}
	legacyFileCalls = []uint32{unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK}
	legacyOpenCalls = []conditionalCall{{unix.SYS_OPEN,
		[]condition{{argument: 1, mask: writeFlags, values: []uint32{0}}}}}
)
