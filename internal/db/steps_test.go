package db_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// rows is the number of settings that the backfill of these tests goes through, pieceOf the number
// of settings in a batch.
const (
	rows    = 95
	pieceOf = 10
)

// filling is a future schema whose two steps build an index over the values that the second step
// fills in.
type filling struct {
	batches atomic.Int64
	before  func(n int64) // called before batch n, from 1
}

func (f *filling) schema(t *testing.T) db.Schema {
	s := later(t, 0)
	s.Steps = []db.Step{
		{Name: "index of settings", After: newestVersion(t) + 1,
			Index: db.Index{Name: "settings_filled", On: "settings (value) WHERE value LIKE 'x%'"}},
		{Name: "fill settings", After: newestVersion(t) + 1, Batch: f.batch},
	}
	return s
}

// batch puts an x before the next values.
func (f *filling) batch(tx *db.Tx, position string) (next string, more bool, err error) {
	if n := f.batches.Add(1); f.before != nil {
		f.before(n)
	}
	err = tx.QueryRow(
		"SELECT COALESCE(MAX(name), $1) FROM (SELECT name FROM settings WHERE name > $1 ORDER BY name LIMIT "+
			strconv.Itoa(pieceOf)+") piece", position).Scan(&next)
	if err != nil || next == position {
		return next, false, err
	}
	_, err = tx.Exec("UPDATE settings SET value = 'x' || value WHERE name > $1 AND name <= $2", position, next)
	return next, true, err
}

// fill inserts the rows for the steps.
func (p *replicaFixture) fill(d *db.DB) {
	p.t.Helper()
	no(p.t, p.open(db.Metadata).Migrate(p.t.Context())) // a new database would need no steps
	no(p.t, p.join(d, "web-1"))
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "INSERT INTO settings (name, value) VALUES ('n%03d', '%d');\n", i, i)
	}
	exec(p.t, d, text.String())
}

// complete checks that both steps are complete, and that each row was filled in once.
func (p *replicaFixture) complete(d *db.DB) {
	p.t.Helper()
	for _, name := range []string{"index of settings", "fill settings"} {
		if ended, err := d.Completed(p.t.Context(), name); err != nil || !ended {
			p.t.Errorf("%s is complete: %v, %v", name, ended, err)
		}
	}
	p.count(d, "SELECT COUNT(*) FROM settings WHERE value LIKE 'x%' AND value NOT LIKE 'xx%'", rows)
}

func (p *replicaFixture) count(d *db.DB, query string, want int) {
	p.t.Helper()
	var got int
	if err := d.Read(p.t.Context()).QueryRow(query).Scan(&got); err != nil || got != want {
		p.t.Errorf("%s: %d, %v; want %d", query, got, err, want)
	}
}

func (p *replicaFixture) steps(ctx context.Context, d *db.DB, holder string, want bool) {
	p.t.Helper()
	if all, err := d.RunSteps(ctx, holder); err != nil || all != want {
		p.t.Errorf("%s: all steps are complete: %v, %v; want %v", holder, all, err, want)
	}
}

// The steps of the metadata, on which an upgrade relies.
func TestStepsAreWellFormed(t *testing.T) {
	t.Parallel()
	batch := func(*db.Tx, string) (string, bool, error) { return "", false, nil }
	index := db.Index{Name: "i", On: "a (n)"}
	if err := db.CheckSteps(db.Metadata); err != nil {
		t.Error(err)
	}
	for i, wrong := range [][]db.Step{
		{{After: 1, Batch: batch}},
		{{Name: "a", Batch: batch}},
		{{Name: "a", After: newestVersion(t) + 1, Batch: batch}},
		{{Name: "a", After: 1}},
		{{Name: "a", After: 1, Batch: batch, Index: index}},
		{{Name: "a", After: 1, Batch: batch}, {Name: "a", After: 1, Index: index}},
	} {
		s := db.Metadata
		s.Steps = wrong
		if db.CheckSteps(s) == nil {
			t.Errorf("the steps %d are taken for well-formed", i)
		}
	}
}

// Steps run in their order, in as many batches as they need, and only once.
func TestSteps(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		d := p.open(f.schema(t))
		p.fill(d)
		for _, name := range []string{"index of settings", "fill settings"} {
			if ended, err := d.Completed(t.Context(), name); err != nil || ended {
				t.Errorf("%s is complete at first: %v, %v", name, ended, err)
			}
		}
		if _, err := d.Completed(t.Context(), "nothing"); err == nil {
			t.Error("there is a step of an unknown name")
		}
		p.steps(t.Context(), d, "web-1", true)
		p.complete(d)
		p.steps(t.Context(), p.open(f.schema(t)), "web-2", true)
		if n := f.batches.Load(); n != rows/pieceOf+2 {
			t.Errorf("%d batches", n)
		}
	})
}

