package lifecycle_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/job"
	"larder/internal/lifecycle"
	"larder/internal/quota"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// makeUser makes an account and returns it as an actor.
func (r *replica) makeUser(name string, role access.Role) access.Actor {
	r.t.Helper()
	n := newUser(name)
	unlimited := int64(-1)
	n.Role, n.MaxStorage, n.MaxFiles = role, &unlimited, &unlimited
	made, err := r.life.CreateUser(ctx, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return access.Actor{UserID: made.ID, Role: role, HomeID: made.HomeID}
}

func path(t *testing.T, s string) vpath.Path {
	t.Helper()
	p, err := vpath.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// put stores a file of size bytes.
func (r *replica) put(a access.Actor, dir, name string, size int, how files.Conflict) (files.Entry, error) {
	made, err := r.uploads.Put(ctx, a, upload.OneShot{
		Dir: path(r.t, dir), Name: vpath.Name(name), Size: int64(size), Conflict: how, Links: "all",
		Body: strings.NewReader(strings.Repeat("x", size)),
	})
	return made.File, err
}

func (r *replica) putFiles(a access.Actor, dir string, n int) (ids []string) {
	r.t.Helper()
	for i := range n {
		file, err := r.put(a, dir, fmt.Sprint("f", i), 10, files.RenameNew)
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, file.ID)
	}
	return ids
}

// checkCharges checks that every owner is charged for exactly their files, including deleted
// accounts (abuse case C93).
func (r *replica) checkCharges(when string) {
	r.t.Helper()
	const live = `
		WITH RECURSIVE live (id, kind, size, owner_id) AS (
			SELECT id, kind, size, owner_id FROM entries WHERE parent_id IS NULL AND id NOT IN ('graveyard', 'staging')
			UNION ALL
			SELECT e.id, e.kind, e.size, e.owner_id FROM live l JOIN entries e ON e.parent_id = l.id)`
	for what, query := range map[string]string{
		"charges that are wrong": live + `
			SELECT count(*) FROM quotas q WHERE used_storage <> (SELECT COALESCE(sum(size), 0) FROM live WHERE owner_id = q.user_id AND kind = 1)
				OR used_files <> (SELECT count(*) FROM live WHERE owner_id = q.user_id AND kind = 1)
				OR used_folders <> (SELECT count(*) FROM live WHERE owner_id = q.user_id AND kind = 0)`,
		"files without a charge": live +
			` SELECT count(*) FROM live WHERE kind = 1 AND owner_id NOT IN (SELECT user_id FROM quotas)`,
	} {
		if n := r.count(query); n != 0 {
			r.t.Errorf("%s: %d %s", when, n, what)
		}
	}
}

func (r *replica) countOwned(a access.Actor) int {
	return r.count("SELECT count(*) FROM entries WHERE owner_id = $1", a.UserID)
}

// handoverRunner returns a Runner for handovers.
func (r *replica) handoverRunner() *job.Runner {
	runner := job.NewRunner(job.Config{DB: r.db, IDs: ident.New(rand.Reader), Now: now, Log: r.log})
	runner.Handle(lifecycle.HandoverJob, r.life.RunHandover)
	return runner
}

func (r *replica) runNext(runner *job.Runner) {
	r.t.Helper()
	if ran, err := runner.RunNext(ctx); err != nil || !ran {
		r.t.Fatalf("the job ran: %v, %v", ran, err)
	}
}

// While files still belong to a deleted account, everything works as if the successor had them, and
// their owner is charged for them.
func TestFilesWorkDuringHandover(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann, bob := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User), r.makeUser("bob",
			access.User)
		var links []files.Link
		ids := r.putFiles(ann, "/home/ann", 20)
		for _, id := range ids {
			link, err := r.tree.Link(ctx, ann, id)
			if err != nil {
				t.Fatal(err)
			}
			links = append(links, link)
		}
		foreign, err := r.put(access.Actor{UserID: boss.UserID, Role: access.Admin}, "/home/ann", "of the boss", 5,
			files.RenameNew)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.life.DeleteUser(ctx, boss.UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		r.checkCharges("after the request")
		if left := r.countOwned(ann); left != 21-6 { // three pieces of two, of 20 files and the home
			t.Fatalf("%d entries are left to the job", left)
		}
		for i, link := range links {
			if _, err := r.tree.ByLink(ctx, link.ID); err != nil {
				t.Errorf("link %d: %v", i, err)
			}
		}
		// found in listings and by id
		home := "/home/" + r.list(boss, "/home")[0]
		for _, name := range r.list(boss, "/home") {
			if strings.HasPrefix(name, "ann.deleted-") {
				home = "/home/" + name
			}
		}
		if n := len(r.list(boss, home)); n != 21 {
			t.Errorf("%d files in the home", n)
		}
		// replaced by others: the successor is charged; deleted: the charged account is credited
		for i, id := range ids {
			file, _, err := r.tree.Details(ctx, boss, id)
			if err != nil {
				t.Fatal(err)
			}
			switch i % 3 {
			case 0:
				replaced, err := r.put(boss, home, file.Name, 10+i, files.Replace)
				if err != nil || replaced.ID != id || replaced.OwnerID != boss.UserID {
					t.Errorf("replacing: %+v, %v", replaced, err)
				}
			case 1:
				if _, _, err := r.tree.Delete(ctx, boss, id); err != nil {
					t.Error(err)
				}
			}
			r.checkCharges(fmt.Sprint("file ", i))
		}
		// the deleted account gets no new entries
		if _, err := r.tree.CreateFolder(ctx, ann, path(t, home), "late"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a folder of the deleted account: %v", err)
		}
		if _, err := r.put(ann, home, "late", 0, files.RenameNew); err == nil {
			t.Error("a file of the deleted account")
		}
		if _, err := r.tree.Copy(ctx, ann, foreign.ID, path(t, home), new(vpath.Name)); !fault.Is(err,
			fault.Forbidden) {
			t.Errorf("a copy of the deleted account: %v", err)
		}
		if _, err := r.uploads.Create(ctx, ann,
			upload.NewSession{Dir: path(t, home), Name: "late", Size: 0}); err == nil {
			t.Error("an upload of the deleted account")
		}
		// meanwhile a folder with files of both is deleted
		at, _, err := r.tree.Details(ctx, boss, ids[2])
		if err != nil {
			t.Fatal(err)
		}
		folder, err := r.tree.CreateFolder(ctx, boss, at.Dir, "along")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{ids[2], ids[17], foreign.ID} {
			if _, err := r.tree.Move(ctx, boss, id, path(t, home+"/along"), nil); err != nil {
				t.Error(err)
			}
		}
		if _, _, err := r.tree.Delete(ctx, boss, folder.ID); err != nil {
			t.Error(err)
		}
		r.checkCharges("a folder deleted")
		r.runNext(r.handoverRunner())
		r.checkCharges("at the end")
		if n := r.countOwned(ann) + r.count("SELECT count(*) FROM legacies") + r.count(
			"SELECT count(*) FROM quotas WHERE user_id = $1", ann.UserID); n != 0 {
			t.Error("something is left of the account")
		}
		if r.countOwned(bob) != 1 {
			t.Error("another account lost something")
		}
	})
}

