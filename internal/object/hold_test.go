package object_test

import (
	"errors"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/object"
)

// deletedFile creates a file, deletes it, and returns a function that reports whether its bytes are
// still stored.
func (f *fixture) deletedFile(name string) (there func() bool) {
	f.t.Helper()
	o := f.storeContent("content of " + name)
	f.write(func(tx *db.Tx) error {
		if err := object.Undiscard(tx, o.Provider, o.Key); err != nil {
			return err
		}
		id, err := f.objects.Insert(tx, o)
		if err != nil {
			return err
		}
		return f.objects.Release(tx, id, "ann")
	})
	return func() bool { return f.isStored(o.Key) }
}

func (f *fixture) acquireHold() *object.Hold {
	f.t.Helper()
	hold, err := f.objects.Hold(f.t.Context())
	f.must(err)
	return hold
}

// While a backup's hold lasts, the collector deletes nothing. When the hold ends, it deletes
// everything that is due.
func TestHoldPausesCollector(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		w.objects.Grace = time.Millisecond
		first, second := w.acquireHold(), w.acquireHold()
		there := w.deletedFile("a")
		w.advance(time.Minute)
		w.collect()
		if !there() {
			t.Fatal("deleted under two holds")
		}
		w.must(first.Release(t.Context()))
		w.collect()
		if !there() {
			t.Fatal("deleted under a hold, after another one ended")
		}
		for range 20 { // longer than a hold lasts without renewal
			w.must(second.Renew(t.Context()))
			w.advance(time.Minute)
			w.collect()
		}
		if !there() {
			t.Fatal("deleted under a hold that was renewed")
		}
		w.must(second.Release(t.Context()))
		w.collect()
		if there() {
			t.Error("still there after the last hold ended")
		}
		if n := w.countRows("garbage"); n != 0 {
			t.Errorf("%d keys are left on the garbage list", n)
		}
	})
}

// A hold whose owner died lasts ten minutes. It may be renewed up to five minutes late, because
// clocks differ.
func TestHoldExpires(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		w.objects.Grace = time.Millisecond
		there := w.deletedFile("a")
		w.acquireHold()
		w.advance(10*time.Minute - time.Millisecond)
		w.collect()
		if !there() {
			t.Error("deleted before the hold was over")
		}
		w.advance(time.Millisecond)
		w.collect()
		if there() {
			t.Error("still there when the hold was over")
		}

		late, punctual := w.acquireHold(), w.acquireHold()
		w.advance(5 * time.Minute)
		w.must(punctual.Renew(t.Context()))
		w.advance(time.Millisecond)
		if err := late.Renew(t.Context()); !errors.Is(err, object.ErrHoldLost) {
			t.Errorf("renewed after five minutes: %v", err)
		}
		w.advance(-time.Hour)
		if err := late.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := late.Renew(t.Context()); !errors.Is(err, object.ErrHoldLost) {
			t.Errorf("renewed after its end: %v", err)
		}
	})
}

// A hold with a time from a wrong clock has no effect, and the next hold deletes it.
func TestHoldFromWrongClockIsIgnored(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		w.objects.Grace = time.Millisecond
		w.advance(3 * time.Hour)
		w.acquireHold()
		w.advance(-3 * time.Hour)
		there := w.deletedFile("a")
		w.advance(time.Minute)
		w.collect()
		if there() {
			t.Error("still there")
		}
		w.acquireHold()
		if n := w.countHolds(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
		w.advance(time.Hour)
		w.acquireHold()
		if n := w.countHolds(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
	})
}

func (f *fixture) countHolds() int64 {
	f.t.Helper()
	return f.queryInt("SELECT count(*) FROM versions WHERE name LIKE 'backup %'")
}

// After a restore the database contains no garbage rows and no holds, and of the objects on local
// disks none is marked as damaged.
func TestRestoredDatabaseHasNoGarbage(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		w.acquireHold()
		w.deletedFile("a")
		o := w.insertContent("restored", true)
		w.write(func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE objects SET damaged_at = 1 WHERE key = $1", string(o.Key))
			return err
		})
		w.write(object.AfterRestore)
		if n, err := object.CountDamaged(w.db.Read(t.Context())); err != nil || n != 0 {
			t.Errorf("%d objects are marked as damaged, %v", n, err)
		}
		if garbage, holds := w.countRows("garbage"), w.countHolds(); garbage != 0 || holds != 0 {
			t.Errorf("%d keys on the garbage list, %d holds", garbage, holds)
		}
	})
}
