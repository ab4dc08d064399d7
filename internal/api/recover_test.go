package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"larder/internal/account"
	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/site"
)

func forgotPassword(c *apptest.Client, email string, header ...string) *apptest.Reply {
	return c.Post("/api/auth/forgot-password", M{"email": email}, header...)
}

func resetPassword(c *apptest.Client, token, password string) *apptest.Reply {
	return c.Post("/api/auth/reset-password", M{"token": token, "password": password})
}

// mailedResetToken requests a reset link and returns its token from the mail.
func mailedResetToken(t *testing.T, l *apptest.Larder, box *apptest.Mailbox, email string) string {
	t.Helper()
	forgotPassword(l.Client(t), email).OK(200)
	_, token := mailLink(t, resetPath, box.Next(email))
	return token
}

// Abuse case C48.
func TestForgotPasswordTellsNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		l.User(t, "alice")
		for _, state := range []string{"disabled", "banned"} {
			l.User(t, state)
			execAndRaiseVersion(t, l, "UPDATE users SET status = $1 WHERE username = $1", state)
		}
		var first string
		for _, email := range []string{"alice@example.org", "ALICE@Example.org", "nobody@example.org",
			"disabled@example.org", "banned@example.org", "alice@localhost"} {
			r := forgotPassword(l.Client(t), email).OK(200)
			wantFields(t, "data", r.Object()["data"], "message")
			header := maps.Clone(r.Header)
			for _, name := range []string{"Date", "Ratelimit-Remaining", "Ratelimit-Reset", "X-Request-Id"} {
				header.Del(name)
			}
			if all := fmt.Sprint(string(r.Body), header); first == "" {
				first = all
			} else if all != first {
				t.Errorf("%s: %s\nbut for another\n%s", email, all, first)
			}
			waitForMails(t, l)
		}
		if box.Len() != 2 {
			t.Errorf("%d mails", box.Len())
		}
		box.Next("alice@example.org")
		box.Next("alice@example.org")

		for name, body := range map[string]M{
			// abuse case C73
			"nothing": {}, "null": {"email": nil}, "empty": {"email": ""}, "a name": {"email": "alice"},
			"a number": {"email": 1}, "another header": {"email": "alice@example.org\r\nBcc: eve@example.org"},
			"two":         {"email": "alice@example.org, eve@example.org"},
			"with a name": {"email": "Alice <alice@example.org>"},
			"255 bytes":   {"email": strings.Repeat("a", 251) + "@b.c"}, "NUL": {"email": "a\x00@example.org"},
		} {
			wantStatus(t, name, l.Client(t).Post("/api/auth/forgot-password", body), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "254 bytes", forgotPassword(l.Client(t), strings.Repeat("a", 250)+"@b.c"), 200, "")
		wantStatus(t, "from across sites", forgotPassword(l.Client(t), "alice@example.org", "Sec-Fetch-Site",
			"cross-site"), 403, "FORBIDDEN")

		// mail is off
		l.ChangeSettings(t, func(s *site.Settings) { s.EmailEnabled = false })
		l.Clock.Advance(time.Second)
		off := forgotPassword(l.Client(t), "alice@example.org").OK(200)
		if message := off.Text("message"); !strings.Contains(first, message) {
			t.Errorf("without mail: %s", message)
		}
		waitForMails(t, l)
		if box.Len() != 0 {
			t.Errorf("%d mails, although mail is off", box.Len())
		}
		if n := queryInt(t, l, "SELECT COUNT(*) FROM mailed_tokens"); n != 2 {
			t.Errorf("%d tokens, want the tokens of two mails", n)
		}
	})
}

