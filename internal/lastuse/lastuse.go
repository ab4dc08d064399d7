// Package lastuse records when API keys and sessions are used. It keeps the times in memory, and
// its caller writes them to the database in batches, so that a request never waits for such a
// write. A crash loses the times that were not written yet.
package lastuse

import (
	"maps"
	"sync"
	"time"
)

// interval is the shortest time between two written last uses of one thing, ms.
const interval = 60_000

// Recorder records last uses by id. It is safe for concurrent use. Only ids that exist may be
// recorded, since each takes memory until the next Write.
type Recorder struct {
	now func() time.Time

	mu        sync.Mutex
	unwritten map[string]int64 // last uses that are not written yet, ms
	written   map[string]int64 // last uses written less than a minute ago, ms
}

// New returns an empty Recorder on the clock now.
func New(now func() time.Time) *Recorder {
	return &Recorder{now: now, unwritten: map[string]int64{}, written: map[string]int64{}}
}

// Touch records that id is used now, unless a last use of the past minute has been written.
func (r *Recorder) Touch(id string) {
	now := r.now().UnixMilli()
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.written[id]; !ok || now-last >= interval {
		r.unwritten[id] = now
	}
}

// Latest returns the last use of id (ms) that is recorded and not written yet, or was written less
// than a minute ago, and whether there is one. A page shows it although the database has an older
// one, also when the page has read the database before a Write and calls Latest after it.
func (r *Recorder) Latest(id string) (ms int64, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ms, found = r.unwritten[id]
	if !found {
		ms, found = r.written[id]
	}
	return ms, found
}

// Write calls write with the last uses (ms) by id that Touch has recorded since the previous Write,
// if there are any. Latest returns them while write runs. When write fails, the next Write has them
// again.
func (r *Recorder) Write(write func(uses map[string]int64) error) error {
	now := r.now().UnixMilli()
	r.mu.Lock()
	uses := maps.Clone(r.unwritten)
	for id, at := range r.written {
		if now-at >= interval {
			delete(r.written, id)
		}
	}
	r.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	if err := write(uses); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, at := range uses {
		r.written[id] = max(at, r.written[id])
		if r.unwritten[id] == at { // not used again meanwhile
			delete(r.unwritten, id)
		}
	}
	return nil
}
