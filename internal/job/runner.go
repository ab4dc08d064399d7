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
	// lease is how long a job stays with a holder that gives no sign of life.
	lease = 8 * time.Second
	// atOnce is how many jobs one Runner does at a time.
	atOnce = 4
	// poll is how often it looks for jobs that nobody woke it for: another replica's, and those whose time has come.
	poll = 2 * time.Second
	// beat is how often progress is written, and the lease looked after.
	beat = time.Second
	// maxAttempts without progress, and a job has failed; firstPause and maxPause bound the time between two of them: about an hour in all.
	maxAttempts = 12
	firstPause  = 5 * time.Second
	maxPause    = 10 * time.Minute
	// stopTime bounds what a stop waits for handlers, and settleTime what it waits for the database.
	stopTime   = 5 * time.Second
	settleTime = 5 * time.Second
	// keepEnded is how long the row of a job that ended stays.
	keepEnded = 30 * 24 * time.Hour
	sweepEach = time.Hour
)

// Config is what a Runner needs.
type Config struct {
	DB  *db.DB
	IDs *ident.Source
	Now func() time.Time
	Log *slog.Logger
}

// Runner runs jobs. Any number of them may work on one database.
type Runner struct {
	Config
	handlers map[string]Handler
	undo     map[string]Undo
	wake     chan struct{}

	mu    sync.Mutex
	swept time.Time
}

// NewRunner returns a Runner that knows no type of job yet.
func NewRunner(cfg Config) *Runner {
	return &Runner{Config: cfg, handlers: map[string]Handler{}, undo: map[string]Undo{}, wake: make(chan struct{}, 1)}
}

// Handle says who does jobs of a type. Call it before Run. Jobs of other types are left alone: a newer replica may know them.
func (r *Runner) Handle(jobType string, h Handler) { r.handlers[jobType] = h }

// Undo says what has to be given back when a job of a type fails for good. Call it before Run.
func (r *Runner) Undo(jobType string, undo Undo) { r.undo[jobType] = undo }

// Wake has the Runner look for jobs now. It is for whoever has just inserted one: tx.AfterCommit(runner.Wake).
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Orphan puts aside every job that runs, to be resumed at once: for the only process that a database can have, before its Run. What it finds running
// was the work of a process that is gone.
func (r *Runner) Orphan(ctx context.Context) error {
	if err := r.DB.Write(ctx, func(tx *db.Tx) error { return orphan(tx, r.ms()) }); err != nil {
		return fmt.Errorf("take jobs from a process that is gone: %w", err)
	}
	return nil
}

// Run does jobs until ctx ends. Then those under way are stopped and put aside, to be resumed at once by whoever comes next; that takes a few
// seconds at most, even when a handler doesn't stop.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
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
			r.rest(ctx)
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			r.do(ctx, run)
		})
	}
	running.Wait()
}

// rest waits until there may be work.
func (r *Runner) rest(ctx context.Context) {
	select {
	case <-r.wake:
	case <-time.After(poll):
	case <-ctx.Done():
	}
}

// Once does the next job that is due, and reports whether there was one. When ctx ends meanwhile, the job is put aside.
func (r *Runner) Once(ctx context.Context) (ran bool, err error) {
	run, err := r.claim(ctx)
	if run == nil || err != nil {
		return false, err
	}
	r.do(ctx, run)
	return true, nil
}

// claim takes the next job that is due, nil for none. Where another Runner was faster there may be a further one.
func (r *Runner) claim(ctx context.Context) (*Run, error) {
	for range atOnce {
		due, err := anyDue(r.DB.Read(ctx), r.types(), r.ms())
		if err != nil || !due {
			return nil, err
		}
		if run, err := r.claimOne(ctx); run != nil || err != nil {
			return run, err
		}
	}
	return nil, nil
}

func (r *Runner) claimOne(ctx context.Context) (*Run, error) {
	run := &Run{holder: r.IDs.UUID()}
	var found bool
	err := r.DB.Write(ctx, func(tx *db.Tx) (err error) {
		now := r.Now()
		run.lease = now.Add(lease).UnixMilli()
		found, err = claimNext(tx, run, r.types(), now.UnixMilli())
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	return run, nil
}

func (r *Runner) types() []string {
	types := make([]string, 0, len(r.handlers))
	for name := range r.handlers {
		types = append(types, name)
	}
	return types
}

// do runs a handler while its lease is looked after, and writes down what came of it.
func (r *Runner) do(ctx context.Context, run *Run) {
	held, give := context.WithCancelCause(ctx)
	defer give(nil)
	done := make(chan error, 1)
	go func() { done <- r.handle(held, run) }()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	var late <-chan time.Time
	stopping := ctx.Done()
	for {
		select {
		case err := <-done:
			r.settle(ctx, run, errors.Join(err, lost(held)))
			return
		case <-tick.C:
			if err := r.keep(held, run); err != nil {
				give(err)
			}
		case <-stopping:
			stopping, late = nil, time.After(stopTime)
		case <-late: // it hangs in something that knows no context; whatever it does later, it does without its lease
			r.Log.Warn("a job does not stop", "job", run.ID, "type", run.Type)
			r.settle(ctx, run, context.Cause(ctx))
			return
		}
	}
}

// lost returns ErrLost when that is why ctx ended.
func lost(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrLost) {
		return cause
	}
	return nil
}

func (r *Runner) handle(ctx context.Context, run *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a job: %v", p)
		}
	}()
	return r.handlers[run.Type](ctx, run)
}