// A handover continues after some pieces, also when its job is lost, and a deleted successor has a
// successor.
func TestHandoverIsResumed(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, heir, ann := r.makeUser("boss", access.Admin), r.makeUser("heir", access.Admin), r.makeUser("ann",
			access.User)
		r.putFiles(ann, "/home/ann", 20)
		r.putFiles(heir, "/home/heir", 9)
		if err := r.life.DeleteUser(ctx, heir.UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		if got, err := r.life.Successor(d.Read(ctx), ann.UserID); err != nil || got.ID != heir.UserID {
			t.Errorf("the heir is %+v, %v", got, err)
		}
		if err := r.life.DeleteUser(ctx, boss.UserID, heir.UserID); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{ann.UserID, heir.UserID} {
			if got, err := r.life.Successor(d.Read(ctx), id); err != nil || got.ID != boss.UserID {
				t.Errorf("the heir of the heir is %+v, %v", got, err)
			}
		}
		r.checkCharges("twice deleted")
		// the jobs are lost
		if err := d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM jobs")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.life.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.count("SELECT count(*) FROM jobs"); n != 2 {
			t.Fatalf("%d jobs are queued", n)
		}
		for range 2 {
			r.runNext(r.handoverRunner())
			r.checkCharges("going on")
		}
		if n := r.countOwned(ann) + r.countOwned(heir) + r.count("SELECT count(*) FROM legacies") + r.count(
			"SELECT count(*) FROM jobs"); n != 0 {
			t.Error("something is left")
		}
		if q, err := quota.Get(d.Read(ctx), boss.UserID); err != nil || q.UsedFiles != 29 || q.UsedStorage != 290 {
			t.Errorf("charged %+v, %v", q, err)
		}
	})
}

