package api_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/secret"
)

var (
	loginFields = []string{"id", "username", "email", "emailVerified", "role", "displayName", "avatarUrl",
		"defaultPath", "locale", "theme"}
	meFields = []string{"id", "username", "email", "emailVerified", "role", "displayName", "defaultPath", "locale",
		"theme"}
	quotaFields = []string{"maxStorage", "usedStorage", "maxFiles", "usedFiles"}
)

func postLogin(c *apptest.Client, username, password string, header ...string) *apptest.Reply {
	return c.Post("/api/auth/login", M{"username": username, "password": password}, header...)
}

// onlyCookie returns the only cookie that a reply sets, apart from the known-device cookie.
func onlyCookie(t *testing.T, r *apptest.Reply) *http.Cookie {
	t.Helper()
	all := (&http.Response{Header: r.Header}).Cookies()
	all = slices.DeleteFunc(all, func(c *http.Cookie) bool { return c.Name == api.DeviceCookie })
	if len(all) != 1 {
		t.Fatalf("%d cookies are set: %v", len(all), r.Header.Values("Set-Cookie"))
	}
	return all[0]
}

func TestLogin(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "Alice", M{"email": "Alice@Example.org", "maxStorage": 1000, "maxFiles": 7})
		const password = "password of Alice"
		c := l.Client(t)
		c.Cookies["auth_token"] = "set beforehand"
		reply := postLogin(c, "Alice", password).OK(200)
		data := reply.Object()["data"]
		wantFields(t, "data", data, "user", "quota")
		wantFields(t, "user", reply.Value("user"), loginFields...)
		wantFields(t, "quota", reply.Value("quota"), quotaFields...)
		user, _ := reply.Value("user").(map[string]any)
		id := user["id"]
		delete(user, "id")
		wantJSON(t, "user", user, M{
			"username": "Alice", "email": "Alice@Example.org", "emailVerified": true, "role": "user",
			"displayName": nil, "avatarUrl": nil,
			"defaultPath": "/home/Alice", "locale": "en-US", "theme": "system",
		})
		wantJSON(t, "quota", reply.Value("quota"),
			M{"maxStorage": 1000, "usedStorage": 0, "maxFiles": 7, "usedFiles": 0})

		// abuse case C45
		set := onlyCookie(t, reply)
		if set.Name != "auth_token" || !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" ||
			set.MaxAge != 7*24*3600 || set.Secure || set.Domain != "" {
			t.Errorf("the cookie is %+v", set)
		}
		if set.Value == "set beforehand" || strings.Count(set.Value, ".") != 2 {
			t.Errorf("the token is %q", set.Value)
		}
		if again := onlyCookie(t, postLogin(c, "Alice", password).OK(200)); again.Value == set.Value {
			t.Error("two logins got the same token")
		}

		me := c.Get("/api/auth/me").OK(200)
		wantFields(t, "data of me", me.Object()["data"], "user", "quota")
		wantFields(t, "user of me", me.Value("user"), meFields...)
		wantFields(t, "quota of me", me.Value("quota"), quotaFields...)
		wantJSON(t, "id of me", me.Value("user.id"), id)

		for _, name := range []string{"alice", "ALICE", "alice@example.org", "ALICE@EXAMPLE.ORG"} {
			wantStatus(t, name, postLogin(l.Client(t), name, password), 200, "")
		}
		token := l.Client(t).Post("/api/auth/login",
			M{"username": "alice", "password": password, "captchaToken": "anything", "role": "admin",
				"emailVerified": false, "Password": "x"})
		wantStatus(t, "with a captcha token and fields that don't belong there", token, 200, "") // abuse case C52
		wantJSON(t, "role", token.Value("user.role"), "user")
		wantStatus(t, "captchaToken null", l.Client(t).Post("/api/auth/login",
			M{"username": "alice", "password": password, "captchaToken": nil}), 200, "")

		// the same answer for a wrong user and a wrong password: abuse case C48
		var bodies []string
		for _, row := range [][2]string{{"Alice", "wrong password"}, {"nobody", password},
			{"nobody@example.org", password}, {"Alice", strings.ToUpper(password)}, {"Alice", password + " "},
			{"' OR 1=1 --", password}} {
			reply := postLogin(l.Client(t), row[0], row[1]).Fails(401, "INVALID_CREDENTIALS")
			bodies = append(bodies, reply.BodyWithoutID())
			if got := reply.Header.Values("Set-Cookie"); got != nil {
				t.Errorf("%q: cookies %v", row, got)
			}
		}
		for _, body := range bodies {
			if body != bodies[0] {
				t.Errorf("%s\nand\n%s", bodies[0], body)
			}
		}
		// abuse case C53
		for _, guess := range []string{"admin", "password", "larder", "changeme"} {
			wantStatus(t, "admin/"+guess, postLogin(l.Client(t), "admin", guess), 401, "INVALID_CREDENTIALS")
		}

		for name, body := range map[string]M{
			"no username": {"password": password}, "no password": {"username": "Alice"},
			"username null":  {"username": nil, "password": password},
			"password null":  {"username": "Alice", "password": nil},
			"empty username": {"username": "", "password": password},
			"empty password": {"username": "Alice", "password": ""},
			"a number":       {"username": "Alice", "password": 12345678}, "nothing": {},
			// abuse case C107
			"129 characters":     {"username": "Alice", "password": strings.Repeat("a", 129)},
			"a password of 1 MB": {"username": "Alice", "password": strings.Repeat("a", 1000000)},
		} {
			wantStatus(t, name, l.Client(t).Post("/api/auth/login", body), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "128 characters", postLogin(l.Client(t), "Alice", strings.Repeat("é", 128)), 401,
			"INVALID_CREDENTIALS")
	})
}

