package job_test

import (
	"context"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
)

// No runner claims a paused job, which is pending, until it is resumed. Pausing takes a running job
// from its holder.
func TestPausedJobIsNotClaimed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("a")
		change := func(do func(tx *db.Tx) (job.Job, error)) (j job.Job, err error) {
			err = f.db.Write(t.Context(), func(tx *db.Tx) error {
				j, err = do(tx)
				return err
			})
			return j, err
		}
		pause := func(tx *db.Tx) (job.Job, error) { return job.Pause(tx, "ann", "a", "move") }
		attempts := 0
		r := f.runner(func(_ context.Context, run *job.Run) error {
			if attempts++; attempts > 1 {
				return nil
			}
			if j, err := change(pause); err != nil || j.Status != job.Pending || !j.Paused {
				t.Errorf("paused while it runs: %+v, %v", j, err)
			}
			return f.db.Write(t.Context(), func(tx *db.Tx) error { return run.RecordBytes(tx, 1) })
		})
		for range 2 {
			if _, err := r.RunNext(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.advance(time.Hour)
		}
		if attempts != 1 {
			t.Errorf("the handler was called %d times, want once before the pause", attempts)
		}
		for _, wrong := range []struct {
			owner, jobType string
			kind           fault.Kind
		}{{"bob", "move", fault.NotFound}, {"ann", "copy", fault.Conflict}} {
			if _, err := change(func(tx *db.Tx) (job.Job, error) {
				return job.Resume(tx, wrong.owner, "a", wrong.jobType, f.now.Load())
			}); !fault.Is(err, wrong.kind) {
				t.Errorf("resumed by %s as a %s: %v", wrong.owner, wrong.jobType, err)
			}
		}
		j, err := change(func(tx *db.Tx) (job.Job, error) { return job.Resume(tx, "ann", "a", "move", f.now.Load()) })
		if err != nil || j.Paused {
			t.Errorf("resumed: %+v, %v", j, err)
		}
		if ran, err := r.RunNext(t.Context()); !ran || err != nil || attempts != 2 {
			t.Errorf("the handler was called %d times after the pause, %v", attempts, err)
		}
		if _, err := change(pause); !fault.Is(err, fault.Conflict) {
			t.Errorf("paused after its end: %v", err)
		}
	})
}

// A job that waits is called again at its time, however often, and does not fail.
func TestJobWaits(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.insert("a")
		calls := 0
		r := f.runner(func(context.Context, *job.Run) error {
			if calls++; calls > 20 {
				return nil
			}
			return job.WaitUntil(f.now.Load() + time.Minute.Milliseconds())
		})
		for range 21 {
			for _, due := range []bool{true, false} {
				if ran, err := r.RunNext(t.Context()); ran != due || err != nil {
					t.Fatalf("call %d: ran %v, %v", calls, ran, err)
				}
			}
			f.advance(time.Minute)
		}
		j, err := job.ByID(f.db.Read(t.Context()), "ann", "a")
		if err != nil || j.Status != job.Completed {
			t.Errorf("job %+v, %v", j, err)
		}
	})
}
