package picture

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter of system calls is a list of allowed calls, so that calls which a later kernel adds
// are refused. A call that is not listed fails with ENOSYS, as on a kernel without it, so that the
// C library falls back to an older call (clone3 to clone, for example). A listed call with refused
// arguments fails with EPERM.

// conditionalCall is a system call that is allowed when all conditions hold.
type conditionalCall struct {
	number     uint32
	conditions []condition
}

// condition compares one half of an argument: its bits in mask (all bits for 0) must equal one of
// the values.
type condition struct {
	argument int
	high     bool // the upper 32 bits, else the lower
	mask     uint32
	values   []uint32
}

// goFilter returns the filter of system calls for Go's decoders in the process pid. They open no
// files, so they need no Landlock.
func goFilter(pid int) []unix.SockFilter {
	return assemble(slices.Concat(commonCalls, legacyCalls), conditionalCalls(uint32(pid)))
}

// vipsFilter returns the filter of system calls for libvips in the process pid. The listener of the
// filter decides about execve(2).
func vipsFilter(pid int) []unix.SockFilter {
	return assemble(slices.Concat(commonCalls, legacyCalls, fileCalls, legacyFileCalls),
		slices.Concat(conditionalCalls(uint32(pid)), readOnlyCalls()), unix.SYS_EXECVE)
}

// Offsets in struct seccomp_data (seccomp(2)).
const (
	numberAt    = 0
	archAt      = 4
	argumentsAt = 16
)

// assemble builds a filter: allowed are the calls that it always allows, limited those with
// conditions, and about asked the listener of the filter decides. It refuses all others; those of
// another architecture kill the process.
func assemble(allowed []uint32, limited []conditionalCall, asked ...uint32) []unix.SockFilter {
	const refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	filter := []unix.SockFilter{load(archAt), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(numberAt)}
	if foreignABIStart != 0 {
		filter = append(filter, jump(unix.BPF_JGE, foreignABIStart, 0, 1), ret(unix.SECCOMP_RET_KILL_PROCESS))
	}
	for _, number := range allowed {
		filter = append(filter, jump(unix.BPF_JEQ, number, 0, 1), ret(unix.SECCOMP_RET_ALLOW))
	}
	for _, number := range asked {
		filter = append(filter, jump(unix.BPF_JEQ, number, 0, 1), ret(unix.SECCOMP_RET_USER_NOTIF))
	}
	for _, call := range limited {
		var block []unix.SockFilter
		for _, c := range call.conditions {
			at := uint32(argumentsAt + 8*c.argument)
			if c.high {
				at += 4
			}
			block = append(block, load(at))
			if c.mask != 0 {
				block = append(block, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask})
			}
			for i, value := range c.values {
				block = append(block, jump(unix.BPF_JEQ, value, uint8(len(c.values)-i), 0)) // to behind the refusal
			}
			block = append(block, ret(refused))
		}
		block = append(block, ret(unix.SECCOMP_RET_ALLOW))
		filter = append(append(filter, jump(unix.BPF_JEQ, call.number, 0, uint8(len(block)))), block...)
	}
	return append(filter, ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
}

// load returns the instruction that loads 32 bits of struct seccomp_data at an offset in bytes.
func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jump returns the instruction that compares the loaded value (BPF_JEQ, BPF_JGE) and skips yes
// instructions if that holds, no otherwise.
func jump(test uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: value, Jt: yes, Jf: no}
}

// ret returns the instruction that ends the filter with an action, such as SECCOMP_RET_ALLOW.
func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// filterCalls installs a filter permanently on this thread, and with SECCOMP_FILTER_FLAG_TSYNC on
// all threads. With SECCOMP_FILTER_FLAG_NEW_LISTENER it returns the descriptor of the filter's
// listener, which execve(2) closes.
func filterCalls(filter []unix.SockFilter, flags uintptr) (listener int, err error) {
	if auditArch == 0 {
		return 0, errors.New("filter system calls: there is no filter for this architecture")
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	got, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, os.NewSyscallError("seccomp", errno)
	}
	if flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 && got != 0 {
		return 0, fmt.Errorf("seccomp: thread %d has a filter of its own", got)
	}
	return int(got), nil
}

// Sizes of struct seccomp_notif and struct seccomp_notif_resp, as encoded in the numbers of their
// ioctls.
const (
	questionSize = 80
	answerSize   = 24
)

// allowNotified allows every call about which the filter asks, until execve(2) ends this thread and
// closes the listener. A filter without a listener returns ENOSYS, so that the executed program
// cannot execute another one, not even itself. Otherwise it could drop the signal at its parent's
// death, which belongs to a thread.
//
// It never returns to Go's scheduler: it makes raw system calls and does not check the stack. The
// scheduler could give this thread's processor to another thread. During execve(2) no thread can be
// started, so this thread would then wait for a processor forever.
//
//go:nosplit
func allowNotified(listener int) {
	for {
		var question [questionSize / 8]uint64 // zero, as the kernel requires
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&question)))
		if errno == unix.EINTR || errno == unix.ENOENT {
			continue
		}
		if errno != 0 {
			return
		}
		answer := struct {
			id    uint64
			value int64
			errno int32
			flags uint32
		}{id: question[0], flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		// after a failure the kernel asks again
		_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
			uintptr(unsafe.Pointer(&answer)))
	}
}
