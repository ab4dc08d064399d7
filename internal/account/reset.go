package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/letter"
	"larder/internal/secret"
	"larder/internal/vpath"
)

// ResetMailJob is the type of the job that mails a link to set a new password; its payload is the
// address that somebody typed, folded, whether or not an account has it. MailReset does it.
const ResetMailJob = "reset-mail"

const (
	// ResetLifetime is how long such a link holds.
	ResetLifetime = 15 * time.Minute
	// Of what is mailed at somebody's wish, maxMailed go out in mailedWindow: links to an account,
	// codes to a user and to an address.
	maxMailed    = 3
	mailedWindow = 15 * time.Minute
	// maxOpenAddressMails bounds the mails of a type that wait, to addresses that somebody typed.
	// That many wait only where mail stands still.
	maxOpenAddressMails = 1000
)

// QueueReset has a reset link mailed to an address, if it is an account's. Whether it is, nobody
// learns: what is done here is the same, and takes the same time, for every address (abuse case
// C48). Fault: Invalid for what is no address at all.
func (s *Service) QueueReset(ctx context.Context, email string) error {
	if err := CheckEmail(email); err != nil {
		return err
	}
	return s.queueMailToAddress(ctx, ResetMailJob, email)
}

// queueMailToAddress queues a mail to an address that somebody typed. Whether one to it
// waits already is found out when its turn comes: here it would show in the time, and what
// waits longer is somebody's.
func (s *Service) queueMailToAddress(ctx context.Context, jobType, email string) error {
	full := false
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockMailed(); err != nil { // whatever the address, so that no more wait than may
			return err
		}
		open, err := job.CountOpenOfType(tx, jobType, maxOpenAddressMails)
		if full = open >= maxOpenAddressMails; full || err != nil {
			return err
		}
		tx.AfterCommit(s.wake)
		return job.Insert(tx, job.Spec{ID: s.ids.UUID(), Type: jobType, Payload: vpath.Fold(email),
			CreatedAt: s.now().UnixMilli()})
	})
	if err != nil {
		return fmt.Errorf("queue a %s: %w", jobType, err)
	}
	if full {
		s.log.WarnContext(ctx, "too many mails wait; another is not queued", "type", jobType, "waiting",
			maxOpenAddressMails)
	}
	return nil
}

// MailReset mails the account of that address, if there is one that is active, a link by which a
// new password is set. The third within 15 minutes is the last one, and nobody is told. The
// token is made here, so that no job holds one; one that could not be mailed is forgotten, and
// the next attempt makes another.
func (s *Service) MailReset(ctx context.Context, run *job.Run) error {
	if on, err := s.letters.Enabled(ctx); err != nil || !on {
		return err
	}
	// else one address could take the places of all while mail stands still
	if waits, err := job.HasEarlier(s.db.Read(ctx), run); err != nil || waits {
		return err
	}
	token := s.ids.Base62(tokenRunes)
	u, made, err := s.storeResetToken(ctx, run.Payload, token)
	if err != nil || !made {
		return err
	}
	crash.Point("reset.noted")
	sent := s.letters.Reset(ctx, recipient(u, u.Email), token)
	if sent == nil {
		crash.Point("reset.sent")
		return nil
	}
	err = s.db.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return deleteToken(tx, tokenHash(token)) })
	return errors.Join(letter.JobError(sent), err)
}

// storeResetToken stores a reset token for the account of an address and voids the ones before,
// unless there is none or it has got enough of them.
func (s *Service) storeResetToken(ctx context.Context, email, token string) (u User, made bool, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		made = false
		found, _, err := readUser(tx, byEmail, vpath.Fold(email))
		if err == nil {
			u, err = lockUser(tx, found.ID)
		}
		switch {
		case fault.Is(err, fault.NotFound):
			return nil
		case err != nil:
			return err
		case u.Status != Active || vpath.Fold(u.Email) != vpath.Fold(email):
			return nil
		}
		now := s.now()
		lately, err := countTokens(tx, u.ID, resetPurpose, now.Add(-mailedWindow).UnixMilli(), now.UnixMilli())
		if err != nil || lately >= maxMailed {
			return err
		}
		if err := voidTokens(tx, u.ID, resetPurpose, now.UnixMilli()); err != nil {
			return err
		}
		made = true
		return insertToken(tx, resetPurpose, mailedToken{
			hash: tokenHash(token), userID: u.ID, emailFold: vpath.Fold(u.Email), expiresAt: now.Add(ResetLifetime).
				UnixMilli(), createdAt: now.UnixMilli(),
		})
	})
	if err != nil {
		return User{}, false, fmt.Errorf("make a reset token: %w", err)
	}
	return u, made, nil
}

// ResetPassword sets a new password by a token that MailReset has mailed, and ends all sessions of
// the account. Whoever has the token has read a mail to the account's address, which counts as
// verified from then on. A token works once, also when many try at once (abuse case C49), and
// neither for another address than it was mailed to nor for an account that is not active. A
// password that can't be one leaves the token alone, and without a token that holds nothing is
// hashed. claim is called as a part of it where the address was not verified before, and may be
// nil. Faults: Invalid, RateLimited (see HashPassword).
func (s *Service) ResetPassword(ctx context.Context, source Source, token string, password secret.Text,
	claim func(tx *db.Tx, userID string) error) error {
	if err := CheckPassword(password); err != nil {
		return err
	}
	bad := fault.New(fault.Invalid, "This link is not valid, or not any more. Ask for a new one.")
	found, err := findToken(s.db.Read(ctx), resetPurpose, tokenHash(token), s.now().UnixMilli(), ResetLifetime)
	if errors.Is(err, db.ErrNoRows) {
		return bad
	}
	if err != nil {
		return err
	}
	passwordHash, err := s.HashPassword(ctx, source, password)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		u, err := lockUser(tx, found.userID) // before the token: whoever mails another takes them in this order too
		switch {
		case fault.Is(err, fault.NotFound):
			return bad
		case err != nil:
			return err
		case u.Status != Active || vpath.Fold(u.Email) != found.emailFold:
			return bad
		}
		spent, err := spendToken(tx, resetPurpose, found.hash, s.now().UnixMilli(), ResetLifetime)
		if err != nil {
			return err
		}
		if !spent {
			return bad
		}
		if !u.EmailVerified && claim != nil {
			if err := claim(tx, u.ID); err != nil {
				return err
			}
		}
		if err := updateVerified(tx, u.ID, s.now().UnixMilli()); err != nil {
			return err
		}
		return s.SetPassword(tx, u.ID, passwordHash)
	})
}

// VoidResetsAndCodes ends what a user was mailed to set a password or to change the address by:
// reset links and codes. A new password, another address and the end of an account call for it.
func (s *Service) VoidResetsAndCodes(tx *db.Tx, userID string) error {
	now := s.now().UnixMilli()
	return errors.Join(voidTokens(tx, userID, resetPurpose, now), voidCodes(tx, userID, now))
}

// recipient addresses a letter to u. It calls them by the username: a display name is free text,
// and would be mailed to whatever address somebody types.
func recipient(u User, email string) letter.Recipient {
	return letter.Recipient{Email: email, Name: u.Username, Locale: u.Locale}
}
