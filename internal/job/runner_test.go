package job_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/job"
)

// fixture is a database with any number of runners and a clock that the test moves.
type fixture struct {
	t   *testing.T
	db  *db.DB
	now atomic.Int64 // ms
}

func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, db: d}
		f.now.Store(1_800_000_000_000)
		test(t, f)
	})
}

func (f *fixture) clock() time.Time        { return time.UnixMilli(f.now.Load()) }
func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

func (f *fixture) runner(h job.Handler) *job.Runner {
	r := job.NewRunner(job.Config{DB: f.db, IDs: ident.New(rand.Reader), Now: f.clock,
		Log: slog.New(slog.DiscardHandler)})
	r.Handle("move", h)
	return r
}

func (f *fixture) write(fn func(tx *db.Tx) error) {
	f.t.Helper()
	if err := f.db.Write(f.t.Context(), fn); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) insert(id string) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error {
		return job.Insert(tx, job.Spec{ID: id, Type: "move", OwnerID: "ann", Payload: "of " + id,
			CreatedAt: f.now.Load()})
	})
}

func (f *fixture) exec(statement string, args ...any) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error { _, err := tx.Exec(statement, args...); return err })
}

func (f *fixture) job(id string) job.Job {
	f.t.Helper()
	j, err := job.ByID(f.db.Read(f.t.Context()), "ann", id)
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

// runNext runs the next job that is due and checks whether there was one.
func (f *fixture) runNext(r *job.Runner, want bool) {
	f.t.Helper()
	if ran, err := r.RunNext(f.t.Context()); err != nil || ran != want {
		f.t.Fatalf("a job was run: %v, %v; want %v", ran, err, want)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("timeout waiting until %s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// waitForRenewal advances the clock until the lease of the running job is renewed and its progress
// written.
func (f *fixture) waitForRenewal() {
	f.t.Helper()
	f.advance(20 * time.Second)
	until(f.t, "the lease is renewed", func() bool { return f.queryInt("SELECT due FROM jobs") == f.now.Load()+8_000 })
}

func (f *fixture) queryInt(query string) (n int64) {
	f.t.Helper()
	if err := f.db.Read(f.t.Context()).QueryRow(query).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func TestJobIsDone(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		if j := f.job("j"); j.Status != "pending" || j.Progress != 0 || j.CompletedAt != nil {
			t.Errorf("before: %+v", j)
		}
		r := f.runner(func(_ context.Context, run *job.Run) error {
			if run.ID != "j" || run.OwnerID != "ann" || run.Payload != "of j" || f.job("j").Status != "running" {
				t.Errorf("run %+v, row %+v", run, f.job("j"))
			}
			f.advance(time.Second)
			return nil
		})
		f.runNext(r, true)
		if j := f.job("j"); j.Status != "completed" || j.Progress != 100 || j.ErrorMessage != nil ||
			*j.CompletedAt != j.CreatedAt+1000 {
			t.Errorf("after: %+v", j)
		}
		f.runNext(r, false)
	})
}

func TestFaultEndsAJob(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		r := f.runner(func(context.Context, *job.Run) error {
			return fmt.Errorf("move: %w", fault.New(fault.Forbidden, "You may not.").WithCause(errors.New("secret")))
		})
		f.runNext(r, true)
		if j := f.job("j"); j.Status != "failed" || j.ErrorMessage == nil || *j.ErrorMessage != "You may not." ||
			j.CompletedAt == nil {
			t.Errorf("job %+v", j)
		}
		f.advance(24 * time.Hour)
		f.runNext(r, false)
	})
}

// The cleanup of a job runs in the transaction that marks it as failed for good, and in no other:
// neither when the job is retried nor when it is done. When the cleanup fails, the job has not
// failed.
func TestFailedJobIsUndoneOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var outcome, trouble error
		undone := 0
		r := f.runner(func(context.Context, *job.Run) error { return outcome })
		r.OnFailure("move", func(tx *db.Tx, run *job.Run) error {
			if run.ID == "" || run.OwnerID != "ann" {
				t.Errorf("asked to undo %+v", run)
			}
			if trouble == nil {
				undone++
			}
			return trouble
		})
		broken := errors.New("broken")
		for _, c := range []struct {
			id      string
			outcome error
			undo    int
			status  string
		}{
			{"done", nil, 0, job.Completed},
			{"refused", fault.New(fault.Forbidden, "You may not."), 1, job.Failed},
			{"broken", broken, 0, job.Pending},
		} {
			f.insert(c.id)
			outcome, undone = c.outcome, 0
			f.runNext(r, true)
			if got := f.job(c.id); got.Status != c.status || undone != c.undo {
				t.Errorf("%s: %s, and undone %d times; want %s and %d", c.id, got.Status, undone, c.status, c.undo)
			}
		}
		for f.job("broken").Status == job.Pending {
			f.advance(time.Hour)
			f.runNext(r, true)
			if gone := f.job("broken").Status == job.Failed; gone != (undone == 1) {
				t.Errorf("given up: %v, and undone %d times", gone, undone)
			}
		}
		f.insert("late")
		outcome, trouble = fault.New(fault.Forbidden, "You may not."), broken
		f.runNext(r, true)
		if got := f.job("late"); got.Status == job.Failed {
			t.Error("failed without giving anything back")
		}
		trouble, undone = nil, 0
		f.advance(time.Minute)
		f.runNext(r, true)
		if got := f.job("late"); got.Status != job.Failed || undone != 1 {
			t.Errorf("%s, and undone %d times", got.Status, undone)
		}
	})
}

