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
	// endedRetention is how long revoked and expired shares are kept, so that their creators still
	// see them.
	endedRetention = 90 * 24 * time.Hour
	// sweepBatch is how many shares one sweep looks at.
	sweepBatch = 500
)

// sweepPosition is how far a replica has come through all shares. Each replica keeps its own; they
// delete the same shares.
type sweepPosition struct {
	mu    sync.Mutex
	after string // id of the last share of the latest step
}

// Sweep does the next step through all shares. It deletes the shares whose entry is gone and those
// that ended longer than endedRetention ago.
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
