package upload

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/quota"
)

// Abort ends a session; its reservation is back at once and its bytes are garbage, as are
// those kept of an expired one. Bytes that can still be sent straight to the store stay
// garbage for later, and the session counts among the open ones until then. Repeating it is
// fine. Faults: NotFound, Conflict (completed).
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
		return s.releaseAndDiscard(tx, r)
	})
	if err != nil {
		return fmt.Errorf("abort an upload: %w", err)
	}
	return nil
}

// releaseAndDiscard returns the reservation of a row that has just left pending, or whose parts are
// not kept any more, and its bytes to the collector.
func (s *Service) releaseAndDiscard(tx *db.Tx, r row) error {
	if err := quota.Release(tx, r.userID, r.bytes, r.files); err != nil {
		return err
	}
	if r.key == "" || r.inStaging() { // what comes to where bytes wait is swept when their address has expired
		return nil
	}
	return object.Discard(tx, r.dest.ProviderID, r.key, s.nowMs())
}

// EndAll ends, in the caller's transaction, every upload of a user whose account goes, and locks
// the user's quota, so that none comes in beside it: sessions are aborted as by Abort. An upload in
// one request fails when it comes to its end, since the account is asked for then, and tidies up
// itself; its reservation is back at once as well.
func (s *Service) EndAll(tx *db.Tx, userID string) error {
	if err := s.endSessions(tx, userID); err != nil { // sessions before quotas, as everywhere
		return err
	}
	if err := quota.Lock(tx, userID); err != nil {
		return err
	}
	if err := s.endSessions(tx, userID); err != nil { // those that were begun before the lock
		return err
	}
	bytes, files, err := unreserve(tx, userID)
	if err != nil {
		return fmt.Errorf("end all uploads: %w", err)
	}
	return quota.Release(tx, userID, bytes, files)
}

func (s *Service) endSessions(tx *db.Tx, userID string) error {
	ended, err := abortAll(tx, userID)
	if err != nil {
		return fmt.Errorf("end all uploads: %w", err)
	}
	for _, r := range ended {
		if err := s.releaseAndDiscard(tx, r); err != nil {
			return fmt.Errorf("end all uploads: %w", err)
		}
	}
	return nil
}

// bytesToKeep returns how many bytes are to be kept of a session whose time
// is over. Fault: Unavailable.
func (s *Service) bytesToKeep(ctx context.Context, r row) (int64, error) {
	if !r.keepsParts() || s.nowMs() >= r.partsKeptUntil() {
		return 0, nil
	}
	parts, _, err := s.received(ctx, r)
	if errors.Is(err, blob.ErrNotFound) {
		return 0, nil
	}
	return totalSize(parts), err
}

// expire ends a session whose time is over, keeping what it received when that is anything, and
// does nothing to any other.
func (s *Service) expire(ctx context.Context, r row, received int64) error {
	return s.db.Write(ctx, func(tx *db.Tx) error {
		if received > 0 {
			held := max(received-r.freed, 0)
			kept, err := expireKeepingParts(tx, r.id, r.partsKeptUntil(), held, s.nowMs())
			if err != nil || !kept {
				return err
			}
			return quota.Release(tx, r.userID, r.bytes-held, r.files)
		}
		r, err := expire(tx, r.id, s.nowMs())
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.releaseAndDiscard(tx, r)
	})
}

// dropKeptParts gives up the parts kept of an expired session, unless somebody took them meanwhile.
func (s *Service) dropKeptParts(ctx context.Context, r row) error {
	return s.db.Write(ctx, func(tx *db.Tx) error {
		former, err := endKeeping(tx, r.id)
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.releaseAndDiscard(tx, former)
	})
}

const sweepBatch = 200

// Sweep ends sessions whose time is over and deletes rows that nobody asks for any more. To be
// called at least twice a minute, by one replica or all: an expired session's reservation has to be
// back within a minute. Where a store has to be asked what is to be kept and does not answer, the
// session waits for a later sweep.
func (s *Service) Sweep(ctx context.Context) error {
	if err := s.sweepExpired(ctx); err != nil {
		return fmt.Errorf("end expired uploads: %w", err)
	}
	for {
		rows, err := overdueKeptParts(s.db.Read(ctx), s.nowMs(), sweepBatch)
		for _, r := range rows {
			if err == nil {
				err = s.dropKeptParts(ctx, r)
			}
		}
		if err != nil {
			return fmt.Errorf("drop kept parts: %w", err)
		}
		if len(rows) < sweepBatch {
			break
		}
	}
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return deleteOldSessions(tx, s.nowMs()) }); err != nil {
		return fmt.Errorf("forget old uploads: %w", err)
	}
	return nil
}

func (s *Service) sweepExpired(ctx context.Context) error {
	silent := map[string]bool{} // providers that did not answer once are not asked again
	for after := (row{}); ; {
		rows, err := expiredPending(s.db.Read(ctx), s.nowMs(), after, sweepBatch)
		if err != nil {
			return err
		}
		// a transaction each: locks of several sessions at once could cross with
		// those of their users
		for _, r := range rows {
			after = r
			if r.keepsParts() && silent[r.dest.ProviderID] {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, s.answerTime)
			received, err := s.bytesToKeep(limited, r)
			cancel()
			if err != nil {
				s.log.Warn("ask what an expired upload received", "provider", r.dest.ProviderID, "error", err)
				silent[r.dest.ProviderID] = true
				continue
			}
			if err := s.expire(ctx, r, received); err != nil {
				return err
			}
		}
		if len(rows) < sweepBatch {
			return ctx.Err()
		}
	}
}
