package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pgConnector opens the connections of a pool on PostgreSQL.
type pgConnector struct{ driver.Connector }

func newConnector(url string) (driver.Connector, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return pgConnector{stdlib.GetConnector(*cfg)}, nil
}

// Connect implements driver.Connector.
func (c pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pgConn{opened.(*stdlib.Conn)}, nil
}

// pgConn is a connection to PostgreSQL. When the server closes one that is idle, as it does when it
// restarts, this is found out by the next statement. A statement that can be repeated then fails
// with driver.ErrBadConn, and database/sql sends it again: on another idle connection, at last on a
// new one. These are the BEGIN of a transaction and, outside of one, queries, which only read.
// Inside a transaction database/sql repeats nothing: writePostgres does, from the start. COMMIT is
// never repeated, here or there: when its answer is missing the server may have done it.
type pgConn struct{ *stdlib.Conn }

// BeginTx implements driver.ConnBeginTx.
func (c *pgConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	return tx, c.repeatable(ctx, err)
}

// QueryContext implements driver.QueryerContext. It has read the first row when it returns without
// an error, so that no row is given out twice.
func (c *pgConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	return rows, c.repeatable(ctx, err)
}

// ExecContext implements driver.ExecerContext. It refuses statements outside a transaction: when
// their answer is lost the driver takes some of them for not sent (it tells "conn closed", which
// SafeToRetry believes), and database/sql would send them twice.
func (c *pgConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.Conn.Conn().PgConn().TxStatus() == 'I' {
		return nil, errors.New("a statement that changes something needs a transaction")
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	return result, c.repeatable(ctx, err)
}

// repeatable makes driver.ErrBadConn of an error that has closed the connection, unless that
// is the caller's doing.
func (c *pgConn) repeatable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !c.Conn.Conn().IsClosed() || errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
}
