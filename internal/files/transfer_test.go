package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/object"
)

// A folder and a file are moved to another provider. Until the end they are readable at their old
// paths by every address, then at their new paths, with the same ids, links, ETags and charges. The
// old objects are deleted after the grace period.
func TestMoveBetweenProviders(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		single := w.uploadTree("/home/ann", map[string]string{"single": "alone"})
		// as for uploads in parts
		w.exec("UPDATE objects SET sha256 = NULL")
		before, _ := w.usage("ann")
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		k := w.startMove(w.ann, single.ids["single"], "/vault")
		w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
		stored := 0
		w.setHook(func(_ int, op, provider string) error {
			if op == "stored" {
				stored++
			}
			if op == "put" && provider != "vault" || op == "open" && provider != "local" {
				t.Errorf("%s in %s", op, provider)
			}
			if w.job(j.ID).Status != "completed" {
				w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
			}
			if w.job(k.ID).Status != "completed" {
				w.checkReadableBelow(single, "/home/ann", "/vault")
			}
			return nil
		})
		w.runJobs()
		w.setHook(nil)
		w.checkJobEnded(j.ID, "")
		w.checkJobEnded(k.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		w.checkReadableBelow(single, "/vault", "/home/ann")
		if got := w.listFolder(w.ann, "/home/ann"); len(got) != 0 {
			t.Errorf("left at the old path: %q", got)
		}
		if stored != len(g.content)+1 || w.countObjects("local") != 0 || w.countObjects("vault") != stored {
			t.Errorf("%d copies; objects: %d in the old provider, %d in the new one", stored, w.countObjects("local"),
				w.countObjects("vault"))
		}
		if after, _ := w.usage("ann"); after != before {
			t.Errorf("charged %d bytes, before %d", after, before)
		}
		for _, content := range g.content {
			sum := sha256.Sum256([]byte(content))
			n := w.queryInt("SELECT COUNT(*) FROM objects WHERE sha256 = $1", hex.EncodeToString(sum[:]))
			if n != 1 {
				t.Errorf("%d objects have the checksum of %.10q", n, content)
			}
		}
		w.collect()
		if n := w.countStored("local"); n != stored { // open readers can continue
			t.Errorf("%d of %d old objects are there within the grace period", n, stored)
		}
		w.checkAccounting()
		w.checkReadableBelow(g, "/vault/box")
	})
}

// A move that needs no copying is done immediately: empty folders, and a file whose content is
// already there.
func TestMoveWithNothingToCopyNeedsNoJob(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.createFolder(w.ann, "/home/ann/empty")
		w.createFolder(w.ann, "/home/ann/empty/inner")
		done, err := w.tree.Move(t.Context(), w.ann, w.idAtPath("/home/ann/empty"), mustParsePath("/vault"), nil)
		w.must(err)
		if done.Status != "completed" || w.job(done.ID).Status != "completed" {
			t.Errorf("job %+v", done)
		}
		w.idAtPath("/vault/empty/inner")

		// A move that failed at the very end has copied everything. The second attempt copies
		// nothing.
		g := w.uploadTree("/home/ann/box", sampleFiles())
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		w.mustUpload(w.ann, "/vault/box", "in the way")
		w.runJobs()
		w.checkJobEnded(j.ID, "already exists in the target folder")
		w.checkReadableBelow(g, "/home/ann/box")
		done, err = w.tree.Move(t.Context(), w.ann, w.idAtPath("/home/ann/box"), mustParsePath("/vault/empty"), nil)
		w.must(err)
		if done.Status != "completed" {
			t.Errorf("job %+v", done)
		}
		w.checkReadableBelow(g, "/vault/empty/box", "/home/ann/box")
		w.checkAccounting()
	})
}

