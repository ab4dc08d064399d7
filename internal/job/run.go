package job

import (
	"sync"

	"larder/internal/db"
)

// Run is one attempt at a job. Its methods are safe for concurrent use.
type Run struct {
	ID, Type, OwnerID string
	Payload           string // as it was at the claim

	holder string // names this claim

	mu            sync.Mutex
	attempts      int    // without progress, including this one
	recordedBytes int64  // recorded by earlier steps
	attemptBytes  int64  // processed in this attempt
	totalBytes    int64  // as far as known
	shownPercent  int    // percent that the row shows
	leaseUntil    int64  // end of the lease, ms
	files         *int64 // see SetFiles
}

// SetRemaining sets how many bytes are left to process, from which the shown percentage follows. It
// may be called again when there are more.
func (r *Run) SetRemaining(left int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totalBytes = r.recordedBytes + r.attemptBytes + left
}

// AddProgress adds n processed bytes to the progress that is shown. The progress is written about
// once a second.
func (r *Run) AddProgress(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attemptBytes += n
}

// SetFiles sets the number of files that the job has dealt with, which the notification at its end
// tells.
func (r *Run) SetFiles(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = &n
}

// Files returns the number of files that SetFiles has set, nil if it was not called.
func (r *Run) Files() *int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files
}

// RecordBytes records, in the transaction that makes them durable, processed bytes that a later
// attempt need not process again. It counts as progress: the attempts before it are forgotten.
// Error: ErrLeaseLost, which must roll the transaction back.
func (r *Run) RecordBytes(tx *db.Tx, bytes int64) error {
	r.mu.Lock()
	total := r.totalBytes
	r.mu.Unlock()
	if err := updateProgress(tx, r, bytes, total); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempts = 1
	})
	return nil
}

// SavePayload replaces the payload, in the transaction of the step that it describes. Error:
// ErrLeaseLost, which must roll the transaction back.
func (r *Run) SavePayload(tx *db.Tx, payload string) error { return updatePayload(tx, r, payload) }

// percent returns the progress to show, at most 99; 100 comes with the end.
func (r *Run) percent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.totalBytes <= 0 {
		return r.shownPercent
	}
	return max(r.shownPercent, int(min(100*float64(r.recordedBytes+r.attemptBytes)/float64(r.totalBytes), 99)))
}

// attemptCount returns the number of attempts without progress, this one included.
func (r *Run) attemptCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}
