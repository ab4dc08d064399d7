package account

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// insertUser writes a new row. Fault: AlreadyExists when the name or the address is taken, with the
// field.
func insertUser(tx *db.Tx, u User, passwordHash string) error {
	n, err := tx.Exec(`
		INSERT INTO users (id, username, username_fold, email, email_fold, email_verified, password_hash, role, status, display_name, avatar_url,
			default_path, home_id, locale, theme, accent_color, enable_blur, role_version, session_version, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
		ON CONFLICT DO NOTHING`,
		u.ID, u.Username, vpath.Fold(u.Username), u.Email, vpath.Fold(u.Email), u.EmailVerified, passwordHash,
		string(u.Role), string(u.Status),
		u.DisplayName, u.AvatarURL, u.DefaultPath, orNull(u.HomeID), u.Locale, u.Theme, u.AccentColor, u.EnableBlur,
		u.RoleVersion,
		u.SessionVersion, u.CreatedAt, u.UpdatedAt)
	if err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	if n == 1 {
		return nil
	}
	_, _, err = readUser(tx, byUsername, vpath.Fold(u.Username))
	switch {
	case err == nil:
		return fault.InField(fault.New(fault.AlreadyExists, "This username is taken."), "username")
	case fault.Is(err, fault.NotFound):
		return fault.InField(fault.New(fault.AlreadyExists, "This email address belongs to another account."), "email")
	}
	return err
}

// Conditions that select one user.
const (
	byID       = "id = $1"
	byUsername = "username_fold = $1"
	byEmail    = "email_fold = $1"
)

// readUser returns the user for one of the conditions byID, byUsername and byEmail with its value
// (folded for the last two), and the password hash. Fault: NotFound.
func readUser(q db.Querier, condition, value string) (User, string, error) {
	missing := fault.New(fault.NotFound, "There is no such user.")
	if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
		return User{}, "", missing // PostgreSQL refuses such texts
	}
	u, passwordHash, err := scanUser(q.QueryRow("SELECT "+userColumns+" FROM users WHERE "+condition, value))
	if errors.Is(err, db.ErrNoRows) {
		return User{}, "", missing
	}
	if err != nil {
		return User{}, "", fmt.Errorf("read user: %w", err)
	}
	return u, passwordHash, nil
}

const userColumns = `id, username, email, email_verified, password_hash, role, status, display_name, avatar_url, default_path, home_id, locale,
	theme, accent_color, enable_blur, role_version, session_version, created_at, updated_at`

// scanUser reads one row of a query of userColumns.
func scanUser(row interface{ Scan(dest ...any) error }) (u User, passwordHash string, err error) {
	var role, status string
	var home *string
	err = row.Scan(&u.ID, &u.Username, &u.Email, &u.EmailVerified, &passwordHash, &role, &status, &u.DisplayName,
		&u.AvatarURL, &u.DefaultPath, &home,
		&u.Locale, &u.Theme, &u.AccentColor, &u.EnableBlur, &u.RoleVersion, &u.SessionVersion, &u.CreatedAt,
		&u.UpdatedAt)
	if err != nil {
		return User{}, "", err
	}
	u.Role, u.Status = access.Role(role), Status(status)
	if home != nil {
		u.HomeID = *home
	}
	return u, passwordHash, nil
}

// findUser reads a user by user name or email address, and the password hash. It does not query
// for a text that can be neither. Fault: NotFound.
func findUser(q db.Querier, name string) (User, string, error) {
	switch {
	case usernamePattern.MatchString(name):
		return readUser(q, byUsername, vpath.Fold(name))
	case CheckEmail(name) == nil:
		return readUser(q, byEmail, vpath.Fold(name))
	}
	return User{}, "", fault.New(fault.NotFound, "There is no such user.")
}

// updateHome writes home and default path. Fault: NotFound.
func updateHome(tx *db.Tx, userID, homeID, defaultPath string, now int64) error {
	return checkUpdated(tx.Exec(`
		UPDATE users
		SET home_id = $2, default_path = $3, updated_at = $4
		WHERE id = $1`, userID, orNull(homeID), defaultPath, now))
}

// updatePassword writes the hash and raises the session version, which ends all sessions. Fault:
// NotFound.
func updatePassword(tx *db.Tx, userID, passwordHash string, now int64) error {
	return checkUpdated(tx.Exec(`
		UPDATE users
		SET password_hash = $2, session_version = session_version + 1, updated_at = $3
		WHERE id = $1`, userID, passwordHash, now))
}

