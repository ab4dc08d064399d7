package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

const (
	// CodeLifetime is how long a code is valid that was mailed to a new address.
	CodeLifetime = 5 * time.Minute
	codeDigits   = 6
	// A user may be wrong maxWrongCodes times in wrongCodeWindow over all codes, and five times for
	// each code (see tryCode). Naming an address of another account counts as well: otherwise
	// anybody could find out which addresses have accounts.
	maxWrongCodes   = 20
	wrongCodeWindow = time.Hour
)

var codePattern = regexp.MustCompile(`^[0-9]{6}$`)

// SendCode mails a code to the address that a user wants to have, and voids the code before it. It
// returns once the mail server has taken the mail. The address may be the present one, which the
// code then verifies.
//
// At most three codes are mailed in 15 minutes for one user, and at most three to one address,
// whoever asks. A mail that failed after it was handed in counts, since it may have arrived; its
// code is void. An address of another account counts as a wrong code. The caller does not learn
// that the address is taken while mail is off, or when the user has reached a limit. Nothing counts
// while mail is off.
//
// Faults: Invalid for a malformed address and for the address of another account, RateLimited,
// MailFailed.
func (s *Service) SendCode(ctx context.Context, userID, email string) error {
	if err := CheckEmail(email); err != nil {
		return err
	}
	on, err := s.letters.Enabled(ctx)
	if err != nil {
		return err
	}
	if !on {
		return fault.New(fault.MailFailed, "Email is not set up here.")
	}
	code := s.ids.Digits(codeDigits)
	c := emailCode{id: s.ids.UUID(), userID: userID, email: email, emailFold: vpath.Fold(email)}
	c.mac = s.codeMAC(c, code)
	var u User
	var taken bool
	if err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
		u, taken, err = s.storeCode(tx, c)
		return err
	}); err != nil {
		return fmt.Errorf("make a code: %w", err)
	}
	if taken {
		return addressTaken()
	}
	sent := s.letters.Code(ctx, recipient(u, email), code)
	if sent == nil {
		return nil
	}
	err = s.db.Write(context.WithoutCancel(ctx),
		func(tx *db.Tx) error { return voidCode(tx, c.id, s.now().UnixMilli()) })
	return errors.Join(sent, err)
}

// storeCode stores a code in place of the one before, within the limits of mails and of wrong
// codes, and returns its user. taken reports that another account has the address; that is no
// error, because an error would undo the count of it. The limits of the user are checked before the
// address. Faults: RateLimited, SessionRevoked.
func (s *Service) storeCode(tx *db.Tx, c emailCode) (u User, taken bool, err error) {
	if err := tx.LockMailed(); err != nil {
		return User{}, false, err
	}
	if u, err = s.lockActive(tx, c.userID); err != nil {
		return User{}, false, err
	}
	now := s.now()
	if err := checkTryLimit(tx, c.userID, now); err != nil {
		return User{}, false, err
	}
	if err := checkMailLimit(tx, codesOfUser, c.userID, now); err != nil {
		return User{}, false, err
	}
	other, _, err := readUser(tx, byEmail, c.emailFold)
	switch {
	case err == nil && other.ID != c.userID:
		return User{}, true, insertWrongCode(tx, s.ids.UUID(), c.userID, now.UnixMilli())
	case err != nil && !fault.Is(err, fault.NotFound):
		return User{}, false, err
	}
	if err := checkMailLimit(tx, codesOfAddress, c.emailFold, now); err != nil {
		return User{}, false, err
	}
	c.createdAt, c.expiresAt = now.UnixMilli(), now.Add(CodeLifetime).UnixMilli()
	return u, false, errors.Join(voidCodes(tx, c.userID, now.UnixMilli()), insertCode(tx, c))
}

// checkMailLimit refuses another code when maxMailed were mailed within mailedWindow: for a user or
// to an address, which value names. rows is codesOfUser or codesOfAddress. Fault: RateLimited.
func checkMailLimit(tx *db.Tx, rows, value string, now time.Time) error {
	last, err := nthNewest(tx, rows, value, maxMailed, now.Add(-mailedWindow).UnixMilli(), now.UnixMilli())
	if err == nil && last > 0 {
		err = rateLimited("Too many codes were sent. Please wait before you request another one.", last,
			mailedWindow, now)
	}
	return err
}

