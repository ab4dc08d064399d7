package fsck

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/provider"
)

// How old an object that nothing refers to must be before it is taken for left over. Replicas may
// have clocks that differ, and share a file system whose clock is another one.
const (
	ageSingle   = 24 * time.Hour
	ageReplicas = 48 * time.Hour
)

func (s *Service) leftoverAge() time.Duration {
	if s.DB.Dialect() == "postgres" {
		return ageReplicas
	}
	return ageSingle
}

// leftover is an object that nothing refers to.
type leftover struct {
	key     blob.Key
	size    int64
	written time.Time
}

// errCannotList marks a store that can't say what it holds.
var errCannotList = errors.New("this store can't list its objects")

// listableArea is a part of a place that can be listed: a directory, or what lies right below one
// prefix of a bucket.
type listableArea struct {
	walker   blob.Walker
	inBucket bool
	prefix   string // in a bucket
}

// mayOwn reports whether an object can be one of this service's. A directory has a marker and holds
// nothing else. A bucket may hold anything, another service's objects under names of the same form
// among them; those lie below another prefix, or it is no place to work in.
func (g listableArea) mayOwn(key blob.Key) bool {
	if !g.inBucket {
		return true
	}
	dir, _ := key.Split()
	above, _ := path.Split(dir)
	return strings.TrimSuffix(above, "/") == g.prefix
}

// listableAreas are the parts of a place with a store that works: the directory, which its
// providers share, or each prefix of a bucket.
func (s *Service) listableAreas(ctx context.Context, place provider.StoreLocation) (all []listableArea, err error) {
	inBucket := place.Providers[0].Type != provider.BuiltIn
	walked := map[string]bool{}
	var failed error
	for _, p := range place.Providers {
		part := p.PathPrefix
		if !inBucket {
			part = ""
		}
		if walked[part] {
			continue
		}
		store, err := s.Providers.Store(ctx, p.ID)
		if err == nil {
			_, err = store.Stat(ctx, absentKey)
		}
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			failed = err
			continue
		}
		walker, ok := store.(blob.Walker)
		if !ok {
			return nil, errCannotList
		}
		walked[part] = true
		all = append(all, listableArea{walker, inBucket, part})
	}
	if len(all) == 0 {
		return nil, failed
	}
	return all, nil
}

// eachLeftover walks through a place and calls do with pieces of what nothing refers to, of any
// age. It returns how many objects it saw. What has no store that works is passed over, unless that
// is all of the place.
func (s *Service) eachLeftover(ctx context.Context, place provider.StoreLocation,
	do func([]leftover) error) (seen int64, err error) {
	grounds, err := s.listableAreas(ctx, place)
	if err != nil {
		return 0, err
	}
	batch := make([]leftover, 0, keysPerQuery)
	ask := func() error {
		if len(batch) == 0 {
			return nil
		}
		keys, byKey := make([]blob.Key, len(batch)), make(map[blob.Key]leftover, len(batch))
		for i, l := range batch {
			keys[i], byKey[l.key] = l.key, l
		}
		batch = batch[:0]
		rest, err := unreferencedKeys(s.DB.Read(ctx), keys)
		if err != nil || len(rest) == 0 {
			return err
		}
		found := make([]leftover, len(rest))
		for i, key := range rest {
			found[i] = byKey[key]
		}
		return do(found)
	}
	for _, g := range grounds {
		err := g.walker.Walk(ctx, func(key blob.Key, size int64, written time.Time) error {
			if !g.mayOwn(key) {
				return nil
			}
			seen++
			batch = append(batch, leftover{key, size, written})
			if len(batch) == keysPerQuery {
				return ask()
			}
			return nil
		})
		if err != nil {
			return seen, err
		}
	}
	return seen, ask()
}

// checkLeftovers reports what lies in a place and nothing refers to.
func (c *check) checkLeftovers(place provider.StoreLocation) error {
	away := true
	for _, id := range place.ProviderIDs() {
		away = away && c.stores[id].err != nil
	}
	if away {
		return nil
	}
	before := c.Now().Add(-c.leftoverAge())
	seen, err := c.eachLeftover(c.ctx, place, func(found []leftover) error {
		var old []leftover
		for _, l := range found {
			if l.written.Before(before) {
				old = append(old, l)
			} else if c.stillStored(place, l.key) {
				c.TooYoung++
			}
		}
		if len(old) == 0 {
			return nil
		}
		return c.reportLeftovers(place, old)
	})
	c.Stored += seen
	if errors.Is(err, blob.ErrUnavailable) {
		return c.addFinding(StoreUnavailable, nil, "%s: its objects can't be listed: %v",
			c.stores[place.Providers[0].ID].name, err)
	}
	if errors.Is(err, errCannotList) {
		c.Unlisted++
		return nil
	}
	return err
}

// stillStored reports whether an object has not been collected since the walk came by it.
func (c *check) stillStored(place provider.StoreLocation, key blob.Key) bool {
	store, err := c.Providers.Store(c.ctx, place.ProviderOf(string(key)).ID)
	if err == nil {
		_, err = store.Stat(c.ctx, key)
	}
	return !errors.Is(err, blob.ErrNotFound)
}

func (c *check) reportLeftovers(place provider.StoreLocation, old []leftover) error {
	var mend func() error
	if c.Repair.Orphans {
		if err := c.discard(c.ctx, place, old); err != nil {
			return err
		}
		mend = func() error { return nil } // all of them in one go
	}
	for _, l := range old {
		if !c.stillStored(place, l.key) {
			continue
		}
		if err := c.addFinding(Orphaned, mend, "%s at provider %s: nothing refers to it (%d bytes, of %s)",
			l.key, place.ProviderOf(string(l.key)).ID, l.size, l.written.UTC().Format(time.DateTime)); err != nil {
			return err
		}
	}
	return nil
}

// discard puts what nothing refers to on the garbage list; the collector deletes it
// after the grace period.
func (s *Service) discard(ctx context.Context, place provider.StoreLocation, old []leftover) error {
	after := s.Now().Add(s.Objects.Grace).UnixMilli()
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		for _, l := range old {
			if err := object.Discard(tx, place.ProviderOf(string(l.key)).ID, l.key, after); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("discard what nothing refers to: %w", err)
	}
	return nil
}
