package files_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

func TestCollectorWaitsForGracePeriod(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		put := func(p string) (files.Entry, blob.Key) {
			t.Helper()
			dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath(p).Parent(),
				mustParsePath(p).Base(), files.Replace)
			h.must(err)
			s := h.storeContent("content of " + p)
			e, err := h.putEntry(h.ann, dest, s)
			h.must(err)
			return e, s.Key
		}
		a, first := put("/home/ann/a")
		_, second := put("/home/ann/a") // replaces the file
		_, kept := put("/home/ann/kept")
		_, inFolder := put("/home/ann/dir/sub/b")
		unused := h.storeContent("never put").Key
		_, _, err := h.tree.Delete(t.Context(), h.ann, a.ID)
		h.must(err)
		dir, err := h.tree.List(t.Context(), h.ann,
			files.ListQuery{Path: mustParsePath("/home/ann"), Page: 1, Limit: 1})
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.ann, dir.Items[0].ID)
		h.must(err)

		h.collect()
		for _, key := range []blob.Key{first, second, kept, inFolder, unused} {
			if !h.isStored(key) {
				t.Errorf("%s was deleted before its time", key)
			}
		}
		h.advance(grace)
		h.collect()
		for _, key := range []blob.Key{first, second, inFolder, unused} {
			if h.isStored(key) {
				t.Errorf("%s is still there", key)
			}
		}
		if got, err := h.readPath(h.ann, "/home/ann/kept"); got != "content of /home/ann/kept" || err != nil {
			t.Errorf("the objects in use: %q, %v", got, err)
		}
		if n := h.countRows("garbage"); n != 0 {
			t.Errorf("%d keys left on the list", n)
		}
		if n := h.countRows("objects"); n != 1 {
			t.Errorf("%d objects left, want 1", n)
		}
	})
}

func TestCollectorDeletesLargeFoldersInBatches(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		before := h.countRows("entries")
		dir := h.createFolder(h.ann, "/home/ann/big")
		// Inserts 4,100 files with links that share 100 objects, and 300 folders, nested and side
		// by side.
		h.write(func(tx *db.Tx) error {
			for i := range 100 {
				id := fmt.Sprintf("object%d", i)
				if _, err := tx.Exec(
					`INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) VALUES ($1, 'local', $2, 1, '', 41, 0)`,
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
				name := mustParsePath(fmt.Sprintf("/f%d", i)).Base()
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
		if n := h.countRows("entries"); n != before {
			t.Errorf("%d entries left, want %d", n, before)
		}
		if n := h.countRows("links") + h.countRows("objects"); n != 0 {
			t.Errorf("%d links and objects left", n)
		}
		if n := h.countRows("garbage"); n != 100 {
			t.Errorf("%d keys on the list, want 100", n)
		}
	})
}

// insertFile inserts a file of one byte with a link.
func (f *fixture) insertFile(tx *db.Tx, id, parent, object string) error {
	err := f.insertEntry(tx, treeEntry{id: id, parent: parent, name: id, owner: "ann", size: 1, object: object})
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO links (id, entry_id, ext, created_at) VALUES ($1, $2, '', 0)", id, id)
	return err
}

// After the collector has claimed a key, no file can be made of it.
func TestPutFailsAfterCollectorClaimsKey(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "f", files.RenameNew)
		h.must(err)
		s := h.storeContent("x")
		h.advance(grace)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.tree.Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := h.putEntry(h.ann, dest, s); err != nil {
			t.Errorf("due, but not claimed: %v", err)
		}
		s = h.storeContent("y")
		// the state after a crash between the claim and the deletion
		h.exec("UPDATE garbage SET after = -1 WHERE key = $1", string(s.Key))
		_, err = h.putEntry(h.ann, dest, s)
		h.wantFault("begun with", err, fault.Conflict)
		h.collect()
		if h.isStored(s.Key) {
			t.Error("the claimed key is not finished")
		}
	})
}

// Folders that reach the graveyard between two queries of the collector push others out of its
// batch. The collector must keep those.
func TestCollectorDeletesOnlyEmptyFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		full, empty := h.createFolder(h.ann, "/home/ann/full"), h.createFolder(h.ann, "/home/ann/empty")
		h.mustUpload(h.ann, "/home/ann/full/f", "x")
		before := h.countRows("entries")
		h.write(func(tx *db.Tx) error { return files.DeleteFolders(tx, []string{full.ID, empty.ID}) })
		if n := h.countRows("entries"); n != before-1 {
			t.Errorf("%d entries were deleted, want only the empty folder", before-n)
		}
		if got, err := h.readPath(h.ann, "/home/ann/full/f"); got != "x" || err != nil {
			t.Errorf("the file in the other: %q, %v", got, err)
		}
	})
}
