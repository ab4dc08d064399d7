package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestCSRFToken(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c := l.Client(t)
		postLogin(c, "admin", apptest.AdminPassword).OK(200)
		folder := func(name, token string) *apptest.Reply {
			if token == "" {
				return c.Post("/api/files/folder", M{"path": "/uploads", "name": name})
			}
			return c.Post("/api/files/folder", M{"path": "/uploads", "name": name}, "X-CSRF-Token", token)
		}
		wantStatus(t, "before one was fetched", folder("a", ""), 403, "INVALID_CSRF")
		reply := c.Get("/api/auth/csrf-token").OK(200)
		wantFields(t, "data", reply.Object()["data"], "token")
		token := reply.Text("token")
		if len(token) != 32 {
			t.Errorf("a token of %d characters", len(token))
		}
		for range 3 { // two tabs do not invalidate each other's token
			if again := c.Get("/api/auth/csrf-token").OK(200).Text("token"); again != token {
				t.Errorf("a second tab got %s after %s", again, token)
			}
		}
		wantStatus(t, "the token", folder("a", token), 201, "")
		other := l.Admin(t)
		if other.CSRF == token {
			t.Error("two sessions share a token")
		}
		wantStatus(t, "another session's token", folder("b", other.CSRF), 403, "INVALID_CSRF")
		l.Clock.Advance(2*time.Hour - time.Second)
		if again := c.Get("/api/auth/csrf-token").OK(200).Text("token"); again != token {
			t.Error("the token changed within its two hours")
		}
		wantStatus(t, "just before two hours", folder("c", token), 201, "")
		l.Clock.Advance(2 * time.Second)
		wantStatus(t, "just after two hours", folder("d", token), 403, "INVALID_CSRF")
		fresh := c.Get("/api/auth/csrf-token").OK(200).Text("token")
		if fresh == token {
			t.Error("an expired token is given out again")
		}
		wantStatus(t, "the fresh token", folder("d", fresh), 201, "")
		wantStatus(t, "the expired token", folder("e", token), 403, "INVALID_CSRF")
		wantStatus(t, "without a session", l.Client(t).Get("/api/auth/csrf-token"), 401, "UNAUTHORIZED")
	})
}

// Every write that relies on the cookie requires the token and changes nothing without it. Abuse
// case C42.
func TestCSRFOnEveryWrite(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		foreign := l.Admin(t).CSRF
		f.newItems("probe") // creates the items that the rows below name
		for _, row := range matrix {
			if row.method == "GET" || row.method == "OPTIONS" || row.auth != sessionAuth &&
				row.auth != sessionOrKeyAuth && row.auth != adminAuth {
				continue
			}
			what := row.method + " " + row.pattern
			client := f.owner
			if row.auth == adminAuth {
				client = f.admin
			}
			path, body := row.request(f.newItems("csrf", row))
			look := watchTables(t, l)
			for name, token := range map[string]string{"none": "", "empty": "", "foreign": foreign,
				"wrong": strings.Repeat("a", 32), "short": "a", "long": strings.Repeat("a", 100000)[:60000]} {
				c := client.Fork()
				c.CSRF = ""
				var header []string
				if name != "none" {
					header = []string{"X-CSRF-Token", token}
				}
				wantStatus(t, what+" with the token: "+name, send(c, row.method, path, body, header...), 403,
					"INVALID_CSRF")
				wantStatus(t, what+" with Basic junk and the token: "+name,
					send(c, row.method, path, body, append(header, "Authorization", "Basic anVuazpqdW5r")...), 403,
					"INVALID_CSRF")
			}
			// a Bearer token counts alone, whatever cookie and CSRF token come with it
			wantStatus(t, what+" with Bearer junk",
				send(client.Fork(), row.method, path, body, "Authorization", "Bearer junk of "+row.pattern+row.method),
				401, "INVALID_TOKEN")
			wantStatus(t, what+" from across sites",
				send(client.Fork(), row.method, path, body, "Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
			look(what)
		}
	}, apptest.ReachLoopback)
}

func send(c *apptest.Client, method, path string, body any, header ...string) *apptest.Reply {
	request := apptest.Request{Method: method, Path: path, Body: body, Header: map[string][]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	return c.Do(request)
}

// Abuse case C43.
func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for _, site := range []string{"cross-site", "same-origin", "same-site", "none", ""} {
		want, code := 200, ""
		if site == "cross-site" {
			want, code = 403, "FORBIDDEN"
		}
		reply := postLogin(l.Client(t), "admin", apptest.AdminPassword, "Sec-Fetch-Site", site)
		wantStatus(t, "login, "+site, reply, want, code)
		if want == 403 && reply.Header.Get("Set-Cookie") != "" {
			t.Error("a refused login sets a cookie")
		}
		if want == 200 {
			want = 201
		}
		wantStatus(t, "a cookie write, "+site,
			admin.Post("/api/files/folder", M{"path": "/uploads", "name": "f" + site}, "Sec-Fetch-Site", site), want,
			code)
		wantStatus(t, "a cookie read, "+site, admin.Get("/api/auth/me", "Sec-Fetch-Site", site), 200, "")
	}
	key := admin.Key(M{})
	wantStatus(t, "a key", key.Post("/api/files/folder", M{"path": "/uploads", "name": "by key"}, "Sec-Fetch-Site",
		"cross-site"), 201, "")
	form, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
	wantStatus(t, "an image client", key.Post("/api/upload", form, "Content-Type", contentType, "Sec-Fetch-Site",
		"cross-site"), 200, "")

	// no credentialed CORS for other origins: abuse case C77
	for _, path := range []string{"/api/auth/me", "/api/files?path=/", "/api/keys/"} {
		reply := admin.Get(path, "Origin", "https://evil.example")
		if reply.Header.Get("Access-Control-Allow-Origin") != "" ||
			reply.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", path, reply.Header)
		}
	}
}
