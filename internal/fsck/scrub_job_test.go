package fsck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/fsck"
	"larder/internal/job"
)

// scrubInBackground switches the scrub on, with a function that is called whenever it waits before
// it reads; the clock moves by the time of the wait.
func (f *fixture) scrubInBackground(rate int64, onWait func(n int)) {
	waits := 0
	for _, a := range f.l.Apps {
		a.Fsck.ScrubRate = rate
		a.Tree.Sleep = func(ctx context.Context, d time.Duration) error {
			f.l.Clock.Advance(d)
			waits++
			if onWait != nil {
				onWait(waits)
			}
			return ctx.Err()
		}
	}
}

// pass queues a pass if one is due, and runs attempts of it until none is due.
func (f *fixture) pass() (attempts int) {
	f.t.Helper()
	f.must(f.l.Apps[0].Fsck.StartScrub(context.Background()))
	for range 100 {
		ran, err := f.l.Apps[0].ScrubJobs.RunNext(f.t.Context())
		f.must(err)
		if !ran {
			return attempts
		}
		attempts++
	}
	f.t.Fatal("the scrub does not end")
	return attempts
}

func (f *fixture) lastScrub() fsck.ScrubSummary {
	f.t.Helper()
	_, sum, err := fsck.LastScrub(f.l.Apps[0].DB.Read(context.Background()))
	f.must(err)
	return sum
}

func (f *fixture) scrubJobs(status string) int64 { // ended ones are not kept
	f.t.Helper()
	return f.number("SELECT COUNT(*) FROM jobs WHERE type = 'scrub' AND status = $1", status)
}

// A pass begins at the first start and every 90 days, on one replica, and not at a rate of 0.
func TestScrubTakesTurns(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		start := func() {
			t.Helper()
			for _, a := range s.l.Apps {
				s.must(a.Fsck.StartScrub(context.Background()))
			}
		}
		start()
		if n := s.scrubJobs("pending"); n != 0 {
			t.Errorf("%d passes at a rate of 0", n)
		}
		s.scrubInBackground(1<<20, nil)
		for day, want := range []int{1, 0, 1, 0} {
			start()
			if n := s.scrubJobs("pending"); n != int64(want) {
				t.Errorf("%d passes begin at day %d, want %d", n, day*45, want)
			}
			s.pass()
			s.l.Clock.Advance(45 * 24 * time.Hour)
		}
		s.l.Clock.Advance(90 * 24 * time.Hour)
		for range 2 { // the second time the pass of the first time is still under way
			start()
			if n := s.scrubJobs("pending"); n != 1 {
				t.Errorf("%d passes are under way", n)
			}
			s.l.Clock.Advance(100 * 24 * time.Hour)
		}
		if sum := s.lastScrub(); sum.Objects != 2 || sum.Bytes != int64(len("a photograph")+len("dear reader")) {
			t.Errorf("%+v", sum)
		}
	})
}

// A failed pass is followed by another one a day later.
func TestScrubAfterFailure(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.scrubInBackground(1<<20, nil)
		s.pass()
		s.must(s.l.Apps[0].DB.Write(t.Context(),
			func(tx *db.Tx) error { return s.l.Apps[0].Fsck.EndScrub(tx, &job.Run{}, "It failed.") }))
		s.l.Clock.Advance(23 * time.Hour)
		if n := s.pass(); n != 0 {
			t.Errorf("%d attempts within a day", n)
		}
		s.l.Clock.Advance(time.Hour)
		if n := s.pass(); n != 1 {
			t.Errorf("%d attempts after a day, want 1", n)
		}
	})
}

// The rate holds for all objects together, and a small object counts as 64 KiB.
func TestScrubIsSlow(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		newManyObjects(s, 38) // 40 in all
		s.scrubInBackground(1<<18, nil)
		begun := s.l.Clock.Now()
		s.pass()
		if took := s.l.Clock.Now().Sub(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("40 objects took %v at 4 objects a second", took)
		}
	})
}

