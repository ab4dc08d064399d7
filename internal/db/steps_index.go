package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// buildIndex builds an index unless it exists and is valid.
func (d *DB) buildIndex(ctx context.Context, index Index) error {
	if d.dialect == sqlite {
		return d.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec("CREATE INDEX IF NOT EXISTS " + quoteName(index.Name) + " ON " + index.On)
			return err
		})
	}
	conn, err := d.writePool.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	var valid, running bool
	err = conn.QueryRowContext(ctx, `
		SELECT i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.datname = current_database() AND p.index_relid = i.indexrelid)
		FROM pg_index i
		WHERE i.indexrelid = to_regclass(CAST($1 AS TEXT))`, index.Name).Scan(&valid, &running)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return translate(err)
	case valid: // built by the replica that had the lease before
		return nil
	case running: // the server still builds it for a replica that was killed
		return errHeld
	default: // an interrupted build has left an invalid index
		if err := alone(ctx, conn, "DROP INDEX CONCURRENTLY IF EXISTS "+quoteName(index.Name)); err != nil {
			return fmt.Errorf("drop what is left of the index %s: %w", index.Name, err)
		}
	}
	if err := alone(ctx, conn, "CREATE INDEX CONCURRENTLY "+quoteName(index.Name)+" ON "+index.On); err != nil {
		return fmt.Errorf("build the index %s: %w", index.Name, err)
	}
	return nil
}

// alone runs a statement outside any transaction, which some PostgreSQL statements require. It
// sends the statement once; the caller checks the result in the database.
func alone(ctx context.Context, conn *sql.Conn, statement string) error {
	return conn.Raw(func(driver any) error {
		_, err := driver.(*pgConn).Conn.Conn().Exec(ctx, statement)
		return translate(err)
	})
}
