package thumb_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// patience is the limit of a fixture for each step.
const patience = 10 * time.Minute

// fixture is a Maker that records its children.
type fixture struct {
	*thumb.Maker
	dir   string
	count string // a file with a line per child
	clock atomic.Int64
}

// script is the shell script of a child. The shell records its start, runs the script, and may
// execute the real child.
func newFixture(t testing.TB, script string, change ...func(*thumb.Config)) *fixture {
	t.Helper()
	k := &fixture{dir: filepath.Join(t.TempDir(), "cache", "thumbs"), count: filepath.Join(t.TempDir(), "children")}
	k.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	k.Maker = thumb.New(k.config(t, script, change...))
	t.Cleanup(k.Close)
	return k
}

func (f *fixture) config(t testing.TB, script string, change ...func(*thumb.Config)) thumb.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := thumb.Config{
		Dir: f.dir, Child: []string{"/bin/sh", "-c", "echo $$ >> " + f.count + "\n" + script, self},
		Vips:       func(context.Context) (string, error) { return "", nil },
		Spool:      func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "spool") },
		CheckSpace: func() error { return nil }, Slots: 2,
		// long, since a busy machine takes its time
		ChildTimeout: patience, BackgroundTimeout: patience, QueueTimeout: patience,
		Now: func() time.Time { return time.Unix(0, f.clock.Load()) }, Log: slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	return cfg
}

// childScript executes the real child.
const childScript = `exec "$0" "$@"`

