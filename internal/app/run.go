package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"larder/internal/audit"
	"larder/internal/lifecycle"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/site"
)

const (
	// drainTime is the time for requests in flight to finish at a stop.
	drainTime = 30 * time.Second
	// cutTimeout is the time for requests to clean up after their connections were closed.
	cutTimeout = 5 * time.Second
	// auditTimeout is the time to write the rest of the access log.
	auditTimeout = 10 * time.Second
	// sweepInterval is short enough for results that must come "within a minute".
	sweepInterval = 15 * time.Second
	// storeSweepInterval is how often a replica checks whether it should sweep the stores, which
	// happens once a day.
	storeSweepInterval = 10 * time.Minute
	// thumbSweepInterval is how often thumbnails are compared with the existing contents.
	thumbSweepInterval = 10 * time.Minute
	// readyTimeout bounds the readiness check.
	readyTimeout = 3 * time.Second
	// bucketTimeout is the part of it that buckets get. Monitors often allow a probe one second.
	bucketTimeout = 800 * time.Millisecond
)

// Run makes the first start's accounts and folders, prints the address, serves until ctx ends,
// waits for requests in flight, and closes everything. It returns nil after a clean stop.
func (a *App) Run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	jobsCtx, stopJobs := context.WithCancel(ctx) // jobs stop at once, while requests may still finish
	defer stopJobs()
	failed := make(chan error, 2)
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.server.Serve(framedListener{a.listener}); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	ops := &http.Server{Handler: a.opsHandler(), ReadHeaderTimeout: 10 * time.Second}
	if a.opsListener != nil {
		running.Go(func() {
			if err := ops.Serve(a.opsListener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve metrics: %w", err)
			}
		})
	}
	running.Go(func() { a.Audit.Run(background) })
	err := a.seed(ctx)
	if err == nil && !a.Config.Postgres() { // then no other process uses the data directory
		err = a.Jobs.RequeueRunning(ctx)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // stopped during the first start, which the next start repeats
	} else if err == nil {
		running.Go(func() { a.Jobs.Run(jobsCtx) })
		running.Go(func() { a.MailJobs.Run(jobsCtx) })
		if a.Config.ScrubRate > 0 {
			running.Go(func() { a.ScrubJobs.Run(jobsCtx) })
		}
		running.Go(func() { a.trim(background) })
		running.Go(func() { a.runSteps(jobsCtx) })
		if !a.deps.ManualSweep {
			running.Go(func() { a.repeat(background, heartbeatEvery, "update the row of this replica", a.heartbeat) })
			running.Go(func() { a.repeat(background, sweepInterval, "sweep", a.sweepAll) })
			// waits for stores, so it must not delay the other sweeps
			running.Go(func() { a.repeat(background, sweepInterval, "collect", a.collect) })
			// takes long as well
			running.Go(func() { a.repeat(background, storeSweepInterval, "sweep the stores", a.sweepStores) })
			running.Go(func() { a.repeat(background, thumbSweepInterval, "sweep the thumbnails", a.sweepThumbs) })
			running.Go(func() {
				a.repeat(background, scrubBackupInterval, "check the backup of the scrub", a.checkScrubBackup)
			})
			if a.Thumbs != nil {
				running.Go(func() { a.Pictures.Run(jobsCtx) })
			}
		}
		select {
		case <-ctx.Done():
		case err = <-failed:
		case err = <-a.outdated:
		}
	}
	a.deps.Log.Info("stopping")
	stopJobs()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(a.deps.Drain, drainTime))
	defer cancel()
	if late := a.server.Shutdown(drain); late != nil {
		a.deps.Log.Warn("some requests did not finish in time", "error", late)
		err = errors.Join(err, a.server.Close())
		a.waitForHandlers()
	}
	err = errors.Join(err, ops.Close())
	a.api.LogRefusals(a.deps.Now().Add(time.Minute)) // includes those of the last minute
	stop()
	running.Wait()
	a.finishAudit(ctx)
	return errors.Join(err, a.Keys.Sweep(context.WithoutCancel(ctx)), a.Accounts.WriteUses(context.WithoutCancel(ctx)),
		a.Close())
}

