// Package job runs work that outlives a request. A job is a row, inserted in the transaction that
// asks for it. A Runner claims the next one that is due by one conditional UPDATE and holds it
// under a lease that it renews; what it claimed carries a holder's name of its own, so that a claim
// that was lost, to a pause or a crash, can change nothing any more.
//
// A handler may be ended at any line and run again, here or in another replica, for a moment even
// twice at once: its steps must be idempotent. What fails as a store or a database does is tried
// again, later each time; a fault is the job's end. What needs no time is done within the request:
// its job is completed from the start, so that whoever asks about it finds an answer.
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
	Type         string // move, copy, checksum, legacy
	OwnerID      string // who may read it, "" for nobody: a chore of the service
	Status       string // pending, running, completed or failed
	Progress     int    // percent
	ErrorMessage *string
	CreatedAt    int64  // milliseconds
	CompletedAt  *int64 // milliseconds, also of a failed one: when it ended
}

// Handler does a job of one type. It stops soon after ctx has ended and returns whatever error came
// of that. A fault ends the job as failed, with its sentence; other errors, and the faults
// Unavailable and Internal, are tried again later.
type Handler func(ctx context.Context, run *Run) error

// OnFailure gives back what a job that fails for good has left, in the transaction that says
// that it has failed.
type Undo func(tx *db.Tx, run *Run) error

// ErrLeaseLost tells a handler that somebody else has its job by now.
var ErrLeaseLost = errors.New("the lease of the job is lost")