// A pass that is stopped goes on where it was: an object of a page that was read is not read again.
func TestScrubResumes(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		const number = 450
		m := newManyObjects(s, number)
		m.damage(3, 2)
		m.damage(400, 2)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.scrubInBackground(objectASecond, func(n int) {
			if n == 250 {
				stop()
			}
		})
		s.must(s.l.Apps[0].Fsck.StartScrub(ctx))
		if _, err := s.l.Apps[0].ScrubJobs.RunNext(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if n := s.scrubJobs("pending"); n != 1 {
			t.Fatalf("%d pending passes after the stop", n)
		}
		for i := 4; i < 90; i += 2 { // of the first page, which was read
			m.damage(i, 0)
		}
		s.pass()
		sum := s.lastScrub()
		// a healed object may be read again, under its new key
		if sum.Objects < number+2 || sum.Objects > number+4 || sum.Findings != 2 || sum.Healed != 2 {
			t.Errorf("%+v, want all %d objects read once, 2 damaged", sum, number+2)
		}
	})
}

// objectASecond is a rate at which each small object takes a second.
const objectASecond = 64 << 10

// A store whose marker disappears during a pass is left alone, and read to its end when it is back.
func TestScrubWaitsForTheStore(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		newManyObjects(s, 250)
		away, back := filepath.Join(s.objects, ".larder-store"), filepath.Join(s.objects, ".put-by")
		s.scrubInBackground(objectASecond, func(n int) {
			if n == 120 {
				s.must(os.Rename(away, back))
			}
		})
		s.pass()
		if n := s.scrubJobs("pending"); n != 1 || len(s.marked()) != 0 {
			t.Fatalf("%d pending passes, marked %q", n, s.marked())
		}
		s.must(os.Rename(back, away))
		s.l.Clock.Advance(15 * time.Minute)
		s.pass()
		if sum := s.lastScrub(); sum.Objects != 252 || sum.Findings != 0 || sum.Unread != 0 {
			t.Errorf("%+v", sum)
		}
	})
}

// A store that stays away is given up after 90 days, and its objects count as unread.
func TestScrubGivesUp(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		s.scrubInBackground(1<<20, nil)
		s.must(os.Rename(filepath.Join(s.objects, ".larder-store"), filepath.Join(s.objects, ".put-by")))
		s.pass()
		s.l.Clock.Advance(90*24*time.Hour - time.Minute)
		s.pass()
		if n := s.scrubJobs("pending"); n != 1 {
			t.Errorf("%d pending passes", n)
		}
		s.must(s.l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error { // the next pass begins later
			_, err := tx.Exec("UPDATE versions SET value = value + 100000000 WHERE name = 'scrub next'")
			return err
		}))
		s.l.Clock.Advance(time.Hour)
		s.pass()
		if sum := s.lastScrub(); s.scrubJobs("pending") != 0 || sum.Unread != 2 || sum.Findings != 0 {
			t.Errorf("%+v", sum)
		}
	})
}

// Files that are deleted or replaced between the listing of a pass and
// its reads are no findings, whatever has become of their bytes.
func TestScrubBesideOneChange(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		m := newManyObjects(s, 40)
		s.scrubInBackground(objectASecond, func(n int) {
			if n != 5 { // the page is listed, and most of it is not read yet
				return
			}
			alice := s.l.SignIn(t, "alice", "password of alice")
			for i := 10; i < 20; i++ {
				alice.Delete("/api/files/entry" + m.id(i) + "?permanent=true").OK(200)
			}
			for i := 20; i < 30; i++ {
				alice.Upload("/home/alice", m.name(i), []byte("new"), apptest.M{"conflict": "replace"})
			}
			s.l.Clock.Advance(2 * time.Hour) // the grace period is over
			s.l.Sweep()
			for i := 10; i < 20; i++ {
				if s.has(m.key(i)) {
					t.Errorf("object %d is still stored", i)
				}
			}
		})
		s.pass()
		if sum := s.lastScrub(); sum.Findings != 0 || len(s.marked()) != 0 {
			t.Errorf("%+v, marked %q", sum, s.marked())
		}
	})
}

func (f *fixture) has(key string) bool {
	_, err := os.Stat(f.file(key))
	return err == nil
}
