package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/secret"
)

// An invalid token or an invalid password causes no hashing. Here every hash fails, because no salt
// can be read (abuse case C107).
func TestResetWithInvalidTokenHashesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		noSalt := errors.New("no salt")
		s := account.New(account.Config{
			DB: d, IDs: ident.New(rand.Reader), Random: iotest.ErrReader(noSalt), Keys: w.keys,
			Now: func() time.Time { return time.UnixMilli(w.now.Load()) },
			Log: slog.New(slog.DiscardHandler),
		})
		u := w.addUser("ann")
		ctx := context.Background()
		for name, token := range map[string]string{"empty": "", "garbage": "garbage",
			"wrong, of the right length": strings.Repeat("a", 44), "huge": strings.Repeat("a", 1<<20), "NUL": "\x00",
			"no UTF-8": "\xff"} {
			wantKind(t, name, s.ResetPassword(ctx, testSource, token, "a new password", nil), fault.Invalid)
		}
		w.addResetToken(u, "a token")
		for name, password := range map[string]secret.Text{"short": "1234567",
			"long": secret.Text(strings.Repeat("a", 129)), "huge": secret.Text(strings.Repeat("a", 1<<20))} {
			wantKind(t, name, s.ResetPassword(ctx, testSource, "a token", password, nil), fault.Invalid)
			wantKind(t, name, s.ChangePassword(ctx, u, "password", password), fault.Invalid)
		}
		if err := s.ResetPassword(ctx, testSource, "a token", "a new password", nil); !errors.Is(err, noSalt) {
			t.Errorf("a valid token: %v", err)
		}
		wantKind(t, "a wrong old password", s.ChangePassword(ctx, u, "wrong", "a new password"), fault.InvalidPassword)
		if err := s.ChangePassword(ctx, u, "password", "a new password"); !errors.Is(err, noSalt) {
			t.Errorf("the right one: %v", err)
		}
	})
}

// A change of password is bound to the session of the caller. If the session has ended since it was
// checked, nothing changes.
func TestChangePasswordOfAnEndedSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ctx := context.Background()
		for name, end := range map[string]func(tx *db.Tx, id string) error{
			// same hash, another session version
			"logged_out":   func(tx *db.Tx, id string) error { return w.SetPassword(tx, id, cheapHash) },
			"disabled":     func(tx *db.Tx, id string) error { return w.SetStatus(tx, id, account.Disabled) },
			"another_role": func(tx *db.Tx, id string) error { return w.SetRole(tx, id, "guest") },
			"deleted":      deleteUser,
		} {
			u := w.addUser(name)
			w.mustWrite(func(tx *db.Tx) error { return end(tx, u.ID) })
			wantKind(t, name, w.ChangePassword(ctx, u, "password", "a new password"), fault.SessionRevoked)
		}
		u := w.addUser("ann")
		if err := w.ChangePassword(ctx, u, "password", "a new password"); err != nil {
			t.Fatal(err)
		}
		if now := w.user(u.ID); now.SessionVersion != u.SessionVersion+1 {
			t.Errorf("session version %d after %d", now.SessionVersion, u.SessionVersion)
		}
	})
}
