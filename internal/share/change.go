package share

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
)

// Change lists changes of a share. A nil field keeps the value; a pointer to nil removes it.
type Change struct {
	Title                       **string
	Password                    **secret.Text
	ExpiresIn                   **int64 // seconds from now
	MaxViews, MaxDownloads      **int64
	AllowPreview, AllowDownload *bool
}

// Change changes a share of the actor's own. It needs the same permissions as Create. A share that
// has expired becomes active again with a new end. Faults: Invalid; NotFound, also for somebody
// else's share and when the file is gone; Forbidden, PasswordRequired; Conflict when the share is
// revoked.
func (s *Service) Change(ctx context.Context, a access.Actor, id string, c Change) (Item, error) {
	row, err := findOwn(s.db.Read(ctx), a.UserID, id)
	if err != nil {
		return Item{}, err
	}
	if row.RevokedAt != nil {
		return Item{}, revokedConflict()
	}
	now := s.now()
	probe := row
	if err := c.apply(&probe, s); err != nil { // before the cost of a hash
		return Item{}, err
	}
	var protected Share // only the fields of its password are used
	if c.Password != nil {
		found, err := s.checkSharing(ctx, a, row.EntryID, *c.Password)
		if err != nil {
			return Item{}, err
		}
		if *c.Password != nil {
			protected.proof = row.proof
			if err := s.setPassword(ctx, &protected, found, a, **c.Password); err != nil {
				return Item{}, err
			}
		}
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := lockUser(tx, a.UserID); err != nil {
			return err
		}
		var err error
		if row, err = findOwn(tx, a.UserID, id); err != nil {
			return err
		}
		if err := c.apply(&row, s); err != nil {
			return err
		}
		if c.Password != nil {
			row.PasswordID, row.passwordHash, row.proof = protected.PasswordID, protected.passwordHash, protected.proof
		}
		if err := s.applyRights(tx, a, &row); err != nil {
			return err
		}
		row.UpdatedAt = now.UnixMilli()
		changed, err := update(tx, row)
		if err == nil && !changed {
			err = revokedConflict()
		}
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return s.item(ctx, a, row)
}

// apply applies all changes but that of the password to row. Fault: Invalid.
func (c Change) apply(row *Share, s *Service) (err error) {
	if c.Title != nil {
		if row.Title, err = cleanTitle(*c.Title); err != nil {
			return err
		}
	}
	if c.ExpiresIn != nil {
		if row.ExpiresAt, err = expiry(*c.ExpiresIn, s.now()); err != nil {
			return err
		}
	}
	if c.MaxViews != nil {
		row.MaxViews = *c.MaxViews
	}
	if c.MaxDownloads != nil {
		row.MaxDownloads = *c.MaxDownloads
	}
	if c.AllowPreview != nil {
		row.AllowPreview = *c.AllowPreview
	}
	if c.AllowDownload != nil {
		row.AllowDownload = *c.AllowDownload
	}
	return checkLimits(row.MaxViews, row.MaxDownloads)
}

// revokedConflict returns the fault for a change of a share that its creator has ended for good.
func revokedConflict() error { return fault.New(fault.Conflict, "A revoked share cannot be changed.") }

// Revoke ends a share of the user's for good. Revoking it again is no error. It returns the id of
// the shared entry. Fault: NotFound, also for somebody else's share.
func (s *Service) Revoke(ctx context.Context, userID, id string) (entryID string, err error) {
	if userID == "" {
		return "", notFound()
	}
	return s.revoke(ctx, id, userID)
}

// RevokeAny ends a share of any user for good; revoking it again is no error. It returns the id of
// the shared entry. Only administrators may call it. Faults: Forbidden, NotFound.
func (s *Service) RevokeAny(ctx context.Context, a access.Actor, id string) (entryID string, err error) {
	if a.Role != access.Admin || a.Key != nil {
		return "", fault.New(fault.Forbidden, "Only administrators can do this.")
	}
	return s.revoke(ctx, id, "")
}

// revoke ends the share with that id in a transaction of its own; creatorID must have made it
// unless it is "". It returns the id of the shared entry.
func (s *Service) revoke(ctx context.Context, id, creatorID string) (entryID string, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) (err error) {
		entryID, err = revoke(tx, id, creatorID, s.now().UnixMilli())
		return err
	})
	return entryID, err
}