// A step that is interrupted between two batches, or whose batch fails, continues after the last
// committed batch.
func TestStepGoesOnWhereItWasBrokenOff(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		d := p.open(f.schema(t))
		p.fill(d)
		ctx, stop := context.WithCancel(t.Context())
		f.before = func(n int64) {
			if n == 4 {
				stop()
			}
		}
		if all, err := d.RunSteps(ctx, "web-1"); all || !errors.Is(err, context.Canceled) {
			t.Errorf("broken off: %v, %v", all, err)
		}
		if ended, err := d.Completed(t.Context(), "fill settings"); err != nil || ended {
			t.Errorf("complete half way: %v, %v", ended, err)
		}
		f.before = func(n int64) {
			if n == 7 {
				panic("a fault of the step")
			}
		}
		if all, err := d.RunSteps(t.Context(), "web-1"); all || err == nil {
			t.Errorf("with a fault: %v, %v", all, err)
		}
		p.steps(t.Context(), d, "web-2", true) // the lease was released: no need to wait for its end
		p.complete(d)
		// The fourth batch is committed by SQLite and undone by PostgreSQL, whose context has
		// ended. The seventh was undone.
		if n := f.batches.Load(); n != rows/pieceOf+3 && n != rows/pieceOf+4 {
			t.Errorf("%d batches", n)
		}
	})
}

// When the lease of a killed replica has expired, another replica continues.
func TestStepOfAKilledReplicaIsTakenOver(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		second := p.open(f.schema(t))
		p.fill(second)
		exec(t, second,
			fmt.Sprintf(
				"INSERT INTO schema_steps (name, position, holder, held_until) VALUES ('fill settings', '', "+
					"'killed', %d)", p.now.Load()+20_000))
		p.steps(t.Context(), second, "web-2", false)
		p.count(second, "SELECT COUNT(*) FROM settings WHERE value LIKE 'x%'", 0)
		p.pass(20*time.Second - time.Millisecond)
		p.steps(t.Context(), second, "web-2", false)
		p.pass(time.Millisecond)
		p.steps(t.Context(), second, "web-2", true)
		p.complete(second)
	})
}

// A batch of a replica that has lost its lease changes nothing.
func TestStepWhoseLeaseIsLost(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		d := p.open(f.schema(t))
		p.fill(d)
		f.before = func(n int64) {
			if n == 2 {
				f.before = nil
				p.pass(time.Minute)
			}
		}
		batch := f.batch
		s := f.schema(t)
		s.Steps[1].Batch = func(tx *db.Tx, position string) (string, bool, error) {
			next, more, err := batch(tx, position)
			if f.batches.Load() == 2 { // another replica takes over before the next batch
				_, steal := tx.Exec("UPDATE schema_steps SET holder = 'web-2', held_until = held_until + 3600000")
				err = errors.Join(err, steal)
			}
			return next, more, err
		}
		if all, err := p.open(s).RunSteps(t.Context(), "web-1"); all || err == nil ||
			!strings.Contains(err.Error(), "lease") {
			t.Errorf("after the lease was lost: %v, %v", all, err)
		}
		p.count(d, "SELECT COUNT(*) FROM settings WHERE value LIKE 'x%'", 2*pieceOf)
		p.steps(t.Context(), d, "web-1", false)
		p.pass(2 * time.Hour)
		p.steps(t.Context(), d, "web-1", true)
		p.complete(d)
	})
}

// Two replicas at once run each step once.
func TestStepsOfTwoReplicas(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		one, two := p.open(f.schema(t)), p.open(f.schema(t))
		p.fill(one)
		var both sync.WaitGroup
		for id, d := range map[string]*db.DB{"web-1": one, "web-2": two} {
			both.Go(func() {
				for {
					all, err := d.RunSteps(t.Context(), id)
					no(t, err)
					if all || err != nil {
						return
					}
					<-time.After(time.Millisecond)
				}
			})
		}
		both.Wait()
		p.complete(one)
		p.complete(two)
		if n := f.batches.Load(); n != rows/pieceOf+2 {
			t.Errorf("%d batches", n)
		}
	})
}