// children returns the process ids of the started children.
func (f *fixture) children(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(f.count)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func (f *fixture) wantStarted(t testing.TB, want int) {
	t.Helper()
	if got := len(f.children(t)); got != want {
		t.Errorf("%d children were started, want %d", got, want)
	}
}

// memoryObject is an object in memory, which has to be spooled.
type memoryObject struct{ *bytes.Reader }

func (memoryObject) Close() error { return nil }

// Size is that of all of it.
func (o memoryObject) Size() int64 { return o.Reader.Size() }

func source(id string, content []byte) thumb.Source {
	return thumb.Source{ID: id, Size: int64(len(content)),
		Open: func(context.Context) (blob.Object, error) { return memoryObject{bytes.NewReader(content)}, nil }}
}

var photo = thumbtest.JPEG(thumbtest.Quarters(640, 480))

// get returns the bytes of a thumbnail.
func (f *fixture) get(t testing.TB, from thumb.Source, edge int) (string, thumb.Thumbnail) {
	t.Helper()
	got, err := f.Get(t.Context(), "somebody", from, edge)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	content, err := io.ReadAll(got)
	if err != nil || int64(len(content)) != got.Size() {
		t.Fatal(len(content), got.Size(), err)
	}
	return string(content), got
}

// wantNoThumbnail fails the test unless Get returns NotFound.
func (f *fixture) wantNoThumbnail(t testing.TB, from thumb.Source, edge int) {
	t.Helper()
	if _, err := f.Get(t.Context(), "somebody", from, edge); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}

// A thumbnail is made once for all requests: in parallel, later, and after a restart.
func TestMadeOnce(t *testing.T) {
	t.Parallel()
	k := newFixture(t, childScript)
	from := source("content-1", photo)
	first, about := k.get(t, from, 160)
	if config, format, err := image.DecodeConfig(strings.NewReader(first)); err != nil || config.Width != 160 ||
		format != "jpeg" || about.Type != "image/jpeg" || about.Ext != "jpg" {
		t.Errorf("%v %s %s %v", config, format, about.Type, err)
	}
	var group sync.WaitGroup
	many := newFixture(t, childScript)
	for range 100 {
		group.Go(func() {
			got, err := many.Get(context.Background(), "somebody", source("content-2", photo), 320)
			if err != nil {
				t.Error(err)
				return
			}
			got.Close()
		})
	}
	group.Wait()
	many.wantStarted(t, 1)

	again, same := k.get(t, from, 160)
	if again != first || same.ETag != about.ETag || !strings.HasPrefix(about.ETag, `"`) {
		t.Errorf("%s, then %s", about.ETag, same.ETag)
	}
	if _, other := k.get(t, from, 320); other.ETag == about.ETag {
		t.Error("another size has the same ETag")
	}
	k.wantStarted(t, 2)
	k.Close()
	k.Maker = thumb.New(k.config(t, childScript))
	if kept, after := k.get(t, from, 160); kept != first || after.ETag != about.ETag {
		t.Errorf("after a restart: %s, before %s", after.ETag, about.ETag)
	}
	k.wantStarted(t, 2)
}

// Files of the cache that are lost, truncated or changed are made again and never served.
func TestCacheIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"lost": os.Remove, "cut off": func(path string) error { return os.Truncate(path, 100) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"changed": func(path string) error {
			content, err := os.ReadFile(path)
			if err == nil {
				content[len(content)/2] ^= 1
				err = os.WriteFile(path, content, 0o600)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newFixture(t, childScript)
			first, _ := k.get(t, source("content", photo), 160)
			k.Close()
			files, err := filepath.Glob(filepath.Join(k.dir, "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := harm(files[0]); err != nil {
				t.Fatal(err)
			}
			k.Maker = thumb.New(k.config(t, childScript))
			if again, _ := k.get(t, source("content", photo), 160); again != first {
				t.Error("another thumbnail is served")
			}
			k.wantStarted(t, 2)
			k.Close()
		})
	}
}

// A picture without a thumbnail starts one child in 15 minutes, for all sizes.
func TestFailuresAreRemembered(t *testing.T) {
	t.Parallel()
	k := newFixture(t, childScript)
	from := source("content", photo[:len(photo)/2])
	for range 3 {
		k.wantNoThumbnail(t, from, 160)
		k.wantNoThumbnail(t, from, 2048)
	}
	k.wantStarted(t, 1)
	k.clock.Add(int64(15*time.Minute - time.Second))
	k.wantNoThumbnail(t, from, 160)
	k.wantStarted(t, 1)
	k.clock.Add(int64(time.Second))
	k.wantNoThumbnail(t, from, 160)
	k.wantStarted(t, 2)
	k.get(t, source("another", photo), 160)

	large := source("large", photo)
	large.Size = thumb.MaxSource + 1
	k.wantNoThumbnail(t, large, 160)
	k.wantStarted(t, 3)
}

// A child that exceeds its time is killed with all processes that it started. If it has used little
// processor time, the machine may have been busy: the fault is RateLimited, and the next request
// tries again.
func TestHangingChildIsKilled(t *testing.T) {
	t.Parallel()
	for limit := 200 * time.Millisecond; ; limit *= 2 {
		k := newFixture(t, "sleep 3600 & sleep 3600", func(cfg *thumb.Config) { cfg.ChildTimeout = limit })
		for range 3 {
			_, err := k.Get(t.Context(), "somebody", source("content", photo), 160)
			if !fault.Is(err, fault.RateLimited) || !errors.Is(err, thumb.ErrBusy) {
				t.Errorf("a thumbnail: %v", err)
			}
		}
		k.wantNoThumbnail(t, source("content", photo), 2048) // and after three times it is remembered
		if _, err := k.Camera(t.Context(), "somebody", source("content", photo)); !errors.Is(err, thumb.ErrBusy) {
			t.Errorf("a camera: %v", err)
		}
		if len(k.children(t)) < 4 && limit < time.Minute && !t.Failed() {
			continue // on a busy machine a child was killed before it recorded its start
		}
		k.wantStarted(t, 4)
		for _, id := range k.children(t) {
			wantNoProcess(t, id)
		}
		files, err := filepath.Glob(filepath.Join(k.dir, "*"))
		if err != nil || len(files) != 0 {
			t.Errorf("left behind: %v, %v", files, err)
		}
		return
	}
}

// burn is the argument of a process that uses as much processor time as it can get, also beside
// other processes.
const burn = "burn"

func init() {
	if len(os.Args) != 2 || os.Args[1] != burn {
		return
	}
	const threads = 16
	runtime.GOMAXPROCS(threads)
	for range threads {
		go func() {
			for n := 0; ; n++ {
			}
		}()
	}
	select {}
}

// If a child exceeds its time and has used much of the processor, its picture has no thumbnail. The
// Maker remembers this.
func TestCostlyPicture(t *testing.T) {
	t.Parallel()
	for limit := 200 * time.Millisecond; ; limit *= 2 {
		k := newFixture(t, `exec "$0" `+burn, func(cfg *thumb.Config) { cfg.ChildTimeout = limit })
		_, errThumbnail := k.Get(t.Context(), "somebody", source("content", photo), 160)
		_, errCamera := k.Camera(t.Context(), "somebody", source("content", photo))
		late := fault.Is(errThumbnail, fault.RateLimited) || fault.Is(errCamera, fault.RateLimited)
		if late && limit < 5*time.Second {
			continue // a busy machine started the child late
		}
		if !fault.Is(errThumbnail, fault.NotFound) || !fault.Is(errCamera, fault.NotFound) {
			t.Errorf("a thumbnail: %v, a camera: %v", errThumbnail, errCamera)
		}
		k.wantNoThumbnail(t, source("content", photo), 2048)
		k.wantStarted(t, 2)
		return
	}
}

// wantNoProcess waits until a process group has ended.
func wantNoProcess(t testing.TB, id string) {
	t.Helper()
	var group int
	if _, err := fmt.Sscan(id, &group); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the group %d is still there", group)
		}
	}
}