// updateStatus writes the status; any but active raises the session version, which ends all
// sessions. Fault: NotFound.
func updateStatus(tx *db.Tx, userID string, status Status, now int64) error {
	return checkUpdated(tx.Exec(`
		UPDATE users
		SET status = $2, session_version = session_version + CASE WHEN $2 = 'active' THEN 0 ELSE 1 END, updated_at = $3
		WHERE id = $1`, userID, string(status), now))
}

// updateRole writes the role, at now (ms); another role raises the role version, which ends all
// sessions. Fault: NotFound.
func updateRole(tx *db.Tx, userID string, role access.Role, now int64) error {
	return checkUpdated(tx.Exec(`
		UPDATE users
		SET role = $2, role_version = role_version + CASE WHEN role = $2 THEN 0 ELSE 1 END, updated_at = $3
		WHERE id = $1`, userID, string(role), now))
}

// endSessions raises the session version of the user of a token at now (ms), which ends all
// sessions of the user, if the token's session still lasts, and reports whether it did.
func endSessions(tx *db.Tx, c claims, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE users
		SET session_version = session_version + 1, updated_at = $4
		WHERE id = $1 AND session_version = $2 AND role_version = $3
			AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = $5 AND ended_at IS NOT NULL)
			AND (unlisted_ended_at IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE id = $5))`,
		c.userID, c.sessionVersion, c.roleVersion, now, c.sessionID)
	if err != nil {
		return false, fmt.Errorf("end sessions: %w", err)
	}
	return n > 0, nil
}

// checkUpdated turns the result of an UPDATE of one user into an error. Fault: NotFound when no row
// was changed.
func checkUpdated(rows int64, err error) error {
	if err != nil {
		return fmt.Errorf("change user: %w", err)
	}
	if rows == 0 {
		return fault.New(fault.NotFound, "There is no such user.")
	}
	return nil
}

// latestCSRFExpiry returns the latest expiry (ms) that a CSRF token made by now (ms) can have. A
// token with a later one was made by a clock that has been put back since, and is not valid.
func latestCSRFExpiry(now int64) int64 { return now + (CSRFLifetime + clockSlack).Milliseconds() }

// readCSRF returns the token of a session that is valid at now (ms), "" for none.
func readCSRF(q db.Querier, sessionID string, now int64) (string, error) {
	var token string
	err := q.QueryRow(`
		SELECT token
		FROM csrf_tokens
		WHERE session_id = $1 AND expires_at > $2 AND expires_at <= $3`, sessionID, now, latestCSRFExpiry(now),
	).Scan(&token)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return token, err
}

// ensureCSRF stores fresh as the token of a session, until expiresAt (ms), unless it has one that
// is valid at now (ms), and returns the token that is valid then.
func ensureCSRF(tx *db.Tx, sessionID, fresh string, now, expiresAt int64) (string, error) {
	var token string
	err := tx.QueryRow(`
		INSERT INTO csrf_tokens (session_id, token, expires_at)
		VALUES ($1, $2, $3)
		ON CONFLICT (session_id) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
			WHERE csrf_tokens.expires_at <= $4 OR csrf_tokens.expires_at > $5
		RETURNING token`, sessionID, fresh, expiresAt, now, latestCSRFExpiry(now),
	).Scan(&token)
	if errors.Is(err, db.ErrNoRows) { // another call was faster
		return readCSRF(tx, sessionID, now)
	}
	return token, err
}

// deleteCSRF deletes the tokens that have expired by now (ms) and returns their number.
func deleteCSRF(tx *db.Tx, now int64) (int64, error) {
	return tx.Exec("DELETE FROM csrf_tokens WHERE expires_at <= $1", now)
}

// orNull returns a text for a nullable column: NULL for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// AfterRestore ends every session in a database that comes from a backup: a session that was ended
// after the backup would otherwise be valid again, and mailed tokens may have been used. The
// session versions become at least the time of the restore (ms), since the original database may
// have issued sessions under any of the following numbers.
func AfterRestore(tx *db.Tx, now int64) error {
	for _, table := range []string{"sessions", "csrf_tokens", "mailed_tokens", "email_codes"} {
		if _, err := tx.Exec("DELETE FROM " + table); err != nil {
			return fmt.Errorf("empty %s: %w", table, err)
		}
	}
	_, err := tx.Exec(
		"UPDATE users SET session_version = CASE WHEN session_version < $1 THEN $1 ELSE session_version + 1 END", now)
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}