// Only a caller who knows the password learns the state of the account.
func TestLoginOfAnInactiveAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, state := range []string{"disabled", "banned"} {
			c := l.User(t, state)
			setUserStatus(t, l, state, state)
			wantStatus(t, state+", right password", postLogin(l.Client(t), state, "password of "+state), 401,
				"USER_DISABLED")
			wantStatus(t, state+", wrong password", postLogin(l.Client(t), state, "wrong password"), 401,
				"INVALID_CREDENTIALS")
			wantStatus(t, state+", session", c.Get("/api/auth/me"), 401, "SESSION_REVOKED")
		}
	})
}

func TestLoginBehindHTTPS(t *testing.T) {
	t.Parallel()
	secure := func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" }
	t.Run("through a trusted proxy", func(t *testing.T) {
		t.Parallel()
		l := apptest.Start(t, "sqlite", secure, apptest.TrustLoopback)
		good := postLogin(l.Client(t), "admin", apptest.AdminPassword, "X-Forwarded-Proto", "https", "X-Forwarded-For",
			"203.0.113.9").OK(200)
		if set := onlyCookie(t, good); !set.Secure || !set.HttpOnly || set.SameSite != http.SameSiteStrictMode ||
			set.Path != "/" || set.MaxAge != 7*24*3600 {
			t.Errorf("the cookie is %+v", set)
		}
		for name, header := range map[string][]string{"no header": nil, "http": {"X-Forwarded-Proto", "http"}} {
			c := l.Client(t)
			c.Header.Del("X-Forwarded-Proto")
			bad := postLogin(c, "admin", apptest.AdminPassword, header...)
			wantStatus(t, name, bad, 403, "FORBIDDEN")
			if !strings.Contains(string(bad.Body), "LARDER_TRUSTED_PROXIES") || bad.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s", name, bad.Body)
			}
		}
		if set := onlyCookie(t, l.Client(t).Post("/api/auth/logout", nil).OK(200)); !set.Secure {
			t.Errorf("logout clears with %+v", set)
		}
	})
	t.Run("through an unknown proxy", func(t *testing.T) {
		t.Parallel()
		l := apptest.Start(t, "sqlite", secure)
		bad := postLogin(l.Client(t), "admin", apptest.AdminPassword, "X-Forwarded-Proto", "https")
		wantStatus(t, "a stranger's word", bad, 403, "FORBIDDEN")
		if !strings.Contains(string(bad.Body), "LARDER_TRUSTED_PROXIES") {
			t.Errorf("%s", bad.Body)
		}
	})
}

