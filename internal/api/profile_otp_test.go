package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"larder/internal/account"
	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/site"
)

func sendCode(c *apptest.Client, email string) *apptest.Reply {
	return c.Post("/api/users/me/email/send-otp", M{"email": email})
}

func confirmCode(c *apptest.Client, email, code string) *apptest.Reply {
	return c.Post("/api/users/me/email/verify-otp", M{"email": email, "code": code})
}

var codePattern = regexp.MustCompile(`\b[0-9]{6}\b`)

// mailedCode requests a code for an address and returns the mailed code.
func mailedCode(t *testing.T, box *apptest.Mailbox, c *apptest.Client, email string) string {
	t.Helper()
	sendCode(c, email).OK(200)
	mail := box.Next(email)
	code := codePattern.FindString(mail.Text)
	if code == "" {
		t.Fatalf("no code in %q", mail.Text)
	}
	return code
}

// wrongCode returns a code that is not in codes.
func wrongCode(codes ...string) string {
	for i := 0; ; i++ {
		if code := fmt.Sprintf("%06d", i); !strings.Contains(strings.Join(codes, " "), code) {
			return code
		}
	}
}

// wantRetryAfter fails the test unless the answer is 429 with exactly that Retry-After in seconds.
func wantRetryAfter(t *testing.T, what string, r *apptest.Reply, wait int) {
	t.Helper()
	wantStatus(t, what, r, 429, "RATE_LIMIT_EXCEEDED")
	if got := r.Header.Get("Retry-After"); got != fmt.Sprint(wait) {
		t.Errorf("%s: Retry-After %q, want %d", what, got, wait)
	}
}

func TestChangeEmail(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		execAndRaiseVersion(t, l, "UPDATE users SET email_verified = FALSE")
		execAndRaiseVersion(t, l,
			"INSERT INTO mailed_tokens (hash, user_id, purpose, email_fold, expires_at, created_at) SELECT 'h', id, "+
				"'verify', email_fold, 9000000000000, 0 FROM users WHERE username = 'alice'")
		reply := sendCode(alice, "New@Example.org").OK(200)
		wantJSON(t, "data", reply.Object()["data"], M{"success": true, "expiresIn": 300})
		mail := box.Next("New@Example.org")
		code := codePattern.FindString(mail.Text)
		if strings.Contains(mail.Raw, "alice@example.org") {
			t.Errorf("the mail reveals the current address:\n%s", mail.Raw)
		}
		rows, err := l.Apps[0].DB.Read(t.Context()).Query("SELECT * FROM email_codes")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(code))
		if stored := dumpRows(t, rows); strings.Contains(stored, "="+code+" ") ||
			strings.Contains(stored, hex.EncodeToString(sum[:])) {
			t.Errorf("code %s, stored: %s", code, stored)
		}
		if strings.Contains(l.Log.String(), `"`+code+`"`) {
			t.Error("the code is logged")
		}
		wantJSON(t, "the address meanwhile", alice.Get(mySettingsPath).Text("profile.email"), "alice@example.org")

		wantStatus(t, "another user", confirmCode(bob, "new@example.org", code), 400, "VALIDATION_ERROR")
		wantStatus(t, "another address", confirmCode(alice, "other@example.org", code), 400, "VALIDATION_ERROR")
		wantStatus(t, "without a session", confirmCode(l.Client(t), "new@example.org", code), 401, "UNAUTHORIZED")
		link := mailedResetToken(t, l, box, "alice@example.org")

		done := confirmCode(alice, "new@example.org", code).OK(200)
		wantJSON(t, "data", done.Object()["data"], M{"success": true})
		for range 2 { // both replicas; the session continues
			mine := alice.Get(mySettingsPath).OK(200)
			wantJSON(t, "email", mine.Value("profile.email"), "New@Example.org")
			wantJSON(t, "emailVerified", mine.Value("profile.emailVerified"), true)
		}
		wantJSON(t, "bob's", bob.Get(mySettingsPath).Value("profile.emailVerified"), false)
		wantStatus(t, "the code again", confirmCode(alice, "new@example.org", code), 400, "VALIDATION_ERROR")
		wantStatus(t, "login by the new address", postLogin(l.Client(t), "NEW@example.org", "password of alice"), 200,
			"")
		wantStatus(t, "login by the old address", postLogin(l.Client(t), "alice@example.org", "password of alice"), 401,
			"INVALID_CREDENTIALS")
		wantStatus(t, "a link to the old address", resetPassword(l.Client(t), link, "a new password"), 400,
			"VALIDATION_ERROR")
		if n := queryInt(t, l, "SELECT COUNT(*) FROM mailed_tokens WHERE purpose = 'verify'"); n != 0 {
			t.Error("the link that verifies the old address is still there")
		}

		// the current address can be verified
		code = mailedCode(t, box, bob, "bob@example.org")
		wantStatus(t, "the present address", confirmCode(bob, "bob@example.org", code), 200, "")
		wantJSON(t, "bob's", bob.Get(mySettingsPath).Value("profile.emailVerified"), true)
	})
}