// A child is killed when no request waits for it any more, and the picture is not remembered as a
// failure.
func TestAbandonedChildIsStopped(t *testing.T) {
	t.Parallel()
	k := newFixture(t, "sleep 3600")
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := k.Get(ctx, "somebody", source("content", photo), 160)
		gone <- err
	}()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(k.children(t)) == 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("no child was started")
		}
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantNoProcess(t, k.children(t)[0])
	k.Close()
	k.Maker = thumb.New(k.config(t, childScript))
	k.get(t, source("content", photo), 160)
	k.Close()
}

// The output of a child must be a picture of an allowed length.
func TestOutput(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nothing": "exit 0", "words": "echo this is no picture at all",
		"a page":    "echo '<html><script>alert(1)</script></html>'",
		"a drawing": `echo '<svg xmlns="http://www.w3.org/2000/svg"/>'`,
		"a failure": "echo no; exit 1", "a death": "kill -9 $$",
	} {
		k := newFixture(t, script)
		k.wantNoThumbnail(t, source("content", photo), 160)
		if files, err := filepath.Glob(filepath.Join(k.dir, "*")); err != nil || len(files) != 0 {
			t.Errorf("%s: left behind: %v, %v", name, files, err)
		}
	}
}

// A child that cannot be confined is an error of the machine: each request fails, and no picture is
// remembered as a failure.
func TestUnconfinedChild(t *testing.T) {
	t.Parallel()
	k := newFixture(t, fmt.Sprintf("exit %d", picture.Unconfined))
	for range 2 {
		if _, err := k.Get(t.Context(), "somebody", source("content", photo), 160); err == nil ||
			fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	}
	k.wantStarted(t, 2)
}

// CheckVips reports whether libvips works under the confinement.
func TestTry(t *testing.T) {
	t.Parallel()
	spool := func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "spool") }
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	vips := findVips(t)
	if err := thumb.CheckVips(t.Context(), []string{self}, vips, spool); err != nil {
		t.Error(err)
	}
	if err := thumb.CheckVips(t.Context(), []string{self}, "/bin/true", spool); err == nil {
		t.Error("a program that writes nothing works")
	}
	script := filepath.Join(t.TempDir(), "vipsthumbnail")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+vips+` "$@"`), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := thumb.CheckVips(t.Context(), []string{self}, script, spool); err == nil {
		t.Error("a script that executes another program works")
	}
}

