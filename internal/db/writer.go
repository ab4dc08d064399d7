package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxGroup bounds the number of callers that share one transaction, so that no caller waits for too
// many others.
const maxGroup = 64

// writer is the only goroutine that writes to SQLite. Callers that wait while it commits are
// grouped into its next transaction, each with a savepoint. All of them are answered after the one
// commit. A transaction with one caller needs no savepoint: if the caller fails, all of it is
// rolled back.
type writer struct {
	db    *DB
	conn  *preparedConn // nil after a failure; used only by the goroutine
	queue chan *request
	quit  chan struct{}
	done  chan struct{}

	mu     sync.RWMutex
	closed bool
}

// request is one call of write. The goroutine sets tx and err before it closes done.
type request struct {
	ctx  context.Context
	fn   func(tx *Tx) error
	tx   *Tx
	err  error
	done chan struct{}
}

// startWriter starts the writer's goroutine with its connection. stop ends it.
func startWriter(d *DB, conn *preparedConn) *writer {
	w := &writer{db: d, conn: conn, queue: make(chan *request, maxGroup), quit: make(chan struct{}),
		done: make(chan struct{})}
	go w.loop()
	return w
}

// write waits for its turn and for the commit, and returns the result of its own request. It does
// not abandon a queued request: if the context ends, the request is skipped when its turn comes, or
// its result is returned.
func (w *writer) write(ctx context.Context, fn func(tx *Tx) error) error {
	r := &request{ctx: ctx, fn: fn, done: make(chan struct{})}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return errors.New("the database is closed")
	}
	select {
	case w.queue <- r:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return ctx.Err()
	}
	<-r.done
	return r.err
}

// stop finishes the queued requests, ends the goroutine and closes its connection.
func (w *writer) stop() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.quit)
	}
	w.mu.Unlock()
	<-w.done
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}

// loop is the writer's goroutine: it commits one group of requests after the other until stop, and
// then the queued ones.
func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case first := <-w.queue:
			w.commit(w.collectGroup(first))
		case <-w.quit:
			for {
				select {
				case first := <-w.queue:
					w.commit(w.collectGroup(first))
				default:
					return
				}
			}
		}
	}
}

// collectGroup returns first with the requests that are already queued, maxGroup in all at most. It
// never waits for more.
func (w *writer) collectGroup(first *request) []*request {
	group := append(make([]*request, 0, 8), first)
	for len(group) < maxGroup {
		select {
		case next := <-w.queue:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction and answers all its requests.
func (w *writer) commit(group []*request) {
	if err := w.transact(group); err != nil {
		w.db.log.Error("write to the database", "error", err, "callers", len(group))
		w.dropConn()
		for _, r := range group {
			if r.err == nil {
				r.err = err
			}
		}
	}
	for _, r := range group {
		if r.err == nil {
			r.tx.committed()
		}
		close(r.done)
	}
}

// transact runs the requests of a group in one transaction and commits it if any of them succeeded.
// It sets each request's own error. The error that it returns is that of the transaction as a
// whole, after which every request counts as failed.
func (w *writer) transact(group []*request) error {
	// Not a caller's context: if it ended, the transaction of all the others would fail.
	ctx := context.Background()
	if w.conn == nil {
		conn, err := w.db.openWriterConn(ctx)
		if err != nil {
			return fmt.Errorf("open the database again: %w", err)
		}
		w.conn = conn
	}
	if err := w.statement(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if w.db.changes != nil {
		w.db.changes.begin()
	}
	changed := false
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err != nil {
			continue
		}
		if len(group) == 1 {
			w.run(ctx, r)
		} else if err := w.savepoint(ctx, r); err != nil {
			return errors.Join(err, w.statement(ctx, "ROLLBACK"))
		}
		changed = changed || r.err == nil
	}
	if !changed {
		return w.statement(ctx, "ROLLBACK")
	}
	if err := w.endTransaction(ctx); err != nil {
		return errors.Join(err, w.statement(ctx, "ROLLBACK"))
	}
	return nil
}

// endTransaction commits, and lets Changes record the changed rows before any request is answered.
func (w *writer) endTransaction(ctx context.Context) error {
	commit := func() error { return w.statement(ctx, "COMMIT") }
	if w.db.changes == nil {
		return commit()
	}
	return w.db.changes.commit(commit)
}

// dropConn discards the connection after a transaction that failed as a whole. A full disk or a
// failed write leaves it in an unknown state, in which SQLite may even have rolled back by itself.
// The next group opens another connection.
func (w *writer) dropConn() {
	if w.conn == nil {
		return
	}
	if w.db.changes != nil {
		w.db.changes.suspend()
	}
	w.conn.discard()
	w.conn = nil
}

// statement runs a statement without arguments, such as COMMIT, on the writer's connection. The
// error begins with its text.
func (w *writer) statement(ctx context.Context, text string) error {
	if err := w.conn.execPrepared(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, translate(err))
	}
	return nil
}

// savepoint runs one request in a savepoint, so that its failure undoes only its own changes, and
// sets its error. The error that it returns is one of the transaction as a whole.
func (w *writer) savepoint(ctx context.Context, r *request) error {
	if err := w.statement(ctx, "SAVEPOINT caller"); err != nil {
		return err
	}
	w.run(ctx, r)
	if r.err != nil {
		if err := w.statement(ctx, "ROLLBACK TO caller"); err != nil {
			return err
		}
	}
	return w.statement(ctx, "RELEASE caller")
}

// run calls the function of a request inside the transaction, and sets the request's error.
func (w *writer) run(ctx context.Context, r *request) {
	r.tx = &Tx{ctx: ctx, conn: w.conn, db: w.db}
	w.conn.failed = false
	r.err = callRecovering(r.fn, r.tx)
	if w.db.changes != nil {
		w.db.changes.transaction.growths.endCaller(r.err != nil, w.conn.failed)
	}
}
