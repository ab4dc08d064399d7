// Package lifecycle holds operations that span several packages in one transaction: the first
// start, accounts with home and quota and their deletion, storage providers and the mounts on them.
// Specification: User, User status, Quota, Storage provider, Mount, Permission rule, Public
// endpoints (readiness).
package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/mount"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/upload"
)

// Config is the configuration of a Service.
type Config struct {
	DB            *db.DB
	Accounts      *account.Service
	Policies      *access.Store
	Providers     *provider.Registry
	Mounts        *mount.Store
	Tree          *files.Tree
	Objects       *object.Registry
	Site          *site.Store
	Keys          *apikey.Service
	Uploads       *upload.Service
	IDs           *ident.Source
	Now           func() time.Time
	Wake          func() // called when a job has been inserted; may be nil
	HandoverPiece int    // entries of a deleted account that one transaction hands over, 0 for 250

	MaxStorage, MaxFiles int64 // quota of a new user: bytes and files, -1 for unlimited
}

// Service runs the operations of this package. Its methods are safe for concurrent use.
type Service struct{ cfg Config }

// New returns a Service.
func New(cfg Config) *Service {
	cfg.HandoverPiece = cmp.Or(cfg.HandoverPiece, defaultHandoverPiece)
	return &Service{cfg: cfg}
}

// NewUser is an account to be made. Its DefaultPath and HomeID are ignored: both come from the
// home.
type NewUser struct {
	account.NewUser
	MaxStorage, MaxFiles *int64 // bytes and files, -1 for unlimited, nil for the default

	Source account.Source // who makes it, for the queue of password hashing
}

// CreateUser makes account, home and quota in one transaction, so that the account is never visible
// without them. The account has no home while nothing is mounted at the path of homes, or that path
// is in another account's home. Faults: Invalid, AlreadyExists, RateLimited when too many passwords
// wait to be hashed.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (account.User, error) {
	if err := n.Check(); err != nil {
		return account.User{}, err
	}
	hash, err := s.cfg.Accounts.HashPassword(ctx, n.Source, n.Password)
	if err != nil {
		return account.User{}, err
	}
	var user account.User
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		user, err = s.insertUser(ctx, tx, n, hash)
		return err
	})
	if err != nil {
		return account.User{}, fmt.Errorf("create user: %w", err)
	}
	return user, nil
}

// insertUser makes account, home and quota in the transaction tx, and returns the account.
// passwordHash is that of n.Password. Faults: Invalid, AlreadyExists.
func (s *Service) insertUser(ctx context.Context, tx *db.Tx, n NewUser, passwordHash string) (account.User, error) {
	maxStorage, maxFiles := s.cfg.MaxStorage, s.cfg.MaxFiles
	if n.MaxStorage != nil {
		maxStorage = *n.MaxStorage
	}
	if n.MaxFiles != nil {
		maxFiles = *n.MaxFiles
	}
	n.DefaultPath, n.HomeID = "/", ""
	if err := tx.LockTree(false); err != nil {
		return account.User{}, err
	}
	made, err := s.cfg.Accounts.Insert(tx, n.NewUser, passwordHash)
	if err != nil {
		return account.User{}, err
	}
	if err := quota.Create(tx, made.ID, maxStorage, maxFiles); err != nil {
		return account.User{}, err
	}
	home, path, err := s.cfg.Tree.InsertHome(ctx, tx, made.Username, made.ID,
		func(folders []string) (bool, error) { return inOtherHome(tx, made.ID, folders) })
	switch {
	case fault.Is(err,
		fault.NotFound): // no mount covers /home, or it is in a home: the account gets no home
	case err != nil:
		return account.User{}, err
	default:
		if err := s.cfg.Accounts.SetHome(tx, made.ID, home, path.String()); err != nil {
			return account.User{}, err
		}
	}
	return s.cfg.Accounts.ByID(tx, made.ID)
}

// ResetPassword gives the account with that username or email address a new password, a random one
// when password is empty, and ends its sessions. It returns the password. It is for the operator's
// command. Faults: NotFound, Invalid.
func (s *Service) ResetPassword(ctx context.Context, username string, password secret.Text) (secret.Text, error) {
	user, err := s.cfg.Accounts.ByName(s.cfg.DB.Read(ctx), username)
	if err != nil {
		return "", err
	}
	if password.Reveal() == "" {
		password = s.RandomPassword()
	}
	hash, err := s.hashFor(ctx, account.Source{}, user, password)
	if err != nil {
		return "", err
	}
	if err := s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		return s.cfg.Accounts.SetPassword(tx, user.ID, hash)
	}); err != nil {
		return "", fmt.Errorf("reset password: %w", err)
	}
	return password, nil
}

// ResetPasswordOf gives the account id a new random password for the administrator adminID, and
// ends its sessions. It returns the password. An administrator's own password takes the present
// one, in the settings. source is the client, for the queue of password hashing. Faults: Forbidden
// when adminID is no active administrator, Invalid, NotFound, RateLimited.
func (s *Service) ResetPasswordOf(ctx context.Context, source account.Source, adminID, id string) (secret.Text, error) {
	if id == adminID {
		return "", fault.New(fault.Invalid, "Change your own password in the settings, with the present one.")
	}
	user, err := s.cfg.Accounts.ByID(s.cfg.DB.Read(ctx), id)
	if err != nil {
		return "", err
	}
	password := s.RandomPassword()
	hash, err := s.hashFor(ctx, source, user, password)
	if err != nil {
		return "", err
	}
	if err := s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		if _, err := s.lockAdminAndUser(tx, adminID, id); err != nil {
			return err
		}
		return s.cfg.Accounts.SetPassword(tx, id, hash)
	}); err != nil {
		return "", fmt.Errorf("reset password: %w", err)
	}
	return password, nil
}

// hashFor checks that a password may be that of user, and returns its hash. Faults: Invalid,
// RateLimited.
func (s *Service) hashFor(ctx context.Context, source account.Source, user account.User,
	password secret.Text) (string, error) {
	check := account.NewUser{Username: user.Username, Email: user.Email, Password: password, Role: user.Role}
	if err := check.Check(); err != nil {
		return "", err
	}
	return s.cfg.Accounts.HashPassword(ctx, source, password)
}

// RecoverPassword sets a new password by the token that was mailed to the account. source is the
// client, for the queue of password hashing. When the token is what verifies the address, somebody
// else may have made the account and left keys and shares in it, so these end. Faults: Invalid,
// RateLimited.
func (s *Service) RecoverPassword(ctx context.Context, source account.Source, token string,
	password secret.Text) error {
	return s.cfg.Accounts.ResetPassword(ctx, source, token, password, func(tx *db.Tx, userID string) error {
		if _, err := s.cfg.Keys.RevokeAll(tx, userID); err != nil {
			return err
		}
		return share.RevokeAll(tx, userID, s.cfg.Now().UnixMilli())
	})
}

// RandomPassword returns a random password of 119 bits, 20 letters and digits.
func (s *Service) RandomPassword() secret.Text { return secret.Text(s.cfg.IDs.Base62(20)) }
