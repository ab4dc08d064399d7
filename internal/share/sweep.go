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
	// keptEnded is how long shares that were revoked or have expired are kept to be looked at.
	keptEnded = 90 * 24 * time.Hour
	// step is how many shares one sweep looks at.
	step = 500
)

// walk is how far a replica has come through all shares. Each walks for itself: they take away the same.
type walk struct {
	mu    sync.Mutex
	after string // the last share that was looked at
}

// Sweep takes the next step through all shares, and deletes those whose file is gone, which nobody can visit any more, and those that ended long ago.
func (s *Service) Sweep(ctx context.Context) error {
	s.walk.mu.Lock()
	defer s.walk.mu.Unlock()
	first := s.walk.after
	rows, err := next(s.db.Read(ctx), first, step)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		s.walk.after = ""
		return nil
	}
	last, before := rows[len(rows)-1].id, s.now().Add(-keptEnded).UnixMilli()
	entries := make([]string, len(rows))
	ended := false
	for i, r := range rows {
		entries[i] = r.entryID
		ended = ended || r.ended != nil && *r.ended <= before
	}
	gone, err := s.tree.Missing(ctx, entries)
	if err != nil {
		return err
	}
	if ended || len(gone) > 0 {
		slices.Sort(gone) // so that two replicas cannot block each other
		err = s.db.Write(ctx, func(tx *db.Tx) error {
			if err := forgetOld(tx, first, last, before); err != nil {
				return err
			}
			return forgetOf(tx, slices.Compact(gone))
		})
		if err != nil {
			return fmt.Errorf("sweep shares: %w", err)
		}
	}
	s.walk.after = last
	if len(rows) < step {
		s.walk.after = ""
	}
	return nil
}
