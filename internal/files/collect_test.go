package files_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
)

// stored reports whether an object is in the store.
func (h *house) stored(key blob.Key) bool {
	h.t.Helper()
	store, err := h.reg.Store(h.t.Context(), "local")
	h.must(err)
	_, err = store.Stat(h.t.Context(), key)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		h.t.Fatal(err)
	}
	return err == nil
}

func TestCollectorKeepsGrace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		put := func(p string) (files.Entry, blob.Key) {
			t.Helper()
			place, err := h.tree.Place(t.Context(), h.ann, path(p).Parent(), path(p).Base(), files.Replace)
			h.must(err)
			s := h.store("content of " + p)
			e, err := h.commit(h.ann, place, s)
			h.must(err)
			return e, s.Key
		}
		a, first := put("/home/ann/a")
		_, second := put("/home/ann/a") // replaces it
		_, kept := put("/home/ann/kept")
		_, inFolder := put("/home/ann/dir/sub/b")
		unused := h.store("never put").Key
		_, _, err := h.tree.Delete(t.Context(), h.ann, a.ID)
		h.must(err)
		dir, err := h.tree.List(t.Context(), h.ann, files.ListQuery{Path: path("/home/ann"), Page: 1, Limit: 1})
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.ann, dir.Items[0].ID)
		h.must(err)

		h.collect()
		for _, key := range []blob.Key{first, second, kept, inFolder, unused} {
			if !h.stored(key) {
				t.Errorf("%s is gone before its time", key)
			}
		}
		h.pass(grace)
		h.collect()
		for _, key := range []blob.Key{first, second, inFolder, unused} {
			if h.stored(key) {
				t.Errorf("%s is still there", key)
			}
		}
		if got, err := h.read(h.ann, "/home/ann/kept"); got != "content of /home/ann/kept" || err != nil {
			t.Errorf("what is in use: %q, %v", got, err)
		}
		if n := h.count("garbage"); n != 0 {
			t.Errorf("%d keys left on the list", n)
		}
		if n := h.count("objects"); n != 1 {
			t.Errorf("%d objects left, want 1", n)
		}
	})
}

func TestCollectorTakesBigFoldersInPieces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		before := h.count("entries")
		dir := h.folder(h.ann, "/home/ann/big")
		// 4,100 files with links that share 100 objects, and 300 folders in a chain and side by side.
		h.write(func(tx *db.Tx) error {
			for i := range 100 {
				id := fmt.Sprintf("object%d", i)
				if _, err := tx.Exec(`INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) VALUES ($1, 'local', $2, 1, '', 41, 0)`,
					id, fmt.Sprintf("ab/%032x", i)); err != nil {
					return err
				}
				for j := range 41 {
					if err := h.insertFile(tx, fmt.Sprintf("file%d-%d", i, j), dir.ID, id); err != nil {
						return err
					}
				}
			}
			parent := dir.ID
			for i := range 300 {
				name := path(fmt.Sprintf("/f%d", i)).Base()
				id, err := h.tree.InsertFolder(tx, parent, name, "ann")
				if err != nil {
					return err
				}
				if i < 30 {
					parent = id
				}
			}
			return nil
		})
		rows, bytes, err := h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.must(err)
		if rows != 4401 || bytes != 4100 {
			t.Errorf("deleted %d entries and %d bytes, want 4401 and 4100", rows, bytes)
		}
		h.collect()
		if n := h.count("entries"); n != before {
			t.Errorf("%d entries left, want %d", n, before)
		}
		if n := h.count("links") + h.count("objects"); n != 0 {
			t.Errorf("%d links and objects left", n)
		}
		if n := h.count("garbage"); n != 100 {
			t.Errorf("%d keys on the list, want 100", n)
		}
	})
}

// insertFile makes a file of one byte with a link.
func (h *house) insertFile(tx *db.Tx, id, parent, object string) error {
	_, err := tx.Exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
		VALUES ($1, $2, $3, $4, 1, 1, '', 'ann', $5, 0, 0)`, id, parent, id, id, object)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO links (id, entry_id, ext, created_at) VALUES ($1, $2, '', 0)", id, id)
	return err
}

// Once the collector has begun with a key nothing can be made of it any more.
func TestPutAndCollectorDoNotCross(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		place, err := h.tree.Place(t.Context(), h.ann, path("/home/ann"), "f", files.RenameNew)
		h.must(err)
		s := h.store("x")
		h.pass(grace)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.tree.Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := h.commit(h.ann, place, s); err != nil {
			t.Errorf("due, but not begun with: %v", err)
		}
		s = h.store("y")
		h.write(func(tx *db.Tx) error { // as after a crash between the claim and the deletion
			_, err := tx.Exec("UPDATE garbage SET after = -1 WHERE key = $1", string(s.Key))
			return err
		})
		_, err = h.commit(h.ann, place, s)
		h.wantFault("begun with", err, fault.Conflict)
		h.collect()
		if h.stored(s.Key) {
			t.Error("what was begun with is not finished")
		}
	})
}

// Folders that come to the graveyard between two looks of the collector push others out of its piece: those have to stay.
func TestCollectorDeletesEmptyFoldersAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		full, empty := h.folder(h.ann, "/home/ann/full"), h.folder(h.ann, "/home/ann/empty")
		h.file(h.ann, "/home/ann/full/f", "x")
		before := h.count("entries")
		h.write(func(tx *db.Tx) error { return files.DeleteFolders(tx, []string{full.ID, empty.ID}) })
		if n := h.count("entries"); n != before-1 {
			t.Errorf("%d entries are gone, want the empty folder alone", before-n)
		}
		if got, err := h.read(h.ann, "/home/ann/full/f"); got != "x" || err != nil {
			t.Errorf("the file in the other: %q, %v", got, err)
		}
	})
}