// A move that is refused within a provider is refused between two providers, immediately.
func TestMoveBetweenProvidersIsRefusedAtOnce(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		f := w.mustUpload(w.ann, "/home/ann/f", "x")
		w.mustUpload(w.ann, "/vault/f", "x")
		for what, c := range map[string]struct {
			who    access.Actor
			id     string
			target string
			kind   fault.Kind
		}{
			"another's target":    {w.bob, f.ID, "/vault", fault.Forbidden},
			"a name taken":        {w.ann, f.ID, "/vault", fault.Conflict},
			"a missing folder":    {w.ann, f.ID, "/vault/none", fault.NotFound},
			"a file as target":    {w.ann, f.ID, "/vault/f", fault.NotFound},
			"the root of a mount": {w.admin, w.root, "/vault", fault.Conflict},
		} {
			_, err := w.tree.Move(t.Context(), c.who, c.id, mustParsePath(c.target), nil)
			w.wantFault(what, err, c.kind)
		}
		id := w.mustUpload(w.ann, "/home/ann/g", "x").ID
		for range 100 {
			w.startMove(w.ann, id, "/vault")
		}
		_, err := w.tree.Move(t.Context(), w.ann, id, mustParsePath("/vault"), nil)
		w.wantFault("the 101st job", err, fault.Conflict)
	})
}

// Abuse case C127: a move that stops at any store operation, by a failure or by a shutdown, leaves
// every file in its old place, and another replica completes it.
func TestMoveResumesAfterStop(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		content := map[string]string{"a": "first", "sub/b": "second", "sub/c": strings.Repeat("third", 100_000)}
		from, to := "/home/ann", "/vault"
		const operations = 12 // for three files: open, put, stored, stat
		for stopped := 1; stopped <= operations; stopped++ {
			for _, how := range []string{"failure", "stop"} {
				name := fmt.Sprintf("%s-%d", how, stopped)
				g := w.uploadTree(from+"/"+name, content)
				j := w.startMove(w.ann, w.idAtPath(from+"/"+name), to)
				ctx, stop := context.WithCancel(t.Context())
				w.setHook(func(n int, op, _ string) error {
					if n != stopped {
						return nil
					}
					if how == "stop" {
						stop()
						return nil
					}
					return errors.New(op + " failed")
				})
				_, err := w.newJobRunner().RunNext(ctx)
				w.must(err)
				// a stop after the last store operation may come too late
				last := w.job(j.ID).Status == "completed"
				if last && (how != "stop" || stopped < operations-1) {
					t.Errorf("%s: %+v", name, w.job(j.ID))
				}
				if !last {
					w.checkReadableBelow(g, from+"/"+name, to+"/"+name)
				}
				copied := w.countObjects("vault")
				w.setHook(nil)
				w.advance(5 * time.Second)
				w.runJobs()
				w.checkJobEnded(j.ID, "")
				w.checkReadableBelow(g, to+"/"+name, from+"/"+name)
				if stopped > operations/3+1 && copied == w.countObjects("vault")-len(content) {
					t.Errorf("%s: nothing of the first attempt was kept", name)
				}
				stop()
			}
		}
		w.checkAccounting()
	})
}

// Abuse case C127: a copy that differs from the recorded content is deleted, the job fails, and the
// source is unchanged.
func TestMoveRejectsCorruptCopy(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		absent := func(where string) func() {
			return func() {
				w.setHook(func(_ int, op, _ string) error {
					if op == where {
						return blob.ErrNotFound
					}
					return nil
				})
			}
		}
		n := 0
		for what, spoil := range map[string]func(){
			"a flipped bit": func() {
				w.wrapObject = func(o blob.Object) blob.Object { return &corruptObject{Object: o} }
			},
			"a cut object": func() {
				w.wrapObject = func(o blob.Object) blob.Object { return &truncatedObject{Object: o} }
			},
			"a target that lost it": absent("stat"),
			"a source that lost it": absent("open"),
		} {
			n++
			from := fmt.Sprintf("/home/ann/box%d", n)
			g := w.uploadTree(from, map[string]string{"f": "content that matters"})
			j := w.startMove(w.ann, w.idAtPath(from), "/vault")
			spoil()
			w.runJobs()
			w.setHook(nil)
			w.wrapObject = nil
			t.Log(what)
			w.checkJobEnded(j.ID, "nothing was moved")
			w.checkReadableBelow(g, from, "/vault/"+string(mustParsePath(from).Base()))
			w.collect() // deleted immediately: unread content needs no grace period
			if n := w.countStored("vault"); n != 0 {
				t.Errorf("%s: the target has %d objects", what, n)
			}
		}
		w.checkAccounting()
	})
}

