package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

func insertSetting(tx *db.Tx, name, value string) error {
	_, err := tx.Exec("INSERT INTO settings (name, value) VALUES ($1, $2)", name, value)
	return err
}

func setting(t *testing.T, q db.Querier, name string) string {
	t.Helper()
	var value string
	if err := q.QueryRow("SELECT value FROM settings WHERE name = $1", name).Scan(&value); err != nil &&
		!errors.Is(err, db.ErrNoRows) {
		t.Fatal(err)
	}
	return value
}

func TestWriteIsSeenByReadersAfterItReturns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		hooked := false
		err := d.Write(ctx, func(tx *db.Tx) error {
			tx.AfterCommit(func() { hooked = true })
			return insertSetting(tx, "a", "1")
		})
		if err != nil || !hooked || setting(t, d.Read(ctx), "a") != "1" {
			t.Fatalf("err %v, hook ran %v, value %q", err, hooked, setting(t, d.Read(ctx), "a"))
		}
	})
}

func TestFailedWriteUndoesItselfAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		refused := errors.New("refused")
		var wg sync.WaitGroup
		results := make([]error, 60)
		for i := range results {
			wg.Go(func() {
				results[i] = d.Write(ctx, func(tx *db.Tx) error {
					if err := insertSetting(tx, fmt.Sprint("name", i), "x"); err != nil {
						return err
					}
					switch i % 3 {
					case 1:
						return refused
					case 2:
						panic("a caller's fault")
					}
					return nil
				})
			})
		}
		wg.Wait()
		for i, err := range results {
			stored := setting(t, d.Read(ctx), fmt.Sprint("name", i)) == "x"
			switch {
			case i%3 == 0 && (err != nil || !stored):
				t.Errorf("write %d: err %v, stored %v", i, err, stored)
			case i%3 == 1 && (!errors.Is(err, refused) || stored):
				t.Errorf("refused write %d: err %v, stored %v", i, err, stored)
			case i%3 == 2 && (err == nil || stored):
				t.Errorf("panicking write %d: err %v, stored %v", i, err, stored)
			}
		}
	})
}

func TestUniqueViolationNamesTheIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		entry := func(tx *db.Tx, id string) error {
			_, err := tx.Exec(`
				INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at)
				VALUES ($1, 'p', 'n', 'n', 0, 0, '', 'o', 1, 1)`, id)
			return err
		}
		err := d.Write(context.Background(), func(tx *db.Tx) error {
			return errors.Join(entry(tx, "1"), entry(tx, "2"))
		})
		var unique *db.ErrUnique
		if !errors.As(err, &unique) || unique.Name != "entries_name_unique" {
			t.Fatalf("got %v, want entries_name_unique", err)
		}
	})
}

func TestCancelledWriteChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := d.Write(ctx, func(tx *db.Tx) error { return insertSetting(tx, "a", "1") })
		if !errors.Is(err, context.Canceled) || setting(t, d.Read(context.Background()), "a") != "" {
			t.Fatalf("got %v", err)
		}
	})
}

func TestMigrateTwiceAndTogetherIsHarmless(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := dbtest.Config(t, engine)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					d, err := db.Open(context.Background(), cfg)
					if err != nil {
						t.Error(err)
						return
					}
					defer d.Close()
					if err := d.Migrate(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// A newer schema is refused, unless it says that this binary may work on it.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		newest, err := db.SchemaVersion()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			oldest  int
			refused bool
		}{{0, true}, {9999, true}, {newest + 1, true}, {newest, false}, {1, false}} {
			exec(t, d, fmt.Sprintf("UPDATE schema_version SET version = 9999, oldest = %d", c.oldest))
			err := d.Migrate(ctx)
			if refused := errors.Is(err, db.ErrTooOld); refused != c.refused || !refused && err != nil || refused &&
				!strings.Contains(err.Error(), "newer") {
				t.Errorf("oldest %d: %v", c.oldest, err)
			}
			if version, err := d.SchemaVersion(ctx); err != nil || version != 9999 {
				t.Errorf("left at version %d, %v", version, err)
			}
		}
	})
}

// Abuse case C118.
func TestDatabaseFileIsPrivate(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "sqlite")
	d, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return insertSetting(tx, "a", "1") }); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(cfg.Path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", info.Name(), info.Mode().Perm())
		}
	}
}

func TestWriteRunsAgainWhenAsked(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		prepared, runs := 0, 0
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			runs++
			if _, err := tx.Exec("INSERT INTO settings (name, value) VALUES (CAST($1 AS TEXT), '')",
				strconv.Itoa(runs)); err != nil {
				return err
			}
			if prepared < 40 {
				return fmt.Errorf("wrapped: %w",
					&db.RetryError{Prepare: func(context.Context) error { prepared++; return nil }})
			}
			return nil
		})
		if err != nil || runs != 41 {
			t.Errorf("%d runs, %v", runs, err)
		}
		var name string
		if err := d.Read(t.Context()).QueryRow("SELECT name FROM settings").Scan(&name); err != nil || name != "41" {
			t.Errorf("left behind: %q, %v", name, err)
		}
		runs = 0
		err = d.Write(t.Context(), func(*db.Tx) error {
			runs++
			return &db.RetryError{Prepare: func(context.Context) error { return nil }}
		})
		if err == nil || runs > 100 {
			t.Errorf("retried without end: %d runs, %v", runs, err)
		}
		broken := errors.New("broken")
		err = d.Write(t.Context(), func(*db.Tx) error {
			return &db.RetryError{Prepare: func(context.Context) error { return broken }}
		})
		if !errors.Is(err, broken) {
			t.Errorf("Prepare fails: %v", err)
		}
	})
}
