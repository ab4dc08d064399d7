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

// start is when the tests begin: at the full hour.
var start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// world is a log with its database and a clock that the test moves.
type world struct {
	*audit.Log
	t   *testing.T
	db  db.Config
	out *output

	mu  sync.Mutex
	now time.Time
}

// output collects what is logged.
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

func each(t *testing.T, change func(*audit.Config), test func(t *testing.T, w *world)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, engine, change))
		})
	}
}

func newWorld(t *testing.T, engine string, change func(*audit.Config)) *world {
	t.Helper()
	w := &world{t: t, now: start, out: &output{}, db: dbtest.Config(t, engine)}
	w.db.Schema, w.db.Aside = audit.Schema, true
	d := w.open()
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Log = w.replica(d, change)
	return w
}

// open is another handle on the database.
func (w *world) open() *db.DB {
	w.t.Helper()
	d, err := db.Open(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (w *world) replica(d *db.DB, change func(*audit.Config)) *audit.Log {
	cfg := audit.Config{DB: d, Now: w.clock, Log: slog.New(slog.NewTextHandler(w.out, nil)), Retention: 90 * 24 * time.Hour, Alone: 1_000_000}
	if change != nil {
		change(&cfg)
	}
	return audit.New(cfg)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) flush() {
	w.t.Helper()
	if err := w.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// all is everything that is stored, newest first. That the total agrees is checked on the way.
func (w *world) all() []audit.Entry {
	w.t.Helper()
	entries, total, err := w.List(w.t.Context(), audit.Query{Page: 1, Limit: 100_000})
	if err != nil || total != int64(len(entries)) {
		w.t.Fatalf("%d entries of %d, %v", len(entries), total, err)
	}
	return entries
}

// until waits until so many entries are stored.
func (w *world) until(n int64) {
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

func (w *world) paths() []string {
	w.t.Helper()
	paths := []string{}
	for _, e := range w.all() {
		paths = append(paths, e.Path)
	}
	return paths
}

func (w *world) exec(statement string) {
	w.t.Helper()
	if err := w.DB.Write(w.t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(statement); return err }); err != nil {
		w.t.Fatal(err)
	}
}

// hold keeps every write out until release.
func (w *world) hold() (release func()) {
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
