package files_test

import (
	"errors"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/files"
)

// deleted makes a file, deletes it and returns whether its bytes are still there.
func (h *house) deleted(name string) (there func() bool) {
	h.t.Helper()
	place, err := h.tree.Place(h.t.Context(), h.ann, path("/home/ann"), path("/home/ann/"+name).Base(), files.Replace)
	h.must(err)
	s := h.store("content of " + name)
	e, err := h.commit(h.ann, place, s)
	h.must(err)
	_, _, err = h.tree.Delete(h.t.Context(), h.ann, e.ID)
	h.must(err)
	return func() bool { return h.stored(s.Key) }
}

func (h *house) hold() *files.Hold {
	h.t.Helper()
	hold, err := h.tree.Hold(h.t.Context())
	h.must(err)
	return hold
}

// Of a backup: while it holds the collector back nothing is deleted, and everything that is due when it ends.
func TestHoldKeepsTheCollectorBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.tree.Grace = time.Millisecond
		first, second := h.hold(), h.hold()
		there := h.deleted("a")
		h.pass(time.Minute)
		h.collect()
		if !there() {
			t.Fatal("deleted under two holds")
		}
		h.must(first.Release(t.Context()))
		h.collect()
		if !there() {
			t.Fatal("deleted under a hold, after another one ended")
		}
		for range 20 { // longer than a hold lasts by itself
			h.must(second.Renew(t.Context()))
			h.pass(time.Minute)
			h.collect()
		}
		if !there() {
			t.Fatal("deleted under a hold that was renewed")
		}
		h.must(second.Release(t.Context()))
		h.collect()
		if there() {
			t.Error("still there after the last hold ended")
		}
		if n := h.count("garbage"); n != 0 {
			t.Errorf("%d keys are left on the garbage list", n)
		}
	})
}

// Ten minutes is how long a hold lasts whose owner died, and five how late it may be renewed: clocks differ.
func TestHoldEndsByItself(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.tree.Grace = time.Millisecond
		there := h.deleted("a")
		h.hold()
		h.pass(10*time.Minute - time.Millisecond)
		h.collect()
		if !there() {
			t.Error("deleted before the hold was over")
		}
		h.pass(time.Millisecond)
		h.collect()
		if there() {
			t.Error("still there when the hold was over")
		}

		late, punctual := h.hold(), h.hold()
		h.pass(5 * time.Minute)
		h.must(punctual.Renew(t.Context()))
		h.pass(time.Millisecond)
		if err := late.Renew(t.Context()); !errors.Is(err, files.ErrHoldLost) {
			t.Errorf("renewed after five minutes: %v", err)
		}
		h.pass(-time.Hour)
		if err := late.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := late.Renew(t.Context()); !errors.Is(err, files.ErrHoldLost) {
			t.Errorf("renewed after its end: %v", err)
		}
	})
}

// A hold that a clock gone wrong has left behind holds nothing, and the next hold takes it away.
func TestHoldOfAWrongClock(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.tree.Grace = time.Millisecond
		h.pass(3 * time.Hour)
		h.hold()
		h.pass(-3 * time.Hour)
		there := h.deleted("a")
		h.pass(time.Minute)
		h.collect()
		if there() {
			t.Error("still there")
		}
		h.hold()
		if n := h.heldStill(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
		h.pass(time.Hour)
		h.hold()
		if n := h.heldStill(); n != 1 {
			t.Errorf("%d holds, want the last one", n)
		}
	})
}

func (h *house) heldStill() (n int) {
	h.t.Helper()
	h.must(h.db.Read(h.t.Context()).QueryRow("SELECT count(*) FROM versions WHERE name LIKE 'backup %'").Scan(&n))
	return n
}

// A database that comes from a backup names no garbage and holds nothing back.
func TestRestoredListsNoGarbage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.hold()
		h.deleted("a")
		h.write(files.Restored)
		if garbage, holds := h.count("garbage"), h.heldStill(); garbage != 0 || holds != 0 {
			t.Errorf("%d keys on the garbage list, %d holds", garbage, holds)
		}
	})
}
