package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Every WebDAV request needs a valid key by Basic authentication (specification: WebDAV). Abuse
// case C32.
func TestDAVCredentials(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		alice.Upload("/home/alice", "a.txt", []byte("content"))
		key := func(c *apptest.Client, body M) (id, token string) {
			body = newKey(M{"protocols": []string{"webdav"}, "uploadPath": "/uploads"}).With(body)
			made := c.Post("/api/keys/", body).OK(201)
			return made.Text("key.id"), made.Text("key.fullToken")
		}
		_, good := key(alice, M{})
		_, bobs := key(bob, M{})
		goodID, secret, _ := strings.Cut(good, ".")
		bobsID, _, _ := strings.Cut(bobs, ".")
		ask := func(t *testing.T, what, authorization string, want int) {
			t.Helper()
			for _, method := range []string{"PROPFIND", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "MOVE", "COPY",
				"PROPPATCH", "LOCK", "UNLOCK", "POST", "NONE"} {
				header := []string{"Depth", "0", "Destination", "/webdav/uploads/x"}
				if authorization != "" {
					header = append(header, "Authorization", authorization)
				}
				for _, path := range []string{"/home/alice/a.txt", "/home/alice/none"} {
					r := dav(l.Client(t), method, path, nil, header...)
					wantDAVStatus(t, what+", "+method, r, want)
					if strings.Contains(string(r.Body), "content") ||
						strings.Contains(string(r.Body), l.Apps[0].Config.DataDir) {
						t.Errorf("%s, %s: the answer reveals %s", what, method, r.Body)
					}
				}
			}
		}
		wantStatus(t, "a good key", dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization", basicAuth(good)),
			200, "")
		wantStatus(t, "the scheme in small letters",
			dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization",
				"basic "+strings.TrimPrefix(basicAuth(good), "Basic ")), 200, "")

		ask(t, "none", "", 401)
		for what, authorization := range map[string]string{
			"empty":         "Basic",
			"no base64":     "Basic !!!",
			"no colon":      "Basic " + base64.StdEncoding.EncodeToString([]byte(goodID)),
			"Bearer":        "Bearer " + good,
			"bare":          good,
			"another's":     basicAuth(bobsID + "." + secret),
			"no secret":     basicAuth(goodID + "."),
			"wrong secret":  basicAuth(goodID + "." + strings.Repeat("x", len(secret))),
			"nobody's":      basicAuth("pk_" + strings.Repeat("x", 24) + "." + secret),
			"no names":      "Basic " + base64.StdEncoding.EncodeToString([]byte(":")),
			"NUL":           "Basic " + base64.StdEncoding.EncodeToString([]byte("\x00:\xff")),
			"a password":    "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:password of alice")),
			"a long one":    "Basic " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 10000)+":x")),
			"Digest":        `Digest username="alice"`,
			"secret with .": "Basic " + base64.StdEncoding.EncodeToString([]byte("pk_x.:"+goodID)),
		} {
			wantDAVStatus(t, what, dav(l.Client(t), "PROPFIND", "/home/alice", nil, "Authorization", authorization),
				401)
		}
		l.Clock.Advance(time.Minute)
		wantDAVStatus(t, "a session", dav(alice.Fork(), "PROPFIND", "/home/alice", nil), 401)
		wantDAVStatus(t, "a session", dav(alice.Fork(), "PUT", "/home/alice/x", "x"), 401)

		revokedID, revoked := key(alice, M{"name": "revoked"})
		wantStatus(t, "before", dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization", basicAuth(revoked)),
			200, "")
		alice.Delete("/api/keys/" + revokedID).OK(200)
		ask(t, "revoked", basicAuth(revoked), 401)
		_, expired := key(alice, M{"name": "expired", "expiresIn": 60})
		wantStatus(t, "before", dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization", basicAuth(expired)),
			200, "")
		l.Clock.Advance(time.Minute)
		ask(t, "expired", basicAuth(expired), 401)

		_, jsonOnly := key(alice, M{"name": "json", "protocols": []string{"api"}})
		ask(t, "for the other protocol", basicAuth(jsonOnly), 403)
		_, both := key(alice, M{"name": "both", "protocols": []string{"api", "webdav"}})
		wantStatus(t, "for both", dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization", basicAuth(both)),
			200, "")
		wantStatus(t, "for WebDAV only, outside of it",
			l.Client(t).Get("/api/files?path=/home/alice", "Authorization", "Bearer "+good), 403, "FORBIDDEN")
		_, away := key(alice, M{"name": "away", "allowedIps": []string{"10.0.0.0/8"}})
		ask(t, "from another address", basicAuth(away), 403)

		for _, state := range []string{"disabled", "banned"} {
			execAndRaiseVersion(t, l, "UPDATE users SET status = $1 WHERE username = 'alice'", state)
			ask(t, "of an owner who is "+state, basicAuth(good), 401)
			execAndRaiseVersion(t, l, "UPDATE users SET status = 'active' WHERE username = 'alice'")
		}
		wantStatus(t, "active again", dav(l.Client(t), "GET", "/home/alice/a.txt", nil, "Authorization",
			basicAuth(good)), 200, "")
		admin := l.Admin(t)
		admin.Delete("/api/admin/users/" + userIDOf(t, admin, "alice")).OK(200)
		ask(t, "of a deleted owner", basicAuth(good), 401)
	})
}

