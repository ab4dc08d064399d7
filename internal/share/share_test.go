package share_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
	"larder/internal/share"
)

// The number of an account's shares is limited. At the limit, the oldest share that has ended is
// replaced.
func TestShareLimitOfAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.shares.SetMaxShares(3)
		ended := w.create(func(d *share.Draft) { d.ExpiresIn = ptr(int64(60)) })
		w.create()
		w.advance(time.Minute - time.Millisecond)
		third := w.create()
		draft := share.Draft{EntryID: w.file.ID}
		_, err := w.shares.Create(ctx, w.ann, draft)
		w.wantFault(err, fault.Conflict, "the fourth share, a millisecond before another one ends")
		if _, err := w.shares.Create(ctx, w.bob, share.Draft{EntryID: w.put(w.bob, "/home/bob", "b").ID}); err != nil {
			t.Errorf("the first share of another user: %v", err)
		}
		w.advance(time.Millisecond)
		w.create()
		_, err = w.visit(ended.ID)
		w.wantFault(err, fault.NotFound, "the ended share that was replaced")
		_, err = w.shares.Create(ctx, w.ann, draft)
		w.wantFault(err, fault.Conflict, "a fourth share when all three are active")
		if _, err := w.shares.Revoke(ctx, w.ann.UserID, third.ID); err != nil {
			t.Fatal(err)
		}
		w.create()
		if n := w.count("SELECT COUNT(*) FROM shares WHERE creator_id = $1", w.ann.UserID); n != 3 {
			t.Errorf("%d shares", n)
		}

		var busy sync.WaitGroup
		w.shares.SetMaxShares(5)
		other := w.replica()
		other.SetMaxShares(5)
		for i := range 10 {
			busy.Go(func() {
				_, err := []*share.Service{w.shares, other}[i%2].Create(ctx, w.ann, draft)
				if err != nil && !fault.Is(err, fault.Conflict) {
					t.Error(err)
				}
			})
		}
		busy.Wait()
		if n := w.count("SELECT COUNT(*) FROM shares WHERE creator_id = $1", w.ann.UserID); n != 5 {
			t.Errorf("%d shares after a race", n)
		}
	})
}

// API keys and visitors cannot share, even if the package is called directly.
func TestKeysAndVisitorsCannotShare(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		key := w.ann
		key.Key = &access.Key{ID: "pk", Permissions: access.All}
		for what, a := range map[string]access.Actor{"a key": key, "a visitor": {Role: access.Guest},
			"another user": w.bob} {
			_, err := w.shares.Create(ctx, a, share.Draft{EntryID: w.file.ID})
			w.wantFault(err, fault.Forbidden, what)
		}
		item := w.create()
		_, _, err := w.shares.ListAll(ctx, w.ann, share.Query{Page: 1, Limit: 1})
		w.wantFault(err, fault.Forbidden, "a user lists the shares of all users")
		_, err = w.shares.RevokeAny(ctx, w.ann, item.ID)
		w.wantFault(err, fault.Forbidden, "a user calls RevokeAny")
		_, err = w.shares.Revoke(ctx, "", item.ID)
		w.wantFault(err, fault.NotFound, "revoking without a user id")
		_, _, err = w.shares.List(ctx, access.Actor{}, share.Query{Page: 1, Limit: 1})
		w.wantFault(err, fault.Unauthorized, "listing without a user id")
	})
}

// The share's own password unlocks the passwords of the file that it replaces, once it is given.
func TestVisitUnlocksPasswordsOfFile(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		if err := w.db.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE entries SET password_hash = 'x', password_id = 'of the file' WHERE id = $1",
				w.file.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		unlocked := func(what, id string, open bool, want []string, given ...string) {
			t.Helper()
			v, err := w.visit(id, given...)
			if err != nil {
				t.Fatal(err)
			}
			if v.Authorized != open || !slices.Equal(v.Creator.Unlocked, want) {
				t.Errorf("%s: open %t, unlocked %v", what, v.Authorized, v.Creator.Unlocked)
			}
		}
		plain := w.create()
		unlocked("nothing given", plain.ID, false, nil)
		unlocked("another password given", plain.ID, false, nil, "other", plain.ID)
		unlocked("the file's password given", plain.ID, true, []string{"of the file"}, "other", "of the file")
		own := w.create(func(d *share.Draft) { d.Password = ptr(secret.Text("x")) })
		if own.PasswordID == "" || own.PasswordID == own.ID {
			t.Fatalf("the id of the password is %q", own.PasswordID)
		}
		unlocked("the share's password not given", own.ID, false, nil)
		unlocked("the file's password instead of the share's", own.ID, false, nil, "of the file")
		unlocked("the share's password given", own.ID, true, []string{"of the file"}, own.PasswordID)
	})
}

