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

// Registration is an account that somebody makes for themselves. Role, quota and whether the
// address is verified are not theirs to say: what of it stands in the account is not looked at.
type Registration struct {
	Account  account.NewUser
	Source   account.Source // who registers, for the turns at hashing
	Invite   string         // code, "" for none
	Settings site.Settings  // as they are now
	// asked, once nothing else stands in the way, before anything costly is done
	BotCheck func(ctx context.Context) error
}

// Register makes an account with home and quota for whoever may have one, counts the use of their
// invite and has a verification link mailed where the site asks for one: all in one transaction, of
// which nothing is left when anything of it fails.
//
// While registration is closed a valid invite opens it; where invites are required, it takes one in
// any case. Otherwise a code is not looked at, and keeps its uses. Faults: Invalid, Forbidden,
// MailFailed, AlreadyExists, RateLimited, and those of Human.
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
			"Registering takes a verified e-mail address, but this site can't send mails at present.")
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
			// an account that ends or is demoted, whose invite it may be, has the tree alone
			if err := tx.LockTree(false); err != nil {
				return err
			}
			used, err := s.cfg.Accounts.UseInvite(tx, r.Invite)
			if err != nil {
				return err
			}
			if !used { // by somebody who was faster, or ended meanwhile
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

// checkAdmission decides whether somebody may register, and whether by an invite, whose use is then
// to be counted. Faults: Forbidden, Invalid.
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

// inviteFault refuses somebody without an invite that counts; why theirs doesn't is not told.
// Faults: Invalid where one is required, else Forbidden.
func (r Registration) inviteFault() error {
	if r.Settings.RequireInviteCode {
		return fault.New(fault.Invalid, "A valid invite code is needed to register here.")
	}
	return fault.New(fault.Forbidden, "Registration is closed here.")
}
