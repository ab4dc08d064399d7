package object_test

import (
	"errors"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/object"
)

// deleted makes an object, releases it and returns whether its bytes are still there.
func (w *world) deleted(name string) (there func() bool) {
	w.t.Helper()
	o := w.store("content of " + name)
	w.write(func(tx *db.Tx) error {
		if err := object.Undiscard(tx, o.Provider, o.Key); err != nil {
			return err
		}
		id, err := w.objects.Insert(tx, o)
		if err != nil {
			return err
		}
		return w.objects.Release(tx, id, "ann")
	})
	return func() bool { return w.stored(o.Key) }
}

func (w *world) hold() *object.Hold {
	w.t.Helper()
	hold, err := w.objects.Hold(w.t.Context())
	w.must(err)
	return hold
}

// Of a backup: while it holds the collector back nothing is deleted, and everything that is due when it ends.
func TestHoldPausesCollector(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.objects.Grace = time.Millisecond
		first, second := w.hold(), w.hold()
		there := w.deleted("a")
		w.pass(time.Minute)
		w.collect()
		if !there() {
			t.Fatal("deleted under two holds")
		}
		w.must(first.Release(t.Context()))
		w.collect()
		if !there() {
			t.Fatal("deleted under a hold, after another one ended")
		}
		for range 20 { // longer than a hold lasts by itself
			w.must(second.Renew(t.Context()))
			w.pass(time.Minute)
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
		if n := w.count("garbage"); n != 0 {
			t.Errorf("%d keys are left on the garbage list", n)
		}
	})
}

// Ten minutes is how long a hold lasts whose owner died, and five how late it may be renewed: clocks differ.
func TestHoldExpires(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.objects.Grace = time.Millisecond
		there := w.deleted("a")
		w.hold()
		w.pass(10*time.Minute - time.Millisecond)
		w.collect()
		if !there() {
			t.Error("deleted before the hold was over")
		}
		w.pass(time.Millisecond)
		w.collect()
		if there() {
			t.Error("still there when the hold was over")
		}

		late, punctual := w.hold(), w.hold()
		w.pass(5 * time.Minute)
		w.must(punctual.Renew(t.Context()))
		w.pass(time.Millisecond)
		if err := late.Renew(t.Context()); !errors.Is(err, object.ErrHoldLost) {
			t.Errorf("renewed after five minutes: %v", err)
		}
		w.pass(-time.Hour)
		if err := late.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := late.Renew(t.Context()); !errors.Is(err, object.ErrHoldLost) {
			t.Errorf("renewed after its end: %v", err)
		}
	})
}

// A hold that a clock gone wrong has left behind holds nothing, and the next hold takes it away.
func TestHoldFromWrongClockIsIgnored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.objects.Grace = time.Millisecond
		w.pass(3 * time.Hour)
		w.hold()
		w.pass(-3 * time.Hour)
		there := w.deleted("a")
		w.pass(time.Minute)
		w.collect()
		if there() {
			t.Error("still there")
		}
		w.hold()
		if n := w.heldStill(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
		w.pass(time.Hour)
		w.hold()
		if n := w.heldStill(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
	})
}

func (w *world) heldStill() (n int) {
	w.t.Helper()
	w.must(w.db.Read(w.t.Context()).QueryRow("SELECT count(*) FROM versions WHERE name LIKE 'backup %'").Scan(&n))
	return n
}

// A database that comes from a backup names no garbage and holds nothing back.
func TestRestoredListsNoGarbage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.hold()
		w.deleted("a")
		w.write(object.AfterRestore)
		if garbage, holds := w.count("garbage"), w.heldStill(); garbage != 0 || holds != 0 {
			t.Errorf("%d keys on the garbage list, %d holds", garbage, holds)
		}
	})
}
