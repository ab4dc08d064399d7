// Package concurrency limits the number of operations that run at once in this process: in total,
// and for each source.
//
// Use it for work that is expensive while it runs, such as a search or an archive. Package kv
// limits how often something may be requested.
package concurrency

import (
	"context"
	"sync"
	"time"
)

// Limit counts the running operations. It is safe for concurrent use. Use NewLimit.
type Limit struct {
	max int

	mu       sync.Mutex
	running  map[string]int // by source
	total    int
	released chan struct{} // closed at the next release; nil while no caller waits for it
}

// NewLimit returns a Limit that lets at most all operations run at once.
func NewLimit(all int) *Limit { return &Limit{max: all, running: map[string]int{}} }

// Source limits the operations of one origin: an account, an address, or a group of them.
type Source struct {
	Name string
	Max  int // operations at once
}

// LimitError is the error of an operation that exceeds a limit.
type LimitError struct {
	Source string // the name of the first source at its limit; "" if the total limit is reached
}

func (e *LimitError) Error() string {
	if e.Source == "" {
		return "too many operations at once"
	}
	return "too many operations at once of " + e.Source
}

// TryAcquire takes a slot of the total and of each source, without waiting. The caller calls
// release once to return them. Error: *LimitError; then no slot is taken.
func (l *Limit) TryAcquire(sources ...Source) (release func(), err error) {
	release, full, _ := l.try(sources, false)
	if full != nil {
		return nil, full
	}
	return release, nil
}

// Acquire is TryAcquire, but waits for a slot for up to timeout. Errors: *LimitError, and that of
// ctx.
func (l *Limit) Acquire(ctx context.Context, timeout time.Duration, sources ...Source) (release func(), err error) {
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		release, full, released := l.try(sources, true)
		if full == nil {
			return release, nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			return nil, full
		}
	}
}

// try takes the slots. If one is missing, it returns the error and, if wait is true, a channel that
// is closed at the next release.
func (l *Limit) try(sources []Source, wait bool) (release func(), full *LimitError, released <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full = l.fullSource(sources); full != nil {
		if wait && l.released == nil {
			l.released = make(chan struct{})
		}
		return nil, full, l.released
	}
	for _, s := range sources {
		l.running[s.Name]++
	}
	l.total++
	return func() { l.release(sources) }, nil, nil
}

// fullSource returns the error for the first source at its limit, or for the total; nil if there is
// a slot. The caller holds mu.
func (l *Limit) fullSource(sources []Source) *LimitError {
	for _, s := range sources {
		if l.running[s.Name] >= s.Max {
			return &LimitError{Source: s.Name}
		}
	}
	if l.total >= l.max {
		return &LimitError{}
	}
	return nil
}

// release returns the slots that try took for sources, and wakes the callers that wait.
func (l *Limit) release(sources []Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range sources {
		if l.running[s.Name]--; l.running[s.Name] == 0 {
			delete(l.running, s.Name)
		}
	}
	l.total--
	if l.released != nil {
		close(l.released)
		l.released = nil
	}
}
