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

// A folder and a file go to another provider: until the end they can be read where they were, by every address, then where they are, with the
// same ids, links, ETags and charges. What they were stored as goes after the grace period.
func TestMoveBetweenProviders(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", some())
		single := w.stock("/home/ann", map[string]string{"single": "alone"})
		w.write(func(tx *db.Tx) error { _, err := tx.Exec("UPDATE objects SET sha256 = NULL"); return err }) // as of uploads in parts
		before, _ := w.used("ann")
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		k := w.move(w.ann, single.ids["single"], "/vault")
		w.lies(g, "/home/ann/box", "/vault/box")
		stored := 0
		w.on(func(_ int, op, provider string) error {
			if op == "stored" {
				stored++
			}
			if op == "put" && provider != "vault" || op == "open" && provider != "local" {
				t.Errorf("%s in %s", op, provider)
			}
			if w.job(j.ID).Status != "completed" {
				w.lies(g, "/home/ann/box", "/vault/box")
			}
			if w.job(k.ID).Status != "completed" {
				w.lies(single, "/home/ann", "/vault")
			}
			return nil
		})
		w.work()
		w.on(nil)
		w.ended(j.ID, "")
		w.ended(k.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		w.lies(single, "/vault", "/home/ann")
		if got := w.list(w.ann, "/home/ann"); len(got) != 0 {
			t.Errorf("left at the old place: %q", got)
		}
		if stored != len(g.content)+1 || w.in("local") != 0 || w.in("vault") != stored {
			t.Errorf("%d copies; objects: %d in the old provider, %d in the new one", stored, w.in("local"), w.in("vault"))
		}
		if after, _ := w.used("ann"); after != before {
			t.Errorf("charged %d bytes, before %d", after, before)
		}
		for _, content := range g.content {
			sum := sha256.Sum256([]byte(content))
			var n int
			w.must(w.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM objects WHERE sha256 = $1", hex.EncodeToString(sum[:])).Scan(&n))
			if n != 1 {
				t.Errorf("%d objects have the checksum of %.10q", n, content)
			}
		}
		w.collect()
		if n := w.storedIn("local"); n != stored { // whoever is reading them reads on
			t.Errorf("%d of %d old objects are there within the grace period", n, stored)
		}
		w.accounted()
		w.lies(g, "/vault/box")
	})
}

// What needs no copying is done at once: empty folders, a file whose content lies there already.
func TestMoveWithNothingToCopyIsDoneAtOnce(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		w.folder(w.ann, "/home/ann/empty")
		w.folder(w.ann, "/home/ann/empty/inner")
		done, err := w.tree.Move(t.Context(), w.ann, w.folderOf("/home/ann/empty"), path("/vault"), nil)
		w.must(err)
		if done.Status != "completed" || w.job(done.ID).Status != "completed" {
			t.Errorf("job %+v", done)
		}
		w.folderOf("/vault/empty/inner")

		// A move that failed at the very end has copied everything: the second try copies nothing.
		g := w.stock("/home/ann/box", some())
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		w.file(w.ann, "/vault/box", "in the way")
		w.work()
		w.ended(j.ID, "lies there already")
		w.lies(g, "/home/ann/box")
		done, err = w.tree.Move(t.Context(), w.ann, w.folderOf("/home/ann/box"), path("/vault/empty"), nil)
		w.must(err)
		if done.Status != "completed" {
			t.Errorf("job %+v", done)
		}
		w.lies(g, "/vault/empty/box", "/home/ann/box")
		w.accounted()
	})
}

// What is refused within a provider is refused between two, at once.
func TestMoveBetweenProvidersIsJudgedAtOnce(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		f := w.file(w.ann, "/home/ann/f", "x")
		w.file(w.ann, "/vault/f", "x")
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
			_, err := w.tree.Move(t.Context(), c.who, c.id, path(c.target), nil)
			w.wantFault(what, err, c.kind)
		}
		id := w.file(w.ann, "/home/ann/g", "x").ID
		for range 100 {
			w.move(w.ann, id, "/vault")
		}
		_, err := w.tree.Move(t.Context(), w.ann, id, path("/vault"), nil)
		w.wantFault("the 101st job", err, fault.Conflict)
	})
}

