package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/config"
)

// verifyPassword gives the password of an entry.
func verifyPassword(c *apptest.Client, id, password string, more ...M) *apptest.Reply {
	return c.Post("/api/files/"+id+"/verify-password", M{"password": password}.With(more...))
}

// unlock gives the password of a path.
func unlock(c *apptest.Client, path, password string) *apptest.Reply {
	return c.Post("/api/public/unlock", M{"path": path, "password": password})
}

// Specification: POST /api/files/{id}/verify-password.
func TestVerifyPasswordOfAFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		file, open := alice.Upload("/home/alice", "a.txt", []byte("alice's")), alice.Upload("/home/alice", "open.txt",
			[]byte("x"))
		setAccessPassword(alice, file, "open sesame")

		reply := verifyPassword(alice, file, "open sesame").OK(200)
		wantFields(t, "data", reply.Object()["data"], "url", "expiresIn")
		wantJSON(t, "expiresIn", reply.Value("expiresIn"), 900)
		address := reply.Text("url")
		if !strings.HasPrefix(address, apptest.BaseURL+"/api/gateway/download/") ||
			alice.Cookies[api.ProofCookie] != "" {
			t.Errorf("%s, cookies %v", address, alice.Cookies)
		}
		got := visitor.Get(address).OK(200)
		wantBody(t, got, "alice's")
		if !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a download is %s", got.Header.Get("Content-Disposition"))
		}
		wantStatus(t, "a second time", visitor.Get(address), 401, "INVALID_TOKEN")
		wantStatus(t, "the plain address still", alice.Get("/api/files/"+file+"/download"), 403, "PASSWORD_REQUIRED")

		// purpose: preview (addition)
		address = verifyPassword(alice, file, "open sesame", M{"purpose": "preview"}).OK(200).Text("url")
		for range 3 {
			got := visitor.Get(address).OK(200)
			wantBody(t, got, "alice's")
			if !strings.HasPrefix(got.Header.Get("Content-Disposition"), "inline") {
				t.Errorf("a preview is %s", got.Header.Get("Content-Disposition"))
			}
		}
		wantStatus(t, "a range of it", visitor.Get(address, "Range", "bytes=0-2"), 206, "")
		l.Clock.Advance(15*time.Minute - time.Second)
		visitor.Get(address).OK(200)
		l.Clock.Advance(2 * time.Second)
		wantStatus(t, "a preview after 15 minutes", visitor.Get(address), 401, "INVALID_TOKEN")

		for _, c := range []struct {
			what   string
			reply  *apptest.Reply
			status int
			code   string
		}{
			{"nobody", verifyPassword(visitor, file, "open sesame"), 401, "UNAUTHORIZED"},
			{"wrong", verifyPassword(alice, file, "open sesamE"), 401, "INVALID_PASSWORD"},
			{"the hash itself does not do", verifyPassword(alice, file, "$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA"),
				401, "INVALID_PASSWORD"},
			{"an administrator", verifyPassword(admin, file, "open sesame"), 200, ""},
			{"an administrator, wrong", verifyPassword(admin, file, "x"), 401, "INVALID_PASSWORD"},
			{"no such file", verifyPassword(alice, "absent", "open sesame"), 404, "NOT_FOUND"},
			{"no such file, no password", alice.Post("/api/files/absent/verify-password", M{}), 404, "NOT_FOUND"},
			{"somebody else's", verifyPassword(bob, file, "open sesame"), 403, "FORBIDDEN"},
			{"somebody else's, no password", bob.Post("/api/files/"+file+"/verify-password", M{}), 403, "FORBIDDEN"},
			{"no password given", alice.Post("/api/files/"+file+"/verify-password", M{}), 400, "VALIDATION_ERROR"},
			{"null given", alice.Post("/api/files/"+file+"/verify-password", M{"password": nil}), 400,
				"VALIDATION_ERROR"},
			{"nothing given", verifyPassword(alice, file, ""), 400, "VALIDATION_ERROR"},
			{"128 characters", verifyPassword(alice, file, strings.Repeat("x", 128)), 401, "INVALID_PASSWORD"},
			{"129 characters", verifyPassword(alice, file, strings.Repeat("x", 129)), 400, "VALIDATION_ERROR"},
			{"a purpose that is none", verifyPassword(alice, file, "open sesame", M{"purpose": "share"}), 400,
				"VALIDATION_ERROR"},
			{"a file without one", verifyPassword(alice, open, "open sesame"), 400, "VALIDATION_ERROR"},
			{"a file without one, none given", alice.Post("/api/files/"+open+"/verify-password", M{}), 400,
				"VALIDATION_ERROR"},
			{"a key", alice.Key(M{"uploadPath": "/home/alice"}).Post("/api/files/"+file+"/verify-password",
				M{"password": "open sesame"}), 403, "FORBIDDEN"},
		} {
			wantStatus(t, c.what, c.reply, c.status, c.code)
		}
	})
}

