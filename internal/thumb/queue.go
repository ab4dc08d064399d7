package thumb

import (
	"context"
	"slices"
	"sync"
	"time"

	"larder/internal/fault"
)

const (
	maxWaiting     = 1024 // thumbnails that wait to be made
	maxWaitingEach = 256  // of one account or address
	retry          = 10 * time.Second
)

// queue lets a number of thumbnails be made at a time. The others wait; whose turn it is goes round
// among those for whom any wait.
type queue struct {
	mu      sync.Mutex
	free    int
	waiting int
	lanes   map[string][]chan struct{} // by who; what is closed has its turn
	order   []string                   // the keys of lanes, who is next first
}

func newQueue(places int) *queue { return &queue{free: places, lanes: map[string][]chan struct{}{}} }

// enter waits for a place, which leave gives back. Fault: RateLimited; else the error of ctx.
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

// join returns what to wait for, nil for nothing.
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

// abandon takes one out of its lane; a turn that has come meanwhile is the next one's.
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

// removeTurn takes out of a lane what stands at at, and the lane out of the order when it is empty.
func (q *queue) removeTurn(who string, at int) {
	q.lanes[who] = slices.Delete(q.lanes[who], at, at+1)
	if len(q.lanes[who]) == 0 {
		delete(q.lanes, who)
		q.order = slices.DeleteFunc(q.order, func(other string) bool { return other == who })
	}
}

// leaveBuild gives a place back, or on.
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

func tooManyWaiting() error {
	return &fault.Error{Kind: fault.RateLimited, Message: "Too many thumbnails are being made. Please wait a moment.",
		RetryAfter: retry}
}
