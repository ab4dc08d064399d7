package account

import (
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// lockUser locks the user's row until tx ends, so that a limit of the user can be counted and used
// up atomically. It returns the user as of then. Fault: NotFound.
func lockUser(tx *db.Tx, userID string) (User, error) {
	if err := checkUpdated(tx.Exec("UPDATE users SET updated_at = updated_at WHERE id = $1", userID)); err != nil {
		return User{}, err
	}
	u, _, err := readUser(tx, byID, userID)
	return u, err
}

// updateProfile writes the given fields of the profile. Fault: NotFound.
func updateProfile(tx *db.Tx, userID string, p Profile, now int64) error {
	return checkUpdated(tx.Exec(`
		UPDATE users
		SET display_name = CASE WHEN $2 THEN $3 ELSE display_name END,
			avatar_url = CASE WHEN $4 THEN $5 ELSE avatar_url END,
			locale = COALESCE($6, locale),
			theme = COALESCE($7, theme),
			accent_color = COALESCE($8, accent_color),
			default_path = COALESCE($9, default_path),
			enable_blur = COALESCE($10, enable_blur),
			updated_at = $11
		WHERE id = $1`, userID, p.DisplayName.Given, p.DisplayName.Value, p.AvatarURL.Given, p.AvatarURL.Value,
		p.Locale, p.Theme, p.AccentColor,
		p.DefaultPath, p.EnableBlur, now))
}

// replacePassword replaces the password hash stored, which was verified, by fresh, and raises the
// session version. It reports false, and changes nothing, when that hash, or the session of u, has
// ended since.
func replacePassword(tx *db.Tx, u User, stored, fresh string, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE users
		SET password_hash = $4, session_version = session_version + 1, updated_at = $5
		WHERE id = $1 AND password_hash = $2 AND session_version = $3 AND role_version = $6 AND status = 'active'`,
		u.ID, stored, u.SessionVersion, fresh, now, u.RoleVersion)
	if err != nil {
		return false, fmt.Errorf("replace a password: %w", err)
	}
	return n == 1, nil
}

// updateVerified marks the address of a user as verified. Fault: NotFound.
func updateVerified(tx *db.Tx, userID string, now int64) error {
	return checkUpdated(tx.Exec("UPDATE users SET email_verified = TRUE, updated_at = $2 WHERE id = $1", userID, now))
}

// updateEmail sets a verified address. Fault: Invalid when another account has it. When two
// accounts take it at once, the unique index refuses the second with a db.ErrUnique.
func updateEmail(tx *db.Tx, userID, email string, now int64) error {
	err := checkUpdated(tx.Exec(`
		UPDATE users
		SET email = $2, email_fold = $3, email_verified = TRUE, updated_at = $4
		WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users other WHERE other.email_fold = $3 AND other.id <> $1)`,
		userID, email, vpath.Fold(email), now))
	if fault.Is(err, fault.NotFound) {
		return addressTaken()
	}
	return err
}