// Abuse case C127: a move that is stopped at any operation of a store, by a failure or by a stop of the service, leaves every file where it was,
// and another replica does the rest.
func TestMoveGoesOnWhereItWasStopped(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		content := map[string]string{"a": "first", "sub/b": "second", "sub/c": strings.Repeat("third", 100_000)}
		from, to := "/home/ann", "/vault"
		const operations = 12 // for three files: open, put, stored, stat
		for stopped := 1; stopped <= operations; stopped++ {
			for _, how := range []string{"failure", "stop"} {
				name := fmt.Sprintf("%s-%d", how, stopped)
				g := w.stock(from+"/"+name, content)
				j := w.move(w.ann, w.folderOf(from+"/"+name), to)
				ctx, stop := context.WithCancel(t.Context())
				w.on(func(n int, op, _ string) error {
					if n != stopped {
						return nil
					}
					if how == "stop" {
						stop()
						return nil
					}
					return errors.New(op + " failed")
				})
				_, err := w.runner().Once(ctx)
				w.must(err)
				last := w.job(j.ID).Status == "completed" // a stop after the last operation of a store may come too late
				if last && (how != "stop" || stopped < operations-1) {
					t.Errorf("%s: %+v", name, w.job(j.ID))
				}
				if !last {
					w.lies(g, from+"/"+name, to+"/"+name)
				}
				copied := w.in("vault")
				w.on(nil)
				w.pass(5 * time.Second)
				w.work()
				w.ended(j.ID, "")
				w.lies(g, to+"/"+name, from+"/"+name)
				if stopped > operations/3+1 && copied == w.in("vault")-len(content) {
					t.Errorf("%s: nothing of the first attempt was kept", name)
				}
				stop()
			}
		}
		w.accounted()
	})
}

// Abuse case C127: a copy that is not what was recorded is swept, the job fails, and the source is as it was.
func TestMoveRefusesACopyThatDiffers(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		absent := func(where string) func() {
			return func() {
				w.on(func(_ int, op, _ string) error {
					if op == where {
						return blob.ErrNotFound
					}
					return nil
				})
			}
		}
		n := 0
		for what, spoil := range map[string]func(){
			"a flipped bit":         func() { w.open = func(o blob.Object) blob.Object { return &flipped{Object: o} } },
			"a cut object":          func() { w.open = func(o blob.Object) blob.Object { return &cut{Object: o} } },
			"a target that lost it": absent("stat"),
			"a source that lost it": absent("open"),
		} {
			n++
			from := fmt.Sprintf("/home/ann/box%d", n)
			g := w.stock(from, map[string]string{"f": "content that matters"})
			j := w.move(w.ann, w.folderOf(from), "/vault")
			spoil()
			w.work()
			w.on(nil)
			w.open = nil
			t.Log(what)
			w.ended(j.ID, "nothing was moved")
			w.lies(g, from, "/vault/"+string(path(from).Base()))
			w.collect() // swept at once: no grace is needed for what nobody could read
			if n := w.storedIn("vault"); n != 0 {
				t.Errorf("%s: %d objects lie in the target", what, n)
			}
		}
		w.accounted()
	})
}

// flipped is an object with one wrong bit, cut one that ends early.
type flipped struct{ blob.Object }

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.Object.Read(p)
	if n > 0 {
		p[0] ^= 1
	}
	return n, err
}

type cut struct{ blob.Object }

func (c *cut) Read(p []byte) (int, error) {
	n, err := c.Object.Read(p)
	if err == nil {
		return max(n-1, 0), io.EOF
	}
	return n, err
}

// storedIn counts what lies in a provider's store.
func (w *depot) storedIn(id string) (n int) {
	w.t.Helper()
	store, err := w.reg.Store(w.t.Context(), id)
	w.must(err)
	walker := store.(interface {
		Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error
	})
	w.must(walker.Walk(w.t.Context(), func(blob.Key, int64, time.Time) error { n++; return nil }))
	return n
}

