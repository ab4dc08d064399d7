package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/site"
)

// setVerificationToken stores a token that verifies a user's address until end.
func setVerificationToken(t *testing.T, l *apptest.Larder, username, token string, end time.Time) {
	t.Helper()
	sum := sha256.Sum256([]byte(token))
	execAndRaiseVersion(t, l, `
		INSERT INTO mailed_tokens (hash, user_id, purpose, email_fold, expires_at, created_at)
		SELECT CAST($1 AS TEXT), id, 'verify', email_fold, CAST($3 AS BIGINT), 0 FROM users WHERE username = $2`,
		hex.EncodeToString(sum[:]), username, end.UnixMilli())
}

// hashOfStyle returns the source expression that allows the one style element of a page.
func hashOfStyle(t *testing.T, page *apptest.Reply) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(page.Body), "<style>")
	rules, rest, ended := strings.Cut(rest, "</style>")
	if !ended || strings.Contains(rest, "style") {
		t.Fatalf("not one style element: %s", page.Body)
	}
	sum := sha256.Sum256([]byte(rules))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func isVerified(t *testing.T, l *apptest.Larder, username string) bool {
	t.Helper()
	return queryInt(t, l, "SELECT COUNT(*) FROM users WHERE username = $1 AND email_verified", username) == 1
}

func TestVerificationLink(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := requireVerifiedEmail(t, l)
		reply := register(l.Client(t), "Ann", nil).OK(201)
		wantJSON(t, "emailVerified", reply.Value("user.emailVerified"), false)
		link, token := mailLink(t, verifyPath, box.Next("ann@example.org"))
		if n := queryInt(t, l, "SELECT COUNT(*) FROM mailed_tokens WHERE hash = $1", token); n != 0 {
			t.Error("the token itself is stored")
		}

		// only the right password reveals it
		wantStatus(t, "a wrong password", postLogin(l.Client(t), "Ann", "not it"), 401, "INVALID_CREDENTIALS")
		wantStatus(t, "before", postLogin(l.Client(t), "Ann", "password of Ann"), 403, "EMAIL_NOT_VERIFIED")

		visitor := l.Client(t)
		for _, path := range []string{"/api/auth/verify-email", "/api/auth/verify"} { // abuse case C44
			wantStatus(t, "HEAD", visitor.Head(path+"?token="+token), 200, "")
			wantStatus(t, "HEAD, wrong", visitor.Head(path+"?token="+strings.Repeat("x", 43)), 400, "")
		}
		if isVerified(t, l, "Ann") {
			t.Fatal("HEAD verifies")
		}
		wantStatus(t, "POST", visitor.Post("/api/auth/verify-email?token="+token, nil), 405, "METHOD_NOT_ALLOWED")
		wantStatus(t, "still", postLogin(l.Client(t), "Ann", "password of Ann"), 403, "EMAIL_NOT_VERIFIED")

		for i, path := range []string{link, "/api/auth/verify?token=" + token, link} { // any number of times
			page := visitor.Get(path).OK(200)
			for header, want := range map[string]string{
				"Content-Type": "text/html; charset=utf-8", "Cache-Control": "private, no-store",
				"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; style-src '" + hashOfStyle(t, page) +
					"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'", "Set-Cookie": "",
			} {
				if got := page.Header.Get(header); got != want {
					t.Errorf("%d: %s is %q, want %q", i, header, got, want)
				}
			}
			for _, text := range []string{"Your email address is verified", "邮箱地址已验证", `href="/app/login"`,
				"<title>"} {
				if !strings.Contains(string(page.Body), text) {
					t.Errorf("the page lacks %q: %s", text, page.Body)
				}
			}
			if strings.Contains(string(page.Body), token) {
				t.Error("the page reveals the token")
			}
			if !isVerified(t, l, "Ann") {
				t.Error("not verified")
			}
		}
		wantStatus(t, "me", visitor.Get("/api/auth/me"), 401, "UNAUTHORIZED")
		ann := l.SignIn(t, "Ann", "password of Ann")
		wantJSON(t, "emailVerified", ann.Get("/api/auth/me").OK(200).Value("user.emailVerified"), true)

		l.Clock.Advance(24*time.Hour - time.Millisecond)
		wantStatus(t, "a millisecond before its end", visitor.Get(link), 200, "")
		l.Sweep()
		wantStatus(t, "swept a millisecond before its end", visitor.Get(link), 200, "")
		l.Clock.Advance(time.Millisecond)
		wantStatus(t, "at its end", visitor.Get(link), 400, "VALIDATION_ERROR")
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM mailed_tokens"); n != 0 {
			t.Errorf("%d tokens are left", n)
		}
		if strings.Contains(l.Log.String(), token) {
			t.Error("the token is logged")
		}
	})
}

