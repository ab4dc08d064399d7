package db

import (
	"context"
	"database/sql"
)

// Querier reads inside a transaction (*Tx) or outside (DB.Read). It uses the context that it was
// created with.
type Querier interface {
	// Query runs a SELECT, or a changing statement with RETURNING. The caller closes the rows.
	Query(query string, args ...any) (*sql.Rows, error)
	// QueryRow runs a query for one row; Scan returns ErrNoRows when there is none.
	QueryRow(query string, args ...any) Row
}

// Row is the result of QueryRow.
type Row struct {
	row   *sql.Row
	query *pgQuery // set instead of row; runs in Scan
	err   error    // set instead of row
}

// Scan copies the columns of the row into dest. Error: ErrNoRows when there is none.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	if r.query != nil {
		return translate(r.query.scan(dest...))
	}
	return translate(r.row.Scan(dest...))
}

// statements is the connection of a transaction: *sql.Tx on PostgreSQL, the writer's own connection
// on SQLite.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is a write transaction. It is valid during one call of the function given to DB.Write.
type Tx struct {
	ctx   context.Context
	conn  statements
	db    *DB
	hooks []func()
}

// Query implements Querier: it runs a query inside the transaction. The caller closes the rows.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := t.conn.QueryContext(t.ctx, query, args...)
	return rows, translate(err)
}

// QueryRow implements Querier: it runs a query for one row inside the transaction.
func (t *Tx) QueryRow(query string, args ...any) Row {
	return Row{row: t.conn.QueryRowContext(t.ctx, query, args...)}
}

// Exec runs a changing statement and returns the number of affected rows. Errors: those of
// translate, such as *ErrUnique.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	result, err := t.conn.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, translate(err)
	}
	n, err := result.RowsAffected()
	return n, translate(err)
}

// Dialect returns the engine: SQLite or PostgreSQL.
func (t *Tx) Dialect() Dialect { return t.db.dialect }

// LockTree locks the tree of entries until the transaction ends; on SQLite, which has one writer,
// it does nothing. Changes of single entries share the lock (exclusive is false). Moves and
// deletions of folders take it exclusively, since two crossing moves could otherwise create a
// cycle.
func (t *Tx) LockTree(exclusive bool) error {
	if t.db.dialect == sqlite {
		return nil // one writer
	}
	query := "SELECT pg_advisory_xact_lock_shared(7302001)"
	if exclusive {
		query = "SELECT pg_advisory_xact_lock(7302001)"
	}
	_, err := t.Exec(query)
	return err
}

// LockSeed lets one process at a time perform the first start, which creates the first
// administrator and the defaults. It lasts until the transaction ends.
func (t *Tx) LockSeed() error { return t.lock("7302002") }

// LockFreeSessions makes transactions that count the free-mode sessions and add one take turns, so
// that together they keep within the limit. It lasts until the transaction ends.
func (t *Tx) LockFreeSessions() error { return t.lock("7302003") }

// LockMailed makes transactions that count the mails to an address and add one take turns, so that
// together they keep within the limit. It lasts until the transaction ends.
func (t *Tx) LockMailed() error { return t.lock("7302004") }

// LockTokens makes transactions that count the download tokens of one owner and add one take turns,
// so that together they keep within the limit. It lasts until the transaction ends.
func (t *Tx) LockTokens(owner string) error { return t.lock("7302005, hashtext($1)", owner) }

// LockNotifications makes transactions that count the notifications of one user and add one take
// turns, so that together they keep within the limit. It lasts until the transaction ends.
func (t *Tx) LockNotifications(userID string) error { return t.lock("7302006, hashtext($1)", userID) }

// LockFavourites makes transactions that count the favourites of one user and add one take turns,
// so that together they keep within the limit. It lasts until the transaction ends.
func (t *Tx) LockFavourites(userID string) error { return t.lock("7302007, hashtext($1)", userID) }

// lock takes an advisory lock of PostgreSQL until the transaction ends: key is the argument of
// pg_advisory_xact_lock as SQL. It does nothing on SQLite, which has one writer.
func (t *Tx) lock(key string, args ...any) error {
	if t.db.dialect == sqlite {
		return nil
	}
	_, err := t.Exec("SELECT pg_advisory_xact_lock("+key+")", args...)
	return err
}

// BumpConfig raises the config version, under which every replica caches users, keys, mounts, rules
// and settings.
func (t *Tx) BumpConfig() error {
	_, err := t.Exec("UPDATE versions SET value = value + 1 WHERE name = $1", "config") // prepared for its argument
	return err
}

// AfterCommit registers fn to be called once the transaction is durable; it is not called after a
// rollback. All side effects outside of the database belong there, since the transaction may be
// repeated.
func (t *Tx) AfterCommit(fn func()) { t.hooks = append(t.hooks, fn) }

// committed calls the functions of AfterCommit.
func (t *Tx) committed() {
	for _, hook := range t.hooks {
		hook()
	}
}

// beginRead tells the observer of queries that one begins. The caller calls the returned function
// when the database has begun to answer.
func (d *DB) beginRead() (answered func()) {
	if d.observeRead == nil {
		return func() {}
	}
	return d.observeRead()
}

// reader runs single statements on the pool for reads.
type reader struct {
	ctx context.Context
	db  *DB
}

// Query implements Querier: it runs a query outside any transaction. The caller closes the rows.
func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	defer r.db.beginRead()()
	if stmt := r.db.stmts.prepare(r.ctx, query); stmt != nil {
		rows, err := stmt.QueryContext(r.ctx, args...)
		return rows, translate(err)
	}
	rows, err := r.db.readPool.QueryContext(r.ctx, query, args...)
	return rows, translate(err)
}

// QueryRow implements Querier. On SQLite it ignores the context once it has begun, since a look-up
// is short: database/sql and the driver start goroutines to watch a context, which cost a fifth of
// a look-up.
func (r reader) QueryRow(query string, args ...any) Row {
	if r.db.dialect == postgres {
		return Row{query: &pgQuery{r.db, r.ctx, query, args}}
	}
	defer r.db.beginRead()()
	if stmt := r.db.stmts.prepare(r.ctx, query); stmt != nil {
		if err := r.ctx.Err(); err != nil {
			return Row{err: err}
		}
		return Row{row: stmt.QueryRowContext(context.WithoutCancel(r.ctx), args...)}
	}
	return Row{row: r.db.readPool.QueryRowContext(r.ctx, query, args...)}
}
