package files_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// Abuse case C91, with the trash: two replicas delete, move, restore and purge entries of one
// folder at once. Every request gets an answer. Afterwards each file is in its folder or in the
// trash, from where it can be restored. Only a purge makes a file disappear.
func TestTrashAgainstConcurrentChanges(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		one := w.tree
		w.openReplica()
		two := w.tree
		for round := range 8 {
			base := fmt.Sprintf("/home/ann/r%d", round)
			g := w.uploadTree(base, map[string]string{"box/a": "1", "box/b": "22", "box/sub/c": "333", "spare": "4444",
				"to/d": "55555", "old": "666666", "gone/e": "7777777"})
			box, sub, to := w.idAtPath(base+"/box"), w.idAtPath(base+"/box/sub"), w.idAtPath(base+"/to")
			old, gone := w.toTrash(w.ann, base+"/old"), w.toTrash(w.ann, base+"/gone")
			dest, err := w.tree.ResolveDestination(t.Context(), w.ann, mustParsePath(base+"/box"), "up", files.RenameNew)
			w.must(err)
			up := w.storeContent("up")

			c := &concurrentTest{storesFixture: w}
			trash := func(r *files.Tree, id string) {
				c.start("trash", func() error {
					_, err := r.DeleteTo(t.Context(), w.ann, id, files.ToTrash)
					return err
				}, fault.NotFound)
			}
			move := func(r *files.Tree, id, target string) {
				c.start("move to "+target, func() error {
					_, err := r.Move(t.Context(), w.ann, id, mustParsePath(target), nil)
					return err
				}, fault.NotFound, fault.Conflict)
			}
			restore := func(r *files.Tree, id, target string) {
				c.start("restore to "+target, func() error {
					_, err := r.Restore(t.Context(), w.ann, id, at(target))
					return err
				}, fault.NotFound, fault.Conflict)
			}
			trash(one, box)
			move(two, sub, base)
			move(two, g.ids["spare"], base+"/box")
			c.start("upload", func() error { _, err := w.putEntry(w.ann, dest, up); return err }, fault.NotFound,
				fault.Conflict)
			trash(two, to)
			restore(one, old, base+"/to")
			move(one, to, base+"/box")
			purged := false
			c.start("purge", func() error {
				_, err := two.Purge(t.Context(), w.ann, gone)
				purged = err == nil
				return err
			}, fault.NotFound)
			restore(one, gone, base+"/box")
			c.wait.Wait()

			page, err := w.tree.ListTrash(t.Context(), w.ann, files.TrashFilter{Limit: 100})
			w.must(err)
			for _, item := range page.Items {
				if _, err := two.Restore(t.Context(), w.ann, item.ID, at(base)); err != nil {
					t.Errorf("round %d: restore %s: %v", round, item.Path, err)
				}
			}
			for name, id := range g.ids {
				got, err := w.tree.ByID(t.Context(), w.ann, id)
				switch {
				case name == "gone/e" && purged:
					w.wantFault("a purged file", err, fault.NotFound)
				case err != nil:
					t.Errorf("round %d: %s is lost: %v", round, name, err)
				case w.readContent(got) != g.content[name]:
					t.Errorf("round %d: %s has other content", round, name)
				}
			}
			if n := w.countRows("trash") + w.countRows("trash_sizes"); n != 0 {
				t.Errorf("round %d: %d rows of the trash are left", round, n)
			}
		}
		w.checkKept("at the end")
		w.checkAccounting()
	})
}

