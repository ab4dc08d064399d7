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
	// MaxLocks is the maximal number of locks of an API key (abuse case C110).
	MaxLocks = 100
	// MaxLockTime is the maximal duration of a lock that is not refreshed.
	MaxLockTime = time.Hour
)

// WriteLock is a write lock of a WebDAV client on an entry (RFC 4918, sections 6 and 7). It belongs
// to the API key that made it: no other key may use its token or learn it.
type WriteLock struct {
	Token     string // a UUID
	EntryID   string
	Deep      bool // also covers everything below
	Exclusive bool // else other shared locks may exist beside it
	KeyID     string
	Owner     string // XML from the client, for people to read
	ExpiresAt int64  // ms
	Path      vpath.Path
	NewEntry  bool // the entry was made by the LOCK request: the permission to write is enough
}

// Lock locks an entry for the actor's key, for MaxLockTime at most. It needs the permission to
// update. Faults: Unauthorized (no key), NotFound, Forbidden, PasswordRequired, Locked when a
// conflicting lock exists, see LockedAt, QuotaExceeded for a key that has MaxLocks.
func (t *Tree) Lock(ctx context.Context, a access.Actor, id string, l WriteLock,
	lasts time.Duration) (made WriteLock, err error) {
	// alone: no change may come between the check of the locks and the new lock
	err = t.writeLocked(ctx, true, func(tx *db.Tx) error {
		made, err = t.LockTx(tx, a, id, l, lasts)
		return err
	})
	if err == nil {
		crash.Point("lock.committed")
	}
	return made, err
}

// LockTx takes a lock as Lock does, inside tx, which holds the tree exclusively: for a LOCK request
// that makes its file in the same transaction. Faults: those of Lock.
func (t *Tree) LockTx(tx *db.Tx, a access.Actor, id string, l WriteLock, lasts time.Duration) (WriteLock, error) {
	if a.Key == nil {
		return WriteLock{}, fault.New(fault.Unauthorized, "Only API keys can lock files and folders.")
	}
	n, v, err := t.lookUpTx(tx, id)
	if err != nil {
		return WriteLock{}, err
	}
	wanted := access.Update
	if l.NewEntry {
		wanted = access.Write
	}
	if err := v.allow(a, n.existingTarget(a), wanted); err != nil {
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

// lockable refuses the new lock l on n when it conflicts with a lock on n, above or below it: two
// locks conflict unless both are shared. now is in ms. Fault: Locked.
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

// locksWithin returns the locks on everything below the folder n, at any depth, including the
// mounts below it and their content. now is in ms; expired locks are left out.
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

// Refresh extends a lock of the actor's key that covers the entry and whose token the request has,
// by lasts from now, MaxLockTime at most. Faults: NotFound, Precondition when there is no such
// lock.
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
			return fault.New(fault.Precondition, "There is no lock with this token.")
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

// Unlock ends the lock with this token, which covers the entry. Faults: Conflict when no lock that
// covers the entry has the token, Forbidden for a lock of another key.
func (t *Tree) Unlock(ctx context.Context, a access.Actor, id, token string) error {
	none := fault.New(fault.Conflict, "There is no lock with this token.")
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
			return fault.New(fault.Forbidden, "This lock belongs to another API key.")
		}
		return deleteLock(tx, token)
	})
	if err == nil {
		crash.Point("lock.ended")
	}
	return err
}

// coveringLocks returns the locks that cover n, with their paths: those on n, and deep locks on the
// folders above it. The path is the root for an entry that is gone meanwhile.
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

// DropLocks ends all locks of an API key that is being deleted.
func (t *Tree) DropLocks(tx *db.Tx, keyID string) error { return deleteLocksOfKey(tx, keyID) }

// SweepLocks deletes expired locks. They have had no effect since they expired.
func (t *Tree) SweepLocks(ctx context.Context) error {
	err := t.DB.Write(ctx, func(tx *db.Tx) error { return deleteExpiredLocks(tx, t.nowMs()) })
	if err != nil {
		return fmt.Errorf("sweep locks: %w", err)
	}
	return nil
}

