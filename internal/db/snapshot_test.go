package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// openFilled opens a migrated database with the sample rows and some that are hard to copy.
func openFilled(t *testing.T, engine string) *db.DB {
	t.Helper()
	d := dbtest.Open(t, engine)
	of := map[string]string{"sqlite": "char", "postgres": "chr"}[engine]
	exec(t, d, "UPDATE schema_steps SET held_until = 0, completed_at = 1 WHERE completed_at IS NOT NULL")
	exec(t, d, strings.ReplaceAll(sample+`
INSERT INTO settings VALUES ('', '');
INSERT INTO settings VALUES ('ünï''code "quoted" \back %percent', '日本語 🐈 ' || chr_or_char(10) || chr_or_char(9) || ' e' || chr_or_char(769));
INSERT INTO versions VALUES ('least', -9223372036854775808);
INSERT INTO versions VALUES ('most', 9223372036854775807);
INSERT INTO csrf_tokens VALUES ('jti2', 'canary-of-a-token', 1700000000000);
`, "chr_or_char", of))
	return d
}

// rowsOf returns every row of every table, sorted, with the type of each value.
func rowsOf(t *testing.T, d *db.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for table := range tableCounts(t, d) {
		rows, err := d.Read(context.Background()).Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for rows.Next() {
			values, left := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				left[i] = &values[i]
			}
			if err := rows.Scan(left...); err != nil {
				t.Fatal(err)
			}
			line := ""
			for i, value := range values {
				line += fmt.Sprintf("%s=%T(%#v) ", columns[i], value, value)
			}
			lines = append(lines, line)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		all[table] = strings.Join(lines, "\n")
	}
	return all
}

func wantSameRows(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d tables, want %d", what, len(got), len(want))
	}
	for table, rows := range want {
		if got[table] != rows {
			t.Errorf("%s, table %s:\n%s\nwant\n%s", what, table, got[table], rows)
		}
	}
}

func openSnapshot(t *testing.T, path string) *db.DB {
	t.Helper()
	d, err := db.OpenSnapshot(t.Context(), path, dbtest.Config(t, "sqlite").Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Every row of every table is copied from either engine into a SQLite file, from there into
// PostgreSQL and back, without a change.
func TestSnapshotKeepsEveryRow(t *testing.T) {
	t.Parallel()
	want := rowsOf(t, openFilled(t, "sqlite"))
	for table, rows := range want {
		if rows == "" {
			t.Errorf("no row of %s is tried", table)
		}
	}
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d := openFilled(t, engine)
			path := filepath.Join(t.TempDir(), "one.db")
			if err := d.Snapshot(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			wantSingleFile(t, path)
			one := openSnapshot(t, path)
			wantSameRows(t, "the snapshot", rowsOf(t, one), want)
			wantSingleFile(t, path)

			to, err := db.Open(t.Context(), dbtest.Config(t, "postgres"))
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if empty, err := to.IsEmpty(t.Context()); err != nil || !empty {
				t.Errorf("empty %v, %v", empty, err)
			}
			if err := to.ImportFrom(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if err := to.CheckSchema(t.Context()); err != nil {
				t.Error(err)
			}
			if empty, err := to.IsEmpty(t.Context()); err != nil || empty {
				t.Errorf("empty %v, %v", empty, err)
			}
			if err := to.ImportFrom(t.Context(), one); !errors.Is(err, db.ErrNotEmpty) {
				t.Errorf("filled twice: %v", err)
			}
			path = filepath.Join(t.TempDir(), "two.db")
			if err := to.Snapshot(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			wantSameRows(t, "the snapshot of the filled database", rowsOf(t, openSnapshot(t, path)), want)
		})
	}
}

// wantSingleFile checks that a snapshot is one file that only its owner can read.
func wantSingleFile(t *testing.T, path string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("beside the snapshot there is %v, %v", names, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A table that is left out exists and is empty. The file contains none of its data, not even in
// pages that SQLite has not overwritten yet.
func TestSnapshotLeavesTablesOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, sample+"INSERT INTO csrf_tokens VALUES ('jti2', 'canary-of-a-token', 1700000000000);")
		path := filepath.Join(t.TempDir(), "snapshot.db")
		if err := d.Snapshot(t.Context(), path, "csrf_tokens", "download_tokens"); err != nil {
			t.Fatal(err)
		}
		wantSingleFile(t, path)
		counts := tableCounts(t, openSnapshot(t, path))
		for table, rows := range tableCounts(t, d) {
			if table == "csrf_tokens" || table == "download_tokens" {
				rows = 0
			}
			if counts[table] != rows {
				t.Errorf("%d rows of %s, want %d", counts[table], table, rows)
			}
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("the file still contains the omitted data (%v)", err)
		}
		if err := d.Snapshot(t.Context(), path); !errors.Is(err, os.ErrExist) {
			t.Errorf("over another file: %v", err)
		}
	})
}

