package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Limits of locks.
const (
	// MaxLocks is how many locks an API key can hold at a time (abuse case C110).
	MaxLocks = 100
	// MaxLockTime is how long a lock lasts at most unless it is refreshed.
	MaxLockTime = time.Hour
)

// WriteLock is a write lock of a WebDAV client on an entry (RFC 4918, sections 6 and 7). It belongs
// to the API key that made it: no other may use its token, or is told it.
type WriteLock struct {
	Token     string // a UUID
	EntryID   string
	Deep      bool // covers all that is below as well
	Exclusive bool // else shared with others that are shared
	KeyID     string
	Owner     string // XML that the client sent, for people to read
	ExpiresAt int64  // ms
	Path      vpath.Path
	NewEntry  bool // the entry was made to be locked: then the permission to write is enough
}

// RequiredPassword locks an entry for the actor's key, for MaxLockTime at most. It takes the
// permission to update. Faults: Unauthorized (no key), NotFound, Forbidden,
// PasswordRequired, Locked by another lock that it cannot be with, see LockedAt;
// QuotaExceeded for a key that has MaxLocks.
func (t *Tree) Lock(ctx context.Context, a access.Actor, id string, l WriteLock,
	lasts time.Duration) (made WriteLock, err error) {
	// alone, so that no change is between its look at the locks and what it does
	err = t.writeLocked(ctx, true, func(tx *db.Tx) error {
		made, err = t.LockTx(tx, a, id, l, lasts)
		return err
	})
	if err == nil {
		crash.Point("lock.committed")
	}
	return made, err
}

// LockTx is Lock inside tx, which has the tree alone.
func (t *Tree) LockTx(tx *db.Tx, a access.Actor, id string, l WriteLock, lasts time.Duration) (WriteLock, error) {
	if a.Key == nil {
		return WriteLock{}, fault.New(fault.Unauthorized, "Locks are for API keys.")
	}
	n, v, err := t.lookUpTx(tx, id)
	if err != nil {
		return WriteLock{}, err
	}
	wanted := access.Update
	if l.NewEntry {
		wanted = access.Write
	}
	if err := v.allow(a, n.facts(a), wanted); err != nil {
		return WriteLock{}, err
	}
	l.Deep = l.Deep && n.folder
	now := t.nowMs()
	if err := t.lockable(tx, v, &n, l, now); err != nil {
		return WriteLock{}, err
	}
	held, err := countLocks(tx, a.Key.ID, now)
	if err != nil {
		return WriteLock{}, err
	}
	if held >= MaxLocks {
		return WriteLock{}, fault.Newf(fault.QuotaExceeded, "This API key has %d locks already.", MaxLocks)
	}
	l.Token, l.EntryID, l.KeyID, l.Path = t.IDs.UUID(), n.id, a.Key.ID, n.path
	l.ExpiresAt = now + min(lasts, MaxLockTime).Milliseconds()
	return l, insertLock(tx, l)
}

// lockable refuses a lock where there is one that it cannot be with. Fault: Locked.
func (t *Tree) lockable(tx *db.Tx, v *ruleset, n *node, l WriteLock, now int64) error {
	there, err := locksOn(tx, trailIDs(n.trail), now)
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(o WriteLock) bool { return !o.Deep && o.EntryID != n.id })
	if l.Deep {
		below, err := locksWithin(tx, v, n, now)
		if err != nil {
			return err
		}
		there = append(there, below...)
	}
	for i := range there {
		if l.Exclusive || there[i].Exclusive {
			return t.lockedRefusal(tx, &there[i])
		}
	}
	return nil
}

