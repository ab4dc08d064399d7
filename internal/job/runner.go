package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
)

const (
	// leaseTime is how long a job stays with a holder that does not renew its lease.
	leaseTime = 8 * time.Second
	// maxRunning is the number of jobs that one Runner runs at a time.
	maxRunning = 4
	// pollInterval is how often it looks for jobs without being woken: those of other replicas, and
	// those that have become due.
	pollInterval = 2 * time.Second
	// heartbeat is how often progress is written and the lease checked.
	heartbeat = time.Second
	// A job has failed after maxAttempts without progress; firstPause and maxPause bound the time
	// between two of them: about an hour in all.
	maxAttempts = 12
	firstPause  = 5 * time.Second
	maxPause    = 10 * time.Minute
	// stopTimeout bounds how long a shutdown waits for handlers, writeTimeout how long it waits for
	// the database.
	stopTimeout  = 5 * time.Second
	writeTimeout = 5 * time.Second
	// keepEndedFor is how long the row of an ended job stays.
	keepEndedFor  = 30 * 24 * time.Hour
	sweepInterval = time.Hour
)

// Config is the configuration of a Runner.
type Config struct {
	DB  *db.DB
	IDs *ident.Source
	Now func() time.Time
	Log *slog.Logger
}

// Runner runs jobs. Any number of Runners may work on one database.
type Runner struct {
	Config
	handlers map[string]Handler
	undoers  map[string]Undo
	endings  map[string]Ending
	wake     chan struct{}

	mu      sync.Mutex
	sweptAt time.Time
}

// NewRunner returns a Runner without handlers.
func NewRunner(cfg Config) *Runner {
	return &Runner{Config: cfg, handlers: map[string]Handler{}, undoers: map[string]Undo{},
		endings: map[string]Ending{}, wake: make(chan struct{}, 1)}
}

// Handle registers the handler of a job type. Call it before Run. The Runner does not touch jobs of
// other types: a newer replica may know them.
func (r *Runner) Handle(jobType string, h Handler) { r.handlers[jobType] = h }

// OnFailure registers the cleanup of a job type that fails for good. Call it before Run.
func (r *Runner) OnFailure(jobType string, undo Undo) { r.undoers[jobType] = undo }

// OnEnd registers a function that is called, in the same transaction, when a job of a type has
// ended, completed or failed. Call it before Run.
func (r *Runner) OnEnd(jobType string, end Ending) { r.endings[jobType] = end }

// Wake makes the Runner look for jobs now. Call it after inserting one:
// tx.AfterCommit(runner.Wake).
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // it is about to look already
	}
}

// RequeueRunning returns every running job to the queue, to be resumed at once. It is for the only
// process on a database, before its Run: the jobs that are marked as running belong to a process
// that has died.
func (r *Runner) RequeueRunning(ctx context.Context) error {
	if err := r.DB.Write(ctx, func(tx *db.Tx) error { return requeueAll(tx, r.nowMs()) }); err != nil {
		return fmt.Errorf("requeue the jobs of a former process: %w", err)
	}
	return nil
}

// Run runs jobs until ctx ends. Then it stops the running ones and returns them to the queue, so
// that the next process resumes them at once. That takes a few seconds at most, even when a handler
// does not stop.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	slots := make(chan struct{}, maxRunning)
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		run, err := r.claim(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.Error("look for jobs", "error", err)
		}
		if run == nil {
			<-slots
			r.waitForWork(ctx)
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			r.execute(ctx, run)
		})
	}
	running.Wait()
}

// waitForWork waits until there may be a job: Wake was called, pollInterval is over, or ctx has
// ended.
func (r *Runner) waitForWork(ctx context.Context) {
	select {
	case <-r.wake:
	case <-time.After(pollInterval):
	case <-ctx.Done():
	}
}

// RunNext runs the next job that is due, and reports whether there was one. When ctx ends
// meanwhile, the job returns to the queue.
func (r *Runner) RunNext(ctx context.Context) (ran bool, err error) {
	run, err := r.claim(ctx)
	if run == nil || err != nil {
		return false, err
	}
	r.execute(ctx, run)
	return true, nil
}

