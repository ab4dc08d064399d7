// Package job keeps durable background jobs as rows. What a move inside one provider asks for is done within the request; its job is a row
// that was completed from the start, so that whoever asks about it finds an answer.
//
// Specification: Job.
package job

// Job is one background job.
type Job struct {
	ID           string
	Type         string // move, checksum
	OwnerID      string // who may read it, "" for nobody: a chore of the service
	Status       string // pending, running, completed or failed
	Progress     int    // percent
	ErrorMessage *string
	CreatedAt    int64  // milliseconds
	CompletedAt  *int64 // milliseconds
}
