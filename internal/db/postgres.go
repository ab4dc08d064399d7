package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Reads have connections of their own, so that writes which wait for each other, for example for
// the deletion of a large folder, delay no download.
const (
	readConns      = 8
	writeConns     = 16
	secondaryConns = 2 // of each kind, for a Config with Secondary
)

// openPostgres opens the pools of connections to cfg.URL. It fails when the server does not answer.
func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
	d := &DB{dialect: postgres, schema: cfg.Schema.orMetadata(), now: cfg.Now, log: cfg.Log,
		observeWrite: cfg.ObserveWrite, observeRead: cfg.ObserveRead}
	reads, writes := readConns, writeConns
	if cfg.Secondary {
		reads, writes = secondaryConns, secondaryConns
	}
	var err error
	if d.readPool, err = postgresPool(cfg.URL, reads); err != nil {
		return nil, err
	}
	if d.writePool, err = postgresPool(cfg.URL, writes); err != nil {
		return nil, errors.Join(err, d.readPool.Close())
	}
	if err := d.readDurability(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to PostgreSQL: %w", err), d.Close())
	}
	return d, nil
}

// postgresPool returns a pool of up to size connections to url. It does not connect yet.
func postgresPool(url string, size int) (*sql.DB, error) {
	connections, err := newConnector(url)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	pool := sql.OpenDB(connections)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}

// readDurability finds out whether the server acknowledges commits before they are durable. If so,
// each transaction turns synchronous_commit on for itself, which also works behind a connection
// pooler. A server with fsync off cannot be corrected from here.
func (d *DB) readDurability(ctx context.Context) error {
	var commits, fsync string
	if err := d.writePool.QueryRowContext(ctx,
		"SELECT current_setting('synchronous_commit'), current_setting('fsync')").Scan(&commits, &fsync); err != nil {
		return err
	}
	if d.forceSync = commits == "off"; d.forceSync {
		d.log.Warn("PostgreSQL is set to synchronous_commit = off; Larder's transactions turn it on for themselves")
	}
	if fsync == "off" {
		d.log.Warn("PostgreSQL is set to fsync = off: a power cut can lose or destroy everything in it")
	}
	return nil
}

// writePostgres makes one attempt at a transaction of fn. It sets the isolation level READ
// COMMITTED, whatever the default of the server is: fn relies on statements that see everything
// committed before each of them, especially after waiting for a lock. Error: errRetry when the
// attempt had no effect and may be repeated, otherwise that of fn or COMMIT.
func (d *DB) writePostgres(ctx context.Context, fn func(tx *Tx) error) (err error) {
	conn, err := d.writePool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return translate(err)
	}
	tx := &Tx{ctx: ctx, conn: conn, db: d}
	if d.forceSync {
		_, err = tx.Exec("SET LOCAL synchronous_commit = on")
	}
	if err == nil {
		err = callRecovering(fn, tx)
	}
	if err != nil {
		rollback := conn.Rollback()
		if errors.Is(err, driver.ErrBadConn) { // COMMIT was not sent, so the server has rolled back
			return fmt.Errorf("%w: %w", errRetry, err)
		}
		if rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			d.log.Warn("roll back", "error", rollback)
		}
		return err
	}
	if err := conn.Commit(); err != nil {
		return translate(err)
	}
	tx.committed()
	return nil
}
