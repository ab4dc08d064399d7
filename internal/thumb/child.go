package thumb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// maxSaid is how much of what a child says on its way out is kept for the log.
const maxSaid = 1 << 10

// make has a child write the thumbnail of in to out: with libvips where that is there, and by itself if that fails. Both together get as long as one.
// Fault: NotFound, when there is none.
func (m *Maker) make(ctx context.Context, in, out *os.File, edge int) error {
	patient, cancel := context.WithTimeout(ctx, m.Patience)
	defer cancel()
	args := []string{picture.Command, strconv.Itoa(edge)}
	var failed error
	if vips := m.vips(); vips != "" {
		if failed = m.run(patient, append(slices.Clone(args), vips), in, out); failed == nil {
			failed = bare(out)
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
		if err := m.run(patient, args, in, out); err == nil {
			return nil
		} else {
			failed = errors.Join(failed, err)
		}
	}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil: // nobody waits for it
		return ctx.Err()
	case patient.Err() != nil, errors.As(failed, &ended), errors.Is(failed, errNoPicture):
		return none(failed)
	}
	return fmt.Errorf("make a thumbnail: %w", failed)
}

// run runs one child, in a group of its own that is killed when ctx ends, with nothing of the server's environment and no other file of the server's. The
// child dies with the server, too.
func (m *Maker) run(ctx context.Context, args []string, in, out *os.File) error {
	runtime.LockOSThread() // to the kernel the parent is the thread
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, m.Child[0], append(slices.Clone(m.Child[1:]), args...)...)
	said := &said{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = in, out, said, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// said keeps the beginning of what a child says.
type said struct{ bytes.Buffer }

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.Buffer.Write(p[:min(len(p), maxSaid-s.Len())])
	return len(p), nil
}

var vipsVersion = regexp.MustCompile(`\b8\.(\d+)\.\d+`)

// FindVips returns the path of vipsthumbnail, "" where it isn't installed, doesn't run or is too old to keep the loaders out that it does not trust.
func FindVips() string {
	const since = 13 // 8.13 knows VIPS_BLOCK_UNTRUSTED
	path, err := exec.LookPath("vipsthumbnail")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