// A folder's password opens everything below it by a cookie, for its listing and all other
// requests.
func TestVerifyPasswordOfAFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		shut := mkdir(admin, "/public", "shut & closed")
		inside := mkdir(admin, "/public/shut & closed", "inside")
		below := admin.Upload("/public/shut & closed/inside", "in.txt", []byte("below"))
		setAccessPassword(admin, shut, "open sesame")
		const dir = "/public/shut & closed"

		wantStatus(t, "alice lists", listFolder(alice, dir), 403, "PASSWORD_REQUIRED")
		reply := verifyPassword(alice, shut, "open sesame").OK(200)
		wantJSON(t, "url", reply.Value("url"), apptest.BaseURL+"/api/files?path="+url.QueryEscape(dir))
		wantJSON(t, "expiresIn", reply.Value("expiresIn"), 900)
		proof := onlyCookie(t, reply)
		if proof.Name != api.ProofCookie || !proof.HttpOnly || proof.SameSite != http.SameSiteStrictMode ||
			proof.Path != "/" || proof.MaxAge != 900 || proof.Secure || proof.Domain != "" {
			t.Errorf("the cookie is %v", proof)
		}
		if decoded := proof.Value; strings.Contains(decoded, "sesame") {
			t.Errorf("the cookie reveals the password: %s", decoded)
		}
		wantStrings(t, "alice lists now", listNames(alice, dir), "inside")
		wantStrings(t, "alice finds", listNames(alice, "/public", "search", "in."), "in.txt")
		alice.Get(reply.Text("url")).OK(200)
		wantBody(t, alice.Get("/public/shut%20&%20closed/inside/in.txt").OK(200), "below")
		wantBody(t, alice.Get(downloadURL(alice, below)).OK(200), "below")
		wantJSON(t, "not cached by proxies", alice.Get("/public/shut%20&%20closed/inside/in.txt").Header.Get(
			"Cache-Control"), "private, no-store")

		// not for others, and not for a key beside the cookie
		key := alice.Key(M{"uploadPath": "/public"})
		key.Cookies[api.ProofCookie] = proof.Value
		wantStatus(t, "a key with the cookie", key.Get("/api/files/"+below+"/download"), 403, "PASSWORD_REQUIRED")
		wantStatus(t, "bob", listFolder(l.User(t, "bob"), dir), 403, "PASSWORD_REQUIRED")

		// a visitor with the cookie gets the same as other visitors
		visitor := l.Client(t)
		visitor.Cookies[api.ProofCookie] = proof.Value
		wantBody(t, visitor.Get("/public/shut%20&%20closed/inside/in.txt").OK(200), "below")

		// fifteen minutes from when it was given, whatever is given meanwhile
		l.Clock.Advance(10 * time.Minute)
		other := mkdir(admin, "/public", "other")
		setAccessPassword(admin, other, "another one")
		verifyPassword(alice, other, "another one").OK(200)
		wantStrings(t, "both", listNames(alice, dir), "inside")
		l.Clock.Advance(5*time.Minute - time.Second)
		listNames(alice, dir)
		l.Clock.Advance(2 * time.Second)
		wantStatus(t, "after fifteen minutes", listFolder(alice, dir), 403, "PASSWORD_REQUIRED")
		listNames(alice, "/public/other")
		alice.Post("/api/auth/logout", nil).OK(200)
		if alice.Cookies[api.ProofCookie] != "" {
			t.Error("the cookie outlives the session")
		}

		// the folder's password opens a file below; the owner may give it too
		wantBody(t, l.Client(t).Get(verifyPassword(admin, below, "open sesame").OK(200).Text("url")).OK(200), "below")
		verifyPassword(admin, shut, "open sesame").OK(200)
		wantStatus(t, "the owner, wrong", verifyPassword(admin, shut, "x"), 401, "INVALID_PASSWORD")
		bob := l.SignIn(t, "bob", "password of bob")
		verifyPassword(bob, inside, "open sesame").OK(200)
		wantStrings(t, "everything that it covers is open", listNames(bob, dir), "inside")

		// of nested passwords, the nearest counts
		setAccessPassword(admin, below, "the file's own")
		wantStatus(t, "the folder's password at a file with its own", verifyPassword(bob, below, "open sesame"), 401,
			"INVALID_PASSWORD")
		wantBody(t, l.Client(t).Get(verifyPassword(bob, below, "the file's own").OK(200).Text("url")).OK(200), "below")
	})
}