// claim claims the next job that is due, nil for none. When another Runner was faster it tries the
// next one, maxRunning times at most.
func (r *Runner) claim(ctx context.Context) (*Run, error) {
	for range maxRunning {
		due, err := anyDue(r.DB.Read(ctx), r.Types(), r.nowMs())
		if err != nil || !due {
			return nil, err
		}
		if run, err := r.claimOne(ctx); run != nil || err != nil {
			return run, err
		}
	}
	return nil, nil
}

// claimOne claims the next job that is due under a lease of leaseTime; nil when there is none any
// more.
func (r *Runner) claimOne(ctx context.Context) (*Run, error) {
	run := &Run{holder: r.IDs.UUID()}
	var found bool
	err := r.DB.Write(ctx, func(tx *db.Tx) (err error) {
		now := r.Now()
		run.leaseUntil = now.Add(leaseTime).UnixMilli()
		found, err = claimNext(tx, run, r.Types(), now.UnixMilli())
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	return run, nil
}

// Types returns the job types that have a handler.
func (r *Runner) Types() []string {
	types := make([]string, 0, len(r.handlers))
	for name := range r.handlers {
		types = append(types, name)
	}
	return types
}

// execute runs the handler of a claimed job while it renews the lease, and records the outcome.
// When ctx ends, it gives the handler stopTimeout to stop.
func (r *Runner) execute(ctx context.Context, run *Run) {
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- r.handle(held, run) }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	var stopTimer <-chan time.Time
	stopping := ctx.Done()
	for {
		select {
		case err := <-done:
			r.writeOutcome(ctx, run, errors.Join(err, leaseLost(held)))
			return
		case <-tick.C:
			if err := r.renewLease(held, run); err != nil {
				cancel(err)
			}
		case <-stopping:
			stopping, stopTimer = nil, time.After(stopTimeout)
		case <-stopTimer: // the handler ignores its context; from now on it has no lease
			r.Log.Warn("a job does not stop", "job", run.ID, "type", run.Type)
			r.writeOutcome(ctx, run, context.Cause(ctx))
			return
		}
	}
}

// leaseLost returns ErrLeaseLost when the context of a handler ended because the lease was lost,
// nil otherwise.
func leaseLost(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrLeaseLost) {
		return cause
	}
	return nil
}

// handle calls the handler of a job and turns a panic into an error, which is retried.
func (r *Runner) handle(ctx context.Context, run *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a job: %v", p)
		}
	}()
	return r.handlers[run.Type](ctx, run)
}

// renewLease renews the lease when a third of it is over, and writes visible progress. Error:
// ErrLeaseLost, also when the database could not be written to until the lease was over.
func (r *Runner) renewLease(ctx context.Context, run *Run) error {
	now, percent := r.Now(), run.percent()
	fresh := time.Duration(run.leaseUntil-now.UnixMilli())*time.Millisecond > 2*leaseTime/3
	if fresh && percent == run.shownPercent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	until := now.Add(leaseTime).UnixMilli()
	err := r.DB.Write(ctx, func(tx *db.Tx) error { return renew(tx, run, until, percent) })
	switch {
	case err == nil:
		run.mu.Lock()
		run.leaseUntil, run.shownPercent = until, percent
		run.mu.Unlock()
	case errors.Is(err, ErrLeaseLost) || r.nowMs() >= run.leaseUntil:
		return fmt.Errorf("keep a job: %w", errors.Join(ErrLeaseLost, err))
	case ctx.Err() == nil:
		r.Log.Warn("renew the lease of a job", "job", run.ID, "error", err)
	}
	return nil
}