// Content that came in parts gets its checksum from a job that its upload has left.
func TestChecksumsAreFilledIn(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		w.house.file(w.ann, "/home/ann/f", "abc")
		gone := w.house.file(w.ann, "/home/ann/gone", "gone")
		w.write(func(tx *db.Tx) error {
			return job.Insert(tx, job.New{ID: "of nothing", Type: object.ChecksumJob, Payload: "absent"})
		})
		w.on(func(n int, op, _ string) error { // the first attempt meets a store that is away, and one of the files is deleted meanwhile
			if n == 1 {
				_, _, err := w.tree.Delete(t.Context(), w.ann, gone.ID)
				w.must(err)
				return blob.Unavailable("open", errors.New("away"))
			}
			return nil
		})
		w.work()
		w.pass(5 * time.Second)
		w.work()
		w.on(nil)
		var sum string
		w.must(w.db.Read(t.Context()).QueryRow("SELECT sha256 FROM objects WHERE size = 3").Scan(&sum))
		if sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
			t.Errorf("checksum %s", sum)
		}
		if n := w.count("jobs"); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
		// An object that is not as long as recorded gets none.
		w.house.file(w.ann, "/home/ann/short", "short")
		w.open = func(o blob.Object) blob.Object { return &cut{Object: o} }
		w.work()
		var unknown int
		w.must(w.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM objects WHERE sha256 IS NULL").Scan(&unknown))
		if unknown != 1 {
			t.Errorf("%d objects are without a checksum", unknown)
		}
	})
}

// An object that is carried to another provider while it is read keeps what the move found out.
func TestChecksumOfWhatMovesMeanwhile(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		f := w.house.file(w.ann, "/home/ann/f", "abc")
		j := w.move(w.ann, f.ID, "/vault")
		w.write(func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE jobs SET due = due + 60000 WHERE id = $1", j.ID)
			return err
		})
		moved := false
		w.on(func(_ int, op, _ string) error {
			if op == "open" && !moved {
				moved = true
				w.pass(time.Minute)
				w.work() // the other replica moves it
			}
			return nil
		})
		w.open = func(o blob.Object) blob.Object { return o }
		w.work()
		w.on(nil)
		w.ended(j.ID, "")
		var sum string
		w.must(w.db.Read(t.Context()).QueryRow("SELECT sha256 FROM objects").Scan(&sum))
		if sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
			t.Errorf("checksum %s", sum)
		}
		if got, err := w.read(w.ann, "/vault/f"); got != "abc" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// during runs a job and calls do while the second of its objects is being copied.
func (w *depot) during(do func()) {
	w.t.Helper()
	puts := 0
	w.on(func(_ int, op, _ string) error {
		if op == "put" {
			if puts++; puts == 2 {
				do()
			}
		}
		return nil
	})
	w.work()
	w.on(nil)
}

// What changes while the content is copied decides at the end: where the move is not allowed or not possible any more, the job fails with a
// sentence, and everything can be read where it was.
func TestMoveIsJudgedAgainAtTheEnd(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		n := 0
		for what, c := range map[string]struct {
			change  func(from, to string)
			message string
		}{
			// abuse case C31
			"the right to write there is gone": {func(_, to string) {
				w.rule(access.Rule{Pattern: to + "/**", Effect: access.Deny, UserID: "ann", Permissions: access.Set(access.Write)})
			}, "permission"},
			"the right to delete is gone": {func(from, _ string) {
				w.rule(access.Rule{Pattern: from + "/sub/**", Effect: access.Deny, UserID: "ann", Permissions: access.Set(access.Delete)})
			}, "permission"},
			"the account is disabled": {func(string, string) {
				w.away["ann"] = true
				w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
			}, "account"},
			"the target is deleted": {func(_, to string) {
				_, _, err := w.tree.Delete(t.Context(), w.ann, w.folderOf(to))
				w.must(err)
			}, "target folder does not exist"},
			"the target has another name": {func(_, to string) {
				_, err := w.tree.Rename(t.Context(), w.ann, w.folderOf(to), path(to).Base()+"-elsewhere")
				w.must(err)
			}, "target folder does not exist"},
			"another folder has the target's name": {func(_, to string) {
				_, err := w.tree.Rename(t.Context(), w.ann, w.folderOf(to), path(to).Base()+"-elsewhere")
				w.must(err)
				w.folder(w.ann, to)
			}, "moved or replaced"},
			"the name is taken": {func(from, to string) { w.file(w.ann, to+"/"+string(path(from).Base()), "x") }, "lies there already"},
		} {
			n++
			from, to := fmt.Sprintf("/home/ann/box%d", n), fmt.Sprintf("/vault/to%d", n)
			w.folder(w.ann, to)
			g := w.stock(from, map[string]string{"a": "1", "sub/b": "22", "sub/c": "333"})
			j := w.move(w.ann, w.folderOf(from), to)
			w.during(func() { c.change(from, to) })
			t.Log(what)
			w.ended(j.ID, c.message)
			w.away["ann"] = false
			w.write(func(tx *db.Tx) error { return tx.BumpConfig() })
			w.lies(g, from, to+"/"+string(path(from).Base()))
		}
		w.accounted()
	})
}

