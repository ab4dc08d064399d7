package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/kv"
	"larder/internal/kv/kvtest"
	"larder/internal/kv/postgres"
)

func TestContract(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "postgres")
	kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Store {
		return prefixed{postgres.New(d, postgres.Options{Now: now}), t.Name()}
	})
}

// Two stores on one database are two replicas. A store that is opened later is one after a crash.
func TestReplicasShareBuckets(t *testing.T) {
	t.Parallel()
	d, clock := dbtest.Open(t, "postgres"), kvtest.NewClock()
	one, two := postgres.New(d, postgres.Options{Now: clock.Now}), postgres.New(d, postgres.Options{Now: clock.Now})
	var all sync.WaitGroup
	var mu sync.Mutex
	allowed := 0
	for i := range 60 {
		store := []*postgres.Store{one, two}[i%2]
		all.Go(func() {
			r, err := store.Take(t.Context(), "k", 25, time.Hour, 1)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if r.Allowed {
				allowed++
			}
		})
	}
	all.Wait()
	if allowed != 25 {
		t.Errorf("%d of 60 takes allowed by two stores, want 25", allowed)
	}
	later := postgres.New(d, postgres.Options{Now: clock.Now})
	if r, err := later.Take(t.Context(), "k", 25, time.Hour, 1); err != nil || r.Allowed {
		t.Errorf("a store that is opened later: %+v, %v", r, err)
	}
}

// Without a clock of its own a store follows the clock of the database.
func TestClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "postgres")
	s := postgres.New(d, postgres.Options{})
	r, err := s.Take(t.Context(), "k", 1, time.Hour, 1)
	if err != nil || !r.Allowed || r.Reset != time.Hour {
		t.Fatalf("%+v, %v", r, err)
	}
	var ahead int64 // µs
	const query = "SELECT full_at - (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT FROM guesses"
	if err := d.Read(t.Context()).QueryRow(query).Scan(&ahead); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(ahead) * time.Microsecond; got > time.Hour || got < 50*time.Minute {
		t.Errorf("an empty bucket of an hour is full in %v", got)
	}
	r, err = s.Take(t.Context(), "k", 1, time.Hour, 1)
	if err != nil || r.Allowed || r.RetryAfter > time.Hour || r.RetryAfter < 50*time.Minute {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Take(t.Context(), "k", 1, time.Hour, -1); err != nil || !r.Allowed || r.Reset != 0 {
		t.Errorf("given back: %+v, %v", r, err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if n := rows(t, d); n != 0 {
		t.Errorf("%d rows are left of a full bucket", n)
	}
}

// A flood of refused takes writes nothing.
func TestRefusalsDoNotWrite(t *testing.T) {
	t.Parallel()
	d, clock := dbtest.Open(t, "postgres"), kvtest.NewClock()
	s := postgres.New(d, postgres.Options{Now: clock.Now})
	version := func() (xmin string) {
		const query = "SELECT xmin::TEXT || ' ' || xmax::TEXT FROM guesses"
		if err := d.Read(t.Context()).QueryRow(query).Scan(&xmin); err != nil {
			t.Fatal(err)
		}
		return xmin
	}
	if _, err := s.Take(t.Context(), "k", 2, time.Hour, 2); err != nil {
		t.Fatal(err)
	}
	before := version()
	for range 20 {
		if r, err := s.Take(t.Context(), "k", 2, time.Hour, 1); err != nil || r.Allowed {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if after := version(); after != before {
		t.Errorf("the row was %s, is %s", before, after)
	}
	if r, err := s.Take(t.Context(), "untouched", 2, time.Hour, 3); err != nil || r.Allowed || rows(t, d) != 1 {
		t.Errorf("more than a bucket holds: %+v, %v, %d rows", r, err, rows(t, d))
	}
}

func TestSweepLeavesWhatCounts(t *testing.T) {
	t.Parallel()
	d, clock := dbtest.Open(t, "postgres"), kvtest.NewClock()
	s := postgres.New(d, postgres.Options{Now: clock.Now})
	if _, err := s.Take(t.Context(), "k", 2, time.Hour, 1); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		rows  int
	}{{30*time.Minute - time.Microsecond, 1}, {time.Microsecond, 0}} {
		clock.Advance(step.after)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := rows(t, d); n != step.rows {
			t.Errorf("%d rows, want %d", n, step.rows)
		}
	}
}

func rows(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	if err := d.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM guesses").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// prefixed separates the buckets of tests that share a database.
type prefixed struct {
	kv.Store
	prefix string
}

func (p prefixed) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	return p.Store.Take(ctx, p.prefix+" "+key, limit, period, cost)
}
