package upload

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"larder/internal/fault"
)

// copiesPerUser is the number of copies from staging keys that one process makes for one user at a
// time.
const copiesPerUser = 4

// Maximal number of completions that wait at a time in one process: of one user, and in all.
const (
	maxWaitersPerUser = 64
	maxWaiters        = 1024
)

// userSemaphore admits a few callers of each user at a time; the others wait. The zero value is
// ready for use.
type userSemaphore struct {
	perUser int // callers admitted at a time, 0 for copiesPerUser

	mu     sync.Mutex
	byUser map[string]*userSlots // by user, while there are callers
}

type userSlots struct {
	slots   chan struct{} // one element for each admitted caller
	callers int           // callers that are admitted or waiting
}

// waiterLimit counts the calls that wait for others, of each user and in all, and refuses one too
// many. The zero value is ready for use.
type waiterLimit struct {
	mu     sync.Mutex
	byUser map[string]int // by user, while there are any
	all    int
}

// enter counts one more waiting call of a user, until leave is called. Fault: RateLimited, with
// RetryAfter, when too many wait.
func (w *waiterLimit) enter(userID string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byUser[userID] >= maxWaitersPerUser || w.all >= maxWaiters {
		err := fault.New(fault.RateLimited, "Too many uploads are being completed. Please wait a moment.")
		err.RetryAfter = retryAfter
		return nil, err
	}
	if w.byUser == nil {
		w.byUser = map[string]int{}
	}
	w.byUser[userID]++
	w.all++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		if w.byUser[userID]--; w.byUser[userID] == 0 {
			delete(w.byUser, userID)
		}
	}, nil
}

// acquire waits until one of the user's slots is free and takes it; leave frees it. Error: that of
// ctx when it ends before.
func (s *userSemaphore) acquire(ctx context.Context, userID string) (leave func(), err error) {
	s.mu.Lock()
	if s.byUser == nil {
		s.byUser = map[string]*userSlots{}
	}
	mine := s.byUser[userID]
	if mine == nil {
		mine = &userSlots{slots: make(chan struct{}, cmp.Or(s.perUser, copiesPerUser))}
		s.byUser[userID] = mine
	}
	mine.callers++
	s.mu.Unlock()
	gone := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if mine.callers--; mine.callers == 0 {
			delete(s.byUser, userID)
		}
	}
	left := func() { <-mine.slots; gone() }
	select {
	case mine.slots <- struct{}{}:
		return left, nil
	default: // a free slot comes before the end of ctx
	}
	select {
	case mine.slots <- struct{}{}:
		return left, nil
	case <-ctx.Done():
		gone()
		return nil, fmt.Errorf("wait for a slot: %w", ctx.Err())
	}
}