func TestSendCodeRefuses(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		l.User(t, "bob")
		for range 5 { // mail is off: the requests do not count
			wantStatus(t, "mail is off", sendCode(alice, "new@example.org"), 500, "MAIL_ERROR")
		}
		box := l.Mailbox(t)
		for name, body := range map[string]M{
			// abuse case C73
			"nothing": {}, "null": {"email": nil}, "empty": {"email": ""}, "a name": {"email": "new"},
			"another header":               {"email": "new@example.org\r\nBcc: eve@example.org"},
			"two":                          {"email": "new@example.org,eve@example.org"},
			"another's":                    {"email": "bob@example.org"},
			"another user's in upper case": {"email": "BOB@Example.org"},
			"255 bytes":                    {"email": strings.Repeat("a", 251) + "@b.c"}, "a number": {"email": 1},
		} {
			wantStatus(t, name, alice.Post("/api/users/me/email/send-otp", body), 400, "VALIDATION_ERROR")
		}
		if box.Len() != 0 {
			t.Errorf("%d mails", box.Len())
		}
		// a server that refuses: the mail counts, because another server might have delivered it,
		// and the code is invalid
		box.Refuse = func(to string) error {
			if to == "refused@example.org" {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no account"}
			}
			return nil
		}
		for range 2 {
			wantStatus(t, "a server that refuses", sendCode(alice, "refused@example.org"), 500, "MAIL_ERROR")
		}
		if n := queryInt(t, l, "SELECT COUNT(*) FROM email_codes WHERE used_at IS NULL"); n != 0 {
			t.Errorf("%d codes count although their mails failed", n)
		}
		mailedCode(t, box, alice, "new@example.org")
		wantRetryAfter(t, "the fourth", sendCode(alice, "new@example.org"), 900)
		l.Clock.Advance(15 * time.Minute)
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = 1 }) // no server listens there
		wantStatus(t, "a server that is not there", sendCode(alice, "new@example.org"), 500, "MAIL_ERROR")
	})
}

// A user learns up to twenty times an hour whether an address has an account, as for wrong codes.
// Beyond that, or beyond three mails, the answer is the same for every address. Where mail is off,
// the answer reveals nothing.
func TestSendCodeAddressCheckLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, carol := l.User(t, "alice"), l.User(t, "carol")
		l.User(t, "bob")
		for range 21 {
			wantStatus(t, "mail is off, taken", sendCode(alice, "bob@example.org"), 500, "MAIL_ERROR")
		}
		box := l.Mailbox(t)
		code := mailedCode(t, box, alice, "mine@example.org")
		n := countStatuses(t, runConcurrently(t, alice, 19,
			func(c *apptest.Client, _ int) *apptest.Reply { return sendCode(c, "bob@example.org") }))
		if n[400] != 19 {
			t.Errorf("nineteen times taken: %v", n)
		}
		wantStatus(t, "a free one after that", sendCode(alice, "free@example.org"), 200, "")
		n = countStatuses(t, runConcurrently(t, alice, 10,
			func(c *apptest.Client, _ int) *apptest.Reply { return sendCode(c, "Bob@example.org") }))
		if n[400] != 1 || n[429] != 9 {
			t.Errorf("after ten more: %v", n)
		}
		for _, email := range []string{"bob@example.org", "other@example.org", "alice@example.org"} {
			wantRetryAfter(t, email, sendCode(alice, email), 3600)
		}
		wantRetryAfter(t, "codes, too", confirmCode(alice, "mine@example.org", code), 3600)
		l.Clock.Advance(time.Hour - time.Second)
		wantRetryAfter(t, "a second before the hour is over", sendCode(alice, "bob@example.org"), 1)
		l.Clock.Advance(time.Second)
		wantStatus(t, "when it is over", sendCode(alice, "bob@example.org"), 400, "VALIDATION_ERROR")

		for range 3 {
			sendCode(carol, "carols@example.org").OK(200)
		}
		for _, email := range []string{"bob@example.org", "other@example.org"} {
			wantRetryAfter(t, "after three mails, "+email, sendCode(carol, email), 900)
		}
	})
}

