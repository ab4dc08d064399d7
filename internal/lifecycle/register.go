package lifecycle

import (
	"context"
	"fmt"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/site"
)

// Registration is an account that a visitor makes for themselves. Role, quota and whether the
// address is verified are not the visitor's choice: these fields of Account are ignored.
type Registration struct {
	Account  account.NewUser
	Source   account.Source // who registers, for the queue of password hashing
	Invite   string         // code, "" for none
	Settings site.Settings  // present settings
	// BotCheck is called after all other checks, before any costly work.
	BotCheck func(ctx context.Context) error
}

// Register makes an account with home and quota, counts the use of its invite, and queues the mail
// of a verification link where the site requires one. All of this is one transaction; when part of
// it fails, nothing is left.
//
// A valid invite is needed while registration is closed, and where the site requires invites.
// Otherwise an invite code is ignored and keeps its uses. Faults: Invalid, Forbidden, MailFailed,
// AlreadyExists, RateLimited, and those of BotCheck.
func (s *Service) Register(ctx context.Context, r Registration) (account.User, error) {
	n := NewUser{NewUser: r.Account}
	n.Role, n.EmailVerified = access.User, false
	if err := n.Check(); err != nil {
		return account.User{}, err
	}
	invited, err := s.checkAdmission(ctx, r)
	if err != nil {
		return account.User{}, err
	}
	verify := r.Settings.RequireEmailVerification
	if verify && !r.Settings.SendsMail() {
		return account.User{}, fault.New(fault.MailFailed,
			"Registration requires email verification, but this site cannot send email at the moment. Please try "+
				"again later.")
	}
	if err := r.BotCheck(ctx); err != nil {
		return account.User{}, err
	}
	hash, err := s.cfg.Accounts.HashPassword(ctx, r.Source, n.Password)
	if err != nil {
		return account.User{}, err
	}
	var user account.User
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if invited {
			// ending or demoting an account, which the invite may belong to, holds the tree alone
			if err := tx.LockTree(false); err != nil {
				return err
			}
			used, err := s.cfg.Accounts.UseInvite(tx, r.Invite)
			if err != nil {
				return err
			}
			if !used { // another registration was faster, or the invite has ended
				return r.inviteFault()
			}
		}
		if user, err = s.insertUser(ctx, tx, n, hash); err != nil || !verify {
			return err
		}
		return s.cfg.Accounts.QueueVerification(tx, user.ID)
	})
	if err != nil {
		return account.User{}, fmt.Errorf("register: %w", err)
	}
	crash.Point("register.committed")
	return user, nil
}

// checkAdmission decides whether a visitor may register; invited is true when an invite admits the
// visitor, whose use is then counted. Faults: Forbidden, Invalid.
func (s *Service) checkAdmission(ctx context.Context, r Registration) (invited bool, err error) {
	if r.Settings.AllowRegistration && !r.Settings.RequireInviteCode {
		return false, nil
	}
	if r.Invite == "" {
		return false, r.inviteFault()
	}
	holds, err := s.cfg.Accounts.InviteUsable(ctx, r.Invite)
	if err == nil && !holds {
		err = r.inviteFault()
	}
	return true, err
}

// inviteFault is the fault for a visitor without a usable invite; it does not say why the code is
// not usable. Faults: Invalid where an invite is required, else Forbidden.
func (r Registration) inviteFault() error {
	if r.Settings.RequireInviteCode {
		return fault.InvalidField("inviteCode", "A valid invite code is needed to register here.")
	}
	return fault.New(fault.Forbidden, "Registration is closed here.")
}
