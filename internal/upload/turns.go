package upload

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"larder/internal/fault"
)

// turnsAtOnce is how many copies to where nobody can write are made for one user at a time, by one process.
const turnsAtOnce = 4

// How many completions may wait at a time in one process: of one user, and in all.
const (
	waitersOfUser = 64
	waitersInAll  = 1024
)

// turns lets a few callers of each user in at a time; the others wait. The zero turns is ready for use.
type turns struct {
	size int // how many come in at a time, 0 for turnsAtOnce

	mu  sync.Mutex
	now map[string]*turn // by user, while there is anybody
}

type turn struct {
	free  chan struct{} // as many as may come in
	users int           // of this turn: in, or waiting
}

// waiters counts the calls that wait here for others, of each user and in all, and refuses one too
// many. The zero waiters is ready for use.
type waiters struct {
	mu  sync.Mutex
	of  map[string]int // by user, while there is any
	all int
}

// enter counts one call more, until leave. Fault: RateLimited.
func (w *waiters) enter(userID string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[userID] >= waitersOfUser || w.all >= waitersInAll {
		err := fault.New(fault.RateLimited, "Too many uploads are being completed. Please wait a moment.")
		err.RetryAfter = retryAfter
		return nil, err
	}
	if w.of == nil {
		w.of = map[string]int{}
	}
	w.of[userID]++
	w.all++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		if w.of[userID]--; w.of[userID] == 0 {
			delete(w.of, userID)
		}
	}, nil
}

// wait returns when the user's turn has come; leave ends it. Error: that of ctx.
func (t *turns) wait(ctx context.Context, userID string) (leave func(), err error) {
	t.mu.Lock()
	if t.now == nil {
		t.now = map[string]*turn{}
	}
	mine := t.now[userID]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, cmp.Or(t.size, turnsAtOnce))}
		t.now[userID] = mine
	}
	mine.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.now, userID)
		}
	}
	left := func() { <-mine.free; gone() }
	select {
	case mine.free <- struct{}{}:
		return left, nil
	default: // a free turn comes before the end of ctx
	}
	select {
	case mine.free <- struct{}{}:
		return left, nil
	case <-ctx.Done():
		gone()
		return nil, fmt.Errorf("wait for one's turn: %w", ctx.Err())
	}
}