func TestBadVerificationLinks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		visitor := l.Client(t)
		names := map[string]string{}
		for i, name := range []string{"expired", "moved", "disabled", "other_kind", "respelled"} {
			l.User(t, name)
			execAndRaiseVersion(t, l, "UPDATE users SET email_verified = FALSE WHERE username = $1", name)
			names[name] = strings.Repeat(fmt.Sprint(i), 43)
			end := l.Clock.Now().Add(time.Hour)
			if name == "expired" {
				end = l.Clock.Now()
			}
			setVerificationToken(t, l, name, names[name], end)
		}
		execAndRaiseVersion(t, l,
			"UPDATE users SET email = 'new@example.org', email_fold = 'new@example.org' WHERE username = 'moved'")
		execAndRaiseVersion(t, l, "UPDATE users SET status = 'disabled' WHERE username = 'disabled'")
		// abuse case C40
		execAndRaiseVersion(t, l,
			"UPDATE mailed_tokens SET purpose = 'reset' WHERE user_id = (SELECT id FROM users WHERE username = "+
				"'other_kind')")
		session := l.User(t, "signed_in").Cookies["auth_token"]
		for name, token := range map[string]string{
			"none": "", "unknown": strings.Repeat("u", 43), "short": "abc", "long": strings.Repeat("l", 44),
			"a megabyte": strings.Repeat("l", 50000), "NUL": "%00" + strings.Repeat("n", 42),
			"not UTF-8": "%ff" + strings.Repeat("n", 42),
			"expired":   names["expired"], "of another address": names["moved"],
			"of a disabled account": names["disabled"], "of another kind": names["other_kind"],
			"its hash": tokenHash(names["respelled"]), "a session": session,
		} {
			for _, path := range []string{"/api/auth/verify-email?token=", "/api/auth/verify?token="} {
				for _, accept := range []string{"", "*/*", "application/json, text/html", "application/xhtml+xml"} {
					wantStatus(t, name, visitor.Get(path+token, "Accept", accept), 400, "VALIDATION_ERROR")
				}
				page := visitor.Get(path+token, "Accept", "text/html,application/xhtml+xml;q=0.9")
				wantStatus(t, name+" in a browser", page, 400, "")
				if page.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
					page.Header.Get("Cache-Control") != "private, no-store" ||
					!strings.Contains(string(page.Body), "This link does not work") ||
					!strings.Contains(string(page.Body), "此链接无效") {
					t.Errorf("%s in a browser: %v %s", name, page.Header, page.Body)
				}
			}
		}
		wantStatus(t, "no query", visitor.Get("/api/auth/verify-email"), 400, "VALIDATION_ERROR")
		if n := queryInt(t, l, "SELECT COUNT(*) FROM users WHERE NOT email_verified"); n != 5 {
			t.Errorf("%d are unverified, want 5", n)
		}
		// the same address with other upper and lower case is the same address
		execAndRaiseVersion(t, l, "UPDATE users SET email = 'ReSpelled@Example.org' WHERE username = 'respelled'")
		visitor.Get("/api/auth/verify?token=" + names["respelled"]).OK(200)
		if !isVerified(t, l, "respelled") {
			t.Error("not verified")
		}
		// and a verification link works for nothing else
		alien := l.Client(t)
		alien.Cookies["auth_token"] = names["respelled"]
		wantStatus(t, "as a session", alien.Get("/api/auth/me"), 401, "INVALID_TOKEN")
		wantStatus(t, "at the gateway", visitor.Get("/api/gateway/download/"+names["respelled"]), 401, "INVALID_TOKEN")
	})
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])[:43]
}

