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
	// sweepMaxDelay is how much later its turn may come; after that the day begins anew, so that
	// whoever has brought an old database back has a day to notice before the files that it does
	// not know are on the garbage list.
	sweepMaxDelay = 2 * time.Hour
	// A sweep that would take away more than one object in maxSweepFraction, and more than few of
	// them, takes none: what is wrong then is the database, perhaps one from before the
	// files that lie there.
	smallSweep       = 100
	maxSweepFraction = 10
)

// Sweep puts what nothing refers to on the garbage list, in each local store once a day, by one
// replica or another; most calls do nothing. A store that fails is left alone until the next day.
// Only the database's own failure is an error.
//
// Buckets are not swept: nothing in one says whose it is, and should two services be given the same
// one, neither may take the other's objects for leftovers. What nothing refers to there is told by
// Check, and removed when an administrator says so.
func (s *Service) Sweep(ctx context.Context) error {
	places, err := s.Providers.StoreLocations(ctx)
	if err != nil {
		return err
	}
	for _, place := range places {
		if place.Providers[0].Type != provider.BuiltIn {
			continue
		}
		var mine bool
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			mine, err = claimTurn(tx, "swept "+place.ID, s.Now().UnixMilli(), sweepEvery.Milliseconds(),
				sweepMaxDelay.Milliseconds())
			return err
		})
		if err != nil {
			return fmt.Errorf("take turns at sweeping: %w", err)
		}
		if !mine {
			continue
		}
		if err := s.sweepPlace(ctx, place); err != nil && !errors.Is(err, errCannotList) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.Log.Warn("sweep a store; the next try is tomorrow", "place", place.ID, "error", err)
		}
	}
	return nil
}

// sweepPlace walks twice: how much there is to take away must be known before any of it is.
func (s *Service) sweepPlace(ctx context.Context, place provider.StoreLocation) error {
	before := s.Now().Add(-s.leftoverAge())
	walk := func(do func(old []leftover) error) (seen int64, err error) {
		return s.eachLeftover(ctx, place, func(found []leftover) error {
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
			"nothing refers to a large part of a store: is this the right database? Nothing was swept; `larder fsck` lists what it is about",
			"place", place.ID, "objects", objects, "of", seen)
		return nil
	}
	if _, err := walk(func(old []leftover) error { return s.discard(ctx, place, old) }); err != nil {
		return err
	}
	s.Log.Info("swept what nothing refers to", "place", place.ID, "objects", objects, "bytes", bytes)
	return nil
}
