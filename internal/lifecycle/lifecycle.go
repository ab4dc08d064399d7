// Package lifecycle is what spans packages in one transaction: what a first start makes, accounts that come with home and quota, storage
// providers and the mounts on them. Specification: User, Quota, Storage provider, Mount, Permission rule, Public endpoints (readiness).
package lifecycle

import (
	"context"
	"fmt"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/mount"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/site"
)

// Config is what a Service works with.
type Config struct {
	DB        *db.DB
	Accounts  *account.Service
	Policies  *access.Store
	Providers *provider.Registry
	Mounts    *mount.Store
	Tree      *files.Tree
	Site      *site.Store
	IDs       *ident.Source
	Now       func() time.Time

	MaxStorage, MaxFiles int64 // quota of a new user: bytes and files, -1 for unlimited
}

// Service makes accounts and first starts. All methods are safe for concurrent use.
type Service struct{ cfg Config }

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// NewUser is an account to be made. Its DefaultPath and HomeID are not looked at: both come from the home.
type NewUser struct {
	account.NewUser
	MaxStorage, MaxFiles *int64 // bytes and files, -1 for unlimited, nil = the default
}

// CreateUser makes account, home and quota in one transaction; whoever reads the account finds all three. While nothing is mounted where homes
// are, the account has none. Faults: Invalid, AlreadyExists.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (account.User, error) {
	if err := n.Check(); err != nil {
		return account.User{}, err
	}
	maxStorage, maxFiles := s.cfg.MaxStorage, s.cfg.MaxFiles
	if n.MaxStorage != nil {
		maxStorage = *n.MaxStorage
	}
	if n.MaxFiles != nil {
		maxFiles = *n.MaxFiles
	}
	hash, err := s.cfg.Accounts.HashPassword(ctx, n.Password)
	if err != nil {
		return account.User{}, err
	}
	n.DefaultPath, n.HomeID = "/", ""
	var user account.User
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(false); err != nil {
			return err
		}
		made, err := s.cfg.Accounts.Insert(tx, n.NewUser, hash)
		if err != nil {
			return err
		}
		if err := quota.Create(tx, made.ID, maxStorage, maxFiles); err != nil {
			return err
		}
		home, path, err := s.cfg.Tree.InsertHome(ctx, tx, made.Username, made.ID)
		switch {
		case fault.Is(err, fault.NotFound): // no mount covers /home: no home then, but accounts there must be
		case err != nil:
			return err
		default:
			if err := s.cfg.Accounts.SetHome(tx, made.ID, home, path.String()); err != nil {
				return err
			}
		}
		user, err = s.cfg.Accounts.ByID(tx, made.ID)
		return err
	})
	if err != nil {
		return account.User{}, fmt.Errorf("create user: %w", err)
	}
	return user, nil
}

// ResetPassword gives the account of that name or address a new password, a random one when password is empty, and ends its sessions. It
// returns the password. Faults: NotFound, Invalid.
func (s *Service) ResetPassword(ctx context.Context, username string, password secret.Text) (secret.Text, error) {
	user, err := s.cfg.Accounts.ByName(s.cfg.DB.Read(ctx), username)
	if err != nil {
		return "", err
	}
	if password.Reveal() == "" {
		password = s.RandomPassword()
	}
	check := account.NewUser{Username: user.Username, Email: user.Email, Password: password, Role: user.Role}
	if err := check.Check(); err != nil {
		return "", err
	}
	hash, err := s.cfg.Accounts.HashPassword(ctx, password)
	if err != nil {
		return "", err
	}
	if err := s.cfg.DB.Write(ctx, func(tx *db.Tx) error { return s.cfg.Accounts.SetPassword(tx, user.ID, hash) }); err != nil {
		return "", fmt.Errorf("reset password: %w", err)
	}
	return password, nil
}

// RandomPassword draws a password of 119 bits, 20 letters and digits.
func (s *Service) RandomPassword() secret.Text { return secret.Text(s.cfg.IDs.Base62(20)) }
