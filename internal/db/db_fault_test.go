package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// writeTogether runs writes in one transaction: a first write blocks the writer until the others
// are queued.
func writeTogether(t *testing.T, d *db.DB, fns ...func(tx *db.Tx) error) []error {
	t.Helper()
	errs, running, release := make([]error, len(fns)), make(chan struct{}), make(chan struct{})
	var all, queued sync.WaitGroup
	all.Go(func() {
		if err := d.Write(context.Background(),
			func(*db.Tx) error { close(running); <-release; return errors.New("only blocks the writer") }); err == nil {
			t.Error("a refused write succeeded")
		}
	})
	<-running
	for i, fn := range fns {
		queued.Add(1)
		all.Go(func() {
			errs[i] = d.Write(signallingContext{context.Background(), sync.OnceFunc(queued.Done)}, fn)
		})
	}
	queued.Wait()
	close(release)
	all.Wait()
	return errs
}

// signallingContext is a context that reports when Write has checked it, right before it queues.
type signallingContext struct {
	context.Context
	seen func()
}

func (s signallingContext) Err() error {
	s.seen()
	return nil
}

// spoilingWrites are writes after which the transaction fails as a whole.
func spoilingWrites() map[string]func(tx *db.Tx) error {
	return map[string]func(tx *db.Tx) error{
		"full disk": func(tx *db.Tx) error {
			if _, err := tx.Exec("PRAGMA max_page_count = 1"); err != nil { // no more pages than there are
				return err
			}
			_, err := tx.Exec("INSERT INTO settings (name, value) VALUES ('big', CAST(zeroblob($1) AS TEXT))", 4<<20)
			return err
		},
		"rolled back by SQLite itself": func(tx *db.Tx) error {
			if _, err := tx.Exec("ROLLBACK"); err != nil {
				return err
			}
			return errors.New("disk I/O error")
		},
		"rolled back without an error": func(tx *db.Tx) error {
			_, err := tx.Exec("ROLLBACK")
			return err
		},
		"broken connection": func(tx *db.Tx) error {
			tx.BreakConnection()
			return nil
		},
	}
}

// Abuse case C128: every caller in a transaction that meets a full disk gets an error, none of
// their changes is kept, and once there is room the next write succeeds.
func TestFailedTransactionFailsForAllItsCallers(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoilingWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.Open(t, "sqlite")
			hooked := false
			errs := writeTogether(t, d,
				func(tx *db.Tx) error {
					tx.AfterCommit(func() { hooked = true })
					return insertSetting(tx, "first", "x")
				},
				spoil,
				func(tx *db.Tx) error { return insertSetting(tx, "last", "x") },
			)
			if errs[1] == nil {
				t.Error("the failed write returned no error")
			}
			for i, name := range map[int]string{0: "first", 2: "last"} {
				stored := setting(t, d.Read(t.Context()), name) == "x"
				if stored != (errs[i] == nil) {
					t.Errorf("%s: returned %v, stored %v", name, errs[i], stored)
				}
			}
			if hooked != (errs[0] == nil) {
				t.Errorf("the hook ran: %v, returned %v", hooked, errs[0])
			}
			writeAfterFailure(t, d)
		})
	}
}

// writeAfterFailure checks that writes succeed again, once the disk has room.
func writeAfterFailure(t *testing.T, d *db.DB) {
	t.Helper()
	for i := range 3 {
		name := fmt.Sprint("after", i)
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec("PRAGMA max_page_count = 1000000"); err != nil {
				return err
			}
			return insertSetting(tx, name, "x")
		})
		if err != nil || setting(t, d.Read(t.Context()), name) != "x" {
			t.Fatalf("write %d after it: %v", i, err)
		}
	}
}

// A write that has a transaction of its own is kept or undone as one in a group is: after each kind
// of failure it returns an error and changes nothing, and the next write succeeds.
func TestFailedWriteAloneChangesNothing(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	writes := spoilingWrites()
	writes["refused"] = func(*db.Tx) error { return refused }
	writes["panic"] = func(*db.Tx) error { panic("a caller's fault") }
	for name, spoil := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.Open(t, "sqlite")
			hooked := false
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				tx.AfterCommit(func() { hooked = true })
				return errors.Join(insertSetting(tx, "alone", "x"), spoil(tx))
			})
			if err == nil || (name == "refused") != errors.Is(err, refused) {
				t.Errorf("the write returned %v", err)
			}
			if hooked || setting(t, d.Read(t.Context()), "alone") != "" {
				t.Errorf("the hook ran: %v, stored %q", hooked, setting(t, d.Read(t.Context()), "alone"))
			}
			writeAfterFailure(t, d)
		})
	}
}

// A refused write in a group undoes its own changes alone. The statements of transactions are
// prepared, and a write that has a transaction of its own sets no savepoint.
func TestSavepointsInGroups(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite")
	wantPrepared := func(when string, savepoints bool) {
		t.Helper()
		for _, query := range []string{"BEGIN IMMEDIATE", "COMMIT"} {
			if !d.Prepares(query) {
				t.Errorf("%s: %s is not prepared", when, query)
			}
		}
		for _, query := range []string{"SAVEPOINT caller", "RELEASE caller", "ROLLBACK TO caller"} {
			if d.Prepares(query) != savepoints {
				t.Errorf("%s: %s is prepared: %v", when, query, !savepoints)
			}
		}
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error { return insertSetting(tx, "alone", "x") })
	if err != nil {
		t.Fatal(err)
	}
	wantPrepared("a write alone", false)
	refused := errors.New("refused")
	errs := writeTogether(t, d,
		func(tx *db.Tx) error { return insertSetting(tx, "first", "x") },
		func(tx *db.Tx) error { return errors.Join(insertSetting(tx, "second", "x"), refused) },
		func(tx *db.Tx) error { return insertSetting(tx, "third", "x") },
	)
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil {
		t.Errorf("the writes returned %v", errs)
	}
	for name, want := range map[string]string{"alone": "x", "first": "x", "second": "", "third": "x"} {
		if got := setting(t, d.Read(t.Context()), name); got != want {
			t.Errorf("%s: stored %q, want %q", name, got, want)
		}
	}
	wantPrepared("a group", true)
}

func TestLogIsEmptiedAlthoughReadersOverlap(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "sqlite")
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func() (end func() error) {
		rows, err := d.Read(t.Context()).Query("SELECT name FROM settings UNION ALL SELECT id FROM entries")
		if err != nil || !rows.Next() {
			t.Fatal("nothing to read", err)
		}
		return rows.Close
	}
	fill := func(from int) {
		for i := range 300 {
			if err := d.Write(t.Context(), func(tx *db.Tx) error {
				return insertSetting(tx, fmt.Sprint(from+i), fmt.Sprintf("%32000d", i))
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	size := func() int64 {
		info, err := os.Stat(cfg.Path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	fill(0)
	end := read()
	fill(1000)
	other := read()
	fill(2000)
	if size() < 15<<20 {
		t.Fatalf("the log has %d bytes beside readers, too few to show anything", size())
	}
	emptied := make(chan error, 1)
	go func() { emptied <- d.LimitWALTo(context.Background(), 8<<20) }()
	if err := errors.Join(end(), other()); err != nil {
		t.Fatal(err)
	}
	if err := <-emptied; err != nil || size() != 0 {
		t.Errorf("%d bytes left, %v", size(), err)
	}
	fill(3000)
	if got := setting(t, d.Read(t.Context()), "2299"); got != fmt.Sprintf("%32000d", 299) {
		t.Error("content is gone")
	}
}
