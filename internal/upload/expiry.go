package upload

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/notice"
	"larder/internal/object"
	"larder/internal/quota"
)

// Abort ends a session, releases its reservation at once, and makes its bytes garbage, as well as
// the kept parts of an expired session. Bytes that can still be sent directly to the store stay
// garbage for later, and the session counts among the open ones until then. Repeating it is no
// error. Faults: NotFound, Conflict (completed).
func (s *Service) Abort(ctx context.Context, a access.Actor, sessionID string) error {
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		r, err := abort(tx, a.UserID, sessionID)
		if errors.Is(err, db.ErrNoRows) {
			if r, err = find(tx, a.UserID, sessionID); err == nil && r.status == completed {
				err = fault.New(fault.Conflict, "This upload is already complete.")
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

// releaseAndDiscard releases the reservation of a row that has just left the state pending, or
// whose parts are not kept any more, and makes its bytes garbage that is due now. Bytes at a
// staging key are garbage already, due when their address has expired.
func (s *Service) releaseAndDiscard(tx *db.Tx, r row) error {
	if err := quota.Release(tx, r.userID, r.bytes, r.files); err != nil {
		return err
	}
	if r.key == "" || r.inStaging() { // bytes at the staging key are deleted when their address has expired
		return nil
	}
	return object.Discard(tx, r.dest.ProviderID, r.key, s.nowMs())
}

// EndAll ends, in the caller's transaction, every upload of a user whose account is being deleted,
// and locks the user's quota, so that no new upload begins beside it. It aborts sessions as Abort
// does. An upload in one request fails at its end, where it checks the account, and cleans up
// itself; its reservation is released at once as well.
func (s *Service) EndAll(tx *db.Tx, userID string) error {
	if err := s.endSessions(tx, userID); err != nil { // sessions before quotas, as everywhere
		return err
	}
	if err := quota.Lock(tx, userID); err != nil {
		return err
	}
	if err := s.endSessions(tx, userID); err != nil { // those that began before the lock
		return err
	}
	bytes, files, err := unreserve(tx, userID)
	if err != nil {
		return fmt.Errorf("end all uploads: %w", err)
	}
	return quota.Release(tx, userID, bytes, files)
}

// endSessions aborts all sessions of a user, and makes their bytes and kept parts garbage.
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

// bytesToKeep returns how many bytes of an expired session to keep for a new session with the same
// idempotency key: those of its parts, 0 when it has no key, no parts, or their time is over.
// Fault: Unavailable.
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

// expire ends a session whose time is over, and keeps the parts that it received if received, their
// bytes, is not 0; their reservation stays. It does nothing to a session that has not expired or is
// being completed. In the same transaction it calls ended, which may be nil, with the time until
// which the parts are kept (ms), 0 for none.
func (s *Service) expire(ctx context.Context, r row, received int64,
	ended func(tx *db.Tx, r row, keptUntil int64) error) error {
	if ended == nil {
		ended = func(*db.Tx, row, int64) error { return nil }
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		if received > 0 {
			held := max(received-r.freed, 0)
			kept, err := expireKeepingParts(tx, r.id, r.partsKeptUntil(), held, s.nowMs())
			if err != nil || !kept {
				return err
			}
			if err := quota.Release(tx, r.userID, r.bytes-held, r.files); err != nil {
				return err
			}
			return ended(tx, r, r.partsKeptUntil())
		}
		r, err := expire(tx, r.id, s.nowMs())
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.releaseAndDiscard(tx, r); err != nil {
			return err
		}
		return ended(tx, r, 0)
	})
}

// notifyFailed tells the user by a notification that the session r has expired, and until when its
// parts are kept (ms, 0 for none). It tells nothing when another session has completed a file at
// the same path since, or for an upload in one request: its client knows that it failed.
func (s *Service) notifyFailed(tx *db.Tx, r row, keptUntil int64) error {
	if r.oneShot {
		return nil
	}
	repeated, err := completedSince(tx, r)
	if err != nil || repeated {
		return err
	}
	return notice.Insert(tx, notice.Event{ID: s.ids.UUID(), UserID: r.userID, Kind: notice.Upload, Subject: r.id,
		Params: notice.Params{Path: r.dest.Dir.String(), Name: string(r.dest.Name), KeptUntil: keptUntil},
		At:     s.nowMs()})
}

// dropKeptParts gives up the kept parts of an expired session: it releases their reservation and
// makes them garbage. It does nothing when another session has taken them over meanwhile.
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

// Sweep ends expired sessions, gives up kept parts whose time is over, and deletes old rows. Call
// it at least twice a minute, in one replica or all: the reservation of an expired session has to
// be released within a minute. When a store does not answer which parts to keep, the session waits
// for a later sweep.
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

// sweepExpired ends all sessions that have expired, keeps the parts of those with an idempotency
// key, and tells their users.
func (s *Service) sweepExpired(ctx context.Context) error {
	silent := map[string]bool{} // providers that failed to answer are not asked again
	for after := (row{}); ; {
		rows, err := expiredPending(s.db.Read(ctx), s.nowMs(), after, sweepBatch)
		if err != nil {
			return err
		}
		// one transaction each: locks of several sessions could deadlock with those of their users
		for _, r := range rows {
			after = r
			if r.keepsParts() && silent[r.dest.ProviderID] {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, s.answerTime)
			received, err := s.bytesToKeep(limited, r)
			cancel()
			if err != nil {
				s.log.Warn("list the received parts of an expired upload", "provider", r.dest.ProviderID, "error", err)
				silent[r.dest.ProviderID] = true
				continue
			}
			if err := s.expire(ctx, r, received, s.notifyFailed); err != nil {
				return err
			}
		}
		if len(rows) < sweepBatch {
			return ctx.Err()
		}
	}
}
