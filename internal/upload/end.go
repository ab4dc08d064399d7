package upload

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Abort ends a session; its reservation is back at once and its bytes are garbage. Repeating it, or aborting an expired session, is fine.
// Faults: NotFound, Conflict (completed).
func (s *Service) Abort(ctx context.Context, a access.Actor, sessionID string) error {
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		r, err := abort(tx, a.UserID, sessionID)
		if errors.Is(err, db.ErrNoRows) {
			if r, err = find(tx, a.UserID, sessionID); err == nil && r.status == completed {
				err = fault.New(fault.Conflict, "This upload is completed.")
			}
			return err
		}
		if err != nil {
			return err
		}
		return s.giveBack(tx, r)
	})
	if err != nil {
		return fmt.Errorf("abort an upload: %w", err)
	}
	return nil
}

// giveBack returns the reservation of a row that has just left pending, and its bytes to the collector.
func (s *Service) giveBack(tx *db.Tx, r row) error {
	if err := quota.Release(tx, r.userID, r.bytes, r.files); err != nil {
		return err
	}
	if r.key == "" {
		return nil
	}
	return s.tree.Discard(tx, r.place.ProviderID, r.key, s.ms())
}

// expireOne ends one session whose time is over, and does nothing to any other.
func (s *Service) expireOne(tx *db.Tx, id string) error {
	r, err := expire(tx, id, s.ms())
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.giveBack(tx, r)
}

// Sweep ends sessions whose time is over and deletes rows that nobody asks for any more. To be called at least twice a minute, by one
// replica or all: an expired session's reservation has to be back within a minute.
func (s *Service) Sweep(ctx context.Context) error {
	const limit = 200
	for {
		ids, err := due(s.db.Read(ctx), s.ms(), limit)
		if err != nil {
			return fmt.Errorf("find expired uploads: %w", err)
		}
		for _, id := range ids { // a transaction each: locks of several sessions at once could cross with those of their users
			if err := s.db.Write(ctx, func(tx *db.Tx) error { return s.expireOne(tx, id) }); err != nil {
				return fmt.Errorf("end an expired upload: %w", err)
			}
		}
		if len(ids) < limit {
			break
		}
	}
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return forget(tx, s.ms()) }); err != nil {
		return fmt.Errorf("forget old uploads: %w", err)
	}
	return nil
}
