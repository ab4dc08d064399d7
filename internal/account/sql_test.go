package account_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

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

// countRows returns the result of a query for one number.
func (f *fixture) countRows(query string, args ...any) (n int64) {
	f.t.Helper()
	if err := f.db.Read(context.Background()).QueryRow(query, args...).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) sessionRows() int64 { return f.countRows("SELECT COUNT(*) FROM sessions") }

// storedUse returns the last use of a session as the database has it, ms.
func (f *fixture) storedUse(id string) int64 {
	return f.countRows("SELECT last_used_at FROM sessions WHERE id = $1", id)
}

func (f *fixture) oldestSchema() int64 { return f.countRows("SELECT oldest FROM schema_version") }

// change runs a statement and raises the config version.
func (f *fixture) change(statement string, args ...any) {
	f.t.Helper()
	f.mustWrite(func(tx *db.Tx) error {
		if _, err := tx.Exec(statement, args...); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
}

// unlist deletes the row of a token's session, as if an older replica had issued the token.
func (f *fixture) unlist(token string) {
	f.t.Helper()
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err != nil {
		f.t.Fatal(err)
	}
	f.change("DELETE FROM sessions WHERE id = $1", claims["jti"])
}

// addReplica adds the row of a running replica that knows that schema.
func (f *fixture) addReplica(id string, schema int) {
	f.t.Helper()
	f.change("INSERT INTO replicas (id, version, schema, audit_schema, seen) VALUES ($1, '1.2.3', $2, 2, $3)",
		id, schema, time.Now().UnixMilli())
}

func (f *fixture) removeReplica(id string) {
	f.t.Helper()
	f.change("DELETE FROM replicas WHERE id = $1", id)
}

// addSessions adds rows of sessions that were used just now.
func (f *fixture) addSessions(u account.User, n int) {
	f.t.Helper()
	f.mustWrite(func(tx *db.Tx) error {
		for i := range n {
			if _, err := tx.Exec(`
				INSERT INTO sessions (id, user_id, session_version, role_version, agent, ip, created_at, last_used_at, expires_at)
				VALUES ($1, $2, 1, 1, '', '', $3, $3, $4)`,
				fmt.Sprint("session ", i), u.ID, f.now.Load(), f.now.Load()+week.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}
