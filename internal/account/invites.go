package account

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

const (
	inviteRunes = 20 // of base 62: 119 bits
	// maxInvites bounds the invites, since Invites returns all of them at once.
	maxInvites        = 1000
	maxInviteUses     = 10000
	minInviteLifetime = time.Minute
	maxInviteLifetime = 10 * 365 * 24 * time.Hour
	maxNoteRunes      = 200
)

// Invite lets people register. Each registration with its code is one use.
type Invite struct {
	ID, Code           string
	MaxUses, UsedCount int64
	ExpiresAt          *int64 // ms, nil for never
	Note               string
	CreatedBy          string // user
	CreatedAt          int64  // ms
	Usable             bool   // a registration with the code would be accepted now
}

// NewInvite describes an invite to create.
type NewInvite struct {
	MaxUses   int64
	Lifetime  time.Duration // 0 for no expiry
	Note      string        // stored in NFC
	CreatedBy string        // user
}

// check checks the allowed number of registrations, the lifetime and the note of a new invite.
// Fault: Invalid.
func (n NewInvite) check() error {
	switch {
	case n.MaxUses < 1 || n.MaxUses > maxInviteUses:
		return fault.Newf(fault.Invalid, "An invite can allow 1 to %d registrations.", maxInviteUses)
	case n.Lifetime != 0 && (n.Lifetime < minInviteLifetime || n.Lifetime > maxInviteLifetime):
		return fault.New(fault.Invalid, "An invite must last between one minute and ten years.")
	case utf8.RuneCountInString(n.Note) > maxNoteRunes:
		return fault.Newf(fault.Invalid, "A note has at most %d characters.", maxNoteRunes)
	case strings.ContainsFunc(n.Note, func(r rune) bool { return vpath.IsUnprintable(r) && r != '\n' && r != '\t' }):
		return fault.New(fault.Invalid, "A note must not contain control characters or text-direction overrides.")
	}
	return nil
}

// CreateInvite creates an invite with a random code. Faults: Invalid, Conflict when there are too
// many invites.
func (s *Service) CreateInvite(ctx context.Context, n NewInvite) (Invite, error) {
	n.Note = norm.NFC.String(n.Note)
	if err := n.check(); err != nil {
		return Invite{}, err
	}
	now := s.now()
	i := Invite{
		ID: s.ids.UUID(), Code: s.ids.Base62(inviteRunes), MaxUses: n.MaxUses, Note: n.Note, CreatedBy: n.CreatedBy,
		CreatedAt: now.UnixMilli(), Usable: true,
	}
	if n.Lifetime != 0 {
		end := now.Add(n.Lifetime).UnixMilli()
		i.ExpiresAt = &end
	}
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		there, err := countInvites(tx)
		if err != nil {
			return err
		}
		if there >= maxInvites { // parallel calls may exceed the limit by a few, which does no harm
			return fault.Newf(fault.Conflict, "There are %d invites already. Delete some that are used up first.",
				maxInvites)
		}
		return insertInvite(tx, i)
	})
	if err != nil {
		return Invite{}, fmt.Errorf("create invite: %w", err)
	}
	return i, nil
}

// Invites lists all invites, newest first, including those that are used up or expired.
func (s *Service) Invites(ctx context.Context) ([]Invite, error) {
	return readInvites(s.db.Read(ctx), s.now().UnixMilli())
}

// DeleteInvite deletes an invite. Accounts that registered with it remain. Fault: NotFound.
func (s *Service) DeleteInvite(ctx context.Context, id string) error {
	return s.db.Write(ctx, func(tx *db.Tx) error { return deleteInvite(tx, id) })
}

// InviteUsable reports whether a registration with the code would be accepted now: the code exists,
// has a use left and has not expired, and its creator is an active administrator. UseInvite may
// still fail later.
func (s *Service) InviteUsable(ctx context.Context, code string) (bool, error) {
	return usableInviteExists(s.db.Read(ctx), code, s.now().UnixMilli())
}

// UseInvite counts one registration with a code in the transaction that creates the account. It
// reports whether the code could be used; otherwise nothing is counted.
func (s *Service) UseInvite(tx *db.Tx, code string) (bool, error) {
	used, err := useInvite(tx, code, s.now().UnixMilli())
	if err != nil {
		return false, fmt.Errorf("use an invite: %w", err)
	}
	return used, nil
}
