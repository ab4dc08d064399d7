package share

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/notice"
)

const (
	// endedRetention is how long revoked and expired shares are kept, so that their creators still
	// see them.
	endedRetention = 90 * 24 * time.Hour
	// remindBefore is how long before the end of a share its creator is reminded, if it lasts
	// longer than that; ms.
	remindBefore = int64(24 * time.Hour / time.Millisecond)
	// sweepBatch is how many shares one sweep looks at.
	sweepBatch = 500
)

// sweepPosition is how far a replica has come through all shares. Each replica keeps its own; they
// delete the same shares.
type sweepPosition struct {
	mu    sync.Mutex
	after string // id of the last share of the latest step
}

// Sweep does the next step through all shares, sweepBatch of them. It deletes the shares whose
// entry is gone and those that ended longer than endedRetention ago, and reminds creators of the
// end of others. The application calls it regularly.
func (s *Service) Sweep(ctx context.Context) error {
	s.position.mu.Lock()
	defer s.position.mu.Unlock()
	after := s.position.after
	rows, err := nextShares(s.db.Read(ctx), after, sweepBatch, s.now().UnixMilli())
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		s.position.after = ""
		return nil
	}
	last, before := rows[len(rows)-1].id, s.now().Add(-endedRetention).UnixMilli()
	entries := make([]string, len(rows))
	ended := false
	for i, r := range rows {
		entries[i] = r.entryID
		ended = ended || r.ended != nil && *r.ended <= before
	}
	missing, err := s.tree.MissingEntries(ctx, entries)
	if err != nil {
		return err
	}
	if ended || len(missing) > 0 {
		slices.Sort(missing) // so that two replicas cannot block each other
		err = s.db.Write(ctx, func(tx *db.Tx) error {
			if err := deleteEndedBefore(tx, after, last, before); err != nil {
				return err
			}
			return deleteOfEntries(tx, slices.Compact(missing))
		})
		if err != nil {
			return fmt.Errorf("sweep shares: %w", err)
		}
	}
	for _, r := range rows {
		if !r.remind || slices.Contains(missing, r.entryID) {
			continue
		}
		if err := s.remind(ctx, r.id); err != nil {
			return fmt.Errorf("remind of the end of a share: %w", err)
		}
	}
	s.position.after = last
	if len(rows) < sweepBatch {
		s.position.after = ""
	}
	return nil
}

// remind notifies the creator of a share that it is about to end, once for each end that it is
// given. A share whose creator may not see the entry is left out: it does not work for visitors
// either.
func (s *Service) remind(ctx context.Context, id string) error {
	row, err := find(s.db.Read(ctx), id)
	if fault.Is(err, fault.NotFound) || err == nil && row.ExpiresAt == nil {
		return nil // changed meanwhile
	}
	if err != nil {
		return err
	}
	creator, err := s.accounts.ByID(s.db.Read(ctx), row.CreatorID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	item, err := s.item(ctx, access.Actor{UserID: creator.ID, Role: creator.Role, HomeID: creator.HomeID}, row)
	if err != nil || item.Entry == nil {
		return err
	}
	name := item.Entry.Name
	if row.Title != nil {
		name = *row.Title
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		now := s.now().UnixMilli()
		first, err := markReminded(tx, row, now)
		if err != nil || !first {
			return err
		}
		return notice.Insert(tx, notice.Event{ID: s.ids.UUID(), UserID: row.CreatorID, Kind: notice.Share,
			Subject: fmt.Sprintf("%s:%d", row.ID, *row.ExpiresAt),
			Params:  notice.Params{Name: name, ShareID: row.ID, ExpiresAt: *row.ExpiresAt}, At: now})
	})
}
