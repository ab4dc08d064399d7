package upload_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
)

// collectAfterEachPut runs collectWithClockAhead after each object that is put. stop ends that.
func (f *fixture) collectAfterEachPut(ahead time.Duration) (stop func()) {
	running := true
	f.up.WrapStores(func(inner blob.Store) blob.Store {
		return hookedStore{inner, func() {
			if running {
				f.collectWithClockAhead(ahead)
			}
		}}
	})
	return func() { running = false }
}

// Abuse case C129: a wrong clock may cost an upload, never a file.
func TestUploadFailsWhenItsObjectWasCollected(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		stop := w.collectAfterEachPut(5 * time.Hour)
		_, err := w.up.Put(ctx, w.ann, oneShot("small", "small", 5))
		w.wantFault(err, fault.Conflict, "small body")
		_, err = w.up.Put(ctx, w.ann, oneShot("large", strings.Repeat("large", 100_000), 500_000))
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
		w.collectWithClockAhead(5 * time.Hour)
		if got := w.content(w.ann, w.put("a", "content").ID); got != "content" {
			t.Errorf("read %q", got)
		}
	})
}