// OPTIONS lists the supported methods to everybody, at the root of the site as well, where Windows
// asks first.
func TestDAVOptions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, header := range [][]string{nil, {"Authorization", "Basic junk"}, {"Authorization", "Bearer junk"}} {
			for _, path := range []string{"/", "/webdav", "/webdav/", "/webdav/home", "/webdav/none/none",
				"/webdav/home/admin/"} {
				h := map[string][]string{}
				if header != nil {
					h[header[0]] = header[1:]
				}
				r := l.Client(t).Do(apptest.Request{Method: "OPTIONS", Path: path, Header: h})
				wantStatus(t, "OPTIONS "+path, r, 200, "")
				if classes := strings.ReplaceAll(r.Header.Get("DAV"), " ", ""); classes != "1,2" {
					t.Errorf("%s: DAV %q", path, r.Header.Get("DAV"))
				}
				wantHeader(t, r, "MS-Author-Via", "DAV")
				wantHeader(t, r, "WWW-Authenticate", "")
				wantBody(t, r, "")
				allow := strings.Split(strings.ReplaceAll(r.Header.Get("Allow"), " ", ""), ",")
				for _, method := range []string{"OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "COPY", "MOVE",
					"PROPFIND", "PROPPATCH", "LOCK", "UNLOCK"} {
					if !strings.Contains(" "+strings.Join(allow, " ")+" ", " "+method+" ") {
						t.Errorf("%s: Allow %q lacks %s", path, allow, method)
					}
				}
			}
		}
		wantDAVStatus(t, "OPTIONS of a bad path", dav(l.Client(t), "OPTIONS", "/a/../b", nil), 400)
		// an unknown method
		_, key := davHome(t, l, "alice")
		for _, method := range []string{"POST", "PATCH", "REPORT", "SEARCH", "TRACE", "ACL"} {
			r := dav(key, method, "/home/alice", nil)
			wantDAVStatus(t, method, r, 405)
			if !strings.Contains(r.Header.Get("Allow"), "PROPFIND") {
				t.Errorf("%s: Allow %q", method, r.Header.Get("Allow"))
			}
		}
	})
}

// Basic authentication counts below /webdav only. Elsewhere it may belong to a proxy in front of
// the service.
func TestBasicAuthIsIgnoredOutsideWebDAV(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		alice.Upload("/home/alice", "mine.txt", []byte("mine"))
		l.Admin(t).Upload("/public", "open.txt", []byte("open"))
		authorization := key.Header.Get("Authorization")
		for _, header := range []string{authorization, "Basic anVuazpqdW5r"} {
			visitor := l.Client(t)
			visitor.Header.Set("Authorization", header)
			wantStatus(t, "listing", visitor.Get("/api/files?path=/home/alice"), 401, "UNAUTHORIZED")
			wantStatus(t, "uploading", visitor.Post("/api/upload", "x", "X-File-Name", "x"), 401, "UNAUTHORIZED")
			wantStatus(t, "a path", visitor.Get("/home/alice/mine.txt"), 401, "UNAUTHORIZED")
			wantBody(t, visitor.Get("/public/open.txt").OK(200), "open")
			beside := alice.Fork()
			beside.Header.Set("Authorization", header)
			wantStatus(t, "beside a session", beside.Get("/api/files?path=/home/alice"), 200, "")
			wantBody(t, beside.Get("/home/alice/mine.txt").OK(200), "mine")
			beside.CSRF = ""
			wantStatus(t, "CSRF tokens are needed as usual",
				beside.Post("/api/files/folder", M{"path": "/home/alice", "name": "x"}), 403, "")
		}
	})
}

