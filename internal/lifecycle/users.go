package lifecycle

import (
	"context"
	"fmt"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// UserWithQuota is an account with its quota.
type UserWithQuota struct {
	account.User
	Quota quota.Quota
}

// ListUsers lists a page of the accounts that f selects, by username, and returns their total
// number.
func (s *Service) ListUsers(ctx context.Context, f account.Filter, limit,
	offset int64) ([]UserWithQuota, int64, error) {
	q := s.cfg.DB.Read(ctx)
	users, total, err := s.cfg.Accounts.List(q, f, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	quotas, err := quota.ByUsers(q, ids)
	if err != nil {
		return nil, 0, err
	}
	people := make([]UserWithQuota, len(users))
	for i, u := range users {
		people[i] = UserWithQuota{u, quotas[u.ID]}
	}
	return people, total, nil
}

// UserUpdate is an administrator's change of an account; nil leaves a field as it is.
type UserUpdate struct {
	Role                 *access.Role
	Status               *account.Status
	DefaultPath          *vpath.Path // becomes the home, see setDefaultPath
	MaxStorage, MaxFiles *int64      // bytes and files, -1 for unlimited
}

// UpdateUser changes an account for an administrator. Another role ends its sessions, and so does
// every status except active; what belongs to the account, such as its keys and permanent links,
// does not work while it is not active. Faults: Invalid (also: no active administrator would be
// left), NotFound, Forbidden when the caller is no administrator any more.
func (s *Service) UpdateUser(ctx context.Context, adminID, id string, c UserUpdate) (UserWithQuota, error) {
	var changed UserWithQuota
	err := s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		user, err := s.lockAdminAndUser(tx, adminID, id)
		if err != nil {
			return err
		}
		if err := s.checkAdminRemains(tx, user, c); err != nil {
			return err
		}
		if err := quota.SetLimits(tx, id, c.MaxStorage, c.MaxFiles); err != nil {
			return err
		}
		if err := s.updateAccount(tx, user, c); err != nil {
			return err
		}
		if changed.User, err = s.cfg.Accounts.ByID(tx, id); err != nil {
			return err
		}
		changed.Quota, err = quota.Get(tx, id)
		return err
	})
	if err != nil {
		return UserWithQuota{}, fmt.Errorf("update user: %w", err)
	}
	return changed, nil
}

// lockAdminAndUser locks the administrator who asks and the user in question. Two administrators
// who would end each other take turns here, and the second one sees the change of the first.
// Faults: Forbidden, NotFound.
func (s *Service) lockAdminAndUser(tx *db.Tx, adminID, id string) (account.User, error) {
	admin, err := s.cfg.Accounts.Lock(tx, adminID)
	if fault.Is(err, fault.NotFound) || err == nil && (admin.Role != access.Admin || admin.Status != account.Active) {
		return account.User{}, fault.New(fault.Forbidden, "Only administrators can do this.")
	}
	if err != nil {
		return account.User{}, err
	}
	return s.cfg.Accounts.Lock(tx, id)
}

// checkAdminRemains refuses a change that would leave no active administrator (abuse case C54). No
// other transaction changes one meanwhile: tx holds the tree alone. Fault: Invalid.
func (s *Service) checkAdminRemains(tx *db.Tx, user account.User, c UserUpdate) error {
	role, status := user.Role, user.Status
	if c.Role != nil {
		role = *c.Role
	}
	if c.Status != nil {
		status = *c.Status
	}
	if user.Role != access.Admin || user.Status != account.Active || role == access.Admin && status == account.Active {
		return nil
	}
	other, err := s.cfg.Accounts.HasOtherAdmin(tx, user.ID)
	if err == nil && !other {
		err = fault.New(fault.Invalid, "This is the last active administrator: make another one first.")
	}
	return err
}

// updateAccount changes the account itself.
func (s *Service) updateAccount(tx *db.Tx, user account.User, c UserUpdate) error {
	if c.DefaultPath != nil {
		if err := s.setDefaultPath(tx, user, *c.DefaultPath); err != nil {
			return err
		}
	}
	if c.Role != nil {
		if err := s.cfg.Accounts.SetRole(tx, user.ID, *c.Role); err != nil {
			return err
		}
	}
	if c.Status == nil {
		return nil
	}
	return s.cfg.Accounts.SetStatus(tx, user.ID, *c.Status)
}

// setDefaultPath makes a path the default path of the user, and the folder there, which is made
// when it is missing, the home. These never become a home: the folder for homes and those above it,
// a folder that exists only because of mounts below it, and a folder that contains another
// account's home or is in one, since two accounts would have rights to the same entries
// (CVE-2026-62685). For these only the path is set. The former home stays a folder. The present
// default path changes nothing: it may be the user's own choice, sent back in a form with
// everything else. Fault: Invalid.
func (s *Service) setDefaultPath(tx *db.Tx, user account.User, path vpath.Path) error {
	if path.String() == user.DefaultPath {
		return nil
	}
	if files.HomesPath.Within(path) {
		return s.cfg.Accounts.SetDefaultPath(tx, user.ID, path.String())
	}
	place, err := s.cfg.Tree.FindHomeCandidate(tx, path)
	if err != nil {
		return err
	}
	if !place.Virtual {
		overlaps, err := overlapsOtherHome(tx, user.ID, place)
		if err != nil {
			return err
		}
		if !overlaps {
			id, err := s.cfg.Tree.CreateHome(tx, place, user.ID)
			if err != nil {
				return err
			}
			return s.cfg.Accounts.SetHome(tx, user.ID, id, path.String())
		}
	}
	return s.cfg.Accounts.SetDefaultPath(tx, user.ID, path.String())
}