// Errors of stores and databases are retried, later each time, up to a limit. A panic is such an
// error.
func TestFailuresAreRetried(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for message, failure := range map[string]func() error{
			"The job failed after several attempts. Start it again later.": func() error {
				return errors.New("path /secret")
			},
			"The store is away.": func() error { return fault.New(fault.Unavailable, "The store is away.") },
			"panic":              func() error { panic("injected") },
		} {
			f.insert(message)
			tries := 0
			r := f.runner(func(context.Context, *job.Run) error { tries++; return failure() })
			f.runNext(r, true)
			f.runNext(r, false)
			f.advance(4999 * time.Millisecond)
			f.runNext(r, false)
			f.advance(time.Millisecond)
			f.runNext(r, true)
			if j := f.job(message); j.Status != "pending" || j.ErrorMessage != nil || tries != 2 {
				t.Errorf("%q: %+v after %d tries", message, j, tries)
			}
			for range 10 {
				f.advance(10 * time.Minute)
				f.runNext(r, true)
			}
			want := message
			if message == "panic" {
				want = "The job failed after several attempts. Start it again later."
			}
			if j := f.job(message); j.Status != "failed" || *j.ErrorMessage != want || tries != 12 {
				t.Errorf("%q: %+v after %d tries", message, j, tries)
			}
			f.advance(time.Hour)
			f.runNext(r, false)
		}
	})
}

// Attempts are bounded only as long as they make no progress.
func TestProgressGivesNewAttempts(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		r := f.runner(func(ctx context.Context, run *job.Run) error {
			run.SetRemaining(100)
			run.AddProgress(1)
			if err := f.db.Write(ctx, func(tx *db.Tx) error { return run.RecordBytes(tx, 1) }); err != nil {
				t.Error(err)
			}
			return errors.New("no more for now")
		})
		for range 20 {
			f.runNext(r, true)
			f.advance(5 * time.Second)
		}
		if j := f.job("j"); j.Status != "pending" {
			t.Errorf("job %+v", j)
		}
	})
}