// Two replicas delete the same files by batches, to the trash and for good, in opposite orders.
// Other requests move, lock and replace some of these files meanwhile. Every request gets an
// answer, no file is in the trash that is larger than the trash may be, and the bytes that are used
// and kept stay exact.
func TestBatchesAgainstConcurrentChanges(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		one := w.tree
		w.openReplica()
		two := w.tree
		w.exec("UPDATE quotas SET max_kept = 15 WHERE user_id = 'ann'") // less than the larger content
		for round := range 8 {
			base := fmt.Sprintf("/home/ann/b%d", round)
			g := w.uploadTree(base, map[string]string{"a": "1", "b": "22", "c": "333", "d": "4444", "e": "55555",
				"to/f": "666666"})
			var ids []string
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				ids = append(ids, g.ids[name])
			}
			backwards := slices.Clone(ids)
			slices.Reverse(backwards)
			dest, err := w.tree.ResolveDestination(t.Context(), w.ann, mustParsePath(base), "a", files.Replace)
			w.must(err)
			up := w.storeContent("a larger content")

			c := &concurrentTest{storesFixture: w}
			deleteEach := func(r *files.Tree, ids []string, to files.Disposal) {
				c.start("batch", func() error {
					outcomes, err := r.DeleteEach(t.Context(), w.ann, ids, to)
					for _, o := range outcomes {
						// Conflict: the file is larger than the trash may be
						refused := []fault.Kind{fault.NotFound, fault.Locked, fault.Conflict}
						if err == nil && o.Err != nil && !slices.Contains(refused, fault.KindOf(o.Err)) {
							err = o.Err
						}
					}
					return err
				})
			}
			deleteEach(one, ids, files.ToTrash)
			c.start("replace", func() error { _, err := w.putEntry(w.ann, dest, up); return err }, fault.NotFound,
				fault.Conflict)
			c.start("move", func() error {
				_, err := two.Move(t.Context(), w.ann, g.ids["b"], mustParsePath(base+"/to"), nil)
				return err
			}, fault.NotFound, fault.Conflict)
			c.start("lock", func() error {
				_, err := two.Lock(t.Context(), viaKey(w.ann, "key"), g.ids["d"], exclusiveLock, time.Hour)
				return err
			}, fault.NotFound)
			deleteEach(two, backwards, files.ForGood)
			c.wait.Wait()

			page, err := w.tree.ListTrash(t.Context(), w.ann, files.TrashFilter{Limit: 100})
			w.must(err)
			for _, item := range page.Items {
				if item.Size > 15 {
					t.Errorf("round %d: %s is in the trash with %d bytes", round, item.Path, item.Size)
				}
			}
		}
		w.checkKept("at the end")
		w.checkAccounting()
	})
}

// Two replicas replace a file by MOVE and by upload, restore a version of it, drop that version,
// and move the file to the trash, at once. Afterwards the file has one of the contents, and the
// bytes that are used and kept are exact.
func TestVersionsAgainstConcurrentMoves(t *testing.T) {
	eachTrashStoresFixture(t, func(t *testing.T, w *storesFixture) {
		one := w.tree
		w.openReplica()
		two := w.tree
		for round := range 12 {
			path := fmt.Sprintf("/home/ann/f%d", round)
			f := w.mustUpload(w.ann, path, "1")
			w.advance(time.Hour)
			w.replace(w.ann, path, "22")
			w.advance(time.Hour)
			over := w.mustUpload(w.ann, path+".new", "333")
			until := w.versions(w.ann, f.ID)[0].Until

			c := &concurrentTest{storesFixture: w}
			c.start("move over the file", func() error {
				_, err := one.MoveWithOptions(t.Context(), w.ann, over.ID, mustParsePath("/home/ann"), vpath.Name(f.Name),
					files.CopyMoveOptions{Replace: true})
				return err
			})
			c.start("replace", func() error {
				_, err := w.upload(w.ann, path, "4444", files.Replace)
				return err
			})
			c.start("restore a version", func() error {
				_, err := one.RestoreVersion(t.Context(), w.ann, f.ID, until)
				return err
			}, fault.NotFound)
			c.start("drop the version", func() error {
				return two.DropVersion(t.Context(), w.ann, f.ID, until)
			}, fault.NotFound)
			if round%2 == 0 {
				c.start("trash", func() error {
					_, err := two.DeleteTo(t.Context(), w.ann, f.ID, files.ToTrash)
					return err
				}, fault.NotFound)
			}
			c.wait.Wait()

			got, err := w.readPath(w.ann, path)
			if fault.Is(err, fault.NotFound) { // the deletion came last
				w.wantRestored("the file", w.ann, f.ID, files.RestoreOptions{}, path)
				got, err = w.readPath(w.ann, path)
			}
			w.must(err)
			if !slices.Contains([]string{"1", "22", "333", "4444"}, got) {
				t.Errorf("round %d: the file has %q", round, got)
			}
		}
		w.checkKept("at the end")
		w.checkAccounting()
	})
}
