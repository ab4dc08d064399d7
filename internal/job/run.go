package job

import (
	"sync"

	"larder/internal/db"
)

// Run is one attempt at a job. All methods are safe for concurrent use.
type Run struct {
	ID, Type, OwnerID string
	Payload           string // as it was at the claim

	holder string // names this claim

	mu            sync.Mutex
	attempts      int   // without progress, this one included
	recordedBytes int64 // bytes that were recorded before
	attemptBytes  int64 // bytes that went by in this attempt
	totalBytes    int64 // bytes, as far as is known
	shownPercent  int   // percent that the row shows
	leaseUntil    int64 // until when it is held, ms
}

// SetRemaining says how many bytes are left to do. It may be called again when more turn up.
func (r *Run) SetRemaining(left int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.totalBytes = r.recordedBytes + r.attemptBytes + left
}

// AddProgress counts bytes that have gone by, for the progress that is shown. It is written
// about once a second.
func (r *Run) AddProgress(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attemptBytes += n
}

// RecordBytes notes, in the transaction that makes them last, bytes that need not be done again.
// Error: ErrLeaseLost, which must undo the transaction.
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

// SavePayload replaces the payload, in the transaction of the step that it speaks of. Error:
// ErrLeaseLost, which must undo the transaction.
func (r *Run) SavePayload(tx *db.Tx, payload string) error { return updatePayload(tx, r, payload) }

// percent is what can be shown: the last percent comes with the end.
func (r *Run) percent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.totalBytes <= 0 {
		return r.shownPercent
	}
	return max(r.shownPercent, int(min(100*float64(r.recordedBytes+r.attemptBytes)/float64(r.totalBytes), 99)))
}

// attemptCount returns how often the job was begun without progress.
func (r *Run) attemptCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}
