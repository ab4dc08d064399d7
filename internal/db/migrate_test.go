package db_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// versions returns a schema of these migrations, beside each of which every other version may run.
func versions(texts ...string) db.Schema {
	files := fstest.MapFS{}
	for i, text := range texts {
		files["migrations/000"+string(rune('1'+i))+
			"_step.sql"] = &fstest.MapFile{Data: []byte("-- oldest: 0001: a test\n" + text)}
	}
	return db.Schema{Files: files, Table: "steps"}
}

// An upgrade is logged, since it may take long. A first start and a start without an upgrade are
// not.
func TestMigratingIsLogged(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := dbtest.Config(t, engine)
			const (
				first  = "CREATE TABLE a (n BIGINT)"
				second = "ALTER TABLE a ADD COLUMN m BIGINT"
				third  = "ALTER TABLE nothing ADD COLUMN m BIGINT"
			)
			for i, step := range []struct {
				texts []string
				lines int
				fails bool
			}{
				{[]string{first}, 0, false},
				{[]string{first}, 0, false},
				{[]string{first, second, third}, 1, true},
				{[]string{first, second}, 2, false},
				{[]string{first, second}, 0, false},
			} {
				var log bytes.Buffer
				cfg.Schema, cfg.Log = versions(step.texts...), slog.New(slog.NewTextHandler(&log, nil))
				d, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Migrate(t.Context()); (err != nil) != step.fails {
					t.Errorf("start %d: %v", i, err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				if n := strings.Count(log.String(), "level=INFO"); n != step.lines {
					t.Errorf("start %d logs %q", i, log.String())
				}
			}
		})
	}
}

// Building an index of a large table does not sort in memory.
func TestMigratingSortsInFiles(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "sqlite")
	cfg.Schema = versions("CREATE TABLE a AS SELECT temp_store FROM pragma_temp_store")
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var at, after int
	if err := d.Write(t.Context(), func(tx *db.Tx) error {
		return tx.QueryRow("SELECT a.temp_store, p.temp_store FROM a, pragma_temp_store p").Scan(&at, &after)
	}); err != nil {
		t.Fatal(err)
	}
	if at != 1 || after != 2 { // 1 means files, 2 memory
		t.Errorf("temporary store %d, afterwards %d", at, after)
	}
}
