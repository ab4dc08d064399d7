package account

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// emailCode is the row of a code that was mailed to a new address. Only the mail contains the code
// itself.
type emailCode struct {
	id, userID           string
	email, emailFold     string
	mac                  string
	expiresAt, createdAt int64 // ms
}

// insertCode stores a code that has not been tried yet.
func insertCode(tx *db.Tx, c emailCode) error {
	_, err := tx.Exec(`
		INSERT INTO email_codes (id, user_id, email, email_fold, code_mac, attempts, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7)`, c.id, c.userID, c.email, c.emailFold, c.mac, c.expiresAt, c.createdAt)
	if err != nil {
		return fmt.Errorf("insert a code: %w", err)
	}
	return nil
}

// The rows that nthNewest can count.
const (
	codesOfUser      = "email_codes WHERE user_id = $1"
	codesOfAddress   = "email_codes WHERE email_fold = $1"
	wrongCodesOfUser = "wrong_codes WHERE user_id = $1"
)

// nthNewest returns the creation time (ms) of the n-th newest row that was created after a time
// (ms), 0 when there are fewer rows: then a limit of n rows is not reached. rows is one of the
// constants above, value its user or folded address.
func nthNewest(q db.Querier, rows, value string, n int, after, now int64) (at int64, err error) {
	err = q.QueryRow("SELECT created_at FROM "+rows+
		" AND created_at > $2 AND created_at <= $3 ORDER BY created_at DESC LIMIT 1 OFFSET $4",
		value, after, latestExpiry(now, 0), n-1).Scan(&at)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count codes: %w", err)
	}
	return at, nil
}

// countAttempt counts a try at now (ms) at the code that was mailed for a user and a folded
// address, and returns the code for comparison. A code has at most five tries, also under parallel
// use. Error: db.ErrNoRows when there is no code left to try.
func countAttempt(tx *db.Tx, userID, emailFold string, now int64) (c emailCode, err error) {
	err = tx.QueryRow(`
		UPDATE email_codes
		SET attempts = attempts + 1
		WHERE user_id = $1 AND email_fold = $2 AND used_at IS NULL AND attempts < 5 AND expires_at > $3 AND expires_at <= $4
		RETURNING id, user_id, email, email_fold, code_mac`, userID, emailFold, now, latestExpiry(now, CodeLifetime),
	).Scan(&c.id, &c.userID, &c.email, &c.emailFold, &c.mac)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		err = fmt.Errorf("try a code: %w", err)
	}
	return c, err
}

// voidCodes makes the codes that were mailed for a user unusable, as if used at now (ms). The rows
// stay, because they count as mails that were sent.
func voidCodes(tx *db.Tx, userID string, now int64) error {
	if _, err := tx.Exec("UPDATE email_codes SET used_at = $2 WHERE user_id = $1 AND used_at IS NULL", userID,
		now); err != nil {
		return fmt.Errorf("void codes: %w", err)
	}
	return nil
}

// voidCode makes one code, whose mail has failed, unusable at now (ms); it still counts as mailed.
func voidCode(tx *db.Tx, id string, now int64) error {
	if _, err := tx.Exec("UPDATE email_codes SET used_at = $2 WHERE id = $1", id, now); err != nil {
		return fmt.Errorf("void a code: %w", err)
	}
	return nil
}

// insertWrongCode counts a wrong code of a user at now (ms).
func insertWrongCode(tx *db.Tx, id, userID string, now int64) error {
	if _, err := tx.Exec("INSERT INTO wrong_codes (id, user_id, created_at) VALUES ($1, $2, $3)", id, userID,
		now); err != nil {
		return fmt.Errorf("count a wrong code: %w", err)
	}
	return nil
}

// deleteOldCodes deletes the codes that have expired by now and were created by sentBefore (both
// ms), so that no limit counts them any more.
func deleteOldCodes(tx *db.Tx, sentBefore, now int64) error {
	if _, err := tx.Exec("DELETE FROM email_codes WHERE created_at <= $1 AND expires_at <= $2", sentBefore,
		now); err != nil {
		return fmt.Errorf("delete old codes: %w", err)
	}
	return nil
}

// deleteOldWrongCodes deletes the wrong codes that were counted at before (ms) or earlier.
func deleteOldWrongCodes(tx *db.Tx, before int64) error {
	if _, err := tx.Exec("DELETE FROM wrong_codes WHERE created_at <= $1", before); err != nil {
		return fmt.Errorf("delete old wrong codes: %w", err)
	}
	return nil
}
