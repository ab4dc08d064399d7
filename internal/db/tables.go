package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrNotEmpty is the error of ImportFrom for a database that contains tables.
var ErrNotEmpty = errors.New("the database is not empty: it has tables")

// IsEmpty reports whether the database has no table.
func (d *DB) IsEmpty(ctx context.Context) (bool, error) {
	names, err := tables(d.dialect, d.Read(ctx))
	if err != nil {
		return false, fmt.Errorf("look for tables: %w", err)
	}
	return len(names) == 0, nil
}

// ImportFrom creates the schema in a PostgreSQL database that has none of its tables and imports
// the rows of from, in one transaction. from is a SQLite database of the same schema that is not
// changed meanwhile. Error: ErrNotEmpty.
func (d *DB) ImportFrom(ctx context.Context, from *DB) error {
	if d.dialect != postgres || from.dialect != sqlite {
		return errors.New("only a PostgreSQL database is filled, from SQLite")
	}
	conn, err := d.writePool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("fill the database: %w", translate(err))
	}
	defer conn.Close()
	to, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return fmt.Errorf("fill the database: %w", translate(err))
	}
	tx := &Tx{ctx: ctx, conn: to, db: d}
	if d.forceSync {
		_, err = tx.Exec("SET LOCAL synchronous_commit = on")
	}
	if err == nil {
		err = d.importFrom(ctx, conn, tx, from)
	}
	if err != nil {
		_ = to.Rollback() // the connection may be broken
		return fmt.Errorf("fill the database: %w", err)
	}
	if err := to.Commit(); err != nil {
		return fmt.Errorf("fill the database: %w", translate(err))
	}
	return nil
}

// importFrom does the work of ImportFrom in the transaction tx on the connection conn. Error:
// ErrNotEmpty.
func (d *DB) importFrom(ctx context.Context, conn *sql.Conn, tx *Tx, from *DB) error {
	if err := lockSchema(tx); err != nil {
		return err
	}
	names, err := tables(d.dialect, tx)
	if err != nil {
		return err
	}
	own, err := tables(from.dialect, from.Read(ctx))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(own, func(name string) bool { return slices.Contains(names, name) }) {
		return ErrNotEmpty
	}
	if err := migrate(tx, migrationTo{}); err != nil {
		return err
	}
	return copyTables(from.Read(ctx), tx, nil, func(table string, columns []string, rows *sql.Rows) error {
		boolColumns, err := booleanColumns(tx, table)
		if err != nil {
			return err
		}
		values, left := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			left[i] = &values[i]
		}
		next := func() ([]any, error) {
			if !rows.Next() {
				return nil, rows.Err()
			}
			if err := rows.Scan(left...); err != nil {
				return nil, err
			}
			for _, i := range boolColumns {
				if number, ok := values[i].(int64); ok {
					values[i] = number != 0
				}
			}
			return values, nil
		}
		err = conn.Raw(func(driver any) error {
			_, err := driver.(*pgConn).Conn.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(next))
			return err
		})
		if err != nil {
			return err
		}
		return continueNumbers(tx, table)
	})
}

// continueNumbers makes PostgreSQL number the next new row of a table after the imported rows. It
// does nothing for a table whose rows the database does not number.
func continueNumbers(tx *Tx, table string) error {
	var column string
	err := tx.QueryRow(`SELECT attname FROM pg_attribute
		WHERE attrelid = to_regclass(quote_ident($1)) AND attidentity <> '' AND NOT attisdropped`, table).Scan(&column)
	if errors.Is(err, ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec("SELECT setval(pg_get_serial_sequence(quote_ident($1), $2), (SELECT COALESCE(MAX("+
			quoteName(column)+"), 0) + 1 FROM "+quoteName(table)+"), false)", table, column)
	}
	return err
}

// booleanColumns returns the indexes, from 0, of the BOOLEAN columns of a PostgreSQL table, for
// which SQLite has numbers.
func booleanColumns(q Querier, table string) (columns []int, err error) {
	rows, err := q.Query("SELECT * FROM " + quoteName(table) + " LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("look at the table %s: %w", table, err)
	}
	defer rows.Close()
	kinds, err := rows.ColumnTypes()
	for i, kind := range kinds {
		if kind.DatabaseTypeName() == "BOOL" {
			columns = append(columns, i)
		}
	}
	return columns, err
}

// copyTables copies all tables from one engine to the other. It empties each table of to, and calls
// put with the table's columns and its rows in from; put inserts them. It copies no rows of the
// tables in without. Both have the same tables with the same columns, and one of them is on SQLite,
// whose catalogue gives the list, so that none can be forgotten: a PostgreSQL database can have
// others beside them.
func copyTables(from Querier, to *Tx, without []string,
	put func(table string, columns []string, rows *sql.Rows) error) error {
	source, target := postgres, to.db.dialect
	if target == postgres {
		source = sqlite
	}
	here, err := tables(source, from)
	if err != nil {
		return err
	}
	there, err := tables(target, to)
	if err != nil {
		return err
	}
	names, others := there, here
	if target == postgres {
		names, others = here, there
	}
	for _, table := range names {
		if !slices.Contains(others, table) {
			return fmt.Errorf("the table %s is missing on PostgreSQL", table)
		}
		columns, err := columnsOf(to, table)
		if err != nil {
			return err
		}
		if _, err := to.Exec("DELETE FROM " + quoteName(table)); err != nil {
			return fmt.Errorf("empty the table %s: %w", table, err)
		}
		if slices.Contains(without, table) {
			continue
		}
		rows, err := from.Query("SELECT " + columnList(columns) + " FROM " + quoteName(table))
		if err != nil {
			return fmt.Errorf("read the table %s: %w", table, translate(err))
		}
		err = put(table, columns, rows)
		if err = errors.Join(err, rows.Close()); err != nil {
			return fmt.Errorf("copy the table %s: %w", table, translate(err))
		}
	}
	return nil
}

// eachRow calls do with the values of each row, in the types of the driver. columns is their
// number. do must not keep the slice, which is used again.
func eachRow(rows *sql.Rows, columns int, do func(values []any) error) error {
	values, left := make([]any, columns), make([]any, columns)
	for i := range values {
		left[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(left...); err != nil {
			return err
		}
		if err := do(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// tables returns the names of all tables of the database, sorted, without those of the engine
// itself.
func tables(dialect Dialect, q Querier) ([]string, error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if dialect == postgres {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
	}
	rows, err := q.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, rows.Err()
}

// columnsOf returns the names of a table's columns in their order.
func columnsOf(q Querier, table string) ([]string, error) {
	rows, err := q.Query("SELECT * FROM " + quoteName(table) + " LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("look at the table %s: %w", table, err)
	}
	defer rows.Close()
	return rows.Columns()
}

// hasColumn reports whether a table has a column. It asks the catalogue: a prepared SELECT * would
// have a plan that no longer fits once a column is added.
func hasColumn(tx *Tx, table, column string) (there bool, err error) {
	query := "SELECT COUNT(*) > 0 FROM pragma_table_info($1) WHERE name = $2"
	if tx.db.dialect == postgres {
		query = "SELECT COUNT(*) > 0 FROM pg_attribute WHERE attrelid = to_regclass(quote_ident($1)) AND " +
			"attname = $2 AND NOT attisdropped"
	}
	err = tx.QueryRow(query, table, column).Scan(&there)
	return there, err
}

// quoteName quotes a name of the schema for SQL.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columnList returns the quoted names, separated by commas, for SQL.
func columnList(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoteName(name)
	}
	return strings.Join(all, ", ")
}
