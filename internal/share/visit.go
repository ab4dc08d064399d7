package share

import (
	"context"
	"errors"
	"slices"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

// Visit decides what a visitor may see of a share now, and counts nothing. Faults: NotFound (no
// such share, or its file is gone), ShareRevoked (also when its creator is gone or not active, or
// may not share the file now), ShareExpired.
func (s *Service) Visit(ctx context.Context, id string, v Visitor) (Visit, error) {
	row, err := find(s.db.Read(ctx), id)
	if err != nil {
		return Visit{}, err
	}
	if row.RevokedAt != nil {
		return Visit{}, revokedFault()
	}
	found, err := s.tree.FindID(ctx, row.EntryID)
	if err != nil {
		return Visit{}, err
	}
	if _, exists := found.Path(); !exists {
		return Visit{}, notFound()
	}
	creator, err := s.accounts.Cached(ctx, found.Version(), row.CreatorID)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && creator.Status != account.Active:
		return Visit{}, revokedFault()
	case err != nil:
		return Visit{}, err
	}
	actor := access.Actor{UserID: creator.ID, Role: creator.Role, HomeID: creator.HomeID, IP: v.IP}
	visit, err := authorizeVisit(ctx, found, row, actor, v.PasswordIDs)
	if err != nil {
		return Visit{}, err
	}
	visit.CreatorName = creator.Username
	if creator.DisplayName != nil && *creator.DisplayName != "" {
		visit.CreatorName = *creator.DisplayName
	}
	if row.Status(s.now()) == Expired {
		return Visit{}, expiredFault()
	}
	return visit, nil
}

// authorizeVisit decides what a visitor may see of the share row, by what its creator may do with
// the shared entry (found) at the visitor's address. passwordIDs are the ids of the passwords that
// the visitor has given. It does not check whether the share has expired. Faults: NotFound,
// ShareRevoked.
func authorizeVisit(ctx context.Context, found *files.FoundEntry, row Share, creator access.Actor,
	passwordIDs []string) (Visit, error) {
	creator.Unlocked = nil
	required, err := found.SharePasswords(ctx, creator)
	if err != nil {
		return Visit{}, err
	}
	visit := Visit{Share: row}
	hasPassword := row.PasswordID != ""
	if hasPassword {
		visit.Passwords = []files.RequiredPassword{{ID: row.PasswordID, Hash: row.passwordHash}}
		if creator.Unlocked, err = replacedPasswords(found, creator, row.proof, required); err != nil {
			return Visit{}, err
		}
	}
	sharing, err := found.SharePermissions(creator)
	if err != nil {
		return Visit{}, err
	}
	if sharing.NeedsPassword(creator) {
		for _, password := range required {
			if !creator.HasUnlocked(password.ID) {
				visit.Passwords = append(visit.Passwords, password)
			}
		}
		creator.Unlocked = append(creator.Unlocked, intersect(required, passwordIDs)...)
		if sharing, err = found.SharePermissions(creator); err != nil {
			return Visit{}, err
		}
	}
	if sharing.Denied() {
		return Visit{}, revokedFault()
	}
	visit.Authorized = !sharing.NeedsPassword(creator)
	if hasPassword && !slices.Contains(passwordIDs, row.PasswordID) {
		visit.Authorized, creator.Unlocked = false, nil
	}
	visit.Creator, visit.Found, visit.Entry, visit.Path = creator, found, sharing.Entry, sharing.Entry.Path()
	if sharing.Download == access.Denied {
		visit.AllowPreview, visit.AllowDownload = false, false
	}
	return visit, nil
}

// replacedPasswords returns the ids of those passwords of the file (required) that visitors need
// not give, because the share's own password replaces them: those that the creator had given when
// they set it (proof), and one that the creator may set.
func replacedPasswords(found *files.FoundEntry, creator access.Actor, proof []string,
	required []files.RequiredPassword) ([]string, error) {
	sharing, err := found.SharePermissions(creator)
	if err != nil {
		return nil, err
	}
	ids := intersect(required, proof)
	if g := sharing.Password; g != nil && creator.ControlsPassword(*g) && !slices.Contains(ids, g.ID) {
		ids = append(ids, g.ID)
	}
	return ids, nil
}

// intersect returns the ids of those required passwords whose id is in ids.
func intersect(required []files.RequiredPassword, ids []string) []string {
	var have []string
	for _, password := range required {
		if slices.Contains(ids, password.ID) {
			have = append(have, password.ID)
		}
	}
	return have
}

// View decides what a visitor may see of a share, as Visit does, for a visitor who is shown its
// content. With count, it counts a view if the visit is authorized, in one conditional update, so
// that the limit of views holds. Faults: as Visit, and ShareLimitReached when the share has no
// views left.
func (s *Service) View(ctx context.Context, id string, v Visitor, count bool) (Visit, error) {
	for range db.MaxTries {
		visit, err := s.Visit(ctx, id, v)
		if err != nil {
			return Visit{}, err
		}
		if visit.MaxViews != nil && visit.ViewCount >= *visit.MaxViews {
			return Visit{}, fault.New(fault.ShareLimitReached, "This share has reached its view limit.")
		}
		if !visit.Authorized || !count {
			return visit, nil
		}
		err = s.db.Write(ctx, func(tx *db.Tx) (err error) {
			visit.ViewCount, err = countView(tx, id, visit.PasswordID, s.now().UnixMilli())
			return err
		})
		if !errors.Is(err, db.ErrNoRows) {
			return visit, err
		}
	} // the share was changed meanwhile: visit again
	return Visit{}, errors.New("a share changes too often to be shown")
}

// CountDownload counts a download of the share, in the transaction that uses up its token. With a
// fault it counts nothing. Faults: NotFound, ShareRevoked, ShareExpired, ShareLimitReached.
func (s *Service) CountDownload(tx *db.Tx, id string) error {
	counted, err := countDownload(tx, id, s.now().UnixMilli())
	if err != nil || counted {
		return err
	}
	row, err := find(tx, id)
	if err != nil {
		return err
	}
	switch row.Status(s.now()) {
	case Revoked:
		return revokedFault()
	case Expired:
		return expiredFault()
	}
	return LimitReached()
}

// LimitReached returns the fault ShareLimitReached for a download after the last allowed one;
// package download uses it, too.
func LimitReached() error {
	return fault.New(fault.ShareLimitReached, "This share has reached its download limit.")
}
