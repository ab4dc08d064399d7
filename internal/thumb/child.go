package thumb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"larder/internal/thumb/picture"
)

// maxChildOutput is how much of what a child says on its way out is kept for the log.
const maxChildOutput = 1 << 10

// runDecoders has a child write the thumbnail of in to out: with libvips where that is there, and
// by itself if that fails. Both together get as long as one. Fault: NotFound, when there is none.
func (m *Maker) runDecoders(ctx context.Context, in, out *os.File, edge int) error {
	patient, cancel := context.WithTimeout(ctx, m.ChildTimeout)
	defer cancel()
	args := []string{picture.Command, strconv.Itoa(edge)}
	var failed error
	if vips := m.vips(); vips != "" {
		if failed = runChild(patient, m.Child, append(slices.Clone(args), vips), in, out); failed == nil {
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
		err := runChild(patient, m.Child, args, in, out)
		if err == nil {
			return nil
		}
		if code := new(exec.ExitError); errors.As(err, &code) && code.ExitCode() == picture.Unconfined {
			return fmt.Errorf("make a thumbnail: %w", err) // no property of the picture
		}
		failed = errors.Join(failed, err)
	}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil: // nobody waits for it
		return ctx.Err()
	case patient.Err() != nil, errors.As(failed, &ended), errors.Is(failed, errNoPicture):
		return noThumbnail(failed)
	}
	return fmt.Errorf("make a thumbnail: %w", failed)
}

// runChild runs one child, the program child with more arguments, in a group of its own that is
// killed when ctx ends, with nothing of the server's environment and no other file of the server's.
// The child dies with the server, too.
func runChild(ctx context.Context, child, args []string, in, out *os.File) error {
	runtime.LockOSThread() // to the kernel the parent is the thread
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, child[0], append(slices.Clone(child[1:]), args...)...)
	said := &outputHead{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = in, out, said, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// outputHead keeps the beginning of what a child says.
type outputHead struct{ bytes.Buffer }

// Write implements io.Writer.
func (s *outputHead) Write(p []byte) (int, error) {
	s.Buffer.Write(p[:min(len(p), maxChildOutput-s.Len())])
	return len(p), nil
}

// CheckVips makes a thumbnail with the vipsthumbnail at path. It fails where libvips needs what the
// child's confinement refuses, or where the kernel cannot confine it.
func CheckVips(child []string, path string, spool func() (*os.File, error)) error {
	in, err := spool()
	if err != nil {
		return fmt.Errorf("try libvips: %w", err)
	}
	defer in.Close()
	out, err := spool()
	if err != nil {
		return fmt.Errorf("try libvips: %w", err)
	}
	defer out.Close()
	if err := png.Encode(in, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		return fmt.Errorf("try libvips: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	if err := runChild(ctx, child, []string{picture.Command, strconv.Itoa(Edges[0]), path}, in, out); err != nil {
		return fmt.Errorf("try libvips: %w", err)
	}
	return stripMetadata(out)
}

var vipsVersion = regexp.MustCompile(`\b8\.(\d+)\.\d+`)

// FindVips returns the path of vipsthumbnail, "" where it isn't installed, doesn't run or is too
// old to keep the loaders out that it does not trust.
func FindVips() string {
	const since = 13 // 8.13 knows VIPS_BLOCK_UNTRUSTED
	path, err := exec.LookPath("vipsthumbnail")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--vips-version")
	cmd.Env = []string{}
	told, err := cmd.Output()
	version := vipsVersion.FindStringSubmatch(strings.TrimSpace(string(told)))
	if err != nil || version == nil {
		return ""
	}
	if minor, err := strconv.Atoi(version[1]); err != nil || minor < since {
		return ""
	}
	return path
}