// A cookie that this service did not make for this purpose is ignored and causes no error.
func TestInvalidProofCookies(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		setAccessPassword(admin, admin.Upload("/public", "a.txt", []byte("x")), "open sesame")
		setAccessPassword(admin, mkdir(admin, "/public", "shut"), "open sesame")
		admin.Upload("/public/shut", "in.txt", []byte("below"))
		admin.Upload("/public", "open.txt", []byte("x"))
		unlock(visitor, "/public/shut", "open sesame").OK(200)
		good := visitor.Cookies[api.ProofCookie]
		visitor.Get("/public/shut/in.txt").OK(200)
		body, mac, _ := strings.Cut(good, ".")
		for what, value := range map[string]string{
			"empty": "", "dot": ".", "junk": "junk", "without a signature": body, "an empty signature": body + ".",
			"another payload": "eHl6." + mac,
			"cut":             good[:len(good)-1], "longer": good + "A", "a session": admin.Cookies[api.SessionCookie],
			"huge": strings.Repeat("A", 30000),
		} {
			c := l.Client(t)
			c.Cookies[api.ProofCookie] = value
			wantStatus(t, what, c.Get("/public/shut/in.txt"), 403, "PASSWORD_REQUIRED")
			wantStatus(t, what+", elsewhere", c.Get("/public/open.txt"), 200, "")
			wantStatus(t, what+", settings", c.Get("/api/public/settings"), 200, "")
			c = admin.Fork()
			c.Cookies[api.ProofCookie] = value
			wantStatus(t, what+", signed in", c.Get("/api/auth/me"), 200, "")
		}
		l.Clock.Advance(-2 * time.Hour) // a cookie that would last longer than any does
		wantStatus(t, "from the future", visitor.Get("/public/shut/in.txt"), 403, "PASSWORD_REQUIRED")
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false }) // whose counters do not go back in time
}

// At most 32 passwords are remembered; the oldest are dropped first.
func TestProofsAreBounded(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, visitor := l.Admin(t), l.Client(t)
	for i := range 33 {
		dir := fmt.Sprintf("d%02d", i)
		setAccessPassword(admin, mkdir(admin, "/public", dir), "open sesame")
		admin.Upload("/public/"+dir, "f", []byte("x"))
		l.Clock.Advance(time.Second)
		unlock(visitor, "/public/"+dir, "open sesame").OK(200)
		unlock(visitor, "/public/"+dir, "open sesame").OK(200) // twice counts once
		if i == 31 {
			visitor.Get("/public/d00/f").OK(200)
		}
	}
	wantStatus(t, "the first of 33", visitor.Get("/public/d00/f"), 403, "PASSWORD_REQUIRED")
	for _, dir := range []string{"d01", "d32"} {
		visitor.Get("/public/" + dir + "/f").OK(200)
	}
	if n := len(visitor.Cookies[api.ProofCookie]); n > 4000 {
		t.Errorf("the cookie has %d bytes", n)
	}
}

