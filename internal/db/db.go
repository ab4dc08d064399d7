// Package db opens the metadata database, SQLite or PostgreSQL, and runs transactions on it. The
// same SQL text serves both.
//
// Write is the only way to change anything. On SQLite there is one writer. Callers that wait for it
// join the next transaction, each with a savepoint, so that many small commits share one sync of
// the log (group commit). On PostgreSQL callers commit in parallel. On both, Write returns nil only
// when the change is durable (SQLite: WAL with synchronous=FULL).
//
// Errors of the drivers become ErrNoRows, ErrUnique, ErrBusy and ErrMalformed. No other package
// depends on a driver.
package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // driver "sqlite"
)

// Config selects the database to open.
type Config struct {
	URL  string // postgres://…, or empty for SQLite
	Path string // the SQLite file, used when URL is empty
	Log  *slog.Logger

	Schema Schema // the schema that Migrate creates; the zero value is that of the metadata
	// Now is the clock of replicas and leases, nil for that of the database, which all replicas
	// share. It is for tests that move the time.
	Now func() time.Time
	// Secondary is for a database that may lose its last seconds in a power cut and must take few
	// resources. SQLite does not sync each commit (it stays consistent), and PostgreSQL gets few
	// connections.
	Secondary bool
	// CacheBytes is the memory of the page caches of all connections to SQLite together, 0 for 24
	// MiB. It has no effect on PostgreSQL.
	CacheBytes int64
	// TrackChanges is for the server, whose caches use DB.Changes. It has no effect on PostgreSQL.
	TrackChanges bool
	// ObserveWrite is called for each DB.Write and calls write, which runs it; for metrics, nil for
	// none.
	ObserveWrite func(write func() error) error
	// ObserveRead is called before each query outside a transaction. The function that it returns
	// is called when the database has begun to answer; for metrics, nil for none.
	ObserveRead func() (answered func())
}

// DB is an open database. All methods are safe for concurrent use.
type DB struct {
	dialect   Dialect
	readPool  *sql.DB
	writePool *sql.DB
	forceSync bool   // PostgreSQL only: each transaction must turn synchronous_commit on
	path      string // SQLite only
	stmts     stmtCache
	writer    *writer  // SQLite only
	changes   *Changes // SQLite only, nil if they are not tracked
	schema    Schema
	now       func() time.Time // nil for the clock of the database
	ended     sync.Map         // names of the steps that are known to be complete
	log       *slog.Logger

	observeWrite func(write func() error) error // nil for none
	observeRead  func() (answered func())       // nil for none
}