// Abuse case C47: mails link to the configured address, whatever the request's headers say.
func TestResetLinkUsesBaseURL(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		l.User(t, "alice")
		r, err := http.NewRequest("POST", "http://"+l.Apps[0].Addr().String()+"/api/auth/forgot-password",
			strings.NewReader(`{"email":"alice@example.org"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "evil.example"
		for name, value := range map[string]string{"Content-Type": "application/json",
			"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example",
			"Origin": "http://evil.example"} {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != 200 {
			t.Fatal(response.Status, err)
		}
		mail := box.Next("alice@example.org")
		if strings.Contains(mail.Raw, "evil") {
			t.Errorf("the mail is\n%s", mail.Raw)
		}
		mailLink(t, resetPath, mail)
	})
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice := l.User(t, "alice")
		execAndRaiseVersion(t, l, "UPDATE users SET email_verified = FALSE WHERE username = 'alice'")
		token := mailedResetToken(t, l, box, "alice@example.org")

		// stored only as its SHA-256, and in no job
		sum := sha256.Sum256([]byte(token))
		rows, err := l.Apps[0].DB.Read(context.Background()).Query("SELECT * FROM mailed_tokens")
		if err != nil {
			t.Fatal(err)
		}
		if stored := dumpRows(t, rows); strings.Contains(stored, token) ||
			!strings.Contains(stored, hex.EncodeToString(sum[:])) {
			t.Errorf("stored: %s", stored)
		}
		if strings.Contains(l.Log.String(), token) {
			t.Error("the token is logged")
		}

		// abuse case C40: it works for nothing else, and no other token works here
		c := l.Client(t)
		c.Cookies["auth_token"] = token
		wantStatus(t, "as a session", c.Get("/api/auth/me"), 401, "INVALID_TOKEN")
		wantStatus(t, "as a key", l.Client(t).Get("/api/files", "Authorization", "Bearer "+token), 401, "INVALID_TOKEN")
		wantStatus(t, "as a download token", l.Client(t).Get("/api/gateway/download/"+token), 401, "INVALID_TOKEN")
		for name, other := range map[string]string{"a session": alice.Cookies["auth_token"], "a CSRF token": alice.CSRF,
			"its hash": hex.EncodeToString(sum[:]), "one letter more": token + "a", "cut": token[1:],
			"long": strings.Repeat("a", 100000)} {
			wantStatus(t, name, resetPassword(l.Client(t), other, "a new password"), 400, "VALIDATION_ERROR")
		}

		// an invalid password does not use up the token
		for name, password := range map[string]any{"7 characters": "1234567", "7 of four bytes": strings.Repeat("😀", 7),
			"129 characters": strings.Repeat("a", 129), "1 MB": strings.Repeat("a", 1000000), "empty": "", "null": nil,
			"a number": 12345678} {
			wantStatus(t, name, l.Client(t).Post("/api/auth/reset-password", M{"token": token, "password": password}),
				400, "VALIDATION_ERROR")
		}
		for _, none := range []any{nil, "", 1} {
			wantStatus(t, fmt.Sprint("token ", none),
				l.Client(t).Post("/api/auth/reset-password", M{"token": none, "password": "a new password"}), 400,
				"VALIDATION_ERROR")
		}
		wantStatus(t, "still signed in", alice.Get("/api/auth/me"), 200, "")

		done := resetPassword(l.Client(t), token, strings.Repeat("😀", 128)).OK(200) // 512 bytes
		wantFields(t, "data", done.Object()["data"], "message")
		if done.Header.Get("Set-Cookie") != "" {
			t.Error("a reset opens a session")
		}
		for range 2 { // both replicas; abuse case C41
			for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files?path=/home/alice",
				"/api/users/me/settings", "/api/keys/"} {
				wantStatus(t, path, alice.Get(path), 401, "SESSION_REVOKED")
			}
		}
		wantStatus(t, "again", resetPassword(l.Client(t), token, "another password"), 400, "VALIDATION_ERROR")
		wantStatus(t, "the old password", postLogin(l.Client(t), "alice", "password of alice"), 401,
			"INVALID_CREDENTIALS")
		in := postLogin(l.Client(t), "alice", strings.Repeat("😀", 128)).OK(200)
		wantJSON(t, "emailVerified", in.Value("user.emailVerified"), true) // the mail was read
		token = mailedResetToken(t, l, box, "alice@example.org")
		wantStatus(t, "8 characters", resetPassword(l.Client(t), token, "12345678"), 200, "")
	})
}

func TestResetTokenExpires(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		for i, row := range []struct {
			name string
			good bool
			end  func(t *testing.T, id, email string)
		}{
			{"just before 15 minutes", true, func(*testing.T, string, string) {
				l.Clock.Advance(15*time.Minute - time.Millisecond)
			}},
			{"after 15 minutes", false, func(*testing.T, string, string) { l.Clock.Advance(15 * time.Minute) }},
			{"made before the clock was set back", false, func(t *testing.T, id, _ string) { // abuse case C129
				execAndRaiseVersion(t, l,
					"UPDATE mailed_tokens SET expires_at = expires_at + 7200000 WHERE user_id = $1", id)
			}},
			{"a newer one", false, func(t *testing.T, _, email string) { mailedResetToken(t, l, box, email) }},
			{"another address", false, func(t *testing.T, id, _ string) {
				execAndRaiseVersion(t, l,
					"UPDATE users SET email = 'moved@example.org', email_fold = 'moved@example.org' WHERE id = $1", id)
			}},
			{"disabled", false, func(t *testing.T, id, _ string) {
				execAndRaiseVersion(t, l, "UPDATE users SET status = 'disabled' WHERE id = $1", id)
			}},
			{"banned", false, func(t *testing.T, id, _ string) {
				execAndRaiseVersion(t, l, "UPDATE users SET status = 'banned' WHERE id = $1", id)
			}},
			{"disabled for a moment", false, func(t *testing.T, id, _ string) {
				for _, status := range []account.Status{account.Disabled, account.Active} {
					inTransaction(t, l, func(tx *db.Tx) error { return l.Apps[0].Accounts.SetStatus(tx, id, status) })
				}
			}},
			{"deleted", false, func(t *testing.T, id, _ string) {
				execAndRaiseVersion(t, l, "DELETE FROM users WHERE id = $1", id)
			}},
			{"a password from the command line", false, func(t *testing.T, _, email string) {
				name, _, _ := strings.Cut(email, "@")
				if _, err := l.Apps[0].Lifecycle.ResetPassword(context.Background(), name,
					"from the command line"); err != nil {
					t.Fatal(err)
				}
			}},
			{"a restored backup", false, func(t *testing.T, _, _ string) {
				inTransaction(t, l, func(tx *db.Tx) error {
					return account.AfterRestore(tx, l.Clock.Now().UnixMilli())
				})
			}},
		} {
			name := fmt.Sprint("user_", i)
			id := callerID(l.User(t, name))
			token := mailedResetToken(t, l, box, name+"@example.org")
			waitForMails(t, l)
			row.end(t, id, name+"@example.org")
			want, code := 400, "VALIDATION_ERROR"
			if row.good {
				want, code = 200, ""
			}
			wantStatus(t, row.name, resetPassword(l.Client(t), token, "a new password"), want, code)
		}
	})
}

// Abuse case C49: of many concurrent requests one succeeds, and only its password counts.
func TestConcurrentUseOfResetToken(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		l.User(t, "alice")
		for range 3 {
			token := mailedResetToken(t, l, box, "alice@example.org")
			replies := runConcurrently(t, l.Client(t), 20, func(c *apptest.Client, i int) *apptest.Reply {
				return resetPassword(c, token, fmt.Sprintf("new password %d", i))
			})
			if n := countStatuses(t, replies); n[200] != 1 || n[400] != 19 {
				t.Errorf("answers %v", n)
			}
			for i, r := range replies {
				if r.Status == 200 {
					wantStatus(t, "the password that was set",
						postLogin(l.Client(t), "alice", fmt.Sprintf("new password %d", i)), 200, "")
					wantStatus(t, "another", postLogin(l.Client(t), "alice", fmt.Sprintf("new password %d", (i+1)%20)),
						401, "")
				}
			}
			l.Clock.Advance(15 * time.Minute)
		}
	})
}

// An address gets at most three mails in a quarter of an hour. The answer does not reveal that.
func TestResetMailLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		l.User(t, "alice")
		last := ""
		ask := func(what string, times, want int) {
			t.Helper()
			for range times {
				wantStatus(t, what, forgotPassword(l.Client(t), "Alice@example.org"), 200, "")
				waitForMails(t, l)
			}
			if box.Len() != want {
				t.Errorf("%s: %d mails, want %d", what, box.Len(), want)
			}
			for range box.Len() {
				_, last = mailLink(t, resetPath, box.Next("alice@example.org"))
			}
		}
		ask("the first", 1, 1)
		l.Clock.Advance(time.Minute)
		ask("ten more", 10, 2)
		l.Clock.Advance(14*time.Minute - time.Second)
		ask("just before the first stops counting", 2, 0)
		l.Clock.Advance(time.Second)
		ask("when it has stopped", 2, 1)
		wantStatus(t, "the last one", resetPassword(l.Client(t), last, "a new password"), 200, "")
		ask("a new password does not make room", 1, 0)
	})
}

// One address has one place in the queue, for any number of concurrent requests and in any case of
// letters.
func TestResetMailQueuedOncePerAddress(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		port := box.Port
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = 1 })
		waiting := func() int { return queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'reset-mail'") }
		const people = 6
		for n := range people {
			name := fmt.Sprint("user", n)
			l.User(t, name)
			for _, r := range runConcurrently(t, l.Client(t), 20, func(c *apptest.Client, i int) *apptest.Reply {
				return forgotPassword(c, []string{name + "@example.org", strings.ToUpper(name) + "@Example.ORG"}[i%2])
			}) {
				wantStatus(t, "at once", r, 200, "")
			}
		}
		tried := func(times int) func() bool {
			return func() bool {
				return queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE status = 'pending' AND attempts = $1",
					times) == waiting()
			}
		}
		// of the mails queued in one millisecond, several are tried if a later one had its turn
		// first
		waitUntil(t, "all mails were tried", tried(1))
		l.Clock.Advance(time.Minute)
		waitUntil(t, "one mail waits to each", func() bool { return waiting() == people && tried(2)() })
		forgotPassword(l.Client(t), "USER0@example.org").OK(200)
		waitUntil(t, "still one waits to each after a try", func() bool { return waiting() == people })
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = port })
		l.Clock.Advance(time.Minute)
		waitForMails(t, l)
		if box.Len() != people {
			t.Errorf("%d mails to %d people", box.Len(), people)
		}
		forgotPassword(l.Client(t), "user0@example.org").OK(200)
		waitForMails(t, l)
		if box.Len() != people+1 {
			t.Errorf("%d mails, want another one when the first was sent", box.Len())
		}
	})
}

// When a mail server fails for a while, the mail is sent later, and failed attempts do not count.
func TestResetMailIsRetried(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		var tries atomic.Int64
		var works atomic.Bool
		box.Refuse = func(string) error {
			if tries.Add(1); works.Load() {
				return nil
			}
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "not now"}
		}
		l.User(t, "alice")
		forgotPassword(l.Client(t), "alice@example.org").OK(200)
		for i := range 4 {
			waitUntil(t, "a try", func() bool {
				return tries.Load() > int64(i) &&
					queryInt(t, l,
						"SELECT COUNT(*) FROM jobs WHERE type = 'reset-mail' AND status = 'pending' AND attempts = $1",
						i+1) == 1
			})
			if n := queryInt(t, l, "SELECT COUNT(*) FROM mailed_tokens"); n != 0 {
				t.Errorf("%d tokens of mails that failed", n)
			}
			works.Store(i == 3)
			l.Clock.Advance(5 * time.Second << i)
		}
		_, token := mailLink(t, resetPath, box.Next("alice@example.org"))
		waitForMails(t, l)
		wantStatus(t, "the token", resetPassword(l.Client(t), token, "a new password"), 200, "")
	})
}

// A full queue accepts no more mails; the answer is the same.
func TestResetMailsRespectQueueLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		execAndRaiseVersion(t, l, `
			INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload, due)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
			SELECT 'waiting ' || i, 'reset-mail', '', 'pending', 0, 0, 'nobody@example.org', 9000000000000 FROM n`)
		box := l.Mailbox(t)
		l.User(t, "alice")
		good := forgotPassword(l.Client(t), "alice@example.org").OK(200)
		box.Next("alice@example.org")
		waitUntil(t, "the job ends", func() bool {
			return queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'reset-mail'") == 999
		})
		execAndRaiseVersion(t, l,
			"INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload, due) VALUES ('the last', "+
				"'reset-mail', '', 'running', 0, 0, 'nobody@example.org', 9000000000000)")
		// a mail queued nevertheless would stay in the queue
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPHost = "mail.invalid" })
		full := forgotPassword(l.Client(t), "alice@example.org").OK(200)
		wantJSON(t, "the answer", string(full.Body), string(good.Body))
		if n := queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'reset-mail'"); n != 1000 {
			t.Errorf("%d jobs", n)
		}
	})
}

// Both requests share the bucket of logins.
func TestRecoveryIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withLimits(3, 10000))
	c := l.Client(t)
	wantLimitHeaders(t, "forgot-password", forgotPassword(c, "nobody@example.org"), 3, 2)
	wantLimitHeaders(t, "reset-password", resetPassword(c, "none", "a good password"), 3, 1)
	wantLimitHeaders(t, "login", postLogin(c, "nobody", "a good password"), 3, 0)
	wantStatus(t, "a fourth", forgotPassword(c, "nobody@example.org"), 429, "RATE_LIMIT_EXCEEDED")
	wantStatus(t, "a fifth", resetPassword(c, "none", "a good password"), 429, "RATE_LIMIT_EXCEEDED")
	l.Clock.Advance(time.Minute)
	wantStatus(t, "a minute later", forgotPassword(c, "nobody@example.org"), 200, "")
}

// An account made with another person's address is lost for its maker once the owner of the address
// sets a password: nothing left in it before works.
func TestResetOfUnverifiedAccountRemovesOldAccess(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		for _, row := range []struct {
			name     string
			verified bool
		}{{"early", false}, {"late", true}} {
			user, email := l.User(t, row.name), row.name+"@example.org"
			execAndRaiseVersion(t, l, "UPDATE users SET email_verified = $1 WHERE username = $2", row.verified,
				row.name)
			file := user.Upload("/home/"+row.name, "a.png", []byte(onePixel))
			checkAccess := func(when string, key *apptest.Client, share string, want bool) {
				t.Helper()
				if want {
					wantStatus(t, row.name+", "+when+": key", key.Get("/api/files?path=/home/"+row.name), 200, "")
					wantStatus(t, row.name+", "+when+": share", visitShare(l.Client(t), share), 200, "")
					return
				}
				wantStatus(t, row.name+", "+when+": key", key.Get("/api/files?path=/home/"+row.name), 401,
					"INVALID_TOKEN")
				wantStatus(t, row.name+", "+when+": share", visitShare(l.Client(t), share), 410, "SHARE_REVOKED")
			}
			key, share := user.Key(M{"uploadPath": "/home/" + row.name}), shareEntry(user, file)
			checkAccess("before", key, share, true)
			token := mailedResetToken(t, l, box, email)
			wantStatus(t, "a password that can't be one", resetPassword(l.Client(t), token, "short"), 400,
				"VALIDATION_ERROR")
			checkAccess("refused", key, share, true)
			resetPassword(l.Client(t), token, "a new password").OK(200)
			checkAccess("reset", key, share, row.verified)

			// from then on the address is verified
			user = l.SignIn(t, row.name, "a new password")
			key, share = user.Key(M{"uploadPath": "/home/" + row.name}), shareEntry(user, file)
			resetPassword(l.Client(t), mailedResetToken(t, l, box, email), "another password").OK(200)
			checkAccess("reset again", key, share, true)
		}
	})
}
