package upload_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/upload"
)

// hookedStore is a store that calls then after each object that is put.
type hookedStore struct {
	blob.Store
	then func()
}

func (h hookedStore) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	info, err := h.Store.Put(ctx, key, body, opts)
	h.then()
	return info, err
}

// collectWithClockAhead runs the collector of a replica whose clock is ahead after each object that
// is put. stop ends that.
func (w *fixture) collectWithClockAhead(by time.Duration) (stop func()) {
	cfg := w.tree.Objects.Config
	cfg.Now = func() time.Time { return w.now().Add(by) }
	other, running := object.New(cfg), true
	w.up.WrapStores(func(inner blob.Store) blob.Store {
		return hookedStore{inner, func() {
			if !running {
				return
			}
			if _, err := other.Collect(ctx); err != nil {
				w.t.Error(err)
			}
		}}
	})
	return func() { running = false }
}

// Abuse case C129: a wrong clock may cost an upload, never a file.
func TestUploadFailsWhenItsObjectWasCollected(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		stop := w.collectWithClockAhead(5 * time.Hour)
		_, err := w.up.Put(ctx, w.ann, upload.OneShot{Dir: path("/home/ann"), Name: "small", Size: 5,
			Body: strings.NewReader("small")})
		w.wantFault(err, fault.Conflict, "small body")
		large := strings.Repeat("large", 100_000)
		_, err = w.up.Put(ctx, w.ann, upload.OneShot{Dir: path("/home/ann"), Name: "large", Size: 500_000,
			Body: strings.NewReader(large)})
		w.wantFault(err, fault.Conflict, "large body")
		session := w.create(w.ann, file("session", 5))
		etag := w.putRaw(w.ann, session.ID, "bytes")
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unverified, "session whose bytes are gone")
		stop()
		// The keys at hand are collected already; new ones are drawn, unnoticed by the client.
		if got := w.content(w.ann, w.put("later", "as ever").ID); got != "as ever" {
			t.Errorf("read %q", got)
		}
	})
}

func TestSmallUploadGetsANewKeyWhenItsOwnWasCollected(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		w.put("notes a batch of keys", "x")
		cfg := w.tree.Objects.Config
		cfg.Now = func() time.Time { return w.now().Add(5 * time.Hour) }
		if _, err := object.New(cfg).Collect(ctx); err != nil {
			t.Fatal(err)
		}
		if got := w.content(w.ann, w.put("a", "content").ID); got != "content" {
			t.Errorf("read %q", got)
		}
	})
}