// writeOutcome records how an attempt ended with err: completed, failed, or to be retried later.
// ctx has ended when the service stops; the job then returns to the queue. When the write fails,
// the lease expires and the job is claimed again.
func (r *Runner) writeOutcome(ctx context.Context, run *Run, err error) {
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	log, attempts := r.Log.With("job", run.ID, "type", run.Type, "user", run.OwnerID), run.attemptCount()
	var write func(tx *db.Tx) error
	var refused *fault.Error
	var wait waiting
	switch kind := fault.KindOf(err); {
	case errors.Is(err, ErrLeaseLost):
		log.Info("another process took over a job", "cause", err)
		return
	case err == nil:
		write = func(tx *db.Tx) error { return r.complete(tx, run) }
	case errors.As(err, &wait):
		write = func(tx *db.Tx) error { return requeue(tx, run, wait.until, 0) }
	case kind == fault.Unverified && errors.As(err, &refused):
		log.Error("a job failed because of the bytes in a store", "error", err)
		write = func(tx *db.Tx) error { return r.fail(tx, run, refused.Message, maxAttempts) }
	case errors.As(err, &refused) && kind != fault.Internal && kind != fault.Unavailable && kind != fault.RateLimited:
		log.Info("a job failed", "error", err)
		write = func(tx *db.Tx) error { return r.fail(tx, run, refused.Message, 0) }
	case stopped:
		write = func(tx *db.Tx) error { return requeue(tx, run, r.nowMs(), max(attempts-1, 0)) }
	case attempts >= maxAttempts:
		log.Error("a job failed after its last attempt", "attempts", attempts, "error", err)
		message := "The job failed after several attempts. Start it again later."
		if refused != nil && kind == fault.Unavailable {
			message = refused.Message
		}
		write = func(tx *db.Tx) error { return r.fail(tx, run, message, maxAttempts) }
	default:
		pause := min(firstPause<<(attempts-1), maxPause)
		due := r.Now().Add(pause).UnixMilli() // from now on, not from when the database accepts the write
		log.Warn("a job will be retried", "attempts", attempts, "pause", pause, "error", err)
		write = func(tx *db.Tx) error { return requeue(tx, run, due, attempts) }
	}
	if err := r.DB.Write(ctx, write); err != nil && !errors.Is(err, ErrLeaseLost) {
		log.Warn("record the outcome of a job", "error", err)
	}
}

// fail ends a job as failed for good, with message as its sentence; attempts is maxAttempts if
// CountFailures is to count it, else 0. The cleanup of OnFailure comes first, since it may lock
// rows that others hold while they read the job.
func (r *Runner) fail(tx *db.Tx, run *Run, message string, attempts int) error {
	if undo := r.undoers[run.Type]; undo != nil {
		if err := undo(tx, run); err != nil {
			return fmt.Errorf("undo a job: %w", err)
		}
	}
	if err := fail(tx, run, message, attempts, r.nowMs()); err != nil {
		return err
	}
	return r.end(tx, run, message)
}

// complete ends a job as completed.
func (r *Runner) complete(tx *db.Tx, run *Run) error {
	if err := complete(tx, run, r.nowMs()); err != nil {
		return err
	}
	return r.end(tx, run, "")
}

// end calls the function of OnEnd for a job that has ended; failure is its sentence, "" for a
// completed one.
func (r *Runner) end(tx *db.Tx, run *Run, failure string) error {
	if end := r.endings[run.Type]; end != nil {
		if err := end(tx, run, failure); err != nil {
			return fmt.Errorf("end a job: %w", err)
		}
	}
	return nil
}

// Sweep deletes the rows of jobs that ended a month ago, once an hour. Other calls do nothing.
func (r *Runner) Sweep(ctx context.Context) error {
	now := r.Now()
	r.mu.Lock()
	age := now.Sub(r.sweptAt)
	due := age >= sweepInterval || age < 0
	if due {
		r.sweptAt = now
	}
	r.mu.Unlock()
	for due {
		err := r.DB.Write(ctx, func(tx *db.Tx) (err error) {
			due, err = deleteOld(tx, now.Add(-keepEndedFor).UnixMilli())
			return err
		})
		if err != nil {
			return fmt.Errorf("forget old jobs: %w", err)
		}
	}
	return nil
}

// nowMs returns the present time in ms.
func (r *Runner) nowMs() int64 { return r.Now().UnixMilli() }
