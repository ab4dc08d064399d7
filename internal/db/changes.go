package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// changeCounters is the number of counters in Changes. Rows that share one look changed together.
const changeCounters = 1 << 13

// trackedTables are the tables whose changes Changes knows, each with the number of its first
// columns that are read: its key, a text that never changes, and for entries those up to the kind.
var trackedTables = map[string]int{"entries": kindColumn + 1, "objects": 1, "links": 1, "versions": 1}

// TrackedRow stands for a row of a tracked table: the number of its counter in Changes.
type TrackedRow uint16

var rowSeed = maphash.MakeSeed()

// RowOf returns the TrackedRow of the row of table with that key. table is one of trackedTables, or
// "members" with the id of a parent.
func RowOf(table, key string) TrackedRow {
	return TrackedRow(maphash.Comparable(rowSeed, [2]string{table, key}) % changeCounters)
}

// ConfigRow is the row that BumpConfig changes.
var ConfigRow = RowOf("versions", "config")

// MembersOf returns the TrackedRow that stands for the list of entries directly below parent, the
// id of a folder. It changes with each of these entries, and when one is added or removed.
func MembersOf(parent string) TrackedRow { return RowOf("members", parent) }

// Moment is a point in the sequence of commits: the number of the last commit that Changes had
// recorded.
type Moment uint64

// Changes tells without a query whether rows of the tracked tables have changed since a moment, so
// that a process can keep answers of queries in memory (docs/adr/0017). A new row changes nothing
// but the members of its parent. All methods are safe for concurrent use.
//
// The writer numbers its commits. Before it answers its callers, it stores the number of the commit
// in the counters of the changed rows. Other processes can write to the database file as well. The
// commits of all processes are counted in the WAL index. When that count is not the one that the
// writer expects, any row may have changed.
type Changes struct {
	mu       sync.Mutex                    // held from a commit until it is recorded
	index    atomic.Pointer[walIndex]      // nil while the writer has no connection
	opened   []*walIndex                   // open until the end; the last one was used last
	expected atomic.Uint32                 // count of commits in the index that are recorded
	last     atomic.Uint64                 // number of the last commit
	all      atomic.Uint64                 // number of the last commit that may have changed any row
	rows     [changeCounters]atomic.Uint64 // number of the last commit that changed a row
	config   atomic.Pointer[knownConfig]   // nil before it was read
	growths  growthLog

	// The following fields belong to the writer.
	pages       sqlitedriver.DBStatus // counts the pages that its connection writes
	transaction rowChanges
}

// rowChanges are the changed rows of a transaction.
type rowChanges struct {
	all     bool // their keys are not known
	rows    [changeCounters / 64]uint64
	growths transactionGrowths
}

// Changes returns the changes of the database, nil unless it is on SQLite and Config.TrackChanges
// was set.
func (d *DB) Changes() *Changes { return d.changes }

// Now returns the present moment, for a later Unchanged. A query that begins afterwards sees all
// commits up to it.
func (c *Changes) Now() Moment { return Moment(c.last.Load()) }

// Unchanged reports whether none of the rows has changed since a moment, so that an answer read
// after that moment still holds. It notices each commit from which Write has returned, and each
// finished commit of another process. It can report false although nothing has changed.
func (c *Changes) Unchanged(since Moment, rows []TrackedRow) bool {
	if !c.allRecorded() {
		return false
	}
	if Moment(c.all.Load()) > since { // read after expected, which is stored after it
		return false
	}
	for _, row := range rows {
		if Moment(c.rows[row].Load()) > since {
			return false
		}
	}
	return true
}

// allRecorded reports whether all commits of this and of other processes are recorded. It records
// those of others.
func (c *Changes) allRecorded() bool {
	if commits, ok := c.index.Load().commits(); !ok || commits != c.expected.Load() {
		c.recordOthers()
		return false
	}
	return true
}

// recordOthers records that any row may have changed if another process has committed, unless the
// writer is about to do so.
func (c *Changes) recordOthers() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if commits, ok := c.index.Load().commits(); ok && commits != c.expected.Load() {
		c.recordAll(commits)
	}
}

// recordAll records that any row may have changed, and that commits, the count of the WAL index, is
// recorded. The caller holds mu.
func (c *Changes) recordAll(commits uint32) {
	c.growths.forget(func() { c.all.Store(c.last.Add(1)) })
	c.expected.Store(commits)
}

// begin starts to collect the changes of a transaction. The writer calls it when it has the lock of
// the database, so that no other process commits.
func (c *Changes) begin() {
	c.transaction = rowChanges{}
	c.writtenPages() // forgets those of the transaction before
	c.recordOthers()
}

// writtenPages returns how many pages the writer has written since the last call. A transaction
// that changes nothing writes none, and the index does not count it.
func (c *Changes) writtenPages() int {
	n, _, err := c.pages.Status(sqlitedriver.DBStatusCacheWrite, true)
	if err != nil {
		c.transaction.all = true
	}
	return n
}

