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

// pgConn is a connection to PostgreSQL. When the server closes an idle connection, as it does when
// it restarts, the next statement fails. A statement that can be repeated then fails with
// driver.ErrBadConn, and database/sql sends it again on another connection, and in the end on a new
// one. These statements are the BEGIN of a transaction and, outside a transaction, queries, which
// only read. Inside a transaction database/sql repeats nothing, and writePostgres repeats the whole
// transaction. COMMIT is never repeated: if its answer is missing, the server may have committed.
type pgConn struct{ *stdlib.Conn }

// BeginTx implements driver.ConnBeginTx.
func (c *pgConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	return tx, c.repeatable(ctx, err)
}

// QueryContext implements driver.QueryerContext. It returns after reading the first row, so that a
// repeated query returns no row twice.
func (c *pgConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	return rows, c.repeatable(ctx, err)
}

// ExecContext implements driver.ExecerContext. It refuses statements outside a transaction: if
// their answer is lost, the driver reports some of them as not sent ("conn closed", which
// SafeToRetry believes), and database/sql would send them twice.
func (c *pgConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.Conn.Conn().PgConn().TxStatus() == 'I' {
		return nil, errors.New("a statement that changes something needs a transaction")
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	return result, c.repeatable(ctx, err)
}

// repeatable wraps driver.ErrBadConn around an error that has closed the connection, unless the
// caller's context has ended.
func (c *pgConn) repeatable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !c.Conn.Conn().IsClosed() || errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
}