// corruptObject is an object with one wrong bit, truncatedObject an object that ends early.
type corruptObject struct{ blob.Object }

func (o *corruptObject) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	if n > 0 {
		p[0] ^= 1
	}
	return n, err
}

type truncatedObject struct{ blob.Object }

func (o *truncatedObject) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	if err == nil {
		return max(n-1, 0), io.EOF
	}
	return n, err
}

// countStored counts the objects in a provider's store.
func (f *storesFixture) countStored(id string) (n int) {
	f.t.Helper()
	store, err := f.reg.Store(f.t.Context(), id)
	f.must(err)
	walker := store.(interface {
		Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error
	})
	f.must(walker.Walk(f.t.Context(), func(blob.Key, int64, time.Time) error { n++; return nil }))
	return n
}

// Content that was uploaded in parts gets its checksum from a job of its upload.
func TestChecksumJobFillsInSHA256(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.mustUploadUnsummed(w.ann, "/home/ann/f", "abc")
		gone := w.mustUploadUnsummed(w.ann, "/home/ann/gone", "gone")
		w.write(func(tx *db.Tx) error {
			return job.Insert(tx, job.Spec{ID: "of nothing", Type: object.ChecksumJob, Payload: "absent"})
		})
		// the first attempt finds the store unreachable, and one of the files is deleted meanwhile
		w.setHook(func(n int, op, _ string) error {
			if n == 1 {
				_, _, err := w.tree.Delete(t.Context(), w.ann, gone.ID)
				w.must(err)
				return blob.Unavailable("open", errors.New("away"))
			}
			return nil
		})
		w.runJobs()
		w.advance(5 * time.Second)
		w.runJobs()
		w.setHook(nil)
		var sum string
		w.must(w.db.Read(t.Context()).QueryRow("SELECT sha256 FROM objects WHERE size = 3").Scan(&sum))
		if sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
			t.Errorf("checksum %s", sum)
		}
		if n := w.countRows("jobs"); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
		// An object whose length differs from the recorded one gets no checksum.
		w.mustUploadUnsummed(w.ann, "/home/ann/short", "short")
		w.wrapObject = func(o blob.Object) blob.Object { return &truncatedObject{Object: o} }
		w.runJobs()
		unknown := w.queryInt("SELECT COUNT(*) FROM objects WHERE sha256 IS NULL")
		if unknown != 1 {
			t.Errorf("%d objects are without a checksum", unknown)
		}
	})
}

// An object that is moved to another provider while it is read keeps the checksum that the move
// computed.
func TestChecksumOfObjectMovedMeanwhile(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		f := w.mustUploadUnsummed(w.ann, "/home/ann/f", "abc")
		j := w.startMove(w.ann, f.ID, "/vault")
		w.exec("UPDATE jobs SET due = due + 60000 WHERE id = $1", j.ID)
		moved := false
		w.setHook(func(_ int, op, _ string) error {
			if op == "open" && !moved {
				moved = true
				w.advance(time.Minute)
				w.runJobs() // the other replica moves it
			}
			return nil
		})
		w.wrapObject = func(o blob.Object) blob.Object { return o }
		w.runJobs()
		w.setHook(nil)
		w.checkJobEnded(j.ID, "")
		var sum string
		w.must(w.db.Read(t.Context()).QueryRow("SELECT sha256 FROM objects").Scan(&sum))
		if sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
			t.Errorf("checksum %s", sum)
		}
		if got, err := w.readPath(w.ann, "/vault/f"); got != "abc" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// runDuringCopy runs a job and calls do while the job copies its second object.
