package db_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// trackedDB is a new SQLite database with links a to e, and its file.
func trackedDB(t *testing.T) (d *db.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "larder.db")
	dbtest.WriteMigrated(t, path)
	d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler), TrackChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		execute(t, d, "INSERT INTO links (id, entry_id, ext, created_at) VALUES ($1, $1, 'png', 0)", id)
	}
	return d, path
}

// openElsewhere opens a database as another process does, which tracks no changes.
func openElsewhere(t *testing.T, path string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{Path: path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func execute(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	if err := d.Write(context.Background(), statement(query, args...)); err != nil {
		t.Fatal(err)
	}
}

func statement(query string, args ...any) func(tx *db.Tx) error {
	return func(tx *db.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}
}

// wantChanged checks which of the links a to e have changed since a moment.
func wantChanged(t *testing.T, what string, d *db.DB, since db.Moment, want string) {
	t.Helper()
	got := ""
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if !d.Changes().Unchanged(since, []db.TrackedRow{db.RowOf("links", id)}) {
			got += id
		}
	}
	if got != want {
		t.Errorf("%s: %q have changed, want %q", what, got, want)
	}
}

// A committed change of a row is noticed, of this row alone.
func TestChangesOfRows(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	before := d.Changes().Now()
	wantChanged(t, "nothing", d, before, "")
	execute(t, d, "INSERT INTO links (id, entry_id, ext, created_at) VALUES ('f', 'f', 'png', 0)")
	wantChanged(t, "a new row", d, before, "")
	execute(t, d, "INSERT INTO settings (name, value) VALUES ('a', 'b')")
	wantChanged(t, "another table", d, before, "")
	execute(t, d, "UPDATE links SET ext = 'gif' WHERE id = 'b'")
	wantChanged(t, "an update", d, before, "b")
	after := d.Changes().Now()
	execute(t, d, "DELETE FROM links WHERE id IN ('c', 'd')")
	wantChanged(t, "a deletion", d, before, "bcd")
	wantChanged(t, "a deletion, since the update", d, after, "cd")
	execute(t, d, "INSERT OR REPLACE INTO links (id, entry_id, ext, created_at) VALUES ('a', 'a', 'png', 1)")
	wantChanged(t, "a replacement", d, before, "abcd")
	wantChanged(t, "now", d, d.Changes().Now(), "")

	config := []db.TrackedRow{db.ConfigRow}
	if !d.Changes().Unchanged(before, config) {
		t.Error("the configuration has changed")
	}
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return tx.BumpConfig() }); err != nil {
		t.Fatal(err)
	}
	if d.Changes().Unchanged(before, config) || !d.Changes().Unchanged(d.Changes().Now(), config) {
		t.Error("the change of the configuration is not noticed once")
	}
}

