package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// buildIndex builds an index unless it exists and is valid. On PostgreSQL it replaces what an
// interrupted build has left. Error: errLeaseTaken while the server still builds the index for a
// replica that was killed.
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
		return errLeaseTaken
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

// dropIndex drops an index unless the query drop.While says that something still needs it
// (errWaiting). On PostgreSQL it waits for the transactions that use the index, and blocks no other
// transaction.
func (d *DB) dropIndex(ctx context.Context, drop Drop) error {
	var wait bool
	if err := d.Read(ctx).QueryRow(drop.While).Scan(&wait); err != nil {
		return fmt.Errorf("look for users of the index %s: %w", drop.Index, err)
	}
	if wait {
		return errWaiting
	}
	if d.dialect == sqlite {
		return d.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec("DROP INDEX IF EXISTS " + quoteName(drop.Index))
			return err
		})
	}
	conn, err := d.writePool.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	if err := alone(ctx, conn, "DROP INDEX CONCURRENTLY IF EXISTS "+quoteName(drop.Index)); err != nil {
		return fmt.Errorf("drop the index %s: %w", drop.Index, err)
	}
	return nil
}

// completeSteps completes, within the first migration of a new database, all steps up to schema
// version: the new tables have few rows.
func completeSteps(tx *Tx, version int) error {
	for _, s := range tx.db.schema.Steps {
		var err error
		switch {
		case s.After > version || !s.needed(tx.db.dialect):
		case s.Drop.Index != "":
			_, err = tx.Exec("DROP INDEX IF EXISTS " + quoteName(s.Drop.Index))
		case s.Batch == nil:
			_, err = tx.Exec("CREATE INDEX " + quoteName(s.Index.Name) + " ON " + s.Index.On)
		default:
			err = completeBackfill(tx, s)
		}
		if err != nil {
			return fmt.Errorf("run the step %s: %w", s.Name, err)
		}
	}
	return nil
}

// completeBackfill runs all batches of a step in the transaction tx and records that the step is
// complete.
func completeBackfill(tx *Tx, s Step) error {
	position := ""
	for more := true; more; {
		var err error
		if position, more, err = s.Batch(tx, position); err != nil {
			return err
		}
	}
	now, err := tx.db.clock(tx)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO schema_steps (name, position, held_until, completed_at) VALUES ($1, $2, $3, "+
		"$3)", s.Name,
		position, now)
	return err
}

// alone runs a statement on conn outside any transaction, which CREATE INDEX CONCURRENTLY and its
// like require. It sends the statement once; the caller checks the result in the database.
func alone(ctx context.Context, conn *sql.Conn, statement string) error {
	return conn.Raw(func(driver any) error {
		_, err := driver.(*pgConn).Conn.Conn().Exec(ctx, statement)
		return translate(err)
	})
}