// A key that was revoked ends the moves that were asked for with it; one that is good does no more than it may.
func TestMoveByKeyIsJudgedByTheKey(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		key := &access.Key{ID: "pk", Permissions: access.Set(access.Read | access.Write | access.Delete), Root: path("/")}
		usable := true
		w.tree.Key = func(_ context.Context, _ int64, id string, ip netip.Addr) (*access.Key, bool, error) {
			if id != "pk" || ip != w.ann.IP {
				t.Errorf("asked for key %q at %s", id, ip)
			}
			return key, usable, nil
		}
		byKey := w.ann
		byKey.Key = key
		g := w.stock("/home/ann/box", some())
		j := w.move(byKey, w.folderOf("/home/ann/box"), "/vault")
		w.during(func() { usable = false })
		w.ended(j.ID, "API key")
		w.lies(g, "/home/ann/box", "/vault/box")
		usable = true
		w.file(w.ann, "/home/ann/box/new", "x")
		j = w.move(byKey, w.folderOf("/home/ann/box"), "/vault")
		key = &access.Key{ID: "pk", Permissions: access.Set(access.Read | access.Write | access.Delete), Root: path("/home")}
		w.work()
		w.ended(j.ID, "permission")
		key = byKey.Key
		j = w.move(byKey, w.folderOf("/home/ann/box"), "/vault")
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
	})
}

// What happens to the files while they are copied is no reason to fail.
func TestMoveFollowsWhatHappensMeanwhile(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", map[string]string{"a": "1", "b": "22", "c": "333", "d": "4444", "old/e": "55555"})
		late := goods{content: map[string]string{}, ids: map[string]string{}, links: map[string]string{}, etags: map[string]string{}}
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		w.during(func() { // a is copied, b is being copied
			for _, name := range []string{"b", "c"} { // one under way, one to come
				_, _, err := w.tree.Delete(t.Context(), w.ann, g.ids[name])
				w.must(err)
				delete(g.content, name)
			}
			_, err := w.put(w.ann, "/home/ann/box/d", "replaced", files.Replace)
			w.must(err)
			g.content["d"], g.etags["d"] = "replaced", ""
			_, err = w.tree.Rename(t.Context(), w.ann, w.folderOf("/home/ann/box/old"), "A older")
			w.must(err)
			g.content["A older/e"], g.ids["A older/e"], g.links["A older/e"] = "55555", g.ids["old/e"], g.links["old/e"]
			delete(g.content, "old/e")
			_, err = w.tree.Rename(t.Context(), w.ann, w.folderOf("/home/ann/box"), "case")
			w.must(err)
			late = w.stock("/home/ann/case", map[string]string{"A": "late", "new/late": "late too"})
		})
		w.ended(j.ID, "")
		w.lies(g, "/vault/case", "/home/ann/box", "/home/ann/case")
		w.lies(late, "/vault/case", "/home/ann/box", "/home/ann/case")
		if w.in("local") != 0 {
			t.Errorf("%d objects stayed", w.in("local"))
		}
		w.accounted()
	})
}

// What comes into the folder at the last moment is copied after it has its new place; a move stopped there goes on from there.
func TestMoveCopiesStragglers(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", map[string]string{"a": "1", "z": "22"})
		late := goods{}
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		puts := 0
		w.on(func(_ int, op, _ string) error {
			if op == "put" {
				puts++
			}
			switch {
			case op == "put" && puts == 2: // the folder has been gone through but for z
				late = w.stock("/home/ann/box", map[string]string{"b": "straggler", "c": "another"})
			case op == "put" && puts == 3:
				stop()
			}
			return nil
		})
		_, err := w.runner().Once(ctx)
		w.must(err)
		if got := w.job(j.ID); got.Status != "pending" {
			t.Errorf("parked as %+v", got)
		}
		w.on(nil)
		w.lies(g, "/vault/box", "/home/ann/box")
		w.lies(late, "/vault/box", "/home/ann/box")
		if w.in("local") != 2 {
			t.Errorf("%d objects are still to be copied, want 2", w.in("local"))
		}
		// By now the actor may not do it any more: what is moved is moved.
		w.rule(access.Rule{Pattern: "/vault/**", Effect: access.Deny, UserID: "ann", Permissions: access.Set(access.Write)})
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		w.lies(late, "/vault/box", "/home/ann/box")
		if w.in("local") != 0 {
			t.Errorf("%d objects stayed", w.in("local"))
		}
		w.accounted()
	})
}

