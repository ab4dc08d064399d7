package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

const mySettingsPath = "/api/users/me/settings"

func changePassword(c *apptest.Client, old, fresh string) *apptest.Reply {
	return c.Put("/api/users/me/password", M{"oldPassword": old, "newPassword": fresh})
}

func TestMySettings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "Alice", M{"email": "Alice@Example.org", "maxStorage": 1000, "maxFiles": 7})
		first := alice.Get(mySettingsPath).OK(200)
		wantFields(t, "data", first.Object()["data"], "profile", "appearance", "quota", "trashDays")
		wantJSON(t, "appearance", first.Value("appearance"),
			M{"theme": "system", "accentColor": "#3b6cf6", "enableBlur": true})
		wantJSON(t, "quota", first.Value("quota"),
			M{"maxStorage": 1000, "usedStorage": 0, "maxFiles": 7, "usedFiles": 0})
		profile := func(r *apptest.Reply) map[string]any {
			got, _ := r.Value("profile").(map[string]any)
			return got
		}
		if first.Int("profile.createdAt") != l.Clock.Now().UnixMilli() {
			t.Errorf("createdAt is %d", first.Int("profile.createdAt"))
		}
		want := M{
			"id": callerID(alice), "avatar": nil, "username": "Alice", "email": "Alice@Example.org",
			"emailVerified": true, "displayName": nil,
			"avatarUrl": nil, "defaultPath": "/home/Alice", "locale": "en-US", "role": "user",
			"createdAt": first.Int("profile.createdAt"),
		}
		wantJSON(t, "profile", profile(first), want)

		done := alice.Put(mySettingsPath, M{
			"displayName": "  e\u0301milie  ", "avatarUrl": "https://example.org/a.png?x=1#y", "locale": "zh-CN",
			"theme": "dark", "defaultPath": "/home//Alice/./photos/", "accentColor": "#aBcDeF", "enableBlur": false,
			// abuse case C52
			"role": "admin", "ROLE": "admin", "status": "banned", "email": "eve@example.org", "emailVerified": false,
			"username": "eve", "maxStorage": -1, "maxFiles": -1, "id": "x", "homeId": "x", "sessionVersion": 9,
			"createdAt": 1,
		}).OK(200)
		wantFields(t, "data of a change", done.Object()["data"], "message")
		want["displayName"], want["avatarUrl"] = "  \u00e9milie  ", "https://example.org/a.png?x=1#y"
		want["locale"], want["defaultPath"] = "zh-CN", "/home/Alice/photos"
		for range 2 { // both replicas
			second := alice.Get(mySettingsPath).OK(200)
			wantJSON(t, "profile", profile(second), want)
			wantJSON(t, "appearance", second.Value("appearance"),
				M{"theme": "dark", "accentColor": "#aBcDeF", "enableBlur": false})
			wantJSON(t, "quota", second.Value("quota"),
				M{"maxStorage": 1000, "usedStorage": 0, "maxFiles": 7, "usedFiles": 0})
		}

		alice.Put(mySettingsPath, M{}).OK(200)
		alice.Put(mySettingsPath, M{"locale": nil, "theme": nil, "defaultPath": nil, "accentColor": nil,
			"enableBlur": nil, "unknown": 1, "DisplayName": "x"}).OK(200)
		wantJSON(t, "profile after nothing", profile(alice.Get(mySettingsPath).OK(200)), want)
		alice.Put(mySettingsPath, M{"displayName": nil}).OK(200)
		want["displayName"] = nil
		wantJSON(t, "profile without a name", profile(alice.Get(mySettingsPath).OK(200)), want)
		alice.Put(mySettingsPath, M{"avatarUrl": nil}).OK(200)
		want["avatarUrl"] = nil
		wantJSON(t, "profile without a picture", profile(alice.Get(mySettingsPath).OK(200)), want)
		wantStatus(t, "without a session", l.Client(t).Get(mySettingsPath), 401, "UNAUTHORIZED")
	})
}

