package db

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is a set of tables with migrations of its own. Several may lie in one database.
type Schema struct {
	Files fs.FS  // migrations/NNNN_name.sql, from 0001 without a gap
	Table string // holds the version
}

// metadata is the schema of a Config that names none.
var metadata = Schema{Files: migrations, Table: "schema_version"}

func (s Schema) orMetadata() Schema {
	if s.Files == nil {
		return metadata
	}
	return s
}

// migration is one file `NNNN_name.sql`.
type migration struct {
	version int
	text    string
}

// Migrate brings the schema to the version of this binary: everything pending in one transaction, one process at a time. A database that
// a newer binary has migrated is refused and left alone.
func (d *DB) Migrate(ctx context.Context) error {
	return d.migrateTo(ctx, 0)
}

// Current returns an error unless the schema is exactly the one of this binary; nothing is changed.
func (d *DB) Current(ctx context.Context) error {
	all, err := d.schema.migrations()
	if err != nil {
		return err
	}
	var have int
	if err := d.Read(ctx).QueryRow("SELECT version FROM " + d.schema.Table).Scan(&have); err != nil {
		return fmt.Errorf("the database is empty: start `larder serve` once (%w)", err)
	}
	if newest := all[len(all)-1].version; have != newest {
		return fmt.Errorf("the database has schema version %d, this binary %d: start `larder serve` of the newer one once", have, newest)
	}
	return nil
}

// SchemaVersion reads the version of the schema that the database has.
func (d *DB) SchemaVersion(ctx context.Context) (version int, err error) {
	err = d.Read(ctx).QueryRow("SELECT version FROM " + d.schema.Table).Scan(&version)
	return version, err
}

// migrateTo stops after version last, 0 for the newest.
func (d *DB) migrateTo(ctx context.Context, last int) error {
	if d.dialect == sqlite {
		return d.migrateSQLite(ctx, last)
	}
	return d.Write(ctx, func(tx *Tx) error { return migrate(tx, last) })
}

// migrateSQLite migrates on a connection of its own, which sorts in files beside the database: an index of a large table, built in memory as the other
// connections would, takes as much of it as the index is large.
func (d *DB) migrateSQLite(ctx context.Context, last int) error {
	conn, err := connect(ctx, d.writes)
	if err != nil {
		return fmt.Errorf("open the database to migrate it: %w", err)
	}
	defer discard(conn) // rolls back what is not committed
	directory := strings.ReplaceAll(filepath.Dir(d.path), "'", "''")
	for _, text := range []string{"PRAGMA temp_store = FILE", "PRAGMA temp_store_directory = '" + directory + "'", "BEGIN IMMEDIATE"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, translate(err))
		}
	}
	tx := &Tx{ctx: ctx, on: conn, db: d}
	if err := migrate(tx, last); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("COMMIT: %w", translate(err))
	}
	tx.committed()
	return nil
}

func migrate(tx *Tx, last int) error {
	all, err := tx.db.schema.migrations()
	if err != nil {
		return err
	}
	newest := all[len(all)-1].version
	if last == 0 {
		last = newest
	}
	have, err := schemaVersion(tx)
	if err != nil {
		return err
	}
	if have > newest {
		return fmt.Errorf("the database has schema version %d, this binary knows up to %d: start the newer Larder that made it", have, newest)
	}
	if 0 < have && have < last {
		tx.db.log.Info("migrating the database, which takes its time when it is large", "of", tx.db.schema.Table, "from", have, "to", last)
		tx.AfterCommit(func() { tx.db.log.Info("the database is migrated", "of", tx.db.schema.Table, "to", last) })
	}
	for _, m := range all {
		if m.version <= have || m.version > last {
			continue
		}
		if _, err := tx.Exec(tx.db.dialect.ddl(m.text)); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", m.version, err)
		}
		if _, err := tx.Exec("UPDATE "+tx.db.schema.Table+" SET version = $1", m.version); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", m.version, err)
		}
	}
	return nil
}

// lockSchema lets one process at a time change the schema.
func lockSchema(tx *Tx) error {
	if tx.db.dialect == sqlite {
		return nil // one writer
	}
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock(7302000)"); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	return nil
}

// schemaVersion reads the version under the migration lock, making the table that holds it on an empty database.
func schemaVersion(tx *Tx) (int, error) {
	if err := lockSchema(tx); err != nil {
		return 0, err
	}
	table := tx.db.schema.Table
	if _, err := tx.Exec("CREATE TABLE IF NOT EXISTS " + table + " (version BIGINT NOT NULL)"); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	if _, err := tx.Exec("INSERT INTO " + table + " (version) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM " + table + ")"); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	var version int
	if err := tx.QueryRow("SELECT version FROM " + table).Scan(&version); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, nil
}

// migrations returns them in order; their versions run from 1 without a gap.
func (s Schema) migrations() ([]migration, error) {
	files, err := fs.Glob(s.Files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, file := range files { // Glob sorts
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: expected number %d", file, i+1)
		}
		text, err := fs.ReadFile(s.Files, file)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(text)})
	}
	return all, nil
}
