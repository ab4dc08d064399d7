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

// VerificationLifetime is how long a link that verifies an address works, as often
// as it is followed.
const VerificationLifetime = 24 * time.Hour

const (
	verificationRunes  = 43 // of base 62: 256 bits
	maxVerifications   = 3  // mails to an account within verificationWindow
	verificationWindow = 15 * time.Minute
)

// VerifyMailJob is the type of the job that mails a verification link; its payload is the user's
// id. MailVerification does it.
const VerifyMailJob = "verify-mail"

// ResendMailJob is the type of the job that mails another one; its payload is the address that
// somebody typed, folded, whether or not an account has it. MailVerificationAgain does it.
const ResendMailJob = "resend-mail"

// MailJobTypes are the types of all jobs that send mails.
func MailJobTypes() []string { return []string{VerifyMailJob, ResendMailJob, ResetMailJob} }

// QueueVerification has the user mailed a link once tx is committed.
func (s *Service) QueueVerification(tx *db.Tx, userID string) error {
	return s.queueVerification(tx, VerifyMailJob, userID)
}

// ResendVerification has another link mailed to an address, if there is an active account that
// waits for one. That is found out later, by a job: whoever asks learns nothing, also not by the
// time it takes. A site that can't send mails queues none. Fault: Invalid for what is no address.
func (s *Service) ResendVerification(ctx context.Context, settings site.Settings, email string) error {
	if err := CheckEmail(email); err != nil || !settings.SendsMail() {
		return err
	}
	return s.queueMailToAddress(ctx, ResendMailJob, email)
}

func (s *Service) queueVerification(tx *db.Tx, jobType, payload string) error {
	tx.AfterCommit(s.wake)
	return job.Insert(tx, job.Spec{ID: s.ids.UUID(), Type: jobType, Payload: payload, CreatedAt: s.now().UnixMilli()})
}

// MailVerification mails the user a link that verifies their address.
func (s *Service) MailVerification(ctx context.Context, run *job.Run) error {
	return s.mailVerification(ctx, run.Payload)
}

// MailVerificationAgain mails the account of that address another one.
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

// mailVerification makes a token and mails it. Nobody gets a mail who is gone, not active or
// verified already, nor a fourth one within a quarter of an hour.
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
	// The link stays good, since the mail may have got through all the same, but the next try must
	// not find the limit used up.
	uncounted := s.db.Write(context.WithoutCancel(ctx),
		func(tx *db.Tx) error { return uncountVerification(tx, tokenHash(token)) })
	return errors.Join(letter.JobError(err), uncounted)
}

// storeVerificationToken stores the token of a mail that is about to be sent, and returns to whom;
// due is false where none is to be sent.
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

// VerifyEmail does what a verification link is for, and returns whose address it is. Following it
// again changes nothing. A link counts for the address that it was mailed to: for an account that
// has another one by now it does nothing. Fault: Invalid.
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

// CheckVerification returns whose address a link verifies, and changes nothing. Fault: Invalid.
func (s *Service) CheckVerification(ctx context.Context, token string) (User, error) {
	return s.verificationUser(s.db.Read(ctx), token)
}

func (s *Service) verificationUser(q db.Querier, token string) (User, error) {
	bad := fault.New(fault.Invalid, "This link is not valid, or not any more. Have another one mailed.")
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

// latestVerificationExpiry is the latest time (ms) until which a link can hold that was not made by
// a clock that has gone back since.
func latestVerificationExpiry(now time.Time) int64 {
	return now.Add(VerificationLifetime + clockSlack).UnixMilli()
}