// finishAudit writes the rest of the access log. A failure of the log is logged and does not fail
// the stop.
func (a *App) finishAudit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	a.Audit.Finish(ctx)
}

// Handler returns the handler of the public listener, for tests that send many requests.
func (a *App) Handler() http.Handler { return a.server.Handler }

// trackServing wraps a handler so that waitForHandlers can wait for its requests, and counts the
// requests in progress.
func (a *App) trackServing(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.servingMu.RLock()
		defer a.servingMu.RUnlock()
		if a.metrics != nil {
			a.metrics.inFlight.Inc()
			defer a.metrics.inFlight.Dec()
		}
		handler.ServeHTTP(w, r)
	})
}

// waitForHandlers waits up to Deps.Cut until handlers whose connections were closed have released
// what they hold, before the database is closed.
func (a *App) waitForHandlers() {
	done := make(chan struct{})
	go func() {
		a.servingMu.Lock()
		defer a.servingMu.Unlock()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(cmp.Or(a.deps.Cut, cutTimeout)):
		a.deps.Log.Warn("some requests did not end when they were cut")
	}
}

// seed performs the first start if it is due: it creates the administrator, the defaults and the
// folders. It prints the address and a generated password to Deps.Out.
func (a *App) seed(ctx context.Context) error {
	cfg := a.Config
	settings := site.Defaults()
	settings.Setup = site.SetupSteps
	settings.AllowRegistration = cfg.AllowRegistration
	settings.RateLimitEnabled, settings.RateLimitRequestsPerMinute = cfg.RateLimitEnabled, cfg.RateLimitPerMinute
	settings.TrashDays = int((cfg.TrashRetention + 24*time.Hour - 1) / (24 * time.Hour))
	password := cfg.AdminPassword
	if password == "" {
		password = a.Lifecycle.RandomPassword()
	}
	first, err := a.Lifecycle.Seed(ctx, lifecycle.FirstStart{Username: cfg.AdminUsername, Email: cfg.AdminEmail,
		Password: password, Settings: settings})
	if err != nil {
		return fmt.Errorf("first start: %w", err)
	}
	a.seedDone.Store(true)
	fmt.Fprintf(a.deps.Out, "Larder serves %s\n", a.BaseURL)
	if first && cfg.AdminPassword == "" {
		fmt.Fprintf(a.deps.Out,
			"First start: sign in as %s with the password %s (it is shown only once; `larder admin reset-password "+
				"%s` sets a new one)\n",
			cfg.AdminUsername, password.Reveal(), cfg.AdminUsername)
	}
	a.deps.Log.Info("ready", "address", a.listener.Addr().String(), "base_url", a.BaseURL)
	return nil
}

