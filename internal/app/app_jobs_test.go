package app_test

import (
	"context"
	"io"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/job"
)

// Abuse case C131: a stop interrupts running jobs at once, not only after the last request. The
// next start resumes them.
func TestStopPutsJobsAside(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			began, resumed := make(chan struct{}), make(chan string, 1)
			life := func(handler job.Handler, until <-chan struct{}) {
				t.Helper()
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				a, err := app.New(ctx, cfg, deps(io.Discard))
				if err != nil {
					t.Fatal(err)
				}
				a.Jobs.Handle("endless", handler)
				done := make(chan error, 1)
				go func() { done <- a.Run(ctx) }()
				err = a.DB.Write(ctx, func(tx *db.Tx) error {
					tx.AfterCommit(a.Jobs.Wake)
					_, err := tx.Exec(
						`INSERT INTO jobs (id, type, owner_id, status, progress, created_at) VALUES ('j', 'endless', 'ann', 'pending', 0, 0)
						ON CONFLICT (id) DO NOTHING`)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				select {
				case <-until:
				case <-time.After(time.Minute):
					t.Fatal("the job does not run")
				}
				stop()
				select {
				case err := <-done:
					if err != nil {
						t.Errorf("the stop returned %v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("does not stop")
				}
			}
			life(func(ctx context.Context, _ *job.Run) error {
				close(began)
				<-ctx.Done()
				return ctx.Err()
			}, began)
			b, err := app.Open(context.Background(), cfg, deps(io.Discard))
			if err != nil {
				t.Fatal(err)
			}
			j, err := job.ByID(b.DB.Read(t.Context()), "ann", "j")
			if err != nil || j.Status != "pending" {
				t.Errorf("put aside as %+v, %v", j, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			again := make(chan struct{})
			life(func(_ context.Context, run *job.Run) error {
				resumed <- run.ID
				close(again)
				return nil
			}, again)
			if id := <-resumed; id != "j" {
				t.Errorf("resumed %s", id)
			}
		})
	}
}
