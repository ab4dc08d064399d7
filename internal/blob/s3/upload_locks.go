package s3

import (
	"context"
	"fmt"
	"sync"

	"larder/internal/blob"
)

// uploadLocks keep bodies for the same part of an upload apart, and parts from an upload that is
// being finished, as far as they come through this process. Between processes the server decides,
// for each part as a whole.
type uploadLocks struct {
	mu      sync.Mutex
	uploads map[string]*uploadLock
}

// uploadLock is the one of an upload that somebody uses or waits for.
type uploadLock struct {
	users     int // all that hold or wait
	parts     map[int]bool
	finishing bool
	aborted   bool
	changed   chan struct{} // closed when somebody lets go
}

func uploadLockName(key blob.Key, id string) string { return string(key) + "\n" + id }

// enterPhase counts one user more and returns the gate; g.mu is held.
func (g *uploadLocks) enter(u blob.Upload) (*uploadLock, string) {
	name := uploadLockName(u.Key, u.ID)
	at := g.uploads[name]
	if at == nil {
		at = &uploadLock{parts: map[int]bool{}, changed: make(chan struct{})}
		if g.uploads == nil {
			g.uploads = map[string]*uploadLock{}
		}
		g.uploads[name] = at
	}
	at.users++
	return at, name
}

// leave does what let says and tells those who wait.
func (g *uploadLocks) leave(at *uploadLock, name string, let func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	let()
	close(at.changed)
	at.changed = make(chan struct{})
	if at.users--; at.users == 0 {
		delete(g.uploads, name)
	}
}

// lockPart waits until nobody else has that part or finishes the upload. The part is
// the caller's until leave.
func (g *uploadLocks) lockPart(ctx context.Context, u blob.Upload, number int) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, name := g.enter(u)
	for at.finishing || at.parts[number] {
		changed := at.changed
		g.mu.Unlock()
		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.leave(at, name, func() {})
			g.mu.Lock()
			return nil, fmt.Errorf("wait for part: %w", ctx.Err())
		}
	}
	at.parts[number] = true
	return func() { g.leave(at, name, func() { delete(at.parts, number) }) }, nil
}

// tryLockAll takes all parts of an upload, or says false when somebody has one.
func (g *uploadLocks) tryLockAll(u blob.Upload) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, name := g.enter(u)
	if at.finishing || len(at.parts) > 0 {
		at.users-- // never the last one
		return nil, false
	}
	at.finishing = true
	return func() { g.leave(at, name, func() { at.finishing = false }) }, true
}

// markAborted marks an upload that somebody here puts parts into.
func (g *uploadLocks) markAborted(key blob.Key, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := g.uploads[uploadLockName(key, id)]; at != nil {
		at.aborted = true
	}
}

// isAborted reports whether abort came while the caller, or others before it left, had a part.
func (g *uploadLocks) isAborted(u blob.Upload) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.uploads[uploadLockName(u.Key, u.ID)]
	return at != nil && at.aborted
}
