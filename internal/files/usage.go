package files

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"larder/internal/object"
	"larder/internal/quota"
)

// Amount is how much there is of something.
type Amount struct{ Files, Bytes int64 }

// usageCache is what was counted last, and how long that took.
type usageCache struct {
	counting chan struct{} // holds one while somebody counts

	mu         sync.Mutex // never held while counting
	all        Amount
	byProvider map[string]Amount
	slow       bool // it took long
	until      time.Time
}

const (
	// fastCount is how long counting may take to be done each time.
	fastCount = 50 * time.Millisecond
	// sampleSize is how many deleted files are looked at.
	sampleSize = 10_000
	// cacheFactor is how much longer than counting takes its outcome is used.
	cacheFactor = 10
)

// Usage tells what all files are, and what those are whose content lies with each of the providers.
// It is what quotas count: what several files share counts for each, folders count for nothing, and
// what is deleted for nothing at once, whenever its rows and objects go.
//
// The sums of the quotas tell it all where one provider has all there is. Else objects are counted,
// which takes a second for a million files; where it takes long, the outcome is used for ten times
// as long, in proportion to what there is by then.
func (t *Tree) Usage(ctx context.Context, providers []string) (all Amount, by map[string]Amount, err error) {
	q := t.DB.Read(ctx)
	if all.Bytes, all.Files, err = quota.Total(q); err != nil {
		return Amount{}, nil, err
	}
	var used []string
	for _, id := range providers {
		some, err := object.ExistsIn(q, id)
		if err != nil {
			return Amount{}, nil, err
		}
		if some {
			used = append(used, id)
		}
	}
	if len(used) < 2 {
		by = map[string]Amount{}
		for _, id := range used {
			by[id] = all
		}
		return all, by, nil
	}
	slices.Sort(used)
	by, err = t.usageByProvider(ctx, all, used)
	return all, by, err
}

// usageByProvider tells all by the providers that have some of it. One at a time counts. Where that
// takes long, whoever asks meanwhile gets what was counted before; those who ask when there is
// nothing yet wait for the outcome, or until their context ends.
func (t *Tree) usageByProvider(ctx context.Context, all Amount, used []string) (map[string]Amount, error) {
	c := &t.usageCache
	by, fresh := c.cached(all, used, t.Now())
	if fresh {
		return by, nil
	}
	select {
	case c.counting <- struct{}{}:
	default:
		if by != nil {
			return by, nil
		}
		select {
		case c.counting <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for files to be counted: %w", ctx.Err())
		}
	}
	defer func() { <-c.counting }()
	began := t.Now()
	if by, fresh := c.cached(all, used, began); fresh { // counted while this one waited
		return by, nil
	}
	by, err := t.count(ctx, all, used)
	if err == nil {
		c.store(all, by, began, t.Now())
	}
	return by, err
}

// checkObjects is what was counted last, in proportion to what there is now, where counting took
// long; and whether it still stands.
func (c *usageCache) cached(all Amount, used []string, now time.Time) (by map[string]Amount, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := len(c.byProvider) == len(used) &&
		!slices.ContainsFunc(used, func(id string) bool { _, known := c.byProvider[id]; return !known })
	if !known || !c.slow {
		return nil, false
	}
	return c.scaled(all), now.Before(c.until)
}

func (c *usageCache) store(all Amount, by map[string]Amount, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := ended.Sub(began)
	c.all, c.byProvider, c.slow, c.until = all, by, took > fastCount, ended.Add(cacheFactor*took)
}

// countRows sums what objects are referred to by, and takes away the files that are deleted or not
// there yet. Of those there are few, except for a while after a large folder was deleted; then some
// of them stand for all.
func (t *Tree) count(ctx context.Context, all Amount, used []string) (map[string]Amount, error) {
	q := t.DB.Read(ctx)
	by, err := sumReferenced(q, used)
	if err != nil {
		return nil, err
	}
	away, err := sumUnreachable(q, t.sampleSize)
	if err != nil {
		return nil, err
	}
	sum, some := total(by), total(away)
	for id, a := range away {
		if some.Files == t.sampleSize {
			a = Amount{scale(a.Files, sum.Files-all.Files, some.Files), scale(a.Bytes, sum.Bytes-all.Bytes, some.Bytes)}
		}
		by[id] = Amount{max(0, by[id].Files-a.Files), max(0, by[id].Bytes-a.Bytes)}
	}
	return by, nil
}

func total(by map[string]Amount) (sum Amount) {
	for _, a := range by {
		sum.Files += a.Files
		sum.Bytes += a.Bytes
	}
	return sum
}

// scaled is what was counted, in proportion to what there is now.
func (c *usageCache) scaled(all Amount) map[string]Amount {
	by := map[string]Amount{}
	for id, a := range c.byProvider {
		by[id] = Amount{scale(a.Files, all.Files, c.all.Files), scale(a.Bytes, all.Bytes, c.all.Bytes)}
	}
	return by
}

func scale(part, now, then int64) int64 {
	if now == then || then == 0 {
		return part
	}
	return int64(float64(part) * (float64(now) / float64(then)))
}
