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
	"larder/internal/share"
	"larder/internal/vpath"
)

// ListedUser is an account as administrators see it.
type ListedUser struct {
	account.User
	Quota      quota.Quota
	Kept       quota.Kept
	LastSeenAt *int64 // ms: the last use of a session or an API key, nil for none
}

// withUse returns the accounts with their quota, the bytes that their trash keeps, and the time of
// their last use.
func (s *Service) withUse(q db.Querier, users ...account.User) ([]ListedUser, error) {
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	quotas, err := quota.ByUsers(q, ids)
	if err != nil {
		return nil, err
	}
	kept, err := quota.KeptByUsers(q, ids)
	if err != nil {
		return nil, err
	}
	sessions, err := s.cfg.Accounts.LastSeen(q, ids)
	if err != nil {
		return nil, err
	}
	keys, err := s.cfg.Keys.LastUses(q, ids)
	if err != nil {
		return nil, err
	}
	listed := make([]ListedUser, len(users))
	for i, u := range users {
		listed[i] = ListedUser{User: u, Quota: quotas[u.ID], Kept: kept[u.ID]}
		if at := max(sessions[u.ID], keys[u.ID]); at > 0 {
			listed[i].LastSeenAt = &at
		}
	}
	return listed, nil
}

// Impact counts the lasting sessions of an account, its active keys and shares, and its files with
// their bytes: they end with the account, or pass to another one.
type Impact struct{ Sessions, Keys, Shares, Files, Storage int64 }

// Impact counts what ends with an account, or passes to another one, so that an administrator sees
// it before a deletion. Fault: NotFound.
func (s *Service) Impact(ctx context.Context, id string) (i Impact, err error) {
	q := s.cfg.DB.Read(ctx)
	if _, err := s.cfg.Accounts.ByID(q, id); err != nil {
		return Impact{}, err
	}
	used, err := quota.Get(q, id)
	if err != nil {
		return Impact{}, err
	}
	i.Files, i.Storage = used.UsedFiles, used.UsedStorage
	if i.Sessions, err = s.cfg.Accounts.CountSessions(q, id); err != nil {
		return Impact{}, err
	}
	keys, err := s.cfg.Keys.CountActive(q, id)
	if err != nil {
		return Impact{}, err
	}
	i.Keys = int64(keys)
	i.Shares, err = share.CountActive(q, id, s.cfg.Now().UnixMilli())
	return i, err
}

// ListUsers lists up to limit of the accounts that f selects, by username, after the first offset
// ones, and returns the number of all that f selects.
func (s *Service) ListUsers(ctx context.Context, f account.Filter, limit,
	offset int64) ([]ListedUser, int64, error) {
	q := s.cfg.DB.Read(ctx)
	users, total, err := s.cfg.Accounts.List(q, f, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	listed, err := s.withUse(q, users...)
	return listed, total, err
}

// UserUpdate is an administrator's change of an account; nil leaves a field as it is.
type UserUpdate struct {
	Role                 *access.Role
	Status               *account.Status
	DefaultPath          *vpath.Path // becomes the home, see setDefaultPath
	MaxStorage, MaxFiles *int64      // bytes and files, -1 for unlimited
	MaxKept              *int64      // bytes that the trash may keep, -1 for unlimited
	DefaultMaxKept       bool        // MaxKept becomes the default
}

// UpdateUser changes the account id for the administrator adminID. Another role ends its sessions,
// and so does every status except active. The keys, permanent links and other belongings of the
// account do not work while it is not active. Faults: Invalid (also: no active
// administrator would be left), NotFound, Forbidden when the caller is no administrator any more.
func (s *Service) UpdateUser(ctx context.Context, adminID, id string, c UserUpdate) (ListedUser, error) {
	var changed ListedUser
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
		if c.MaxKept != nil || c.DefaultMaxKept {
			if err := quota.SetMaxKept(tx, id, c.MaxKept); err != nil {
				return err
			}
		}
		if err := s.updateAccount(tx, user, c); err != nil {
			return err
		}
		if user, err = s.cfg.Accounts.ByID(tx, id); err != nil {
			return err
		}
		listed, err := s.withUse(tx, user)
		if err == nil {
			changed = listed[0]
		}
		return err
	})
	if err != nil {
		return ListedUser{}, fmt.Errorf("update user: %w", err)
	}
	return changed, nil
}

// lockAdminAndUser locks the rows of the administrator adminID, who asks, and of the account id,
// which it returns. Two administrators who would end each other take turns here, and the second one
// sees the change of the first. Faults: Forbidden when adminID is no active administrator,
// NotFound.
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
	role, status, field := user.Role, user.Status, "role"
	if c.Role != nil {
		role = *c.Role
	}
	if c.Status != nil && *c.Status != status {
		status, field = *c.Status, "status"
	}
	if user.Role != access.Admin || user.Status != account.Active || role == access.Admin && status == account.Active {
		return nil
	}
	other, err := s.cfg.Accounts.HasOtherAdmin(tx, user.ID)
	if err == nil && !other {
		err = fault.InvalidField(field, "This is the last active administrator: make another one first.")
	}
	return err
}

// updateAccount changes default path, role and status of an account as c says. Fault: Invalid.
func (s *Service) updateAccount(tx *db.Tx, user account.User, c UserUpdate) error {
	if c.DefaultPath != nil {
		if err := s.setDefaultPath(tx, user, *c.DefaultPath); err != nil {
			return fault.InField(err, "defaultPath")
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
	candidate, err := s.cfg.Tree.FindHomeCandidate(tx, path)
	if err != nil {
		return err
	}
	if !candidate.Virtual {
		overlaps, err := overlapsOtherHome(tx, user.ID, candidate)
		if err != nil {
			return err
		}
		if !overlaps {
			id, err := s.cfg.Tree.CreateHome(tx, candidate, user.ID)
			if err != nil {
				return err
			}
			return s.cfg.Accounts.SetHome(tx, user.ID, id, path.String())
		}
	}
	return s.cfg.Accounts.SetDefaultPath(tx, user.ID, path.String())
}
