package fsck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
	"larder/internal/provider"
)

const (
	// sweepEvery is how often each store is swept.
	sweepEvery = 24 * time.Hour
	// sweepMaxDelay is how late a sweep may be. After a longer delay the interval begins again, so
	// that after restoring an old database an administrator has a day to notice before its missing
	// files are put on the garbage list.
	sweepMaxDelay = 2 * time.Hour
	// A sweep that would remove more than one object in maxSweepFraction, and more than smallSweep
	// objects, removes none. Then the database is probably wrong, for example older than the stored
	// files.
	smallSweep       = 100
	maxSweepFraction = 10
)

// Sweep puts unreferenced objects on the garbage list, once a day for each local store, by one of
// the replicas. Most calls do nothing. A failing store is skipped until the next day. Only a
// failure of the database is an error.
//
// Buckets are not swept: they have no marker of their owner, and when two services use the same
// bucket, neither may delete the other's objects. Check reports unreferenced objects in buckets and
// deletes them only on request.
func (s *Service) Sweep(ctx context.Context) error {
	locations, err := s.Providers.StoreLocations(ctx)
	if err != nil {
		return err
	}
	for _, location := range locations {
		if location.Providers[0].Type != provider.BuiltIn {
			continue
		}
		var mine bool
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			mine, err = claimTurn(tx, "swept "+location.ID, s.Now().UnixMilli(), sweepEvery.Milliseconds(),
				sweepMaxDelay.Milliseconds())
			return err
		})
		if err != nil {
			return fmt.Errorf("take turns at sweeping: %w", err)
		}
		if !mine {
			continue
		}
		if err := s.sweepLocation(ctx, location); err != nil && !errors.Is(err, errCannotList) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.Log.Warn("sweep a store; the next try is tomorrow", "location", location.ID, "error", err)
		}
	}
	return nil
}

// sweepLocation puts the unreferenced objects of a location on the garbage list, unless they are so
// many that the database is probably wrong. It lists the location twice, since it must know their
// number before it discards any.
func (s *Service) sweepLocation(ctx context.Context, location provider.StoreLocation) error {
	before := s.Now().Add(-s.leftoverAge())
	walk := func(do func(old []leftover) error) (seen int64, err error) {
		return s.eachLeftover(ctx, location, func(found []leftover) error {
			var old []leftover
			for _, l := range found {
				if l.written.Before(before) {
					old = append(old, l)
				}
			}
			if len(old) == 0 {
				return nil
			}
			return do(old)
		})
	}
	var objects, bytes int64
	seen, err := walk(func(old []leftover) error {
		for _, l := range old {
			objects, bytes = objects+1, bytes+l.size
		}
		return nil
	})
	if err != nil || objects == 0 {
		return err
	}
	if objects > smallSweep && objects > seen/maxSweepFraction {
		s.Log.Error(
			"a large part of a store has no references, so nothing was deleted: check that this is the right "+
				"database; `larder fsck` lists the objects",
			"location", location.ID, "objects", objects, "of", seen)
		return nil
	}
	if _, err := walk(func(old []leftover) error { return s.discard(ctx, location, old) }); err != nil {
		return err
	}
	s.Log.Info("deleted unreferenced objects", "location", location.ID, "objects", objects, "bytes", bytes)
	return nil
}