func (f *storesFixture) runDuringCopy(do func()) {
	f.t.Helper()
	puts := 0
	f.setHook(func(_ int, op, _ string) error {
		if op == "put" {
			if puts++; puts == 2 {
				do()
			}
		}
		return nil
	})
	f.runJobs()
	f.setHook(nil)
}

// Permissions and limits are checked again at the end of the copying. When the move is not allowed
// or not possible any more, the job fails with a sentence and everything stays readable at its old
// path.
func TestMoveRechecksPermissionsAtTheEnd(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		n := 0
		for what, c := range map[string]struct {
			change  func(from, to string)
			message string
		}{
			// abuse case C31
			"the permission to write there is gone": {func(_, to string) {
				w.addRule(access.Rule{Pattern: to + "/**", Effect: access.Deny, UserID: "ann",
					Permissions: access.Set(access.Write)})
			}, "permission"},
			"the permission to delete is gone": {func(from, _ string) {
				w.addRule(access.Rule{Pattern: from + "/sub/**", Effect: access.Deny, UserID: "ann",
					Permissions: access.Set(access.Delete)})
			}, "permission"},
			"the account is disabled": {func(string, string) {
				w.inactive["ann"] = true
				w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
			}, "account"},
			"the target is deleted": {func(_, to string) {
				_, _, err := w.tree.Delete(t.Context(), w.ann, w.idAtPath(to))
				w.must(err)
			}, "target folder does not exist"},
			"the target has another name": {func(_, to string) {
				_, err := w.tree.Rename(t.Context(), w.ann, w.idAtPath(to), mustParsePath(to).Base()+"-elsewhere")
				w.must(err)
			}, "target folder does not exist"},
			"another folder has the target's name": {func(_, to string) {
				_, err := w.tree.Rename(t.Context(), w.ann, w.idAtPath(to), mustParsePath(to).Base()+"-elsewhere")
				w.must(err)
				w.createFolder(w.ann, to)
			}, "moved or replaced"},
			"the name is taken": {func(from, to string) {
				w.mustUpload(w.ann, to+"/"+string(mustParsePath(from).Base()), "x")
			}, "already exists in the target folder"},
		} {
			n++
			from, to := fmt.Sprintf("/home/ann/box%d", n), fmt.Sprintf("/vault/to%d", n)
			w.createFolder(w.ann, to)
			g := w.uploadTree(from, map[string]string{"a": "1", "sub/b": "22", "sub/c": "333"})
			j := w.startMove(w.ann, w.idAtPath(from), to)
			w.runDuringCopy(func() { c.change(from, to) })
			t.Log(what)
			w.checkJobEnded(j.ID, c.message)
			w.inactive["ann"] = false
			w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
			w.checkReadableBelow(g, from, to+"/"+string(mustParsePath(from).Base()))
		}
		w.checkAccounting()
	})
}

// A move by a key that was revoked ends. A move by a valid key is limited to the key's permissions.
func TestMoveByKeyNeedsTheKeyAtTheEnd(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		key := &access.Key{ID: "pk", Permissions: access.Set(access.Read | access.Write | access.Delete),
			Root: mustParsePath("/")}
		usable := true
		w.tree.Key = func(_ context.Context, _ int64, id string, ip netip.Addr) (*access.Key, bool, error) {
			if id != "pk" || ip != w.ann.IP {
				t.Errorf("asked for key %q at %s", id, ip)
			}
			return key, usable, nil
		}
		byKey := w.ann
		byKey.Key = key
		g := w.uploadTree("/home/ann/box", sampleFiles())
		j := w.startMove(byKey, w.idAtPath("/home/ann/box"), "/vault")
		w.runDuringCopy(func() { usable = false })
		w.checkJobEnded(j.ID, "API key")
		w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
		usable = true
		w.mustUpload(w.ann, "/home/ann/box/new", "x")
		j = w.startMove(byKey, w.idAtPath("/home/ann/box"), "/vault")
		key = &access.Key{ID: "pk", Permissions: access.Set(access.Read | access.Write | access.Delete),
			Root: mustParsePath("/home")}
		w.runJobs()
		w.checkJobEnded(j.ID, "permission")
		key = byKey.Key
		j = w.startMove(byKey, w.idAtPath("/home/ann/box"), "/vault")
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
	})
}

