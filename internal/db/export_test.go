package db

import "context"

// MigrateTo is Migrate up to a version, for the tests of dumps.
func (d *DB) MigrateTo(ctx context.Context, version int) error { return d.migrateTo(ctx, version) }

// Metadata is the schema of a Config that names none.
var Metadata = metadata

// Newest is the version of a schema in this binary.
func Newest(s Schema) (int, error) {
	all, err := s.migrations()
	return len(all), err
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