// The proof cookie is Secure on https.
func TestProofCookieOverHTTPS(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" },
		apptest.TrustLoopback)
	admin := l.Client(t)
	admin.Header.Set("X-Forwarded-Proto", "https")
	admin.Post("/api/auth/login", M{"username": "admin", "password": apptest.AdminPassword}).OK(200)
	admin.CSRF = admin.Get("/api/auth/csrf-token").OK(200).Text("token")
	setAccessPassword(admin, mkdir(admin, "/public", "shut"), "open sesame")
	if proof := onlyCookie(t, unlock(l.Client(t), "/public/shut", "open sesame").OK(200)); !proof.Secure {
		t.Errorf("the cookie is %v", proof)
	}
}

// POST /api/public/unlock: every answer except the right password is a wrong one.
func TestUnlock(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		file := admin.Upload("/public", "a b.txt", []byte("everybody's"))
		shut := mkdir(admin, "/public", "shut")
		admin.Upload("/public/shut", "in.txt", []byte("below"))
		private := alice.Upload("/home/alice", "p.txt", []byte("alice's"))
		admin.Upload("/public", "open.txt", []byte("x"))
		for _, id := range []string{file, shut} {
			setAccessPassword(admin, id, "open sesame")
		}
		setAccessPassword(alice, private, "open sesame")

		reply := unlock(visitor, "/public/a b.txt", "open sesame").OK(200)
		wantFields(t, "data", reply.Object()["data"], "url", "expiresIn")
		wantJSON(t, "expiresIn", reply.Value("expiresIn"), 900)
		wantBody(t, visitor.Get(reply.Text("url")).OK(200), "everybody's")
		wantStatus(t, "once", visitor.Get(reply.Text("url")), 401, "INVALID_TOKEN")
		preview := visitor.Post("/api/public/unlock",
			M{"path": "/public/a b.txt", "password": "open sesame", "purpose": "preview"}).OK(200).Text("url")
		for range 2 {
			wantBody(t, visitor.Get(preview).OK(200), "everybody's")
		}
		wantJSON(t, "a visitor's listing", unlock(visitor, "//public/./shut/", "open sesame").OK(200).Value("url"),
			apptest.BaseURL+"/api/public/files?path=%2Fpublic%2Fshut")
		wantJSON(t, "a session's listing", unlock(alice, "/public/shut", "open sesame").OK(200).Value("url"),
			apptest.BaseURL+"/api/files?path=%2Fpublic%2Fshut")
		wantBody(t, visitor.Get("/public/shut/in.txt").OK(200), "below")
		wantStrings(t, "alice lists", listNames(alice, "/public/shut"), "in.txt")
		wantBody(t, visitor.Get(unlock(alice, "/home/alice/p.txt", "open sesame").OK(200).Text("url")).OK(200),
			"alice's")

		refused := map[string]*apptest.Reply{
			"wrong":                  unlock(l.Client(t), "/public/a b.txt", "x"),
			"wrong for a folder":     unlock(l.Client(t), "/public/shut", "x"),
			"nothing there":          unlock(l.Client(t), "/public/absent", "open sesame"),
			"nothing there, below":   unlock(l.Client(t), "/public/shut/absent", "open sesame"),
			"below a file":           unlock(l.Client(t), "/public/open.txt/x", "open sesame"),
			"no password set":        unlock(l.Client(t), "/public/open.txt", "open sesame"),
			"no folder password":     unlock(l.Client(t), "/public", "open sesame"),
			"the top":                unlock(l.Client(t), "/", "open sesame"),
			"somebody's":             unlock(l.Client(t), "/home/alice/p.txt", "open sesame"),
			"somebody's, by another": unlock(l.User(t, "bob"), "/home/alice/p.txt", "open sesame"),
			"somebody's, by bad session": withCookie(l.Client(t), api.SessionCookie, "junk").
				Post("/api/public/unlock", M{"path": "/home/alice/p.txt", "password": "open sesame"}),
			"a route of the service": unlock(l.Client(t), "/api/files", "open sesame"),
		}
		withoutID := func(r *apptest.Reply) any {
			refusal, _ := r.Object()["error"].(map[string]any)
			delete(refusal, "requestId")
			return refusal
		}
		want := withoutID(refused["wrong"])
		for what, r := range refused {
			wantStatus(t, what, r, 401, "INVALID_PASSWORD")
			wantJSON(t, what, withoutID(r), want)
			if r.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: a cookie is set", what)
			}
		}
		for what, body := range map[string]M{
			"no path": {"password": "x"}, "no password": {"path": "/public/a b.txt"},
			"an empty one": {"path": "/public/a b.txt", "password": ""},
			"relative":     {"path": "public", "password": "x"}, "dots": {"path": "/public/../x", "password": "x"},
			"control":  {"path": "/a\n", "password": "x"},
			"too long": {"path": "/public/a b.txt", "password": strings.Repeat("x", 129)},
			"purpose":  {"path": "/a", "password": "x", "purpose": "x"},
		} {
			wantStatus(t, what, l.Client(t).Post("/api/public/unlock", body), 400, "VALIDATION_ERROR")
		}

		// no CSRF token is needed, but pages of other sites are refused
		plain := alice.Fork()
		plain.CSRF = ""
		unlock(plain, "/home/alice/p.txt", "open sesame").OK(200)
		for _, c := range []*apptest.Client{l.Client(t), alice} {
			wantStatus(t, "across sites", c.Post("/api/public/unlock",
				M{"path": "/public/a b.txt", "password": "open sesame"}, "Sec-Fetch-Site", "cross-site"), 403,
				"FORBIDDEN")
		}
		wantStatus(t, "a key", alice.Key(M{}).Post("/api/public/unlock",
			M{"path": "/public/a b.txt", "password": "open sesame"}), 403, "FORBIDDEN")
		setAllowGuestAccess(t, l, false)
		wantStatus(t, "while guest access is off", unlock(l.Client(t), "/public/a b.txt", "open sesame"), 401,
			"INVALID_PASSWORD")
	})
}

