package job_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
)

// CountFailures counts jobs that failed in all attempts or because of the bytes in a store, for two
// days. It counts no job that its request made fail. The row of a counted job of the service stays
// for a month, without its payload.
func TestFailuresOfTheServiceAreCounted(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		outcome := map[string]error{
			"refused":      fault.New(fault.Forbidden, "You may not."),
			"refused mail": fault.New(fault.MailFailed, "No such mailbox."),
			"wrong bytes":  fault.New(fault.Unverified, "The copy differs."),
			"broken":       errors.New("broken"),
			"broken mail":  errors.New("broken"),
		}
		handle := func(_ context.Context, run *job.Run) error { return outcome[run.ID] }
		r := f.runner(handle)
		r.Handle("mail", handle)
		count := func() []job.Failures {
			t.Helper()
			found, err := job.CountFailures(f.db.Read(t.Context()), f.now.Load(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		f.insert("done")
		f.insert("refused")
		f.insert("wrong bytes")
		f.write(func(tx *db.Tx) error {
			return errors.Join(job.Insert(tx, job.Spec{ID: "refused mail", Type: "mail", Payload: "ann@example.org"}),
				job.Insert(tx, job.Spec{ID: "broken mail", Type: "mail", Payload: "bob@example.org"}))
		})
		first := f.now.Load()
		for range 5 {
			f.runNext(r, true)
		}
		if got := count(); !reflect.DeepEqual(got, []job.Failures{{"move", 1, first}}) {
			t.Errorf("counted %v, want the job with the wrong bytes", got)
		}
		f.insert("broken")
		for f.job("broken").Status != job.Failed {
			f.advance(10 * time.Minute)
			for ran := true; ran; {
				var err error
				if ran, err = r.RunNext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		rows := f.queryInt("SELECT COUNT(*) FROM jobs WHERE owner_id = ''")
		failed := f.queryInt("SELECT COUNT(*) FROM jobs WHERE owner_id = '' AND status = 'failed' AND payload = ''")
		if rows != 1 || failed != 1 {
			t.Error("of the two jobs of the service, the broken one should be left, without its payload")
		}
		broken := f.now.Load()
		const earlier = 600_000 // the job of the service had its first attempt before the advance of the clock
		want := []job.Failures{{"mail", 1, broken - earlier}, {"move", 2, first}}
		if got := count(); !reflect.DeepEqual(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
		f.now.Store(first + (48 * time.Hour).Milliseconds())
		want[1] = job.Failures{Type: "move", Jobs: 1, Since: broken}
		if got := count(); !reflect.DeepEqual(got, want) {
			t.Errorf("two days later: counted %v, want %v", got, want)
		}
		f.now.Store(broken + (48 * time.Hour).Milliseconds())
		if got := count(); got != nil {
			t.Errorf("two days after the last failure: counted %v", got)
		}
		f.now.Store(broken + (30*24*time.Hour + 2*time.Hour).Milliseconds())
		if err := r.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := f.queryInt("SELECT COUNT(*) FROM jobs"); n != 0 {
			t.Errorf("%d rows after a month, also that of the job of the service, want none", n)
		}
	})
}

// CountFailures counts the first failed jobs, up to the given number.
func TestFailuresAreCountedUpToANumber(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.exec(`
			INSERT INTO jobs (id, type, owner_id, status, progress, created_at, completed_at, attempts)
			VALUES ('a', 'move', 'ann', 'failed', 0, 1, 7, 12), ('b', 'move', 'ann', 'failed', 0, 1, 5, 12),
				('c', 'copy', 'ann', 'failed', 0, 1, 9, 12)`)
		got, err := job.CountFailures(f.db.Read(t.Context()), 10, 2)
		if err != nil || !reflect.DeepEqual(got, []job.Failures{{"move", 2, 5}}) {
			t.Errorf("counted %v, %v", got, err)
		}
	})
}
