package files_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

// On PostgreSQL a file that replaces a file waits for no other change of single entries. Only a
// folder that is replaced or moved needs the tree exclusively.
func TestOverwriteOfAFileLeavesTheTreeShared(t *testing.T) {
	eachOverwrite(t, func(t *testing.T, w *storesFixture, how overwrite) {
		if w.db.Dialect().SingleWriter() {
			return // there is one writer, and no lock of the tree
		}
		w.mustUpload(w.ann, "/home/ann/source", "new")
		w.mustUpload(w.ann, "/home/ann/there", "old")
		w.createFolder(w.ann, "/home/ann/folder")
		shared, released, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		go func() {
			ended <- w.db.Write(t.Context(), func(tx *db.Tx) error {
				err := tx.LockTree(false)
				close(shared)
				<-released
				return err
			})
		}()
		<-shared

		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		name, dir := mustParsePath("/home/ann/there").Base(), w.idAtPath("/home/ann/source")
		do := w.tree.CopyWithOptions
		if how.move {
			do = w.tree.MoveWithOptions
		}
		_, err := do(limited, w.ann, dir, mustParsePath("/home/ann"), name, files.CopyMoveOptions{Replace: true})
		w.must(err)
		if got, err := w.readPath(w.ann, "/home/ann/there"); got != "new" || err != nil {
			t.Errorf("the file has %q, %v", got, err)
		}

		w.mustUpload(w.ann, "/home/ann/other", "over a folder")
		replaced := make(chan error, 1)
		go func() {
			_, err := how.request(w, w.ann, "/home/ann/other", "/home/ann/folder")
			replaced <- err
		}()
		w.waitForWaitingLock(replaced)
		release()
		w.must(<-ended)
		w.must(<-replaced)
		w.checkAccounting()
	})
}

// waitForWaitingLock waits until some transaction of this database waits for the tree, and fails
// when the change ends without waiting.
func (f *storesFixture) waitForWaitingLock(ended <-chan error) {
	f.t.Helper()
	for waiting := 0; waiting == 0; {
		select {
		case err := <-ended:
			f.t.Fatalf("the change did not wait for the tree: %v", err)
		default:
		}
		f.must(f.db.Read(f.t.Context()).QueryRow(`
			SELECT count(*)
			FROM pg_locks
			WHERE locktype = 'advisory' AND NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting))
	}
}

// Moves and copies over one name, deletions of it, uploads to it, and moves between two names run
// at the same time: no overwrite fails because the name was taken, and nothing is counted twice.
func TestOverwriteRaces(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.allowAllUsers("/team")
		for round := range 8 {
			c := &concurrentTest{storesFixture: w}
			over := func(a access.Actor, how overwrite, from, to string, refusals ...fault.Kind) {
				c.start(fmt.Sprint(how, " from ", from, " to ", to), func() error {
					_, err := how.request(w, a, from, to)
					return err
				}, refusals...)
			}
			for i, a := range []access.Actor{w.ann, w.bob, w.ann, w.bob} {
				w.mustUpload(a, fmt.Sprintf("/team/source%d", i), fmt.Sprint("content ", i, round))
			}
			there := w.mustUpload(w.bob, "/team/target", "there")
			one, two := w.mustUpload(w.ann, "/team/one", "1"), w.mustUpload(w.bob, "/team/two", "22")
			for i := range 4 {
				over(w.ann, overwrite{move: i < 2}, fmt.Sprintf("/team/source%d", i), "/team/target")
			}
			c.start("upload", func() error {
				_, err := w.upload(w.bob, "/team/target", "uploaded", files.Replace)
				return err
			})
			c.start("delete", func() error {
				_, _, err := w.tree.Delete(t.Context(), w.bob, there.ID)
				return err
			}, fault.NotFound)
			// one of two crossing moves may find its source gone
			c.start("move one to two", func() error {
				_, err := w.tree.MoveWithOptions(t.Context(), w.ann, one.ID, mustParsePath("/team"), "two",
					files.CopyMoveOptions{Replace: true})
				return err
			}, fault.NotFound)
			c.start("move two to one", func() error {
				_, err := w.tree.MoveWithOptions(t.Context(), w.bob, two.ID, mustParsePath("/team"), "one",
					files.CopyMoveOptions{Replace: true})
				return err
			}, fault.NotFound)
			c.wait.Wait()
			w.runJobs()
			for _, name := range []string{"target", "one", "two", "source2", "source3"} {
				at, err := w.tree.ResourceAt(t.Context(), mustParsePath("/team/"+name))
				w.must(err)
				if at.Exists() {
					_, _, err := w.tree.Delete(t.Context(), w.admin, at.ID())
					w.must(err)
				}
			}
			w.checkAccounting()
			w.checkUsage("ann", "ann", 0, 0, 0, 0)
			w.checkUsage("bob", "bob", 0, 0, 0, 0)
		}
	})
}
