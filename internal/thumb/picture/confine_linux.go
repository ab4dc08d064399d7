package picture

import (
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
	maxMemory      = 256 << 20 // bytes of writable memory beyond the program's own
	vipsBaseMemory = 16 << 20  // bytes of writable memory that vipsthumbnail itself has
	maxSeconds     = 10        // of processor time
	// gcTarget is the memory size in bytes above which Go collects garbage more often instead of
	// growing.
	gcTarget = maxMemory * 4 / 5
)

// confine limits this process permanently. With vips "", for Go's decoders, it limits memory,
// processor time and output of the process and filters its system calls. Otherwise vips is the path
// of vipsthumbnail, and confine also restricts the files; system calls and files are restricted for
// this thread alone, in which execVips then runs that program. listener is the descriptor by which
// allowNotified allows its execve(2).
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
	runtime.LockOSThread() // the restrictions below apply to one thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up privileges: %w", err)
	}
	if vips == "" {
		return filterCalls(goFilter(os.Getpid()), unix.SECCOMP_FILTER_FLAG_TSYNC)
	}
	// The server set this signal for the first thread, and vipsthumbnail may run in another.
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

// writableBytes returns how many bytes this process may write to already, see proc(5). Go reserves
// 32 MiB for the metadata of its heap, and more depending on the address of the heap.
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

// execVips replaces this process with vipsthumbnail at program, which makes a WebP of at most edge
// pixels a side; it returns only an error. is and gray tell what the header said. Loaders that
// libvips does not trust are blocked. The check of the first bytes excludes other formats: those
// that are drawn rather than decoded (SVG, PDF), and scripts of ImageMagick.
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
	// colours without a profile are in sRGB; without this argument pure colours come out wrong, and
	// with it gray fails
	if !gray {
		args = append(args, "--import-profile", "srgb")
	}
	// a picture that exceeds the memory is not written to a disk either
	environ := []string{"VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1", "VIPS_DISC_THRESHOLD=1g", "LC_ALL=C"}
	if err := startExecListener(listener); err != nil {
		return err
	}
	return fmt.Errorf("thumb: run vipsthumbnail: %w", syscall.Exec(program, args, environ))
}

// startExecListener starts a thread that lets this one execute vipsthumbnail (allowNotified), and
// makes the Go runtime ready for it. During execve(2) this thread waits in the kernel, but for the
// Go runtime it runs. Therefore nothing in this process may wait for it or interrupt it or the
// answering thread.
func startExecListener(listener int) error {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.GC() // ends a garbage collection in progress, which would stop all threads
	if err := blockSIGURG(); err != nil {
		return err
	}
	// Buffered: if the new thread had to wait until this one receives, this one would wake it and
	// go on to execve(2), and waking it may take another thread, which cannot be started then.
	ready := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // no thread can be started during execve(2)
		ready <- blockSIGURG()
		allowNotified(listener)
	}()
	return <-ready
}

// blockSIGURG prevents the runtime from interrupting this thread with SIGURG, which libvips does
// not use.
func blockSIGURG() error {
	var urgent unix.Sigset_t
	urgent.Val[0] = 1 << (unix.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, nil); err != nil {
		return fmt.Errorf("thumb: block a signal: %w", err)
	}
	return nil
}