// Changes of the files while they are copied do not fail the move.
func TestMoveFollowsConcurrentChanges(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", map[string]string{"a": "1", "b": "22", "c": "333", "d": "4444",
			"old/e": "55555"})
		late := uploadedFiles{content: map[string]string{}, ids: map[string]string{}, links: map[string]string{},
			etags: map[string]string{}}
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		w.runDuringCopy(func() { // a is copied, b is being copied
			for _, name := range []string{"b", "c"} { // one copy under way, one still to come
				_, _, err := w.tree.Delete(t.Context(), w.ann, g.ids[name])
				w.must(err)
				delete(g.content, name)
			}
			_, err := w.upload(w.ann, "/home/ann/box/d", "replaced", files.Replace)
			w.must(err)
			g.content["d"], g.etags["d"] = "replaced", ""
			_, err = w.tree.Rename(t.Context(), w.ann, w.idAtPath("/home/ann/box/old"), "A older")
			w.must(err)
			g.content["A older/e"], g.ids["A older/e"], g.links["A older/e"] = "55555", g.ids["old/e"], g.links["old/e"]
			delete(g.content, "old/e")
			_, err = w.tree.Rename(t.Context(), w.ann, w.idAtPath("/home/ann/box"), "case")
			w.must(err)
			late = w.uploadTree("/home/ann/case", map[string]string{"A": "late", "new/late": "late too"})
		})
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/case", "/home/ann/box", "/home/ann/case")
		w.checkReadableBelow(late, "/vault/case", "/home/ann/box", "/home/ann/case")
		if w.countObjects("local") != 0 {
			t.Errorf("%d objects stayed", w.countObjects("local"))
		}
		w.checkAccounting()
	})
}

// Files that are added to the folder at the last moment are copied after the folder has its new
// path. A move that stops there resumes there.
func TestMoveCopiesLateFiles(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", map[string]string{"a": "1", "z": "22"})
		late := uploadedFiles{}
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		puts := 0
		w.setHook(func(_ int, op, _ string) error {
			if op == "put" {
				puts++
			}
			switch {
			case op == "put" && puts == 2: // the walk has passed every file except z
				late = w.uploadTree("/home/ann/box", map[string]string{"b": "straggler", "c": "another"})
			case op == "put" && puts == 3:
				stop()
			}
			return nil
		})
		_, err := w.newJobRunner().RunNext(ctx)
		w.must(err)
		if got := w.job(j.ID); got.Status != "pending" {
			t.Errorf("the waiting job is %+v", got)
		}
		w.setHook(nil)
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		w.checkReadableBelow(late, "/vault/box", "/home/ann/box")
		if w.countObjects("local") != 2 {
			t.Errorf("%d objects are still to be copied, want 2", w.countObjects("local"))
		}
		// The actor may not do it any more. The entry is moved already.
		w.addRule(access.Rule{Pattern: "/vault/**", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Write)})
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		w.checkReadableBelow(late, "/vault/box", "/home/ann/box")
		if w.countObjects("local") != 0 {
			t.Errorf("%d objects stayed", w.countObjects("local"))
		}
		w.checkAccounting()
	})
}