// The lease of a crashed holder expires, and another holder continues from the saved payload. The
// first holder cannot change anything any more.
func TestLapsedLeaseIsTakenOver(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		began, lost := make(chan struct{}), make(chan error, 2)
		first := f.runner(func(ctx context.Context, run *job.Run) error {
			if err := f.db.Write(ctx, func(tx *db.Tx) error { return run.SavePayload(tx, "half") }); err != nil {
				t.Error(err)
			}
			close(began)
			<-ctx.Done()
			lost <- context.Cause(ctx)
			lost <- f.db.Write(t.Context(), func(tx *db.Tx) error {
				if _, err := tx.Exec("INSERT INTO versions (name, value) VALUES ('too late', 1)"); err != nil {
					return err
				}
				return run.RecordBytes(tx, 5)
			})
			return fault.New(fault.Conflict, "the first one's")
		})
		second := f.runner(func(_ context.Context, run *job.Run) error {
			if run.Payload != "half" {
				t.Errorf("payload %q", run.Payload)
			}
			return nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { f.runNext(first, true) })
		<-began
		f.runNext(second, false)
		f.exec("UPDATE jobs SET due = due - 30000") // as if the first holder could not renew it
		f.runNext(second, true)
		f.advance(10 * time.Second) // makes the first holder check its lease
		if err := <-lost; !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the first was ended by %v", err)
		}
		if err := <-lost; !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the first recorded: %v", err)
		}
		wg.Wait()
		if j := f.job("j"); j.Status != "completed" || j.ErrorMessage != nil {
			t.Errorf("job %+v", j)
		}
		var late int
		if err := f.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM versions WHERE name = 'too late'").
			Scan(&late); err != nil || late != 0 {
			t.Errorf("the first process after it had lost its lease: %d, %v", late, err)
		}
	})
}

// Two jobs of one account run at once; its other jobs do not delay those of other accounts and of
// the service.
func TestJobsOfOneAccountAreLimited(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, id := range []string{"a1", "a2", "a3"} {
			f.insert(id)
		}
		f.write(func(tx *db.Tx) error {
			return errors.Join(job.Insert(tx,
				job.Spec{ID: "b1", Type: "move", OwnerID: "ben", CreatedAt: f.now.Load()}),
				job.Insert(tx, job.Spec{ID: "c1", Type: "move", CreatedAt: f.now.Load()}))
		})
		began, end := make(chan string, 10), make(chan struct{})
		r := f.runner(func(_ context.Context, run *job.Run) error {
			began <- run.ID
			if run.OwnerID == "ann" {
				<-end
			}
			return nil
		})
		var running sync.WaitGroup
		for _, want := range []string{"a1", "a2"} {
			running.Go(func() { f.runNext(r, true) })
			if got := <-began; got != want {
				t.Errorf("%s runs, want %s", got, want)
			}
		}
		for _, want := range []string{"b1", "c1"} {
			f.runNext(r, true)
			if got := <-began; got != want {
				t.Errorf("%s runs, want %s", got, want)
			}
		}
		f.runNext(r, false)
		close(end)
		running.Wait()
		f.runNext(r, true)
		if got := <-began; got != "a3" {
			t.Errorf("%s runs in the end", got)
		}
	})
}

// The only process on a database does not wait for the lease of a dead holder.
func TestRequeuedJobsRunAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		f.exec("UPDATE jobs SET status = 'running', holder = 'dead', attempts = 1, due = $1", f.now.Load()+8_000)
		r := f.runner(func(context.Context, *job.Run) error { return nil })
		if err := r.RequeueRunning(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.runNext(r, true)
		if j := f.job("j"); j.Status != "completed" {
			t.Errorf("job %+v", j)
		}
	})
}

// A Runner waits for the lease of a dead holder to expire.
func TestDeadHolderIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		f.exec("UPDATE jobs SET status = 'running', holder = 'dead', attempts = 1, due = $1", f.now.Load()+8_000)
		r := f.runner(func(context.Context, *job.Run) error { return nil })
		f.runNext(r, false)
		f.advance(7_999 * time.Millisecond)
		f.runNext(r, false)
		f.advance(time.Millisecond)
		f.runNext(r, true)
	})
}

