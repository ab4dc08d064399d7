package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// listPublic requests GET /api/public/files with further parameters name, value, name, value …
func listPublic(c *apptest.Client, path string, parameters ...string) *apptest.Reply {
	q := url.Values{"path": {path}}
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return c.Get("/api/public/files?" + q.Encode())
}

// Addition: GET /api/public/files answers every caller like GET /api/files answers a visitor
// without an account.
func TestPublicListing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		mkdir(admin, "/public", "sub")
		admin.Upload("/public", "b.txt", []byte("bb"))
		admin.Upload("/public", "a.txt", []byte("a"))
		admin.Upload("/public/sub", "ab.png", []byte(onePixel))
		alice.Upload("/home/alice", "a of alice.txt", []byte("hers"))
		mkdir(admin, "/public", "shut")
		admin.Upload("/public/shut", "a hidden.txt", []byte("hidden"))
		addRule(admin, M{"pathPattern": "/public/shut/**", "effect": "deny", "role": "guest"})
		owner := callerID(alice)
		key := alice.Key(M{})
		stale := l.Client(t)
		stale.Cookies["auth_token"] = "stale"
		junk := l.Client(t)
		junk.Header.Set("Authorization", "Bearer junk")
		everyone := map[string]*apptest.Client{"a visitor": visitor, "a user": alice, "an administrator": admin,
			"a key": key, "a stale cookie": stale, "a junk key": junk}

		t.Run("same answer for all callers", func(t *testing.T) {
			want := ""
			for who, c := range everyone {
				c := c.In(t)
				r := listPublic(c, "/public").OK(200)
				wantStrings(t, who, r.Names("items"), "sub", "a.txt", "b.txt")
				wantFields(t, "data", r.Object()["data"], "items", "pagination", "mount", "folder")
				wantFields(t, "an item", r.Value("items.1"), "id", "name", "path", "type", "size", "mimeType",
					"hasPassword", "customTitle", "customColor", "coverUrl", "iconEmoji",
					"manualPosition", "public", "permissions", "createdAt", "updatedAt")
				wantJSON(t, "permissions", r.Value("items.1.permissions"), []string{"read", "download"})
				wantJSON(t, "public", r.Value("items.1.public"), true)
				wantJSON(t, "folder", r.Value("folder.name"), "public")
				wantJSON(t, "mount", r.Value("mount.name"), "Files")
				if strings.Contains(string(r.Body), "ownerId") || strings.Contains(string(r.Body), owner) {
					t.Errorf("%s learns the owner: %s", who, r.Body)
				}
				wantHeader(t, r, "Cache-Control", "private, no-store")
				data := fmt.Sprint(r.Value("items"), r.Value("pagination"), r.Value("folder"))
				if want == "" {
					want = data
				}
				if data != want {
					t.Errorf("%s gets another listing: %s", who, data)
				}
				wantStrings(t, "the root", listPublic(c, "/").OK(200).Names("items"), "public") // and not home
				wantStrings(t, "without a path", c.Get("/api/public/files").OK(200).Names("items"), "public")
				wantJSON(t, "the root's total", listPublic(c, "/").OK(200).Int("pagination.total"), 1)
			}
		})
		t.Run("parameters", func(t *testing.T) {
			c := visitor.In(t)
			// abuse case C28
			wantStrings(t, "search", listPublic(c, "/", "search", "A").OK(200).Names("items"), "a.txt", "ab.png")
			wantJSON(t, "total of a search", listPublic(c, "/", "search", "A").OK(200).Int("pagination.total"), 2)
			wantStrings(t, "type", listPublic(c, "/public", "type", "folder").OK(200).Names("items"), "sub")
			wantStrings(t, "sort", listPublic(c, "/public", "sort", "size", "order", "desc").OK(200).Names("items"),
				"sub", "b.txt", "a.txt")
			r := listPublic(c, "/public", "limit", "1", "page", "2").OK(200)
			wantStrings(t, "page", r.Names("items"), "a.txt")
			wantJSON(t, "pagination", r.Value("pagination"), M{"total": 3, "page": 2, "limit": 1, "pages": 3})
			listPublic(c, "/public", "limit", "1000").OK(200)
			for _, bad := range [][]string{
				{"limit", "0"}, {"limit", "1001"}, {"page", "0"}, {"sort", "owner"}, {"order", "up"}, {"type", "link"},
				{"search", strings.Repeat("x", 256)},
			} {
				listPublic(c, "/public", bad...).Fails(400, "VALIDATION_ERROR")
			}
			listPublic(c, "/public", "search", strings.Repeat("x", 255)).OK(200)
			for _, path := range []string{"/public/..", "..", "/public/\\", "/public/\x00", "/\u202e", "/ public"} {
				listPublic(c, path).Fails(400, "VALIDATION_ERROR")
			}
		})
		t.Run("hidden entries are not revealed", func(t *testing.T) {
			for who, c := range everyone {
				for _, path := range []string{"/home", "/home/alice", "/home/alice/none", "/home/nobody", "/uploads",
					"/none", "/none/at/all", "/public/shut", "/public/shut/none", "/public/shut/a hidden.txt"} {
					r := listPublic(c.In(t), path)
					wantStatus(t, who+" at "+path, r, 401, "UNAUTHORIZED")
				}
				// where a visitor may read, a missing entry is 404
				for _, path := range []string{"/public/none", "/public/a.txt", "/public/sub/none/x"} {
					wantStatus(t, who+" at "+path, listPublic(c.In(t), path), 404, "NOT_FOUND")
				}
			}
		})
		t.Run("passwords", func(t *testing.T) {
			c := visitor.In(t)
			box := mkdir(admin.In(t), "/public", "box")
			admin.In(t).Upload("/public/box", "a boxed.txt", []byte("x"))
			setAccessPassword(admin, box, "open sesame")
			// an administrator could list it with their own rights
			for _, who := range []*apptest.Client{c, admin.In(t), alice.In(t)} {
				for _, path := range []string{"/public/box", "/public/box/none", "/public/box/a boxed.txt"} {
					wantStatus(t, path, listPublic(who, path), 403, "PASSWORD_REQUIRED")
				}
			}
			wantStrings(t, "search", listPublic(c, "/", "search", "box").OK(200).Names("items"), "box")
			wantJSON(t, "hasPassword", listPublic(c, "/public", "type", "folder").OK(200).Value("items.0.hasPassword"),
				true)
			setAccessPassword(admin, box, nil)
			wantStrings(t, "opened", listPublic(c, "/public/box").OK(200).Names("items"), "a boxed.txt")
			rule := addRule(admin.In(t), M{"pathPattern": "/vip/**", "effect": "allow", "role": "guest",
				"requirePassword": true, "password": "open sesame"})
			mkdir(admin.In(t), "/", "vip")
			for _, path := range []string{"/vip", "/vip/none"} {
				listPublic(c, path).Fails(403, "PASSWORD_REQUIRED")
			}
			wantStrings(t, "the root", listPublic(c, "/").OK(200).Names("items"), "public")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			listPublic(c, "/vip").Fails(401, "UNAUTHORIZED")
		})
		t.Run("rules for addresses", func(t *testing.T) {
			c := visitor.In(t)
			mkdir(admin.In(t), "/", "lan")
			for address, opens := range map[string]bool{"127.0.0.0/8": true, "198.51.100.7": false} {
				rule := addRule(admin.In(t), M{"pathPattern": "/lan/**", "effect": "allow", "role": "guest",
					"allowedIps": []string{address, map[bool]string{true: "::1", false: "2001:db8::1"}[opens]}})
				if r := listPublic(c, "/lan"); opens && r.Status != 200 || !opens && r.Status != 401 {
					t.Errorf("from %s: %d", address, r.Status)
				}
				admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			}
		})
		t.Run("without guests", func(t *testing.T) {
			setAllowGuestAccess(t, l, false)
			for who, c := range everyone {
				for _, path := range []string{"/", "/public", "/public/sub", "/public/none", "/home", "/none"} {
					wantStatus(t, who+" at "+path, listPublic(c.In(t), path), 401, "UNAUTHORIZED")
				}
			}
			listPublic(visitor.In(t), "/public/..").Fails(400, "VALIDATION_ERROR")
			setAllowGuestAccess(t, l, true)
			listPublic(visitor.In(t), "/public").OK(200)
		})
	})
}

// Outside of all mounts nothing exists for any caller, as on the public path. Without guest access,
// not even that is revealed.
func TestPublicListingWithoutMount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		visitor := l.Client(t)
		execAndRaiseVersion(t, l, "UPDATE mounts SET mount_path = '/only'")
		listPublic(visitor, "/elsewhere").Fails(404, "NOT_FOUND")
		listPublic(visitor, "/only").Fails(401, "UNAUTHORIZED")
		setAllowGuestAccess(t, l, false)
		listPublic(visitor, "/elsewhere").Fails(401, "UNAUTHORIZED")
	})
}
