package picture

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

const (
	maxMemory  = 256 << 20 // bytes that may be written to, beyond what the program itself has
	vipsItself = 16 << 20  // which is this much of vipsthumbnail, in bytes
	maxSeconds = 10        // of processor time
	// MaxOutput is how long a thumbnail may be, in bytes: the largest without compression, and some.
	MaxOutput = 20 << 20
	// aim is from what on Go collects garbage rather than take more memory.
	aim = maxMemory * 4 / 5

	noNewPrivileges = 38 // PR_SET_NO_NEW_PRIVS of prctl(2)
)

// confine puts limits on this process, and on what it turns into.
func confine() error {
	own, err := mapped()
	if err != nil {
		return err
	}
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{syscall.RLIMIT_DATA, own + maxMemory}, {syscall.RLIMIT_CPU, maxSeconds}, {syscall.RLIMIT_FSIZE, MaxOutput}, {syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("thumb: set a limit: %w", err)
		}
	}
	runtime.LockOSThread() // the next is a matter of a thread
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("thumb: give up privileges: %w", errno)
	}
	debug.SetMemoryLimit(aim)
	runtime.GOMAXPROCS(1)
	return nil
}

// mapped returns how many bytes this process may write to already, as proc(5) tells: Go sets 32 MiB aside for the maps of its heap, and how much more it is
// depends on where that heap happens to begin.
func mapped() (uint64, error) {
	told, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("thumb: ask for the own size: %w", err)
	}
	var total, resident, shared, text, lib, data uint64 // pages
	if _, err := fmt.Sscan(string(told), &total, &resident, &shared, &text, &lib, &data); err != nil {
		return 0, fmt.Errorf("thumb: ask for the own size: %w", err)
	}
	return data * uint64(os.Getpagesize()), nil
}

// becomeVips has libvips do the rest. Loaders that it does not trust itself stay closed, and of the others only those are reached whose pictures were told by
// their first bytes: nothing that is drawn rather than decoded (SVG, PDF), no scripts of ImageMagick's.
func becomeVips(program string, edge int, is kind, gray bool, in *os.File) error {
	if is == isBMP {
		return fmt.Errorf("thumb: libvips does not decode %s by itself", is)
	}
	if _, err := in.Seek(0, 0); err != nil {
		return fmt.Errorf("thumb: %w", err)
	}
	const most = maxMemory + vipsItself // lower than this process has it
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("thumb: set a limit: %w", err)
	}
	side := strconv.Itoa(edge)
	args := []string{
		"vipsthumbnail", "stdin[fail_on=error]", "--size", side + "x" + side + ">", "--export-profile", "srgb", "--output", ".webp[Q=80,strip,profile=none]",
	}
	if !gray { // colours without a profile are sRGB's; without this pure ones come out wrong, and with it gray fails
		args = append(args, "--import-profile", "srgb")
	}
	environ := []string{"VIPS_BLOCK_UNTRUSTED=1", "VIPS_CONCURRENCY=1", "VIPS_DISC_THRESHOLD=1g", "LC_ALL=C"} // what doesn't fit into memory isn't put on a disk either
	return fmt.Errorf("thumb: run vipsthumbnail: %w", syscall.Exec(program, args, environ))
}
