package account

import (
	"errors"
	"strings"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/vpath"
)

// Filter selects accounts. An empty field selects all.
type Filter struct {
	Role   access.Role
	Status Status
	// part of the username, the address or the display name, compared without case; no character is
	// a wildcard (abuse case C18)
	Search string
}

// List returns at most limit of the accounts that f selects, without the first offset ones, sorted
// by username, and their total number.
func (s *Service) List(q db.Querier, f Filter, limit, offset int64) (users []User, total int64, err error) {
	if f.Search == "" {
		if total, err = countUsers(q, f); err != nil {
			return nil, 0, err
		}
		users, err = pageOfUsers(q, f, limit, offset)
		return users, total, err
	}
	ids, total, err := searchUsers(q, f, limit, offset)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	users, err = usersByIDs(q, ids)
	return users, total, err
}

// matchesSearch reports whether a folded search text, "" for all, is part of an account's names.
// Folding makes the comparison independent of case. Display names are folded here, because the
// database engines fold ASCII letters only.
func matchesSearch(search, usernameFold, emailFold, displayName string) bool {
	return strings.Contains(usernameFold, search) || strings.Contains(emailFold, search) ||
		strings.Contains(vpath.Fold(displayName), search)
}

// Lock returns a user of any status and locks the row until tx ends: other transactions that lock
// or change the user wait. Fault: NotFound.
func (s *Service) Lock(tx *db.Tx, id string) (User, error) {
	if _, err := s.ByID(tx, id); err != nil { // ByID refuses texts that cannot be an id
		return User{}, err
	}
	return lockUser(tx, id)
}

// HasOtherAdmin reports whether there is an active administrator besides that user, who may
// therefore lose the role. The result is exact only while no other transaction can change an
// administrator.
func (s *Service) HasOtherAdmin(q db.Querier, userID string) (bool, error) {
	return otherAdminExists(q, userID)
}

// IsActive reports whether there is an active user with that id.
func (s *Service) IsActive(q db.Querier, userID string) (bool, error) {
	return activeUserExists(q, userID)
}

// LastSeen returns the time (ms) at which each of some users last used a session, by id; users who
// never did are left out. It is exact to about a minute.
func (s *Service) LastSeen(q db.Querier, userIDs []string) (map[string]int64, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readLastSeen(q, userIDs)
}

// CountSessions returns the number of sessions of a user that have not ended.
func (s *Service) CountSessions(q db.Querier, userID string) (int64, error) {
	return countSessions(q, userID, s.now().UnixMilli())
}

// SetDefaultPath changes the folder that the UI opens first. Fault: NotFound.
func (s *Service) SetDefaultPath(tx *db.Tx, userID, path string) error {
	return finishChange(tx, updateDefaultPath(tx, userID, path, s.now().UnixMilli()))
}

// Delete deletes a user with the sessions and the picture, and frees the name and the address. The
// caller deletes the other data of the account. Fault: NotFound.
func (s *Service) Delete(tx *db.Tx, userID string) error {
	return endByVersion(tx, userID, errors.Join(deleteAvatar(tx, userID), deleteUser(tx, userID)))
}
