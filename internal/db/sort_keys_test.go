package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/vpath"
)

// manyNames is the number of entries in the tests of sort keys: more than two batches.
const manyNames = 1234

// keyOf returns the key of `Photo n`, by the rule: the number of its digits, and the digits.
func keyOf(n int) string { return fmt.Sprintf("photo %d%d", len(fmt.Sprint(n)), n) }

// upgraded returns a database that was made by a Larder of schema 13 and is migrated. It holds
// entries without keys.
func upgraded(t *testing.T, engine string) *replicaFixture {
	p := newReplicaFixture(t, engine)
	old := p.open(db.Metadata)
	dump, err := os.ReadFile(schemas[0].dumpFile(13, engine))
	no(t, err)
	exec(t, old, string(dump))
	exec(t, old, "DELETE FROM replicas")
	var text strings.Builder
	for i := 1; i <= manyNames; i++ {
		text.WriteString(insertAsBefore(i))
	}
	exec(t, old, text.String())
	no(t, p.open(db.Metadata).Migrate(t.Context()))
	return p
}

// insertAsBefore is the statement by which a Larder of schema 13 inserts `Photo n`.
func insertAsBefore(n int) string {
	return fmt.Sprintf(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at)
		VALUES ('p%05d', 'root1', 'Photo %d', 'photo %d', 1, 5, '', 'u1', 'o1', 0, 0);`, n, n, n)
}

// renameAsBefore is the statement by which a Larder of schema 13 renames an entry.
func renameAsBefore(n, to int) string {
	return fmt.Sprintf("UPDATE entries SET name = 'Photo %d', name_fold = 'photo %d' WHERE id = 'p%05d';", to, to, n)
}

// wantKeys checks the key of every entry but those of the dump, whose names tell it.
func (p *replicaFixture) wantKeys(d *db.DB, count int) {
	p.t.Helper()
	rows, err := d.Read(p.t.Context()).Query("SELECT name, sort_key FROM entries WHERE id LIKE 'p%'")
	no(p.t, err)
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var name, key string
		var n int
		no(p.t, rows.Scan(&name, &key))
		if _, err := fmt.Sscanf(name, "Photo %d", &n); err != nil || key != keyOf(n) {
			p.t.Errorf("%q has the key %q, want %q (%v)", name, key, keyOf(n), err)
		}
		seen++
	}
	no(p.t, rows.Err())
	if seen != count {
		p.t.Errorf("%d entries, want %d", seen, count)
	}
}

func (p *replicaFixture) wantSortKeys(d *db.DB, want bool) {
	p.t.Helper()
	if got, err := d.HasSortKeys(p.t.Context()); err != nil || got != want {
		p.t.Errorf("sort keys are complete: %v, %v; want %v", got, err, want)
	}
}

// hasIndex reports whether an index exists and is valid.
func (p *replicaFixture) hasIndex(d *db.DB, name string) bool {
	p.t.Helper()
	query := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name = $1"
	if d.Dialect() == "postgres" {
		query = "SELECT COUNT(*) FROM pg_index WHERE indexrelid = to_regclass(CAST($1 AS TEXT)) AND indisvalid"
	}
	var n int
	no(p.t, d.Read(p.t.Context()).QueryRow(query, name).Scan(&n))
	return n == 1
}

// A new database has its indexes from its first migration on.
func TestNewDatabaseHasSortKeys(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		d := p.open(db.Metadata)
		no(t, d.Migrate(t.Context()))
		p.wantSortKeys(d, true)
		p.count(d, "SELECT COUNT(*) FROM entries WHERE sort_key <> id", 0) // graveyard and staging
		if !p.hasIndex(d, "entries_sorted") || p.hasIndex(d, "entries_listing") {
			t.Error("the index over folded names is not replaced")
		}
		p.steps(t.Context(), d, "web-1", true)
	})
}

// An older replica works on beside the new schema. It renames entries whose keys the new one has
// stored, and inserts others without keys: the backfill waits for its end, and corrects all.
func TestSortKeysAfterAnOlderReplica(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := upgraded(t, engine)
			d := p.open(db.Metadata)
			no(t, p.join(d, "new"))
			exec(t, d, "INSERT INTO replicas (id, version, schema, audit_schema, seen) SELECT 'old', '1', 13, 2, "+
				"seen FROM replicas")
			p.steps(t.Context(), d, "new", false)
			p.wantSortKeys(d, false)
			exec(t, d, "UPDATE entries SET sort_key = 'photo 177' WHERE id = 'p00077'") // as the new replica stores
			exec(t, d, renameAsBefore(77, 5000)+renameAsBefore(78, 5001)+insertAsBefore(6000))
			exec(t, d, "DELETE FROM replicas WHERE id = 'old'")
			exec(t, d, "DELETE FROM copies")
			if !p.hasIndex(d, "entries_listing") {
				t.Error("the former index is dropped too early")
			}
			p.steps(t.Context(), d, "new", true)
			p.wantSortKeys(d, true)
			p.wantKeys(d, manyNames+1)
			var oldest int
			no(t, d.Read(t.Context()).QueryRow("SELECT oldest FROM schema_version").Scan(&oldest))
			if oldest < 14 { // no older replica may start from now on
				t.Errorf("a replica of schema %d may start", oldest)
			}
			if !p.hasIndex(d, "entries_sorted") || p.hasIndex(d, "entries_listing") {
				t.Error("the former index is not replaced")
			}
		})
	}
}

// The former index stays while a copy goes on in its order.
func TestFormerIndexStaysForCopies(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := upgraded(t, engine)
			d := p.open(db.Metadata)
			p.steps(t.Context(), d, "web-1", false)
			p.wantSortKeys(d, true)
			if !p.hasIndex(d, "entries_listing") {
				t.Error("it is dropped")
			}
			exec(t, d, "DELETE FROM copies")
			p.steps(t.Context(), d, "web-1", true)
			if p.hasIndex(d, "entries_listing") {
				t.Error("it is there")
			}
		})
	}
}

// The backfill is interrupted between two batches, and an entry behind its position is renamed as
// this version does. It continues at its position.
func TestSortKeysGoOnAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := upgraded(t, engine)
			ctx, stop := context.WithCancel(t.Context())
			s := db.Metadata
			s.Steps = append([]db.Step(nil), s.Steps...)
			batches := 0
			for i, step := range s.Steps {
				if step.Batch == nil {
					continue
				}
				s.Steps[i].Batch = func(tx *db.Tx, position string) (string, bool, error) {
					batches++
					next, more, err := step.Batch(tx, position)
					if batches == 2 {
						return next, more, errors.Join(err, errors.New("killed"))
					}
					return next, more, err
				}
			}
			if all, err := p.open(s).RunSteps(ctx, "web-1"); all || err == nil {
				t.Errorf("interrupted: %v, %v", all, err)
			}
			stop()
			d := p.open(db.Metadata)
			p.wantSortKeys(d, false)
			p.count(d, "SELECT COUNT(*) FROM entries WHERE sort_key <> '' AND id <> 'trash'", 500) // the first batch
			exec(t, d, "DELETE FROM copies")
			exec(t, d, "UPDATE entries SET name = 'Photo 7000', name_fold = 'photo 7000', sort_key = 'photo 47000' "+
				"WHERE id = 'p00001'")
			p.steps(t.Context(), d, "web-1", true)
			p.wantKeys(d, manyNames)
		})
	}
}

// Entries are renamed by this version while the backfill runs: it never overwrites the key of a new
// name with that of the former one.
func TestSortKeysBesideRenames(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := upgraded(t, engine)
			d := p.open(db.Metadata)
			exec(t, d, "DELETE FROM copies")
			var writers sync.WaitGroup
			end := make(chan struct{})
			for w := range 2 {
				writers.Go(func() {
					for n := w; ; n += 2 {
						select {
						case <-end:
							return
						default:
						}
						to := 10_000 + n
						err := d.Write(t.Context(), func(tx *db.Tx) error {
							_, err := tx.Exec("UPDATE entries SET name = $1, name_fold = $1, sort_key = $2 WHERE id "+
								"= $3",
								fmt.Sprint("Photo ", to), keyOf(to), fmt.Sprintf("p%05d", 1+n*37%manyNames))
							return err
						})
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			p.steps(t.Context(), d, "web-1", true)
			close(end)
			writers.Wait()
			p.wantKeys(d, manyNames)
		})
	}
}

// The backfill has read a name when another transaction renames the entry: it keeps the new key. On
// SQLite one of them would wait for the end of the other.
func TestSortKeyOfAnEntryRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	p := upgraded(t, "postgres")
	d := p.open(db.Metadata)
	exec(t, d, "DELETE FROM copies")
	renamed, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() {
		ended <- d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE entries SET name = 'Photo 9000', name_fold = 'photo 9000', sort_key = 'photo " +
				"49000' WHERE id = 'p00007'")
			if err != nil {
				return err
			}
			close(renamed)
			<-end
			return nil
		})
	}()
	<-renamed
	go func() {
		_, err := d.RunSteps(t.Context(), "web-1")
		ended <- err
	}()
	for n := 0; n == 0; { // until the backfill waits for the lock on the entry
		no(t, d.Read(t.Context()).QueryRow(`
			SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%computed%'`).Scan(&n))
	}
	close(end)
	no(t, <-ended)
	no(t, <-ended)
	p.wantKeys(d, manyNames)
}

// The index holds a name of 255 characters three times: PostgreSQL refuses rows of more than 2,704
// bytes.
func TestLongestNamesFitTheIndex(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		d := p.open(db.Metadata)
		no(t, d.Migrate(t.Context()))
		id := strings.Repeat("0123456789abcdef", 2) + "----" // as long as a UUID
		for n, chars := range []struct{ first, count, step rune }{
			{0x20000, 40_000, 7919}, // of four bytes
			{0x1f80, 48, 11},        // of three bytes, and of five when folded
		} {
			var name strings.Builder
			for i := range rune(255) { // in no order, so that nothing is compressed
				name.WriteRune(chars.first + i*chars.step%chars.count)
			}
			no(t, p.insertNamed(d, fmt.Sprint(id[:35], n), id, name.String()))
		}
	})
}

// insertNamed inserts an entry as package files does.
func (p *replicaFixture) insertNamed(d *db.DB, id, parent, name string) error {
	return d.Write(p.t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(`
			INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, manual_position, created_at, updated_at, sort_key)
			VALUES ($1, $2, $3, $4, 1, 9000000000000, '', $2, 'o1', 9000000000000, 0, 0, $5)`, id, parent, name,
			vpath.Fold(name), vpath.SortKey(name))
		return err
	})
}
