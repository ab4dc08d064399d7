package db

import (
	"context"
	"fmt"
)

// MigrateTo is Migrate up to a version, for the tests of dumps.
func (d *DB) MigrateTo(ctx context.Context, version int) error {
	return d.migrateTo(ctx, migrationTo{last: version})
}

// Metadata is the schema of a Config without one.
var Metadata = metadata

// VersionColumns are the columns of the version table.
const VersionColumns = versionColumns

// Oldest returns the oldest version that a replica must know to run beside the newest version of a
// schema in this binary.
func Oldest(s Schema) (oldest int, err error) {
	all, err := s.migrations()
	for _, m := range all {
		oldest = max(oldest, m.oldest)
	}
	return oldest, err
}

// DDL returns the text of all migrations up to version, translated into the dialect.
func (d *DB) DDL(version int) (string, error) {
	all, err := d.schema.migrations()
	if err != nil {
		return "", err
	}
	text := ""
	for _, m := range all[:version] {
		text += d.dialect.ddl(m.text) + "\n"
	}
	return text, nil
}

// CheckSteps returns an error if a step of the schema violates the rules of Step.
func CheckSteps(s Schema) error {
	all, err := s.migrations()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, step := range s.Steps {
		kinds := 0
		for _, set := range []bool{step.Batch != nil, step.Index != Index{}, step.Drop != Drop{}} {
			if set {
				kinds++
			}
		}
		switch {
		case step.Name == "" || names[step.Name]:
			return fmt.Errorf("the step %q needs a unique name", step.Name)
		case step.After < 1 || step.After > len(all):
			return fmt.Errorf("the step %q comes after schema version %d, which does not exist", step.Name, step.After)
		case kinds != 1:
			return fmt.Errorf("the step %q needs a batch, an index or an index to drop", step.Name)
		case (step.Drop.Index == "") != (step.Drop.While == ""):
			return fmt.Errorf("the step %q needs an index to drop and a query", step.Name)
		}
		names[step.Name] = true
	}
	return nil
}

// ExecOutside runs a PostgreSQL statement that cannot run in a transaction.
func (d *DB) ExecOutside(ctx context.Context, statement string) error {
	conn, err := d.writePool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return alone(ctx, conn, statement)
}

// LimitWALTo is LimitWAL with another size.
func (d *DB) LimitWALTo(ctx context.Context, most int64) error { return d.truncateWAL(ctx, most) }

// BreakConnection closes the connection of tx, on SQLite, as a driver does with a broken one.
func (t *Tx) BreakConnection() {
	on := t.conn.(*preparedConn)
	on.discard()
	clear(on.stmts)
}

// ExecAlone runs a statement on the write pool, outside any transaction.
func (d *DB) ExecAlone(ctx context.Context, statement string) error {
	_, err := d.writePool.ExecContext(ctx, statement)
	return err
}

// OpenFiles returns the number of files that c has open.
func (c *Changes) OpenFiles() int { return len(c.opened) }

// Prepares reports whether the writer of SQLite has prepared the statement query. No write may run.
func (d *DB) Prepares(query string) bool { return d.writer.conn.stmts[query] != nil }
