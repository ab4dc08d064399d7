// Package dbtest provides empty, migrated databases on each engine for tests.
//
// LARDER_TEST_POSTGRES is the address of a PostgreSQL server on which the tests create databases.
// `make test` starts one (scripts/services does it alone).
package dbtest

import (
	"context"
	"database/sql"
	"errors"
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

// Each runs test once on each of Engines, in parallel subtests, each with its own migrated
// database.
func Each(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, Open(t, engine))
		})
	}
}

// Open returns a new migrated database on engine, one of Engines. It is closed at the end of the
// test.
func Open(t testing.TB, engine string) *db.DB {
	t.Helper()
	cfg := db.Config{Log: slog.New(slog.DiscardHandler), TrackChanges: true}
	if engine == "postgres" {
		cfg.URL = MigratedURL(t)
	} else {
		cfg.Path = filepath.Join(t.TempDir(), "larder.db")
		WriteMigrated(t, cfg.Path)
	}
	d, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return d
}

// WriteMigrated writes a migrated SQLite database to a new file at path. It is a copy of one that
// is migrated once in this process, which saves most of the time.
func WriteMigrated(t testing.TB, path string) {
	t.Helper()
	content, err := migratedFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

var migratedFile = sync.OnceValues(func() ([]byte, error) {
	directory, err := os.MkdirTemp("", "larder-migrated")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "larder.db")
	if err := migrate(db.Config{Path: path}); err != nil {
		return nil, err
	}
	return os.ReadFile(path) // whole: closing the database has emptied its log into it
})

// MigratedURL creates a migrated PostgreSQL database and returns its address. It is a copy of one
// that is migrated once in this process, and dropped at the end of the test.
func MigratedURL(t testing.TB) string {
	t.Helper()
	connect(t)
	if err := migratedTemplate(); err != nil {
		t.Fatal(err)
	}
	return newDatabase(t, " TEMPLATE "+templateName()+copyStrategy())
}

// copyStrategy chooses the faster way to copy a database where the server knows several (PostgreSQL
// 15).
var copyStrategy = sync.OnceValue(func() string {
	var version int
	if err := server.QueryRow("SELECT current_setting('server_version_num')::INTEGER").Scan(&version); err != nil ||
		version < 150000 {
		return ""
	}
	return " STRATEGY file_copy"
})

// migratedTemplate creates the database that others are copies of. It stays until the server ends.
var migratedTemplate = sync.OnceValue(func() error {
	if _, err := server.Exec("CREATE DATABASE " + templateName()); err != nil {
		return fmt.Errorf("create the template of the test databases: %w", err)
	}
	address, err := addressOf(templateName())
	if err != nil {
		return err
	}
	return migrate(db.Config{URL: address})
})

// templateName returns the name of the database that migratedTemplate creates, different in each
// process.
func templateName() string { return fmt.Sprintf("larder_%d_template", os.Getpid()) }

// migrate migrates the database that cfg names, and closes it.
func migrate(cfg db.Config) (err error) {
	cfg.Log = slog.New(slog.DiscardHandler)
	d, err := db.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Migrate(context.Background())
}

// Config returns the configuration of a new empty database on engine, one of Engines, without
// tables.
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
	connect(t)
	return newDatabase(t, "")
}

// connect opens the connections to the server of LARDER_TEST_POSTGRES, once in the process. It
// skips a short test, and fails the test when there is no such server.
func connect(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run on SQLite alone")
	}
	if base() == "" {
		t.Fatal("LARDER_TEST_POSTGRES is not set: run `make test`, or `eval \"$(scripts/services start)\"` first")
	}
	serverOnce.Do(func() {
		server, serverErr = sql.Open("pgx", base())
		if serverErr == nil {
			server.SetMaxOpenConns(4)
		}
	})
	if serverErr != nil {
		t.Fatal(serverErr)
	}
}

// base returns the address of the PostgreSQL server for tests, "" for none.
func base() string { return os.Getenv("LARDER_TEST_POSTGRES") }

// addressOf returns the address of the database with that name on the server for tests.
func addressOf(name string) (string, error) {
	u, err := url.Parse(base())
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// newDatabase creates a database with a name of its own and returns its address. more is the rest
// of CREATE DATABASE, "" or with a leading space. The database is dropped at the end of the test.
func newDatabase(t testing.TB, more string) string {
	t.Helper()
	name := fmt.Sprintf("larder_%d_%d", os.Getpid(), serial.Add(1))
	if _, err := server.Exec("CREATE DATABASE " + name + more); err != nil {
		t.Fatalf("make a test database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := server.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	address, err := addressOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return address
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
