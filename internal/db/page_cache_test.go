package db_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// The page caches of the writer and of the eight readers take what the configuration allows.
func TestPageCachesTakeAllowedMemory(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[int64]int64{0: 24 << 10, 12 << 20: 12 << 10, 1 << 20: 8*85 + 341, 1: 9} {
		path := filepath.Join(t.TempDir(), "larder.db")
		dbtest.WriteMigrated(t, path)
		d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler), CacheBytes: allowed})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var sizes []int64 // in KiB, as SQLite writes them: negative
		read := func(q db.Querier) *sql.Rows {
			rows, err := q.Query("PRAGMA cache_size")
			if err != nil {
				t.Fatal(err)
			}
			var size int64
			if rows.Next(); rows.Scan(&size) != nil {
				t.Error("the size cannot be read")
			}
			sizes = append(sizes, size)
			return rows
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error { return read(tx).Close() }); err != nil {
			t.Fatal(err)
		}
		for range 8 { // the rows stay open, so that each reader is another connection
			defer read(d.Read(t.Context())).Close()
		}
		sum := int64(0)
		for _, size := range sizes {
			sum -= size
		}
		if sum != want {
			t.Errorf("%d bytes are allowed: the caches take %d KiB, %v, want %d", allowed, sum, sizes, want)
		}
	}
}
