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
func (f *fixture) open() *db.DB {
	f.t.Helper()
	d, err := db.Open(f.t.Context(), f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (f *fixture) replica(d *db.DB, change func(*audit.Config)) *audit.Log {
	cfg := audit.Config{DB: d, Now: f.clock, Log: slog.New(slog.NewTextHandler(f.logOutput, nil)),
		Retention: 90 * 24 * time.Hour, MaxUnmerged: 1_000_000}
	if change != nil {
		change(&cfg)
	}
	return audit.New(cfg)
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) flush() {
	f.t.Helper()
	if err := f.Flush(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// allEntries returns all stored entries, newest first, and checks the total.
func (f *fixture) allEntries() []audit.Entry {
	f.t.Helper()
	entries, total, err := f.List(f.t.Context(), audit.Query{Page: 1, Limit: 100_000})
	if err != nil || total != int64(len(entries)) {
		f.t.Fatalf("%d entries of %d, %v", len(entries), total, err)
	}
	return entries
}

// waitForEntries waits until n entries are stored.
func (f *fixture) waitForEntries(n int64) {
	f.t.Helper()
	for {
		_, total, err := f.List(f.t.Context(), audit.Query{Page: 1, Limit: 1})
		if err != nil {
			f.t.Fatal(err)
		}
		if total >= n {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (f *fixture) paths() []string {
	f.t.Helper()
	paths := []string{}
	for _, e := range f.allEntries() {
		paths = append(paths, e.Path)
	}
	return paths
}

func (f *fixture) exec(statement string) {
	f.t.Helper()
	if err := f.DB.Write(f.t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(statement)
		return err
	}); err != nil {
		f.t.Fatal(err)
	}
}

// lockSize blocks every write until release.
func (f *fixture) lockSize() (release func()) {
	f.t.Helper()
	d, held, end, ended := f.open(), make(chan struct{}), make(chan struct{}), make(chan error)
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
			f.t.Error(err)
		}
	}
}
