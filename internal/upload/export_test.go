package upload

import (
	"context"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
)

// WrapStores wraps every store that s opens from now on.
func (s *Service) WrapStores(wrap func(blob.Store) blob.Store) {
	inner := s.store
	s.store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(store), nil
	}
}

// SetPartSize sets the size of parts in bytes.
func (s *Service) SetPartSize(bytes int64) { s.partSize = bytes }

// SetLeaseWait sets how long a completion waits for another one.
func (s *Service) SetLeaseWait(d time.Duration) { s.leaseWait = d }

// CompletionsWaiting is the number of completions that wait at present.
func (s *Service) CompletionsWaiting() int {
	s.completionWaiters.mu.Lock()
	defer s.completionWaiters.mu.Unlock()
	return s.completionWaiters.all
}

// TakeLease takes the lease of a session as if it had never been taken.
func (s *Service) TakeLease(ctx context.Context, a access.Actor, id string) error {
	r, err := find(s.db.Read(ctx), a.UserID, id)
	if err != nil {
		return err
	}
	r.completingBy, r.completingUntil = "", 0
	return s.db.Write(ctx, func(tx *db.Tx) error {
		taken, err := takeLease(tx, r, s.ids.UUID(), s.nowMs()+leaseTime.Milliseconds(), s.nowMs())
		if err == nil && !taken {
			err = errSessionChanged
		}
		return err
	})
}

// SetLeaseRenewal sets how often the leases of completions are renewed.
func (s *Service) SetLeaseRenewal(every time.Duration) { s.leaseRenewal = every }

// SetSlotTimeout sets how long an upload in one request waits for a slot.
func (s *Service) SetSlotTimeout(d time.Duration) { s.slotTimeout = d }

// SetAnswerTime sets how long a store has to report what came in.
func (s *Service) SetAnswerTime(d time.Duration) { s.answerTime = d }
