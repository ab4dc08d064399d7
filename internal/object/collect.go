package object

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/provider"
)

const (
	// objectsPerPiece is the maximal number of objects that one piece deletes, retryAfter the time
	// before an object that could not be deleted is tried again.
	objectsPerPiece = 500
	retryAfter      = time.Minute
	// After maxFailures failures in a row, or one deletion that takes deleteTimeout, the collector
	// treats a store as unavailable.
	maxFailures   = 3
	deleteTimeout = 15 * time.Second
	// storeBudget bounds the time that one piece spends on one store. Together with the
	// deleteTimeout of the last deletion it is well below retryAfter, the duration of a claim.
	storeBudget = 20 * time.Second
	// parallelDeletes is the number of concurrent deletions in a store that is reached over a
	// network.
	parallelDeletes = 8
)

// A startBudget returns a context for the deletions in the store of a provider. The context ends
// after the time d.
type startBudget func(ctx context.Context, provider string, d time.Duration) (context.Context, context.CancelFunc)

// startTimer is the startBudget of the service.
func startTimer(ctx context.Context, _ string, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Collect deletes the next objects of the garbage list that are due, at most objectsPerPiece, in
// all stores at the same time. more reports that there is more to do at once. A store that is slow
// or does not answer delays the others no longer than its budget. No other code deletes objects.
// Collect may run in several processes at a time: each claims its piece in a short transaction
// first. An object that its store does not delete now is tried again a minute later and delays no
// other object; such failures are logged, not returned.
func (r *Registry) Collect(ctx context.Context) (more bool, err error) {
	var fresh, again []garbage
	var until int64
	resting := r.paused.list(r.nowMs())
	err = r.DB.Write(ctx, func(tx *db.Tx) (err error) {
		now := r.nowMs()
		until = now + retryAfter.Milliseconds()
		fresh, again, err = claim(tx, now, until, resting)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	claimed := append(fresh, r.shuffled(again)...)
	if len(claimed) == 0 {
		return false, nil
	}
	crash.Point("collect.claimed")
	byProvider := map[string][]garbage{}
	for _, g := range claimed {
		byProvider[g.provider] = append(byProvider[g.provider], g)
	}
	var mu sync.Mutex
	var deleted, untried []garbage
	var busy sync.WaitGroup
	for provider, these := range byProvider {
		busy.Go(func() {
			done, rest := r.deleteFrom(ctx, provider, these)
			mu.Lock()
			defer mu.Unlock()
			deleted, untried = append(deleted, done...), append(untried, rest...)
		})
	}
	busy.Wait()
	// An object that fails is put off for a while, and those after it come next.
	err = r.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		if err := removeDeleted(tx, deleted, r.nowMs()); err != nil {
			return err
		}
		return requeue(tx, untried, until)
	})
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	if len(deleted) == 0 {
		err = ctx.Err()
	}
	return len(claimed) == objectsPerPiece, err
}

// shuffled returns list, garbage that was claimed before without success, in random order, so that
// objects that a store refuses to delete do not come first every time.
func (r *Registry) shuffled(list []garbage) []garbage {
	order := rand.New(rand.NewChaCha8([32]byte(r.IDs.Bytes(32))))
	order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// deleteFrom deletes objects of one provider, one after the other or, over a network, several at a
// time. It returns those that are gone and those that it did not try; a failed one is in neither.
// It pauses the provider after some failures in a row, after one deletion that takes too long, or
// when the budget is spent, so that neither some bad objects nor one bad store delay the others.
func (r *Registry) deleteFrom(ctx context.Context, provider string, these []garbage) (deleted, untried []garbage) {
	spent, end := r.startBudget(ctx, provider, r.storeBudget)
	defer end()
	remote := r.acceptsDirectWrites(ctx, provider)
	var mu sync.Mutex
	next, failures, rest := 0, 0, time.Duration(0)
	take := func() (garbage, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(these) || rest > 0 {
			return garbage{}, false
		}
		if spent.Err() != nil {
			rest = r.storeBudget
			return garbage{}, false
		}
		next++
		return these[next-1], true
	}
	note := func(g garbage, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil || isProviderGone(err):
			crash.Point("collect.deleted")
			if !remote { // late writes happen only in remote stores that still exist
				g.lateFrom.Valid = false
			}
			deleted, failures = append(deleted, g), 0
		case ctx.Err() == nil: // a shutdown is not a failure of the store
			r.Log.Warn("delete an unreferenced object", "provider", g.provider, "key", g.key, "error", err)
			if failures++; failures >= maxFailures || errors.Is(err, errSlow) {
				rest = retryAfter
			}
		}
	}
	var busy sync.WaitGroup
	for range workers(remote) {
		busy.Go(func() {
			for g, more := take(); more; g, more = take() {
				note(g, r.deleteObject(ctx, g))
			}
		})
	}
	busy.Wait()
	if rest > 0 && ctx.Err() == nil {
		r.paused.pause(provider, r.nowMs()+min(rest, retryAfter).Milliseconds())
	}
	return deleted, these[next:]
}

// workers is the number of concurrent deletions in a store: several where it is reached over a
// network, as stores that sign addresses are (remote).
func workers(remote bool) int {
	if remote {
		return parallelDeletes
	}
	return 1
}

// errSlow says that a store exceeded the timeout.
var errSlow = errors.New("the store does not answer in time")

// deleteObject deletes one object within deleteTimeout. Error: errSlow when the store took longer.
func (r *Registry) deleteObject(ctx context.Context, g garbage) error {
	ctx, end := context.WithTimeoutCause(ctx, r.deleteTimeout, errSlow)
	defer end()
	err := r.deleteNow(ctx, g)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

// deleteNow drops the object g from the cache, aborts the store's upload of parts under the key, if
// any, and deletes the object. An object that does not exist is no error.
func (r *Registry) deleteNow(ctx context.Context, g garbage) error {
	r.Cache.drop(Location{g.provider, blob.Key(g.key)})
	store, err := r.Store(ctx, g.provider)
	if err != nil {
		return err
	}
	if g.uploadID.Valid { // first: after an abort, an assembly that was running has made its object or never will
		// a store needs no size to abort an upload
		u := blob.Upload{Key: blob.Key(g.key), ID: g.uploadID.String, Size: 1, PartSize: 1}
		if err := store.Abort(ctx, u); err != nil {
			return err
		}
	}
	if g.collected {
		if there, err := objectExists(ctx, store, g); err != nil || !there {
			return err
		}
	}
	return store.Delete(ctx, blob.Key(g.key))
}

// pausedProviders are the providers that the collector of this process does not ask for now. Safe
// for concurrent use.
type pausedProviders struct {
	mu    sync.Mutex
	until map[string]int64 // by provider: end of the pause, ms
}

// pause keeps the collector away from a provider until a time ms.
func (p *pausedProviders) pause(provider string, ms int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]int64{}
	}
	p.until[provider] = ms
}

// list returns the ids of the providers that are paused at the time ms. It drops an end that is too
// far in the future: a clock that went back has left it behind.
func (p *pausedProviders) list(ms int64) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var resting []string
	for provider, end := range p.until {
		if end <= ms || end > ms+retryAfter.Milliseconds() {
			delete(p.until, provider)
			continue
		}
		resting = append(resting, provider)
	}
	slices.Sort(resting)
	return resting
}

// isProviderGone reports whether an object could not be deleted because its provider was deleted,
// with all its objects; the key can then leave the garbage list.
func isProviderGone(err error) bool { return errors.Is(err, provider.ErrGone) }
