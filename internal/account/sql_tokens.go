package account

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
)

// The purposes of mailed tokens.
const (
	verifyPurpose = "verify"
	resetPurpose  = "reset"
)

// tokenRunes characters of base 62 are 262 bits.
const tokenRunes = 44

// mailedToken is the row of a token that was mailed. Only the mail contains the token itself.
type mailedToken struct {
	hash                 string
	userID, emailFold    string // the user, and the address that it was mailed to
	expiresAt, createdAt int64  // ms
}

// tokenHash returns the SHA-256 of a mailed token in hexadecimal, which is all of it that the
// database holds.
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// insertToken stores a token for a purpose, verifyPurpose or resetPurpose.
func insertToken(tx *db.Tx, purpose string, t mailedToken) error {
	_, err := tx.Exec(`
		INSERT INTO mailed_tokens (hash, user_id, purpose, email_fold, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, t.hash, t.userID, purpose, t.emailFold, t.expiresAt, t.createdAt)
	if err != nil {
		return fmt.Errorf("insert a mailed token: %w", err)
	}
	return nil
}

// usableTokenCondition is the condition for a token that can be used. $3 is the present time, and
// $4 the latest plausible expiry (see latestExpiry).
const usableTokenCondition = "hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3 AND expires_at <= $4"

// findToken returns the token with a hash that can be used for a purpose at now (ms); lifetime is
// that of such tokens. Error: db.ErrNoRows for a token that is unknown, used or expired.
func findToken(q db.Querier, purpose, hash string, now int64, lifetime time.Duration) (mailedToken, error) {
	t := mailedToken{hash: hash}
	err := q.QueryRow(`
		SELECT user_id, email_fold, expires_at, created_at
		FROM mailed_tokens
		WHERE `+usableTokenCondition, hash, purpose, now, latestExpiry(now, lifetime),
	).Scan(&t.userID, &t.emailFold, &t.expiresAt, &t.createdAt)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		err = fmt.Errorf("find a mailed token: %w", err)
	}
	return t, err
}

// spendToken uses a token up at now (ms) and reports whether it could be used. Of parallel calls
// exactly one succeeds.
func spendToken(tx *db.Tx, purpose, hash string, now int64, lifetime time.Duration) (bool, error) {
	n, err := tx.Exec("UPDATE mailed_tokens SET used_at = $3 WHERE "+usableTokenCondition, hash, purpose, now,
		latestExpiry(now, lifetime))
	if err != nil {
		return false, fmt.Errorf("spend a mailed token: %w", err)
	}
	return n == 1, nil
}

// voidTokens makes the tokens of a user for a purpose unusable, as if used at now (ms). The rows
// stay, because they count as mails that were sent.
func voidTokens(tx *db.Tx, userID, purpose string, now int64) error {
	_, err := tx.Exec("UPDATE mailed_tokens SET used_at = $3 WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL",
		userID, purpose, now)
	if err != nil {
		return fmt.Errorf("void mailed tokens: %w", err)
	}
	return nil
}

// countTokens counts the tokens of a user for a purpose that were mailed after a time (ms). It
// ignores rows that are far in the future of now (ms), which a clock that was put back has made.
func countTokens(q db.Querier, userID, purpose string, after, now int64) (n int, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*)
		FROM mailed_tokens
		WHERE user_id = $1 AND purpose = $2 AND created_at > $3 AND created_at <= $4`, userID, purpose, after,
		latestExpiry(now, 0)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count mailed tokens: %w", err)
	}
	return n, nil
}

// deleteToken deletes a token whose mail could not be sent.
func deleteToken(tx *db.Tx, hash string) error {
	if _, err := tx.Exec("DELETE FROM mailed_tokens WHERE hash = $1", hash); err != nil {
		return fmt.Errorf("delete a mailed token: %w", err)
	}
	return nil
}

// deleteTokensOf deletes all tokens of a user for a purpose.
func deleteTokensOf(tx *db.Tx, userID, purpose string) error {
	if _, err := tx.Exec("DELETE FROM mailed_tokens WHERE user_id = $1 AND purpose = $2", userID, purpose); err != nil {
		return fmt.Errorf("delete mailed tokens: %w", err)
	}
	return nil
}

// deleteExpiredTokens deletes the tokens that have expired by now (ms), used ones too.
func deleteExpiredTokens(tx *db.Tx, now int64) error {
	if _, err := tx.Exec("DELETE FROM mailed_tokens WHERE expires_at <= $1", now); err != nil {
		return fmt.Errorf("delete expired mailed tokens: %w", err)
	}
	return nil
}

// latestExpiry returns the latest expiry (ms) that a value with that lifetime can have if it was
// made by now (ms), on a replica whose clock differs by up to clockSlack. A value with a later one
// was made by a clock that has been put back since.
func latestExpiry(now int64, lifetime time.Duration) int64 {
	return now + (lifetime + clockSlack).Milliseconds()
}
