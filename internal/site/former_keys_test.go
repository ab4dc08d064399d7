package site_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/secret"
	"larder/internal/site"
)

// A rotation seals the password anew and keeps the former keys until their time is over.
func TestFormerKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		master := sha256.Sum256([]byte("the next master key"))
		next, err := secret.New(master[:])
		if err != nil {
			t.Fatal(err)
		}
		store := site.New(d, next)
		if f, err := store.FormerKeys(t.Context()); err != nil || len(f.Keys) != 0 {
			t.Errorf("without a rotation: %d keys, %v", len(f.Keys), err)
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			return site.New(d, testKeyring).Save(tx, changedSettings)
		}); err != nil {
			t.Fatal(err)
		}
		if got := current(t, d, site.New(d, next)); got.SMTPPassword != "" {
			t.Errorf("another key opens the password: %q", got.SMTPPassword.Reveal())
		}
		end := time.UnixMilli(5_000_000)
		rotation := secret.Rotation{From: testKeyring, To: next}
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			return site.Reseal(tx, &rotation, testKeyring.Former(end, "share"))
		}); err != nil {
			t.Fatal(err)
		}
		if got := current(t, d, site.New(d, next)); got != changedSettings || rotation.Sealed != 1 {
			t.Errorf("after the rotation: %+v, %d values sealed", got, rotation.Sealed)
		}
		token := testKeyring.Sign("share", []byte("x"))
		kept := func(s *site.Store) bool {
			f, err := s.FormerKeys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = next.WithFormer(f, func() time.Time { return end.Add(-1) }).Verify("share", token)
			return err == nil
		}
		if !kept(store) || kept(site.New(d, testKeyring)) {
			t.Error("the former keys are not kept, or the old key opens them")
		}
		for _, row := range []struct {
			now  time.Time
			kept bool
		}{{end.Add(-time.Millisecond), true}, {end, false}, {end, false}} {
			if err := store.SweepFormerKeys(t.Context(), row.now); err != nil {
				t.Fatal(err)
			}
			if kept(store) != row.kept {
				t.Errorf("after a sweep at %v: kept %v", row.now, !row.kept)
			}
		}
	})
}
