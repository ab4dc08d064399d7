package upload

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
)

// Statuses of the sessions that List returns.
const (
	All     = ""
	Pending = pending
	Kept    = expired // expired sessions whose parts are kept
)

// List returns the actor's sessions by status: open ones (Pending), expired ones whose parts are
// kept (Kept), or both (All), the newest first, at most 1000. An actor with an API key sees the
// sessions made with it. Faults: Unauthorized, Invalid.
func (s *Service) List(ctx context.Context, a access.Actor, status string) ([]Session, error) {
	if err := signedIn(a); err != nil {
		return nil, err
	}
	if status != All && status != Pending && status != Kept {
		return nil, fault.New(fault.Invalid, "The status is pending or expired.")
	}
	keyID := ""
	if a.Key != nil {
		keyID = a.Key.ID
	}
	now := s.nowMs()
	rows, err := listSessions(s.db.Read(ctx), a.UserID, keyID, status != Kept, status != Pending, now)
	if err != nil {
		return nil, fmt.Errorf("list upload sessions: %w", err)
	}
	list := make([]Session, 0, len(rows))
	silent := map[string]bool{} // providers that failed to answer are not asked again
	for _, r := range rows {
		session := r.session()
		session.Received = s.receivedBytes(ctx, r, silent)
		if r.status == expired || now >= r.expiresAt {
			until := r.partsKeptUntil()
			session.Status, session.KeptUntil = expired, &until
			if session.Received != nil && *session.Received == 0 {
				continue // nothing is kept; the sweep is about to end it
			}
		}
		list = append(list, session)
	}
	return list, nil
}

// receivedBytes returns how many bytes of the session r have come in, nil when its store does not
// answer. silent holds the ids of providers that have not answered before; it does not ask these,
// and adds one that does not answer.
func (s *Service) receivedBytes(ctx context.Context, r row, silent map[string]bool) *int64 {
	var n int64
	switch {
	case r.keptUntil > 0:
		n = r.bytes
	case r.inStaging() || r.inParts():
		if silent[r.dest.ProviderID] {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, s.answerTime)
		defer cancel()
		var err error
		if n, err = s.storedBytes(limited, r); err != nil {
			s.log.Warn("list the received parts of an upload", "provider", r.dest.ProviderID, "error", err)
			silent[r.dest.ProviderID] = true
			return nil
		}
	case r.key != "":
		n = r.size
	}
	return &n
}

// storedBytes asks the store how many bytes it has of a session in parts, or of one whose bytes are
// sent directly in one piece; 0 when it has none. Fault: Unavailable.
func (s *Service) storedBytes(ctx context.Context, r row) (int64, error) {
	if r.inParts() {
		parts, _, err := s.received(ctx, r)
		if errors.Is(err, blob.ErrNotFound) {
			return 0, nil
		}
		return totalSize(parts), err
	}
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return 0, err
	}
	info, err := store.Stat(ctx, r.key)
	if errors.Is(err, blob.ErrNotFound) {
		return 0, nil
	}
	return info.Size, provider.Fault(err)
}