// locksWithin returns the locks on what lies below a folder, and on the mounts below it
// and what they hold.
func locksWithin(tx *db.Tx, v *ruleset, n *node, now int64) ([]WriteLock, error) {
	found, err := locksBelow(tx, n.id, now)
	var roots []string
	for _, m := range v.mounts.Below(n.path) {
		roots = append(roots, m.RootID)
	}
	for i := 0; i < len(roots) && err == nil; i++ {
		var below []WriteLock
		below, err = locksBelow(tx, roots[i], now)
		found = append(found, below...)
	}
	if err != nil {
		return nil, err
	}
	themselves, err := locksOn(tx, roots, now)
	return append(found, themselves...), err
}

// Refresh gives a lock of the actor's key that covers the entry, and whose token came along, its
// time anew. Faults: NotFound, Precondition when there is none.
func (t *Tree) Refresh(ctx context.Context, a access.Actor, id string, lasts time.Duration) (l WriteLock, err error) {
	err = t.writeLocked(ctx, false, func(tx *db.Tx) error {
		n, _, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		now := t.nowMs()
		there, err := locksOn(tx, trailIDs(n.trail), now)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(there, func(o WriteLock) bool { return (o.Deep || o.EntryID == n.id) && o.permits(a) })
		if i < 0 {
			return fault.New(fault.Precondition, "No lock of this token is there.")
		}
		l = there[i]
		l.ExpiresAt = now + min(lasts, MaxLockTime).Milliseconds()
		if l.Path, err = t.pathTx(tx, l.EntryID); err != nil {
			return err
		}
		return extendLock(tx, l.Token, l.ExpiresAt)
	})
	if err == nil {
		crash.Point("lock.refreshed")
	}
	return l, err
}

// Unlock ends a lock that covers the entry. Faults: Conflict when there is none of this token,
// Forbidden for another key's.
func (t *Tree) Unlock(ctx context.Context, a access.Actor, id, token string) error {
	none := fault.New(fault.Conflict, "No lock of this token is there.")
	err := t.writeLocked(ctx, false, func(tx *db.Tx) error {
		n, _, err := t.lookUpTx(tx, id)
		if fault.Is(err, fault.NotFound) {
			return none
		}
		if err != nil {
			return err
		}
		there, err := locksOn(tx, trailIDs(n.trail), t.nowMs())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(there, func(o WriteLock) bool {
			return (o.Deep || o.EntryID == n.id) &&
				o.Token == token
		})
		switch {
		case i < 0:
			return none
		case a.Key == nil || there[i].KeyID != a.Key.ID:
			return fault.New(fault.Forbidden, "This lock is somebody else's.")
		}
		return deleteLock(tx, token)
	})
	if err == nil {
		crash.Point("lock.ended")
	}
	return err
}

