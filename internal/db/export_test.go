package db

import "context"

// MigrateTo is Migrate up to a version, for the tests of dumps.
func (d *DB) MigrateTo(ctx context.Context, version int) error {
	return d.migrateTo(ctx, migrationTo{last: version})
}

// Metadata is the schema of a Config that names none.
var Metadata = metadata

// VersionColumns are those of the table that holds the version of a schema.
const VersionColumns = versionColumns

// Oldest is the oldest version that may run beside the newest of a schema in this binary.
func Oldest(s Schema) (oldest int, err error) {
	all, err := s.migrations()
	for _, m := range all {
		oldest = max(oldest, m.oldest)
	}
	return oldest, err
}

// DDL is the text of all migrations up to version as the dialect runs them.
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

// TidyOver is Tidy for a log over so many bytes.
func (d *DB) TidyOver(ctx context.Context, most int64) error { return d.tidy(ctx, most) }

// BreakConnection closes the connection under tx, on SQLite, as a driver does with a broken one.
func (t *Tx) BreakConnection() {
	on := t.on.(*preparedConn)
	on.discard()
	clear(on.stmts)
}

// ExecAlone runs a statement on the pool of writers, outside any transaction.
func (d *DB) ExecAlone(ctx context.Context, statement string) error {
	_, err := d.writes.ExecContext(ctx, statement)
	return err
}
