package thumb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"larder/internal/fault"
	"larder/internal/thumb/picture"
)

// maxChildOutput is how many bytes of a child's standard error are kept for the log.
const maxChildOutput = 1 << 10

// runDecoders makes a child write the thumbnail of in to out, whose longest edge has at most edge
// pixels: first with libvips where it is installed, and when that fails with Go's decoders. Both
// attempts together have childTimeout. vips is the path of vipsthumbnail, "" without it. unknown is
// the error of the search for it: a picture that Go's decoders then fail on gets the error of a
// busy machine, because libvips might decode it. Faults: NotFound, when the picture has no
// thumbnail; RateLimited, see timeoutError. Other errors are not the picture's fault.
func (m *Maker) runDecoders(ctx context.Context, p priority, in, out *os.File, edge int,
	vips string, unknown error) error {
	patient, cancel := context.WithTimeout(ctx, m.childTimeout(p))
	defer cancel()
	args := []string{picture.Command, strconv.Itoa(edge)}
	var failed error
	var used time.Duration // by both
	if vips != "" {
		if used, failed = runChild(patient, p, m.Child, append(slices.Clone(args), vips), in, out); failed == nil {
			failed = stripMetadata(out)
		}
		if failed == nil {
			return nil
		}
		if err := out.Truncate(0); err != nil {
			return fmt.Errorf("make a thumbnail: %w", err)
		}
		if _, err := out.Seek(0, 0); err != nil {
			return fmt.Errorf("make a thumbnail: %w", err)
		}
	}
	if patient.Err() == nil {
		more, err := runChild(patient, p, m.Child, args, in, out)
		used += more
		if err == nil {
			return nil
		}
		if code := new(exec.ExitError); errors.As(err, &code) && code.ExitCode() == picture.Unconfined {
			return fmt.Errorf("make a thumbnail: %w", err) // the cause is not the picture
		}
		failed = errors.Join(failed, err)
	}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil: // no request waits for it
		return ctx.Err()
	case patient.Err() != nil:
		return m.timeoutError(p, used, failed)
	case unknown != nil: // libvips might decode it
		if p == background {
			return ErrStarved
		}
		return busyError(errors.Join(failed, unknown))
	case errors.As(failed, &ended), errors.Is(failed, errNoPicture):
		return noThumbnail(failed)
	}
	return fmt.Errorf("make a thumbnail: %w", failed)
}

// priority is the priority of a child.
type priority bool

const (
	foreground priority = false // a request waits for it
	background priority = true  // it gives way to other processes
)

// ErrStarved means that a child in the background did not end in time, perhaps because of a busy
// machine. A picture that needs too much processor time does not cause this error: the child's
// limit of processor time ends the child earlier.
var ErrStarved = errors.New("a child in the background got too little time")

// childTimeout returns how long a child may run.
func (m *Maker) childTimeout(p priority) time.Duration {
	if p == background {
		return m.BackgroundTimeout
	}
	return m.ChildTimeout
}

// ErrBusy is the cause of the fault for a child that did not end in time because the machine was
// busy.
var ErrBusy = errors.New("a child got too little processor time")

// timeoutError returns the error for a child that was killed because it did not end in time: in the
// background ErrStarved, otherwise a fault. used is the processor time that the child has used. If
// that is less than half of its time, the machine was busy and a later request may succeed:
// RateLimited, around ErrBusy. Otherwise the picture takes too much time: NotFound.
func (m *Maker) timeoutError(p priority, used time.Duration, cause error) error {
	switch {
	case p == background:
		return ErrStarved
	case used < m.ChildTimeout/2:
		return busyError(fmt.Errorf("%w: %w", ErrBusy, cause))
	}
	return noThumbnail(cause)
}

// busyError returns the fault RateLimited, after which the caller may try again.
func busyError(cause error) error {
	busy := fault.Error{Kind: fault.RateLimited, Message: "The server is busy. Please wait a moment.",
		RetryAfter: retry}
	return busy.WithCause(cause)
}

// runChild runs one child with a priority: the command line child followed by args, with in as its
// standard input and out as its output. The child has a process group of its own, which is killed
// when ctx ends, an empty environment, and no other files. It dies with the server. used is the
// processor time that the child has used. The error contains the beginning of the child's standard
// error.
func runChild(ctx context.Context, p priority, child, args []string, in, out *os.File) (used time.Duration, err error) {
	runtime.LockOSThread() // on Linux the child dies when the thread that started it ends
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, child[0], append(slices.Clone(child[1:]), args...)...)
	said := &outputHead{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = in, out, said, []string{}, "/"
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = time.Second
	if err = cmd.Start(); err == nil {
		if p == background {
			lowerPriority(cmd)
		}
		err = cmd.Wait()
	}
	if ended := cmd.ProcessState; ended != nil {
		used = ended.UserTime() + ended.SystemTime()
		if ended.Success() && errors.Is(err, exec.ErrWaitDelay) {
			err = nil // a busy machine read the end of its standard error late
		}
	}
	if err != nil {
		return used, fmt.Errorf("%w: %s", err, said)
	}
	return used, nil
}

// outputHead keeps the first maxChildOutput bytes of a child's output.
type outputHead struct{ bytes.Buffer }

// Write implements io.Writer.
func (h *outputHead) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), maxChildOutput-h.Len())])
	return len(p), nil
}
