// Package dbtest provides empty, migrated databases on each engine for tests.
//
// LARDER_TEST_POSTGRES is the address of a PostgreSQL server on which the tests create databases.
// `make test` starts one (scripts/services does it alone).
package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/db"
)

// Engines lists the engines that Each, Open and Config accept.
var Engines = []string{"sqlite", "postgres"}

// Each runs test once on each engine, in parallel, each with its own migrated database.
func Each(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, Open(t, engine))
		})
	}
}

// Open returns a new migrated database on engine. It is closed at the end of the test.
func Open(t testing.TB, engine string) *db.DB {
	t.Helper()
	cfg := Config(t, engine)
	d, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	if err := d.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return d
}

// Config returns the configuration of a new empty database on engine.
func Config(t testing.TB, engine string) db.Config {
	t.Helper()
	cfg := db.Config{Log: slog.New(slog.DiscardHandler)}
	if engine == "postgres" {
		cfg.URL = URL(t)
	} else {
		cfg.Path = filepath.Join(t.TempDir(), "larder.db")
	}
	return cfg
}

var (
	serverOnce sync.Once
	server     *sql.DB
	serverErr  error
	serial     atomic.Int64
)

// URL creates an empty PostgreSQL database and returns its address. The database is dropped at the
// end of the test.
func URL(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run on SQLite alone")
	}
	base := os.Getenv("LARDER_TEST_POSTGRES")
	if base == "" {
		t.Fatal("LARDER_TEST_POSTGRES is not set: run `make test`, or `eval \"$(scripts/services start)\"` first")
	}
	serverOnce.Do(func() {
		server, serverErr = sql.Open("pgx", base)
		if serverErr == nil {
			server.SetMaxOpenConns(4)
		}
	})
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	name := fmt.Sprintf("larder_%d_%d", os.Getpid(), serial.Add(1))
	if _, err := server.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatalf("make a test database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := server.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + strings.TrimPrefix(name, "/")
	return u.String()
}

// Disconnect closes every connection to the PostgreSQL database at address, like a restart of the
// server. It returns when they are closed.
func Disconnect(t testing.TB, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var ended string // "{17,23}"
	err = server.QueryRow(`
		SELECT COALESCE(ARRAY_AGG(pid) FILTER (WHERE pg_terminate_backend(pid)), '{}')::TEXT
		FROM pg_stat_activity
		WHERE datname = $1`, strings.TrimPrefix(u.Path, "/")).Scan(&ended)
	for left := 1; left > 0 && err == nil; {
		err = server.QueryRow("SELECT COUNT(*) FROM pg_stat_activity WHERE pid = ANY ($1::INTEGER[])", ended).
			Scan(&left)
	}
	if err != nil {
		t.Fatalf("close the connections of a test database: %v", err)
	}
}
