package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
)

const (
	// graves is how many deleted folders one piece looks into, piece how many entries it takes away at most.
	graves = 200
	piece  = 1000
	// garbagePiece is how many objects one piece deletes at most, and retry how long one that could not be deleted is left alone.
	garbagePiece = 500
	retry        = time.Minute
	// enough failures in one piece, and a store is taken for unavailable; one deletion that takes as long as patience suffices.
	enough   = 3
	patience = 15 * time.Second
)

// Collect takes the next piece of deleted folders and the next piece of garbage away, and tells whether there is more to do at once. Nothing else
// deletes objects. It may run in several processes at a time: each piece is claimed in a short transaction first. An object that its store does
// not delete now is tried again a minute later and holds nothing else up; such failures are logged, not returned.
func (t *Tree) Collect(ctx context.Context) (more bool, err error) {
	rows, err := t.collectRows(ctx)
	if err != nil {
		return false, err
	}
	objects, err := t.collectGarbage(ctx)
	return rows || objects, err
}

// collectRows takes away what lies directly in the folders below the graveyard: files go, folders move up below the graveyard, and a folder that
// is empty goes as well.
func (t *Tree) collectRows(ctx context.Context) (more bool, err error) {
	err = t.DB.Write(ctx, func(tx *db.Tx) error {
		found, err := buried(tx)
		if err != nil || len(found) == 0 {
			more = false
			return err
		}
		more = true
		inside, err := contents(tx, found)
		if err != nil {
			return err
		}
		var files, folders []string
		for _, r := range inside {
			if r.folder {
				folders = append(folders, r.id)
			} else {
				files = append(files, r.id)
			}
		}
		if err := t.takeAway(tx, files); err != nil {
			return err
		}
		if err := raise(tx, folders); err != nil {
			return err
		}
		if len(inside) < piece { // then nothing was left behind in them
			return deleteFolders(tx, found)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("collect deleted entries: %w", err)
	}
	if more {
		crash.Point("collect.rows")
	}
	return more, nil
}

// takeAway deletes the rows of files with their links and releases their objects.
func (t *Tree) takeAway(tx *db.Tx, ids []string) error {
	objects, err := deleteFiles(tx, ids)
	if err != nil {
		return err
	}
	if err := deleteLinks(tx, ids); err != nil {
		return err
	}
	counts := map[string]int64{}
	for _, id := range objects {
		counts[id]++
	}
	var once []string
	for _, id := range objects {
		switch counts[id] {
		case 0: // done
		case 1:
			once = append(once, id)
		default: // copies that share their content
			for range counts[id] {
				if err := t.release(tx, id); err != nil {
					return err
				}
			}
			counts[id] = 0
		}
	}
	return t.releaseAll(tx, once)
}

// collectGarbage deletes the objects whose time has come, in all stores at the same time: one that does not answer holds none of the others up.
func (t *Tree) collectGarbage(ctx context.Context) (more bool, err error) {
	var claimed []garbage
	resting := t.resting.now(t.now())
	err = t.DB.Write(ctx, func(tx *db.Tx) (err error) {
		claimed, err = claim(tx, t.now(), retry.Milliseconds(), resting)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	if len(claimed) > 0 {
		crash.Point("collect.claimed")
	}
	byProvider := map[string][]garbage{}
	for _, g := range claimed {
		byProvider[g.provider] = append(byProvider[g.provider], g)
	}
	var mu sync.Mutex
	var deleted []garbage
	var busy sync.WaitGroup
	for provider, these := range byProvider {
		busy.Go(func() {
			done := t.deleteFrom(ctx, provider, these)
			mu.Lock()
			defer mu.Unlock()
			deleted = append(deleted, done...)
		})
	}
	busy.Wait()
	if len(deleted) == 0 { // what fails is set aside for a while, and what comes behind it has its turn
		return len(claimed) == garbagePiece, ctx.Err()
	}
	err = t.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return forget(tx, deleted) })
	if err != nil {
		return false, fmt.Errorf("collect garbage: %w", err)
	}
	return len(claimed) == garbagePiece, nil
}

// deleteFrom deletes objects of one provider and returns those that are gone. After some failures, or one deletion that takes too long, the provider
// is left alone for a while; one bad object does not hold up the others.
func (t *Tree) deleteFrom(ctx context.Context, provider string, these []garbage) (deleted []garbage) {
	failures := 0
	for _, g := range these {
		err := t.deleteObject(ctx, g)
		if err == nil || gone(err) {
			crash.Point("collect.deleted")
			deleted = append(deleted, g)
			continue
		}
		if ctx.Err() != nil {
			return deleted
		}
		t.Log.Warn("delete an object that nothing refers to", "provider", g.provider, "key", g.key, "error", err)
		if failures++; failures == enough || errors.Is(err, errSlow) {
			t.resting.until(provider, t.now()+retry.Milliseconds())
			return deleted
		}
	}
	return deleted
}

// errSlow says that a store took longer than it may.
var errSlow = errors.New("the store does not answer in time")

func (t *Tree) deleteObject(ctx context.Context, g garbage) error {
	ctx, end := context.WithTimeoutCause(ctx, t.patience, errSlow)
	defer end()
	err := t.deleteNow(ctx, g)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

func (t *Tree) deleteNow(ctx context.Context, g garbage) error {
	store, err := t.store(ctx, g.provider)
	if err != nil {
		return err
	}
	if g.upload.Valid { // first: what is put together at this moment has its object by then, or never
		u := blob.Upload{Key: keyOf(g.key), ID: g.upload.String, Size: 1, PartSize: 1} // to drop it, no store needs to know how large it is
		if err := store.Abort(ctx, u); err != nil {
			return err
		}
	}
	return store.Delete(ctx, keyOf(g.key))
}

// rests are the providers that the collector of this process leaves alone for now. Safe for concurrent use.
type rests struct {
	mu    sync.Mutex
	ended map[string]int64 // by provider: when it is asked again, ms
}

func (r *rests) until(provider string, ms int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = map[string]int64{}
	}
	r.ended[provider] = ms
}

// now lists those that rest at that time. An end that lies too far in the future is of a clock that went back.
func (r *rests) now(ms int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var resting []string
	for provider, end := range r.ended {
		if end <= ms || end > ms+retry.Milliseconds() {
			delete(r.ended, provider)
			continue
		}
		resting = append(resting, provider)
	}
	slices.Sort(resting)
	return resting
}