// A user and an address each get at most three mails in a quarter of an hour.
func TestSendCodeLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice, bob, carol := l.User(t, "alice"), l.User(t, "bob"), l.User(t, "carol")
		for i := range 3 {
			wantStatus(t, "the first three", sendCode(alice, fmt.Sprintf("new%d@example.org", i)), 200, "")
			l.Clock.Advance(time.Minute)
		}
		wantRetryAfter(t, "the fourth", sendCode(alice, "new9@example.org"), 720)
		l.Clock.Advance(12*time.Minute - time.Second)
		wantRetryAfter(t, "a second before the first stops counting", sendCode(alice, "new9@example.org"), 1)
		l.Clock.Advance(time.Second)
		wantStatus(t, "when it has stopped", sendCode(alice, "new9@example.org"), 200, "")
		wantRetryAfter(t, "one code more", sendCode(alice, "new9@example.org"), 60)

		l.Clock.Advance(time.Hour)
		wantStatus(t, "one of alice's", sendCode(alice, "target@example.org"), 200, "")
		l.Clock.Advance(10 * time.Second)
		wantStatus(t, "one of bob's", sendCode(bob, "TARGET@example.org"), 200, "")
		wantStatus(t, "another of bob's", sendCode(bob, "Target@example.org"), 200, "")
		wantRetryAfter(t, "the fourth to an address", sendCode(carol, "target@example.org"), 890)
		wantStatus(t, "to another address", sendCode(carol, "else@example.org"), 200, "")
		if box.Len() != 8 {
			t.Errorf("%d mails", box.Len())
		}
		l.Clock.Advance(15 * time.Minute)
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM email_codes"); n != 0 {
			t.Errorf("%d codes are left", n)
		}
	})
}

func TestConcurrentSendCode(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		wantThreeMails := func(what string, replies []*apptest.Reply) {
			t.Helper()
			if n := countStatuses(t, replies); n[200] != 3 || n[429] != len(replies)-3 || box.Len() != 3 {
				t.Errorf("%s: answers %v, %d mails", what, n, box.Len())
			}
			for box.Len() > 0 {
				box.Next("new@example.org")
			}
			l.Clock.Advance(15 * time.Minute)
		}
		wantThreeMails("ten of one user", runConcurrently(t, alice, 10,
			func(c *apptest.Client, _ int) *apptest.Reply { return sendCode(c, "new@example.org") }))
		if n := queryInt(t, l, "SELECT COUNT(*) FROM email_codes WHERE used_at IS NULL"); n != 1 {
			t.Errorf("%d codes count", n)
		}
		wantThreeMails("ten of two users to one address",
			runConcurrently(t, alice, 10, func(c *apptest.Client, i int) *apptest.Reply {
				if i%2 == 0 {
					c = bob.In(t)
				}
				return sendCode(c, "new@example.org")
			}))

		// two users verify the same address: one gets it
		for round := range 3 {
			email := fmt.Sprintf("both%d@example.org", round)
			codes := []string{mailedCode(t, box, alice, email), mailedCode(t, box, bob, email)}
			n := countStatuses(t, runConcurrently(t, alice, 2, func(c *apptest.Client, i int) *apptest.Reply {
				if i == 1 {
					c = bob.In(t)
				}
				return confirmCode(c, email, codes[i])
			}))
			if n[200] != 1 || n[400] != 1 {
				t.Errorf("answers %v", n)
			}
			l.Clock.Advance(15 * time.Minute)
		}
	})
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		for i, row := range []struct {
			name string
			good bool
			end  func(t *testing.T, c *apptest.Client, email, code string)
		}{
			{"just before 5 minutes", true, func(*testing.T, *apptest.Client, string, string) {
				l.Clock.Advance(5*time.Minute - time.Millisecond)
			}},
			{"after 5 minutes", false, func(*testing.T, *apptest.Client, string, string) {
				l.Clock.Advance(5 * time.Minute)
			}},
			// abuse case C129
			{"made before the clock was set back", false, func(t *testing.T, _ *apptest.Client, email, _ string) {
				execAndRaiseVersion(t, l, "UPDATE email_codes SET expires_at = expires_at + 7200000 WHERE email = $1",
					email)
			}},
			{"a newer one", false, func(t *testing.T, c *apptest.Client, email, code string) {
				if mailedCode(t, box, c, email) == code { // one chance in a million
					t.Log("the same code twice")
				}
			}},
			{"one to another address", false,
				func(t *testing.T, c *apptest.Client, email, _ string) { mailedCode(t, box, c, "x"+email) }},
			{"4 wrong ones", true, func(t *testing.T, c *apptest.Client, email, code string) {
				for range 4 {
					wantStatus(t, "wrong", confirmCode(c, email, wrongCode(code)), 400, "VALIDATION_ERROR")
				}
			}},
			{"5 wrong ones", false, func(t *testing.T, c *apptest.Client, email, code string) {
				for range 5 {
					wantStatus(t, "wrong", confirmCode(c, email, wrongCode(code)), 400, "VALIDATION_ERROR")
				}
			}},
			{"20 that are no codes", true, func(t *testing.T, c *apptest.Client, email, code string) {
				for _, none := range []any{"12345", "1234567", "", " " + code, code + "\n", "abcdef", "１２３４５６",
					"12345\n", "-12345", "+12345", "1e5555", 123456, nil, []string{code}, "0x1234", "12 345", "12345.",
					"'     ", "%31%32", code + code} {
					wantStatus(t, fmt.Sprintf("%q", none),
						c.Post("/api/users/me/email/verify-otp", M{"email": email, "code": none}), 400,
						"VALIDATION_ERROR")
				}
			}},
			{"the address is taken meanwhile", false, func(t *testing.T, _ *apptest.Client, email, _ string) {
				l.User(t, "thief", M{"email": strings.ToUpper(email)})
			}},
		} {
			name := fmt.Sprint("user_", i)
			email := name + "@example.com"
			c := l.User(t, name)
			code := mailedCode(t, box, c, email)
			row.end(t, c, email, code)
			want, errorCode := 400, "VALIDATION_ERROR"
			if row.good {
				want, errorCode = 200, ""
			}
			wantStatus(t, row.name, confirmCode(c, email, code), want, errorCode)
		}
	})
}

