package files_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// When two keys lock one file concurrently, one succeeds.
func TestConcurrentLocks(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "x")
		dir, err := h.tree.ResourceAt(t.Context(), mustParsePath("/home/ann/dir"))
		h.must(err)
		for round := range 50 {
			var both sync.WaitGroup
			var got [2]files.WriteLock
			var errs [2]error
			for i, l := range []files.WriteLock{exclusiveLock, {Exclusive: true, Deep: true}} {
				both.Go(func() {
					// the second locks the file and the folder above it in turn
					on := []string{f.ID, dir.ID()}[(i*round)%2]
					got[i], errs[i] = h.tree.Lock(t.Context(), viaKey(h.ann, fmt.Sprint("key", i)), on, l, time.Hour)
				})
			}
			both.Wait()
			won, lost := 0, 1
			if errs[0] != nil {
				won, lost = 1, 0
			}
			h.must(errs[won])
			h.wantFault("the other", errs[lost], fault.Locked)
			h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, fmt.Sprint("key", won)), got[won].EntryID, got[won].Token))
		}
	})
}

// A file is changed before it is locked, or not at all.
func TestLockAgainstChanges(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for round := range 50 {
			s := h.newLockTree(round)
			dest, err := h.tree.ResolveDestination(t.Context(), h.ann, s.path("dir"), "f", files.Replace)
			h.must(err)
			stored := h.storeContent("after")
			var both sync.WaitGroup
			var l files.WriteLock
			var locked, changed error
			both.Go(func() {
				l, locked = h.tree.Lock(t.Context(), viaKey(h.ann, "one"), s.ids["dir/f"], exclusiveLock, time.Hour)
			})
			both.Go(func() {
				switch round % 3 {
				case 0:
					changed = h.db.Write(t.Context(), func(tx *db.Tx) error {
						if _, err := h.tree.Put(t.Context(), tx, h.ann, dest, stored); err != nil {
							return err
						}
						var there int
						if err := tx.QueryRow("SELECT COUNT(*) FROM locks").Scan(&there); err != nil {
							return err
						}
						if there > 0 {
							t.Errorf("round %d: put while it was locked", round)
						}
						return nil
					})
				case 1:
					changed = s.delete(h.ann, "dir/f")
				case 2:
					changed = s.move(h.ann, "dir/f", "out")
				}
			})
			both.Wait()
			if changed != nil {
				h.wantFault("the change", changed, fault.Locked)
				h.must(locked)
			}
			switch {
			case round%3 == 1 && changed == nil:
				h.wantFault("locking a deleted entry", locked, fault.NotFound)
			case round%3 == 2 && changed == nil:
				h.must(locked)
				held, err := h.locksOf(s.ids["dir/f"])
				if err != nil || len(held) != 1 || l.Path != s.path("out/f") {
					t.Errorf("round %d: moved and locked at %s; held %+v, %v", round, l.Path, held, err)
				}
			default:
				h.must(locked)
			}
			h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
		}
	})
}

// allowKey registers the key `one` for the fixture's jobs and returns ann through that key.
func (f *storesFixture) allowKey() access.Actor {
	a := viaKey(f.ann, "one")
	f.tree.Key = func(context.Context, int64, string, netip.Addr) (*access.Key, bool, error) { return a.Key, true, nil }
	return a
}

// A lock that is taken during a move between providers, at either end, refuses the move and leaves
// everything in place. The tokens given with the request permit it then too.
func TestMoveJobIsRefusedByNewLocks(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		one := w.allowKey()
		n := 0
		for what, on := range map[string]func(from, to string) string{
			"the target":                 func(_, to string) string { return to },
			"the source":                 func(from, _ string) string { return from },
			"something in the source":    func(from, _ string) string { return from + "/sub/b" },
			"the folder that it lies in": func(string, string) string { return "/home/ann" },
			"the target mount":           func(string, string) string { return "/vault" },
		} {
			n++
			as := files.WriteLock{Exclusive: true, Deep: what == "the target mount"}
			for _, with := range []bool{false, true} {
				from, to := fmt.Sprintf("/home/ann/box%d%v", n, with), fmt.Sprintf("/vault/to%d%v", n, with)
				moved := to + "/" + string(mustParsePath(from).Base())
				w.createFolder(w.ann, to)
				g := w.uploadTree(from, map[string]string{"a": "1", "sub/b": "22", "sub/c": "333"})
				if with {
					l := w.mustLock("one", w.idAtPath(on(from, to)), as)
					_, err := w.tree.Move(t.Context(), one, w.idAtPath(from), mustParsePath(to), nil)
					w.wantLocked("at once", err, on(from, to))
					holder := one
					holder.Locks = []string{"another", l.Token}
					j := w.startMove(holder, w.idAtPath(from), to)
					w.runJobs()
					w.checkJobEnded(j.ID, "")
					w.checkReadableBelow(g, moved, from)
				} else {
					j := w.startMove(one, w.idAtPath(from), to)
					w.runDuringCopy(func() { w.mustLock("one", w.idAtPath(on(from, to)), as) })
					t.Log(what)
					w.checkJobEnded(j.ID, "locked")
					w.checkReadableBelow(g, from, moved)
				}
				w.write(func(tx *db.Tx) error { return w.tree.DropLocks(tx, "one") })
			}
		}
		w.checkAccounting()
	})
}

// A lock on the target refuses a copy by a job, too. A lock on the source does not.
func TestCopyJobIsRefusedByNewLocks(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		one := w.allowKey()
		g, id := w.startLargeCopy(one, "/home/ann/box", "/home/ann/to", sampleFiles())
		bytes, count := w.usage("ann")
		w.mustLock("one", w.idAtPath("/home/ann/box"), deepLock)
		var l files.WriteLock
		w.runBeforeTransaction(2, func() { l = w.mustLock("one", w.idAtPath("/home/ann/to"), exclusiveLock) })
		w.checkJobEnded(id, "locked")
		w.checkContents("/home/ann/to")
		w.checkReadableBelow(g, "/home/ann/box")
		w.checkUsage("refused", "ann", bytes, count, 0, 0)
		w.checkNothingStaged()
		name := vpath.Name("copy")
		_, err := w.tree.Copy(t.Context(), one, w.idAtPath("/home/ann/box"), mustParsePath("/home/ann/to"), &name)
		w.wantLocked("while it is locked", err, "/home/ann/to")
		one.Locks = []string{l.Token}
		j, err := w.tree.Copy(t.Context(), one, w.idAtPath("/home/ann/box"), mustParsePath("/home/ann/to"), &name)
		w.must(err)
		if j.Status != "pending" {
			t.Errorf("the copy is not a job: %+v", j)
		}
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkCopyOf("/home/ann/to/copy", g)
		w.checkAccounting()
	})
}
