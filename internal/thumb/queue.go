package thumb

import (
	"context"
	"slices"
	"sync"
	"time"

	"larder/internal/fault"
)

const (
	maxWaiting     = 1024 // requests that may wait
	maxWaitingEach = 256  // of one account or address
	retry          = 10 * time.Second
)

// queue limits how many thumbnails are made at a time. The other requests wait in one lane per
// account or address, and the lanes take turns.
type queue struct {
	mu      sync.Mutex
	free    int
	waiting int
	lanes   map[string][]chan struct{} // by account or address; a channel is closed when its turn comes
	order   []string                   // the keys of lanes, the next one first
}

// newQueue returns a queue with that number of slots.
func newQueue(slots int) *queue { return &queue{free: slots, lanes: map[string][]chan struct{}{}} }

// enter waits for a slot, which the caller returns by leave. who is the account or address whose
// lane it waits in. Fault: RateLimited when too many requests wait; otherwise the error of ctx.
func (q *queue) enter(ctx context.Context, who string) error {
	turn, err := q.join(who)
	if turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.abandon(who, turn)
		return ctx.Err()
	}
}

// join takes a free slot and returns nil, or returns a channel that is closed when the caller has a
// slot. Fault: RateLimited when too many requests wait.
func (q *queue) join(who string) (chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil, nil
	}
	if q.waiting >= maxWaiting || len(q.lanes[who]) >= maxWaitingEach {
		return nil, tooManyWaiting()
	}
	if len(q.lanes[who]) == 0 {
		q.order = append(q.order, who)
	}
	turn := make(chan struct{})
	q.lanes[who] = append(q.lanes[who], turn)
	q.waiting++
	return turn, nil
}

// abandon removes a waiting request from its lane. If its turn has come meanwhile, abandon passes
// the slot on.
func (q *queue) abandon(who string, turn chan struct{}) {
	q.mu.Lock()
	at := slices.Index(q.lanes[who], turn)
	if at >= 0 {
		q.waiting--
		q.removeTurn(who, at)
	}
	q.mu.Unlock()
	if at < 0 {
		q.leave()
	}
}

// removeTurn removes the request at index at from the lane of who, and an empty lane from the
// order. The caller holds mu.
func (q *queue) removeTurn(who string, at int) {
	q.lanes[who] = slices.Delete(q.lanes[who], at, at+1)
	if len(q.lanes[who]) == 0 {
		delete(q.lanes, who)
		q.order = slices.DeleteFunc(q.order, func(other string) bool { return other == who })
	}
}

// leave returns a slot, or passes it to the first request of the lane whose turn it is.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		q.free++
		return
	}
	who := q.order[0]
	q.order = append(q.order[1:], who)
	close(q.lanes[who][0])
	q.waiting--
	q.removeTurn(who, 0)
}

// tooManyWaiting returns the fault RateLimited, which tells the client to come back in ten seconds.
func tooManyWaiting() error {
	return &fault.Error{Kind: fault.RateLimited, Message: "Too many thumbnails are being made. Please wait a moment.",
		RetryAfter: retry}
}
