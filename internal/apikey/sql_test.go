package apikey_test

import (
	"context"
	"strings"

	"larder/internal/db"
)

// insertUsers inserts users with minimal values.
func insertUsers(tx *db.Tx, names ...string) error {
	for _, name := range names {
		_, err := tx.Exec(`
			INSERT INTO users (id, username, username_fold, email, email_fold, email_verified, password_hash, role, status, default_path, locale,
				theme, accent_color, enable_blur, role_version, session_version, created_at, updated_at)
			VALUES ($1, $1, $1, $1, $1, TRUE, '', 'user', 'active', '/', 'en-US', 'system', '#000000', TRUE, 1, 1, 0, 0)`, name)
		if err != nil {
			return err
		}
	}
	return nil
}

// rowContains reports whether the row of a key contains text in any column.
func (f *fixture) rowContains(id, text string) bool {
	f.t.Helper()
	var row string
	err := f.db.Read(context.Background()).QueryRow(`
		SELECT id || ' ' || user_id || ' ' || name || ' ' || token_hash || ' ' || permissions || ' ' || protocols || ' ' || upload_path || ' ' || allowed_ips
		FROM api_keys
		WHERE id = $1`, id).Scan(&row)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Contains(row, text)
}

// tokenHash returns the stored hash of a key's token.
func (f *fixture) tokenHash(id string) string {
	f.t.Helper()
	var hash string
	if err := f.db.Read(context.Background()).QueryRow("SELECT token_hash FROM api_keys WHERE id = $1", id).
		Scan(&hash); err != nil {
		f.t.Fatal(err)
	}
	return hash
}