// coveringLocks returns the locks that cover n, with their paths.
func (t *Tree) coveringLocks(ctx context.Context, n *node) ([]WriteLock, error) {
	there, err := locksOn(t.DB.Read(ctx), trailIDs(n.trail), t.nowMs())
	if err != nil {
		return nil, err
	}
	there = slices.DeleteFunc(there, func(o WriteLock) bool {
		return !o.Deep &&
			(o.EntryID != n.id || len(n.missing) > 0)
	})
	for i := range there {
		if there[i].EntryID == n.id {
			there[i].Path = n.path
		} else if there[i].Path, err = t.PathOf(ctx, there[i].EntryID); err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return there, nil
}

// DropLocks ends all locks of an API key.
func (t *Tree) DropLocks(tx *db.Tx, keyID string) error { return deleteLocksOfKey(tx, keyID) }

// SweepLocks takes away the locks that have expired.
func (t *Tree) SweepLocks(ctx context.Context) error {
	err := t.DB.Write(ctx, func(tx *db.Tx) error { return deleteExpiredLocks(tx, t.nowMs()) })
	if err != nil {
		return fmt.Errorf("sweep locks: %w", err)
	}
	return nil
}

// permits reports whether the request may do what the lock forbids others.
func (l *WriteLock) permits(a access.Actor) bool {
	return a.Key != nil && l.KeyID == a.Key.ID && slices.Contains(a.Locks, l.Token)
}

// checkUnlocked refuses a change of what the trail leads to, its own state or its members, while a
// lock covers it whose token did not come along. Of several locks, which are shared then, one token
// will do. Fault: Locked.
func (t *Tree) checkUnlocked(tx *db.Tx, a access.Actor, trail []trailEntry) error {
	there, err := locksOn(tx, trailIDs(trail), t.nowMs())
	if err != nil {
		return err
	}
	return t.lockedRefusal(tx, blockingLock(a, trail, there))
}

// blockingLock returns the lock of those on the way that forbids a change of what the trail leads
// to, nil for none.
func blockingLock(a access.Actor, trail []trailEntry, there []WriteLock) (shut *WriteLock) {
	for i := range there {
		l := &there[i]
		switch {
		case !l.Deep && l.EntryID != trail[len(trail)-1].id:
		case l.permits(a):
			return nil
		default:
			shut = l
		}
	}
	return shut
}

// checkRemovable refuses to take n from where it is, with all that is below, while a lock on it, on
// the folder it is in, or on something below is in the way. Fault: Locked.
func (t *Tree) checkRemovable(tx *db.Tx, a access.Actor, n *node) error {
	now := t.nowMs()
	there, err := locksOn(tx, trailIDs(n.trail), now)
	if err != nil {
		return err
	}
	if err := t.lockedRefusal(tx, blockingLock(a, n.trail, there)); err != nil {
		return err
	}
	if len(n.trail) > 1 {
		if err := t.lockedRefusal(tx, blockingLock(a, n.trail[:len(n.trail)-1], there)); err != nil {
			return err
		}
	}
	if !n.folder {
		return nil
	}
	return t.checkUnlockedBelow(tx, a, n.id, now)
}

// checkUnlockedBelow refuses to take a folder away while something below is locked. Fault: Locked.
func (t *Tree) checkUnlockedBelow(tx *db.Tx, a access.Actor, folder string, now int64) error {
	below, err := locksBelow(tx, folder, now)
	if err != nil {
		return err
	}
	opened := map[string]bool{}
	for i := range below {
		opened[below[i].EntryID] = opened[below[i].EntryID] || below[i].permits(a)
	}
	for i := range below {
		if !opened[below[i].EntryID] {
			return t.lockedRefusal(tx, &below[i])
		}
	}
	return nil
}

// endLocks ends the locks on an entry and below it, which do not go along with it
// (RFC 4918, section 7.5).
func (t *Tree) endLocks(tx *db.Tx, r *row) error {
	if err := deleteLocksOn(tx, r.id); err != nil || !r.folder {
		return err
	}
	below, err := locksBelow(tx, r.id, t.nowMs())
	for i := 0; i < len(below) && err == nil; i++ {
		err = deleteLock(tx, below[i].Token)
	}
	return err
}

// lockedRefusal is the refusal because of a lock, nil for none.
func (t *Tree) lockedRefusal(tx *db.Tx, l *WriteLock) error {
	if l == nil {
		return nil
	}
	path, err := t.pathTx(tx, l.EntryID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return lockedFault(path)
}

func lockedFault(path vpath.Path) error {
	return fault.New(fault.Locked, "Another program has locked this. Close the file there, or try again later.").
		WithCause(lockFault{path})
}

func (t *Tree) pathTx(tx *db.Tx, id string) (vpath.Path, error) {
	n, _, err := t.lookUpTx(tx, id)
	return n.path, err
}

// LockedAt tells where the lock lies that a fault of the kind Locked is about.
func LockedAt(err error) (path vpath.Path, known bool) {
	var at lockFault
	known = errors.As(err, &at)
	return at.path, known
}

// lockFault is why something is refused that is locked.
type lockFault struct{ path vpath.Path }

func (l lockFault) Error() string { return "there is a lock on " + l.path.String() }

func trailIDs(trail []trailEntry) []string {
	list := make([]string, len(trail))
	for i, l := range trail {
		list[i] = l.id
	}
	return list
}