// A mailed code may have been used since the backup was made.
func TestRestoreDropsCodes(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		code := mailedCode(t, box, l.User(t, "alice"), "new@example.org")
		inTransaction(t, l, func(tx *db.Tx) error { return account.AfterRestore(tx, l.Clock.Now().UnixMilli()) })
		inTransaction(t, l, func(tx *db.Tx) error { return tx.BumpConfig() })
		wantStatus(t, "after a restore", confirmCode(l.SignIn(t, "alice", "password of alice"), "new@example.org",
			code), 400, "VALIDATION_ERROR")
	})
}

// Abuse case C50: of many concurrent attempts five are checked, and a user has at most twenty an
// hour.
func TestCodeGuessLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		code := mailedCode(t, box, alice, "new@example.org")
		n := countStatuses(t, runConcurrently(t, alice, 50, func(c *apptest.Client, _ int) *apptest.Reply {
			return confirmCode(c, "new@example.org", wrongCode(code))
		}))
		if n[400] != 20 || n[429] != 30 {
			t.Errorf("answers %v", n)
		}
		if n := queryInt(t, l, "SELECT attempts FROM email_codes"); n != 5 {
			t.Errorf("%d were evaluated", n)
		}
		wantRetryAfter(t, "the right one", confirmCode(alice, "new@example.org", code), 3600)
		wantStatus(t, "somebody else", confirmCode(bob, "new@example.org", code), 400, "VALIDATION_ERROR")
		l.Clock.Advance(30 * time.Minute)
		wantRetryAfter(t, "half an hour later", confirmCode(alice, "new@example.org", code), 1800)
		wantRetryAfter(t, "another code", sendCode(alice, "new@example.org"), 1800)
		l.Clock.Advance(30*time.Minute - time.Second)
		wantRetryAfter(t, "a second before the hour is over", confirmCode(alice, "new@example.org", code), 1)
		l.Clock.Advance(time.Second)
		wantStatus(t, "when it is over, one that has ended", confirmCode(alice, "new@example.org", code), 400,
			"VALIDATION_ERROR")
		code = mailedCode(t, box, alice, "new@example.org")
		wantStatus(t, "the right one", confirmCode(alice, "new@example.org", code), 200, "")

		// without any code, one after the other
		for i := range 19 { // one was wrong above
			wantStatus(t, fmt.Sprint("without a code, ", i), confirmCode(alice, "else@example.org", "000000"), 400,
				"VALIDATION_ERROR")
		}
		wantRetryAfter(t, "the twenty-first", confirmCode(alice, "else@example.org", "000000"), 3600)
		l.Clock.Advance(time.Hour)
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM wrong_codes"); n != 0 {
			t.Errorf("%d wrong codes are remembered", n)
		}
	})
}

// Of many concurrent right attempts, one succeeds.
func TestConcurrentConfirmCode(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice := l.User(t, "alice")
		code := mailedCode(t, box, alice, "new@example.org")
		n := countStatuses(t, runConcurrently(t, alice, 20,
			func(c *apptest.Client, _ int) *apptest.Reply { return confirmCode(c, "new@example.org", code) }))
		if n[200] != 1 || n[400] != 19 {
			t.Errorf("answers %v", n)
		}
	})
}
