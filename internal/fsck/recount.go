package fsck

import (
	"context"
	"fmt"
	"time"

	"larder/internal/db"
	"larder/internal/quota"
)

// Replicas of an earlier version create and delete folders without counting them. While such
// replicas run beside this one, the numbers of folders may become wrong. One replica corrects them
// every recountEvery. SQLite has no replicas; there the folders are counted once, when the database
// is migrated.
const (
	recountEvery    = time.Hour
	recountMaxDelay = 24 * time.Hour
)

// Recount corrects the numbers of folders in the quotas on PostgreSQL, once an hour by one of the
// replicas. All other calls do nothing.
func (s *Service) Recount(ctx context.Context) error {
	if s.DB.Dialect() != "postgres" {
		return nil
	}
	var mine bool
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		mine, err = claimTurn(tx, "swept folder counts", s.Now().UnixMilli(), recountEvery.Milliseconds(),
			recountMaxDelay.Milliseconds())
		return err
	})
	if err != nil {
		return fmt.Errorf("take turns at counting folders: %w", err)
	}
	if !mine {
		return nil
	}
	wrong, err := wrongFolders(s.DB.Read(ctx))
	if err != nil {
		return fmt.Errorf("compare the numbers of folders: %w", err)
	}
	for _, user := range wrong {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			if err := quota.Lock(tx, user); err != nil {
				return err
			}
			folders, err := foldersOf(tx, user)
			if err != nil {
				return err
			}
			return quota.CorrectFolders(tx, user, folders)
		})
		if err != nil {
			return fmt.Errorf("count folders again: %w", err)
		}
	}
	return nil
}
