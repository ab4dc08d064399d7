package share

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"larder/internal/db"
)

const (
	// endedRetention is how long shares that were revoked or have expired are kept to be looked at.
	endedRetention = 90 * 24 * time.Hour
	// sweepBatch is how many shares one sweep looks at.
	sweepBatch = 500
)

// position is how far a replica has come through all shares. Each walks for itself: they
// take away the same.
type sweepPosition struct {
	mu    sync.Mutex
	after string // the last share that was looked at
}

// Sweep takes the next step through all shares, and deletes those whose file is gone, which nobody
// can visit any more, and those that ended long ago.
func (s *Service) Sweep(ctx context.Context) error {
	s.position.mu.Lock()
	defer s.position.mu.Unlock()
	after := s.position.after
	rows, err := nextShares(s.db.Read(ctx), after, sweepBatch)
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
	s.position.after = last
	if len(rows) < sweepBatch {
		s.position.after = ""
	}
	return nil
}
