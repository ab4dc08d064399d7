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

	mu       sync.Mutex
	attempts int   // without progress, this one included
	base     int64 // bytes that were recorded before
	moved    int64 // bytes that went by in this attempt
	total    int64 // bytes, as far as is known
	told     int   // percent that the row shows
	lease    int64 // until when it is held, ms
}

// Plan says how many bytes are left to do. It may be called again when more turn up.
func (r *Run) Plan(left int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total = r.base + r.moved + left
}

// Moved counts bytes that have gone by, for the progress that is shown. It is written about once a second.
func (r *Run) Moved(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved += n
}

// Record notes, in the transaction that makes them last, bytes that need not be done again. Error: ErrLost, which must undo the transaction.
func (r *Run) Record(tx *db.Tx, bytes int64) error {
	r.mu.Lock()
	total := r.total
	r.mu.Unlock()
	if err := record(tx, r, bytes, total); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempts = 1
	})
	return nil
}

// Save replaces the payload, in the transaction of the step that it speaks of. Error: ErrLost, which must undo the transaction.
func (r *Run) Save(tx *db.Tx, payload string) error { return savePayload(tx, r, payload) }

// percent is what can be shown: the last percent comes with the end.
func (r *Run) percent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total <= 0 {
		return r.told
	}
	return max(r.told, int(min(100*float64(r.base+r.moved)/float64(r.total), 99)))
}

// tries returns how often the job was begun without progress.
func (r *Run) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}