// Abuse case C57: after ten wrong secrets in a minute, the secrets of that key are not checked any
// more.
func TestDAVKeyGuessingLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	another := davKey(alice, M{"uploadPath": "/home/alice"})
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Header.Get("Authorization"), "Basic "))
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(string(raw), ":")
	for i := range 10 {
		wantDAVStatus(t, fmt.Sprint("guess ", i),
			dav(l.Client(t), "PROPFIND", "/", nil, "Authorization", basicAuth(fmt.Sprintf("%s.sk_%048d", id, i))), 401)
	}
	for range 2 {
		for _, c := range []*apptest.Client{key, l.Client(t)} {
			header := []string{"Depth", "0"}
			if c != key {
				header = append(header, "Authorization", basicAuth(id+".sk_"+strings.Repeat("x", 48)))
			}
			r := dav(c, "PROPFIND", "/", nil, header...)
			wantDAVStatus(t, "the eleventh", r, 429)
			var wait int
			if _, err := fmt.Sscan(r.Header.Get("Retry-After"), &wait); err != nil || wait < 1 || wait > 60 {
				t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
			}
		}
		wantStatus(t, "another key", dav(another, "PROPFIND", "/", nil, "Depth", "0"), 207, "")
	}
	l.Clock.Advance(time.Minute)
	wantStatus(t, "a minute later", dav(key, "PROPFIND", "/", nil, "Depth", "0"), 207, "")
}

// WebDAV shares the limit of transfers: 20 times the configured limit, per key.
func TestDAVLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	another := davKey(alice, M{"uploadPath": "/home/alice"})
	setRateLimit(t, l, true, 1)
	for i := range 20 {
		r := dav(key, []string{"PROPFIND", "GET", "PUT", "DELETE"}[i%4], "/home/alice/x", nil, "Depth", "0")
		if r.Status == 429 {
			t.Errorf("request %d: 429", i)
		}
		wantLimitHeaders(t, fmt.Sprint("request ", i), r, 20, 19-i)
	}
	r := dav(key, "PROPFIND", "/home/alice", nil, "Depth", "0")
	wantDAVStatus(t, "the 21st", r, 429)
	wantLimitHeaders(t, "the 21st", r, 20, 0)
	wantLimitHeaders(t, "another key", dav(another, "PROPFIND", "/home/alice", nil, "Depth", "0"), 20, 19)
	wantLimitHeaders(t, "no key", dav(l.Client(t), "PROPFIND", "/home/alice", nil), 20, 19)
	wantLimitHeaders(t, "OPTIONS", dav(l.Client(t), "OPTIONS", "/", nil), 20, 18)
	l.Clock.Advance(time.Minute)
	wantStatus(t, "a minute later", dav(key, "PROPFIND", "/home/alice", nil, "Depth", "0"), 207, "")
}

// Use of a key by WebDAV updates the key's last use.
func TestDAVRecordsKeyUse(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	wantJSON(t, "lastUsedAt", alice.Get("/api/keys/").OK(200).Value("keys.0.lastUsedAt"), nil)
	dav(l.Client(t), "OPTIONS", "/", nil).OK(200)
	now := l.Clock.Now().UnixMilli()
	wantStatus(t, "PROPFIND", dav(key, "PROPFIND", "/", nil), 207, "")
	l.Sweep()
	wantJSON(t, "lastUsedAt", alice.Get("/api/keys/").OK(200).Value("keys.0.lastUsedAt"), now)
}