// permits reports whether the lock lets the request of a change the entry: it belongs to the
// request's API key, and the request names its token.
func (l *WriteLock) permits(a access.Actor) bool {
	return a.Key != nil && l.KeyID == a.Key.ID && slices.Contains(a.Locks, l.Token)
}

// checkUnlocked refuses to change the entry at the end of the trail, its own state or its members,
// while a lock covers it whose token the request does not have. Of several locks, which are shared
// then, one token is enough. Fault: Locked.
func (t *Tree) checkUnlocked(tx *db.Tx, a access.Actor, trail []trailEntry) error {
	there, err := locksOn(tx, trailIDs(trail), t.nowMs())
	if err != nil {
		return err
	}
	return t.lockedRefusal(tx, blockingLock(a, trail, there))
}

// blockingLock returns the lock that forbids to change the entry at the end of the trail, nil for
// none. there are the locks on the trail. Deep locks count from all levels, others only at the end.
// Nothing blocks when the request has the token of one of those that count.
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

// checkRemovable refuses to remove n and everything below from its place, by a move, a new name or
// a deletion, while a lock on n, on its folder or on something below forbids that: one whose token
// the request does not have. Fault: Locked.
func (t *Tree) checkRemovable(tx *db.Tx, a access.Actor, n *node) error {
	now := t.nowMs()
	there, err := locksOn(tx, trailIDs(n.trail), now)
	if err != nil {
		return err
	}
	if err := t.checkPlaceUnlocked(tx, a, n, there); err != nil || !n.folder {
		return err
	}
	return t.checkUnlockedBelow(tx, a, n.id, now)
}

// checkPlaceUnlocked refuses to remove n from its place while one of the locks there, which are on
// its trail, forbids that: one on n or on its folder. Fault: Locked.
func (t *Tree) checkPlaceUnlocked(tx *db.Tx, a access.Actor, n *node, there []WriteLock) error {
	if err := t.lockedRefusal(tx, blockingLock(a, n.trail, there)); err != nil || len(n.trail) == 1 {
		return err
	}
	return t.lockedRefusal(tx, blockingLock(a, n.trail[:len(n.trail)-1], there))
}

// checkUnlockedBelow refuses to remove a folder, by its id, while an entry below it has locks of
// none of which the request has the token. now is in ms. Fault: Locked.
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

// endLocks ends the locks on the entry r and below it, since locks do not move with an entry (RFC
// 4918, section 7.5). The caller has checked that they permit the change.
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

// lockedRefusal returns the fault Locked for a change that the lock l forbids, with the path of l;
// nil for a nil lock.
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

// lockedFault is the fault Locked because of a lock on path, which LockedAt reads out of it again.
func lockedFault(path vpath.Path) error {
	return fault.New(fault.Locked, "Another program has locked this. Close the file there, or try again later.").
		WithCause(lockFault{path})
}

// pathTx returns the path of an entry, inside tx and without checking permissions. Fault: NotFound.
func (t *Tree) pathTx(tx *db.Tx, id string) (vpath.Path, error) {
	n, _, err := t.lookUpTx(tx, id)
	return n.path, err
}

// LockedAt returns the path of the lock that caused a fault of the kind Locked, for the answer of
// WebDAV. known is false for any other error.
func LockedAt(err error) (path vpath.Path, known bool) {
	var at lockFault
	known = errors.As(err, &at)
	return at.path, known
}

// lockFault is the cause of a fault of the kind Locked.
type lockFault struct{ path vpath.Path }

func (l lockFault) Error() string { return "there is a lock on " + l.path.String() }

// trailIDs returns the ids of the entries on a trail, from the top down.
func trailIDs(trail []trailEntry) []string {
	list := make([]string, len(trail))
	for i, l := range trail {
		list[i] = l.id
	}
	return list
}
