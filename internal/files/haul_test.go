package files_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// server is the depot with one server behind all of its stores, which copies between them. The real one is asked in package api; here it fails.
type server struct {
	*depot
	types []string                                            // that copies were told to have
	copy  func(ctx context.Context, to *copier, key blob.Key) // called when a copy was made, before that is told
	fail  error                                               // what a copy is answered with instead
}

// copier is a store of the server's.
type copier struct {
	blob.Store
	id     string
	server *server
}

func eachServer(t *testing.T, test func(t *testing.T, w *server)) {
	t.Helper()
	eachDepot(t, func(t *testing.T, d *depot) {
		w := &server{depot: d}
		d.tree.WrapStores(func(id string, s blob.Store) blob.Store { return &copier{s, id, w} })
		test(t, w)
	})
}

func (c *copier) CopyFrom(ctx context.Context, key blob.Key, from blob.Store, source blob.Key, mimeType, match string) (blob.Info, error) {
	w := c.server
	if w.fail != nil {
		return blob.Info{}, w.fail
	}
	object, err := from.Open(ctx, source)
	if err != nil {
		return blob.Info{}, err
	}
	defer object.Close()
	info, err := c.Store.Put(ctx, key, object, blob.PutOptions{Size: object.Size()})
	if err == nil && w.copy != nil {
		w.copy(ctx, c, key)
	}
	w.types = append(w.types, mimeType)
	info.SHA256 = nil
	return info, errors.Join(err, ctx.Err())
}

// rewrite puts other bytes in an object's place.
func (c *copier) rewrite(ctx context.Context, key blob.Key, content string) {
	c.server.must(c.Store.Delete(ctx, key))
	_, err := c.Store.Put(ctx, key, strings.NewReader(content), blob.PutOptions{Size: int64(len(content))})
	c.server.must(err)
}

func (w *server) exec(query string, args ...any) {
	w.t.Helper()
	w.must(w.db.Write(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}))
}

func (w *server) number(query string, args ...any) (n int) {
	w.t.Helper()
	w.must(w.db.Read(context.Background()).QueryRow(query, args...).Scan(&n))
	return n
}

// due is when a key of the vault is collected (ms), or when it is taken up again, negative.
func (w *server) due(key blob.Key) (after int64) {
	w.t.Helper()
	w.must(w.db.Read(context.Background()).QueryRow("SELECT after FROM garbage WHERE provider_id = 'vault' AND key = $1", string(key)).Scan(&after))
	return after
}

