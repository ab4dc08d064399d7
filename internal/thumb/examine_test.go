package thumb_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/thumb"
	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// A whole picture is described, and its thumbnail is made, kept and hashed.
func TestExamine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, childScript)
	turned := thumbtest.InJPEG(photo, thumbtest.EXIF(binary.BigEndian, 6))
	got, err := f.Examine(t.Context(), source("content", turned), true)
	if err != nil || got.Description != (picture.Description{Width: 480, Height: 640, Orientation: 6}) ||
		len(got.ThumbHash) < 10 || len(got.ThumbHash) > picture.MaxHash {
		t.Errorf("%+v, %v", got, err)
	}
	f.wantStarted(t, 3)
	f.get(t, source("content", turned), 320)
	f.wantStarted(t, 3) // the thumbnail is in the cache
}

// The beginning of a picture is described, and nothing else is made of it.
func TestExamineBeginning(t *testing.T) {
	t.Parallel()
	f := newFixture(t, childScript)
	from := source("content", photo[:1000])
	from.Size = int64(len(photo))
	got, err := f.Examine(t.Context(), from, false)
	if err != nil || got.Description != (picture.Description{Width: 640, Height: 480, Orientation: 1}) ||
		got.ThumbHash != nil {
		t.Errorf("%+v, %v", got, err)
	}
	f.wantStarted(t, 1)
}

// Examine returns a description without a hash for a picture that has a valid header and cannot be
// decoded. For a file that is not a picture it returns the fault NotFound.
func TestExamineBroken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, childScript)
	got, err := f.Examine(t.Context(), source("huge", thumbtest.HugePNG(10_000, 10_000)), true)
	if err != nil || got.Width != 10_000 || got.ThumbHash != nil {
		t.Errorf("100 megapixels: %+v, %v", got, err)
	}
	for what, content := range map[string][]byte{"nothing": nil, "a text": bytes.Repeat([]byte("text "), 100),
		"a page": []byte("<html></html>")} {
		if got, err := f.Examine(t.Context(), source(what, content), true); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// Examine returns the fault NotFound if the output of a child is not a valid description.
func TestExaminedOutput(t *testing.T) {
	t.Parallel()
	for what, script := range map[string]string{
		"nothing": "exit 0", "words": "echo no picture", "another form": `echo '{"width": 1}'`, "an orientation": "echo 1 1 9 0",
		"too long": "printf '1 1 1 0%0200d' 0", "a failure": "exit 1",
	} {
		f := newFixture(t, script)
		if got, err := f.Examine(t.Context(), source("content", photo), true); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	long := newFixture(t, `[ "$2" = hash ] && printf '%026d' 0 || exec "$0" "$@"`)
	if got, err := long.Examine(t.Context(), source("content", photo), true); err != nil || got.ThumbHash != nil ||
		got.Width != 640 {
		t.Errorf("a hash that is too long: %+v, %v", got, err)
	}
}

// Examine does not return NotFound for errors of the machine, errors of the store, and a stop.
func TestExamineFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, fmt.Sprintf("exit %d", picture.Unconfined))
	if _, err := f.Examine(t.Context(), source("content", photo), true); !errors.Is(err, picture.ErrUnconfined) {
		t.Errorf("unconfined: %v", err)
	}
	for _, script := range []string{"kill -9 $$", "exit 2"} { // no memory, or no thread, perhaps
		f := newFixture(t, script)
		if _, err := f.Examine(t.Context(), source("content", photo), true); err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", script, err)
		}
	}
	f = newFixture(t, childScript)
	gone := errors.New("the store is away")
	from := thumb.Source{ID: "content", Size: 10, Open: func(context.Context) (blob.Object, error) { return nil, gone }}
	if _, err := f.Examine(t.Context(), from, true); !errors.Is(err, gone) {
		t.Errorf("without the store: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Examine(ctx, source("content", photo), true); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	f.Close()
	if _, err := f.Examine(t.Context(), source("content", photo), true); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after Close: %v", err)
	}
}

// If a child in the background gets too little time, Examine returns ErrStarved.
// A request for the same thumbnail does not wait for that child.
func TestExamineStarves(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"describe", "320", "hash"} {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			limit := 10 * time.Second
			for !examineStarves(t, arg, limit) {
				if limit *= 2; limit > patience {
					t.Fatal("the children before the one that stands still took too long")
				}
			}
		})
	}
}

// examineStarves tests Examine with a background child that hangs when its argument is arg, until
// the timeout limit ends it. It returns false if an earlier child exceeded the timeout.
func examineStarves(t *testing.T, arg string, limit time.Duration) bool {
	t.Helper()
	once := filepath.Join(t.TempDir(), "once")
	f := newFixture(t, `[ "$2" = `+arg+` ] && mkdir `+once+" && exec sleep 3600\n"+childScript,
		func(cfg *thumb.Config) { cfg.BackgroundTimeout = limit })
	ended := make(chan error, 1)
	go func() {
		_, err := f.Examine(t.Context(), source("content", photo), true)
		ended <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for { // until the child in the background stands still
		if _, err := os.Stat(once); err == nil {
			break
		}
		select {
		case <-tick.C:
		case err := <-ended:
			if errors.Is(err, thumb.ErrStarved) {
				return false
			}
			t.Fatalf("ended before the child stood still: %v", err)
		}
	}
	f.get(t, source("content", photo), 320)
	if err := <-ended; !errors.Is(err, thumb.ErrStarved) {
		t.Errorf("%v", err)
	}
	return true
}

// Examine makes a thumbnail again that failed for a request, perhaps because of a busy machine.
func TestExamineAfterAFailure(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	f := newFixture(t, `[ "$2" = 320 ] && mkdir `+once+" 2>/dev/null && exit 1\n"+childScript)
	f.wantNoThumbnail(t, source("content", photo), 320)
	got, err := f.Examine(t.Context(), source("content", photo), true)
	if err != nil || got.ThumbHash == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// Children that examine a picture have a lower priority. Children that a request waits for have
// the priority of the server.
func TestExamineGivesWay(t *testing.T) {
	t.Parallel()
	own, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nice")
	f := newFixture(t, `[ "$2" = 160 ] || while [ "$(nice)" != 10 ]; do :; done
echo "$2 $(nice)" >> `+path+"\n"+childScript)
	if _, err := f.Examine(t.Context(), source("content", photo), true); err != nil {
		t.Fatal(err)
	}
	f.get(t, source("content", photo), 160)
	told, err := os.ReadFile(path)
	if want := "describe 10\n320 10\nhash 10\n160 " + string(own); err != nil || string(told) != want {
		t.Errorf("%q, %v, want %q", told, err, want)
	}
}
