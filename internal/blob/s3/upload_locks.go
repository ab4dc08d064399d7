package s3

import (
	"context"
	"fmt"
	"sync"

	"larder/internal/blob"
)

// uploadLocks serializes bodies for the same part of an upload, and separates parts from Finish,
// within this process. Between processes the server serializes whole parts.
type uploadLocks struct {
	mu      sync.Mutex
	uploads map[string]*uploadLock
}

// uploadLock is the lock of one upload that is in use or waited for.
type uploadLock struct {
	users     int // holders and waiters
	parts     map[int]bool
	finishing bool
	aborted   bool
	changed   chan struct{} // closed when a holder releases the lock
}

// uploadLockName returns the name of an upload's lock in uploadLocks.uploads.
func uploadLockName(key blob.Key, id string) string { return string(key) + "\n" + id }

// enter adds a user to the lock of u and returns the lock with its name. The caller holds l.mu.
func (l *uploadLocks) enter(u blob.Upload) (*uploadLock, string) {
	name := uploadLockName(u.Key, u.ID)
	at := l.uploads[name]
	if at == nil {
		at = &uploadLock{parts: map[int]bool{}, changed: make(chan struct{})}
		if l.uploads == nil {
			l.uploads = map[string]*uploadLock{}
		}
		l.uploads[name] = at
	}
	at.users++
	return at, name
}

// leave calls let, which gives back what the caller has locked, removes the caller from the users
// of at, and wakes the waiters. The last user removes the lock with that name.
func (l *uploadLocks) leave(at *uploadLock, name string, let func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	let()
	close(at.changed)
	at.changed = make(chan struct{})
	if at.users--; at.users == 0 {
		delete(l.uploads, name)
	}
}

// lockPart waits until no other call of this process writes that part or finishes the upload. The
// caller has the part until it calls leave. Error: the context's.
func (l *uploadLocks) lockPart(ctx context.Context, u blob.Upload, number int) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, name := l.enter(u)
	for at.finishing || at.parts[number] {
		changed := at.changed
		l.mu.Unlock()
		select {
		case <-changed:
			l.mu.Lock()
		case <-ctx.Done():
			l.leave(at, name, func() {})
			l.mu.Lock()
			return nil, fmt.Errorf("wait for part: %w", ctx.Err())
		}
	}
	at.parts[number] = true
	return func() { l.leave(at, name, func() { delete(at.parts, number) }) }, nil
}

// tryLockAll locks all parts of an upload for Finish, until the caller calls leave. It returns
// false at once when another call of this process writes a part or finishes the upload.
func (l *uploadLocks) tryLockAll(u blob.Upload) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, name := l.enter(u)
	if at.finishing || len(at.parts) > 0 {
		at.users-- // another user remains
		return nil, false
	}
	at.finishing = true
	return func() { l.leave(at, name, func() { at.finishing = false }) }, true
}

// markAborted marks an upload as aborted for the calls that use its lock now: each PutPart among
// them aborts the upload again after it has sent its part, and fails. Without such a call
// markAborted does nothing. The mark ends with the last of these calls.
func (l *uploadLocks) markAborted(key blob.Key, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.uploads[uploadLockName(key, id)]; at != nil {
		at.aborted = true
	}
}

// isAborted reports whether markAborted was called for u while the caller, which holds a lock of u,
// used it.
func (l *uploadLocks) isAborted(u blob.Upload) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.uploads[uploadLockName(u.Key, u.ID)]
	return at != nil && at.aborted
}