// The moved entry itself is deleted, before its job begins or while it runs.
func TestMoveOfDeletedEntry(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for _, when := range []string{"before", "during"} {
			w.uploadTree("/home/ann/box", sampleFiles())
			id := w.idAtPath("/home/ann/box")
			j := w.startMove(w.ann, id, "/vault")
			remove := func() {
				_, _, err := w.tree.Delete(context.Background(), w.ann, id)
				w.must(err)
			}
			if when == "before" {
				remove()
				w.runJobs()
			} else {
				w.runDuringCopy(remove)
			}
			w.checkJobEnded(j.ID, "no such file or folder")
		}
		if n := w.countStored("vault"); n > 2 {
			t.Errorf("%d objects were copied, most of them after the folder was deleted", n)
		}
		w.checkAccounting()
		if n := w.countStored("vault") + w.countStored("local"); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// Copies that share an object keep it. The moved copy gets its own object.
func TestMoveKeepsSharedObjectForOtherCopies(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", map[string]string{"a": "shared", "b": "shared"})
		kept := w.mustUpload(w.ann, "/home/ann/kept", "shared")
		// All three share the object of a, as copies do.
		w.write(func(tx *db.Tx) error {
			var object string
			if err := tx.QueryRow("SELECT object_id FROM entries WHERE id = $1", g.ids["a"]).Scan(&object); err != nil {
				return err
			}
			for _, id := range []string{g.ids["b"], kept.ID} {
				if _, err := tx.Exec("DELETE FROM objects WHERE id = (SELECT object_id FROM entries WHERE id = $1)",
					id); err != nil {
					return err
				}
				if _, err := tx.Exec("UPDATE entries SET object_id = $1 WHERE id = $2", object, id); err != nil {
					return err
				}
				if _, err := tx.Exec("UPDATE objects SET refs = refs + 1 WHERE id = $1", object); err != nil {
					return err
				}
			}
			return nil
		})
		g.etags["b"] = g.etags["a"] // the content is the same, so the ETag is the same in every store
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		if got, err := w.readPath(w.ann, "/home/ann/kept"); err != nil || got != "shared" {
			t.Errorf("the copy that stayed: %q, %v", got, err)
		}
		if w.countObjects("local") != 1 || w.countObjects("vault") != 2 {
			t.Errorf("%d objects in the old provider, %d in the new", w.countObjects("local"), w.countObjects("vault"))
		}
		// the two objects whose rows were deleted above belong to no entry
		w.exec("DELETE FROM garbage WHERE after < 0")
		w.advance(3 * time.Hour)
		w.collect()
		w.checkReadableBelow(g, "/vault/box")
		if got, err := w.readPath(w.ann, "/home/ann/kept"); err != nil || got != "shared" {
			t.Errorf("the copy that stayed, after the grace period: %q, %v", got, err)
		}
	})
}

// Abuse case C20: two providers in one directory. A move in either direction loses nothing.
func TestMoveBetweenProvidersInOneDirectory(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		for _, way := range [][2]string{{"/home/ann", "/twin"}, {"/twin", "/home/ann"}} {
			j := w.startMove(w.ann, w.idAtPath(way[0]+"/box"), way[1])
			w.runJobs()
			w.checkJobEnded(j.ID, "")
			w.checkReadableBelow(g, way[1]+"/box", way[0]+"/box")
			w.checkAccounting()
			w.checkReadableBelow(g, way[1]+"/box", way[0]+"/box")
		}
	})
}

// A change of a provider's bucket takes the tree alone and asks whether keys are recorded for the
// provider. A key must be recorded before its store is opened. Otherwise the copy would go to the
// old bucket and count as one in the new bucket.
func TestMoveNotesKeysBeforeOpeningStore(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		asked := 0
		w.tree.WrapStores(func(id string, s blob.Store) blob.Store {
			if id == "vault" {
				if asked++; w.queryInt("SELECT COUNT(*) FROM garbage WHERE provider_id = 'vault'") == 0 {
					t.Error("the store of a copy is opened before a key is recorded")
				}
			}
			return s
		})
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		if asked == 0 {
			t.Error("the store was not opened")
		}
	})
}

// Abuse case C126: a store that is unreachable for a minute delays the move by a minute.
func TestMoveWaitsForAStore(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		end := w.clock().Add(time.Minute)
		w.setHook(func(n int, op, provider string) error {
			if n > 3 && provider == "vault" && w.clock().Before(end) {
				return blob.Unavailable(op, errors.New("no route to host"))
			}
			return nil
		})
		for range 40 {
			w.runJobs()
			if w.job(j.ID).Status != "completed" {
				w.checkReadableBelow(g, "/home/ann/box", "/vault/box")
			}
			w.advance(5 * time.Second)
		}
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		w.checkAccounting()
	})
}

