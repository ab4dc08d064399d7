package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestPublicPath(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		admin.Upload("/public/sub", "open.png", []byte(onePixel))
		admin.Upload("/public", "plain.txt", []byte("words"))
		alice.Upload("/home/alice", "mine.txt", []byte("mine"))
		mkdir(admin, "/", "priv")
		admin.Upload("/priv", "secret.txt", []byte("secret"))
		admin.Upload("/public", "caf\u00e9.txt", []byte("composed"))
		admin.Upload("/public", "Secret.txt", []byte("upper"))
		admin.Upload("/public", "a..b.txt", []byte("dots"))
		admin.Upload("/public", `a?b#c;d%20&+.png`, []byte("odd"))
		admin.Upload("/public", "%2e%2e", []byte("literal"))
		denied := callerID(alice)
		admin.Upload("/public", "verb\u00f6ten.txt", []byte("denied to alice"))
		addRule(admin, M{"pathPattern": "/public/verb\u00f6ten.txt", "effect": "deny", "userId": denied})

		t.Run("headers", func(t *testing.T) {
			for _, c := range []*apptest.Client{visitor.In(t), alice.In(t), admin.In(t)} { // for every caller
				r := c.Get("/public/sub/open.png").OK(200)
				wantBody(t, r, onePixel)
				wantHeader(t, r, "Content-Type", "image/png")
				wantHeader(t, r, "Content-Length", "67")
				wantHeader(t, r, "Cache-Control", "public, max-age=3600")
				wantHeader(t, r, "Access-Control-Allow-Origin", "*")
				wantHeader(t, r, "Cross-Origin-Resource-Policy", "cross-origin")
				wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				wantHeader(t, r, "Accept-Ranges", "bytes")
				wantHeader(t, r, "Set-Cookie", "")
				head := c.Head("/public/sub/open.png").OK(200)
				for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "ETag",
					"Last-Modified", "Content-Disposition", "Content-Security-Policy"} {
					wantHeader(t, head, name, strings.Join(r.Header.Values(name), " | "))
				}
				if len(head.Body) != 0 || r.Header.Get("ETag") == "" || r.Header.Get("Last-Modified") == "" {
					t.Error("HEAD with a body or no validators")
				}
				again := c.Get("/public/sub/open.png", "If-None-Match", r.Header.Get("ETag"))
				if again.Status != 304 || len(again.Body) != 0 {
					t.Errorf("If-None-Match: %d", again.Status)
				}
				wantHeader(t, again, "ETag", r.Header.Get("ETag"))
				wantHeader(t, again, "Cache-Control", "public, max-age=3600")
				if again = c.Get("/public/sub/open.png", "If-Modified-Since",
					r.Header.Get("Last-Modified")); again.Status != 304 {
					t.Errorf("If-Modified-Since: %d", again.Status)
				}
				wantBody(t, c.Get("/public/sub/open.png", "If-None-Match", `"x"`, "If-Modified-Since",
					r.Header.Get("Last-Modified")).OK(200), onePixel)
				if part := c.Get("/public/sub/open.png", "Range", "bytes=0-3"); part.Status != 206 ||
					string(part.Body) != onePixel[:4] {
					t.Errorf("range: %d", part.Status)
				}
			}
			r := alice.In(t).Get("/home/alice/mine.txt").OK(200)
			wantBody(t, r, "mine")
			wantHeader(t, r, "Cache-Control", "private, no-store")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
			wantHeader(t, r, "Cross-Origin-Resource-Policy", "")
			wantHeader(t, r, "Content-Disposition", `inline; filename="mine.txt"`)
		})
		t.Run("access by caller", func(t *testing.T) {
			for _, path := range []string{"/priv/secret.txt", "/priv/none.txt", "/home/alice/mine.txt", "/home/alice",
				"/home/nobody/x", "/uploads/none", "/priv", "/home", "/none"} {
				r := visitor.In(t).Get(path).Fails(401, "UNAUTHORIZED")
				wantHeader(t, r, "ETag", "")
				if strings.Contains(string(r.Body), "secret.txt") {
					t.Errorf("%s: the answer names it: %s", path, r.Body)
				}
				if r := visitor.In(t).Head(path); r.Status != 401 {
					t.Errorf("HEAD %s: %d", path, r.Status)
				}
			}
			// abuse case C7
			for _, path := range []string{"/priv/secret.txt", "/priv/none.txt", "/home/nobody/x",
				"/public/verb%C3%B6ten.txt", "/public/verbo%CC%88ten.txt"} {
				r := alice.In(t).Get(path).Fails(403, "FORBIDDEN")
				wantHeader(t, r, "ETag", "")
			}
			// folders, missing entries, another case
			for _, path := range []string{"/public", "/public/", "/public/sub", "/public/none.txt",
				"/public/secret.txt", "/public/plain.txt/x"} {
				for _, c := range []*apptest.Client{visitor.In(t), alice.In(t)} {
					c.Get(path).Fails(404, "NOT_FOUND")
				}
			}
			alice.In(t).Get("/home/alice").Fails(404, "NOT_FOUND")
			admin.In(t).Get("/none").Fails(404, "NOT_FOUND")
			stale := l.Client(t)
			stale.Cookies["auth_token"] = "stale"
			wantBody(t, stale.Get("/public/plain.txt").OK(200), "words") // an invalid cookie counts as none
			stale.Get("/priv/secret.txt").Fails(401, "UNAUTHORIZED")
			l.Client(t).Get("/public/plain.txt", "Authorization", "Bearer junk").Fails(401, "INVALID_TOKEN")
			wantBody(t, l.Client(t).Get("/public/plain.txt", "Authorization", "Basic anVuazpqdW5r").OK(200), "words")
		})
		t.Run("spellings of the path", func(t *testing.T) {
			for path, want := range map[string]string{
				"/public/caf%C3%A9.txt": "composed", "/public/cafe%CC%81.txt": "composed", "/public/a..b.txt": "dots",
				"/public/a%2E.b.txt":                   "dots",
				"/public/a%3Fb%23c%3Bd%2520%26%2B.png": "odd", "/%70ublic/plain.txt": "words",
				"/public/%252e%252e": "literal", "/public/plain.txt?download=1": "words",
			} {
				wantBody(t, visitor.In(t).Get(path).OK(200), want)
			}
			for _, path := range []string{
				"/public/../priv/secret.txt", "/public/%2e%2e/priv/secret.txt", "/public/..%2fpriv/secret.txt",
				"/public/%2e%2e%2fpriv%2fsecret.txt", "/public/%2E./priv/secret.txt",
				// C2
				"/public/sub/../plain.txt", "/..", "/%2e%2e", "/../public/plain.txt", "/public/..", "/public/%2e%2e",
				"/public/%252e%252e/priv/secret.txt", "/public/%252e%252e%252fplain.txt", // C3
				`/public%5cplain.txt`, "/public/%5c..%5cplain.txt", // C4
				"/public/plain.txt%00", "/public/%00", "/public/a%0ab", "/public/%e2%80%ae", // C5
				"/public/%c0%ae%c0%ae/priv/secret.txt", "/public/%ff", "/public/%ed%a0%80", // C6
				"/public%2fplain.txt", "/public/sub%2fopen.png", "/public/" + strings.Repeat("x", 256),
				"/" + strings.Repeat("d/", 65) + "x",
			} {
				r := visitor.In(t).Get(path)
				if r.Status != 404 && r.Status != 400 &&
					!(r.Status == 401 && !strings.HasPrefix(strings.ToLower(path), "/public")) {
					t.Errorf("%s: %d %s", path, r.Status, r.Body)
				}
				r = admin.In(t).Get(path)
				if r.Status != 404 && r.Status != 400 {
					t.Errorf("%s as administrator: %d %s", path, r.Status, r.Body)
				}
			}
			// C12
			for _, path := range []string{"//priv/secret.txt", "/./priv/secret.txt", "/priv//secret.txt",
				"/priv/./secret.txt", "//priv//secret.txt"} {
				if r := visitor.In(t).Get(path); r.Status != 401 && r.Status != 404 {
					t.Errorf("%s: %d %s", path, r.Status, r.Body)
				}
				if r := alice.In(t).Get(path); r.Status != 403 && r.Status != 404 {
					t.Errorf("%s: %d %s", path, r.Status, r.Body)
				}
			}
		})
		t.Run("methods", func(t *testing.T) {
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"} {
				r := visitor.In(t).Do(apptest.Request{Method: method, Path: "/public/plain.txt"}).
					Fails(405, "METHOD_NOT_ALLOWED")
				wantHeader(t, r, "Allow", "GET, HEAD")
			}
			wantBody(t, visitor.In(t).Get("/public/plain.txt").OK(200), "words")
		})
		t.Run("navigation gets a page", func(t *testing.T) {
			locked := mkdir(admin.In(t), "/public", "locked")
			setAccessPassword(admin.In(t), locked, "open sesame")
			unlocked := l.Client(t)
			unlocked.Post("/api/public/unlock", M{"path": "/public/locked", "password": "open sesame"}).OK(200)
			page := func(r *apptest.Reply, status int, code string) { // the web UI's page, with the reason
				t.Helper()
				if r.Status != status || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") ||
					!strings.Contains(r.Header.Get("Content-Security-Policy"), "script-src 'nonce-") {
					t.Errorf("%d %s %s", r.Status, r.Header.Get("Content-Type"), r.Body)
				}
				if !strings.Contains(string(r.Body), `<html lang="en" data-failure="`+code+`" data-accent="">`) {
					t.Errorf("no %s in %s", code, r.Body)
				}
				wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				if cc := r.Header.Get("Cache-Control"); strings.Contains(cc, "public") {
					t.Errorf("cached: %s", cc)
				}
			}
			for _, header := range [][]string{{"Sec-Fetch-Dest", "document"},
				{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"},
				{"Sec-Fetch-Dest", "document", "Accept", "*/*"}} {
				page(visitor.In(t).Get("/priv/secret.txt", header...), 401, "UNAUTHORIZED")
				page(visitor.In(t).Get("/public/none.txt", header...), 404, "NOT_FOUND")
				page(alice.In(t).Get("/priv/secret.txt", header...), 403, "FORBIDDEN")
				page(visitor.In(t).Get("/public/..%2f", header...), 404, "NOT_FOUND")
				wantBody(t, visitor.In(t).Get("/public/plain.txt", header...).OK(200), "words")
				// for every caller, since an account may list the folder too
				for _, path := range []string{"/public", "/public/", "/public/sub/", "/%70ublic/sub"} {
					page(visitor.In(t).Get(path, header...), 200, "")
					page(alice.In(t).Get(path, header...), 200, "")
					if r := visitor.In(t).Head(path, header...); r.Status != 200 || len(r.Body) != 0 {
						t.Errorf("HEAD %s: %d %q", path, r.Status, r.Body)
					}
				}
				page(visitor.In(t).Get("/public/locked/", header...), 403, "") // the page asks for the password
				page(visitor.In(t).Get("/home/alice/", header...), 401, "UNAUTHORIZED")
				page(visitor.In(t).Get("/none/", header...), 401, "UNAUTHORIZED")
				page(alice.In(t).Get("/home/alice/", header...), 404, "NOT_FOUND")
				page(admin.In(t).Get("/priv/", header...), 404, "NOT_FOUND")
			}
			page(unlocked.In(t).Get("/public/locked/", "Accept", "text/html"), 200, "")
			setAllowGuestAccess(t, l, false)
			page(visitor.In(t).Get("/public/", "Accept", "text/html"), 401, "UNAUTHORIZED")
			page(alice.In(t).Get("/public/", "Accept", "text/html"), 404, "NOT_FOUND")
			setAllowGuestAccess(t, l, true)
			for _, header := range [][]string{{"Sec-Fetch-Dest", "image", "Accept", "text/html"},
				{"Accept", "application/json, text/html"}, {"Accept", "*/*"}, nil} {
				visitor.In(t).Get("/priv/secret.txt", header...).Fails(401, "UNAUTHORIZED")
			}
			visitor.In(t).Get("/api/none", "Sec-Fetch-Dest", "document").Fails(404, "NOT_FOUND") // never below /api/
			visitor.In(t).Get("/api/files", "Accept", "text/html").Fails(401, "UNAUTHORIZED")
		})
		t.Run("routes take precedence over paths", func(t *testing.T) { // abuse case C21
			for _, path := range []string{"/api", "/api/", "/api/none", "/API/files", "/webdav", "/share/x", "/app/x",
				"/robots.txt", "/favicon.ico", "/Robots.TXT"} {
				r := visitor.In(t).Get(path)
				if r.Status >= 500 || r.Status == 401 && !strings.HasPrefix(path, "/webdav") {
					t.Errorf("%s: %d", path, r.Status)
				}
			}
		})
		t.Run("guest access off", func(t *testing.T) {
			setAllowGuestAccess(t, l, false)
			defer setAllowGuestAccess(t, l, true)
			for _, path := range []string{"/public/plain.txt", "/public/none.txt", "/public"} {
				visitor.In(t).Get(path).Fails(401, "UNAUTHORIZED")
			}
			r := alice.In(t).Get("/public/plain.txt").OK(200) // by the rule for users
			wantHeader(t, r, "Cache-Control", "private, no-store")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
		})
		t.Run("replacing changes the validators", func(t *testing.T) {
			first := visitor.In(t).Get("/public/plain.txt").OK(200)
			l.Clock.Advance(2 * time.Second)
			admin := l.SignIn(t, "admin", apptest.AdminPassword)
			admin.Upload("/public", "plain.txt", []byte("other"), M{"conflict": "replace"})
			r := visitor.In(t).Get("/public/plain.txt", "If-None-Match", first.Header.Get("ETag")).OK(200)
			wantBody(t, r, "other")
			wantBody(t, visitor.In(t).Get("/public/plain.txt", "If-Modified-Since",
				first.Header.Get("Last-Modified")).OK(200), "other")
			r = visitor.In(t).Get("/public/plain.txt", "Range", "bytes=0-1", "If-Range", first.Header.Get("ETag")).
				OK(200)
			wantBody(t, r, "other")
		})
	})
}
