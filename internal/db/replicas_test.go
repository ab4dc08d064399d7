package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// later returns the schema of the metadata with future migrations. Their oldest versions are given
// relative to the newest version of this binary.
func later(t *testing.T, oldest ...int) db.Schema {
	t.Helper()
	files, newest := fstest.MapFS{}, newestVersion(t)
	names, err := fs.Glob(db.Metadata.Files, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(db.Metadata.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	for i, add := range oldest {
		text := fmt.Sprintf("-- oldest: %04d: a test\nCREATE TABLE later_%d (n BIGINT);\n", newest+add, i)
		files[fmt.Sprintf("migrations/%04d_later.sql", newest+1+i)] = &fstest.MapFile{Data: []byte(text)}
	}
	schema := db.Metadata
	schema.Files = files
	return schema
}

func newestVersion(t *testing.T) int {
	t.Helper()
	newest, err := db.SchemaVersion()
	if err != nil {
		t.Fatal(err)
	}
	return newest
}

// place is a database that several binaries open, with a clock that the test moves.
type replicaFixture struct {
	t   *testing.T
	cfg db.Config
	now atomic.Int64 // ms
	log bytes.Buffer
}

func newReplicaFixture(t *testing.T, engine string) *replicaFixture {
	p := &replicaFixture{t: t, cfg: dbtest.Config(t, engine)}
	p.now.Store(1_700_000_000_000)
	p.cfg.Now = func() time.Time { return time.UnixMilli(p.now.Load()) }
	p.cfg.Log = slog.New(slog.NewTextHandler(&p.log, nil))
	return p
}

func (p *replicaFixture) open(schema db.Schema) *db.DB {
	p.t.Helper()
	cfg := p.cfg
	cfg.Schema = schema
	d, err := db.Open(p.t.Context(), cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (p *replicaFixture) join(d *db.DB, id string) error {
	return d.Join(p.t.Context(), db.Replica{ID: id, Version: "1.2.3", AuditSchema: 2})
}

func (p *replicaFixture) pass(d time.Duration) { p.now.Add(d.Milliseconds()) }

// ids lists the replicas that were seen in the last 5 minutes.
func (p *replicaFixture) ids(d *db.DB) string {
	p.t.Helper()
	all, err := d.Replicas(p.t.Context(), 5*time.Minute)
	if err != nil {
		p.t.Fatal(err)
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

func eachReplicaFixture(t *testing.T, test func(t *testing.T, p *replicaFixture)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newReplicaFixture(t, engine))
		})
	}
}

func no(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// is checks that an error is of one kind and that its message contains the words.
func is(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
}

func TestEveryMigrationStatesTheOldestSchemaBesideIt(t *testing.T) {
	t.Parallel()
	for _, s := range schemas {
		if oldest, err := db.Oldest(s.definition); err != nil || oldest < 1 {
			t.Errorf("%s: %d, %v", s.name, oldest, err)
		}
	}
	for text, valid := range map[string]bool{
		"-- oldest: 0001: a reason\nSELECT 1":   true,
		"SELECT 1":                              false,
		"\n-- oldest: 0001: a reason\nSELECT 1": false,
		"-- oldest: 0001\nSELECT 1":             false,
		"-- oldest: 1: a reason\nSELECT 1":      false,
		"-- oldest: 0000: a reason\nSELECT 1":   false,
		"-- oldest: 0002: a reason\nSELECT 1":   false,
	} {
		_, err := db.Oldest(db.Schema{Files: fstest.MapFS{
			"migrations/0001_start.sql": &fstest.MapFile{Data: []byte(text)}}})
		if (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A migration that running replicas cannot work with waits for them: the start fails, names the
// replica, and changes nothing.
func TestMigrationWaitsForOlderReplicas(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		newest := newestVersion(t)
		old := p.open(db.Metadata)
		no(t, p.join(old, "web-1"))
		beside, without := p.open(later(t, 0)), p.open(later(t, 0, 2, 0))
		no(t, p.join(beside, "web-2"))
		for range 2 {
			is(t, p.join(without, "web-3"), db.ErrOlderReplica, "web-1 (Larder 1.2.3)",
				fmt.Sprintf("version %d", newest+2), "Stop that replica")
			no(t, old.Leave(t.Context(), "web-1"))
			is(t, without.Migrate(t.Context()), db.ErrOlderReplica, "web-2") // it lacks one version, too
			// older than the schema, which allows it
			no(t, p.join(old, "web-1"))
		}
		if version, err := old.SchemaVersion(t.Context()); err != nil || version != newest+1 ||
			p.ids(old) != "web-1 web-2" {
			t.Errorf("version %d (%v) with %s", version, err, p.ids(old))
		}
		no(t, old.Leave(t.Context(), "web-1"))
		no(t, old.Leave(t.Context(), "web-2"))
		no(t, p.join(without, "web-3"))
		is(t, p.join(old, "web-1"), db.ErrTooOld, "newer")
		is(t, p.join(beside, "web-2"), db.ErrTooOld, fmt.Sprintf("needs a Larder that knows version %d,", newest+2))
		if got := p.ids(old); got != "web-3" {
			t.Errorf("replicas %s", got)
		}
	})
}

// A replica that was killed counts as running for 5 minutes. One that only stood still for so long
// checks the schema before it continues.
func TestReplicasThatAreSilent(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		old, next := p.open(db.Metadata), p.open(later(t, 1))
		silent, steady := db.Replica{ID: "silent"}, db.Replica{ID: "steady"}
		no(t, p.join(old, "silent"))
		no(t, p.join(old, "steady"))
		p.pass(4 * time.Minute)
		no(t, old.Heartbeat(t.Context(), steady))
		p.pass(59 * time.Second)
		no(t, old.SweepReplicas(t.Context()))
		if got := p.ids(old); got != "silent steady" {
			t.Errorf("after 4:59 replicas %s", got)
		}
		is(t, p.join(next, "next"), db.ErrOlderReplica, "silent")
		p.pass(time.Second)
		is(t, p.join(next, "next"), db.ErrOlderReplica, "steady")
		no(t, old.SweepReplicas(t.Context()))
		no(t, old.Heartbeat(t.Context(), silent)) // no migration has run meanwhile
		if got := p.ids(old); got != "silent steady" {
			t.Errorf("replicas %s", got)
		}
		p.pass(5 * time.Minute)
		no(t, p.join(next, "next"))
		is(t, old.Heartbeat(t.Context(), silent), db.ErrTooOld)
		no(t, old.SweepReplicas(t.Context()))
		is(t, old.Heartbeat(t.Context(), steady), db.ErrTooOld)
		no(t, next.Heartbeat(t.Context(), db.Replica{ID: "next"}))
		if got := p.ids(old); got != "next" {
			t.Errorf("replicas %s", got)
		}
	})
}

// If an old and a new replica start at the same moment, the later one is refused.
func TestReplicasThatStartTogether(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		for round := range 4 {
			t.Run(fmt.Sprint(engine, round), func(t *testing.T) {
				t.Parallel()
				p := newReplicaFixture(t, engine)
				old, next := p.open(db.Metadata), p.open(later(t, 1))
				no(t, old.Migrate(t.Context()))
				var ofOld, ofNext error
				var both sync.WaitGroup
				both.Go(func() { ofOld = p.join(old, "old") })
				both.Go(func() { ofNext = p.join(next, "next") })
				both.Wait()
				switch {
				case ofOld == nil:
					is(t, ofNext, db.ErrOlderReplica)
				case ofNext == nil:
					is(t, ofOld, db.ErrTooOld)
				default:
					t.Errorf("both fail: %v, %v", ofOld, ofNext)
				}
			})
		}
	}
}

// A process that uses the database alone ignores rows that killed processes have left.
func TestReplicaThatIsAlone(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		alone := db.Replica{ID: "next", Version: "2", Alone: true}
		no(t, p.open(db.Metadata).Join(t.Context(), alone)) // an empty database has no table of replicas
		next := p.open(later(t, 1))
		no(t, next.Join(t.Context(), alone))
		all, err := next.Replicas(t.Context(), time.Minute)
		if want := (db.Replica{ID: "next", Version: "2", Schema: newestVersion(t) + 1,
			Seen: p.now.Load()}); err != nil || len(all) != 1 || all[0] != want {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// Rows that an older version would misread are not written while one is running, and prevent it
// from starting afterwards.
func TestRequiredSchema(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		newest := newestVersion(t)
		old, next := p.open(db.Metadata), p.open(later(t, 0))
		no(t, p.join(old, "old"))
		no(t, p.join(next, "next"))
		require := func() error {
			return next.Write(t.Context(), func(tx *db.Tx) error { return tx.RequireSchema(newest + 1) })
		}
		is(t, require(), db.ErrOlderReplica, "old (Larder 1.2.3)", fmt.Sprintf("%d is needed", newest+1))
		no(t, old.Leave(t.Context(), "old"))
		no(t, p.join(old, "old"))
		no(t, old.Leave(t.Context(), "old"))
		no(t, require())
		no(t, require())
		is(t, p.join(old, "old"), db.ErrTooOld)
		no(t, next.Migrate(t.Context())) // the requirement is kept
		is(t, p.join(old, "old"), db.ErrTooOld)
	})
}

// Versions before 0013 write no rows. On PostgreSQL, where several replicas may run, the start logs
// that.
func TestReplicasThatLeaveNoSign(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		d := p.open(db.Metadata)
		no(t, p.join(d, "first"))
		if strings.Contains(p.log.String(), "do not register") {
			t.Errorf("a first start logs %s", p.log.String())
		}
		exec(t, d, "DROP TABLE replicas")
		no(t, p.open(later(t, 1)).Migrate(context.Background()))
		if warned := strings.Contains(p.log.String(), "do not register"); warned != (d.Dialect() == "postgres") {
			t.Errorf("logged %s", p.log.String())
		}
	})
}

// An older database gets the column oldest, even if there is nothing else to migrate.
func TestVersionTableOfBefore(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		d := p.open(db.Metadata)
		no(t, d.Migrate(t.Context()))
		exec(t, d, "ALTER TABLE schema_version DROP COLUMN oldest")
		no(t, d.Migrate(t.Context()))
		want, err := db.Oldest(db.Metadata)
		no(t, err)
		var got int
		no(t, d.Read(t.Context()).QueryRow("SELECT oldest FROM schema_version").Scan(&got))
		if got != want {
			t.Errorf("oldest is %d, want %d", got, want)
		}
	})
}

// Without a clock of a test, replicas follow the clock of the database, in milliseconds.
func TestReplicasFollowTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		p.cfg.Now = nil
		d := p.open(db.Metadata)
		before := time.Now().Add(-time.Minute)
		no(t, p.join(d, "web-1"))
		all, err := d.Replicas(t.Context(), time.Minute)
		if err != nil || len(all) != 1 || time.UnixMilli(all[0].Seen).Before(before) || time.UnixMilli(all[0].Seen).
			After(time.Now().Add(time.Minute)) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