// A lease is renewed for as long as its holder lives.
func TestLeaseIsRenewed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		done, began := make(chan struct{}), make(chan struct{})
		first := f.runner(func(context.Context, *job.Run) error { close(began); <-done; return nil })
		second := f.runner(func(context.Context, *job.Run) error { t.Error("was taken over"); return nil })
		var wg sync.WaitGroup
		wg.Go(func() { f.runNext(first, true) })
		<-began
		for range 3 {
			f.waitForRenewal()
			f.runNext(second, false)
		}
		close(done)
		wg.Wait()
	})
}

func TestProgressIsShownByBytes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("j")
		step := make(chan func(run *job.Run))
		r := f.runner(func(ctx context.Context, run *job.Run) error {
			for do := range step {
				do(run)
			}
			return errors.New("again")
		})
		shows := func(want int) {
			t.Helper()
			until(t, fmt.Sprintf("%d percent are shown", want), func() bool { return f.job("j").Progress == want })
		}
		var wg sync.WaitGroup
		wg.Go(func() { f.runNext(r, true) })
		step <- func(run *job.Run) { run.SetRemaining(1000); run.AddProgress(250) }
		shows(25)
		step <- func(run *job.Run) {
			run.AddProgress(250)
			f.write(func(tx *db.Tx) error { return run.RecordBytes(tx, 400) })
		}
		shows(50)
		step <- func(run *job.Run) { run.SetRemaining(3500) } // there is more to do: the progress never decreases
		f.waitForRenewal()
		shows(50)
		step <- func(run *job.Run) { run.AddProgress(2000) }
		shows(62) // 2500 of 4000
		step <- func(run *job.Run) { run.AddProgress(9999) }
		shows(99)
		close(step)
		wg.Wait()

		// The next attempt continues from the recorded bytes, and shows no less than before.
		f.advance(5 * time.Second)
		step = make(chan func(run *job.Run))
		wg.Go(func() { f.runNext(r, true) })
		step <- func(run *job.Run) { run.SetRemaining(3600) }
		f.waitForRenewal()
		shows(99)
		close(step)
		wg.Wait()
	})
}

// Abuse case C131: a shutdown returns running jobs to the queue within seconds, and the next start
// resumes them at once. That costs no attempt.
func TestStopRequeuesJobs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("heeds")
		f.insert("hangs")
		hang := make(chan struct{})
		var hung sync.WaitGroup
		hung.Add(1)
		var began atomic.Int32
		r := f.runner(func(ctx context.Context, run *job.Run) error {
			began.Add(1)
			<-ctx.Done()
			if run.ID == "hangs" {
				defer hung.Done()
				<-hang
			}
			return fmt.Errorf("copy: %w", ctx.Err())
		})
		f.exec("DELETE FROM jobs WHERE id = 'hangs'")
		for range 3 {
			ctx, stop := context.WithCancel(t.Context())
			before := began.Load()
			var wg sync.WaitGroup
			wg.Go(func() { r.Run(ctx) })
			until(t, "the job runs", func() bool { return began.Load() == before+1 })
			stop()
			wg.Wait()
			if j := f.job("heeds"); j.Status != "pending" || j.ErrorMessage != nil {
				t.Fatalf("after the stop: %+v", j)
			}
			if n := f.queryInt("SELECT attempts FROM jobs"); n != 0 {
				t.Fatalf("%d attempts are counted", n)
			}
		}
		f.exec("DELETE FROM jobs")
		f.insert("hangs")
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		until(t, "the job runs", func() bool { return began.Load() == 4 })
		stop()
		wg.Wait() // although the handler is still running
		if j := f.job("hangs"); j.Status != "pending" {
			t.Errorf("after the stop: %+v", j)
		}
		f.runNext(f.runner(func(context.Context, *job.Run) error { return nil }), true)
		close(hang)
		hung.Wait()
	})
}

