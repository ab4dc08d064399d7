package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// stepLease is how long a replica keeps a step without renewing its lease.
	stepLease = 20 * time.Second
	// stepBeat is how often the lease is renewed.
	stepBeat = 5 * time.Second
	// stepRelease bounds how long the end of a step waits for the database.
	stepRelease = 5 * time.Second
)

// Step is a part of a schema change that takes too long for the transaction of its migration: one
// replica at a time works on it while all serve. A kill may interrupt it at any point; another run
// resumes it. Code that depends on it asks Completed. Exactly one of Index, Batch and Drop is set.
// A new database gets all steps within its first migration.
type Step struct {
	Name   string  // unique; never changed after its release
	After  int     // the schema version that introduces the step
	Engine Dialect // the only engine that needs the step; "" for both

	// Index is the index that the step builds. On PostgreSQL reads and writes continue meanwhile.
	// On SQLite writes wait. For a large table, let the index be a partial one over the column that
	// the next step fills in (`WHERE column IS NOT NULL`): it is empty when it is built, and grows
	// with each batch.
	Index Index
	// Batch fills in the next rows after position, some hundred of them. It returns the position of
	// the last of them and whether there may be more. The first position is "". The first batch
	// waits until every running replica knows the schema After, and no older replica may start from
	// then on: rows that are written meanwhile need no backfill.
	Batch func(tx *Tx, position string) (next string, more bool, err error)
	// Drop is the index that the step drops. Queries may still need it, and are slow without it: a
	// step before this one must have replaced it.
	Drop Drop
}

// Index is an index that a step builds. Like an index in a migration, it needs a comment that names
// its query.
type Index struct {
	Name string
	On   string // table, columns and condition: `entries (owner_id, size) WHERE kind = 1`
}

// Drop is an index that a step drops.
type Drop struct {
	Index string
	While string // a query; the step waits while its answer is true
}

// steps are the steps of the metadata, in the order in which they run. Append only. A step may be
// removed once every supported upgrade begins after its end.
var steps = slices.Concat(sortKeySteps, recentSteps, pictureSteps, coverSteps)

// needed reports whether a database on that engine needs the step: Engine names it or is "".
func (s Step) needed(dialect Dialect) bool { return s.Engine == "" || s.Engine == dialect }

var (
	// errLeaseTaken means that another replica works on the step.
	errLeaseTaken = errors.New("another replica works on this step")
	// errWaiting means that the step waits for the end of what needs an index.
	errWaiting = errors.New("this step waits for the users of an index")
	// errLeaseLost means that another replica may have taken the step over.
	errLeaseLost = errors.New("the lease of the step is lost")
)

// Completed reports whether the step with that name is complete, so that a query may rely on its
// index or its column. An unknown name is an error.
func (d *DB) Completed(ctx context.Context, name string) (bool, error) {
	for _, s := range d.schema.Steps {
		if s.Name == name {
			return d.completed(ctx, s)
		}
	}
	return false, fmt.Errorf("there is no step %q", name)
}

// completed reads whether a step is complete, and remembers it once it is. For an index it reads
// the catalogue, since backups and restores copy the rows of schema_steps without the index. A step
// that this engine does not need is complete.
func (d *DB) completed(ctx context.Context, s Step) (complete bool, err error) {
	if !s.needed(d.dialect) {
		return true, nil
	}
	if _, known := d.ended.Load(s.Name); known {
		return true, nil
	}
	query, about := "SELECT completed_at IS NOT NULL FROM schema_steps WHERE name = $1", s.Name
	switch {
	case s.Drop.Index != "" && d.dialect == sqlite:
		query, about = "SELECT COUNT(*) = 0 FROM sqlite_master WHERE type = 'index' AND name = $1", s.Drop.Index
	case s.Drop.Index != "":
		query, about = "SELECT to_regclass(CAST($1 AS TEXT)) IS NULL", s.Drop.Index
	case s.Batch == nil && d.dialect == sqlite:
		query, about = "SELECT TRUE FROM sqlite_master WHERE type = 'index' AND name = $1", s.Index.Name
	case s.Batch == nil:
		query, about = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(CAST($1 AS TEXT))", s.Index.Name
	}
	err = d.Read(ctx).QueryRow(query, about).Scan(&complete)
	if errors.Is(err, ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the step %s: %w", s.Name, err)
	}
	if complete {
		d.ended.Store(s.Name, true)
	}
	return complete, nil
}

