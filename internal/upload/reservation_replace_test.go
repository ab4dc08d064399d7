package upload_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
)

// replacing is a session that replaces a file in ann's home.
func replacing(name string, size int64) upload.NewSession {
	n := file(name, size)
	n.Conflict = files.Replace
	return n
}

// A replacement counts by the difference, also while the session is open.
func TestSessionThatReplacesReservesTheDifference(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 1000, 1); err != nil {
			t.Fatal(err)
		}
		old := w.put("f", letterBytes(950))
		reserves := func(what string, size, want int64) upload.Session {
			t.Helper()
			session := w.create(w.ann, replacing("f", size))
			if bytes, count := w.reserved(w.ann); bytes != want || count != 0 {
				t.Errorf("%s: %d bytes and %d files are reserved, want %d and none", what, bytes, count, want)
			}
			return session
		}
		drop := func(session upload.Session) {
			t.Helper()
			if err := w.up.Abort(ctx, w.ann, session.ID); err != nil {
				t.Fatal(err)
			}
		}
		drop(reserves("less", 10, 0))
		drop(reserves("more", 1000, 50))
		_, err := w.up.Create(ctx, w.ann, replacing("f", 1001))
		w.wantFault(err, fault.QuotaExceeded, "more than the quota")
		same := reserves("as much", 950, 0)
		if got := w.complete(w.ann, same.ID, w.putRaw(w.ann, same.ID, strings.Repeat("x", 950))); got.ID != old.ID {
			t.Errorf("another file: %+v", got)
		}
		if storage, count := w.used(w.ann); storage != 950 || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}
	})
}

// The bytes of a file are deducted from one reservation at a time: that of the first session, until
// it ends.
func TestReplacedBytesCountOnce(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 1000, 2); err != nil {
			t.Fatal(err)
		}
		w.put("f", letterBytes(600))
		first := w.create(w.ann, replacing("f", 700)) // reserves 100
		_, err := w.up.Create(ctx, w.ann, replacing("f", 400))
		w.wantFault(err, fault.QuotaExceeded, "400 bytes beside 600 and 100")
		second := w.create(w.ann, replacing("f", 300)) // all of it
		if bytes, _ := w.reserved(w.ann); bytes != 400 {
			t.Errorf("%d bytes are reserved, want 400", bytes)
		}
		if err := w.up.Abort(ctx, w.ann, first.ID); err != nil {
			t.Fatal(err)
		}
		third := w.create(w.ann, replacing("f", 700))
		w.complete(w.ann, second.ID, w.putRaw(w.ann, second.ID, letterBytes(300)))
		w.complete(w.ann, third.ID, w.putRaw(w.ann, third.ID, letterBytes(700)))
		if storage, count := w.used(w.ann); storage != 700 || count != 1 {
			t.Errorf("used %d bytes, %d files", storage, count)
		}

		// Nor do sessions that replace a new file of the same name deduct more bytes than are used.
		fourth := w.create(w.ann, replacing("f", 700))
		list, err := w.tree.List(ctx, w.ann, files.ListQuery{Path: path("/home/ann"), Page: 1, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.tree.Delete(ctx, w.ann, list.Items[0].ID); err != nil {
			t.Fatal(err)
		}
		w.put("f", letterBytes(700))
		_, err = w.up.Create(ctx, w.ann, replacing("f", 700))
		w.wantFault(err, fault.QuotaExceeded, "a second 700 bytes under way that are not reserved")
		w.complete(w.ann, fourth.ID, w.putRaw(w.ann, fourth.ID, letterBytes(700)))
	})
}