// A change that is not committed is none. The transaction of several callers is one commit.
func TestChangesOfTransactions(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	before := d.Changes().Now()
	refused := errors.New("refused")
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		return errors.Join(statement("DELETE FROM links")(tx), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	wantChanged(t, "a refused write", d, before, "")
	for _, err := range writeTogether(t, d, statement("UPDATE links SET ext = 'gif' WHERE id = 'b'"),
		statement("UPDATE links SET ext = 'gif' WHERE id = 'd'")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantChanged(t, "two writes", d, before, "bd")
	if now := d.Changes().Now(); now != before+1 {
		t.Errorf("two writes in one transaction: %d commits later", now-before)
	}
}

// Whatever another process commits counts as a change of every row. The writer's own next changes
// are told apart again.
func TestChangesOfOthers(t *testing.T) {
	t.Parallel()
	d, path := trackedDB(t)
	other := openElsewhere(t, path)
	if other.Changes() != nil {
		t.Error("changes are tracked without TrackChanges")
	}
	for i := range 3 {
		before := d.Changes().Now()
		wantChanged(t, "nothing", d, before, "")
		execute(t, other, "UPDATE links SET created_at = created_at + 1 WHERE id = 'b'")
		wantChanged(t, "a commit elsewhere", d, before, "abcde")
		now := d.Changes().Now()
		wantChanged(t, "afterwards", d, now, "")

		execute(t, other, "UPDATE links SET created_at = created_at + 1 WHERE id = 'b'")
		execute(t, d, "UPDATE links SET created_at = created_at + 1 WHERE id = 'c'") // before anybody has asked
		wantChanged(t, fmt.Sprint("a commit elsewhere before an own one ", i), d, now, "abcde")

		now = d.Changes().Now()
		execute(t, d, "UPDATE links SET ext = ext || 'x' WHERE id = 'c'")
		wantChanged(t, "an own commit", d, now, "c")

		// SQLite writes nothing when every value is as it was
		now = d.Changes().Now()
		execute(t, d, "UPDATE links SET ext = ext WHERE id = 'd'")
		wantChanged(t, "an own commit without a change", d, now, "d")
		execute(t, other, "UPDATE links SET created_at = created_at + 1 WHERE id = 'b'")
		wantChanged(t, "a commit elsewhere after it", d, now, "abcde")
	}
	if err := other.Close(); err != nil { // which may empty the log
		t.Fatal(err)
	}
	now := d.Changes().Now()
	if err := d.LimitWALTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	wantChanged(t, "an emptied log", d, now, "")
	execute(t, d, "UPDATE links SET ext = 'jpg' WHERE id = 'e'")
	wantChanged(t, "a commit into the emptied log", d, now, "e")
}

// After a transaction that failed as a whole, every row counts as changed. Later changes are
// noticed on the new connection, those of others as well.
func TestChangesAfterBrokenConnection(t *testing.T) {
	t.Parallel()
	d, path := trackedDB(t)
	for range 2 {
		before := d.Changes().Now()
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			tx.BreakConnection()
			return nil
		})
		if err == nil {
			t.Fatal("a write on a broken connection succeeded")
		}
		wantChanged(t, "a broken connection", d, before, "abcde")
		execute(t, d, "UPDATE links SET ext = ext || 'x' WHERE id = 'a'")
		wantChanged(t, "the next commit", d, before, "abcde")
		before = d.Changes().Now()
		wantChanged(t, "nothing", d, before, "")
		execute(t, d, "UPDATE links SET ext = ext || 'x' WHERE id = 'a'")
		wantChanged(t, "an own commit", d, before, "a")
		other := openElsewhere(t, path)
		execute(t, other, "UPDATE links SET created_at = created_at + 1 WHERE id = 'b'")
		wantChanged(t, "a commit elsewhere", d, before, "abcde")
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// While this process has no connection, SQLite can make the WAL index anew, which then counts from
// the beginning. Commits of others count also when they end at the former count.
func TestChangesOfOthersWithoutConnection(t *testing.T) {
	t.Parallel()
	for commits := range 12 {
		d, path := trackedDB(t)
		before := d.Changes().Now()
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			tx.BreakConnection()
			return nil
		})
		if err == nil {
			t.Fatal("a write on a broken connection succeeded")
		}
		other := openElsewhere(t, path)
		for range commits {
			execute(t, other, "UPDATE links SET created_at = created_at + 1 WHERE id = 'b'")
		}
		execute(t, d, "UPDATE links SET created_at = created_at + 1 WHERE id = 'a'")
		wantChanged(t, fmt.Sprint("after ", commits, " commits elsewhere"), d, before, "abcde")
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A writer that loses its connection again and again, as on a full disk, keeps one file open.
func TestLostConnectionsOpenNoMoreFiles(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	if _, err := db.ConfigVersion(d.Read(t.Context())); err != nil { // a reader stays connected
		t.Fatal(err)
	}
	for range 5 {
		if err := d.Write(t.Context(), func(tx *db.Tx) error { tx.BreakConnection(); return nil }); err == nil {
			t.Fatal("a write on a broken connection succeeded")
		}
		execute(t, d, "UPDATE links SET ext = ext || 'x' WHERE id = 'a'")
	}
	if n := d.Changes().OpenFiles(); n != 1 {
		t.Errorf("%d files are open, want 1", n)
	}
}

// While one goroutine and another process change a row, and others keep what they read of it, no
// reader uses an answer that is older than a write that has returned.
func TestKeptAnswersRacesWithChanges(t *testing.T) {
	t.Parallel()
	d, path := trackedDB(t)
	other := openElsewhere(t, path)
	defer other.Close()
	var acknowledged sync.Map // "a": the newest created_at that a write has returned from
	acknowledged.Store("a", int64(0))
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		all.Go(func() {
			row := []db.TrackedRow{db.RowOf("links", "a")}
			var kept int64
			since := db.Moment(0)
			for known := false; ; {
				select {
				case <-done:
					return
				default:
				}
				oldest, _ := acknowledged.Load("a")
				if !known || !d.Changes().Unchanged(since, row) {
					since = d.Changes().Now()
					if err := d.Read(t.Context()).QueryRow("SELECT created_at FROM links WHERE id = 'a'").
						Scan(&kept); err != nil {
						t.Error(err)
						return
					}
					known = true
				}
				if kept < oldest.(int64) {
					t.Errorf("a reader uses %d after the write of %d has returned", kept, oldest)
					return
				}
			}
		})
	}
	for i := range int64(600) {
		writer := d
		if i%5 == 4 {
			writer = other
		}
		execute(t, writer, "UPDATE links SET created_at = $1 WHERE id = 'a'", i+1)
		acknowledged.Store("a", i+1)
	}
	close(done)
	all.Wait()
}

// Changes are tracked from the first transaction on a new file.
func TestChangesOfNewFile(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), db.Config{Path: filepath.Join(t.TempDir(), "new.db"),
		Log: slog.New(slog.DiscardHandler), TrackChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantChanged(t, "the migrations", d, 0, "abcde")
	before := d.Changes().Now()
	wantChanged(t, "nothing", d, before, "")
	execute(t, d, "INSERT INTO links (id, entry_id, ext, created_at) VALUES ('a', 'a', 'png', 0)")
	execute(t, d, "DELETE FROM links WHERE id = 'a'")
	wantChanged(t, "a deletion", d, before, "a")
}

// PostgreSQL has several processes that write, and tracks nothing.
func TestNoChangesOnPostgres(t *testing.T) {
	t.Parallel()
	if dbtest.Open(t, "postgres").Changes() != nil {
		t.Error("changes are tracked on PostgreSQL")
	}
}

// The cost of a check of a cached answer about an entry five levels deep, beside that of the
// smallest query.
func BenchmarkUnchanged(b *testing.B) {
	d := dbtest.Open(b, "sqlite")
	rows := []db.TrackedRow{db.ConfigRow, db.RowOf("objects", "o")}
	for level := range 5 {
		rows = append(rows, db.RowOf("entries", fmt.Sprint(level)))
	}
	since := d.Changes().Now()
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if !d.Changes().Unchanged(since, rows) {
				b.Fatal("a row has changed")
			}
		}
	})
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			var version int64
			err := d.Read(b.Context()).QueryRow("SELECT value FROM versions WHERE name = 'config'").Scan(&version)
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// withOwnCounters returns a function from names to ids of entries. No two of these entries share a
// counter for themselves or their members. All rows of a database share a few thousand counters.
func withOwnCounters(names ...string) (id func(name string) string) {
	for n := 0; ; n++ {
		id = func(name string) string { return fmt.Sprint(name, n) }
		counters := map[db.TrackedRow]bool{}
		for _, name := range names {
			counters[db.RowOf("entries", id(name))], counters[db.MembersOf(id(name))] = true, true
		}
		if len(counters) == 2*len(names) {
			return id
		}
	}
}

