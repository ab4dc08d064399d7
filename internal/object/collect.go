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
	// objectsPerPiece is how many objects one piece deletes at most, and retry how long one that
	// could not be deleted is left alone.
	objectsPerPiece = 500
	retryAfter      = time.Minute
	// maxFailures failures in a row, and a store is taken for unavailable; one deletion that takes
	// as long as patience suffices.
	maxFailures   = 3
	deleteTimeout = 15 * time.Second
	// storeBudget is how long one piece may take at one store. With the last deletion's patience it
	// is well below retry, for which a claim holds.
	storeBudget = 20 * time.Second
	// parallelDeletes is how many objects are deleted at a time from a store that is
	// reached over a network.
	parallelDeletes = 8
)

// Collect deletes the next objects whose time has come, in all stores at the same time: one that
// does not answer, or answers slowly, holds none of the others up for longer than its budget. It
// tells whether there is more to do at once. Nothing else deletes objects. It may run in several
// processes at a time: each piece is claimed in a short transaction first. An object that its
// store does not delete now is tried again a minute later and holds nothing else up; such failures
// are logged, not returned.
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
	// What fails is set aside for a while, and what comes behind it has its turn.
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

// shuffled brings what was claimed before into a random order, so that objects that a store refuses
// to delete do not come first every time.
func (r *Registry) shuffled(list []garbage) []garbage {
	order := rand.New(rand.NewChaCha8([32]byte(r.IDs.Bytes(32))))
	order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// deleteFrom deletes objects of one provider and returns those that are gone and those that it did
// not come to. After some failures in a row, or one deletion that takes too long, the provider is
// left alone for a while, as it is after its budget is spent: some bad objects do not hold up the
// others, nor does one store.
func (r *Registry) deleteFrom(ctx context.Context, provider string, these []garbage) (deleted, untried []garbage) {
	spent, end := context.WithTimeout(ctx, r.storeBudget)
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
			if !remote { // nothing comes late to a store of this process's own, or one that is gone
				g.lateFrom.Valid = false
			}
			deleted, failures = append(deleted, g), 0
		case ctx.Err() == nil: // a stop is no failure of the store
			r.Log.Warn("delete an object that nothing refers to", "provider", g.provider, "key", g.key, "error", err)
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

// workers is how many objects may be deleted at a time from a store.
func workers(remote bool) int {
	if remote {
		return parallelDeletes
	}
	return 1
}

// errSlow says that a store took longer than it may.
var errSlow = errors.New("the store does not answer in time")

func (r *Registry) deleteObject(ctx context.Context, g garbage) error {
	ctx, end := context.WithTimeoutCause(ctx, r.deleteTimeout, errSlow)
	defer end()
	err := r.deleteNow(ctx, g)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

func (r *Registry) deleteNow(ctx context.Context, g garbage) error {
	store, err := r.Store(ctx, g.provider)
	if err != nil {
		return err
	}
	if g.uploadID.Valid { // first: what is put together at this moment has its object by then, or never
		// to drop it, no store needs to know how large it is
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

// pausedProviders are the providers that the collector of this process leaves alone for now.
// Safe for concurrent use.
type pausedProviders struct {
	mu    sync.Mutex
	until map[string]int64 // by provider: when it is asked again, ms
}

func (r *pausedProviders) pause(provider string, ms int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]int64{}
	}
	r.until[provider] = ms
}

// list lists those that rest at that time. An end that lies too far in the future is of a
// clock that went back.
func (r *pausedProviders) list(ms int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var resting []string
	for provider, end := range r.until {
		if end <= ms || end > ms+retryAfter.Milliseconds() {
			delete(r.until, provider)
			continue
		}
		resting = append(resting, provider)
	}
	slices.Sort(resting)
	return resting
}

// isProviderGone reports that an object could not be deleted because its provider was, along with
// whatever an upload had still noted for it.
func isProviderGone(err error) bool { return errors.Is(err, provider.ErrGone) }