func withCookie(c *apptest.Client, name, value string) *apptest.Client {
	c.Cookies[name] = value
	return c
}

// A minute allows ten wrong passwords by address and target. All paths that lead to one password
// are one target.
func TestWrongPasswordsAreLimited(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite") // replicas share counters only through Redis
	admin, visitor := l.Admin(t), l.Client(t)
	shut := mkdir(admin, "/public", "shut")
	in := admin.Upload("/public/shut", "in.txt", []byte("x"))
	setAccessPassword(admin, shut, "open sesame")
	alone := admin.Upload("/public", "alone.txt", []byte("x"))
	setAccessPassword(admin, alone, "open sesame")
	verifyPassword(admin, alone, "open sesame").OK(200) // right ones do not count
	for i := range 10 {
		wantStatus(t, fmt.Sprint("wrong ", i), verifyPassword(admin, alone, "x"), 401, "INVALID_PASSWORD")
	}
	r := verifyPassword(admin, alone, "open sesame")
	wantStatus(t, "the eleventh, right or not", r, 429, "RATE_LIMIT_EXCEEDED")
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantStatus(t, "by its path", unlock(visitor, "/public/alone.txt", "open sesame"), 429, "RATE_LIMIT_EXCEEDED")

	for i := range 10 { // many names lead to one password
		wantStatus(t, fmt.Sprint("by path ", i), unlock(visitor, fmt.Sprint("/public/shut/", i), "x"), 401,
			"INVALID_PASSWORD")
	}
	for what, r := range map[string]*apptest.Reply{
		"another name": unlock(visitor, "/public/shut/in.txt", "open sesame"),
		"the folder":   unlock(visitor, "/public/shut", "open sesame"),
		"no such name": unlock(visitor, "/public/shut/absent", "x"), "by id": verifyPassword(admin, in, "open sesame"),
		"the folder by id": verifyPassword(admin, shut, "open sesame"),
	} {
		wantStatus(t, what, r, 429, "RATE_LIMIT_EXCEEDED")
	}
	for i := range 11 { // where no password is set, it is the same
		want, code := 401, "INVALID_PASSWORD"
		if i == 10 {
			want, code = 429, "RATE_LIMIT_EXCEEDED"
		}
		wantStatus(t, fmt.Sprint("nothing there ", i), unlock(visitor, "/nowhere", "x"), want, code)
	}
	l.Clock.Advance(time.Minute)
	verifyPassword(admin, alone, "open sesame").OK(200)
	unlock(visitor, "/public/shut", "open sesame").OK(200)

	// an entry that a visitor may not see counts only for its own name, whether it exists or not
	l.Clock.Advance(time.Minute)
	setAccessPassword(admin, mkdir(admin, "/home", "secret"), "open sesame")
	for i := range 10 {
		wantStatus(t, fmt.Sprint("hidden ", i), unlock(visitor, "/home/secret/a", "x"), 401, "INVALID_PASSWORD")
	}
	wantStatus(t, "another name below it", unlock(visitor, "/home/secret/b", "x"), 401, "INVALID_PASSWORD")

	// and an address has a limit over all targets
	l.Clock.Advance(time.Minute)
	for i := range 60 {
		wantStatus(t, fmt.Sprint("anywhere ", i), unlock(visitor, fmt.Sprint("/elsewhere/", i), "x"), 401,
			"INVALID_PASSWORD")
	}
	wantStatus(t, "the sixty-first", unlock(visitor, "/elsewhere", "x"), 429, "RATE_LIMIT_EXCEEDED")
}

