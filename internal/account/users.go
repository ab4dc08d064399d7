package account

import (
	"strings"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/vpath"
)

// Filter picks accounts; what is left empty picks all.
type Filter struct {
	Role   access.Role
	Status Status
	// part of the username, the address or the display name, without case; nothing in it is a
	// wildcard (abuse case C18)
	Search string
}

// List returns a page of the accounts that f picks, by username, and how many there are in all.
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

// matchesSearch reports whether a search, folded, finds an account. Display names are folded here:
// the engines fold the letters of English alone.
func matchesSearch(search, usernameFold, emailFold, displayName string) bool {
	return strings.Contains(usernameFold, search) || strings.Contains(emailFold, search) ||
		strings.Contains(vpath.Fold(displayName), search)
}

// Lock returns a user of any status and has whoever else locks or changes them wait until
// tx ends. Fault: NotFound.
func (s *Service) Lock(tx *db.Tx, id string) (User, error) {
	if _, err := s.ByID(tx, id); err != nil { // which knows what no id can be
		return User{}, err
	}
	return lockUser(tx, id)
}

// HasOtherAdmin reports whether there is an active administrator besides that user. Exact only
// while nobody else can change one.
func (s *Service) HasOtherAdmin(q db.Querier, userID string) (bool, error) {
	return otherAdminExists(q, userID)
}

// IsActive reports whether there is an active user of that id.
func (s *Service) IsActive(q db.Querier, userID string) (bool, error) {
	return activeUserExists(q, userID)
}

// SetDefaultPath changes the folder that opens first. Fault: NotFound.
func (s *Service) SetDefaultPath(tx *db.Tx, userID, path string) error {
	return finishChange(tx, updateDefaultPath(tx, userID, path, s.now().UnixMilli()))
}

// Delete removes a user, whose name and address are free from then on. What hangs on the account is
// for the caller. Fault: NotFound.
func (s *Service) Delete(tx *db.Tx, userID string) error {
	return finishChange(tx, deleteUser(tx, userID))
}