func TestLogout(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice")
		first, second := l.SignIn(t, "alice", "password of alice"), l.SignIn(t, "alice", "password of alice")
		bob := l.User(t, "bob")
		stale := first.Fork()

		reply := first.Post("/api/auth/logout", nil).OK(200)
		wantJSON(t, "data", reply.Object()["data"], nil)
		if set := onlyCookie(t, reply); set.Name != "auth_token" || set.MaxAge >= 0 || set.Value != "" ||
			set.Path != "/" || !set.HttpOnly {
			t.Errorf("logout sets %+v", set)
		}
		for range 4 { // twice on each replica
			wantStatus(t, "the cookie that logged out", stale.Fork().Get("/api/auth/me"), 401, "SESSION_REVOKED")
			wantStatus(t, "another session of the account", second.Fork().Get("/api/auth/me"), 401, "SESSION_REVOKED")
			wantStatus(t, "another account", bob.Get("/api/auth/me"), 200, "")
		}
		wantStatus(t, "no cookie", l.Client(t).Post("/api/auth/logout", nil), 200, "")
		wantStatus(t, "with a body", l.Client(t).Post("/api/auth/logout", M{}), 200, "")

		// a stale or invalid cookie changes nothing
		fresh := l.SignIn(t, "alice", "password of alice")
		stale.CSRF = ""
		wantStatus(t, "a stale cookie", stale.Fork().Post("/api/auth/logout", nil), 200, "")
		garbage := l.Client(t)
		for _, value := range []string{"garbage", "a.b.c", strings.Repeat("x", 5000),
			fresh.Cookies["auth_token"] + "x"} {
			garbage.Cookies["auth_token"] = value
			wantStatus(t, "a garbage cookie", garbage.Fork().Post("/api/auth/logout", nil), 200, "")
		}
		wantStatus(t, "the fresh session", fresh.Get("/api/auth/me"), 200, "")

		fresh.CSRF = "" // logout needs no CSRF token
		wantStatus(t, "logout without a CSRF token", fresh.Fork().Post("/api/auth/logout", nil), 200, "")
		wantStatus(t, "after it", fresh.Fork().Get("/api/auth/me"), 401, "SESSION_REVOKED")
	})
}

// The checks run in this order: signature and lifetime, account and session version, role version.
func TestSessionChecks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		wantStatus(t, "no cookie", l.Client(t).Get("/api/auth/me"), 401, "UNAUTHORIZED")
		empty := l.Client(t)
		empty.Cookies["auth_token"] = ""
		wantStatus(t, "an empty cookie", empty.Get("/api/auth/me"), 401, "UNAUTHORIZED")

		c := l.User(t, "carol")
		execAndRaiseVersion(t, l,
			"UPDATE users SET role = 'guest', role_version = role_version + 1 WHERE username = 'carol'")
		for range 2 {
			wantStatus(t, "the role changed", c.Get("/api/auth/me"), 401, "ROLE_CHANGED")
		}
		execAndRaiseVersion(t, l,
			"UPDATE users SET role = 'user', role_version = role_version + 1 WHERE username = 'carol'")
		wantStatus(t, "and back", c.Get("/api/auth/me"), 401, "ROLE_CHANGED")
		execAndRaiseVersion(t, l, "UPDATE users SET session_version = session_version + 1 WHERE username = 'carol'")
		wantStatus(t, "sessions ended as well", c.Get("/api/auth/me"), 401, "SESSION_REVOKED")
		l.Clock.Advance(8 * 24 * time.Hour)
		wantStatus(t, "and too old", c.Get("/api/auth/me"), 401, "INVALID_TOKEN")

		d := l.User(t, "dave")
		execAndRaiseVersion(t, l, "DELETE FROM users WHERE username = 'dave'")
		wantStatus(t, "the account is gone", d.Get("/api/auth/me"), 401, "SESSION_REVOKED")

		// abuse case C41: on every kind of session route
		e := l.User(t, "erin")
		e.Fork().Post("/api/auth/logout", nil).OK(200)
		for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/files", "/api/keys/",
			"/api/admin/rules", "/api/files/jobs/x"} {
			wantStatus(t, path, e.Fork().Get(path), 401, "SESSION_REVOKED")
		}
		wantStatus(t, "a write", e.Fork().Post("/api/files/folder", M{"path": "/home/erin", "name": "x"}), 401,
			"SESSION_REVOKED")
	})
}

func TestSessionLifetime(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c := l.Admin(t)
		l.Clock.Advance(7*24*time.Hour - 2*time.Second) // a JWT counts whole seconds
		wantStatus(t, "just before seven days", c.Get("/api/auth/me"), 200, "")
		l.Clock.Advance(3 * time.Second)
		wantStatus(t, "just after seven days", c.Get("/api/auth/me"), 401, "INVALID_TOKEN")
		l.Clock.Advance(-3 * time.Second) // abuse case C129
		wantStatus(t, "with the clock set back", c.Get("/api/auth/me"), 200, "")
	})
}