// A child that cannot be started, and a failing store, are not failures of the picture: the next
// request tries again.
func TestFailuresOfOthers(t *testing.T) {
	t.Parallel()
	k := newFixture(t, childScript, func(cfg *thumb.Config) {
		cfg.Child = []string{filepath.Join(t.TempDir(), "no such program")}
	})
	if _, err := k.Get(t.Context(), "somebody", source("content", photo), 160); err == nil ||
		fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	k = newFixture(t, childScript)
	down := fault.New(fault.Unavailable, "down")
	broken := thumb.Source{ID: "content", Size: 1,
		Open: func(context.Context) (blob.Object, error) { return nil, down }}
	if _, err := k.Get(t.Context(), "somebody", broken, 160); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	slow := thumb.Source{ID: "content", Size: 1, Open: func(ctx context.Context) (blob.Object, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	k = newFixture(t, childScript, func(cfg *thumb.Config) { cfg.FetchTimeout = time.Millisecond })
	if _, err := k.Get(t.Context(), "somebody", slow, 160); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("a store that is too slow: %v", err)
	}
	k.get(t, source("content", photo), 160)
	full := newFixture(t, childScript, func(cfg *thumb.Config) { cfg.CheckSpace = func() error { return down } })
	if _, err := full.Get(t.Context(), "somebody", source("content", photo), 160); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	full.wantStarted(t, 0)
}

// The child has an empty environment and none of the server's files but the picture and the
// thumbnail.
func TestChildEnvironment(t *testing.T) {
	t.Setenv("LARDER_SECRET_KEY", "a secret")
	told := filepath.Join(t.TempDir(), "told")
	k := newFixture(t, "{ env; ls -l /proc/self/fd; pwd; } > "+told+"\n"+childScript)
	k.get(t, source("content", photo), 160)
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "LARDER_") || strings.Contains(string(text), "a secret") ||
		strings.Contains(string(text), "socket:") || !strings.HasSuffix(string(text), "\n/\n") {
		t.Errorf("%s", text)
	}
}

// findVips returns the path of vipsthumbnail.
func findVips(t testing.TB) string {
	t.Helper()
	path, err := thumb.FindVips(t.Context())
	if path == "" || err != nil {
		t.Fatalf("there is no vipsthumbnail here; scripts/install-test-tools installs it: %v", err)
	}
	return path
}

