package db

import "context"

// MigrateTo is Migrate up to a version, for the tests of dumps.
func (d *DB) MigrateTo(ctx context.Context, version int) error { return d.migrateTo(ctx, version) }

// Newest is the version of this binary's schema.
func Newest() (int, error) {
	all, err := readMigrations()
	return len(all), err
}

// DDL is the text of all migrations up to version as the dialect runs them.
func (d *DB) DDL(version int) (string, error) {
	all, err := readMigrations()
	if err != nil {
		return "", err
	}
	text := ""
	for _, m := range all[:version] {
		text += d.dialect.ddl(m.text) + "\n"
	}
	return text, nil
}
