package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is a set of tables with its own migrations. One database may contain several schemas.
type Schema struct {
	Files fs.FS  // migrations/NNNN_name.sql, from 0001 without a gap
	Table string // contains the version
	// Replicas is the column of the table replicas that holds the version of this schema which a
	// process knows; "" for a schema of tests, which does not depend on other processes.
	Replicas string
	Steps    []Step // run after the migrations, in this order; only the metadata may have steps
}

// metadata is the schema of a Config without one.
var metadata = Schema{Files: migrations, Table: "schema_version", Replicas: "schema", Steps: steps}

// orMetadata returns s, or the schema of the metadata if s is the zero value.
func (s Schema) orMetadata() Schema {
	if s.Files == nil {
		return metadata
	}
	return s
}

// migration is one file `NNNN_name.sql`. Its first line names the oldest schema version that a
// replica must know to work on this one, with the reason: `-- oldest: 0012: only tables are added`.
type migration struct {
	version int
	oldest  int // at most version
	text    string
}

// oldestLine matches the first line of a migration.
var oldestLine = regexp.MustCompile(`^-- oldest: ([0-9]{4}): \S.*\n`)

// Migrate migrates the schema to the version of this binary: all pending migrations in one
// transaction, one process at a time. It refuses, without a change, while a replica is running that
// cannot work on the new schema (ErrOlderReplica), and when the database's schema is too new for
// this binary (ErrTooOld).
func (d *DB) Migrate(ctx context.Context) error {
	return d.migrateTo(ctx, migrationTo{})
}

// migrationTo is the target of a migration, and the process that it is for.
type migrationTo struct {
	last    int      // version, 0 for the newest
	replica *Replica // the replica whose row is written, nil for none
}

// CheckSchema returns an error with advice for the operator unless the schema has exactly the
// version of this binary. It changes nothing.
func (d *DB) CheckSchema(ctx context.Context) error {
	all, err := d.schema.migrations()
	if err != nil {
		return err
	}
	var have int
	if err := d.Read(ctx).QueryRow("SELECT version FROM " + d.schema.Table).Scan(&have); err != nil {
		return fmt.Errorf("the database is empty: start `larder serve` once (%w)", err)
	}
	if newest := all[len(all)-1].version; have != newest {
		return fmt.Errorf(
			"the database has schema version %d, this binary %d: start `larder serve` of the newer one once", have,
			newest)
	}
	return nil
}

// SchemaVersion returns the version of the schema that the database has, which may differ from that
// of this binary.
func (d *DB) SchemaVersion(ctx context.Context) (version int, err error) {
	err = d.Read(ctx).QueryRow("SELECT version FROM " + d.schema.Table).Scan(&version)
	return version, err
}

// migrateTo migrates the database as to says: by migrateSQLite, or in a Write on PostgreSQL.
func (d *DB) migrateTo(ctx context.Context, to migrationTo) error {
	if d.dialect == sqlite {
		return d.migrateSQLite(ctx, to)
	}
	return d.Write(ctx, func(tx *Tx) error { return migrate(tx, to) })
}

// migrateSQLite migrates on a connection of its own, which sorts in files beside the database. The
// other connections sort in memory: building an index there would take as much memory as the index
// is large.
func (d *DB) migrateSQLite(ctx context.Context, to migrationTo) error {
	conn, err := connect(ctx, d.writePool)
	if err != nil {
		return fmt.Errorf("open the database to migrate it: %w", err)
	}
	defer discard(conn) // rolls back what is not committed
	directory := strings.ReplaceAll(filepath.Dir(d.path), "'", "''")
	for _, text := range []string{"PRAGMA temp_store = FILE", "PRAGMA temp_store_directory = '" + directory + "'",
		"BEGIN IMMEDIATE"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, translate(err))
		}
	}
	tx := &Tx{ctx: ctx, conn: conn, db: d}
	if err := migrate(tx, to); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("COMMIT: %w", translate(err))
	}
	tx.committed()
	return nil
}

// migrate brings the schema to the version of to, inside a transaction: it applies the missing
// migrations, completes the steps of a new database, and writes the row of to.replica. Errors:
// ErrOlderReplica, ErrTooOld.
func migrate(tx *Tx, to migrationTo) error {
	all, err := tx.db.schema.migrations()
	if err != nil {
		return err
	}
	newest := all[len(all)-1].version
	if to.last == 0 {
		to.last = newest
	}
	have, oldest, err := schemaVersion(tx)
	if err != nil {
		return err
	}
	if to.replica != nil && to.replica.Alone {
		if err := dropReplicas(tx); err != nil {
			return err
		}
	}
	if have > newest {
		err = tolerated(tx, have, oldest, newest)
	} else {
		err = apply(tx, all[:to.last], have, oldest)
	}
	if err == nil && have == 0 {
		err = completeSteps(tx, to.last)
	}
	if err == nil && to.replica != nil {
		err = insertReplica(tx, *to.replica, newest)
	}
	return err
}

