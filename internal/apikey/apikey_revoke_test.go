package apikey_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
)

// OnRevoke is called for each key that is revoked, inside the transaction. If it fails, the key
// stays as it was.
func TestOnRevokeIsCalledForRevokedKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		var heard []string
		var fails error
		w.OnRevoke = func(_ *db.Tx, id string) error { heard = append(heard, id); return fails }
		wants := func(what string, want ...string) {
			t.Helper()
			slices.Sort(heard)
			slices.Sort(want)
			if !slices.Equal(heard, want) {
				t.Errorf("%s: heard %q, want %q", what, heard, want)
			}
			heard = nil
		}
		one, _ := w.create("ann", newKey())
		two, _ := w.create("ann", newKey())
		three, _ := w.create("ann", newKey())
		if err := w.Revoke(context.Background(), "bob", one.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked by another: %v", err)
		}
		wants("another's")
		fails = errors.New("no")
		if err := w.Revoke(context.Background(), "ann", one.ID); !errors.Is(err, fails) {
			t.Errorf("revoked in spite of %v: %v", fails, err)
		}
		if got := w.list("ann")[one.ID]; got.Status(w.time()) != "active" {
			t.Errorf("the key is %s", got.Status(w.time()))
		}
		heard, fails = nil, nil
		if err := w.Revoke(context.Background(), "ann", one.ID); err != nil {
			t.Error(err)
		}
		wants("one", one.ID)
		if err := d.Write(context.Background(),
			func(tx *db.Tx) error { _, err := w.RevokeAll(tx, "ann"); return err }); err != nil {
			t.Error(err)
		}
		if !slices.Contains(heard, two.ID) || !slices.Contains(heard, three.ID) {
			t.Errorf("all: heard %q", heard)
		}
	})
}