// A backfill waits for replicas that would write rows without the filled-in value, and prevents
// them from starting afterwards. An index does not wait.
func TestBackfillWaitsForOlderReplicas(t *testing.T) {
	t.Parallel()
	eachReplicaFixture(t, func(t *testing.T, p *replicaFixture) {
		var f filling
		old, next := p.open(db.Metadata), p.open(f.schema(t))
		no(t, p.join(old, "old"))
		p.fill(next)
		p.steps(t.Context(), next, "web-1", false)
		if ended, err := next.Completed(t.Context(), "index of settings"); err != nil || !ended ||
			f.batches.Load() != 0 {
			t.Errorf("the index is complete: %v, %v, after %d batches", ended, err, f.batches.Load())
		}
		no(t, old.Leave(t.Context(), "old"))
		p.steps(t.Context(), next, "web-1", true)
		p.complete(next)
		is(t, p.join(old, "old"), db.ErrTooOld)
	})
}

// On PostgreSQL an interrupted build leaves an invalid index, which is dropped and built again.
func TestIndexThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	p := newReplicaFixture(t, "postgres")
	var f filling
	d := p.open(f.schema(t))
	p.fill(d)
	const broken = "SELECT COUNT(*) FROM pg_index WHERE indexrelid = to_regclass('settings_filled') AND NOT indisvalid"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() { // the build waits for transactions that have changed the table
		ended <- d.Write(t.Context(), func(tx *db.Tx) error {
			if err := insertSetting(tx, "other", "other"); err != nil {
				return err
			}
			close(begun)
			<-end
			return errors.New("not wanted")
		})
	}()
	<-begun
	go func() {
		_, err := d.RunSteps(ctx, "web-1")
		ended <- err
	}()
	for n := 0; n == 0; {
		no(t, d.Read(t.Context()).QueryRow(broken).Scan(&n))
	}
	if complete, err := d.Completed(t.Context(), "index of settings"); err != nil || complete {
		t.Errorf("complete while it is built: %v, %v", complete, err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
	for n := 1; n > 0; { // the server notices the cancellation later, and must not complete the index before
		no(t, d.Read(t.Context()).QueryRow(
			"SELECT COUNT(*) FROM pg_stat_progress_create_index WHERE datname = current_database()").Scan(&n))
	}
	close(end)
	<-ended
	p.count(d, broken, 1)
	p.steps(t.Context(), d, "web-2", true)
	p.count(d, broken, 0)
	p.complete(d)
}

// While the server still builds an index for a replica that is gone, the index is not dropped.
func TestIndexThatIsStillBuilt(t *testing.T) {
	t.Parallel()
	p := newReplicaFixture(t, "postgres")
	var f filling
	d := p.open(f.schema(t))
	p.fill(d)
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() {
		ended <- d.Write(t.Context(), func(tx *db.Tx) error {
			if err := insertSetting(tx, "other", "other"); err != nil {
				return err
			}
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	go func() {
		ended <- d.ExecOutside(t.Context(),
			"CREATE INDEX CONCURRENTLY settings_filled ON settings (value) WHERE value LIKE 'x%'")
	}()
	for n := 0; n == 0; {
		no(t, d.Read(t.Context()).QueryRow(
			"SELECT COUNT(*) FROM pg_stat_progress_create_index WHERE datname = current_database() AND index_relid = "+
				"to_regclass('settings_filled')").Scan(&n))
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // dropping it would wait for the build
	defer cancel()
	p.steps(soon, d, "web-2", false)
	close(end)
	no(t, <-ended)
	no(t, <-ended)
	p.count(d, "SELECT COUNT(*) FROM pg_index WHERE indexrelid = to_regclass('settings_filled') AND indisvalid", 1)
	exec(t, d, "DELETE FROM settings WHERE name = 'other'")
	p.steps(t.Context(), d, "web-2", true)
	p.complete(d)
}

// A copy of the rows has no index: the catalogue decides what is complete.
func TestIndexIsAskedOfTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := newReplicaFixture(t, engine)
			var f filling
			d := p.open(f.schema(t))
			p.fill(d)
			p.steps(t.Context(), d, "web-1", true)
			exec(t, d, "DROP INDEX settings_filled")
			again := p.open(f.schema(t))
			if complete, err := again.Completed(t.Context(), "index of settings"); err != nil || complete {
				t.Errorf("complete without the index: %v, %v", complete, err)
			}
			p.steps(t.Context(), again, "web-1", true)
			p.complete(again)
		})
	}
}