// Downloads are counted up to their limit, also under concurrency; a share that has ended counts
// none.
func TestCountDownload(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		item := w.create(func(d *share.Draft) { d.MaxDownloads, d.ExpiresIn = ptr(int64(3)), ptr(int64(60)) })
		count := func(s *share.Service, id string) error {
			return w.db.Write(ctx, func(tx *db.Tx) error { return s.CountDownload(tx, id) })
		}
		var busy sync.WaitGroup
		var mu sync.Mutex
		kinds := map[string]int{}
		for i := range 20 {
			s := []*share.Service{w.shares, w.replica()}[i%2]
			busy.Go(func() {
				err := count(s, item.ID)
				mu.Lock()
				defer mu.Unlock()
				if err != nil && !fault.Is(err, fault.ShareLimitReached) {
					t.Error(err)
				}
				kinds[fmt.Sprint(err == nil)]++
			})
		}
		busy.Wait()
		if kinds["true"] != 3 || w.count("SELECT download_count FROM shares WHERE id = $1", item.ID) != 3 {
			t.Errorf("with maxDownloads 3: %v", kinds)
		}
		if _, err := w.shares.View(ctx, item.ID, share.Visitor{}, true); err != nil {
			t.Errorf("a view after the last download: %v", err)
		}
		free := w.create(func(d *share.Draft) { d.MaxViews, d.ExpiresIn = ptr(int64(1)), ptr(int64(60)) })
		for range 2 { // it has a limit of views only
			if err := count(w.shares, free.ID); err != nil {
				t.Error(err)
			}
		}
		w.advance(time.Minute)
		w.wantFault(count(w.shares, free.ID), fault.ShareExpired, "expired")
		if _, err := w.shares.Revoke(ctx, w.ann.UserID, free.ID); err != nil {
			t.Fatal(err)
		}
		w.wantFault(count(w.shares, free.ID), fault.ShareRevoked, "revoked")
		w.wantFault(count(w.shares, "abcdefghijkl"), fault.NotFound, "no such share")
		if n := w.count("SELECT download_count FROM shares WHERE id = $1", free.ID); n != 2 {
			t.Errorf("%d downloads counted", n)
		}
	})
}

// A sweep deletes shares that ended 90 days ago and those whose file is gone. It works in steps,
// and each step goes on where the one before ended.
func TestSweep(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		const days = 24 * time.Hour
		sweep := func() {
			t.Helper()
			if err := w.shares.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		left := func(id string) bool { return w.count("SELECT COUNT(*) FROM shares WHERE id = $1", id) == 1 }
		works, expires, revoked := w.create(), w.create(func(d *share.Draft) {
			d.ExpiresIn = ptr(int64(60))
		}), w.create()
		both := w.create(func(d *share.Draft) { d.ExpiresIn = ptr(int64(31536000)) })
		w.advance(time.Minute)
		for _, id := range []string{revoked.ID, both.ID} {
			if _, err := w.shares.Revoke(ctx, w.ann.UserID, id); err != nil {
				t.Fatal(err)
			}
		}
		w.advance(90*days - time.Millisecond)
		sweep()
		for _, id := range []string{works.ID, expires.ID, revoked.ID, both.ID} {
			if !left(id) {
				t.Error("a share was deleted a millisecond early")
			}
		}
		w.advance(time.Millisecond)
		sweep()
		for _, id := range []string{expires.ID, revoked.ID, both.ID} {
			if left(id) {
				t.Error("a share that ended 90 days ago was not deleted")
			}
		}
		if !left(works.ID) {
			t.Error("an active share was deleted")
		}

		if err := w.db.Write(ctx, func(tx *db.Tx) error {
			for i := range share.SweepBatch { // these ids sort before any real id
				if _, err := tx.Exec(`
					INSERT INTO shares (id, entry_id, creator_id, allow_preview, allow_download, created_at, updated_at)
					VALUES ($1, $2, 'u', TRUE, TRUE, 0, 0)`, fmt.Sprintf("!%04d", i), w.file.ID); err != nil {
					return err
				}
			}
			_, err := tx.Exec(`
				INSERT INTO shares (id, entry_id, creator_id, allow_preview, allow_download, created_at, updated_at)
				VALUES ('!9999', 'gone', 'u', TRUE, TRUE, 0, 0)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		sweep()
		if !left("!9999") {
			t.Error("one step looked at more shares than SweepBatch")
		}
		sweep()
		if left("!9999") || !left("!0000") || !left(works.ID) {
			t.Error("the second step deleted the wrong shares")
		}
		sweep() // starts at the beginning again
		if n := w.count("SELECT COUNT(*) FROM shares"); n != share.SweepBatch+1 {
			t.Errorf("%d shares are left", n)
		}
	})
}

// countView itself checks that a view is allowed, since the share may have changed after the visit
// was authorized.
func TestCountView(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		item := w.create(func(d *share.Draft) {
			d.MaxViews, d.ExpiresIn, d.Password = ptr(int64(2)), ptr(int64(60)), ptr(secret.Text("x"))
		})
		count := func(what, password string, want error) {
			t.Helper()
			err := w.db.Write(ctx, func(tx *db.Tx) error {
				_, err := share.CountView(tx, item.ID, password, w.clock.Load())
				return err
			})
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		count("the first view", item.PasswordID, nil)
		count("with another password", "other", db.ErrNoRows)
		count("without a password", "", db.ErrNoRows)
		w.advance(time.Minute)
		count("expired", item.PasswordID, db.ErrNoRows)
		w.advance(-time.Millisecond)
		count("the second view", item.PasswordID, nil)
		count("the third view of two", item.PasswordID, db.ErrNoRows)
		if _, err := w.shares.Change(ctx, w.ann, item.ID, share.Change{MaxViews: ptr[*int64](nil)}); err != nil {
			t.Fatal(err)
		}
		count("the third view, after the limit was removed", item.PasswordID, nil)
		if _, err := w.shares.Revoke(ctx, w.ann.UserID, item.ID); err != nil {
			t.Fatal(err)
		}
		count("revoked", item.PasswordID, db.ErrNoRows)
		if n := w.count("SELECT view_count FROM shares WHERE id = $1", item.ID); n != 3 {
			t.Errorf("%d views", n)
		}
	})
}
