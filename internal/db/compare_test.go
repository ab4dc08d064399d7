package db_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// otherEngine copies a database to the other engine.
func otherEngine(t *testing.T, d *db.DB, engine string) *db.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := d.Snapshot(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if engine == "postgres" {
		return openElsewhere(t, path)
	}
	to, err := db.Open(t.Context(), dbtest.Config(t, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	from := openSnapshot(t, path)
	if err := to.ImportFrom(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	return to
}

// Compare returns the same sums for a database and its copy on the other engine. It returns
// ErrDifferent when a value was changed, or a row was added or deleted.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d := openFilled(t, engine)
			to := otherEngine(t, d, engine)
			defer to.Close()
			sums, err := d.Compare(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			counts := tableCounts(t, d)
			if len(sums) != len(counts) {
				t.Errorf("%d tables were compared, want %d", len(sums), len(counts))
			}
			for _, sum := range sums {
				if int(sum.Rows) != counts[sum.Table] || len(sum.Sum) != 64 {
					t.Errorf("%+v, want %d rows", sum, counts[sum.Table])
				}
			}
			for _, change := range []string{
				"UPDATE settings SET value = 'x' WHERE name = ''",
				"UPDATE versions SET value = value + 1 WHERE name = 'config'",
				"DELETE FROM versions WHERE name = 'most'",
				"INSERT INTO settings VALUES ('more', '')",
				"UPDATE links SET entry_id = id || 'x'",
			} {
				if _, err := d.Compare(t.Context(), to); err != nil {
					t.Errorf("before %s: %v", change, err)
				}
				exec(t, to, change)
				if _, err := d.Compare(t.Context(), to); !errors.Is(err, db.ErrDifferent) {
					t.Errorf("after %s: %v, want that they are different", change, err)
				}
				exec(t, d, change)
			}
		})
	}
}

// The sum of a table depends on the column that a value is in, and on the row.
func TestSumsOfTables(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite")
	to := otherEngine(t, d, "sqlite")
	defer to.Close()
	exec(t, d, "INSERT INTO settings VALUES ('ab', 'c'), ('x', 'y')")
	exec(t, to, "INSERT INTO settings VALUES ('a', 'bc'), ('x', 'y')")
	if _, err := d.Compare(t.Context(), to); !errors.Is(err, db.ErrDifferent) {
		t.Errorf("moved between columns: %v", err)
	}
	exec(t, to, "DELETE FROM settings; INSERT INTO settings VALUES ('ab', 'y'), ('x', 'c')")
	if _, err := d.Compare(t.Context(), to); !errors.Is(err, db.ErrDifferent) {
		t.Errorf("moved between rows: %v", err)
	}
	exec(t, to, "DELETE FROM settings; INSERT INTO settings VALUES ('x', 'y'), ('ab', 'c')")
	if _, err := d.Compare(t.Context(), to); err != nil {
		t.Errorf("in another order: %v", err)
	}
}

// A mark is in each copy. Only an incomplete copy with the right mark is dropped.
func TestMovedMark(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite")
	wantMark := func(d *db.DB, want int64) {
		t.Helper()
		if at, err := d.MovedAt(t.Context()); err != nil || at != want {
			t.Errorf("the mark is %d (%v), want %d", at, err, want)
		}
	}
	wantMark(d, 0)
	for _, at := range []int64{1, 1_790_000_000_000} {
		if err := d.SetMoved(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		wantMark(d, at)
	}
	to := otherEngine(t, d, "sqlite")
	defer to.Close()
	wantMark(to, 1_790_000_000_000)
	for _, refused := range []struct {
		d    *db.DB
		mark int64
	}{{to, 0}, {to, 1}, {d, 1_790_000_000_000}} {
		if err := refused.d.DropTables(t.Context(), refused.mark); !errors.Is(err, db.ErrNotEmpty) {
			t.Errorf("mark %d: %v, want that nothing is dropped", refused.mark, err)
		}
	}
	if err := to.DropTables(t.Context(), 1_790_000_000_000); err != nil {
		t.Fatal(err)
	}
	if empty, err := to.IsEmpty(t.Context()); err != nil || !empty {
		t.Errorf("empty %v (%v)", empty, err)
	}
	wantMark(to, 0)
	if err := d.SetMoved(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	wantMark(d, 0)
	unmarked := otherEngine(t, d, "sqlite")
	defer unmarked.Close()
	if err := unmarked.DropTables(t.Context(), 0); !errors.Is(err, db.ErrNotEmpty) || !strings.Contains(err.Error(), "drop") {
		t.Errorf("without a mark: %v", err)
	}
}
