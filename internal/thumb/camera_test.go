package thumb_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// cameraRequests are requests for the cameras of pictures, with the files that they spool.
type cameraRequests struct {
	*fixture
	mu      sync.Mutex
	spooled []*os.File
	opened  map[string]int // pictures that were opened, by account
}

// ask requests the camera of a picture for an account. The channel receives the error of the
// request, or one that names a wrong camera.
func (r *cameraRequests) ask(ctx context.Context, who string) <-chan error {
	from := source("content", thumbtest.InJPEG(photo, thumbtest.Holiday(binary.LittleEndian)))
	open := from.Open
	from.Open = func(ctx context.Context) (blob.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.opened[who]++
		return open(ctx)
	}
	ended := make(chan error, 1)
	go func() {
		camera, err := r.Camera(ctx, who, from)
		if err == nil && camera.Name() != "NIKON D750" {
			err = errors.New("the camera is " + camera.Name())
		}
		ended <- err
	}()
	return ended
}

func (r *cameraRequests) openedBy(who string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened[who]
}

// await waits until a condition is true.
func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not in time: " + what)
		}
	}
}

// Requests for the camera of a picture wait for a slot of the queue before they open the picture,
// and then for the end of other children. Further requests of an account with 256 waiting ones are
// refused. Requests that were cancelled leave the queue, end their children and close their files.
func TestCameraQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gate, log := filepath.Join(dir, "gate"), filepath.Join(dir, "log")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	release, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	r := &cameraRequests{opened: map[string]int{}}
	r.fixture = newFixture(t, "echo begin >> "+log+"\nread line < "+gate+"\necho end >> "+log+"\n"+childScript,
		func(cfg *thumb.Config) {
			spool := cfg.Spool
			cfg.Slots = 1
			cfg.Spool = func() (*os.File, error) {
				file, err := spool()
				r.mu.Lock()
				defer r.mu.Unlock()
				r.spooled = append(r.spooled, file)
				return file, err
			}
		})
	waiting := func(want int) func() bool {
		return func() bool { n, _ := r.Queued(); return n == want }
	}

	var running []<-chan error
	leaving, leave := context.WithCancel(t.Context())
	running = append(running, r.ask(leaving, "alice")) // a child is started for it
	await(t, "a child", func() bool {
		text, _ := os.ReadFile(log) // there is none before the child has begun
		return string(text) == "begin\n"
	})
	for range 3 {
		running = append(running, r.ask(t.Context(), "alice"))
	}
	await(t, "four pictures are open", func() bool { return r.openedBy("alice") == 4 })

	ctx, cancel := context.WithCancel(t.Context())
	var queued []<-chan error
	for range 256 {
		queued = append(queued, r.ask(ctx, "alice"))
	}
	await(t, "all requests of alice wait", waiting(256))
	if err := <-r.ask(t.Context(), "alice"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a further request of alice: %v", err)
	}
	bob := r.ask(t.Context(), "bob")
	await(t, "another account waits", waiting(257))
	cancel()
	for _, ended := range queued {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled request: %v", err)
		}
	}
	await(t, "bob alone waits", waiting(1))
	if alice, bob := r.openedBy("alice"), r.openedBy("bob"); alice != 4 || bob != 0 {
		t.Errorf("alice opened %d pictures and bob %d, want 4 and 0", alice, bob)
	}

	leave() // the child ends, and the next request starts one; bob takes the slot
	if err := <-running[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request with a child: %v", err)
	}
	wantNoProcess(t, r.children(t)[0])
	if _, err := release.WriteString("\n\n\n\n"); err != nil {
		t.Fatal(err)
	}
	for _, ended := range append(running[1:], bob) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(log)
	if want := "begin " + strings.Repeat("begin end ", 4); err != nil ||
		strings.Join(strings.Fields(string(text)), " ")+" " != want {
		t.Errorf("children: %q, %v, want %q", text, err, want)
	}
	if waiting, free := r.Queued(); waiting != 0 || free != 4 {
		t.Errorf("%d requests wait, %d slots are free, want 0 and 4", waiting, free)
	}
	for _, file := range r.spooled {
		if err := file.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s was not closed: %v", file.Name(), err)
		}
	}
	if len(r.spooled) != 10 { // of five requests the picture and the output
		t.Errorf("%d files were spooled, want 10", len(r.spooled))
	}
}

// A request for the camera ends without a child if the picture cannot be opened, and after Close.
func TestCameraFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, childScript)
	gone := errors.New("the store is away")
	from := thumb.Source{ID: "content", Size: 10, Open: func(context.Context) (blob.Object, error) { return nil, gone }}
	if got, err := f.Camera(t.Context(), "alice", from); !errors.Is(err, gone) || got != (picture.Camera{}) {
		t.Errorf("without the store: %+v, %v", got, err)
	}
	f.Close()
	if _, err := f.Camera(t.Context(), "alice", source("content", photo)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after Close: %v", err)
	}
	if waiting, free := f.Queued(); waiting != 0 || free != 8 {
		t.Errorf("%d requests wait, %d slots are free, want 0 and 8", waiting, free)
	}
	f.wantStarted(t, 0)
}