// ErrTooOld means that this binary is too old to work on the database's schema.
var ErrTooOld = errors.New("this Larder is too old for the database")

// tolerated returns ErrTooOld unless this binary may work on a newer schema. newest is the version
// that this binary knows, have that of the database, oldest the oldest version that a replica must
// know to work on have, 0 if it is not stored.
func tolerated(tx *Tx, have, oldest, newest int) error {
	if oldest == 0 || newest < oldest {
		return fmt.Errorf(
			"%w: the database has schema version %d, which needs a Larder that knows version %d, and this one knows "+
				"up to %d: start a newer Larder",
			ErrTooOld, have, max(oldest, newest+1), newest)
	}
	tx.AfterCommit(func() {
		tx.db.log.Info("the database is newer than this binary, and this binary may work on it",
			"of", tx.db.schema.Table, "version", have, "known", newest, "oldest", oldest)
	})
	return nil
}

// apply runs those of the migrations all that are newer than version have. It stores the new
// version and the oldest version that a replica must know, at least oldest. Error: ErrOlderReplica
// while a running replica knows too little.
func apply(tx *Tx, all []migration, have, oldest int) error {
	last := len(all)
	for _, m := range all {
		oldest = max(oldest, m.oldest)
	}
	if 0 < have && have < last {
		if err := replicasAllow(tx, oldest, last); err != nil {
			return err
		}
		tx.db.log.Info("migrating the database; this can take long if the database is large", "of", tx.db.schema.Table,
			"from", have, "to", last)
		tx.AfterCommit(func() { tx.db.log.Info("the database is migrated", "of", tx.db.schema.Table, "to", last) })
	}
	for _, m := range all[min(have, last):] {
		if _, err := tx.Exec(tx.db.dialect.ddl(m.text)); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", m.version, err)
		}
	}
	if _, err := tx.Exec("UPDATE "+tx.db.schema.Table+
		" SET version = $1, oldest = $2 WHERE version <> $1 OR oldest <> $2", max(have, last), oldest); err != nil {
		return fmt.Errorf("migrate to schema version %d: %w", last, err)
	}
	return nil
}

// lockSchema takes, until the transaction ends, the lock that lets only one process at a time
// change the schema or join as a replica.
func lockSchema(tx *Tx) error {
	if tx.db.dialect == sqlite {
		return nil // one writer
	}
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock(7302000)"); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	return nil
}

// schemaVersion reads, under the migration lock, the version of the schema and the oldest version
// that a replica must know. It creates the version table in an empty database. oldest is 0 if no
// binary has stored it yet.
func schemaVersion(tx *Tx) (version, oldest int, err error) {
	if err := lockSchema(tx); err != nil {
		return 0, 0, err
	}
	table := tx.db.schema.Table
	if _, err := tx.Exec("CREATE TABLE IF NOT EXISTS " + table + " (" + versionColumns + ")"); err != nil {
		return 0, 0, fmt.Errorf("read the schema version: %w", err)
	}
	stated, err := hasColumn(tx, table, "oldest")
	if err != nil {
		return 0, 0, fmt.Errorf("read the schema version: %w", err)
	}
	if !stated { // created before that column existed
		if _, err := tx.Exec("ALTER TABLE " + table + " ADD COLUMN oldest BIGINT NOT NULL DEFAULT 0"); err != nil {
			return 0, 0, fmt.Errorf("read the schema version: %w", err)
		}
	}
	if _, err := tx.Exec("INSERT INTO " + table + " (version, oldest) SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM " +
		table + ")"); err != nil {
		return 0, 0, fmt.Errorf("read the schema version: %w", err)
	}
	if err := tx.QueryRow("SELECT version, oldest FROM "+table).Scan(&version, &oldest); err != nil {
		return 0, 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, oldest, nil
}

// versionColumns are the columns of the version table.
const versionColumns = "version BIGINT NOT NULL, oldest BIGINT NOT NULL DEFAULT 0"

// Newest returns the newest version of the schema that this binary knows.
func (s Schema) Newest() (int, error) {
	all, err := s.orMetadata().migrations()
	return len(all), err
}

// migrations reads the migrations in order; their versions run from 1 without a gap. An error means
// that this binary was built with a wrong file.
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
		stated := oldestLine.FindSubmatch(text)
		if stated == nil {
			return nil, fmt.Errorf("migration %s: expected `-- oldest: NNNN: why` as its first line", file)
		}
		oldest, err := strconv.Atoi(string(stated[1]))
		if err != nil || oldest < 1 || oldest > version {
			return nil, fmt.Errorf("migration %s: expected an oldest schema from 0001 to its own, got %s", file,
				stated[1])
		}
		all = append(all, migration{version, oldest, string(text)})
	}
	return all, nil
}
