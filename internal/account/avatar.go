package account

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"larder/internal/db"
	"larder/internal/fault"
)

// avatarIDLength is the length of an id in Base62: about 142 random bits.
const avatarIDLength = 24

var avatarIDPattern = regexp.MustCompile(`^[0-9A-Za-z]{24}$`)

// Avatar is the picture of an account.
type Avatar struct {
	MediaType string
	Content   []byte
}

// SetAvatar makes a picture the one of an account and returns its new id, which is part of its
// address. The former picture and its id are gone. The caller has checked and encoded the picture.
// Fault: SessionRevoked when the account has been deleted or is no longer active.
func (s *Service) SetAvatar(ctx context.Context, userID string, picture Avatar) (id string, err error) {
	id = s.ids.Base62(avatarIDLength)
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if _, err := s.lockActive(tx, userID); err != nil {
			return err
		}
		return errors.Join(deleteAvatar(tx, userID), insertAvatar(tx, id, userID, picture, s.now().UnixMilli()))
	})
	if err != nil {
		return "", fmt.Errorf("set a picture: %w", err)
	}
	return id, nil
}

// RemoveAvatar removes the picture of an account, if it has one.
func (s *Service) RemoveAvatar(ctx context.Context, userID string) error {
	return s.db.Write(ctx, func(tx *db.Tx) error { return deleteAvatar(tx, userID) })
}

// AvatarID returns the id of the picture of an account, "" for none.
func (s *Service) AvatarID(ctx context.Context, userID string) (string, error) {
	id, err := readAvatarID(s.db.Read(ctx), userID)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// AvatarIDs returns the ids of the pictures of some accounts, by the ids of the accounts. Accounts
// without a picture are left out.
func (s *Service) AvatarIDs(ctx context.Context, userIDs []string) (map[string]string, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readAvatarIDs(s.db.Read(ctx), userIDs)
}

// Avatar returns the picture with an id, of an account that exists. Fault: NotFound.
func (s *Service) Avatar(ctx context.Context, id string) (Avatar, error) {
	if !avatarIDPattern.MatchString(id) {
		return Avatar{}, noAvatar()
	}
	found, err := readAvatar(s.db.Read(ctx), id)
	if errors.Is(err, db.ErrNoRows) {
		return Avatar{}, noAvatar()
	}
	return found, err
}

// noAvatar returns the fault NotFound of a picture.
func noAvatar() error { return fault.New(fault.NotFound, "There is no such picture.") }
