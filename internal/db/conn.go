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

// newConnector returns what opens connections to the PostgreSQL database at url. Error: url cannot
// be parsed.
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

// repeatable returns err, wrapped in driver.ErrBadConn when the failure has closed the connection
// and the caller's context has not ended: database/sql then repeats the statement on another
// connection.
func (c *pgConn) repeatable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !c.Conn.Conn().IsClosed() || errors.Is(err, driver.ErrBadConn) {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
}

// pgQuery is a query for one row outside a transaction, on PostgreSQL.
type pgQuery struct {
	db   *DB
	ctx  context.Context
	text string
	args []any
}

// scan runs the query and copies the columns of the row. It uses pgx directly: database/sql would
// convert each value again, and start a goroutine to watch the context beside that of pgx. Like
// database/sql it repeats the query when the connection was closed. Each such connection leaves the
// pool, so the last try is on a new one.
func (q *pgQuery) scan(dest ...any) error {
	defer q.db.beginRead()()
	for try := 0; ; try++ {
		err := q.scanOnce(dest)
		if try == readConns || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// scanOnce runs the query once, on a connection of the pool. Error: driver.ErrBadConn when the
// connection was closed.
func (q *pgQuery) scanOnce(dest []any) error {
	conn, err := q.db.readPool.Conn(q.ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	return conn.Raw(func(opened any) error {
		c := opened.(*pgConn)
		return c.repeatable(q.ctx, c.Conn.Conn().QueryRow(q.ctx, q.text, q.args...).Scan(dest...))
	})
}
