// Package job runs work that outlives a request. A job is a row, inserted in the transaction that
// asks for it. A Runner claims the next job that is due by one conditional UPDATE and holds it
// under a lease that it renews. Each claim has a holder name of its own, so that a claim that was
// lost, by a pause or a crash, cannot change anything any more.
//
// A handler may be ended at any line and run again, here or in another replica, for a moment even
// twice at once: its steps must be idempotent. Errors of stores and databases are retried, later
// each time; a fault ends the job. Work that takes no time is done within the request: its job is
// completed from the start, so that clients can ask about it like about any other.
//
// Specification: Job, Job status.
package job

import (
	"context"
	"errors"

	"larder/internal/db"
)

// The statuses.
const (
	Pending   = "pending"
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
)

// Job is one background job.
type Job struct {
	ID           string
	Type         string // move, copy, evacuate, checksum, legacy
	OwnerID      string // user who may read it; "" for a job of the service itself
	Status       string // pending, running, completed or failed
	Progress     int    // percent
	ErrorMessage *string
	CreatedAt    int64  // milliseconds
	CompletedAt  *int64 // milliseconds; also of a failed job
	Paused       bool   // by its owner; the status is pending
}

// Handler runs a job of one type. It stops soon after ctx has ended and returns any error that this
// causes. A fault ends the job as failed, with its message; other errors, and the faults
// Unavailable, RateLimited and Internal, are retried later.
type Handler func(ctx context.Context, run *Run) error

// waiting is the error of WaitUntil.
type waiting struct{ until int64 } // ms

func (waiting) Error() string { return "the job waits" }

// WaitUntil returns the error by which a handler ends its attempt to be called again at a time
// (ms). The attempt does not count as a failure.
func WaitUntil(ms int64) error { return waiting{ms} }

// Undo cleans up after a job that fails for good, in the transaction that marks it as failed.
type Undo func(tx *db.Tx, run *Run) error

// Ending is called when a job has ended, in the transaction that records that. failure is the
// sentence of a failed job, "" for a completed one.
type Ending func(tx *db.Tx, run *Run, failure string) error

// ErrLeaseLost tells a handler that another holder has its job by now.
var ErrLeaseLost = errors.New("the lease of the job is lost")
