package object

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"larder/internal/db"
	"larder/internal/quota"
)

// An account has at most twice its storage quota in the stores, plus one upload: the bytes that it
// uses, those that are reserved for it, those that its trash and versions keep, and the garbage
// that was the content of its files. Beyond that its oldest garbage is due at once, even in its
// grace period; then the sweep of the trash purges the oldest kept bytes (quota.KeptBeyond).
// No upload is refused because of garbage. An account without a limit has no bound. While a backup
// holds the collector back, due garbage waits.
//
// The process that makes garbage checks the owner at the moment when the bound may have been
// reached, as far as it knows. TrimAll checks all owners, including garbage of other replicas.

// noBound is the remaining room of an account that has no bound.
const noBound = math.MaxInt64

// garbageWatch is what this process knows about the garbage of accounts. Safe for concurrent use.
type garbageWatch struct {
	mu sync.Mutex
	// room is the number of bytes that an account may still add before the next check; absent
	// before the first one.
	room map[string]int64
	due  map[string]bool // accounts to be checked
}

// add counts bytes that an account has added, and reports whether the account may have reached its
// bound, so that Trim has to check it.
func (w *garbageWatch) add(owner string, bytes int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	room, known := w.room[owner]
	if known && (room == noBound || room >= bytes) {
		if room != noBound {
			w.room[owner] = room - bytes
		}
		return false
	}
	if w.due == nil {
		w.due = map[string]bool{}
	}
	w.due[owner] = true
	return true
}

// takeDue returns the accounts that add has found due for a check, and forgets them.
func (w *garbageWatch) takeDue() (owners []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for owner := range w.due {
		owners = append(owners, owner)
	}
	w.due = nil
	return owners
}

// setRoom records how many bytes an account may still add before the next check.
func (w *garbageWatch) setRoom(owner string, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room == nil {
		w.room = map[string]int64{}
	}
	w.room[owner] = bytes
}

// forgetRoom makes the next add of every account ask for a check: limits may have changed, and
// other replicas may have made garbage.
func (w *garbageWatch) forgetRoom() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = nil
}

// NoteGrowth counts bytes that an account has added, in files or as garbage, once tx is committed,
// and calls TrimSoon when its bound may be reached.
func (r *Registry) NoteGrowth(tx *db.Tx, owner string, bytes int64) {
	tx.AfterCommit(func() {
		if r.garbageWatch.add(owner, bytes) && r.TrimSoon != nil {
			r.TrimSoon()
		}
	})
}

// Trim makes the oldest garbage due of accounts that have too much of it, as far as NoteGrowth of
// this process has noticed. found reports that some became due, so that the collector should run.
// It is called after Config.TrimSoon.
func (r *Registry) Trim(ctx context.Context) (found bool, err error) {
	for _, owner := range r.garbageWatch.takeDue() {
		some, err := r.trim(ctx, owner)
		if err != nil {
			return found, err
		}
		found = found || some
	}
	return found, nil
}

// TrimAll makes the oldest garbage due of every account that has too much of it, whether or not
// this process has seen its changes; call it before each run of the collector. It reads the sums of
// all accounts at once, and checks those that may be over the bound.
func (r *Registry) TrimAll(ctx context.Context) error {
	r.garbageWatch.forgetRoom()
	q := r.DB.Read(ctx)
	garbage, err := garbageByOwner(q)
	if err != nil {
		return err
	}
	for owners := range slices.Chunk(slices.Sorted(maps.Keys(garbage)), accountsAtOnce) {
		accounts, err := quota.StorageUses(q, owners)
		if err != nil {
			return err
		}
		for owner, a := range accounts {
			// Bytes that are not reserved replace other bytes: they are never more than the used or
			// reserved bytes.
			if !bounded(a) || 2*a.InUse+garbage[owner] <= 2*a.MaxStorage {
				continue
			}
			if _, err := r.trim(ctx, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// accountsAtOnce is the number of accounts in one query.
const accountsAtOnce = 1000

// bounded reports whether the stores may hold a limited amount of an account: its quota has a
// limit, of which twice as much is still a number.
func bounded(a quota.StorageUse) bool { return a.MaxStorage >= 0 && a.MaxStorage <= math.MaxInt64/4 }

// trim makes the oldest garbage of an account due, so that the rest is within the bound. found
// reports that some became due.
func (r *Registry) trim(ctx context.Context, owner string) (found bool, err error) {
	excess, err := r.excess(r.DB.Read(ctx), owner)
	if err != nil {
		return false, err
	}
	if excess <= 0 {
		r.garbageWatch.setRoom(owner, -excess)
		return false, nil
	}
	r.garbageWatch.setRoom(owner, 0)
	err = r.DB.Write(ctx, func(tx *db.Tx) error {
		beyond, err := r.excessBesideGarbage(tx, owner)
		if err != nil {
			return err
		}
		found, err = makeOldestDue(tx, owner, beyond, r.nowMs())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("trim the garbage of an account: %w", err)
	}
	return found, nil
}

// excess is the number of bytes by which an account exceeds its bound, garbage included; a negative
// number is the remaining room, -noBound for an account without a bound.
func (r *Registry) excess(q db.Querier, owner string) (bytes int64, err error) {
	bytes, err = r.excessBesideGarbage(q, owner)
	if err != nil || bytes == -noBound {
		return bytes, err
	}
	garbage, err := garbageOf(q, owner)
	return bytes + garbage, err
}

// excessBesideGarbage is the number of bytes by which an account would exceed its bound without any
// garbage; negative for remaining room, -noBound if the account has no bound.
func (r *Registry) excessBesideGarbage(q db.Querier, owner string) (bytes int64, err error) {
	accounts, err := quota.StorageUses(q, []string{owner})
	if err != nil {
		return 0, err
	}
	a, there := accounts[owner]
	if !there || !bounded(a) {
		return -noBound, nil
	}
	bytes = a.InUse - 2*a.MaxStorage
	if r.Unreserved != nil {
		more, err := r.Unreserved(q, owner)
		if err != nil {
			return 0, err
		}
		bytes += more
	}
	return bytes, nil
}