// However long the copy of a large object takes, the collector does not delete its key meanwhile.
func TestCollectorKeepsKeyDuringLargeMove(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann", map[string]string{"large": strings.Repeat("large", 300_000)})
		j := w.startMove(w.ann, g.ids["large"], "/vault")
		w.wrapObject = func(o blob.Object) blob.Object {
			return &slowObject{Object: o, pause: func() { w.advance(50 * time.Minute); w.collect() }}
		}
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault", "/home/ann")
		w.checkAccounting()
		w.checkReadableBelow(g, "/vault", "/home/ann")
	})
}

// slowObject is an object that pauses before each read.
type slowObject struct {
	blob.Object
	pause func()
}

func (s *slowObject) Read(p []byte) (int, error) {
	s.pause()
	return s.Object.Read(p)
}

// Two replicas hold one job after a pause longer than the lease. Each copies, one takes effect, and
// nothing is left over.
func TestTwoReplicasHoldingOneMoveJob(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		g := w.uploadTree("/home/ann/box", sampleFiles())
		j := w.startMove(w.ann, w.idAtPath("/home/ann/box"), "/vault")
		taken := false
		w.setHook(func(n int, op, _ string) error {
			if op == "stored" && n > 5 && !taken {
				taken = true
				w.exec("UPDATE jobs SET due = 0")
				w.runJobs() // the other replica finishes it
			}
			return nil
		})
		_, err := w.newJobRunner().RunNext(t.Context())
		w.must(err)
		w.setHook(nil)
		w.checkJobEnded(j.ID, "")
		w.checkReadableBelow(g, "/vault/box", "/home/ann/box")
		w.runJobs()
		w.checkAccounting()
		w.checkReadableBelow(g, "/vault/box")
	})
}

// Abuse case C91: two replicas run moves of one tree to two targets, moves of trees into each
// other, renames and uploads. The jobs end, nothing is lost, and no cycle results.
func TestConcurrentMovesBetweenProviders(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		for round := range 6 {
			base := fmt.Sprintf("/home/ann/r%d", round)
			far := fmt.Sprintf("/vault/r%d", round)
			w.createFolder(w.ann, base)
			w.createFolder(w.ann, far)
			inBase, inFar := fmt.Sprintf("%s/a%d", base, round), fmt.Sprintf("%s/b%d", far, round)
			a, b := w.uploadTree(inBase, sampleFiles()), w.uploadTree(inFar, sampleFiles())
			idA, idB, parent := w.idAtPath(inBase), w.idAtPath(inFar), w.idAtPath(far)
			jobs := []string{
				w.startMove(w.ann, idA, inFar).ID, w.startMove(w.ann, idB, inBase).ID, w.startMove(w.ann, idA, "/twin").
					ID, w.startMove(w.ann, idA, far).ID,
			}
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					for r := w.newJobRunner(); ; {
						ran, err := r.RunNext(t.Context())
						if err != nil {
							t.Error(err)
						}
						if !ran {
							return
						}
					}
				})
			}
			all.Go(func() {
				if _, err := w.tree.Rename(t.Context(), w.ann, parent,
					"renamed-"+mustParsePath(far).Base()); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for range 12 {
				w.advance(10 * time.Minute)
				w.runJobs()
			}
			for _, id := range jobs {
				if j := w.job(id); j.Status != "completed" && j.Status != "failed" {
					t.Errorf("round %d: a job did not end: %+v", round, j)
				}
			}
			for _, g := range []uploadedFiles{a, b} {
				for name, id := range g.ids {
					c, err := w.tree.ByID(t.Context(), w.ann, id)
					if err != nil {
						t.Errorf("round %d: %s is lost: %v", round, name, err)
					} else if got := w.readContent(c); got != g.content[name] {
						t.Errorf("round %d: %s has %.20q", round, name, got)
					}
				}
			}
		}
		w.checkAccounting()
	})
}