// An entry that is added to a folder, removed from it, or changed in it, changes the folder's
// members, and those of no other folder.
func TestChangesOfMembers(t *testing.T) {
	t.Parallel()
	d, _ := trackedDB(t)
	id := withOwnCounters("root", "from", "to", "other", "x")
	execute(t, d, insertMember, id("root"), nil, aFolder)
	for _, folder := range []string{"from", "to", "other"} {
		execute(t, d, insertMember, id(folder), id("root"), aFolder)
	}
	for _, step := range []struct {
		name, statement string
		args            []any
		want            string
	}{
		{"insert", insertMember, []any{id("x"), id("from"), aFolder}, "from"},
		{"rename", "UPDATE entries SET name = 'y' WHERE id = $1", []any{id("x")}, "from"},
		{"move", "UPDATE entries SET parent_id = $2 WHERE id = $1", []any{id("x"), id("to")}, "from to"},
		{"change of a folder itself", "UPDATE entries SET size = 1 WHERE id = $1", []any{id("other")}, "root"},
		{"insert that an id refuses", insertMember + " ON CONFLICT DO NOTHING", []any{id("x"), id("other"), aFolder}, ""},
		{"delete", "DELETE FROM entries WHERE id = $1", []any{id("x")}, "to"},
	} {
		before := d.Changes().Now()
		execute(t, d, step.statement, step.args...)
		var changed []string
		for _, folder := range []string{"root", "from", "to", "other"} {
			if !d.Changes().Unchanged(before, []db.TrackedRow{db.MembersOf(id(folder))}) {
				changed = append(changed, folder)
			}
		}
		if got := strings.Join(changed, " "); got != step.want {
			t.Errorf("%s: the members of %q have changed, want %q", step.name, got, step.want)
		}
	}
}
