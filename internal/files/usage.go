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

// Amount is a number of files and their bytes.
type Amount struct{ Files, Bytes int64 }

// usageCache is the last count, and how long it took.
type usageCache struct {
	counting chan struct{} // holds one element while a count runs

	mu         sync.Mutex // not held during a count
	all        Amount
	byProvider map[string]Amount
	slow       bool // the count took long
	until      time.Time
}

const (
	// fastCount is the duration up to which a count is not cached.
	fastCount = 50 * time.Millisecond
	// sampleSize is the number of deleted files that are looked at.
	sampleSize = 10_000
	// cacheFactor says how many times its duration a slow count is used.
	cacheFactor = 10
)

// Usage returns the number and bytes of all files, and of those in each of the given providers, by
// provider id. It counts as quotas do: shared content counts for each file, folders do not count,
// and an entry stops counting at the moment of its deletion.
//
// The sums of the quotas are the answer where one provider has all objects. Otherwise it counts
// objects, which takes a second for a million files. A slow count is used for ten times as long as
// it took, in proportion to the present total.
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

// usageByProvider divides the total all among the providers used, which have objects. One call at a
// time counts. While a slow count runs, other calls get the previous one; without one they wait for
// the result, or until their context ends.
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
	if by, fresh := c.cached(all, used, began); fresh { // another call has counted meanwhile
		return by, nil
	}
	by, err := t.count(ctx, all, used)
	if err == nil {
		c.store(all, by, began, t.Now())
	}
	return by, err
}

// cached returns the last slow count by provider, in proportion to the present total, nil without
// one for these providers. fresh reports whether it is still valid at now; an older one serves
// while another count runs.
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

// store keeps a count, for cacheFactor times its duration if it was slow.
func (c *usageCache) store(all Amount, by map[string]Amount, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := ended.Sub(began)
	c.all, c.byProvider, c.slow, c.until = all, by, took > fastCount, ended.Add(cacheFactor*took)
}

// count returns number and bytes of files by provider: it sums the references of objects, and
// subtracts the files that are deleted or staged. Those are few, except for a while after a large
// folder was deleted; then a sample of sampleSize is extrapolated by means of the total all.
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

// total sums amounts over all providers.
func total(by map[string]Amount) (sum Amount) {
	for _, a := range by {
		sum.Files += a.Files
		sum.Bytes += a.Bytes
	}
	return sum
}

// scaled is the last count by provider, in proportion to the present total.
func (c *usageCache) scaled(all Amount) map[string]Amount {
	by := map[string]Amount{}
	for id, a := range c.byProvider {
		by[id] = Amount{scale(a.Files, all.Files, c.all.Files), scale(a.Bytes, all.Bytes, c.all.Bytes)}
	}
	return by
}

// scale returns part, a share of the sum then, as the same share of the sum now.
func scale(part, now, then int64) int64 {
	if now == then || then == 0 {
		return part
	}
	return int64(float64(part) * (float64(now) / float64(then)))
}
