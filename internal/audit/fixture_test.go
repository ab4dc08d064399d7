package audit_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"larder/internal/audit"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// start is the time at which the tests begin, on the hour.
var start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// fixture holds a log with its database, and a clock that the test moves.
type fixture struct {
	*audit.Log
	t         *testing.T
	db        db.Config
	logOutput *output

	mu  sync.Mutex
	now time.Time
}

// output collects the log output.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) lines() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Count(o.b.Bytes(), []byte("\n"))
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func eachEngine(t *testing.T, change func(*audit.Config), test func(t *testing.T, w *fixture)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, engine, change))
		})
	}
}

func newFixture(t *testing.T, engine string, change func(*audit.Config)) *fixture {
	t.Helper()
	w := &fixture{t: t, now: start, logOutput: &output{}, db: dbtest.Config(t, engine)}
	w.db.Schema, w.db.Secondary = audit.Schema, true
	d := w.open()
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Log = w.replica(d, change)
	return w
}

// open opens another handle on the database.
func (w *fixture) open() *db.DB {
	w.t.Helper()
	d, err := db.Open(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (w *fixture) replica(d *db.DB, change func(*audit.Config)) *audit.Log {
	cfg := audit.Config{DB: d, Now: w.clock, Log: slog.New(slog.NewTextHandler(w.logOutput, nil)),
		Retention: 90 * 24 * time.Hour, MaxUnmerged: 1_000_000}
	if change != nil {
		change(&cfg)
	}
	return audit.New(cfg)
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *fixture) flush() {
	w.t.Helper()
	if err := w.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// allEntries returns all stored entries, newest first, and checks the total.
func (w *fixture) allEntries() []audit.Entry {
	w.t.Helper()
	entries, total, err := w.List(w.t.Context(), audit.Query{Page: 1, Limit: 100_000})
	if err != nil || total != int64(len(entries)) {
		w.t.Fatalf("%d entries of %d, %v", len(entries), total, err)
	}
	return entries
}

// waitForEntries waits until n entries are stored.
func (w *fixture) waitForEntries(n int64) {
	w.t.Helper()
	for {
		_, total, err := w.List(w.t.Context(), audit.Query{Page: 1, Limit: 1})
		if err != nil {
			w.t.Fatal(err)
		}
		if total >= n {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (w *fixture) paths() []string {
	w.t.Helper()
	paths := []string{}
	for _, e := range w.allEntries() {
		paths = append(paths, e.Path)
	}
	return paths
}

func (w *fixture) exec(statement string) {
	w.t.Helper()
	if err := w.DB.Write(w.t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(statement)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

// lockSize blocks every write until release.
func (w *fixture) lockSize() (release func()) {
	w.t.Helper()
	d, held, end, ended := w.open(), make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- d.Write(context.Background(), func(tx *db.Tx) error {
			if _, err := tx.Exec("UPDATE access_log_size SET size = size"); err != nil {
				return err
			}
			close(held)
			<-end
			return nil
		})
	}()
	<-held
	return func() {
		close(end)
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}
