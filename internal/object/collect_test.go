package object_test

import (
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/provider"
)

// A provider that cannot be reached delays no other provider and is retried later.
func TestCollectorContinuesPastFailingStore(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		gone := w.storeContent("x").Key
		w.write(func(tx *db.Tx) error {
			away := provider.Provider{ID: "absent", Name: "absent", Type: provider.BuiltIn, Bucket: "absent",
				Marker: "absent"}
			if err := w.reg.Insert(tx, away); err != nil {
				return err
			}
			for i := range 500 {
				if err := object.Discard(tx, "absent", numberedKey(i), 0); err != nil {
					return err
				}
			}
			return nil
		})
		w.advance(grace)
		w.collect()
		if w.isStored(gone) {
			t.Error("the garbage of the reachable store was not collected")
		}
		if n := w.countRows("garbage"); n != 500 {
			t.Errorf("%d keys on the list, want the keys of the unreachable provider", n)
		}
		nextAttempt := func() int64 { return w.queryInt("SELECT MIN(after) FROM garbage") }
		first := nextAttempt()
		w.collect() // within a minute: not retried
		if nextAttempt() != first {
			t.Error("retried immediately")
		}
		w.advance(time.Minute)
		w.collect()
		if nextAttempt() == first {
			t.Error("not retried")
		}
	})
}

// Keys that an upload had recorded in a provider are deleted together with the provider.
func TestCollectorForgetsKeysOfDeletedProviders(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		w.write(func(tx *db.Tx) error {
			return object.Discard(tx, "deleted", "ab/00112233445566778899aabbccddeeff",
				0)
		})
		w.advance(grace)
		w.collect()
		if n := w.countRows("garbage"); n != 0 {
			t.Errorf("%d keys on the list", n)
		}
	})
}
