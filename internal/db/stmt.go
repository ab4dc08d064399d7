package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// maxCachedStmts bounds the cached prepared statements. Further statements are run unprepared.
const maxCachedStmts = 400

// stmtCache caches the prepared statements of SQLite's readers, since the driver would otherwise
// parse the text at each call. On PostgreSQL pool is nil and nothing is cached: pgx has a cache of
// its own.
type stmtCache struct {
	pool *sql.DB

	mu     sync.RWMutex
	stmts  map[string]*sql.Stmt
	closed bool
}

// prepare returns the prepared statement for query, nil if the cache is full, closed or unused, or
// the text is wrong: the caller then runs the query as text.
func (c *stmtCache) prepare(ctx context.Context, query string) *sql.Stmt {
	if c.pool == nil {
		return nil
	}
	c.mu.RLock()
	stmt := c.stmts[query]
	full := c.closed || len(c.stmts) >= maxCachedStmts
	c.mu.RUnlock()
	if stmt != nil || full {
		return stmt
	}
	stmt, err := c.pool.PrepareContext(ctx, query)
	if err != nil {
		return nil // running the text reports the error
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.stmts[query]; other != nil || c.closed {
		_ = stmt.Close()
		return other
	}
	if c.stmts == nil {
		c.stmts = map[string]*sql.Stmt{}
	}
	c.stmts[query] = stmt
	return stmt
}

// close closes the statements. Later queries run as text.
func (c *stmtCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	c.stmts = nil
}

// preparedConn is the writing connection of SQLite with its prepared statements. Only the writer's
// goroutine uses it.
type preparedConn struct {
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	failed bool // a statement of the present caller has failed
}

// newPreparedConn returns a preparedConn for conn without statements.
func newPreparedConn(conn *sql.Conn) *preparedConn {
	return &preparedConn{conn: conn, stmts: map[string]*sql.Stmt{}}
}

// prepare returns the prepared statement for query, nil when the query is to be run as text: there
// are maxCachedStmts statements already, or the text is wrong.
func (c *preparedConn) prepare(ctx context.Context, query string) *sql.Stmt {
	stmt := c.stmts[query]
	if stmt != nil || len(c.stmts) >= maxCachedStmts {
		return stmt
	}
	stmt, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil // running the text reports the error
	}
	c.stmts[query] = stmt
	return stmt
}

// execPrepared runs a single statement that has no arguments and returns no rows by its prepared
// statement, if there is one.
func (c *preparedConn) execPrepared(ctx context.Context, query string) error {
	var err error
	if stmt := c.prepare(ctx, query); stmt != nil {
		_, err = stmt.ExecContext(ctx)
	} else {
		_, err = c.conn.ExecContext(ctx, query)
	}
	return err
}

// ExecContext runs a statement that returns no rows. A text without arguments may contain several
// statements.
func (c *preparedConn) ExecContext(ctx context.Context, query string, args ...any) (r sql.Result, err error) {
	defer func() { c.failed = c.failed || err != nil }()
	if len(args) == 0 {
		return c.conn.ExecContext(ctx, query) // may contain several statements
	}
	if stmt := c.prepare(ctx, query); stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return c.conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a query by its prepared statement, if there is one. SQLite makes all changes of
// a statement with RETURNING before the first row.
func (c *preparedConn) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	defer func() { c.failed = c.failed || err != nil }()
	if stmt := c.prepare(ctx, query); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return c.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext is QueryContext for one row.
func (c *preparedConn) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	defer func() { c.failed = c.failed || row.Err() != nil }()
	if stmt := c.prepare(ctx, query); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return c.conn.QueryRowContext(ctx, query, args...)
}

// close closes the statements and returns the connection to its pool.
func (c *preparedConn) close() error {
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	return c.conn.Close()
}

// discard closes the connection for good. close would return it to its pool.
func (c *preparedConn) discard() {
	for _, stmt := range c.stmts {
		_ = stmt.Close()
	}
	discard(c.conn)
}

// discard closes a connection instead of returning it to its pool. It ignores errors, since the
// connection may be broken.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
