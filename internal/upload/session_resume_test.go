package upload_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/blob/blobtest"
	"larder/internal/fault"
	"larder/internal/upload"
)

// keyed is a session for a file in ann's home, with an idempotency key.
func keyed(name string, size int64, key string) upload.NewSession {
	n := file(name, size)
	n.IdempotencyKey = key
	return n
}

func TestIdempotencyKeyResumes(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		first := w.create(w.ann, keyed("f", 5, "k"))
		if again := w.create(w.ann, keyed("f", 5, "k")); again.ID != first.ID || again.AlreadyCompleted ||
			again.File != nil {
			t.Errorf("resumed: %+v", again)
		}
		if storage, count := w.reserved(w.ann); storage != 5 || count != 1 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
		refused := func(doing string) {
			t.Helper()
			elsewhere := keyed("f", 5, "k")
			elsewhere.Dir = path("/uploads")
			for _, n := range []upload.NewSession{keyed("f", 6, "k"), keyed("g", 5, "k"), elsewhere} {
				_, err := w.up.Create(ctx, w.ann, n)
				w.wantFault(err, fault.Invalid, doing+", with another target or size")
			}
		}
		refused("pending")
		etag := w.putRaw(w.ann, first.ID, "hello")
		made := w.complete(w.ann, first.ID, etag)
		refused("completed")

		w.advance(24*time.Hour - time.Millisecond)
		again := w.create(w.ann, keyed("f", 5, "k"))
		if again.ID != first.ID || !again.AlreadyCompleted || again.Status != "completed" || again.File == nil ||
			again.File.ID != made.ID {
			t.Errorf("completed: %+v", again)
		}
		w.advance(time.Millisecond)
		later := w.create(w.ann, keyed("g", 6, "k"))
		if later.ID == first.ID || later.AlreadyCompleted {
			t.Errorf("a day later: %+v", later)
		}
	})
}

// Abuse case C37.
func TestIdempotencyKeysAreEachUsersOwn(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		theirs := w.create(w.ann, keyed("f", 5, "k"))
		mine := w.create(w.ben, upload.NewSession{Dir: path("/home/ben"), Name: "f", Size: 7, IdempotencyKey: "k"})
		if mine.ID == theirs.ID {
			t.Error("ben got ann's session")
		}
	})
}

func TestIdempotencyKeyIsFreeWhenItsSessionIsOver(t *testing.T) {
	endings := map[string]func(w *fixture, id string){
		"aborted": func(w *fixture, id string) {
			if err := w.up.Abort(ctx, w.ann, id); err != nil {
				w.t.Error(err)
			}
		},
		"expired, not swept": func(w *fixture, _ string) { w.advance(time.Hour) },
		"file deleted": func(w *fixture, id string) {
			entry := w.complete(w.ann, id, w.putRaw(w.ann, id, "hello"))
			if _, _, err := w.tree.Delete(ctx, w.ann, entry.ID); err != nil {
				w.t.Error(err)
			}
			for more := true; more; {
				var err error
				if more, err = w.tree.Collect(ctx); err != nil {
					w.t.Fatal(err)
				}
			}
		},
	}
	each(t, func(t *testing.T, w *fixture) {
		for name, end := range endings {
			first := w.create(w.ann, keyed("f", 5, name))
			end(w, first.ID)
			second := w.create(w.ann, keyed("other", 3, name))
			if second.ID == first.ID || second.AlreadyCompleted {
				t.Errorf("%s: %+v", name, second)
			}
			w.checkInvariants()
		}
	})
}

func TestParallelCreationsWithOneKeyMakeOneSession(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		ids := make(chan string, 20)
		got := parallel(20, func(int) error {
			session, err := w.up.Create(ctx, w.ann, keyed("f", 5, "k"))
			ids <- session.ID
			return err
		})
		if got[noFault] != 20 {
			t.Fatalf("outcomes %v", got)
		}
		seen := map[string]bool{}
		for range 20 {
			seen[<-ids] = true
		}
		if len(seen) != 1 {
			t.Errorf("sessions %s", fmt.Sprint(seen))
		}
		if storage, count := w.reserved(w.ann); storage != 5 || count != 1 {
			t.Errorf("reserved %d bytes, %d files", storage, count)
		}
	})
}

// Stores delete unfinished uploads three days after they began: no session continues one of that
// age, however often it was taken over.
func TestPartsAreTakenOverWithinTwoDaysOfTheirBeginning(t *testing.T) {
	for name, late := range map[string]bool{"a millisecond before": false, "two days": true} {
		for name, swept := range map[string]string{name: "", name + ", swept": "swept"} {
			eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
				start := w.clock.Load()
				w.beginParts("k", 1)
				w.clock.Store(start + (24 * time.Hour).Milliseconds())
				second := w.create(w.ann, inParts("f", 2500, "k"))
				w.wantParts(w.ann, second.ID, []int{1}, []int{2, 3})
				w.clock.Store(start + (26 * time.Hour).Milliseconds())
				if swept != "" {
					w.sweep()
				}
				list, err := w.up.List(ctx, w.ann, upload.Kept)
				if err != nil || len(list) != 1 || *list[0].KeptUntil != start+(48*time.Hour).Milliseconds() {
					t.Errorf("listed %+v, %v", list, err)
				}
				w.clock.Store(start + (48 * time.Hour).Milliseconds())
				if !late {
					w.clock.Add(-1)
				}
				if list, err = w.up.List(ctx, w.ann, upload.Kept); err != nil || (len(list) == 0) != late {
					t.Errorf("listed at last %+v, %v", list, err)
				}
				begun := w.store.Calls(blobtest.Begin)
				third := w.create(w.ann, inParts("f", 2500, "k"))
				if again := w.store.Calls(blobtest.Begin) > begun; again != late {
					t.Errorf("begun again: %v, want %v", again, late)
				}
				if late {
					w.wantParts(w.ann, third.ID, nil, []int{1, 2, 3})
					return
				}
				w.wantParts(w.ann, third.ID, []int{1}, []int{2, 3})
				for range 48 {
					w.advance(30 * time.Minute)
					if third, err = w.up.Renew(ctx, w.ann, third.ID); err != nil {
						break
					}
				}
				w.wantFault(err, fault.UploadExpired, "renewing at the end")
				if end := start + (72 * time.Hour).Milliseconds(); w.clock.Load() != end-1 {
					t.Errorf("the session ended %d ms before the third day", end-w.clock.Load())
				}
				if list, err = w.up.List(ctx, w.ann, upload.Kept); err != nil || len(list) != 0 {
					t.Errorf("kept for longer: %+v, %v", list, err)
				}
			})
		}
	}
}