// Abuse case C40.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	master := sha256.Sum256([]byte(t.Name())) // the secret key that apptest configures
	ring, err := secret.New(master[:])
	if err != nil {
		t.Fatal(err)
	}
	key := ring.Key("session")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := l.Admin(t).Cookies["auth_token"]
	var said jwt.MapClaims
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(good, ".")[1])
	if err == nil {
		err = json.Unmarshal(payload, &said)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{"sub", "role", "rv", "sv", "jti", "iat", "exp"} {
		if said[claim] == nil {
			t.Errorf("the token has no claim %s: %s", claim, payload)
		}
	}
	if header, _ := base64.RawURLEncoding.DecodeString(strings.Split(good, ".")[0]); !strings.Contains(string(header),
		`"HS256"`) {
		t.Errorf("the token's header is %s", header)
	}
	sign := func(method jwt.SigningMethod, key any, changes M) string {
		claims := maps.Clone(said)
		for name, value := range changes {
			if value == nil {
				delete(claims, name)
			} else {
				claims[name] = value
			}
		}
		text, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	try := func(token string) *apptest.Reply {
		c := l.Client(t)
		c.Cookies["auth_token"] = token
		return c.Get("/api/admin/rules")
	}
	// shows that the test's key is the real one
	wantStatus(t, "re-signed as it was", try(sign(jwt.SigningMethodHS256, key, nil)), 200, "")
	now := l.Clock.Now().Unix()
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"alg none": sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"alg none by hand": base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"None","typ":"JWT"}`)) + "." +
			parts[1] + ".",
		"HS384":                 sign(jwt.SigningMethodHS384, key, nil),
		"HS512":                 sign(jwt.SigningMethodHS512, key, nil),
		"RS256":                 sign(jwt.SigningMethodRS256, rsaKey, nil),
		"another key":           sign(jwt.SigningMethodHS256, []byte("another key of 32 bytes or longer"), nil),
		"an empty key":          sign(jwt.SigningMethodHS256, []byte{}, nil),
		"the master key itself": sign(jwt.SigningMethodHS256, master[:], nil),
		"another derived key":   sign(jwt.SigningMethodHS256, ring.Key("download"), nil),
		"no exp":                sign(jwt.SigningMethodHS256, key, M{"exp": nil}),
		"exp a string":          sign(jwt.SigningMethodHS256, key, M{"exp": "never"}),
		"expired":               sign(jwt.SigningMethodHS256, key, M{"exp": now - 1}),
		"no sub":                sign(jwt.SigningMethodHS256, key, M{"sub": nil}),
		"no sv":                 sign(jwt.SigningMethodHS256, key, M{"sv": nil}),
		"no rv":                 sign(jwt.SigningMethodHS256, key, M{"rv": nil}),
		"no jti":                sign(jwt.SigningMethodHS256, key, M{"jti": nil}),
		"aud of another":        sign(jwt.SigningMethodHS256, key, M{"aud": "larder/reset"}),
		"no aud":                sign(jwt.SigningMethodHS256, key, M{"aud": nil}),
		"signature cut":         good[:len(good)-4],
		"signature missing":     parts[0] + "." + parts[1] + ".",
		"payload changed": parts[0] + "." +
			base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"admin"`, `"user"`, 1))) +
			"." + parts[2],
		"two dots only": "..",
		"garbage":       "garbage",
		"10 KB":         strings.Repeat("a", 10000),
		"an API key":    "pk_aaaaaaaaaaaaaaaaaaaaaaaa.sk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		wantStatus(t, name, try(token), 401, "INVALID_TOKEN")
	}
	// a session that started with the role user is not raised with the row, and a session that
	// claims a role gets the row's role
	alice := l.User(t, "alice")
	text, _ := base64.RawURLEncoding.DecodeString(strings.Split(alice.Cookies["auth_token"], ".")[1])
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "role claimed in the token", try(sign(jwt.SigningMethodHS256, key, M{"role": "admin"})), 403,
		"FORBIDDEN")
	wantStatus(t, "an older session version", try(sign(jwt.SigningMethodHS256, key, M{"sv": -1})), 401,
		"SESSION_REVOKED")
	wantStatus(t, "another role version", try(sign(jwt.SigningMethodHS256, key, M{"rv": 99})), 401, "ROLE_CHANGED")
	wantStatus(t, "an unknown id", try(sign(jwt.SigningMethodHS256, key,
		M{"sub": unknownID})), 401, "SESSION_REVOKED")
}