// The thing itself goes, before its job begins or while it runs.
func TestMoveOfWhatIsDeleted(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		for _, when := range []string{"before", "during"} {
			w.stock("/home/ann/box", some())
			id := w.folderOf("/home/ann/box")
			j := w.move(w.ann, id, "/vault")
			remove := func() {
				_, _, err := w.tree.Delete(context.Background(), w.ann, id)
				w.must(err)
			}
			if when == "before" {
				remove()
				w.work()
			} else {
				w.during(remove)
			}
			w.ended(j.ID, "no such file or folder")
		}
		if n := w.storedIn("vault"); n > 2 {
			t.Errorf("%d objects were copied, most of them after the folder was gone", n)
		}
		w.accounted()
		if n := w.storedIn("vault") + w.storedIn("local"); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// Copies that share an object keep it; the one that is moved gets its own.
func TestMoveLeavesSharedContentToOthers(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", map[string]string{"a": "shared", "b": "shared"})
		kept := w.file(w.ann, "/home/ann/kept", "shared")
		// All three share the object of a, as copies do.
		w.write(func(tx *db.Tx) error {
			var object string
			if err := tx.QueryRow("SELECT object_id FROM entries WHERE id = $1", g.ids["a"]).Scan(&object); err != nil {
				return err
			}
			for _, id := range []string{g.ids["b"], kept.ID} {
				if _, err := tx.Exec("DELETE FROM objects WHERE id = (SELECT object_id FROM entries WHERE id = $1)", id); err != nil {
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
		g.etags["b"] = g.etags["a"] // the content is one, and so is its ETag, wherever copies of it lie
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		if got, err := w.read(w.ann, "/home/ann/kept"); err != nil || got != "shared" {
			t.Errorf("the copy that stayed: %q, %v", got, err)
		}
		if w.in("local") != 1 || w.in("vault") != 2 {
			t.Errorf("%d objects in the old provider, %d in the new", w.in("local"), w.in("vault"))
		}
		w.write(func(tx *db.Tx) error { // the two whose rows were deleted above are nobody's
			_, err := tx.Exec("DELETE FROM garbage WHERE after < 0")
			return err
		})
		w.pass(3 * time.Hour)
		w.collect()
		w.lies(g, "/vault/box")
		if got, err := w.read(w.ann, "/home/ann/kept"); err != nil || got != "shared" {
			t.Errorf("the copy that stayed, after the grace period: %q, %v", got, err)
		}
	})
}

// Abuse case C20: two providers in one directory. Nothing is lost, whichever way it goes.
func TestMoveBetweenProvidersInOneDirectory(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", some())
		for _, way := range [][2]string{{"/home/ann", "/twin"}, {"/twin", "/home/ann"}} {
			j := w.move(w.ann, w.folderOf(way[0]+"/box"), way[1])
			w.work()
			w.ended(j.ID, "")
			w.lies(g, way[1]+"/box", way[0]+"/box")
			w.accounted()
			w.lies(g, way[1]+"/box", way[0]+"/box")
		}
	})
}

// Whoever sends a provider to another bucket takes the tree alone and asks whether a key is noted for it: a key must be noted before its store is
// asked for, or the copy would go to the old bucket and count as one in the new.
func TestCopiesAreNotedBeforeTheirStoreIsAskedFor(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", some())
		asked := 0
		w.tree.WrapStores(func(id string, s blob.Store) blob.Store {
			if id == "vault" {
				if asked++; w.garbageOf("vault") == 0 {
					t.Error("the store of a copy is asked for while no key is noted")
				}
			}
			return s
		})
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		if asked == 0 {
			t.Error("the store was not asked for")
		}
	})
}

