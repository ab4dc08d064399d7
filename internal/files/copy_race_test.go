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

// concurrentTest runs operations concurrently. Each may fail with the listed faults only.
type concurrentTest struct {
	*storesFixture
	wait sync.WaitGroup
}

func (c *concurrentTest) start(what string, fn func() error, refusals ...fault.Kind) {
	c.wait.Go(func() {
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

// Abuse case C91, with copies: two replicas copy folders that are moved, renamed, deleted and
// uploaded into, also into one another. Every request gets an answer, jobs end, quota and
// references are exact, and each copy reads byte for byte like its original.
func TestCopiesAgainstConcurrentChanges(t *testing.T) {
	for name, batch := range map[string]int{"at once": 1000, "by jobs": 2} {
		t.Run(name, func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
				w.tree.SetCopyBatchSize(batch)
				for round := range 6 {
					base := fmt.Sprintf("/home/ann/r%d", round)
					w.uploadTree(base+"/src",
						map[string]string{"a": "1", "b": "22", "sub/c": "333", "sub/d": "4444", "sub/e/f": "55555"})
					src, sub, f := w.idAtPath(base+"/src"), w.idAtPath(base+"/src/sub"), w.idAtPath(base+"/src/b")
					to, away := w.createFolder(w.ann, base+"/to").ID, w.createFolder(w.ann, base+"/away").ID
					dest, err := w.tree.ResolveDestination(t.Context(), w.ann, mustParsePath(base+"/src/sub"), "up",
						files.RenameNew)
					w.must(err)
					into, err := w.tree.ResolveDestination(t.Context(), w.ann, mustParsePath(base+"/to"), "up",
						files.RenameNew)
					w.must(err)
					replace, err := w.tree.ResolveDestination(t.Context(), w.ann, mustParsePath(base+"/src"), "a",
						files.Replace)
					w.must(err)
					stored := []files.StoredObject{w.storeContent("up"), w.storeContent("into"),
						w.storeContent("replaced")}

					c := &concurrentTest{storesFixture: w}
					for i, target := range []string{base + "/to", base + "/away", "/vault", base + "/to"} {
						c.start("copy", func() error {
							name := vpath.Name(fmt.Sprintf("copy%d-%d", round, i))
							_, err := w.tree.Copy(t.Context(), w.ann, src, mustParsePath(target), &name)
							return err
						}, fault.NotFound, fault.Conflict)
					}
					c.start("copy a file", func() error {
						name := vpath.Name("file")
						_, err := w.tree.Copy(t.Context(), w.ann, f, mustParsePath(base+"/to"), &name)
						return err
					}, fault.NotFound)
					c.start("run", c.tryRunJobs)
					c.start("move a part out",
						func() error {
							_, err := w.tree.Move(t.Context(), w.ann, sub, mustParsePath(base), nil)
							return err
						})
					c.start("delete a file", func() error {
						_, _, err := w.tree.Delete(t.Context(), w.ann, f)
						return err
					})
					c.start("rename the target",
						func() error { _, err := w.tree.Rename(t.Context(), w.ann, away, "elsewhere"); return err })
					c.start("delete the target", func() error {
						if round%2 == 0 {
							return nil
						}
						_, _, err := w.tree.Delete(t.Context(), w.ann, to)
						return err
					})
					for i, p := range []files.Destination{dest, into, replace} {
						c.start("upload", func() error { _, err := w.putEntry(w.ann, p, stored[i]); return err },
							fault.Conflict)
					}
					c.start("run", c.tryRunJobs)
					c.wait.Wait()
					for range 12 { // retries temporary failures
						w.runJobs()
						w.advance(10 * time.Minute)
					}
					open := w.queryInt("SELECT COUNT(*) FROM jobs WHERE status IN ('pending', 'running')")
					if open > 0 {
						t.Errorf("round %d: %d jobs did not end", round, open)
					}
					w.contentsBelow(base) // reads every file
				}
				w.checkNothingStaged()
				w.collect()
				w.checkChargesMatchOwnership()
				w.checkAccounting()
			})
		})
	}
}

// Abuse case C90, with copies: of many concurrent copies to one name, one succeeds.
func TestConcurrentCopiesToOneName(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.mustUpload(w.ann, "/home/ann/box/a", "1")
		w.mustUpload(w.ann, "/home/ann/box/b", "22")
		w.createFolder(w.ann, "/home/ann/to")
		box, f := w.idAtPath("/home/ann/box"), w.mustUpload(w.ann, "/home/ann/f", "x").ID
		name := vpath.Name("name")
		c := &concurrentTest{storesFixture: w}
		for i := range 20 {
			switch i % 4 {
			case 0:
				c.start("copy a folder", func() error {
					_, err := w.tree.Copy(t.Context(), w.ann, box, mustParsePath("/home/ann/to"), &name)
					return err
				}, fault.Conflict)
			case 1:
				c.start("copy a file", func() error {
					_, err := w.tree.Copy(t.Context(), w.ann, f, mustParsePath("/home/ann/to"), &name)
					return err
				}, fault.Conflict)
			case 2:
				c.start("make a folder", func() error {
					_, err := w.tree.CreateFolder(t.Context(), w.ann, mustParsePath("/home/ann/to"), name)
					return err
				}, fault.AlreadyExists)
			default:
				g := w.mustUpload(w.ann, fmt.Sprint("/home/ann/g", i), "x").ID
				c.start("move a file", func() error {
					_, err := w.tree.Move(t.Context(), w.ann, g, mustParsePath("/home/ann/to"), &name)
					return err
				}, fault.Conflict)
			}
		}
		c.wait.Wait()
		w.runJobs()
		if got := w.listFolder(w.ann, "/home/ann/to"); len(got) != 1 {
			t.Errorf("the folder has %q", got)
		}
		w.checkNothingStaged()
		w.collect() // copies that lost the race
		w.checkChargesMatchOwnership()
		w.checkAccounting()
	})
}

// Concurrent copies are accepted only as long as the quota lasts.
func TestConcurrentCopiesRespectQuota(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.mustUpload(w.admin, "/public/box/a", "12345")
		w.mustUpload(w.admin, "/public/box/b", "67890")
		box := w.idAtPath("/public/box")
		w.setQuota("ann", 39, 100) // room for three copies of ten bytes
		c := &concurrentTest{storesFixture: w}
		for i := range 12 {
			c.start("copy", func() error {
				name := vpath.Name(fmt.Sprint("copy", i))
				_, err := w.tree.Copy(t.Context(), w.ann, box, mustParsePath("/home/ann"), &name)
				return err
			}, fault.QuotaExceeded)
		}
		c.wait.Wait()
		w.runJobs()
		w.checkUsage("afterwards", "ann", 30, 6, 0, 0)
		w.checkNothingStaged()
		w.checkChargesMatchOwnership()
		if got := w.contentsBelow("/home/ann"); len(got) != 9 {
			t.Errorf("the folder has %q", got)
		}
	})
}