// A vipsthumbnail that does not answer in time is asked again after a minute. Until then, a picture
// that Go's decoders fail on does not count as one without a thumbnail.
func TestVipsAnswersLate(t *testing.T) {
	t.Parallel()
	path := findVips(t)
	ctx, end := context.WithCancel(t.Context())
	end()
	asked := 0
	k := newFixture(t, childScript, func(cfg *thumb.Config) {
		cfg.Vips = func(now context.Context) (string, error) {
			if asked++; asked == 1 {
				now = ctx
			}
			return thumb.FindVips(now)
		}
	})
	if _, about := k.get(t, source("content", photo), 160); about.Type != "image/jpeg" {
		t.Errorf("without libvips: %s", about.Type)
	}
	k.clock.Add(int64(time.Minute - 1))
	if _, err := k.Get(t.Context(), "somebody", source("heic", thumbtest.HEIC), 160); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a HEIC without libvips: %v", err)
	}
	k.clock.Add(1)
	for id, content := range map[string][]byte{"heic": thumbtest.HEIC, "another": photo} {
		if _, about := k.get(t, source(id, content), 160); about.Type != "image/webp" {
			t.Errorf("%s with libvips at %s: %s", id, path, about.Type)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// libvips makes the thumbnail where it is installed, and Go's decoders after its failure. The
// thumbnail contains only pixels.
func TestVips(t *testing.T) {
	t.Parallel()
	path := findVips(t)
	withVips := func(cfg *thumb.Config) { cfg.Vips = func(context.Context) (string, error) { return path, nil } }
	k := newFixture(t, childScript, withVips)
	original := thumbtest.InJPEG(photo, thumbtest.EXIF(binary.BigEndian, 6))
	content, about := k.get(t, source("content", original), 160)
	if about.Type != "image/webp" || about.Ext != "webp" {
		t.Errorf("%s", about.Type)
	}
	for _, mark := range []string{thumbtest.CameraCoordinates, "EXIF", "Exif", "XMP ", "ICCP"} {
		if strings.Contains(content, mark) {
			t.Errorf("the thumbnail holds %q", mark)
		}
	}
	if decoded, _, err := thumbtest.Decode([]byte(content)); err != nil || decoded.Bounds().
		Size() != image.Pt(120, 160) {
		t.Errorf("%v", err)
	}
	if glass, _ := k.get(t, source("glass", thumbtest.PNG(thumbtest.HalfTransparent(300, 200))), 160); !seesThrough(t,
		glass) {
		t.Error("the thumbnail has no transparency any more")
	}
	k.wantStarted(t, 2)

	broken := newFixture(t, `if [ $# = 3 ]; then echo half a picture; exit 1; fi; `+childScript, withVips)
	if _, about := broken.get(t, source("content", photo), 160); about.Type != "image/jpeg" {
		t.Errorf("%s", about.Type)
	}
	broken.wantStarted(t, 2)
}

func seesThrough(t testing.TB, thumbnail string) bool {
	decoded, _, err := thumbtest.Decode([]byte(thumbnail))
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, alpha := decoded.At(decoded.Bounds().Dx()/4, decoded.Bounds().Dy()/4).RGBA()
	return alpha < 0x1000
}

// Sweep removes the thumbnails of contents that no longer exist, and no others.
func TestSweep(t *testing.T) {
	t.Parallel()
	k := newFixture(t, childScript)
	k.get(t, source("gone", photo), 160)
	k.get(t, source("gone", photo), 320)
	k.get(t, source("here", photo), 160)
	var asked []string
	err := k.Sweep(t.Context(), func(_ context.Context, ids []string) (map[string]bool, error) {
		asked = ids
		return map[string]bool{"here": true}, nil
	})
	if err != nil || strings.Join(asked, " ") != "gone here" {
		t.Errorf("asked for %v: %v", asked, err)
	}
	if files, err := filepath.Glob(filepath.Join(k.dir, "*", "*")); err != nil || len(files) != 1 ||
		!strings.HasPrefix(filepath.Base(files[0]), "here_") {
		t.Errorf("%v, %v", files, err)
	}
	k.get(t, source("here", photo), 160)
	k.wantStarted(t, 3)
	failing := errors.New("the database is down")
	if err := k.Sweep(t.Context(), func(context.Context, []string) (map[string]bool, error) {
		return nil, failing
	}); !errors.Is(err, failing) {
		t.Errorf("%v", err)
	}
	k.get(t, source("here", photo), 160)
	k.wantStarted(t, 3)
}

// Make uses no cache, and waits for its turn as Get does.
func TestMake(t *testing.T) {
	t.Parallel()
	f := newFixture(t, childScript)
	write := func(content []byte) *os.File {
		file, err := os.CreateTemp(t.TempDir(), "picture")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		if _, err := file.Write(content); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for range 2 {
		content, mimeType, err := f.Make(t.Context(), "somebody", write(photo), 256)
		if err != nil || mimeType != "image/jpeg" {
			t.Fatal(mimeType, err)
		}
		small, _, err := thumbtest.Decode(content)
		if err != nil || small.Bounds().Size() != image.Pt(256, 192) {
			t.Error(small.Bounds(), err)
		}
	}
	f.wantStarted(t, 2)
	busy := newFixture(t, "sleep 3600", func(cfg *thumb.Config) { cfg.ChildTimeout = 200 * time.Millisecond })
	if _, _, err := busy.Make(t.Context(), "somebody", write(photo), 256); !fault.Is(err, fault.RateLimited) {
		t.Errorf("on a busy machine: %v", err)
	}
	if _, _, err := f.Make(t.Context(), "somebody", write([]byte("no picture")), 256); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	f.Close()
	if _, _, err := f.Make(t.Context(), "somebody", write(photo), 256); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after Close: %v", err)
	}
}