// Abuse case C73. The page's text is in the reader's language first.
func TestVerificationPageIsEscapedAndInBothLanguages(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	l.ChangeSettings(t, func(s *site.Settings) { s.SiteTitle = `"><script>alert(1)</script>&` })
	l.User(t, "lee")
	setVerificationToken(t, l, "lee", strings.Repeat("a", 43), l.Clock.Now().Add(time.Hour))
	page := func(token, language string) string {
		return string(l.Client(t).Get("/api/auth/verify?token="+token, "Accept", "text/html", "Accept-Language",
			language).Body)
	}
	good, bad := strings.Repeat("a", 43), strings.Repeat("b", 43)
	for _, test := range []struct{ token, language, locale, first string }{
		{good, "zh-CN", "en-US", "en"}, {good, "en", "zh-CN", "zh-CN"}, // the account's language
		{bad, "zh", "en-US", "zh-CN"}, {bad, "en-GB,zh;q=0.9", "zh-CN", "en"}, {bad, "", "zh-CN", "en"},
	} {
		execAndRaiseVersion(t, l, "UPDATE users SET locale = $1 WHERE username = 'lee'", test.locale)
		text := page(test.token, test.language)
		if !strings.Contains(text, `<html lang="`+test.first+`">`) || strings.Count(text, "<section") != 2 {
			t.Errorf("%v: %s", test, text)
		}
		if strings.Contains(text, "<script") || strings.Count(text, "&lt;script&gt;") != 2 {
			t.Errorf("not escaped: %s", text)
		}
	}
}

// The page looks like the sign-in of the web UI: its tokens are those of the style sheet there, in
// both themes. The accent in the dark is none of them: scripts calculate it.
func TestVerificationPageHasTheTokensOfTheUI(t *testing.T) {
	t.Parallel()
	sheet, err := os.ReadFile("../../web/src/app.css")
	if err != nil {
		t.Fatal(err)
	}
	l := apptest.Start(t, "sqlite")
	page := l.Client(t).Get("/api/auth/verify?token=x", "Accept", "text/html")
	ofUI, ofPage := tokensOf(string(sheet)), tokensOf(string(page.Body))
	if len(ofPage["light"]) < 10 || len(ofPage["dark"]) < 5 {
		t.Fatalf("few tokens: %v", ofPage)
	}
	for theme, tokens := range ofPage {
		for name, value := range tokens {
			if name == "accent-text" && theme == "dark" {
				continue
			}
			if want := ofUI[theme][name]; value != want {
				t.Errorf("--%s is %q in the %s theme, the UI has %q", name, value, theme, want)
			}
		}
	}
}

