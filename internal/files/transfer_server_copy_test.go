package files_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
)

// serverCopyFixture is a fixture whose stores belong to one server that copies between them.
// Package api tests the real server; this one fails on demand.
type serverCopyFixture struct {
	*storesFixture
	copiedTypes []string // MIME types that the copies were given
	// called when a copy was made, before the caller learns of it
	afterCopy func(ctx context.Context, to *copyingStore, key blob.Key)
	copyErr   error // if set, the error of each copy
}

// copyingStore is a store of the copying server.
type copyingStore struct {
	blob.Store
	id      string
	fixture *serverCopyFixture
}

func eachServerCopyFixture(t *testing.T, test func(t *testing.T, w *serverCopyFixture)) {
	t.Helper()
	eachStoresFixture(t, func(t *testing.T, d *storesFixture) {
		w := &serverCopyFixture{storesFixture: d}
		d.tree.WrapStores(func(id string, s blob.Store) blob.Store { return &copyingStore{s, id, w} })
		test(t, w)
	})
}

func (c *copyingStore) CopyFrom(ctx context.Context, key blob.Key, from blob.Store, source blob.Key, mimeType,
	match string) (blob.Info, error) {
	w := c.fixture
	if w.copyErr != nil {
		return blob.Info{}, w.copyErr
	}
	object, err := from.Open(ctx, source)
	if err != nil {
		return blob.Info{}, err
	}
	defer object.Close()
	info, err := c.Store.Put(ctx, key, object, blob.PutOptions{Size: object.Size()})
	if err == nil && w.afterCopy != nil {
		w.afterCopy(ctx, c, key)
	}
	w.copiedTypes = append(w.copiedTypes, mimeType)
	info.SHA256 = nil
	return info, errors.Join(err, ctx.Err())
}

// overwrite replaces the bytes of an object.
func (c *copyingStore) overwrite(ctx context.Context, key blob.Key, content string) {
	c.fixture.must(c.Store.Delete(ctx, key))
	_, err := c.Store.Put(ctx, key, strings.NewReader(content), blob.PutOptions{Size: int64(len(content))})
	c.fixture.must(err)
}

// garbageDueAt returns the time (ms) from which a key of the vault may be collected. A negative
// time is that of the next attempt.
func (f *serverCopyFixture) garbageDueAt(key blob.Key) int64 {
	f.t.Helper()
	return f.queryInt("SELECT after FROM garbage WHERE provider_id = 'vault' AND key = $1", string(key))
}