// RunSteps runs the steps that are not complete, and reports whether all of them are complete then.
// It stops at a step that another replica works on, or that waits for older replicas to stop or for
// the users of an index; the caller calls it again later. holder is the id of this replica.
func (d *DB) RunSteps(ctx context.Context, holder string) (all bool, err error) {
	for _, s := range d.schema.Steps {
		complete, err := d.completed(ctx, s)
		if err != nil {
			return false, err
		}
		if complete {
			continue
		}
		err = d.withLease(ctx, s.Name, holder, func(ctx context.Context) error { return d.runStep(ctx, s, holder) })
		switch {
		case errors.Is(err, errLeaseTaken), errors.Is(err, errWaiting):
			return false, nil
		case errors.Is(err, ErrOlderReplica):
			d.log.Info("a step of the schema waits until every replica is upgraded", "step", s.Name, "reason", err)
			return false, nil
		case err != nil:
			return false, fmt.Errorf("run the step %s: %w", s.Name, err)
		}
		if complete, err = d.completed(ctx, s); err != nil || !complete {
			return false, err
		}
		d.log.Info("a step of the schema is complete", "step", s.Name)
	}
	return true, nil
}

// runStep does the work of a step whose lease this replica, holder, has. Errors: errWaiting,
// errLeaseTaken, errLeaseLost, ErrOlderReplica.
func (d *DB) runStep(ctx context.Context, s Step, holder string) error {
	switch {
	case s.Drop.Index != "":
		return d.dropIndex(ctx, s.Drop)
	case s.Batch == nil:
		return d.buildIndex(ctx, s.Index)
	}
	if err := d.Write(ctx, func(tx *Tx) error { return tx.RequireSchema(s.After) }); err != nil {
		return err
	}
	for more := true; more; {
		if err := d.Write(ctx, func(tx *Tx) (err error) {
			more, err = runBatch(tx, s, holder)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// runBatch does one batch of a step and stores its position, in one transaction; more is false when
// the step is complete. Error: errLeaseLost when holder does not have the lease any more.
func runBatch(tx *Tx, s Step, holder string) (more bool, err error) {
	now, err := tx.db.clock(tx)
	if err != nil {
		return false, err
	}
	var position string
	var completedAt *int64
	// This comes first, so that a replica that takes over the lease waits for this transaction.
	err = tx.QueryRow(
		"UPDATE schema_steps SET held_until = $1 WHERE name = $2 AND holder = $3 RETURNING position, completed_at",
		now+stepLease.Milliseconds(), s.Name, holder).Scan(&position, &completedAt)
	if errors.Is(err, ErrNoRows) {
		return false, errLeaseLost
	}
	if err != nil || completedAt != nil {
		return false, err
	}
	next, more, err := s.Batch(tx, position)
	if err != nil {
		return false, err
	}
	if !more {
		completedAt = &now
	}
	_, err = tx.Exec("UPDATE schema_steps SET position = $1, completed_at = $2 WHERE name = $3", next, completedAt,
		s.Name)
	return more, err
}

// withLease calls work while this replica, holder, has the lease of the step with that name, which
// a goroutine renews every stepBeat. The context of work ends when the lease is lost. Errors:
// errLeaseTaken, errLeaseLost, that of work.
func (d *DB) withLease(ctx context.Context, name, holder string, work func(ctx context.Context) error) error {
	if err := d.Write(ctx, func(tx *Tx) error { return claimStep(tx, name, holder) }); err != nil {
		return err
	}
	leased, end := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-leased.Done():
				return
			case <-time.After(stepBeat):
			}
			if err := d.Write(leased, func(tx *Tx) error { return renewStep(tx, name, holder) }); err != nil {
				end(err)
			}
		}
	})
	err := work(leased)
	if cause := context.Cause(leased); cause != nil {
		err = errors.Join(err, cause)
	}
	end(nil)
	renewing.Wait()
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepRelease)
	defer cancel()
	return errors.Join(err, d.Write(release, func(tx *Tx) error {
		_, err := tx.Exec("UPDATE schema_steps SET holder = NULL WHERE name = $1 AND holder = $2", name, holder)
		return err
	}))
}

// claimStep gives holder the lease of a step for stepLease. Error: errLeaseTaken while another
// replica has it.
func claimStep(tx *Tx, name, holder string) error {
	now, err := tx.db.clock(tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`
		INSERT INTO schema_steps (name, position, holder, held_until)
		VALUES ($1, '', $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
		WHERE schema_steps.holder IS NULL OR schema_steps.held_until <= $4`, name, holder, now+stepLease.Milliseconds(),
		now)
	if err == nil && n == 0 {
		err = errLeaseTaken
	}
	return err
}

// renewStep renews the lease of a step for stepLease. Error: errLeaseLost when holder does not have
// it any more.
func renewStep(tx *Tx, name, holder string) error {
	now, err := tx.db.clock(tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec("UPDATE schema_steps SET held_until = $1 WHERE name = $2 AND holder = $3",
		now+stepLease.Milliseconds(), name, holder)
	if err == nil && n == 0 {
		err = errLeaseLost
	}
	return err
}
