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

// The age from which an unreferenced object counts as left over. The clocks of replicas may differ
// from each other and from that of a shared file system.
const (
	ageSingle   = 24 * time.Hour
	ageReplicas = 48 * time.Hour
)

// leftoverAge returns the age from which an unreferenced object counts as left over. It is longer
// with PostgreSQL, where several replicas of the server may run and their clocks may differ.
func (s *Service) leftoverAge() time.Duration {
	if s.DB.Dialect() == "postgres" {
		return ageReplicas
	}
	return ageSingle
}

// leftover is an object without references.
type leftover struct {
	key     blob.Key
	size    int64
	written time.Time
}

// errCannotList: the store cannot list its objects.
var errCannotList = errors.New("this store can't list its objects")

// listableArea is a part of a location that can be listed: a directory, or the keys directly below
// one prefix of a bucket.
type listableArea struct {
	walker   blob.Walker
	inBucket bool
	prefix   string // in a bucket
}

// mayOwn reports whether an object that was listed can belong to this service. A directory has a
// marker and holds nothing else. A bucket may also hold objects of another service with names of
// the same form, which must be below another prefix.
func (a listableArea) mayOwn(key blob.Key) bool {
	if !a.inBucket {
		return true
	}
	dir, _ := key.Split()
	above, _ := path.Split(dir)
	return strings.TrimSuffix(above, "/") == a.prefix
}

// listableAreas returns the parts of a location (a directory or bucket) whose stores work: the
// directory, which its providers share, or each prefix of a bucket. Error: errCannotList, or the
// failure of the last store when none works.
func (s *Service) listableAreas(ctx context.Context, location provider.StoreLocation) (all []listableArea, err error) {
	inBucket := location.Providers[0].Type != provider.BuiltIn
	walked := map[string]bool{}
	var failed error
	for _, p := range location.Providers {
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

// eachLeftover lists the objects of a location and calls do with batches of unreferenced ones, of
// any age. It returns the number of objects seen. It skips areas without a working store, and fails
// when no area has one. Error: errCannotList.
func (s *Service) eachLeftover(ctx context.Context, location provider.StoreLocation,
	do func([]leftover) error) (seen int64, err error) {
	grounds, err := s.listableAreas(ctx, location)
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

// checkLeftovers reports the unreferenced objects of a location that are older than leftoverAge,
// and counts the younger ones.
func (c *check) checkLeftovers(location provider.StoreLocation) error {
	away := true
	for _, id := range location.ProviderIDs() {
		away = away && c.stores[id].err != nil
	}
	if away {
		return nil
	}
	before := c.Now().Add(-c.leftoverAge())
	seen, err := c.eachLeftover(c.ctx, location, func(found []leftover) error {
		var old []leftover
		for _, l := range found {
			if l.written.Before(before) {
				old = append(old, l)
			} else if c.stillStored(location, l.key) {
				c.TooYoung++
			}
		}
		if len(old) == 0 {
			return nil
		}
		return c.reportLeftovers(location, old)
	})
	c.Stored += seen
	if errors.Is(err, blob.ErrUnavailable) {
		return c.addFinding(StoreUnavailable, nil, "%s: its objects can't be listed: %v",
			c.stores[location.Providers[0].ID].name, err)
	}
	if errors.Is(err, errCannotList) {
		c.Unlisted++
		return nil
	}
	return err
}

// stillStored reports whether a listed object still exists. The collector may have deleted it since
// the listing. It is true when the store does not answer.
func (c *check) stillStored(location provider.StoreLocation, key blob.Key) bool {
	store, err := c.Providers.Store(c.ctx, location.ProviderOf(string(key)).ID)
	if err == nil {
		_, err = store.Stat(c.ctx, key)
	}
	return !errors.Is(err, blob.ErrNotFound)
}

// reportLeftovers reports unreferenced objects of a location, and puts them on the garbage list if
// Repair.Orphans says so.
func (c *check) reportLeftovers(location provider.StoreLocation, old []leftover) error {
	var repair func() error
	if c.Repair.Orphans {
		if err := c.discard(c.ctx, location, old); err != nil {
			return err
		}
		repair = func() error { return nil } // all were repaired by discard
	}
	for _, l := range old {
		if !c.stillStored(location, l.key) {
			continue
		}
		if err := c.addFinding(Orphaned, repair, "%s at provider %s: nothing refers to it (%d bytes, of %s)",
			l.key, location.ProviderOf(string(l.key)).ID, l.size, l.written.UTC().Format(time.DateTime)); err != nil {
			return err
		}
	}
	return nil
}

// discard puts unreferenced objects of a location on the garbage list. The collector deletes them
// after the grace period.
func (s *Service) discard(ctx context.Context, location provider.StoreLocation, old []leftover) error {
	after := s.Now().Add(s.Objects.Grace).UnixMilli()
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		for _, l := range old {
			if err := object.Discard(tx, location.ProviderOf(string(l.key)).ID, l.key, after); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("discard unreferenced objects: %w", err)
	}
	return nil
}
