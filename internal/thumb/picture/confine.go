package picture

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	maxMemory      = 256 << 20 // bytes that may be written to, beyond what the program itself has
	vipsBaseMemory = 16 << 20  // which is this much of vipsthumbnail, in bytes
	maxSeconds     = 10        // of processor time
	// MaxOutput is how long a thumbnail may be, in bytes: the largest without
	// compression, and some.
	MaxOutput = 20 << 20
	// gcTarget is from what on Go collects garbage rather than take more memory.
	gcTarget = maxMemory * 4 / 5
)

// ErrUnconfined is the error of Main when it cannot confine the process. It has read nothing then.
var ErrUnconfined = errors.New("thumb: the child cannot be confined")

// Unconfined is the exit code of a child whose Main returned ErrUnconfined: the cause is the
// machine and not the picture.
const Unconfined = 3

// confine limits this process for good. With vips, the path of vipsthumbnail, it
// confines this thread alone, for execVips to execute that program in it: then
// listener decides about execve(2).
func confine(vips string) (listener int, err error) {
	most, processors := uint64(maxMemory+vipsBaseMemory), 2 // the second one for allowNotified
	if vips == "" {
		own, err := writableBytes()
		if err != nil {
			return 0, err
		}
		most, processors = own+maxMemory, 1
	}
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_DATA, most}, {unix.RLIMIT_CPU, maxSeconds}, {unix.RLIMIT_FSIZE, MaxOutput}, {unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return 0, fmt.Errorf("set a limit: %w", err)
		}
	}
	debug.SetMemoryLimit(gcTarget)
	runtime.GOMAXPROCS(processors)
	runtime.LockOSThread() // what follows applies to a thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up privileges: %w", err)
	}
	if vips == "" {
		return filterCalls(goFilter(os.Getpid()), unix.SECCOMP_FILTER_FLAG_TSYNC)
	}
	// The server set this signal for the first thread. The thread that executes vipsthumbnail
	// may be another one.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return 0, fmt.Errorf("end with the parent: %w", err)
	}
	rules, err := vipsRules(vips)
	if err != nil {
		return 0, err
	}
	if err := restrictThread(rules); err != nil {
		return 0, err
	}
	return filterCalls(vipsFilter(os.Getpid()), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
}

// writableBytes returns how many bytes this process may write to already, as proc(5) tells: Go
// sets 32 MiB aside for the maps of its heap, and how much more it is depends on where that
// heap happens to begin.
func writableBytes() (uint64, error) {
	told, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("ask for the own size: %w", err)
	}
	var total, resident, shared, text, lib, data uint64 // pages
	if _, err := fmt.Sscan(string(told), &total, &resident, &shared, &text, &lib, &data); err != nil {
		return 0, fmt.Errorf("ask for the own size: %w", err)
	}
	return data * uint64(os.Getpagesize()), nil
}

// execVips has libvips do the rest. Loaders that it does not trust itself stay closed, and of the
// others only those are reached whose pictures were told by their first bytes: nothing that is
// drawn rather than decoded (SVG, PDF), no scripts of ImageMagick's.
func execVips(program string, edge int, is kind, gray bool, in *os.File, listener int) error {
	if is == isBMP {
		return fmt.Errorf("thumb: libvips does not decode %s by itself", is)
	}
	if _, err := in.Seek(0, 0); err != nil {
		return fmt.Errorf("thumb: %w", err)
	}
	side := strconv.Itoa(edge)
	args := []string{
		"vipsthumbnail", "stdin[fail_on=error]", "--size", side + "x" + side + ">", "--export-profile", "srgb",
		"--output", ".webp[Q=80,strip,profile=none]",
	}
	if !gray { // colours without a profile are sRGB's; without this pure ones come out wrong, and with it gray fails
		args = append(args, "--import-profile", "srgb")
	}
	// what doesn't fit into memory isn't put on a disk either
	environ := []string{"VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1", "VIPS_DISC_THRESHOLD=1g", "LC_ALL=C"}
	if err := startExecListener(listener); err != nil {
		return err
	}
	return fmt.Errorf("thumb: run vipsthumbnail: %w", syscall.Exec(program, args, environ))
}

// startExecListener lets this thread execute vipsthumbnail, which it waits for within the call of
// execve(2) as if it ran: nothing in this process may wait for this thread meanwhile, or interrupt
// it or the thread that answers.
func startExecListener(listener int) error {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.GC() // ends the collection that may be under way, which stops all threads
	if err := blockSIGURG(); err != nil {
		return err
	}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // while execve(2) is under way no thread can be started
		ready <- blockSIGURG()
		allowNotified(listener)
	}()
	return <-ready
}

// blockSIGURG keeps the runtime from interrupting this thread by SIGURG, which
// libvips does not use.
func blockSIGURG() error {
	var urgent unix.Sigset_t
	urgent.Val[0] = 1 << (unix.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, nil); err != nil {
		return fmt.Errorf("thumb: block a signal: %w", err)
	}
	return nil
}
