package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"larder/internal/osfile"
)

// Snapshot writes a consistent copy of the database into a new SQLite file at path, with this
// binary's schema and the mode 0600, and returns when it is durable. The tables named in without
// are left empty. Reads and writes continue meanwhile. It fails when path exists.
func (d *DB) Snapshot(ctx context.Context, path string, without ...string) error {
	var err error
	if d.dialect == sqlite {
		err = snapshotFile(ctx, d.writePool, path, without)
	} else {
		err = d.exportTo(ctx, path, without)
	}
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		return fmt.Errorf("take a snapshot of the database: %w", err)
	}
	return nil
}

// CopyFile copies the SQLite database file from to a new file to, consistently and durably, even if
// another process has it open.
func CopyFile(ctx context.Context, from, to string) error {
	pool, err := sql.Open("sqlite", fileURI(from)+"?_pragma=busy_timeout(15000)")
	if err == nil {
		err = errors.Join(snapshotFile(ctx, pool, to, nil), pool.Close())
	}
	if err == nil {
		err = syncFile(to)
	}
	if err != nil {
		return fmt.Errorf("copy the database %s: %w", from, err)
	}
	return nil
}

// snapshotFile is Snapshot for a SQLite database with the connections of pool, without the sync. It
// uses a connection of its own, since it takes as long as reading the whole database.
func snapshotFile(ctx context.Context, pool *sql.DB, path string, without []string) error {
	if err := createPrivateFile(path); err != nil { // SQLite would create it readable for others
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer discard(conn)
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return translate(err)
	}
	if len(without) == 0 {
		return nil
	}
	// secure_delete overwrites the deleted rows.
	copied, err := sql.Open("sqlite", fileURI(path)+"?_pragma=journal_mode(OFF)&_pragma=secure_delete(ON)")
	if err != nil {
		return err
	}
	for _, table := range without {
		if _, err := copied.ExecContext(ctx, "DELETE FROM "+quoteName(table)); err != nil {
			return errors.Join(translate(err), copied.Close())
		}
	}
	return copied.Close()
}

// exportTo copies the database, which is on PostgreSQL, into a new SQLite file at path, as one
// transaction sees it. The tables named in without are empty there. It fails when the file exists.
// After an error an incomplete file may remain.
func (d *DB) exportTo(ctx context.Context, path string, without []string) (err error) {
	if err := createPrivateFile(path); err != nil {
		return err
	}
	to, err := openSQLite(ctx, Config{Path: path, Log: d.log, Schema: d.schema})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }() // closing leaves a single file without a log beside it
	if err := to.Migrate(ctx); err != nil {
		return err
	}
	at, err := d.readPool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer func() { _ = at.Rollback() }() // it has changed nothing
	from := &Tx{ctx: ctx, conn: at, db: d}
	return to.Write(ctx, func(tx *Tx) error { // no other caller uses this file
		return copyTables(from, tx, without, func(table string, columns []string, rows *sql.Rows) error {
			insert := "INSERT INTO " + quoteName(table) + " (" + columnList(columns) + ") VALUES (" +
				strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
			return eachRow(rows, len(columns), func(values []any) error {
				_, err := tx.Exec(insert, values...)
				return err
			})
		})
	})
}

// OpenSnapshot opens a file that Snapshot wrote, read-only. It does not create any file beside it.
func OpenSnapshot(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	pool, err := sql.Open("sqlite", fileURI(path)+"?mode=ro&immutable=1&_pragma=query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("open a snapshot: %w", err)
	}
	pool.SetMaxOpenConns(4)
	d := &DB{dialect: sqlite, schema: metadata, readPool: pool, writePool: pool, path: path, log: log,
		stmts: stmtCache{pool: pool}}
	if err := d.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open a snapshot: %w", err), d.Close())
	}
	return d, nil
}

// SchemaVersion returns the newest version of the schema that this binary knows.
func SchemaVersion() (int, error) { return metadata.Newest() }

// fileURI returns the URI of a file in the form that SQLite's driver expects.
func fileURI(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// createPrivateFile creates an empty file with mode 0600. It fails when path exists.
func createPrivateFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// syncFile makes a file and its name in the directory durable.
func syncFile(path string) error {
	for _, name := range []string{path, filepath.Dir(path)} {
		if err := osfile.Sync(name); err != nil {
			return err
		}
	}
	return nil
}
