package object_test

import (
	"testing"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/object"
)

// An object is marked as damaged only where it was read: a mark of an object that was moved or
// deleted meanwhile has no effect, and says so. The first time of a mark stays.
func TestMarkDamaged(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *fixture) {
		here := object.Location{Provider: "local", Key: blob.Key("ab/" + "0123456789abcdef0123456789abcdef")}
		var id string
		f.write(func(tx *db.Tx) (err error) {
			id, err = f.objects.Insert(tx, object.Record{Location: here, Size: 1})
			return err
		})
		elsewhere := here
		elsewhere.Key = "ab/1123456789abcdef0123456789abcdef"
		for _, c := range []struct {
			id     string
			at     object.Location
			since  int64
			marked bool
			count  int64
		}{
			{id, elsewhere, 1, false, 0},
			{id, object.Location{Provider: "other", Key: here.Key}, 2, false, 0},
			{"none", here, 3, false, 0},
			{id, here, 4, true, 1},
			{id, here, 5, true, 1},
		} {
			f.write(func(tx *db.Tx) error {
				marked, err := object.MarkDamaged(tx, c.id, c.at, c.since)
				if marked != c.marked {
					t.Errorf("marking %s at %v: %v", c.id, c.at, marked)
				}
				return err
			})
			if n, err := object.CountDamaged(f.db.Read(t.Context())); err != nil || n != c.count {
				t.Errorf("%d objects are marked (%v), want %d", n, err, c.count)
			}
		}
		f.write(func(tx *db.Tx) error { return object.ClearDamage(tx, id, elsewhere) })
		if n, _ := object.CountDamaged(f.db.Read(t.Context())); n != 1 {
			t.Error("a read elsewhere has cleared the mark")
		}
		f.write(func(tx *db.Tx) error { return object.ClearDamage(tx, id, here) })
		if n, _ := object.CountDamaged(f.db.Read(t.Context())); n != 0 {
			t.Error("the mark is still there")
		}
	})
}
