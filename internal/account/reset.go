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

// ResetMailJob is the type of the job that mails a link to set a new password. Its payload is the
// folded address that the caller typed, whether or not an account has it. MailReset runs it.
const ResetMailJob = "reset-mail"

const (
	// ResetLifetime is how long a reset link is valid.
	ResetLifetime = 15 * time.Minute
	// At most maxMailed mails go out in mailedWindow: reset links to an account, and codes for a
	// user and to an address.
	maxMailed    = 3
	mailedWindow = 15 * time.Minute
	// maxOpenAddressMails bounds the waiting mails of a type to addresses that callers typed. It is
	// reached only when mail cannot be sent.
	maxOpenAddressMails = 1000
)

// QueueReset queues the mail of a link to set a new password, if an account has the address. The
// caller does not learn whether one has: the work is the same and takes the same time for every
// address (abuse case C48). Fault: Invalid for a malformed address.
func (s *Service) QueueReset(ctx context.Context, email string) error {
	if err := CheckEmail(email); err != nil {
		return err
	}
	return s.queueMailToAddress(ctx, ResetMailJob, email)
}

// queueMailToAddress queues a job of a type that mails to an address that the caller typed, and
// drops it silently when maxOpenAddressMails wait. The job itself checks whether another mail to
// the address already waits. A check here would show in the response time whether somebody has
// asked for that address.
func (s *Service) queueMailToAddress(ctx context.Context, jobType, email string) error {
	full := false
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockMailed(); err != nil { // for all addresses together, so that the limit is exact
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

// MailReset runs the job that QueueReset queued: it mails a reset link to the account with that
// address, if the account is active. At most three links are mailed within 15 minutes; further ones
// are dropped silently. The token is created here, so that no job row contains it. A token whose
// mail failed is deleted, and the next attempt creates another.
func (s *Service) MailReset(ctx context.Context, run *job.Run) error {
	if on, err := s.letters.Enabled(ctx); err != nil || !on {
		return err
	}
	// otherwise one address could fill the queue while mail cannot be sent
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

// storeResetToken stores the hash of a reset token for the account with an address and voids the
// tokens before it. It returns the account. made is false when there is no such active account, or
// when the account has reached the limit of mails.
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

// ResetPassword sets a new password with a token that MailReset has mailed, and ends all sessions
// of the account. The token proves that its holder reads the mail of the account, so the address
// counts as verified from then on. A token works once, also under parallel use (abuse case C49). It
// works only for the address that it was mailed to and only for an active account. An invalid
// password does not use the token up, and an invalid token causes no hashing. source is the caller
// on whose behalf the password is hashed. When the address was not verified before, somebody else
// may have made the account: then claim is called in the same transaction to end what they left in
// it; nil for nothing. Faults: Invalid, RateLimited (see HashPassword).
func (s *Service) ResetPassword(ctx context.Context, source Source, token string, password secret.Text,
	claim func(tx *db.Tx, userID string) error) error {
	if err := CheckPassword(password); err != nil {
		return err
	}
	bad := fault.InvalidField("token", "This link is not valid or has expired. Ask for a new one.")
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
		u, err := lockUser(tx, found.userID) // before the token, in the same order as storeResetToken
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

// VoidResetsAndCodes voids the reset links and codes that were mailed to a user, so that they don't
// work any more. A new password, a new address and the end of an account require it.
func (s *Service) VoidResetsAndCodes(tx *db.Tx, userID string) error {
	now := s.now().UnixMilli()
	return errors.Join(voidTokens(tx, userID, resetPurpose, now), voidCodes(tx, userID, now))
}

// recipient returns u as the recipient of a letter to an address. The letter addresses the user by
// username: a display name is free text, and would be mailed to any address that somebody types.
func recipient(u User, email string) letter.Recipient {
	return letter.Recipient{Email: email, Name: u.Username, Locale: u.Locale}
}
