package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"larder/internal/audit"
	"larder/internal/db"
	"larder/internal/lifecycle"
)

const (
	// heartbeatEvery is how often a replica records that it is running. The system page shows the
	// replicas of the last minute.
	heartbeatEvery = 30 * time.Second
	// stepsEvery is how often a replica tries to run the steps of the schema.
	stepsEvery = 15 * time.Second
	// leaveTime bounds how long a stop waits for the deletion of the replica's row.
	leaveTime = 5 * time.Second
	// maxHost is the number of characters of the host name in the id of a replica.
	maxHost = 100
)

// join migrates the schema and writes the row of this process in replicas. Errors:
// db.ErrOlderReplica while a replica runs that could not work on the new schema, db.ErrTooOld when
// this process is too old for the present one.
func (a *App) join(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "" // the id is unique without it
	}
	auditSchema, err := audit.Schema.Newest()
	if err != nil {
		return err
	}
	a.replica = db.Replica{
		ID: cmp.Or(host[:min(len(host), maxHost)], "replica") + "-" + a.ids.Hex(5), Version: a.deps.Version,
		AuditSchema: auditSchema,
		Alone:       !a.Config.Postgres(), // the data directory of SQLite is locked
	}
	if err := a.DB.Join(ctx, a.replica); err != nil {
		return err
	}
	a.joined = true
	a.deps.Log.Info("this process is a replica", "id", a.replica.ID)
	return nil
}

// leave deletes the row of this process in replicas, when the process stops, so that no migration
// waits for it. If that fails, the row counts as a running replica for some minutes more.
func (a *App) leave(ctx context.Context) {
	if !a.joined {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := a.DB.Leave(ctx, a.replica.ID); err != nil {
		a.deps.Log.Warn("could not remove the row of this replica: it expires in some minutes", "error", err)
	}
}

// heartbeat records that this process is running and follows the clock of the database. When the
// schema has become too new for it, or the master key was replaced while the process stood still
// and counted as stopped, heartbeat ends Run with that error.
func (a *App) heartbeat(ctx context.Context) error {
	if !a.joined {
		return nil
	}
	err := a.DB.Heartbeat(ctx, a.replica)
	if err == nil && a.clock != nil {
		err = a.clock.follow(ctx, a.DB, a.deps.Log)
	}
	if err == nil {
		err = a.Lifecycle.RecheckKey(ctx, a.masterKey.Fingerprint())
	}
	if errors.Is(err, db.ErrTooOld) || errors.Is(err, lifecycle.ErrWrongKey) {
		select {
		case a.outdated <- err:
		default: // Run is ending already
		}
	}
	return err
}

// runSteps runs the steps of the schema (backfills and index builds) until all are complete or ctx
// ends. It tries again every stepsEvery.
func (a *App) runSteps(ctx context.Context) {
	for {
		all, err := a.DB.RunSteps(ctx, a.replica.ID)
		if err != nil && ctx.Err() == nil {
			a.deps.Log.Error("run the steps of the schema", "error", err)
		}
		if all {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(stepsEvery):
		}
	}
}
