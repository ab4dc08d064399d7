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
	"larder/internal/site"
	"larder/internal/vpath"
)

// VerificationLifetime is how long a verification link works. It can be followed any number of
// times.
const VerificationLifetime = 24 * time.Hour

const (
	verificationRunes  = 43 // of base 62: 256 bits
	maxVerifications   = 3  // mails to an account within verificationWindow
	verificationWindow = 15 * time.Minute
)

// VerifyMailJob is the type of the job that mails a verification link. Its payload is the user's
// id. MailVerification runs it.
const VerifyMailJob = "verify-mail"

// ResendMailJob is the type of the job that mails another verification link. Its payload is the
// folded address that the caller typed, whether or not an account has it. MailVerificationAgain
// runs it.
const ResendMailJob = "resend-mail"

// MailJobTypes returns the types of all jobs that send mails. A restored database drops such jobs,
// so that no mail is sent twice.
func MailJobTypes() []string { return []string{VerifyMailJob, ResendMailJob, ResetMailJob} }

// QueueVerification queues a verification link for the user. The job starts once tx is committed.
func (s *Service) QueueVerification(tx *db.Tx, userID string) error {
	return s.queueVerification(tx, VerifyMailJob, userID)
}

// ResendVerification queues the mail of another verification link to an address, if an active
// account has the address and has not verified it. A job checks that later, so that the caller does
// not learn it, not even by the response time. A site that cannot send mails queues nothing. Fault:
// Invalid for a malformed address.
func (s *Service) ResendVerification(ctx context.Context, settings site.Settings, email string) error {
	if err := CheckEmail(email); err != nil || !settings.SendsMail() {
		return err
	}
	return s.queueMailToAddress(ctx, ResendMailJob, email)
}

// queueVerification queues a job that mails a verification link, and wakes the job runner after the
// commit.
func (s *Service) queueVerification(tx *db.Tx, jobType, payload string) error {
	tx.AfterCommit(s.wake)
	return job.Insert(tx, job.Spec{ID: s.ids.UUID(), Type: jobType, Payload: payload, CreatedAt: s.now().UnixMilli()})
}

// MailVerification runs the job that QueueVerification queued: it mails the user a link that
// verifies the user's address.
func (s *Service) MailVerification(ctx context.Context, run *job.Run) error {
	return s.mailVerification(ctx, run.Payload)
}

// MailVerificationAgain runs the job that ResendVerification queued: it mails another link to the
// account with that address, unless an earlier job for the address waits.
func (s *Service) MailVerificationAgain(ctx context.Context, run *job.Run) error {
	if waits, err := job.HasEarlier(s.db.Read(ctx), run); err != nil || waits {
		return err
	}
	u, _, err := readUser(s.db.Read(ctx), byEmail, vpath.Fold(run.Payload))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.mailVerification(ctx, u.ID)
}

// mailVerification creates a token and mails it to the user. It mails nothing to a user who is
// deleted, not active or already verified, and at most three mails within 15 minutes.
func (s *Service) mailVerification(ctx context.Context, userID string) error {
	token := s.ids.Base62(verificationRunes)
	u, due, err := s.storeVerificationToken(ctx, userID, tokenHash(token))
	if err != nil || !due {
		return err
	}
	crash.Point("verification.noted")
	err = s.letters.Verification(ctx, letter.Recipient{Email: u.Email, Name: u.Username, Locale: u.Locale}, token)
	if err == nil {
		crash.Point("verification.sent")
		return nil
	}
	// The link stays valid, since the mail may have arrived. It must not count, so that the next
	// attempt does not find the limit reached.
	uncounted := s.db.Write(context.WithoutCancel(ctx),
		func(tx *db.Tx) error { return uncountVerification(tx, tokenHash(token)) })
	return errors.Join(letter.JobError(err), uncounted)
}

// storeVerificationToken stores the hash of the token of a mail that is about to be sent, and
// returns the user to mail it to. due is false when no mail is to be sent: the user is gone, not
// active or verified, or has reached the limit.
func (s *Service) storeVerificationToken(ctx context.Context, userID, hash string) (to User, due bool, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		due = false
		if to, err = lockUser(tx, userID); err != nil {
			return err
		}
		if to.EmailVerified || to.Status != Active {
			return nil
		}
		now := s.now()
		sent, err := countTokens(tx, userID, verifyPurpose, now.Add(-verificationWindow).UnixMilli(), now.UnixMilli())
		if err != nil || sent >= maxVerifications {
			return err
		}
		due = true
		return insertToken(tx, verifyPurpose, mailedToken{
			hash: hash, userID: userID, emailFold: vpath.Fold(to.Email), expiresAt: now.Add(VerificationLifetime).
				UnixMilli(), createdAt: now.UnixMilli(),
		})
	})
	if fault.Is(err, fault.NotFound) {
		return User{}, false, nil
	}
	return to, due, err
}

// VerifyEmail verifies the address that a link was mailed to, and returns its user. Following the
// link again changes nothing. A link is valid for the address that it was mailed to, and not for an
// account that has changed its address since. Fault: Invalid.
func (s *Service) VerifyEmail(ctx context.Context, token string) (User, error) {
	u, err := s.CheckVerification(ctx, token)
	if err != nil || u.EmailVerified {
		return u, err
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		now := s.now()
		confirmed, err := confirmEmail(tx, u.ID, tokenHash(token), now.UnixMilli(), latestVerificationExpiry(now))
		if err != nil {
			return fmt.Errorf("verify an address: %w", err)
		}
		if !confirmed { // verified, disabled or changed meanwhile
			u, err = s.verificationUser(tx, token)
			return err
		}
		u.EmailVerified, u.UpdatedAt = true, now.UnixMilli()
		return tx.BumpConfig()
	})
	return u, err
}

// CheckVerification returns the user whose address the token of a link verifies, and changes
// nothing. Fault: Invalid for a token that is wrong, expired or for a former address.
func (s *Service) CheckVerification(ctx context.Context, token string) (User, error) {
	return s.verificationUser(s.db.Read(ctx), token)
}

// verificationUser returns the user whose address the token of a link verifies. Fault: Invalid for
// a token that is wrong, expired or for a former address.
func (s *Service) verificationUser(q db.Querier, token string) (User, error) {
	bad := fault.New(fault.Invalid, "This link is not valid or has expired. Ask for another one.")
	if len(token) != verificationRunes {
		return User{}, bad
	}
	now := s.now()
	userID, err := readVerification(q, tokenHash(token), now.UnixMilli(), latestVerificationExpiry(now))
	if errors.Is(err, db.ErrNoRows) {
		return User{}, bad
	}
	if err != nil {
		return User{}, fmt.Errorf("look up a verification link: %w", err)
	}
	return s.ByID(q, userID)
}

// latestVerificationExpiry returns the latest expiry (ms) that a link made by now can have. A link
// with a later one was made by a clock that has been put back since.
func latestVerificationExpiry(now time.Time) int64 {
	return now.Add(VerificationLifetime + clockSlack).UnixMilli()
}
