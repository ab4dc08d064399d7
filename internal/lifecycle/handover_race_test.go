package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/lifecycle"
	"larder/internal/quota"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// While files still belong to a deleted account, several users replace the same files, and some are
// deleted: each file changes hands once, and its owner is charged for it once (abuse case C93).
func TestHandoverDuringReplacement(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User)
		admins := []access.Actor{boss, r.makeUser("two", access.Admin), r.makeUser("three", access.Admin),
			r.makeUser("four", access.Admin)}
		ids := r.putFiles(ann, "/home/ann", 24)
		if err := r.life.DeleteUser(ctx, boss.UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		home := "/home/" + r.list(boss, "/home")[0]
		var wg sync.WaitGroup
		for i, id := range ids {
			name := vpath.Name(fmt.Sprint("f", i))
			for k, admin := range admins {
				wg.Go(func() {
					if _, err := r.put(admin, home, string(name), 10+i+k, files.Replace); err != nil {
						t.Errorf("replacing %s: %v", name, err)
					}
				})
			}
			if i%4 == 0 {
				wg.Go(func() {
					if _, _, err := r.tree.Delete(ctx, boss, id); err != nil && !fault.Is(err, fault.NotFound) {
						t.Errorf("deleting %s: %v", name, err)
					}
				})
			}
			wg.Wait()
			r.checkCharges(fmt.Sprint("file ", i))
		}
		r.runNext(r.handoverRunner())
		r.checkCharges("at the end")
		if left := r.countOwned(ann); left != 0 {
			t.Errorf("%d entries are left", left)
		}
	})
}

// While a job hands over, the sweep does not wait for the tree.
func TestSweepDoesNotWaitForTheTree(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User)
		r.putFiles(ann, "/home/ann", 8)
		if err := r.life.DeleteUser(ctx, boss.UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		swept := make(chan error, 1)
		if err := d.Write(ctx, func(tx *db.Tx) error {
			if err := tx.LockTree(false); err != nil {
				return err
			}
			go func() { swept <- r.life.Sweep(soon) }()
			select {
			case err := <-swept:
				return err
			case <-soon.Done():
				return soon.Err()
			}
		}); err != nil {
			t.Error(err)
		}
		if n := r.count("SELECT count(*) FROM jobs WHERE type = $1", lifecycle.HandoverJob); n != 1 {
			t.Errorf("%d jobs", n)
		}
	})
}

// An upload is aborted while its owner is deleted: the transaction that locks the session first
// also gets the quota (SQLite has one writer).
func TestDeletingAnAccountDuringAnAbort(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	r := newReplica(t, d, t.TempDir())
	r.seed()
	boss, ann := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User)
	if _, err := r.uploads.Create(ctx, ann, upload.NewSession{Dir: path(t, "/home/ann"), Name: "late",
		Size: 100}); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	runs := 0
	if err := d.Write(ctx, func(tx *db.Tx) error {
		if runs++; runs > 1 {
			return errors.New("a deadlock")
		}
		if _, err := tx.Exec("UPDATE upload_sessions SET expires_at = expires_at"); err != nil {
			return err
		}
		go func() { left <- r.life.DeleteUser(ctx, boss.UserID, ann.UserID) }()
		for r.count(
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "+
				"'Lock'") == 0 {
			runtime.Gosched()
		}
		if _, err := tx.Exec("SET LOCAL lock_timeout = 300"); err != nil { // before PostgreSQL looks for a deadlock
			return err
		}
		return quota.Lock(tx, ann.UserID)
	}); err != nil {
		t.Error(err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
	r.checkCharges("at the end")
}
