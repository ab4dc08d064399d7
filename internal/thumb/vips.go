package thumb

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"larder/internal/thumb/picture"
)

// vipsRetry is the pause of a vipsFinder after a search that failed.
const vipsRetry = time.Minute

// vipsFinder searches for vipsthumbnail and remembers its path.
type vipsFinder struct {
	search  func(ctx context.Context) (string, error)
	timeout time.Duration // of a search
	now     func() time.Time
	log     *slog.Logger

	lock  chan struct{} // holds one value while a call uses the fields below
	found bool
	path  string // valid if found
	err   error  // of the last search
	next  time.Time
}

// find returns the path of vipsthumbnail, "" if only Go's decoders are to be used. If the last
// search failed less than vipsRetry ago, find returns its error and does not search again.
func (f *vipsFinder) find(ctx context.Context) (string, error) {
	select {
	case f.lock <- struct{}{}:
		defer func() { <-f.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if f.found || f.now().Before(f.next) {
		return f.path, f.err
	}
	patient, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	f.path, f.err = f.search(patient)
	f.found = f.err == nil
	if !f.found && ctx.Err() == nil {
		f.next = f.now().Add(vipsRetry)
		f.log.Warn("vipsthumbnail does not answer; thumbnails are made without it for a minute", "error", f.err)
	}
	return f.path, f.err
}

// CheckVips makes a thumbnail of a test picture with the vipsthumbnail at path. child is as in
// Config, spool opens temporary files. It fails when libvips needs what the child's confinement
// refuses, and when the kernel cannot confine the child.
func CheckVips(ctx context.Context, child []string, path string, spool func() (*os.File, error)) error {
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
	args := []string{picture.Command, strconv.Itoa(Edges[0]), path}
	if _, err := runChild(ctx, foreground, child, args, in, out); err != nil {
		return fmt.Errorf("try libvips: %w", err)
	}
	return stripMetadata(out)
}

var vipsVersion = regexp.MustCompile(`\b8\.(\d+)\.\d+`)

// FindVips returns the path of the installed vipsthumbnail. It returns "" when the program is not
// installed, fails, or is older than 8.13, which cannot block untrusted loaders. Errors: that of
// ctx, when it ends before the program has answered, and one for a program that cannot be started.
func FindVips(ctx context.Context) (string, error) {
	const since = 13 // 8.13 supports VIPS_BLOCK_UNTRUSTED
	path, err := exec.LookPath("vipsthumbnail")
	if err != nil {
		return "", nil
	}
	cmd := exec.CommandContext(ctx, path, "--vips-version")
	cmd.Env, cmd.WaitDelay = []string{}, time.Second
	told, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("ask for the version of libvips: %w", ctx.Err())
	}
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		return "", fmt.Errorf("ask for the version of libvips: %w", err)
	}
	version := vipsVersion.FindStringSubmatch(strings.TrimSpace(string(told)))
	if err != nil || version == nil {
		return "", nil
	}
	if minor, err := strconv.Atoi(version[1]); err != nil || minor < since {
		return "", nil
	}
	return path, nil
}