// Abuse case C126: a store that is away for a minute costs a minute.
func TestMoveWaitsForAStore(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", some())
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		end := w.clock().Add(time.Minute)
		w.on(func(n int, op, provider string) error {
			if n > 3 && provider == "vault" && w.clock().Before(end) {
				return blob.Unavailable(op, errors.New("no route to host"))
			}
			return nil
		})
		for range 40 {
			w.work()
			if w.job(j.ID).Status != "completed" {
				w.lies(g, "/home/ann/box", "/vault/box")
			}
			w.pass(5 * time.Second)
		}
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		w.accounted()
	})
}

// However long the copy of a large object takes, its key is not collected under way.
func TestMoveOfALargeObjectKeepsItsKey(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann", map[string]string{"large": strings.Repeat("large", 300_000)})
		j := w.move(w.ann, g.ids["large"], "/vault")
		w.open = func(o blob.Object) blob.Object {
			return &slow{Object: o, pause: func() { w.pass(50 * time.Minute); w.collect() }}
		}
		w.work()
		w.ended(j.ID, "")
		w.lies(g, "/vault", "/home/ann")
		w.accounted()
		w.lies(g, "/vault", "/home/ann")
	})
}

// slow is an object that takes its time for each piece.
type slow struct {
	blob.Object
	pause func()
}

func (s *slow) Read(p []byte) (int, error) {
	s.pause()
	return s.Object.Read(p)
}

// Two holders of one job at once, after a pause longer than the lease: each copies, one counts, nothing is left over.
func TestTwoHoldersOfAMoveDoNoHarm(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		g := w.stock("/home/ann/box", some())
		j := w.move(w.ann, w.folderOf("/home/ann/box"), "/vault")
		taken := false
		w.on(func(n int, op, _ string) error {
			if op == "stored" && n > 5 && !taken {
				taken = true
				w.write(func(tx *db.Tx) error { _, err := tx.Exec("UPDATE jobs SET due = 0"); return err })
				w.work() // the other one does it to the end
			}
			return nil
		})
		_, err := w.runner().Once(t.Context())
		w.must(err)
		w.on(nil)
		w.ended(j.ID, "")
		w.lies(g, "/vault/box", "/home/ann/box")
		w.work()
		w.accounted()
		w.lies(g, "/vault/box")
	})
}

// Abuse case C91: moves of one tree to two places, of one into the other, renames and uploads meanwhile, by two replicas. The jobs end, nothing is
// lost, nothing makes a cycle.
func TestCrossingMovesBetweenProviders(t *testing.T) {
	eachDepot(t, func(t *testing.T, w *depot) {
		for round := range 6 {
			base := fmt.Sprintf("/home/ann/r%d", round)
			far := fmt.Sprintf("/vault/r%d", round)
			w.folder(w.ann, base)
			w.folder(w.ann, far)
			inBase, inFar := fmt.Sprintf("%s/a%d", base, round), fmt.Sprintf("%s/b%d", far, round)
			a, b := w.stock(inBase, some()), w.stock(inFar, some())
			idA, idB, parent := w.folderOf(inBase), w.folderOf(inFar), w.folderOf(far)
			jobs := []string{
				w.move(w.ann, idA, inFar).ID, w.move(w.ann, idB, inBase).ID, w.move(w.ann, idA, "/twin").ID, w.move(w.ann, idA, far).ID,
			}
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					for r := w.runner(); ; {
						ran, err := r.Once(t.Context())
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
				if _, err := w.tree.Rename(t.Context(), w.ann, parent, "renamed-"+path(far).Base()); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for range 12 {
				w.pass(10 * time.Minute)
				w.work()
			}
			for _, id := range jobs {
				if j := w.job(id); j.Status != "completed" && j.Status != "failed" {
					t.Errorf("round %d: a job did not end: %+v", round, j)
				}
			}
			for _, g := range []goods{a, b} {
				for name, id := range g.ids {
					c, err := w.tree.ByID(t.Context(), w.ann, id)
					if err != nil {
						t.Errorf("round %d: %s is lost: %v", round, name, err)
					} else if got := w.bytes(c); got != g.content[name] {
						t.Errorf("round %d: %s has %.20q", round, name, got)
					}
				}
			}
		}
		w.accounted()
	})
}