var (
	themeBlocks = map[string]*regexp.Regexp{
		"light": regexp.MustCompile(`(?s):root \{(.*?)\}`),
		"dark":  regexp.MustCompile(`(?s)(?:data-theme="dark"\],\s+\.dark|scheme: dark\) \{ :root) \{(.*?)\}`),
	}
	styleToken = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]+|[0-9]+px)`)
)

// tokensOf returns the values of the custom properties in a style sheet by theme and name.
func tokensOf(sheet string) map[string]map[string]string {
	tokens := map[string]map[string]string{"light": {}, "dark": {}}
	for theme, block := range themeBlocks {
		for _, m := range styleToken.FindAllStringSubmatch(block.FindString(sheet), -1) {
			tokens[theme][m[1]] = m[2]
		}
	}
	return tokens
}

func TestResendVerification(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const path = "/api/auth/resend-verification"
		resend := func(email string) string {
			t.Helper()
			reply := l.Client(t).Post(path, M{"email": email}).OK(200)
			wantFields(t, "data", reply.Object()["data"], "message")
			return reply.Text("message")
		}
		l.User(t, "verified")
		l.User(t, "disabled")
		execAndRaiseVersion(t, l,
			"UPDATE users SET email_verified = FALSE, status = 'disabled' WHERE username = 'disabled'")
		first := resend("nobody@example.org") // while mails are off, too
		if n := queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'resend-mail'"); n != 0 {
			t.Errorf("%d jobs although no mail server is set up", n)
		}
		box := requireVerifiedEmail(t, l)
		register(l.Client(t), "Ann", nil).OK(201)
		_, one := mailLink(t, verifyPath, box.Next("ann@example.org"))
		for _, email := range []string{"nobody@example.org", "verified@example.org", "disabled@example.org",
			"ANN@example.org", "ann@example.org", "ann@example.org", "ann@example.org"} {
			if got := resend(email); got != first {
				t.Errorf("%s gets the answer %q, others get %q", email, got, first)
			}
			waitForMails(t, l)
		}
		_, two := mailLink(t, verifyPath, box.Next("ann@example.org"))
		_, three := mailLink(t, verifyPath, box.Next("ann@example.org"))
		if one == two || two == three || box.Len() != 0 {
			t.Errorf("%d mails are left; the limit is three in 15 minutes", box.Len())
		}
		l.Clock.Advance(15*time.Minute - time.Millisecond)
		resend("ann@example.org")
		waitForMails(t, l)
		if box.Len() != 0 {
			t.Error("a fourth mail within 15 minutes")
		}
		l.Clock.Advance(time.Millisecond)
		resend("ann@example.org")
		waitForMails(t, l)
		_, four := mailLink(t, verifyPath, box.Next("ann@example.org"))
		for _, token := range []string{one, four} { // one does not invalidate another
			wantStatus(t, "any of them", l.Client(t).Get("/api/auth/verify?token="+token), 200, "")
		}
		l.Clock.Advance(time.Hour)
		resend("ann@example.org") // verified by now
		waitForMails(t, l)
		if box.Len() != 0 {
			t.Error("a mail to a verified account was sent")
		}
		for name, body := range map[string]M{"no address": {"email": "ann"}, "nothing": {}, "null": {"email": nil},
			"a number": {"email": 1}, "too long": {"email": strings.Repeat("a", 251) + "@b.c"}} {
			wantStatus(t, name, l.Client(t).Post(path, body), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "from across sites", l.Client(t).Post(path, M{"email": "ann@example.org"}, "Sec-Fetch-Site",
			"cross-site"), 403, "FORBIDDEN")
	})
}

// Concurrent requests get no more mails than sequential ones and have one place in the queue.
func TestResendVerificationInParallel(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := requireVerifiedEmail(t, l)
		port := box.Port
		register(l.Client(t), "ann", nil).OK(201)
		waitForMails(t, l)
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = 1 })
		countStatuses(t, runConcurrently(t, l.Client(t), 20, func(c *apptest.Client, i int) *apptest.Reply {
			return c.Post("/api/auth/resend-verification",
				M{"email": []string{"ann@example.org", "Ann@Example.ORG"}[i%2]})
		}))
		tried := func(times int) (waiting int, all bool) {
			waiting = queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type = 'resend-mail'")
			return waiting, waiting == queryInt(t, l,
				"SELECT COUNT(*) FROM jobs WHERE type = 'resend-mail' AND status = 'pending' AND attempts = $1", times)
		}
		waitUntil(t, "all mails were tried", func() bool { _, all := tried(1); return all })
		l.Clock.Advance(time.Minute)
		waitUntil(t, "one waits", func() bool { waiting, all := tried(2); return waiting == 1 && all })
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = port })
		l.Clock.Advance(time.Minute)
		waitForMails(t, l)
		if box.Len() != 2 {
			t.Errorf("%d mails, the first included", box.Len())
		}
		for range 3 {
			l.Client(t).Post("/api/auth/resend-verification", M{"email": "ann@example.org"}).OK(200)
			waitForMails(t, l)
		}
		if box.Len() != 3 {
			t.Errorf("%d mails", box.Len())
		}
	})
}

// A mail server that is down for a while does not use up anybody's three mails.
func TestVerificationMailIsRetried(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := requireVerifiedEmail(t, l)
		port := box.Port
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = 1 })
		register(l.Client(t), "ann", nil).OK(201)
		for try := range 4 {
			waitUntil(t, "a try has failed", func() bool {
				return queryInt(t, l,
					"SELECT COUNT(*) FROM jobs WHERE type = 'verify-mail' AND status = 'pending' AND attempts = $1",
					try+1) == 1
			})
			l.Clock.Advance(time.Minute)
		}
		l.ChangeSettings(t, func(s *site.Settings) { s.SMTPPort = port })
		l.Clock.Advance(10 * time.Minute)
		link, _ := mailLink(t, verifyPath, box.Next("ann@example.org"))
		l.Client(t).Get(link).OK(200)
	})
}
