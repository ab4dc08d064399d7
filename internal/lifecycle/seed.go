package lifecycle

import (
	"context"
	"encoding/binary"
	"fmt"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/mount"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/site"
	"larder/internal/vpath"
)

// firstBucket is the bucket of the store that the first start makes.
const firstBucket = "default"

// firstFolders are made by the first start. Rules and new accounts refer to them by path.
var firstFolders = []vpath.Path{files.HomesPath, vpath.Root.Child("public"), vpath.Root.Child("uploads")}

// FirstStart is the input of the first start.
type FirstStart struct {
	Username, Email string
	Password        secret.Text
	Settings        site.Settings
}

// Seeded reports whether the first start is done; readiness waits for it.
func (s *Service) Seeded(ctx context.Context) (bool, error) {
	done, err := seeded(s.cfg.DB.Read(ctx))
	if err != nil {
		return false, fmt.Errorf("look for the first start: %w", err)
	}
	return done, nil
}

// Seed does the work of a first start, once for each database, in one transaction under a lock that
// replicas share. It makes the administrator (no limits, no home), the provider local with its
// store, the mount / on it, the folders home, public and uploads, their rules, and the settings.
// All of this is plain rows that an administrator may change or delete later; a second call
// restores nothing. made reports whether this call made it. Fault: Invalid for the administrator's
// name, address or password.
func (s *Service) Seed(ctx context.Context, first FirstStart) (made bool, err error) {
	if done, err := s.Seeded(ctx); err != nil || done {
		return false, err
	}
	admin := account.NewUser{
		Username: first.Username, Email: first.Email, Password: first.Password,
		Role: access.Admin, EmailVerified: true, DefaultPath: "/",
	}
	if err := admin.Check(); err != nil {
		return false, err
	}
	hash, err := s.cfg.Accounts.HashPassword(ctx, account.Source{}, first.Password)
	if err != nil {
		return false, err
	}
	marker, err := s.firstStoreMarker(ctx)
	if err != nil {
		return false, fmt.Errorf("name the first store: %w", err)
	}
	providerID, mountID := s.cfg.IDs.UUID(), s.cfg.IDs.UUID()
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		made = false
		if err := tx.LockSeed(); err != nil {
			return err
		}
		won, err := markSeeded(tx)
		if err != nil || !won {
			return err
		}
		user, err := s.cfg.Accounts.Insert(tx, admin, hash)
		if err != nil {
			return err
		}
		if err := quota.Create(tx, user.ID, quota.Unlimited, quota.Unlimited); err != nil {
			return err
		}
		if err := s.seedTree(tx, user.ID, providerID, mountID, marker); err != nil {
			return err
		}
		if err := s.seedRules(tx); err != nil {
			return err
		}
		if err := s.cfg.Site.Save(tx, first.Settings); err != nil {
			return err
		}
		made = true
		return tx.BumpConfig()
	})
	if err != nil {
		return false, fmt.Errorf("first start: %w", err)
	}
	return made, nil
}

// firstStoreMarker returns the id of the first store, for its marker file. The id is committed
// before the store is made, so that a first start that breaks off in between can be repeated: it
// finds the store that it made, and not another one.
func (s *Service) firstStoreMarker(ctx context.Context) (string, error) {
	drawn := int64(binary.BigEndian.Uint64(s.cfg.IDs.Bytes(8)) >> 1)
	var number int64
	err := s.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		number, err = recordFirstStore(tx, drawn)
		return err
	})
	return markerOf(number, firstBucket), err
}

// seedTree makes the provider with its store, its mount and the folders below it. marker is the id
// of the store. The directory of the store is the only part that no rollback removes; making it
// again succeeds.
func (s *Service) seedTree(tx *db.Tx, ownerID, providerID, mountID, marker string) error {
	if err := s.cfg.Providers.Prepare(firstBucket, marker); err != nil {
		return err
	}
	now := s.cfg.Now().UnixMilli()
	local := provider.Provider{
		ID: providerID, Name: "local", Type: provider.BuiltIn, Region: "auto", Bucket: firstBucket, Marker: marker,
		CreatedAt: now, UpdatedAt: now,
	}
	if err := s.cfg.Providers.Insert(tx, local); err != nil {
		return err
	}
	root, err := s.cfg.Tree.InsertRoot(tx, ownerID, "Files")
	if err != nil {
		return err
	}
	for _, folder := range firstFolders {
		if _, err := s.cfg.Tree.InsertFolder(tx, root, folder.Base(), ownerID); err != nil {
			return err
		}
	}
	m := mount.Mount{ID: mountID, ProviderID: providerID, RootID: root, Path: vpath.Root, Name: "Files", SortBy: "name",
		SortOrder: "asc"}
	return s.cfg.Mounts.Insert(tx, m, now)
}

// seedRules lets everybody read and download the folder public, and lets users put files into
// uploads, where each sees only their own.
func (s *Service) seedRules(tx *db.Tx) error {
	look := access.Set(access.Read | access.Download)
	for _, rule := range []access.Rule{
		{Pattern: "/public/**", Role: access.Guest, Permissions: look},
		{Pattern: "/public/**", Role: access.User, Permissions: look},
		{Pattern: "/uploads/**", Role: access.User, Permissions: access.Set(access.Write)},
	} {
		now := s.cfg.Now().UnixMilli()
		rule.ID, rule.Effect, rule.CreatedAt = s.cfg.IDs.UUID(), access.Allow, now
		if err := s.cfg.Policies.Insert(tx, access.StoredRule{Rule: rule, UpdatedAt: now}); err != nil {
			return err
		}
	}
	return nil
}
