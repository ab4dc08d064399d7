package account_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"larder/internal/account"
	"larder/internal/db"
)

// deleteUser deletes an account and raises the config version.
func deleteUser(tx *db.Tx, id string) error {
	if _, err := tx.Exec("DELETE FROM users WHERE id = $1", id); err != nil {
		return err
	}
	return tx.BumpConfig()
}

// addResetToken stores a token as if it had been mailed.
func (f *fixture) addResetToken(u account.User, token string) {
	f.t.Helper()
	f.mustWrite(func(tx *db.Tx) error {
		_, err := tx.Exec(
			"INSERT INTO mailed_tokens (hash, user_id, purpose, email_fold, expires_at, created_at) VALUES ($1, $2, "+
				"'reset', $3, $4, $5)",
			fmt.Sprintf("%x", sha256.Sum256([]byte(token))), u.ID, strings.ToLower(u.Email), f.now.Load()+60000,
			f.now.Load())
		return err
	})
}

// csrfRows returns the number of stored CSRF tokens.
func (f *fixture) csrfRows() int {
	f.t.Helper()
	var n int
	if err := f.db.Read(context.Background()).QueryRow("SELECT COUNT(*) FROM csrf_tokens").Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}