// Any number of concurrent requests gets at most ten wrong answers (abuse case C57). Ten concurrent
// right ones are accepted. Right and refused answers do not count.
func TestConcurrentWrongPasswords(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
	shut := mkdir(admin, "/public", "shut")
	admin.Upload("/public/shut", "in.txt", []byte("x"))
	setAccessPassword(admin, shut, "open sesame")
	alone := admin.Upload("/public", "alone.txt", []byte("x"))
	setAccessPassword(admin, alone, "open sesame")
	share := shareEntry(admin, admin.Upload("/public", "shared.txt", []byte("x")), M{"password": "open sesame"})
	for what, try := range map[string]func(c *apptest.Client, i int, password string) *apptest.Reply{
		"by id": func(_ *apptest.Client, _ int, password string) *apptest.Reply {
			return verifyPassword(admin.In(t), alone, password)
		},
		"by names of one address": func(c *apptest.Client, i int, password string) *apptest.Reply {
			if password == "open sesame" {
				return unlock(c, "/public/shut/in.txt", password)
			}
			return unlock(c, fmt.Sprint("/public/shut/", i), password)
		},
		"of a share": func(c *apptest.Client, _ int, password string) *apptest.Reply {
			return verifySharePassword(c, share, password)
		},
		"one's own": func(_ *apptest.Client, _ int, password string) *apptest.Reply {
			if password == "open sesame" {
				// the right password would end the session
				return changePassword(alice.In(t), "password of alice", "short")
			}
			return changePassword(alice.In(t), password, "a new password")
		},
	} {
		l.Clock.Advance(time.Minute)
		right := countStatuses(t, runConcurrently(t, visitor, 10,
			func(c *apptest.Client, i int) *apptest.Reply { return try(c, i, "open sesame") }))
		if right[401]+right[429] > 0 {
			t.Errorf("%s: ten concurrent right passwords: %v", what, right)
		}
		wrong := countStatuses(t, runConcurrently(t, visitor, 30,
			func(c *apptest.Client, i int) *apptest.Reply { return try(c, i, "wrong") }))
		if wrong[401] != 10 || wrong[429] != 20 {
			t.Errorf("%s: thirty concurrent wrong passwords: %v, want ten checked", what, wrong)
		}
	}

	l.Clock.Advance(time.Minute)
	for i := range 20 {
		unlock(visitor, fmt.Sprint("/public/shut/", i%10), "wrong")
	}
	wantStatus(t, "the folder's is used up", unlock(visitor, "/public/shut/1", "open sesame"), 429,
		"RATE_LIMIT_EXCEEDED")
	for range 12 {
		wantStatus(t, "a name that was not tried", unlock(visitor, "/public/shut/in.txt", "wrong"), 429,
			"RATE_LIMIT_EXCEEDED")
	}
	setAccessPassword(admin, shut, "another one")
	unlock(visitor, "/public/shut/in.txt", "another one").OK(200)
}