// Entries in the graveyard have been credited already: they are handed over without a charge.
func TestDeletedEntriesAreNotCharged(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User)
		folder, err := r.tree.CreateFolder(ctx, ann, path(t, "/home/ann"), "gone")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.tree.CreateFolder(ctx, ann, path(t, "/home/ann/gone"), "deep"); err != nil {
			t.Fatal(err)
		}
		r.putFiles(ann, "/home/ann/gone/deep", 4)
		r.putFiles(ann, "/home/ann", 3)
		if _, _, err := r.tree.Delete(ctx, ann, folder.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.life.DeleteUser(ctx, boss.UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		r.checkCharges("after the request")
		r.runNext(r.handoverRunner())
		r.checkCharges("at the end")
		if q, err := quota.Get(d.Read(ctx), boss.UserID); err != nil || q.UsedFiles != 3 || q.UsedStorage != 30 {
			t.Errorf("charged %+v, %v", q, err)
		}
	})
}

// A caller who is no administrator any more cannot end accounts, and no account can delete itself.
func TestOnlyAdministratorsEndAccounts(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, other, ann, bob := r.makeUser("boss", access.Admin), r.makeUser("other", access.Admin), r.makeUser("ann",
			access.User), r.makeUser("bob", access.User)
		role, status, few := access.Guest, account.Disabled, int64(-2)
		refused := func(by access.Actor, want fault.Kind) {
			t.Helper()
			if err := r.life.DeleteUser(ctx, by.UserID, ann.UserID); !fault.Is(err, want) {
				t.Errorf("deleting: %v", err)
			}
			if _, err := r.life.UpdateUser(ctx, by.UserID, ann.UserID,
				lifecycle.UserUpdate{Role: &role}); !fault.Is(err, want) {
				t.Errorf("changing: %v", err)
			}
		}
		refused(bob, fault.Forbidden)
		refused(access.Actor{UserID: "nobody"}, fault.Forbidden)
		if err := r.life.DeleteUser(ctx, boss.UserID, boss.UserID); !fault.Is(err, fault.Invalid) {
			t.Errorf("oneself: %v", err)
		}
		if _, err := r.life.UpdateUser(ctx, boss.UserID, other.UserID,
			lifecycle.UserUpdate{Status: &status, MaxFiles: &few}); !fault.Is(err, fault.Invalid) {
			t.Errorf("a quota of -2: %v", err)
		}
		if u, err := r.accounts.ByID(d.Read(ctx), other.UserID); err != nil || u.Status != account.Active {
			t.Errorf("part of the update was applied: %+v, %v", u, err)
		}
		if _, err := r.life.UpdateUser(ctx, boss.UserID, other.UserID,
			lifecycle.UserUpdate{Status: &status}); err != nil {
			t.Error(err)
		}
		refused(other, fault.Forbidden)
		// an upload that was admitted before
		if _, err := r.put(other, "/home/other", "late", 5, files.RenameNew); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a file of a disabled account: %v", err)
		}
	})
}
