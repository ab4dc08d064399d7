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

// Of two keys that lock one file at once, one gets it.
func TestLocksAtOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		f := h.file(h.ann, "/home/ann/dir/f", "x")
		dir, err := h.tree.At(t.Context(), path("/home/ann/dir"))
		h.must(err)
		for round := range 50 {
			var both sync.WaitGroup
			var got [2]files.WriteLock
			var errs [2]error
			for i, l := range []files.WriteLock{exclusive, {Exclusive: true, Deep: true}} {
				both.Go(func() {
					on := []string{f.ID, dir.ID()}[(i*round)%2] // the second now on the file, now on the folder above
					got[i], errs[i] = h.tree.Lock(t.Context(), by(h.ann, fmt.Sprint("key", i)), on, l, time.Hour)
				})
			}
			both.Wait()
			won, lost := 0, 1
			if errs[0] != nil {
				won, lost = 1, 0
			}
			h.must(errs[won])
			h.wantFault("the other", errs[lost], fault.Locked)
			h.must(h.tree.Unlock(t.Context(), by(h.ann, fmt.Sprint("key", won)), got[won].EntryID, got[won].Token))
		}
	})
}

// A file is changed before it is locked, or not at all.
func TestLockAgainstChanges(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for round := range 50 {
			s := h.scene(round)
			place, err := h.tree.Place(t.Context(), h.ann, s.path("dir"), "f", files.Replace)
			h.must(err)
			stored := h.store("after")
			var both sync.WaitGroup
			var l files.WriteLock
			var locked, changed error
			both.Go(func() {
				l, locked = h.tree.Lock(t.Context(), by(h.ann, "one"), s.ids["dir/f"], exclusive, time.Hour)
			})
			both.Go(func() {
				switch round % 3 {
				case 0:
					changed = h.db.Write(t.Context(), func(tx *db.Tx) error {
						if _, err := h.tree.Put(t.Context(), tx, h.ann, place, stored); err != nil {
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
				h.wantFault("locking what is deleted", locked, fault.NotFound)
			case round%3 == 2 && changed == nil:
				h.must(locked)
				held, err := h.held(s.ids["dir/f"])
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

// keyed has the jobs of a depot find the key `one`, and returns ann through it.
func (w *depot) keyed() access.Actor {
	a := by(w.ann, "one")
	w.tree.Key = func(context.Context, int64, string, netip.Addr) (*access.Key, bool, error) { return a.Key, true, nil }
	return a
}

// A move between providers is held up by a lock that came while it was under way, at either end, and leaves everything where it was; the tokens that
// came with the order open it then as well.
func TestMoveJobMeetsLocks(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		one := w.keyed()
		n := 0
		for what, on := range map[string]func(from, to string) string{
			"the target":                 func(_, to string) string { return to },
			"the source":                 func(from, _ string) string { return from },
			"something in the source":    func(from, _ string) string { return from + "/sub/b" },
			"the folder that it lies in": func(string, string) string { return "/home/ann" },
			"the mount that it goes to":  func(string, string) string { return "/vault" },
		} {
			n++
			as := files.WriteLock{Exclusive: true, Deep: what == "the mount that it goes to"}
			for _, with := range []bool{false, true} {
				from, to := fmt.Sprintf("/home/ann/box%d%v", n, with), fmt.Sprintf("/vault/to%d%v", n, with)
				moved := to + "/" + string(path(from).Base())
				w.folder(w.ann, to)
				g := w.stock(from, map[string]string{"a": "1", "sub/b": "22", "sub/c": "333"})
				if with {
					l := w.lock("one", w.idAt(on(from, to)), as)
					_, err := w.tree.Move(t.Context(), one, w.idAt(from), path(to), nil)
					w.wantLocked("at once", err, on(from, to))
					holder := one
					holder.Locks = []string{"another", l.Token}
					j := w.move(holder, w.idAt(from), to)
					w.work()
					w.ended(j.ID, "")
					w.lies(g, moved, from)
				} else {
					j := w.move(one, w.idAt(from), to)
					w.during(func() { w.lock("one", w.idAt(on(from, to)), as) })
					t.Log(what)
					w.ended(j.ID, "locked")
					w.lies(g, from, moved)
				}
				w.write(func(tx *db.Tx) error { return w.tree.DropLocks(tx, "one") })
			}
		}
		w.accounted()
	})
}

// idAt returns the id of what lies at a path.
func (w *depot) idAt(p string) string {
	w.t.Helper()
	s, err := w.tree.At(w.t.Context(), path(p))
	w.must(err)
	if !s.Exists() {
		w.t.Fatalf("there is no %s", p)
	}
	return s.ID()
}

// A copy by a job is held up by a lock on its target, too, and by none on its source.
func TestCopyJobMeetsLocks(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		one := w.keyed()
		g, id := w.large(one, "/home/ann/box", "/home/ann/to", some())
		bytes, count := w.used("ann")
		w.lock("one", w.idAt("/home/ann/box"), deep)
		var l files.WriteLock
		w.before(2, func() { l = w.lock("one", w.idAt("/home/ann/to"), exclusive) })
		w.ended(id, "locked")
		w.lie("/home/ann/to")
		w.lies(g, "/home/ann/box")
		w.holds("refused", "ann", bytes, count, 0, 0)
		w.nothingStaged()
		name := vpath.Name("copy")
		_, err := w.tree.Copy(t.Context(), one, w.idAt("/home/ann/box"), path("/home/ann/to"), &name)
		w.wantLocked("while it is locked", err, "/home/ann/to")
		one.Locks = []string{l.Token}
		j, err := w.tree.Copy(t.Context(), one, w.idAt("/home/ann/box"), path("/home/ann/to"), &name)
		w.must(err)
		if j.Status != "pending" {
			t.Errorf("the copy is no job: %+v", j)
		}
		w.work()
		w.ended(j.ID, "")
		w.has("/home/ann/to/copy", g)
		w.accounted()
	})
}
