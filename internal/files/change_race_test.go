package files_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"larder/internal/fault"
	"larder/internal/files"
)

// Abuse case C91: two folders are moved into each other, renamed, deleted and uploaded into
// concurrently. No cycle results, nothing is lost or charged twice, and every request gets an
// answer.
func TestConcurrentMovesMakeNoCycle(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for round := range 12 {
			base := fmt.Sprintf("/home/ann/r%d", round)
			h.createFolder(h.ann, base)
			a, b := h.createFolder(h.ann, base+"/a"), h.createFolder(h.ann, base+"/b")
			kept := h.mustUpload(h.ann, base+"/a/kept", "kept")
			other := h.mustUpload(h.ann, base+"/b/other", "other")
			dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath(base+"/b/new"), "up",
				files.RenameNew)
			h.must(err)
			up := h.storeContent("uploaded")
			bytesBefore, countBefore := h.usage("ann")

			var wg sync.WaitGroup
			var uploaded bool
			var deleted [2]bool
			allowed := func(what string, err error, kinds ...fault.Kind) bool {
				if err == nil {
					return true
				}
				for _, kind := range kinds {
					if fault.Is(err, kind) {
						return false
					}
				}
				t.Errorf("%s: %v", what, err)
				return false
			}
			wg.Go(func() {
				_, err := h.tree.Move(t.Context(), h.ann, a.ID, mustParsePath(base+"/b"), nil)
				allowed("a into b", err, fault.Conflict, fault.NotFound)
			})
			wg.Go(func() {
				_, err := h.tree.Move(t.Context(), h.ann, b.ID, mustParsePath(base+"/a"), nil)
				allowed("b into a", err, fault.Conflict, fault.NotFound)
			})
			wg.Go(func() {
				_, err := h.tree.Rename(t.Context(), h.ann, b.ID, "renamed")
				allowed("rename b", err)
			})
			wg.Go(func() {
				_, err := h.putEntry(h.ann, dest, up)
				uploaded = allowed("upload into b", err)
			})
			for i := range deleted {
				wg.Go(func() {
					_, _, err := h.tree.Delete(t.Context(), h.ann, other.ID)
					deleted[i] = allowed("delete a file", err, fault.NotFound)
				})
			}
			wg.Wait()

			for _, e := range []files.Entry{a, b, kept} {
				if _, _, err := h.tree.Details(t.Context(), h.ann, e.ID); err != nil {
					t.Errorf("round %d: %s is lost: %v", round, e.Name, err)
				}
			}
			if deleted[0] == deleted[1] {
				t.Errorf("round %d: both or neither of the deletions succeeded: %v", round, deleted)
			}
			if !uploaded {
				t.Errorf("round %d: the upload did not follow its folder", round)
			}
			found := h.listNames(h.ann, files.ListQuery{Path: mustParsePath(base), Search: "up", Type: "file"})
			if strings.Join(found, " ") != "up" {
				t.Errorf("round %d: uploaded %q", round, found)
			}
			bytes, count := h.usage("ann")
			if bytes != bytesBefore+8-5 || count != countBefore {
				t.Errorf("round %d: charged %d bytes and %d files, before %d and %d", round, bytes, count, bytesBefore,
					countBefore)
			}
		}
		if bytes, count := h.usage("ann"); bytes != h.sumFiles("size") || count != h.sumFiles("1") {
			t.Errorf("%d bytes and %d files are charged, want %d and %d", bytes, count, h.sumFiles("size"),
				h.sumFiles("1"))
		}
	})
}

// While a folder is deleted, others upload into it. Each upload is deleted with the folder or
// refused, and no account keeps a charge.
func TestDeleteAgainstUploads(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann/dir/sub"), "f",
			files.RenameNew)
		h.must(err)
		var stored []files.StoredObject
		for range 12 {
			stored = append(stored, h.storeContent("1234"))
		}
		var wg sync.WaitGroup
		for i, s := range stored {
			wg.Go(func() {
				if _, err := h.putEntry(h.ann, dest, s); err != nil && !fault.Is(err, fault.Conflict) {
					t.Error(err)
				}
			})
			if i == 5 {
				wg.Go(func() {
					if _, _, err := h.tree.Delete(t.Context(), h.ann, dir.ID); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if bytes, count := h.usage("ann"); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files are charged for a deleted folder", bytes, count)
		}
		h.collect()
		if n := h.countRows("objects"); n != 0 {
			t.Errorf("%d objects are still referenced", n)
		}
	})
}

// When many replace one file concurrently, the last content remains and its size is charged.
func TestConcurrentReplacements(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/f", "x")
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "f", files.Replace)
		h.must(err)
		var wg sync.WaitGroup
		for i := range 8 {
			s := h.storeContent(strings.Repeat("y", i+1))
			wg.Go(func() {
				if _, err := h.putEntry(h.ann, dest, s); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := h.readPath(h.ann, "/home/ann/f")
		h.must(err)
		if bytes, count := h.usage("ann"); bytes != int64(len(got)) || count != 1 {
			t.Errorf("charged %d bytes and %d files for %q", bytes, count, got)
		}
		if n := h.countRows("objects"); n != 1 {
			t.Errorf("%d objects are referenced", n)
		}
	})
}

// A link to a file that is being deleted is refused, or deleted with the file.
func TestLinkAgainstDelete(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for i := range 60 {
			f := h.mustUpload(h.ann, fmt.Sprintf("/home/ann/f%d", i), "x")
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := h.tree.Link(context.Background(), h.ann, f.ID); err != nil &&
					!fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
			})
			both.Go(func() {
				if _, _, err := h.tree.Delete(context.Background(), h.ann, f.ID); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
		}
		if n := h.countRows("links"); n != 0 {
			t.Errorf("%d links to deleted files", n)
		}
	})
}