// A snapshot shows one moment, whatever is written meanwhile. Here two rows only ever change
// together.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, "INSERT INTO versions VALUES ('a', 0); INSERT INTO settings VALUES ('a', '0');")
		stop, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				err := d.Write(context.Background(), func(tx *db.Tx) error {
					_, err := tx.Exec("UPDATE versions SET value = value + 1 WHERE name = 'a'")
					if err == nil {
						_, err = tx.Exec(
							"UPDATE settings SET value = (SELECT CAST(value AS TEXT) FROM versions WHERE name = 'a') " +
								"WHERE name = 'a'")
					}
					return err
				})
				if err != nil {
					done <- err
					return
				}
			}
		}()
		for i := range 10 {
			path := filepath.Join(t.TempDir(), "snapshot.db")
			if err := d.Snapshot(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			var number, text string
			err := openSnapshot(t, path).Read(t.Context()).QueryRow(
				"SELECT CAST(v.value AS TEXT), s.value FROM versions v, settings s WHERE v.name = 'a' AND s.name = "+
					"'a'").Scan(&number, &text)
			if err != nil || number != text {
				t.Errorf("snapshot %d: %s and %s, %v", i, number, text, err)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// An open snapshot cannot be written to, and opening a file that is not a snapshot is an error.
func TestOpenSnapshotReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := openFilled(t, "sqlite").Snapshot(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := openSnapshot(t, path)
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return tx.BumpConfig() }); err == nil {
		t.Error("a snapshot was written to")
	}
	if _, err := db.OpenSnapshot(t.Context(), path+"-not", nil); err == nil {
		t.Error("a snapshot that is not there was opened")
	}
	if _, err := os.Stat(path + "-not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("and was made: %v", err)
	}
}

// CopyFile copies a database of another package completely, including its log.
func TestCopyFile(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "sqlite")
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	exec(t, d, "CREATE TABLE lines (text TEXT); INSERT INTO lines VALUES ('one'); INSERT INTO lines VALUES ('two');")
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := db.CopyFile(t.Context(), cfg.Path, path); err != nil {
		t.Fatal(err)
	}
	wantSingleFile(t, path)
	if got := queryTexts(t, openSnapshot(t, path), "SELECT text FROM lines"); !slices.Equal(got,
		[]string{"one", "two"}) {
		t.Errorf("copied %q", got)
	}
}

// Both engines have the same tables with the same columns, so that the data can be copied from one
// to the other after any change of the schema.
func TestEnginesHaveTheSameTables(t *testing.T) {
	t.Parallel()
	describe := func(d *db.DB) string {
		lines := slices.DeleteFunc(strings.Split(columns(t, d, tableCounts(t, d)), "\n"),
			func(line string) bool { return !strings.Contains(line, "(") })
		return strings.Join(lines, "\n")
	}
	if lite, pg := describe(dbtest.Open(t, "sqlite")), describe(dbtest.Open(t, "postgres")); lite != pg {
		t.Errorf("SQLite has\n%s\nPostgreSQL\n%s", lite, pg)
	}
}