// commit runs the COMMIT of the writer's transaction and records its changes before the writer
// answers its callers. It returns the error of COMMIT; after one, any row counts as changed.
func (c *Changes) commit(commit func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := commit()
	commits, ok := c.index.Load().commits()
	if err != nil { // the connection may be closed
		c.recordAll(commits)
		return err
	}
	expected := c.expected.Load()
	if c.writtenPages() > 0 {
		expected++
	}
	if !ok || c.transaction.all || commits != expected {
		c.recordAll(commits)
		return nil
	}
	number := c.growths.add(&c.transaction.growths, func() uint64 { return c.last.Add(1) })
	for i, word := range c.transaction.rows {
		for ; word != 0; word &= word - 1 {
			c.rows[i*64+bits.TrailingZeros64(word)].Store(number)
		}
	}
	c.expected.Store(commits)
	return nil
}

// note marks the tracked row that the writer is about to insert, change or delete, and the members
// of its parents before and after. SQLite calls this hook for each row.
func (c *Changes) note(change sqlitedriver.SQLitePreUpdateData) {
	columns := trackedTables[change.TableName]
	if columns == 0 {
		return
	}
	var err error
	if change.Op != sqlitelib.SQLITE_INSERT {
		values := make([]any, columns) // Old and New put the first values of the row into it
		err = change.Old(values...)
		c.transaction.mark(change.TableName, values[0])
		c.transaction.markParent(values, -1)
	}
	if change.Op != sqlitelib.SQLITE_DELETE && columns > 1 {
		values := make([]any, columns)
		err = errors.Join(err, change.New(values...))
		c.transaction.markParent(values, 1)
	}
	if err != nil {
		c.transaction.all = true
	}
}

// mark marks the row of table with that key as changed; a key that is no text marks all rows.
func (t *rowChanges) mark(table string, key any) {
	text, ok := key.(string)
	if !ok {
		t.all = true
		return
	}
	row := RowOf(table, text)
	t.rows[row/64] |= 1 << (row % 64)
}

// markParent marks the members of an entry's parent as changed, whose number grows by that much.
// values are the first columns of its row, up to the kind. Roots, and rows of other tables, have no
// parent.
func (t *rowChanges) markParent(values []any, by int64) {
	if len(values) <= kindColumn || values[1] == nil {
		return
	}
	t.mark("members", values[1])
	folder, _ := values[1].(string)
	kind, ok := values[kindColumn].(int64)
	if !ok {
		t.all = true
		return
	}
	t.growths.add(Members{folder, int(kind)}, by)
}

// follow begins to track the changes made by conn, a new connection of the writer to the database
// file at path. It opens the WAL index, which SQLite may have made anew while the writer had no
// connection. Any row counts as changed.
func (c *Changes) follow(ctx context.Context, conn *sql.Conn, path string) error {
	var version int64
	// SQLite makes the index when a transaction begins
	if err := conn.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return translate(err)
	}
	err := conn.Raw(func(driverConn any) error {
		hooks, hasHooks := driverConn.(sqlitedriver.HookRegisterer)
		pages, hasStatus := driverConn.(sqlitedriver.DBStatus)
		if !hasHooks || !hasStatus {
			return errors.New("the driver of SQLite has neither hooks nor status")
		}
		hooks.RegisterPreUpdateHook(c.note)
		c.pages = pages
		return nil
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	index, err := c.openIndex(path)
	if err != nil {
		return err
	}
	c.index.Store(index)
	commits, _ := index.commits()
	c.recordAll(commits)
	return nil
}

// openIndex returns the WAL index of the database file at path. It uses the open file again unless
// SQLite has made another one: on a full disk each write loses its connection, and would open
// another file.
func (c *Changes) openIndex(path string) (*walIndex, error) {
	if n := len(c.opened); n > 0 && c.opened[n-1].isOf(path) {
		return c.opened[n-1], nil
	}
	index, err := openWALIndex(path)
	if err != nil {
		return nil, err
	}
	c.opened = append(c.opened, index)
	return index, nil
}

// suspend makes Unchanged report false until follow is called, since the writer has lost its
// connection.
func (c *Changes) suspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.Store(nil)
}

// close closes the WAL indexes. No connection to the database may be open: closing such a file
// would release SQLite's locks on it, which belong to the process (POSIX).
func (c *Changes) close() error {
	c.suspend()
	var errs []error
	for _, index := range c.opened {
		errs = append(errs, index.file.Close())
	}
	c.opened = nil
	return errors.Join(errs...)
}

// openWriterConn opens a connection of SQLite's writer, and tracks its changes if
// Config.TrackChanges is set.
func (d *DB) openWriterConn(ctx context.Context) (*preparedConn, error) {
	conn, err := connect(ctx, d.writePool)
	if err != nil {
		return nil, err
	}
	if d.changes != nil {
		if err := d.changes.follow(ctx, conn, d.path); err != nil {
			discard(conn)
			return nil, fmt.Errorf("follow the changes of the database: %w", err)
		}
	}
	return newPreparedConn(conn), nil
}