func TestMySettingsAreChecked(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		before := string(alice.Get(mySettingsPath).OK(200).Body)
		for field, values := range map[string][]any{
			"displayName": {strings.Repeat("é", 101), strings.Repeat("e\u0301", 101), "a\nb", "a\x00", "a\u202eb",
				"a\u2066b", "a\u2028b", 1, []string{"a"}, strings.Repeat("a", 100000)},
			"avatarUrl": {
				// abuse case C66
				"https://e.org/" + strings.Repeat("a", 987), "javascript:alert(1)", "JavaScript:alert(1)",
				"data:image/png;base64,AA", "vbscript:x", "file:///etc/passwd", "ftp://example.org/a",
				"//evil.example/a.png", `/\evil.example/a.png`, `\\evil.example`, "/a\\b", "a.png", "https://",
				"https:/a", "https:a", "http://exa mple.org/", "https://e.org/a\nb", "https://e.org/\u202e", ":", "%",
				1,
			},
			"locale": {"en", "EN-us", "zh-cn", "", "de-DE", 1},
			"theme":  {"blue", "Dark", "", true},
			// abuse case C75
			"accentColor": {"#12345", "#1234567", "#12345\n", "#123456\n", "123456", "#12345g", "red", "", "#1234 6",
				"#１２３４５６", 1},
			"enableBlur": {"true", 1, ""},
			"defaultPath": {"", "home", "home/alice", "/home/../etc", "..", "/..", "/a\\b", "/a\x00", "/a\n",
				strings.Repeat("/a", 65), "/" + strings.Repeat("a", 256), 1},
		} {
			for _, value := range values {
				body := M{"theme": "light", "enableBlur": false} // refused together with it
				body[field] = value
				wantStatus(t, fmt.Sprintf("%s %.60q", field, value), alice.Put(mySettingsPath, body), 400,
					"VALIDATION_ERROR")
			}
		}
		wantJSON(t, "the settings after a refusal", string(alice.Get(mySettingsPath).OK(200).Body), before)
		for field, values := range map[string][]any{
			"displayName": {strings.Repeat("é", 100), strings.Repeat("e\u0301", 100), "Émilie 😀 <b>", "", "名字"},
			"avatarUrl": {"https://e.org/" + strings.Repeat("a", 986), "/home/alice/a.png", "/",
				"http://localhost:8080/a", "HTTPS://example.org", ""},
			"locale":      {"zh-CN", "en-US"},
			"theme":       {"light", "dark", "system"},
			"accentColor": {"#000000", "#FFFFFF", "#aBcDeF"},
			"enableBlur":  {true, false},
			"defaultPath": {"/", "/home/alice", "/no/such/folder", "/%2e%2e", strings.Repeat("/a", 64)},
		} {
			for _, value := range values {
				wantStatus(t, fmt.Sprintf("%s %.60q", field, value), alice.Put(mySettingsPath, M{field: value}), 200,
					"")
			}
		}
		alice.Put(mySettingsPath, M{"displayName": "x", "avatarUrl": "/x"}).OK(200)
		alice.Put(mySettingsPath, M{"displayName": " ", "avatarUrl": ""}).OK(200)
		wantJSON(t, "an empty name", alice.Get(mySettingsPath).Value("profile.displayName"), nil)
		wantJSON(t, "an empty picture", alice.Get(mySettingsPath).Value("profile.avatarUrl"), nil)
	})
}