// Open connects to the database that cfg names and does not migrate it. It creates a missing SQLite
// file, and gives it the mode 0600.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.URL != "" {
		return openPostgres(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

// openSQLite opens the file cfg.Path with a pool of readers and one writer. It ignores cfg.URL.
func openSQLite(ctx context.Context, cfg Config) (*DB, error) {
	file, err := os.OpenFile(cfg.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	share := cmp.Or(cfg.CacheBytes, defaultCacheBytes) / cacheShares
	writes, err := sql.Open("sqlite", cfg.sqliteDSN(path, writerShares*share))
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	reads, err := sql.Open("sqlite", cfg.sqliteDSN(path, share)+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite: %w", err), writes.Close())
	}
	reads.SetMaxOpenConns(sqliteReaders)
	reads.SetMaxIdleConns(sqliteReaders)
	d := &DB{dialect: sqlite, readPool: reads, writePool: writes, path: path, observeWrite: cfg.ObserveWrite,
		observeRead: cfg.ObserveRead, schema: cfg.Schema.orMetadata(), now: cfg.Now, log: cfg.Log,
		stmts: stmtCache{pool: reads}}
	if cfg.TrackChanges {
		d.changes = &Changes{}
	}
	conn, err := d.openWriterConn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite: %w", err), reads.Close(), writes.Close(), d.closeChanges())
	}
	d.writer = startWriter(d, conn)
	return d, nil
}

const (
	sqliteReaders     = 8
	defaultCacheBytes = 24 << 20
	// The memory of the page caches is divided into shares: one for each reader, and some for the
	// writer, which otherwise writes the pages of a large transaction twice.
	writerShares = 4
	cacheShares  = sqliteReaders + writerShares
)

// sqliteDSN returns the data source name of connections to the file at path, each with a page cache
// of cache bytes. They wait 15 seconds for a lock.
func (c Config) sqliteDSN(path string, cache int64) string {
	durability := "FULL"
	if c.Secondary {
		durability = "NORMAL"
	}
	return fmt.Sprintf("%s?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=cache_size(-%d)"+
		"&_pragma=temp_store(MEMORY)&_pragma=synchronous(%s)", fileURI(path), max(1, cache>>10), durability)
}

// connect opens a connection of SQLite's writing pool. Processes that open a new file at once
// compete to switch it to WAL. SQLite then answers "busy" whatever busy_timeout says, so connect
// tries again for five seconds. Errors: ErrBusy, the context's.
func connect(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	const tries = 100
	for try := 1; ; try++ {
		conn, err := pool.Conn(ctx)
		if err = translate(err); !errors.Is(err, ErrBusy) || try == tries {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close waits for running writes and closes the connections.
func (d *DB) Close() error {
	var err error
	if d.writer != nil {
		err = d.writer.stop()
	}
	d.stmts.close()
	// the writer's pool after that of the readers, since it empties SQLite's log
	return errors.Join(err, d.readPool.Close(), d.writePool.Close(), d.closeChanges())
}

// closeChanges closes the files that track changes, if there are any.
func (d *DB) closeChanges() error {
	if d.changes == nil {
		return nil
	}
	return d.changes.close()
}

// Ping returns an error unless the database answers a query.
func (d *DB) Ping(ctx context.Context) error {
	var one int
	return d.Read(ctx).QueryRow("SELECT 1").Scan(&one)
}

// Pools returns the connection pools by name (read and write), for metrics.
func (d *DB) Pools() map[string]*sql.DB {
	if d.readPool == d.writePool {
		return map[string]*sql.DB{"all": d.readPool}
	}
	return map[string]*sql.DB{"read": d.readPool, "write": d.writePool}
}

// Dialect returns the engine: SQLite or PostgreSQL.
func (d *DB) Dialect() Dialect { return d.dialect }

// Read returns a Querier outside any transaction. Each of its queries sees all that was committed
// before it.
func (d *DB) Read(ctx context.Context) Querier { return reader{ctx, d} }

// MaxTries is how often a decision is repeated because its basis has changed meanwhile, before that
// becomes an error. A user who creates 20 keys at once changes the config version 20 times in a
// moment, and other requests must not fail because of that.
const MaxTries = 50

// Write runs fn in a transaction and returns once the change is durable. If fn returns an error,
// nothing is changed and Write returns that error as it is. fn may run more than once: on
// PostgreSQL after a deadlock, and after the connection broke before COMMIT was sent. fn may share
// a database transaction with other callers of Write. It must not change anything except through
// tx, and passes side effects to tx.AfterCommit. It may return a *RetryError.
func (d *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if d.observeWrite != nil {
		return d.observeWrite(func() error { return d.writeUntilPrepared(ctx, fn) })
	}
	return d.writeUntilPrepared(ctx, fn)
}

// writeUntilPrepared is Write without its observer: it runs the transaction, and after each
// *RetryError its Prepare and the transaction again, MaxTries times at most.
func (d *DB) writeUntilPrepared(ctx context.Context, fn func(tx *Tx) error) error {
	for try := 1; ; try++ {
		err := d.write(ctx, fn)
		var again *RetryError
		if !errors.As(err, &again) || try == MaxTries {
			return err
		}
		if err := again.Prepare(ctx); err != nil {
			return err
		}
	}
}

// RetryError is returned by a function given to Write if it needs something that can only be
// obtained outside the transaction. Write then changes nothing, runs Prepare outside any
// transaction, and runs the function again in a new one. After MaxTries it gives up.
type RetryError struct {
	Prepare func(ctx context.Context) error
}

func (e *RetryError) Error() string { return "the transaction must be retried" }

// write runs fn in one transaction: through SQLite's writer, or on PostgreSQL, where it repeats a
// transaction that failed with errRetry up to five times.
func (d *DB) write(ctx context.Context, fn func(tx *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.writer != nil {
		return d.writer.write(ctx, fn)
	}
	const tries = 6
	for try := 1; ; try++ {
		err := d.writePostgres(ctx, fn)
		if !errors.Is(err, errRetry) || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try*try) * 5 * time.Millisecond):
		}
	}
}

// callRecovering runs fn with tx and turns a panic into an error, so that a bug in one caller does
// not stop the shared writer.
func callRecovering(fn func(tx *Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return fn(tx)
}