// The target is deleted or gets smaller meanwhile: the completion decides again, and refuses what
// does not fit without losing anything.
func TestReplacementIsAuthorizedAgainAtItsEnd(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 1000, 1); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(old files.Entry){
			"vanished": func(old files.Entry) {
				if _, _, err := w.tree.Delete(ctx, w.ann, old.ID); err != nil {
					t.Fatal(err)
				}
				w.put("other", letterBytes(500))
			},
			"shrunk": func(files.Entry) {
				o := oneShot("f", letterBytes(100), 100)
				o.Conflict = files.Replace
				if _, err := w.up.Put(ctx, w.ann, o); err != nil {
					t.Fatal(err)
				}
				if err := w.setLimits(w.ann, 600, 1); err != nil {
					t.Fatal(err)
				}
			},
		} {
			old := w.put("f", letterBytes(950))
			session := w.create(w.ann, replacing("f", 950))
			etag := w.putRaw(w.ann, session.ID, letterBytes(950))
			change(old)
			before, count := w.used(w.ann)
			_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
			w.wantFault(err, fault.QuotaExceeded, name)
			if now, nowCount := w.used(w.ann); now != before || nowCount != count {
				t.Errorf("%s: used %d bytes in %d files, before %d in %d", name, now, nowCount, before, count)
			}
			w.checkInvariants()
			if err := w.setLimits(w.ann, 2000, 2); err != nil {
				t.Fatal(err)
			}
			made := w.complete(w.ann, session.ID, etag) // nothing of it is lost
			if w.content(w.ann, made.ID) != letterBytes(950) {
				t.Errorf("%s: other bytes", name)
			}
			list, err := w.tree.List(ctx, w.ann, files.ListQuery{Path: path("/home/ann"), Page: 1, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list.Items {
				if _, _, err := w.tree.Delete(ctx, w.ann, e.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.setLimits(w.ann, 1000, 1); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The kept parts of an expired session reserve only the bytes beyond the file that they replace.
func TestKeptPartsOfAReplacement(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		if err := w.setLimits(w.ann, 4000, 2); err != nil {
			t.Fatal(err)
		}
		w.put("f", letterBytes(1500))
		n, _ := inParts("f", 3000, "key"), ""
		n.Conflict = files.Replace
		session := w.create(w.ann, n)
		content := letterBytes(3000)
		want := func(when string, bytes int64) {
			t.Helper()
			if got, count := w.reserved(w.ann); got != bytes || count != 0 {
				t.Errorf("%s: %d bytes and %d files are reserved, want %d and none", when, got, count, bytes)
			}
		}
		want("open", 1500)
		total := int(*session.TotalParts)
		var arrived int64
		for i := 1; i < total; i++ {
			part := partOf(content, i)
			if _, err := w.up.PutPart(ctx, w.ann, session.ID, i, strings.NewReader(part), -1); err != nil {
				t.Fatal(err)
			}
			arrived += int64(len(part))
		}
		w.advance(61 * time.Minute)
		w.sweepAndCollect()
		want("kept", max(arrived-1500, 0))
		w.checkInvariants()
		again := w.create(w.ann, n)
		want("taken over", 1500)
		if _, err := w.up.PutPart(ctx, w.ann, again.ID, total, strings.NewReader(partOf(content, total)),
			-1); err != nil {
			t.Fatal(err)
		}
		w.complete(w.ann, again.ID, "")
		want("completed", 0)
	})
}

// Many sessions that replace the same few files are begun, completed, aborted and left in any
// order, beside deletions: never is more used and reserved than the quota allows.
func TestReplacementsNeverOvercommitTheQuota(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		if err := w.setLimits(w.ann, 3000, 3); err != nil {
			t.Fatal(err)
		}
		within := func() {
			if n := w.queryInt(
				"SELECT count(*) FROM quotas WHERE user_id = $1 AND (used_storage + reserved_storage > 3000 OR "+
					"used_files + reserved_files > 3)", w.ann.UserID); n != 0 {
				t.Error("more is used and reserved than the quota allows")
			}
		}
		parallel(6, func(i int) error {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 12 {
				name, content := fmt.Sprint("f", r.IntN(2)), letterBytes(1+r.IntN(2500))
				within()
				if r.IntN(4) == 0 {
					o := oneShot(name, content, int64(len(content)))
					o.Conflict = files.Replace
					if made, err := w.up.Put(ctx, w.ann, o); err == nil && r.IntN(2) == 0 {
						_, _, _ = w.tree.Delete(ctx, w.ann, made.File.ID)
					}
					continue
				}
				session, err := w.up.Create(ctx, w.ann, replacing(name, int64(len(content))))
				if err != nil {
					if !fault.Is(err, fault.QuotaExceeded) {
						t.Errorf("create: %v", err)
					}
					continue
				}
				etag, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader(content), -1, "")
				if err != nil || r.IntN(4) == 0 {
					_ = w.up.Abort(ctx, w.ann, session.ID)
					continue
				}
				if _, _, err := w.up.Complete(ctx, w.ann, session.ID, etag); err != nil {
					if !fault.Is(err, fault.QuotaExceeded) {
						t.Errorf("complete: %v", err)
					}
					if r.IntN(2) == 0 {
						_ = w.up.Abort(ctx, w.ann, session.ID)
					}
				}
			}
			return nil
		})
		within()
		w.checkInvariants()
		w.advance(2 * time.Hour)
		w.sweepAndCollect()
		if bytes, count := w.reserved(w.ann); bytes != 0 || count != 0 {
			t.Errorf("%d bytes and %d files stay reserved", bytes, count)
		}
	})
}
