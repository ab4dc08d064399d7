package db

import (
	"context"
	"fmt"
	"slices"
)

// The command migrate-database marks a database before it copies it, so the copy has the mark as
// well. Servers and commands refuse a database with a mark. When the copy is complete, the command
// removes the mark of the copy and leaves that of the original, so servers start on the copy only.

// MovedAt returns the time (ms) at which SetMoved marked the database, 0 for no mark. A server
// refuses to start on a database with a mark.
func (d *DB) MovedAt(ctx context.Context) (at int64, err error) {
	q := d.Read(ctx)
	names, err := tables(d.dialect, q)
	if err == nil && slices.Contains(names, "versions") {
		err = q.QueryRow("SELECT COALESCE(MAX(value), 0) FROM versions WHERE name = 'moved'").Scan(&at)
	}
	if err != nil {
		return 0, fmt.Errorf("look whether the database was moved: %w", err)
	}
	return at, nil
}

// SetMoved marks the database as moved to another engine at a time (ms); 0 removes the mark.
func (d *DB) SetMoved(ctx context.Context, at int64) error {
	return d.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec("DELETE FROM versions WHERE name = 'moved'")
		if err == nil && at != 0 {
			_, err = tx.Exec("INSERT INTO versions (name, value) VALUES ('moved', $1)", at)
		}
		if err != nil {
			return fmt.Errorf("mark the database as moved: %w", err)
		}
		return nil
	})
}

// DropTables drops all tables of a PostgreSQL database that bears the given mark of SetMoved, which
// makes it an incomplete copy. Error: ErrNotEmpty for another mark or none, and on SQLite.
func (d *DB) DropTables(ctx context.Context, mark int64) error {
	found, err := d.MovedAt(ctx)
	if err != nil {
		return err
	}
	if d.dialect != postgres || mark == 0 || found != mark {
		return fmt.Errorf("drop the tables of an incomplete copy: %w", ErrNotEmpty)
	}
	return d.Write(ctx, func(tx *Tx) error {
		names, err := tables(d.dialect, tx)
		for _, name := range names {
			if err == nil {
				_, err = tx.Exec("DROP TABLE " + quoteName(name) + " CASCADE")
			}
		}
		if err != nil {
			return fmt.Errorf("drop the tables of an incomplete copy: %w", err)
		}
		return nil
	})
}
