package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// openWithFullPools opens a new PostgreSQL database and fills the pools of readers and writers with
// idle connections.
func openWithFullPools(t *testing.T) (d *db.DB, cfg db.Config) {
	t.Helper()
	cfg = dbtest.Config(t, "postgres")
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	fillPools(t, d)
	fillPools(t, d) // the driver checks a connection before its second use, and after a second
	return d, cfg
}

// fillPools makes 16 writers and 8 readers hold a connection each at the same time.
func fillPools(t *testing.T, d *db.DB) {
	t.Helper()
	var all, held sync.WaitGroup
	release := make(chan struct{})
	held.Add(24)
	for range 16 {
		all.Go(func() {
			if err := d.Write(t.Context(), func(*db.Tx) error { held.Done(); <-release; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	for range 8 {
		all.Go(func() {
			rows, err := d.Read(t.Context()).Query("SELECT 1")
			held.Done()
			<-release
			if err != nil || rows.Close() != nil {
				t.Error("a reader failed", err)
			}
		})
	}
	held.Wait()
	close(release)
	all.Wait()
}

func closeRows(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	return rows.Close()
}

// The server has closed every idle connection, like a restart. No caller gets an error, neither one
// after the other nor all at once.
func TestIdleConnectionsThatWereClosedAreReplaced(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	for name, do := range map[string]func(d *db.DB, i int) error{
		"writes": func(d *db.DB, i int) error {
			return d.Write(t.Context(), func(tx *db.Tx) error {
				runs.Add(1)
				return insertSetting(tx, fmt.Sprint("a", i), "x")
			})
		},
		"reads": func(d *db.DB, _ int) error {
			rows, err := d.Read(t.Context()).Query("SELECT name FROM settings WHERE name <> $1", "x")
			return closeRows(rows, err)
		},
		"reads of a row": func(d *db.DB, _ int) error {
			var n int
			return d.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM settings WHERE name <> $1", "x").Scan(&n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, cfg := openWithFullPools(t)
			const rounds, alone, together = 5, 3, 40
			for round := range rounds {
				dbtest.Disconnect(t, cfg.URL)
				for i := range alone {
					if err := do(d, round*1000+i); err != nil {
						t.Error(err)
					}
				}
				dbtest.Disconnect(t, cfg.URL)
				var all sync.WaitGroup
				for i := range together {
					all.Go(func() {
						if err := do(d, round*1000+alone+i); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
			if n := runs.Load(); name == "writes" && n != rounds*(alone+together) {
				t.Errorf("%d runs of %d transactions", n, rounds*(alone+together))
			}
		})
	}
}

// A connection that breaks within a transaction has committed nothing, so the transaction is run
// again. Its changes are made once.
func TestTransactionIsRetriedWhenItsConnectionClosesBeforeCommit(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(tx *db.Tx) error{
		"exec":      func(tx *db.Tx) error { return insertSetting(tx, "second", "x") },
		"query":     func(tx *db.Tx) error { rows, err := tx.Query("SELECT 1"); return closeRows(rows, err) },
		"query row": func(tx *db.Tx) error { var one int; return tx.QueryRow("SELECT 1").Scan(&one) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, cfg := openWithFullPools(t)
			runs, hooks := 0, 0
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				runs++
				tx.AfterCommit(func() { hooks++ })
				if err := insertSetting(tx, "run"+strconv.Itoa(runs), "x"); err != nil {
					return err
				}
				if runs == 1 {
					dbtest.Disconnect(t, cfg.URL)
				}
				if err := do(tx); err != nil {
					return fmt.Errorf("go on: %w", err)
				}
				return nil
			})
			if err != nil || runs != 2 || hooks != 1 {
				t.Errorf("%v after %d runs, %d hooks", err, runs, hooks)
			}
			if q := d.Read(t.Context()); setting(t, q, "run1") == "x" || setting(t, q, "run2") != "x" {
				t.Error("a change of the first run is left, or one of the second is missing")
			}
		})
	}
}

// An error of the function itself is not retried, even if its connection has broken as well.
func TestErrorOfTheFunctionOnAClosedConnectionIsReturned(t *testing.T) {
	t.Parallel()
	d, cfg := openWithFullPools(t)
	own, runs := errors.New("refused"), 0
	err := d.Write(t.Context(), func(*db.Tx) error {
		runs++
		dbtest.Disconnect(t, cfg.URL)
		return own
	})
	if !errors.Is(err, own) || runs != 1 {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// Abuse case C125: if the connection breaks unnoticed before COMMIT is sent, Write fails, since it
// is unknown whether the server has received it.
func TestCommitOnAClosedConnectionIsNotRepeated(t *testing.T) {
	t.Parallel()
	d, cfg := openWithFullPools(t)
	runs := 0
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		runs++
		err := insertSetting(tx, "run", "x")
		dbtest.Disconnect(t, cfg.URL)
		return err
	})
	if err == nil || runs != 1 || setting(t, d.Read(t.Context()), "run") != "" {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// A changing statement outside a transaction is refused, since it could be sent twice when its
// answer is lost.
func TestStatementOutsideATransactionIsRefused(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "postgres")
	before, err := db.ConfigVersion(d.Read(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ExecAlone(t.Context(), "UPDATE versions SET value = value + 1 WHERE name = 'config'"); err == nil {
		t.Error("it was run")
	}
	if after, err := db.ConfigVersion(d.Read(t.Context())); err != nil || after != before {
		t.Errorf("version %d after %d, %v", after, before, err)
	}
}