// waitUntil waits for a condition.
func (f *serverCopyFixture) waitUntil(what string, met func() bool) {
	f.t.Helper()
	deadline := time.After(time.Minute)
	for !met() {
		select {
		case <-deadline:
			f.t.Fatalf("the condition did not hold in time: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A copy by the server is read back and hashed, and compared with the recorded SHA-256. If none is
// recorded, it is recorded now. The copy keeps the MIME type.
func TestServerCopyIsReadBack(t *testing.T) {
	eachServerCopyFixture(t, func(t *testing.T, w *serverCopyFixture) {
		known, unknown := w.uploadTree("/home/ann/known", sampleFiles()), w.uploadTree("/home/ann/unknown",
			sampleFiles())
		w.exec("UPDATE objects SET sha256 = NULL WHERE id IN (SELECT object_id FROM entries WHERE parent_id = $1)",
			w.idAtPath("/home/ann/unknown"))
		for _, folder := range []string{"known", "unknown"} {
			w.checkJobEnded(w.mustMoveToVault("/home/ann/"+folder), "")
		}
		w.checkReadableBelow(known, "/vault/known", "/home/ann/known")
		w.checkReadableBelow(unknown, "/vault/unknown", "/home/ann/unknown")
		if n := w.queryInt("SELECT COUNT(*) FROM objects WHERE sha256 IS NULL"); n != 0 {
			t.Errorf("%d objects are without SHA-256", n)
		}
		if len(w.copiedTypes) != 12 || w.copiedTypes[0] != "text/plain" {
			t.Errorf("types %q", w.copiedTypes)
		}
		w.checkAccounting()

		n := 0
		for content, recorded := range map[string]bool{"Content": true, "CONTENT": true, "conten": false,
			"content, and more": false, "": false} {
			n++
			from := fmt.Sprintf("/home/ann/box%d", n)
			g := w.uploadTree(from, map[string]string{"f": "content"})
			if !recorded {
				w.exec("UPDATE objects SET sha256 = NULL WHERE provider_id = 'local'")
			}
			w.afterCopy = func(ctx context.Context, to *copyingStore, key blob.Key) { to.overwrite(ctx, key, content) }
			w.checkJobEnded(w.mustMoveToVault(from), "nothing was moved")
			w.afterCopy = nil
			w.checkReadableBelow(g, from, "/vault/"+string(mustParsePath(from).Base()))
			w.collect() // immediately
			if n := w.countStored("vault"); n != 12 {
				t.Errorf("%q: the target has %d objects, 12 are in use", content, n)
			}
		}
		w.checkAccounting()
	})
}

// mustMoveToVault moves a folder to the vault, runs the due jobs and returns the job.
func (f *serverCopyFixture) mustMoveToVault(folder string) string {
	f.t.Helper()
	j := f.startMove(f.ann, f.idAtPath(folder), "/vault")
	f.runJobs()
	return j.ID
}

// If the server cannot copy, the content is streamed. If a copy by the server fails, it is retried.
// If the server does not have the object, the move fails.
func TestMoveStreamsWhenServerCannotCopy(t *testing.T) {
	eachServerCopyFixture(t, func(t *testing.T, w *serverCopyFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		w.copyErr = fmt.Errorf("copy: %w", blob.ErrNotFound)
		w.checkJobEnded(w.mustMoveToVault("/home/ann/box"), "cannot be read, so nothing was moved")
		w.checkReadableBelow(g, "/home/ann/box")
		for what, err := range map[string]error{
			"unavailable": blob.Unavailable("copy", errors.New("down")), "exists": blob.ErrExists,
			"changed": blob.ErrChanged, "full": blob.ErrNoSpace,
		} {
			w.copyErr = err
			id := w.mustMoveToVault("/home/ann/box")
			if j := w.job(id); j.Status != "pending" {
				t.Errorf("%s: %+v", what, j)
			}
			w.copyErr = nil
			w.advance(5 * time.Second)
			w.runJobs()
			w.checkJobEnded(id, "")
			w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
			_, err = w.tree.Move(t.Context(), w.ann, w.idAtPath("/vault/box"), mustParsePath("/home/ann"), nil)
			w.must(err)
			w.runJobs()
			w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
		}
		copies := len(w.copiedTypes)
		w.copyErr = fmt.Errorf("copy: %w", blob.ErrCopyUnsupported)
		w.checkJobEnded(w.mustMoveToVault("/home/ann/box"), "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		if len(w.copiedTypes) != copies {
			t.Error("copied by the server")
		}
		w.checkAccounting()
	})
}

// A server may copy for hours. The collector keeps the key of the copy meanwhile. If the key is
// lost nevertheless, the copy is discarded and repeated under another key.
func TestCollectorKeepsKeyDuringServerCopy(t *testing.T) {
	eachServerCopyFixture(t, func(t *testing.T, w *serverCopyFixture) {
		g := w.uploadTree("/home/ann/box", map[string]string{"f": "content"})
		var first blob.Key
		w.afterCopy = func(_ context.Context, _ *copyingStore, key blob.Key) {
			for range 3 {
				w.advance(90 * time.Minute) // of the two hours
				w.waitUntil("the key is kept",
					func() bool { return w.garbageDueAt(key) > w.clock().Add(time.Hour).UnixMilli() })
				w.collect()
			}
			first = key
		}
		w.checkJobEnded(w.mustMoveToVault("/home/ann/box"), "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		if n := w.queryInt("SELECT COUNT(*) FROM objects WHERE provider_id = 'vault' AND key = $1",
			string(first)); n != 1 {
			t.Error("made under another key")
		}

		w.uploadTree("/home/ann/lost", map[string]string{"f": "content"})
		tries := 0
		w.afterCopy = func(ctx context.Context, _ *copyingStore, key blob.Key) {
			if tries++; tries > 1 {
				return
			}
			w.exec("UPDATE garbage SET after = -1 WHERE key = $1", string(key))
			w.advance(90 * time.Minute)
			<-ctx.Done()
		}
		id := w.mustMoveToVault("/home/ann/lost")
		if j := w.job(id); j.Status != "pending" || tries != 1 {
			t.Errorf("after the key was lost: %+v, tried %d times", j, tries)
		}
		w.advance(time.Minute)
		w.runJobs()
		w.checkJobEnded(id, "")
		w.checkAccounting()
	})
}

// Abuse case C127: a service that stops while a server copies releases the job immediately, and
// another replica finishes it.
func TestServerCopyStopsWithService(t *testing.T) {
	eachServerCopyFixture(t, func(t *testing.T, w *serverCopyFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		ctx, stop := context.WithCancel(t.Context())
		made := 0
		w.afterCopy = func(ctx context.Context, _ *copyingStore, _ blob.Key) {
			if made++; made == 4 {
				stop()
				<-ctx.Done()
			}
		}
		_, err := w.newJobRunner().RunNext(ctx)
		w.must(err)
		if at := w.job(j.ID); at.Status != "pending" || at.Progress <= 0 && w.countObjects("vault") != 3 {
			t.Errorf("job %+v, %d objects were switched over", at, w.countObjects("vault"))
		}
		w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		if made != 4+3 {
			t.Errorf("%d copies were made of 6 objects, want 7: one of them twice", made)
		}
		w.checkAccounting()
	})
}
