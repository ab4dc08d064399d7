package files_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// crew does things at once, each of which may be refused in these ways.
type crew struct {
	*depot
	all sync.WaitGroup
}

func (c *crew) do(what string, fn func() error, refusals ...fault.Kind) {
	c.all.Go(func() {
		err := fn()
		for _, kind := range refusals {
			if fault.Is(err, kind) {
				return
			}
		}
		if err != nil {
			c.t.Errorf("%s: %v", what, err)
		}
	})
}

// run is a replica that runs jobs until none is due.
func (c *crew) run() error {
	for r := c.runner(); ; {
		if ran, err := r.Once(c.t.Context()); err != nil || !ran {
			return err
		}
	}
}

// Abuse case C91, with copies: of a folder that is moved, renamed, deleted and uploaded into, into others that are, by two replicas. Everybody gets an
// answer, jobs end, quota and references are exact, and each copy is read byte for byte.
func TestCopiesAgainstAllElse(t *testing.T) {
	for name, batch := range map[string]int{"at once": 1000, "by jobs": 2} {
		t.Run(name, func(t *testing.T) {
			eachDepot(t, func(t *testing.T, w *depot) {
				w.tree.SetBatch(batch)
				for round := range 6 {
					base := fmt.Sprintf("/home/ann/r%d", round)
					w.stock(base+"/src", map[string]string{"a": "1", "b": "22", "sub/c": "333", "sub/d": "4444", "sub/e/f": "55555"})
					src, sub, f := w.entryAt(base+"/src"), w.entryAt(base+"/src/sub"), w.entryAt(base+"/src/b")
					to, away := w.folder(w.ann, base+"/to").ID, w.folder(w.ann, base+"/away").ID
					place, err := w.tree.Place(t.Context(), w.ann, path(base+"/src/sub"), "up", files.RenameNew)
					w.must(err)
					into, err := w.tree.Place(t.Context(), w.ann, path(base+"/to"), "up", files.RenameNew)
					w.must(err)
					replace, err := w.tree.Place(t.Context(), w.ann, path(base+"/src"), "a", files.Replace)
					w.must(err)
					stored := []files.Stored{w.store("up"), w.store("into"), w.store("replaced")}

					c := &crew{depot: w}
					for i, target := range []string{base + "/to", base + "/away", "/vault", base + "/to"} {
						c.do("copy", func() error {
							name := vpath.Name(fmt.Sprintf("copy%d-%d", round, i))
							_, err := w.tree.Copy(t.Context(), w.ann, src, path(target), &name)
							return err
						}, fault.NotFound, fault.Conflict)
					}
					c.do("copy a file", func() error {
						name := vpath.Name("file")
						_, err := w.tree.Copy(t.Context(), w.ann, f, path(base+"/to"), &name)
						return err
					}, fault.NotFound)
					c.do("run", c.run)
					c.do("move a part out", func() error { _, err := w.tree.Move(t.Context(), w.ann, sub, path(base), nil); return err })
					c.do("delete a file", func() error { _, _, err := w.tree.Delete(t.Context(), w.ann, f); return err })
					c.do("rename the target", func() error { _, err := w.tree.Rename(t.Context(), w.ann, away, "elsewhere"); return err })
					c.do("delete the target", func() error {
						if round%2 == 0 {
							return nil
						}
						_, _, err := w.tree.Delete(t.Context(), w.ann, to)
						return err
					})
					for i, p := range []files.Place{place, into, replace} {
						c.do("upload", func() error { _, err := w.commit(w.ann, p, stored[i]); return err }, fault.Conflict)
					}
					c.do("run", c.run)
					c.all.Wait()
					for range 12 { // what failed for a moment is tried again
						w.work()
						w.pass(10 * time.Minute)
					}
					var open int
					w.must(w.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM jobs WHERE status IN ('pending', 'running')").Scan(&open))
					if open > 0 {
						t.Errorf("round %d: %d jobs did not end", round, open)
					}
					w.all(base) // each file can be read
				}
				w.nothingStaged()
				w.collect()
				w.owned()
				w.accounted()
			})
		})
	}
}

// Abuse case C90, with copies: of many at once that want one name, one has it.
func TestOfManyCopiesToOneNameOneSucceeds(t *testing.T) {
	eachSize(t, func(t *testing.T, w *depot, _ bool) {
		w.file(w.ann, "/home/ann/box/a", "1")
		w.file(w.ann, "/home/ann/box/b", "22")
		w.folder(w.ann, "/home/ann/to")
		box, f := w.entryAt("/home/ann/box"), w.file(w.ann, "/home/ann/f", "x").ID
		name := vpath.Name("name")
		c := &crew{depot: w}
		for i := range 20 {
			switch i % 4 {
			case 0:
				c.do("copy a folder", func() error { _, err := w.tree.Copy(t.Context(), w.ann, box, path("/home/ann/to"), &name); return err }, fault.Conflict)
			case 1:
				c.do("copy a file", func() error { _, err := w.tree.Copy(t.Context(), w.ann, f, path("/home/ann/to"), &name); return err }, fault.Conflict)
			case 2:
				c.do("make a folder", func() error {
					_, err := w.tree.CreateFolder(t.Context(), w.ann, path("/home/ann/to"), name)
					return err
				}, fault.AlreadyExists)
			default:
				g := w.file(w.ann, fmt.Sprint("/home/ann/g", i), "x").ID
				c.do("move a file", func() error { _, err := w.tree.Move(t.Context(), w.ann, g, path("/home/ann/to"), &name); return err }, fault.Conflict)
			}
		}
		c.all.Wait()
		w.work()
		if got := w.list(w.ann, "/home/ann/to"); len(got) != 1 {
			t.Errorf("there lie %q", got)
		}
		w.nothingStaged()
		w.collect() // copies that were too late
		w.owned()
		w.accounted()
	})
}

// Of many copies at once no more are taken than the quota holds.
func TestCopiesAtOnceKeepToTheQuota(t *testing.T) {
	eachSize(t, func(t *testing.T, w *depot, _ bool) {
		w.file(w.admin, "/public/box/a", "12345")
		w.file(w.admin, "/public/box/b", "67890")
		box := w.entryAt("/public/box")
		w.limit("ann", 39, 100) // three of ten bytes each
		c := &crew{depot: w}
		for i := range 12 {
			c.do("copy", func() error {
				name := vpath.Name(fmt.Sprint("copy", i))
				_, err := w.tree.Copy(t.Context(), w.ann, box, path("/home/ann"), &name)
				return err
			}, fault.QuotaExceeded)
		}
		c.all.Wait()
		w.work()
		w.holds("afterwards", "ann", 30, 6, 0, 0)
		w.nothingStaged()
		w.owned()
		if got := w.all("/home/ann"); len(got) != 9 {
			t.Errorf("there lie %q", got)
		}
	})
}