// The folder that opens first gives no permission and removes none.
func TestDefaultPathGrantsNoRights(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		bob.Upload("/home/bob", "secret.txt", []byte("x"))
		for _, path := range []string{"/home/bob", "/home", "/"} {
			alice.Put(mySettingsPath, M{"defaultPath": path}).OK(200)
			wantJSON(t, "defaultPath", alice.Get("/api/auth/me").OK(200).Value("user.defaultPath"), path)
			wantStatus(t, "another's home", listFolder(alice, "/home/bob"), 403, "FORBIDDEN")
			alice.Upload("/home/alice", "of alice", []byte("x"))
		}
		wantStatus(t, "another's home, for writing",
			alice.Post("/api/files/folder", M{"path": "/home/bob", "name": "x"}), 403, "FORBIDDEN")
	})
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		box := l.Mailbox(t)
		alice := l.User(t, "alice")
		other := l.SignIn(t, "alice", "password of alice")
		token := mailedResetToken(t, l, box, "alice@example.org")
		code := mailedCode(t, box, alice, "new@example.org")
		for name, body := range map[string]M{
			"nothing": {}, "no old one": {"newPassword": "a new password"},
			"no new one":        {"oldPassword": "password of alice"},
			"an empty old one":  {"oldPassword": "", "newPassword": "a new password"},
			"7 characters":      {"oldPassword": "password of alice", "newPassword": "1234567"},
			"7 of four bytes":   {"oldPassword": "password of alice", "newPassword": strings.Repeat("😀", 7)},
			"129 characters":    {"oldPassword": "password of alice", "newPassword": strings.Repeat("a", 129)},
			"an old one of 129": {"oldPassword": strings.Repeat("a", 129), "newPassword": "a new password"},
			"1 MB":              {"oldPassword": "password of alice", "newPassword": strings.Repeat("a", 1000000)},
			"a number":          {"oldPassword": "password of alice", "newPassword": 12345678},
		} {
			wantStatus(t, name, alice.Put("/api/users/me/password", body), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "a wrong one", changePassword(alice, "Password of alice", "a new password"), 401,
			"INVALID_PASSWORD")
		wantStatus(t, "without a session", changePassword(l.Client(t), "password of alice", "a new password"), 401,
			"UNAUTHORIZED")
		wantStatus(t, "still signed in", other.Get("/api/auth/me"), 200, "")

		done := changePassword(alice.Fork(), "password of alice", strings.Repeat("😀", 128)).OK(200)
		wantFields(t, "data", done.Object()["data"], "message")
		if set := onlyCookie(t, done); set.Name != "auth_token" || set.MaxAge >= 0 || set.Value != "" {
			t.Errorf("the cookie is %+v", set)
		}
		for range 2 { // both replicas; abuse case C41
			for _, c := range []*apptest.Client{alice, other} {
				for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files?path=/home/alice",
					mySettingsPath, "/api/keys/", "/api/files/jobs"} {
					wantStatus(t, path, c.Get(path), 401, "SESSION_REVOKED")
				}
				wantStatus(t, "settings", c.Put(mySettingsPath, M{"theme": "dark"}), 401, "SESSION_REVOKED")
				wantStatus(t, "the password again",
					changePassword(c.Fork(), strings.Repeat("😀", 128), "yet another one"), 401, "SESSION_REVOKED")
			}
		}
		wantStatus(t, "the old password", postLogin(l.Client(t), "alice", "password of alice"), 401,
			"INVALID_CREDENTIALS")
		again := l.SignIn(t, "alice", strings.Repeat("😀", 128))
		wantStatus(t, "a reset link from before", resetPassword(l.Client(t), token, "by the link"), 400,
			"VALIDATION_ERROR")
		wantStatus(t, "a code from before", confirmCode(again, "new@example.org", code), 400, "VALIDATION_ERROR")
		wantStatus(t, "8 characters", changePassword(again, strings.Repeat("😀", 128), "12345678"), 200, "")
	})
}

// After ten wrong passwords a minute for an account and address, no password is checked.
func TestOldPasswordGuessLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	alice, bob := l.User(t, "alice"), l.User(t, "bob")
	for i := range 10 {
		wantStatus(t, fmt.Sprint("wrong ", i+1), changePassword(alice, "wrong", "a new password"), 401,
			"INVALID_PASSWORD")
	}
	limit := changePassword(alice, "password of alice", "a new password")
	wantStatus(t, "the eleventh, right", limit, 429, "RATE_LIMIT_EXCEEDED")
	if limit.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantStatus(t, "another account", changePassword(bob, "wrong", "a new password"), 401, "INVALID_PASSWORD")
	l.Clock.Advance(time.Minute)
	wantStatus(t, "a minute later", changePassword(alice, "password of alice", "a new password"), 200, "")
}

// Of two concurrent changes with the same old password, one succeeds and its password counts.
func TestConcurrentPasswordChanges(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		password := "password of alice"
		for round := range 5 {
			c := l.SignIn(t, "alice", password)
			replies := runConcurrently(t, c, 2, func(c *apptest.Client, i int) *apptest.Reply {
				return changePassword(c, password, fmt.Sprintf("password %d of round %d", i, round))
			})
			n := countStatuses(t, replies)
			if n[200] != 1 || n[401] != 1 {
				t.Fatalf("answers %v", n)
			}
			for i, r := range replies {
				if r.Status == 200 {
					password = fmt.Sprintf("password %d of round %d", i, round)
				}
			}
		}
		wantStatus(t, "the last", postLogin(l.Client(t), "alice", password), 200, "")
	})
}