// ready reports whether requests can be served, with a text for the reason or a restriction, "" for
// none. The text reveals nothing to strangers.
func (a *App) ready(r *http.Request) (bool, string) {
	if !a.seedDone.Load() {
		return false, "starting"
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := a.DB.Ping(ctx); err != nil {
		a.deps.Log.Error("the database can't be reached", "error", err)
		return false, "the database can't be reached"
	}
	ready, detail := a.storesReady(ctx)
	if detail == "" && a.damagedAuditFile != "" {
		detail = "degraded: the access log was damaged, and a new one was begun"
	}
	if detail == "" && a.redisIsDown() {
		detail = "degraded: each replica counts rate limits by itself"
	}
	if detail == "" {
		damaged, err := object.CountDamaged(a.DB.Read(ctx))
		if err != nil {
			a.deps.Log.Error("the damaged objects can't be counted", "error", err)
			return false, "the database can't be reached"
		}
		if damaged > 0 {
			detail = "degraded: stored files are damaged"
		}
	}
	return ready, detail
}

// storesReady reports whether the stores allow requests to be served, with a text for the reason or
// a restriction, "" for none. A missing local disk makes the replica not ready, since it may be
// missing on this one only. An unreachable bucket does not: it is the same for all replicas, and
// would take the whole service down.
func (a *App) storesReady(ctx context.Context) (ready bool, detail string) {
	statuses, err := a.Providers.StoreStatuses(ctx, bucketTimeout)
	if err != nil {
		a.deps.Log.Error("the storage providers can't be read", "error", err)
		return false, "the database can't be reached"
	}
	ready = true
	for _, s := range statuses {
		switch {
		case s.Err == nil:
		case s.Provider.Type == provider.BuiltIn:
			a.deps.Log.Error("a storage provider is not available", "provider", s.Provider.ID, "error", s.Err)
			ready, detail = false, "a storage provider is not available"
		default:
			a.deps.Log.Warn("a storage provider does not answer", "provider", s.Provider.ID, "error", s.Err)
			if ready {
				detail = "degraded: a storage provider does not answer"
			}
		}
	}
	return ready, detail
}

// repeat runs a task, then again after each pause of every, until ctx ends. It logs errors under
// name.
func (a *App) repeat(ctx context.Context, every time.Duration, name string, task func(context.Context) error) {
	for {
		if err := task(ctx); err != nil && ctx.Err() == nil {
			a.deps.Log.Error(name, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// Sweep runs every sweep once: the heartbeat, expired sessions and tokens, old jobs, and the rows,
// objects and thumbnails of deleted files; and the check of the backup of the scrub.
func (a *App) Sweep(ctx context.Context) error {
	return errors.Join(a.heartbeat(ctx), a.sweepAll(ctx), a.collect(ctx), a.sweepThumbs(ctx), a.checkScrubBackup(ctx))
}

// sweepAll runs the sweeps that hardly wait for a store: they delete what has expired in the
// database.
func (a *App) sweepAll(ctx context.Context) error {
	if a.api != nil {
		a.api.LogRefusals(a.deps.Now())
	}
	return errors.Join(a.Uploads.Sweep(ctx), a.Downloads.Sweep(ctx), a.Shares.Sweep(ctx), a.FreeMode.Sweep(ctx),
		a.Accounts.Sweep(ctx), a.sweepGuesses(ctx), a.Keys.Sweep(ctx), a.Tree.SweepLocks(ctx), a.Tree.SweepTrash(ctx),
		a.Providers.Sweep(ctx),
		a.Jobs.Sweep(ctx), a.Lifecycle.Sweep(ctx), a.Notices.Sweep(ctx), a.Audit.Sweep(ctx), a.recordStorage(ctx),
		a.Site.SweepFormerKeys(ctx, a.deps.Now()), a.Fsck.StartScrub(ctx),
		a.DB.SweepReplicas(ctx), a.DB.LimitWAL(ctx))
}

// recordStorage keeps the use of the storage providers of this day for the dashboard, once a day.
func (a *App) recordStorage(ctx context.Context) error {
	return a.Audit.RecordStorage(ctx, func(ctx context.Context) ([]audit.StorageUse, error) {
		statistics, err := a.Lifecycle.Statistics(ctx)
		var all []audit.StorageUse
		for _, p := range statistics.Storage {
			all = append(all, audit.StorageUse{ProviderID: p.ID, Bytes: p.Bytes, Files: p.Files})
		}
		return all, err
	})
}

// sweepStores runs what takes long and is seldom due: the daily sweep of unreferenced objects in
// the local stores, and the hourly count of folders.
func (a *App) sweepStores(ctx context.Context) error {
	return errors.Join(a.Fsck.Sweep(ctx), a.Fsck.Recount(ctx))
}

// trim runs beside the server: when it is requested, it deletes garbage (objects without
// references) of accounts that have more of it than their bound, without the grace period. It works
// for at most half of the time.
func (a *App) trim(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.trimRequested:
		}
		began := time.Now()
		found, err := a.Objects.Trim(ctx)
		if err == nil && found {
			err = a.collectDue(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.deps.Log.Error("trim the garbage of accounts", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Since(began)):
		}
	}
}

// collect gives up the grace period of garbage where an account has more of it than its bound, and
// deletes the objects and rows of deleted entries that are due, until there are no more.
func (a *App) collect(ctx context.Context) error {
	return errors.Join(a.Objects.TrimAll(ctx), a.collectDue(ctx))
}

// collectDue deletes the objects and rows of deleted entries whose grace period is over, until
// there are no more.
func (a *App) collectDue(ctx context.Context) error {
	for ctx.Err() == nil {
		if more, err := a.Tree.Collect(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}

// Addr returns the address of the public listener.
func (a *App) Addr() net.Addr { return a.listener.Addr() }
