package account

import (
	"fmt"

	"larder/internal/db"
)

// uncountVerification excludes a verification link whose mail failed from the count of mailed
// links, but leaves it valid.
func uncountVerification(tx *db.Tx, hash string) error {
	if _, err := tx.Exec("UPDATE mailed_tokens SET created_at = 0 WHERE hash = $1 AND purpose = 'verify'",
		hash); err != nil {
		return fmt.Errorf("take back a verification mail: %w", err)
	}
	return nil
}

// readVerification returns the active user whose present address the link with a hash verifies at
// now (ms). latest is latestVerificationExpiry. Error: db.ErrNoRows for a link that does not work.
func readVerification(q db.Querier, hash string, now, latest int64) (userID string, err error) {
	err = q.QueryRow(`
		SELECT u.id
		FROM mailed_tokens t
		JOIN users u ON u.id = t.user_id AND u.email_fold = t.email_fold
		WHERE t.hash = $1 AND t.purpose = 'verify' AND t.expires_at > $2 AND t.expires_at <= $3 AND u.status = 'active'`, hash, now, latest,
	).Scan(&userID)
	return userID, err
}

// confirmEmail marks the address that the link with a hash was mailed to as verified, at now (ms).
// latest is latestVerificationExpiry. It reports false when the address is not the user's, or was
// verified before.
func confirmEmail(tx *db.Tx, userID, hash string, now, latest int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE users
		SET email_verified = TRUE, updated_at = $3
		WHERE id = $1 AND NOT email_verified AND status = 'active' AND email_fold = (
			SELECT email_fold
			FROM mailed_tokens
			WHERE hash = $2 AND user_id = $1 AND purpose = 'verify' AND expires_at > $3 AND expires_at <= $4
		)`, userID, hash, now, latest)
	return n == 1, err
}
