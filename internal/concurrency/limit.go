// Package concurrency limits how many operations run at once in this process: in all, and for
// each source of them.
//
// A limit is for work that costs much while it runs, such as a search or an archive. How often
// something may be asked for is a matter of package kv.
package concurrency

import (
	"context"
	"sync"
	"time"
)

// Limit counts the operations that run. It is safe for concurrent use. Use NewLimit.
type Limit struct {
	max int

	mu       sync.Mutex
	running  map[string]int // by source
	total    int
	released chan struct{} // closed at the next release; nil while no caller waits for it
}

// NewLimit returns a limit of all operations at once.
func NewLimit(all int) *Limit { return &Limit{max: all, running: map[string]int{}} }

// Source bounds the operations of one origin: an account, an address, or a group of them.
type Source struct {
	Name string
	Max  int // operations at once
}

// LimitError is the error of an operation that has no place.
type LimitError struct {
	Source string // the name of the first source that has its most; "" when the limit of all is reached
}

func (e *LimitError) Error() string {
	if e.Source == "" {
		return "too many operations at once"
	}
	return "too many operations at once of " + e.Source
}

// TryAcquire takes a place in the limit and in each source, until release is called once. Error:
// *Full; then nothing is taken.
func (l *Limit) TryAcquire(sources ...Source) (release func(), err error) {
	release, full, _ := l.try(sources, false)
	if full != nil {
		return nil, full
	}
	return release, nil
}

// Acquire is TryAcquire that waits for a place, for patience at most. Errors: *Full,
// and that of ctx.
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

// try takes the places, or returns which one is missing and, to callers that wait, a channel closed
// at the next release.
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
