package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Abuse case C114: the log contains no secret, in whatever part of a request it was sent.
func TestLogHoldsNoSecret(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		key := alice.Key(M{"uploadPath": "/home/alice"})
		id := alice.Upload("/home/alice", "a.txt", []byte("0123456789"))
		public := admin.Upload("/public", "b.txt", []byte("0123456789"))
		link := admin.Post("/api/files/"+public+"/link", nil).OK(200).Text("link.url")
		linkID := strings.TrimSuffix(strings.TrimPrefix(link, apptest.BaseURL+"/api/i/"), ".txt")
		used, unused, byKey := downloadURL(alice, id), downloadURL(alice, id), downloadURL(key, id)
		_, keySecret, _ := strings.Cut(key.Header.Get("Authorization"), ".")
		token := func(address string) string {
			return strings.TrimPrefix(address, apptest.BaseURL+"/api/gateway/download/")
		}
		const typed = "canary-typed-as-a-name"
		secrets := map[string]string{
			"used token": token(used), "unused token": token(unused), "key's token": token(byKey), "link": linkID,
			"key": keySecret, "session": alice.Cookies["auth_token"],
			"csrf token": alice.CSRF, "password": "password of alice", "wrong password": "canary-wrong-password",
			"name that was typed": typed, "rule's password": "canary-rule-password",
			"new user's password": "canary-user-password", "new key's name": "canary-key-name",
			"share": shareEntry(alice, id),
		}
		addRule(admin, M{"pathPattern": "/vault/**", "effect": "allow", "role": "guest", "requirePassword": true,
			"password": secrets["rule's password"]})
		admin.Post("/api/admin/users", M{"username": "carol", "email": "carol@example.org",
			"password": secrets["new user's password"]}).OK(201)
		visitor.Get(used).OK(200)
		visitor.Get(used).Fails(401, "INVALID_TOKEN")
		visitor.Get(byKey).OK(200)
		visitor.Get(link).OK(200)
		visitor.Get(strings.TrimSuffix(link, ".txt")).OK(200)
		key.Post("/api/upload", "123", "X-File-Name", "c.txt", "Content-Type", "text/plain").OK(200)
		visitor.Post("/api/upload", "123", "token", strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "),
			"X-File-Name", "d.txt").OK(200)
		visitor.Post("/api/auth/login", M{"username": typed, "password": secrets["wrong password"]})
		visitor.Post("/api/auth/login", M{"username": "alice", "password": secrets["wrong password"]})
		alice.Key(M{"name": secrets["new key's name"]})
		for name, secret := range secrets {
			if strings.Contains(secret, " ") {
				continue
			}
			for _, c := range []*apptest.Client{visitor, alice, admin} {
				for _, path := range []string{
					"/api/gateway/download/", "/api/gateway/download/x/", "//api/gateway/download/", "/api/i/",
					"/API/i/", "/%61pi/i/", "/api/keys/", "/api/files/", "/api/admin/rules/", "/", "/public/",
					"/public/b.txt?token=", "/api/files/" + id + "/download?token=",
					"/api/shares/", "/share/", "/SHARE/", "//share/", "/%73hare/", "/share%2F", "/share/x/",
				} {
					for _, method := range []string{"GET", "PUT", "DELETE"} {
						r := c.Do(apptest.Request{Method: method, Path: path + secret, Body: M{"name": secret}})
						if r.Err != nil || r.Status >= 500 {
							t.Fatalf("%s %s%s: %d %v", method, path, name, r.Status, r.Err)
						}
					}
				}
			}
		}
		l.Clock.Advance(2 * time.Hour)
		l.FlushLog()
		dump := dumpLog(t, l)
		if !strings.Contains(dump, "/public/b.txt") || !strings.Contains(dump, "/home/alice/a.txt") {
			t.Fatalf("the dump contains no log: %s", dump)
		}
		for name, secret := range secrets {
			if strings.Contains(strings.ToLower(dump), strings.ToLower(secret)) {
				t.Errorf("the log contains the %s", name)
			}
		}
	})
}