// keep renews the lease when a third of it is over, and writes progress that can be seen. Error: ErrLost.
func (r *Runner) keep(ctx context.Context, run *Run) error {
	now, percent := r.Now(), run.percent()
	fresh := time.Duration(run.lease-now.UnixMilli())*time.Millisecond > 2*lease/3
	if fresh && percent == run.told {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	until := now.Add(lease).UnixMilli()
	err := r.DB.Write(ctx, func(tx *db.Tx) error { return renew(tx, run, until, percent) })
	switch {
	case err == nil:
		run.mu.Lock()
		run.lease, run.told = until, percent
		run.mu.Unlock()
	case errors.Is(err, ErrLost) || r.ms() >= run.lease:
		return fmt.Errorf("keep a job: %w", errors.Join(ErrLost, err))
	case ctx.Err() == nil:
		r.Log.Warn("renew the lease of a job", "job", run.ID, "error", err)
	}
	return nil
}

// settle writes down how an attempt ended. When that fails the lease runs out, and the job is taken up again.
func (r *Runner) settle(ctx context.Context, run *Run, err error) {
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	log, attempts := r.Log.With("job", run.ID, "type", run.Type), run.tries()
	var end func(tx *db.Tx) error
	var told *fault.Error
	switch kind := fault.KindOf(err); {
	case errors.Is(err, ErrLost):
		log.Info("a job went to another holder", "cause", err)
		return
	case err == nil:
		end = func(tx *db.Tx) error { return complete(tx, run, r.ms()) }
	case errors.As(err, &told) && kind != fault.Internal && kind != fault.Unavailable && kind != fault.RateLimited:
		log.Info("a job failed", "error", err)
		end = func(tx *db.Tx) error { return r.fail(tx, run, told.Message) }
	case stopped:
		end = func(tx *db.Tx) error { return release(tx, run, r.ms(), max(attempts-1, 0)) }
	case attempts >= maxAttempts:
		log.Error("a job is given up", "attempts", attempts, "error", err)
		message := "This could not be finished, although it was tried several times."
		if told != nil && kind == fault.Unavailable {
			message = told.Message
		}
		end = func(tx *db.Tx) error { return r.fail(tx, run, message) }
	default:
		pause := min(firstPause<<(attempts-1), maxPause)
		due := r.Now().Add(pause).UnixMilli() // from now on, not from when the database has let it in
		log.Warn("a job is tried again later", "attempts", attempts, "pause", pause, "error", err)
		end = func(tx *db.Tx) error { return release(tx, run, due, attempts) }
	}
	if err := r.DB.Write(ctx, end); err != nil && !errors.Is(err, ErrLost) {
		log.Warn("write down how a job ended", "error", err)
	}
}

// fail ends a job for good. What it gives back comes first, since that may lock what others hold while they ask about a job.
func (r *Runner) fail(tx *db.Tx, run *Run, message string) error {
	if undo := r.undo[run.Type]; undo != nil {
		if err := undo(tx, run); err != nil {
			return fmt.Errorf("undo a job: %w", err)
		}
	}
	return fail(tx, run, message, r.ms())
}

// Sweep deletes the rows of jobs that ended a month ago.
func (r *Runner) Sweep(ctx context.Context) error {
	now := r.Now()
	r.mu.Lock()
	age := now.Sub(r.swept)
	due := age >= sweepEach || age < 0
	if due {
		r.swept = now
	}
	r.mu.Unlock()
	for due {
		err := r.DB.Write(ctx, func(tx *db.Tx) (err error) {
			due, err = forget(tx, now.Add(-keepEnded).UnixMilli())
			return err
		})
		if err != nil {
			return fmt.Errorf("forget old jobs: %w", err)
		}
	}
	return nil
}

func (r *Runner) ms() int64 { return r.Now().UnixMilli() }