func TestRunningJobsAreLimited(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 7 {
			f.insert(fmt.Sprint("j", i))
		}
		f.exec("UPDATE jobs SET owner_id = id") // a different owner for each
		free := make(chan struct{})
		var now, most, done atomic.Int32
		r := f.runner(func(_ context.Context, run *job.Run) error {
			run.SetRemaining(2)
			run.AddProgress(1)
			running := now.Add(1)
			for seen := most.Load(); running > seen && !most.CompareAndSwap(seen, running); seen = most.Load() {
			}
			<-free
			now.Add(-1)
			done.Add(1)
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		until(t, "four run", func() bool { return now.Load() >= 4 })
		until(t, "a second has gone by, in which more might have begun",
			func() bool { return f.queryInt("SELECT COUNT(*) FROM jobs WHERE progress = 50") >= 4 })
		close(free)
		until(t, "all are done", func() bool { return done.Load() == 7 })
		stop()
		wg.Wait()
		if most.Load() != 4 {
			t.Errorf("%d ran at once", most.Load())
		}
	})
}

func TestJobIsRunByOneRunner(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const jobs = 30
		var mu sync.Mutex
		times := map[string]int{}
		var wg sync.WaitGroup
		for i := range jobs {
			f.insert(fmt.Sprint("j", i))
		}
		for range 4 {
			r := f.runner(func(_ context.Context, run *job.Run) error {
				mu.Lock()
				defer mu.Unlock()
				times[run.ID]++
				return nil
			})
			wg.Go(func() {
				for {
					ran, err := r.RunNext(t.Context())
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					all := len(times) == jobs
					mu.Unlock()
					if !ran && all {
						return
					}
				}
			})
		}
		wg.Wait()
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s was done %d times", id, n)
			}
		}
	})
}

// Jobs of an unknown type are left to newer replicas. Jobs of the service that are done or refused
// leave no row; the rows of other jobs stay for a month.
func TestRowsAreDeletedInTime(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		r := f.runner(func(_ context.Context, run *job.Run) error {
			if run.ID == "bad" {
				return fault.New(fault.Conflict, "No.")
			}
			return nil
		})
		r.Handle("checksum", func(_ context.Context, run *job.Run) error {
			if run.ID == "refused, no owner" {
				return fault.New(fault.Conflict, "No.")
			}
			return nil
		})
		f.write(func(tx *db.Tx) error {
			if err := job.Insert(tx, job.Spec{ID: "new", Type: "unheard-of", OwnerID: "ann"}); err != nil {
				return err
			}
			return errors.Join(job.Insert(tx, job.Spec{ID: "done, no owner", Type: "checksum"}),
				job.Insert(tx, job.Spec{ID: "refused, no owner", Type: "checksum"}))
		})
		f.insert("good")
		f.insert("bad")
		for range 4 {
			f.runNext(r, true)
		}
		f.runNext(r, false)
		rows := func() (n int) {
			t.Helper()
			if err := f.db.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM jobs").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if rows() != 3 {
			t.Errorf("%d rows, want those of the owner's three jobs", rows())
		}
		for _, after := range []struct {
			pass time.Duration
			rows int
		}{{0, 3}, {30 * 24 * time.Hour, 3}, {2 * time.Hour, 1}} {
			f.advance(after.pass)
			if err := r.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rows() != after.rows {
				t.Errorf("%d rows %s later, want %d", rows(), after.pass, after.rows)
			}
		}
		if j := f.job("new"); j.Status != "pending" {
			t.Errorf("of a type without a handler: %+v", j)
		}
	})
}

// One sweep deletes all jobs that ended a month ago, however many, and none that has not ended.
func TestSweepTakesAllOldJobs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, status := range []string{"pending", "running", "completed", "failed"} {
			ended := "NULL"
			if status == "completed" || status == "failed" {
				ended = "1"
			}
			f.exec(`
				INSERT INTO jobs (id, type, owner_id, status, progress, created_at, completed_at)
				WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 1500)
				SELECT '` + status + `' || i, 'move', 'ann', '` + status + `', 0, 1, ` + ended + ` FROM numbers`)
		}
		if err := f.runner(nil).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left, open int
		if err := f.db.Read(t.Context()).QueryRow(
			"SELECT COUNT(*), COUNT(CASE WHEN completed_at IS NULL THEN 1 END) FROM jobs").
			Scan(&left, &open); err != nil {
			t.Fatal(err)
		}
		if left != 3000 || open != 3000 {
			t.Errorf("%d are left, of which %d have not ended", left, open)
		}
	})
}