// checkTryLimit refuses a user who named maxWrongCodes wrong codes or taken addresses within
// wrongCodeWindow. Fault: RateLimited.
func checkTryLimit(tx *db.Tx, userID string, now time.Time) error {
	last, err := nthNewest(tx, wrongCodesOfUser, userID, maxWrongCodes, now.Add(-wrongCodeWindow).UnixMilli(),
		now.UnixMilli())
	if err == nil && last > 0 {
		err = rateLimited("Too many wrong codes or addresses. Please wait before you try again.", last, wrongCodeWindow,
			now)
	}
	return err
}

// ConfirmCode gives a user the address that a code was mailed to, and marks it as verified. A code
// can be tried five times, and a user may be wrong twenty times in an hour. A try without a valid
// code counts as wrong. A text that is not six digits is refused and does not count. A try is
// counted before the code is compared, so that parallel requests get no more tries (abuse case
// C50). Faults: Invalid for a wrong code, also when another account has taken the address
// meanwhile; RateLimited; SessionRevoked.
func (s *Service) ConfirmCode(ctx context.Context, userID, email, code string) error {
	if err := CheckEmail(email); err != nil {
		return err
	}
	if !codePattern.MatchString(code) {
		return fault.New(fault.Invalid, "A code has 6 digits.")
	}
	var right bool
	err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
		right, err = s.tryCode(tx, userID, vpath.Fold(email), code)
		return err
	})
	var unique *db.ErrUnique
	switch {
	case errors.As(err, &unique):
		return addressTaken()
	case err != nil:
		return err
	case !right:
		return fault.New(fault.Invalid, "This code is wrong or no longer valid.")
	}
	return nil
}

// tryCode makes one try of a user with the code for an address, which is folded for comparison; a
// right code gives the user the address. A wrong code is no error, because an error would undo the
// count. Faults: Invalid for an address that is taken, RateLimited, SessionRevoked.
func (s *Service) tryCode(tx *db.Tx, userID, emailFold, code string) (right bool, err error) {
	if _, err := s.lockActive(tx, userID); err != nil { // one try at a time: each must see the count of the one before
		return false, err
	}
	now := s.now()
	if err := checkTryLimit(tx, userID, now); err != nil {
		return false, err
	}
	c, err := countAttempt(tx, userID, emailFold, now.UnixMilli())
	switch {
	case errors.Is(err, db.ErrNoRows):
	case err != nil:
		return false, err
	default:
		right = hmac.Equal([]byte(c.mac), []byte(s.codeMAC(c, code)))
	}
	if !right {
		return false, insertWrongCode(tx, s.ids.UUID(), userID, now.UnixMilli())
	}
	return true, s.setEmail(tx, userID, c.email, now.UnixMilli())
}

// setEmail gives a user an address that the user has proven to own, at now (ms). It voids the links
// and codes that were mailed to the address before. Fault: Invalid when another account has it.
func (s *Service) setEmail(tx *db.Tx, userID, email string, now int64) error {
	if err := updateEmail(tx, userID, email, now); err != nil {
		return err
	}
	return errors.Join(s.VoidResetsAndCodes(tx, userID), deleteTokensOf(tx, userID, verifyPurpose), tx.BumpConfig())
}

// lockActive locks the row of an active user until tx ends, and returns the user. Fault:
// SessionRevoked when the account is deleted or not active, since the caller was signed in a moment
// ago.
func (s *Service) lockActive(tx *db.Tx, userID string) (User, error) {
	u, err := lockUser(tx, userID)
	if fault.Is(err, fault.NotFound) || err == nil && u.Status != Active {
		return User{}, sessionEnded()
	}
	return u, err
}

// codeMAC returns the form in which a code is stored: a MAC that binds it to its row, which names
// the user and the address. It uses a key, since a plain digest of six digits could be reversed by
// a reader of the table.
func (s *Service) codeMAC(c emailCode, code string) string {
	mac := hmac.New(sha256.New, s.codeKey)
	fmt.Fprintf(mac, "%s\x00%s\x00%s\x00%s", c.id, c.userID, c.emailFold, code)
	return hex.EncodeToString(mac.Sum(nil))
}

// rateLimited returns the fault of a limit that counts rows of a time span (within), with the time
// until its oldest counted row, created at `at` (ms), counts no more.
func rateLimited(message string, at int64, within time.Duration, now time.Time) error {
	return &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: time.UnixMilli(at).Add(within).Sub(now)}
}

// addressTaken returns the fault of an address that belongs to another account.
func addressTaken() error {
	return fault.New(fault.Invalid, "This email address belongs to another account.")
}
