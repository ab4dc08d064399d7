package api_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestPermanentLink(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		const home = "/home/alice"
		link := func(c *apptest.Client, id string) *apptest.Reply { return c.Post("/api/files/"+id+"/link", M{}) }

		t.Run("made, revoked, made again", func(t *testing.T) {
			alice, visitor := alice.In(t), visitor.In(t)
			id := alice.Upload(home, "a.PNG", []byte(onePixel))
			r := link(alice, id).OK(200)
			address := r.Text("link.url")
			if !regexp.MustCompile(`^`+apptest.BaseURL+`/api/i/[0-9A-Za-z]{22}\.png$`).MatchString(address) ||
				r.Int("link.createdAt") != l.Clock.Now().UnixMilli() {
				t.Fatalf("got %s", r.Body)
			}
			l.Clock.Advance(time.Second)
			if again := link(alice, id).OK(200); again.Text("link.url") != address ||
				again.Int("link.createdAt") != r.Int("link.createdAt") {
				t.Errorf("again: %s", again.Body)
			}
			got := visitor.Get(address).OK(200)
			wantBody(t, got, onePixel)
			wantHeader(t, got, "Content-Type", "image/png")
			wantHeader(t, got, "Content-Disposition", `inline; filename="a.PNG"`)
			wantHeader(t, got, "Cache-Control", "public, max-age=3600")
			wantHeader(t, got, "Access-Control-Allow-Origin", "*")
			wantHeader(t, got, "Cross-Origin-Resource-Policy", "cross-origin")
			if r := visitor.Get(address, "If-None-Match", got.Header.Get("ETag")); r.Status != 304 {
				t.Errorf("If-None-Match: %d", r.Status)
			}
			if r := visitor.Get(address, "Range", "bytes=0-3"); r.Status != 206 || string(r.Body) != onePixel[:4] {
				t.Errorf("range: %d", r.Status)
			}
			wantHeader(t, visitor.Head(address).OK(200), "Content-Length", "67")
			bare := strings.TrimSuffix(address, ".png")
			wantBody(t, visitor.Get(bare).OK(200), onePixel) // the extension is optional
			wantBody(t, visitor.Get(bare+".html").OK(200), onePixel)
			visitor.Get(bare[:len(bare)-1]).Fails(404, "NOT_FOUND")
			for _, none := range []string{"x", "%00", "%ff", ".png", strings.Repeat("a", 22),
				strings.Repeat("a", 3000)} {
				visitor.Get("/api/i/"+none).Fails(404, "NOT_FOUND")
			}
			if swapped := strings.ToLower(bare[len(apptest.BaseURL):]); swapped != bare[len(apptest.BaseURL):] {
				visitor.Get(swapped).Fails(404, "NOT_FOUND")
			}
			if r := alice.Delete("/api/files/" + id + "/link").OK(200); !bytes.Contains(r.Body, []byte(`"data":null`)) {
				t.Errorf("revoking answers %s", r.Body)
			}
			visitor.Get(address).Fails(404, "NOT_FOUND")
			alice.Delete("/api/files/" + id + "/link").OK(200)
			fresh := link(alice, id).OK(200).Text("link.url")
			if fresh == address {
				t.Error("the new link has the address of the revoked one")
			}
			visitor.Get(address).Fails(404, "NOT_FOUND")
			visitor.Get(fresh).OK(200)
			alice.Delete("/api/files/" + id).OK(200)
			visitor.Get(fresh).Fails(404, "NOT_FOUND")
		})
		t.Run("rights", func(t *testing.T) {
			id := alice.In(t).Upload(home, "r.txt", []byte("x"))
			link(bob.In(t), id).Fails(403, "FORBIDDEN")
			link(visitor.In(t), id).Fails(401, "UNAUTHORIZED")
			link(alice.In(t), "none").Fails(404, "NOT_FOUND")
			public := admin.In(t).Upload("/public", "p.txt", []byte("x"))
			link(bob.In(t), public).Fails(403, "FORBIDDEN") // download without share
			folder := mkdir(alice.In(t), home, "folder")
			link(alice.In(t), folder).Fails(400, "VALIDATION_ERROR")
			address := link(alice.In(t), id).OK(200).Text("link.url")
			bob.In(t).Delete("/api/files/"+id+"/link").Fails(403, "FORBIDDEN")
			visitor.In(t).Get(address).OK(200)
			admin.In(t).Delete("/api/files/" + id + "/link").OK(200) // administrators may
			visitor.In(t).Get(address).Fails(404, "NOT_FOUND")
		})
		t.Run("follows the file", func(t *testing.T) {
			alice, visitor := alice.In(t), visitor.In(t)
			id := alice.Upload(home, "f.txt", []byte("one"))
			address := link(alice, id).OK(200).Text("link.url")
			first := visitor.Get(address).OK(200)
			alice.Put("/api/files/"+id, M{"name": "g.md"}).OK(200)
			wantBody(t, visitor.Get(address).OK(200), "one")
			// the extension stays as first issued
			if again := link(alice, id).OK(200).Text("link.url"); again != address {
				t.Errorf("now %s", again)
			}
			mkdir(alice, home, "moved")
			alice.Post("/api/files/"+id+"/move", M{"targetPath": home + "/moved", "newName": "f.txt"}).OK(200)
			wantBody(t, visitor.Get(address).OK(200), "one")
			alice.Upload(home+"/moved", "f.txt", []byte("two"), M{"conflict": "replace"})
			second := visitor.Get(address, "If-None-Match", first.Header.Get("ETag")).OK(200)
			wantBody(t, second, "two")
			if second.Header.Get("ETag") == first.Header.Get("ETag") {
				t.Error("same ETag for other bytes")
			}
		})
		t.Run("extensions", func(t *testing.T) {
			for name, want := range map[string]string{"noext": ".bin", "photo": ".jpg", "x.tar.gz": ".gz",
				"odd.ex t": ".bin"} {
				mimeType := ""
				if name == "photo" {
					mimeType = "image/jpeg"
				}
				if name == "noext" || name == "odd.ex t" {
					mimeType = "application/x-thing"
				}
				id := alice.In(t).Upload(home, name, []byte("\x00\x01\xff"), M{"mimeType": mimeType})
				if address := link(alice.In(t), id).OK(200).Text("link.url"); !strings.HasSuffix(address, want) {
					t.Errorf("%s: %s", name, address)
				}
			}
		})
		t.Run("works while the file is publishable", func(t *testing.T) {
			alice, visitor, admin := alice.In(t), visitor.In(t), admin.In(t)
			id := alice.Upload(home, "cond.txt", []byte("x"))
			address := link(alice, id).OK(200).Text("link.url")
			download := "/api/files/" + id + "/download"
			checkLink := func(what string, want bool) {
				t.Helper()
				r := visitor.Get(address)
				if want && r.Status != 200 || !want && r.Status != 404 {
					t.Errorf("%s: %d %s", what, r.Status, r.Body)
				}
				if r := visitor.Get(download, "Accept", "image/*"); want && r.Status != 302 || !want &&
					r.Status != 401 {
					t.Errorf("%s: the download address answers %d", what, r.Status)
				}
			}
			checkLink("at first", true)
			userID := callerID(alice)
			for what, rule := range map[string]M{
				"owner may not share": {"effect": "deny", "userId": userID,
					"permissions": []string{"share"}},
				"owner may not download": {"effect": "deny", "role": "user",
					"permissions": []string{"download"}},
				"a rule with a password decides": {"effect": "allow", "role": "guest", "requirePassword": true,
					"password": "open sesame"},
				"a rule with addresses decides": {"effect": "allow", "role": "guest",
					"allowedIps": []string{"127.0.0.1"}, "permissions": []string{"download"}},
				"a deny with addresses decides": {"effect": "deny", "role": "guest",
					"allowedIps": []string{"127.0.0.0/8", "::1"}},
			} {
				rule["pathPattern"] = home + "/cond*"
				made := addRule(admin, rule)
				checkLink(what, false)
				admin.Delete("/api/admin/rules/" + made).OK(200)
				checkLink("after: "+what, true)
			}
			for what, first := range map[string]M{
				"a deny with addresses before an allow": {"effect": "deny", "allowedIps": []string{"198.51.100.7"}},
				"a plain deny before an allow":          {"effect": "deny"},
			} {
				open := addRule(admin, M{"pathPattern": home + "/cond*", "effect": "allow", "role": "guest",
					"permissions": []string{"download"}})
				first["pathPattern"], first["role"], first["priority"] = home+"/cond*", "guest", 1
				made := addRule(admin, first)
				checkLink(what, first["allowedIps"] == nil)
				admin.Delete("/api/admin/rules/" + made).OK(200)
				admin.Delete("/api/admin/rules/" + open).OK(200)
			}
			made := addRule(admin, M{"pathPattern": home + "/**", "effect": "deny", "role": "user",
				"permissions": []string{"write", "update", "delete"}})
			checkLink("owner may still share and download", true)
			admin.Delete("/api/admin/rules/" + made).OK(200)
			// the link itself publishes the file
			made = addRule(admin, M{"pathPattern": home + "/**", "effect": "deny", "role": "guest"})
			checkLink("guests are denied the path", true)
			admin.Delete("/api/admin/rules/" + made).OK(200)
			setAllowGuestAccess(t, l, false)
			checkLink("guest access off", false)
			setAllowGuestAccess(t, l, true)
			checkLink("guest access on again", true)
		})
	})
}