// until waits for a condition.
func (w *server) until(what string, met func() bool) {
	w.t.Helper()
	deadline := time.After(30 * time.Second)
	for !met() {
		select {
		case <-deadline:
			w.t.Fatalf("it does not come to this: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// What a server has copied is read back and hashed, against the SHA-256 that is recorded; where none is, it is recorded now. The type goes along.
func TestServerCopyIsReadBack(t *testing.T) {
	eachServer(t, func(t *testing.T, w *server) {
		known, unknown := w.stock("/home/ann/known", some()), w.stock("/home/ann/unknown", some())
		w.exec("UPDATE objects SET sha256 = NULL WHERE id IN (SELECT object_id FROM entries WHERE parent_id = $1)", w.folderOf("/home/ann/unknown"))
		for _, folder := range []string{"known", "unknown"} {
			w.ended(w.moveNow("/home/ann/"+folder), "")
		}
		w.lies(known, "/vault/known", "/home/ann/known")
		w.lies(unknown, "/vault/unknown", "/home/ann/unknown")
		if n := w.number("SELECT COUNT(*) FROM objects WHERE sha256 IS NULL"); n != 0 {
			t.Errorf("%d objects are without SHA-256", n)
		}
		if len(w.types) != 12 || w.types[0] != "text/plain" {
			t.Errorf("types %q", w.types)
		}
		w.accounted()

		n := 0
		for content, recorded := range map[string]bool{"Content": true, "CONTENT": true, "conten": false, "content, and more": false, "": false} {
			n++
			from := fmt.Sprintf("/home/ann/box%d", n)
			g := w.stock(from, map[string]string{"f": "content"})
			if !recorded {
				w.exec("UPDATE objects SET sha256 = NULL WHERE provider_id = 'local'")
			}
			w.copy = func(ctx context.Context, to *copier, key blob.Key) { to.rewrite(ctx, key, content) }
			w.ended(w.moveNow(from), "nothing was moved")
			w.copy = nil
			w.lies(g, from, "/vault/"+string(path(from).Base()))
			w.collect() // at once
			if n := w.storedIn("vault"); n != 12 {
				t.Errorf("%q: %d objects lie in the target, 12 are in use", content, n)
			}
		}
		w.accounted()
	})
}

// moveNow moves a folder to the vault, as far as that goes, and returns the job.
func (w *server) moveNow(folder string) string {
	w.t.Helper()
	j := w.move(w.ann, w.folderOf(folder), "/vault")
	w.work()
	return j.ID
}

// A copy that a server cannot make is streamed; one that it fails to make is tried again; an object that it does not have fails the move.
func TestServerThatDoesNotCopy(t *testing.T) {
	eachServer(t, func(t *testing.T, w *server) {
		g := w.stock("/home/ann/box", some())
		w.fail = fmt.Errorf("copy: %w", blob.ErrNotFound)
		w.ended(w.moveNow("/home/ann/box"), "cannot be read, so nothing was moved")
		w.lies(g, "/home/ann/box")
		for what, err := range map[string]error{
			"unavailable": blob.Unavailable("copy", errors.New("down")), "exists": blob.ErrExists, "changed": blob.ErrChanged, "full": blob.ErrNoSpace,
		} {
			w.fail = err
			id := w.moveNow("/home/ann/box")
			if j := w.job(id); j.Status != "pending" {
				t.Errorf("%s: %+v", what, j)
			}
			w.fail = nil
			w.pass(5 * time.Second)
			w.work()
			w.ended(id, "")
			w.lies(g, "/vault/box", "/home/ann/box")
			_, err = w.tree.Move(t.Context(), w.ann, w.folderOf("/vault/box"), path("/home/ann"), nil)
			w.must(err)
			w.work()
			w.lies(g, "/home/ann/box", "/vault/box")
		}
		copies := len(w.types)
		w.fail = fmt.Errorf("copy: %w", blob.ErrNoCopy)
		w.ended(w.moveNow("/home/ann/box"), "")
		w.lies(g, "/vault/box", "/home/ann/box")
		if len(w.types) != copies {
			t.Error("copied by the server")
		}
		w.accounted()
	})
}

// A server may take hours. The key of the copy is kept from the collector meanwhile; when it is lost all the same, the copy is given up, and made
// again under another one.
func TestKeyIsKeptWhileAServerCopies(t *testing.T) {
	eachServer(t, func(t *testing.T, w *server) {
		g := w.stock("/home/ann/box", map[string]string{"f": "content"})
		var first blob.Key
		w.copy = func(_ context.Context, _ *copier, key blob.Key) {
			for range 3 {
				w.pass(90 * time.Minute) // of the two hours
				w.until("the key is kept", func() bool { return w.due(key) > w.clock().Add(time.Hour).UnixMilli() })
				w.collect()
			}
			first = key
		}
		w.ended(w.moveNow("/home/ann/box"), "")
		w.lies(g, "/vault/box", "/home/ann/box")
		if n := w.number("SELECT COUNT(*) FROM objects WHERE provider_id = 'vault' AND key = $1", string(first)); n != 1 {
			t.Error("made under another key")
		}

		w.stock("/home/ann/lost", map[string]string{"f": "content"})
		tries := 0
		w.copy = func(ctx context.Context, _ *copier, key blob.Key) {
			if tries++; tries > 1 {
				return
			}
			w.exec("UPDATE garbage SET after = -1 WHERE key = $1", string(key))
			w.pass(90 * time.Minute)
			<-ctx.Done()
		}
		id := w.moveNow("/home/ann/lost")
		if j := w.job(id); j.Status != "pending" || tries != 1 {
			t.Errorf("after the key was lost: %+v, tried %d times", j, tries)
		}
		w.pass(time.Minute)
		w.work()
		w.ended(id, "")
		w.accounted()
	})
}

// Abuse case C127: a service that is stopped while a server copies puts the job aside at once, and another replica does it.
func TestServerCopyIsStopped(t *testing.T) {
	eachServer(t, func(t *testing.T, w *server) {
		g := w.stock("/home/ann/box", some())
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		ctx, stop := context.WithCancel(t.Context())
		made := 0
		w.copy = func(ctx context.Context, _ *copier, _ blob.Key) {
			if made++; made == 4 {
				stop()
				<-ctx.Done()
			}
		}
		_, err := w.runner().Once(ctx)
		w.must(err)
		if at := w.job(j.ID); at.Status != "pending" || at.Progress <= 0 && w.in("vault") != 3 {
			t.Errorf("job %+v, %d objects were switched over", at, w.in("vault"))
		}
		w.lies(g, "/home/ann/box", "/vault/box")
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		if made != 4+3 {
			t.Errorf("%d copies were made of 6 objects, one of them twice", made)
		}
		w.accounted()
	})
}