func TestListReturnsNewestJobsOfTheOwner(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			f.insert(id)
			f.advance(time.Second)
		}
		f.exec("UPDATE jobs SET status = 'failed' WHERE id = 'b'")
		f.exec("INSERT INTO jobs (id, type, owner_id, status, progress, created_at) VALUES ('z', 'move', 'bob', " +
			"'failed', 0, 1)")
		for _, c := range []struct {
			status string
			limit  int
			want   string
		}{{"", 9, "cba"}, {"", 2, "cb"}, {"pending", 9, "ca"}, {"failed", 9, "b"}, {"running", 9, ""}} {
			jobs, err := job.List(f.db.Read(t.Context()), "ann", c.status, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, j := range jobs {
				got += j.ID
			}
			if got != c.want {
				t.Errorf("status %q, limit %d: %s, want %s", c.status, c.limit, got, c.want)
			}
		}
		if n, err := job.CountOpen(f.db.Read(t.Context()), "ann"); err != nil || n != 2 {
			t.Errorf("%d are open, %v", n, err)
		}
	})
}

// Of open jobs with one type and payload, the one that was made first has no earlier one. Jobs of
// another type or payload do not count.
func TestHasEarlier(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i, c := range []struct{ id, jobType, payload string }{{"b", "move", "x"}, {"c", "move", "x"},
			{"a", "move", "x"}, {"d", "move", "y"}, {"e", "copy", "x"}} {
			f.write(func(tx *db.Tx) error {
				// c, a, d and e at once
				return job.Insert(tx, job.Spec{ID: c.id, Type: c.jobType, Payload: c.payload,
					CreatedAt: int64(min(i, 1))})
			})
		}
		want := func(when string, later ...string) {
			t.Helper()
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				got, err := job.HasEarlier(f.db.Read(t.Context()), &job.Run{ID: id})
				if err != nil || got != slices.Contains(later, id) {
					t.Errorf("%s, %s: %v, %v", when, id, got, err)
				}
			}
		}
		want("all wait", "a", "c")
		f.exec("UPDATE jobs SET status = 'running' WHERE id = 'b'")
		want("the first runs", "a", "c")
		for _, status := range []string{"failed", "completed"} {
			f.exec("UPDATE jobs SET status = $1 WHERE id = 'b'", status)
			want("the first is "+status, "c")
		}
	})
}

// The function for the end of a job is called in the transaction that records the end, and not when
// the job is retried. When it fails, the job has not ended.
func TestEndOfAJobIsToldOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var outcome, trouble error
		var told []string
		r := f.runner(func(_ context.Context, run *job.Run) error { run.SetFiles(3); return outcome })
		r.OnEnd("move", func(_ *db.Tx, run *job.Run, failure string) error {
			if trouble == nil {
				told = append(told, fmt.Sprintf("%s %d %q", run.ID, *run.Files(), failure))
			}
			return trouble
		})
		f.insert("broken")
		outcome = errors.New("broken")
		f.runNext(r, true)
		if len(told) > 0 {
			t.Errorf("a retried job: told %q", told)
		}
		f.exec("DELETE FROM jobs")

		f.insert("done")
		outcome, trouble = nil, errors.New("broken")
		f.runNext(r, true)
		if got := f.job("done"); got.Status != job.Running {
			t.Errorf("without its end told, the job is %s", got.Status)
		}
		f.advance(time.Minute)
		trouble = nil
		f.runNext(r, true)
		f.insert("refused")
		outcome = fault.New(fault.Forbidden, "You may not.")
		f.runNext(r, true)
		f.runNext(r, false)
		want := []string{`done 3 ""`, `refused 3 "You may not."`}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
