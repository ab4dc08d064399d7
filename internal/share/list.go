package share

import (
	"context"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// Query selects a page of shares, newest first.
type Query struct {
	CreatorID   string // "" for the shares of all users
	Status      Status // "" for all
	EntryID     string // "" for the shares of all entries
	Search      string // part of the title, of the entry's name or of the creator's names; "" for all
	Page, Limit int64  // from 1
}

// Item is a share in a list. Its status is the stored one: it does not depend on the file or on the
// present rights of the creator.
type Item struct {
	Share
	Status           Status
	Entry            *files.Entry // as the actor sees it; nil when it is gone or the actor may not see it
	RequiresPassword bool         // visitors must give a password; for somebody else's share: the share's own
}

// List returns a page of the actor's own shares that q selects, and how many there are in all.
// Faults: Invalid, Unauthorized.
func (s *Service) List(ctx context.Context, a access.Actor, q Query) (items []Item, total int64, err error) {
	q.CreatorID = a.UserID
	if a.UserID == "" {
		return nil, 0, fault.New(fault.Unauthorized, "Please sign in.")
	}
	return s.list(ctx, a, q)
}

// ListAll returns a page of the shares of all users that q selects, and how many there are in all,
// for administrators. Faults: Invalid, Forbidden.
func (s *Service) ListAll(ctx context.Context, a access.Actor, q Query) (items []Item, total int64, err error) {
	if a.Role != access.Admin || a.Key != nil {
		return nil, 0, fault.New(fault.Forbidden, "Only administrators can do this.")
	}
	return s.list(ctx, a, q)
}

// list returns the page of shares that q selects, as the actor sees them, and their total number.
// Its callers List and ListAll have checked the actor and set q.CreatorID. Fault: Invalid.
func (s *Service) list(ctx context.Context, a access.Actor, q Query) (items []Item, total int64, err error) {
	if q.Page < 1 || q.Limit < 1 {
		return nil, 0, fault.New(fault.Invalid, "Pages and limits begin at 1.")
	}
	switch q.Status {
	case "", Active, Expired, Revoked:
	default:
		return nil, 0, fault.New(fault.Invalid, "A status is active, expired or revoked.")
	}
	rows, total, err := readPage(s.db.Read(ctx), q, s.now().UnixMilli())
	if err != nil {
		return nil, 0, err
	}
	items = make([]Item, 0, len(rows))
	for _, row := range rows {
		item, err := s.item(ctx, a, row)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, item)
	}
	return items, total, nil
}

// item adds to a share what the actor sees of it in a list: its status, its entry if the actor may
// see that, and whether visitors are asked for a password.
func (s *Service) item(ctx context.Context, a access.Actor, row Share) (Item, error) {
	item := Item{Share: row, Status: row.Status(s.now()), RequiresPassword: row.PasswordID != ""}
	found, err := s.tree.FindID(ctx, row.EntryID)
	if err != nil {
		return Item{}, err
	}
	if _, exists := found.Path(); !exists {
		return item, nil
	}
	sharing, err := found.SharePermissions(a)
	if err != nil {
		return Item{}, err
	}
	if sharing.Read == access.Allowed {
		item.Entry = &sharing.Entry
	}
	if a.UserID == row.CreatorID {
		item.RequiresPassword, err = requiresPassword(ctx, found, a, row)
	}
	return item, err
}
