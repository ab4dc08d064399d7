package api_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
)

// A key opens no route of accounts, keys, links, shares and administration, whatever its
// permissions and its owner, even beside a session that would. Only the key counts
// (specification: Authentication, rule 5; docs/security.md, Who asks).
func TestKeysCannotUseAccountRoutes(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("routes")
		all := M{"permissions": []string{"read", "write", "delete"}, "protocols": []string{"api", "webdav"},
			"uploadPath": "/"}
		owners, admins := f.owner.Key(all), f.admin.Key(all)
		beside := f.admin.Fork()
		beside.Header.Set("Authorization", admins.Header.Get("Authorization"))
		look := watchTables(t, l)
		asked := 0
		for _, row := range matrix {
			if row.auth != sessionAuth && row.auth != adminAuth {
				continue
			}
			asked++
			path, body := row.request(o)
			for name, c := range map[string]*apptest.Client{"the owner's": owners, "an administrator's": admins,
				"beside a session": beside} {
				wantStatus(t, row.method+" "+row.pattern+" by a key, "+name, send(c.Fork(), row.method, path, body),
					401, "UNAUTHORIZED")
			}
		}
		if asked < 20 {
			t.Errorf("only %d routes are for sessions alone", asked)
		}
		look("a key")
	}, apptest.ReachLoopback)
}

// A key stops when its owner's account stops, and works again with it. A permission that the owner
// loses, the key loses (docs/decisions.md, Accounts and administrators).
func TestKeysEndWithTheirOwner(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file := alice.Upload("/home/alice", "a.txt", []byte("x"))
		key, uploads := alice.Key(M{"uploadPath": "/home/alice"}), alice.Key(M{})
		wantStatus(t, "the key of a user", uploads.Post("/api/files/folder", M{"path": "/uploads", "name": "x"}), 201,
			"")
		form, contentType := apptest.Form(nil, "file", "b.txt", []byte("x"))
		try := func(what string, want int, code string) {
			t.Helper()
			for range 2 { // both replicas
				wantStatus(t, what+": listing", key.Get("/api/files?path=/home/alice"), want, code)
				wantStatus(t, what+": an address", key.Get("/api/files/"+file+"/download"), want, code)
				wantStatus(t, what+": a compatible upload", key.Post("/api/upload", form, "Content-Type", contentType),
					want, code)
				wantStatus(t, what+": jobs", key.Get("/api/files/jobs"), want, code)
			}
		}
		try("active", 200, "")
		for _, state := range []string{"disabled", "banned"} {
			setUserStatus(t, l, "alice", state)
			try(state, 401, "INVALID_TOKEN")
			wantStatus(t, state+": not even routes without credentials",
				key.Get("/api/files/"+file+"/download", "Accept", "image/*"), 401, "INVALID_TOKEN")
			execAndRaiseVersion(t, l, "UPDATE users SET status = 'active' WHERE username = 'alice'")
			try("active again", 200, "")
		}
		execAndRaiseVersion(t, l,
			"UPDATE users SET role = 'guest', role_version = role_version + 1 WHERE username = 'alice'")
		wantStatus(t, "the key of a guest", uploads.Post("/api/files/folder", M{"path": "/uploads", "name": "y"}), 403,
			"FORBIDDEN")
		execAndRaiseVersion(t, l,
			"UPDATE users SET role = 'admin', role_version = role_version + 1 WHERE username = 'alice'")
		wantStatus(t, "the key of an administrator", key.Get("/api/files?path=/home"), 200, "")
		wantStatus(t, "a write outside the upload root",
			key.Post("/api/files/folder", M{"path": "/home", "name": "x"}), 403, "FORBIDDEN")
	})
}

// A key expires exactly at its expiry time in milliseconds: for its requests, in lists, and in the
// count of keys.
func TestKeyExpiresToTheMillisecond(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		key := alice.Key(M{"expiresIn": 60})
		listed := alice.Get("/api/keys/").OK(200)
		expires, id := listed.Int("keys.0.expiresAt"), listed.Text("keys.0.id")
		wantJSON(t, "expiresAt", expires, l.Clock.Now().UnixMilli()+60_000)
		for range 19 {
			alice.Key(M{})
		}
		for _, row := range []struct {
			ms             int64 // relative to expiresAt
			state          string
			listing, other int
		}{{-1, "active", 200, 403}, {0, "expired", 401, 201},
			{1, "expired", 401, 403}} { // the place of the expired key is taken at 0
			l.Clock.Advance(time.Duration(expires+row.ms-l.Clock.Now().UnixMilli()) * time.Millisecond)
			for range 2 {
				wantStatus(t, row.state, key.Get("/api/files?path=/uploads"), row.listing, "")
			}
			list := alice.Get("/api/keys/").OK(200)
			keys, _ := list.Value("keys").([]any)
			for _, k := range keys {
				if k, _ := k.(map[string]any); k["id"] == id && k["status"] != row.state {
					t.Errorf("%d ms from its end: status %v, want %s", row.ms, k["status"], row.state)
				}
			}
			wantStatus(t, row.state+": another key", alice.Post("/api/keys/", newKey(nil)), row.other, "")
		}

		// renewal needs a free place and an end in the future, and works immediately
		wantStatus(t, "renewed as the 21st", alice.Patch("/api/keys/"+id, M{"expiresIn": 60}), 403, "FORBIDDEN")
		wantStatus(t, "still expired", key.Get("/api/files?path=/uploads"), 401, "INVALID_TOKEN")
		alice.Delete("/api/keys/" + alice.Get("/api/keys/").OK(200).Text("keys.0.id")).OK(200)
		renewed := alice.Patch("/api/keys/"+id, M{"expiresIn": 60}).OK(200)
		wantJSON(t, "status", renewed.Value("key.status"), "active")
		wantJSON(t, "expiresAt", renewed.Int("key.expiresAt"), l.Clock.Now().UnixMilli()+60_000)
		for range 2 {
			wantStatus(t, "renewed", key.Get("/api/files?path=/uploads"), 200, "")
		}
		wantStatus(t, "counted as active", alice.Post("/api/keys/", newKey(nil)), 403, "FORBIDDEN")
		wantStatus(t, "renewed while active, with no room", alice.Patch("/api/keys/"+id, M{"expiresIn": nil}), 200, "")
		alice.Delete("/api/keys/" + id).OK(200)
		for _, body := range []M{{"name": "x"}, {"expiresIn": 60}, {}, {"rootOnly": true}} {
			wantStatus(t, "changing a revoked key", alice.Patch("/api/keys/"+id, body), 409, "OPERATION_FAILED")
		}
		wantStatus(t, "others do not see it", l.User(t, "bob").Patch("/api/keys/"+id, M{"name": "x"}), 404,
			"NOT_FOUND")
	})
}

// Of expired keys that are renewed concurrently, only as many become active as there is room for.
// Abuse case C89.
func TestConcurrentKeyRenewalsAreLimited(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		var ids []string
		for range 20 {
			ids = append(ids, alice.Post("/api/keys/", newKey(M{"expiresIn": 60})).OK(201).Text("key.id"))
		}
		l.Clock.Advance(time.Minute)
		for range 15 {
			alice.Post("/api/keys/", newKey(nil)).OK(201)
		}
		var renewed, refused atomic.Int64
		var all sync.WaitGroup
		for _, id := range ids {
			c := alice.Fork()
			all.Go(func() {
				switch reply := c.Patch("/api/keys/"+id, M{"expiresIn": 3600}); reply.Status {
				case 200:
					renewed.Add(1)
				case 403:
					refused.Add(1)
				default:
					t.Errorf("renewing: %d %s", reply.Status, reply.Body)
				}
			})
		}
		all.Wait()
		if renewed.Load() != 5 || refused.Load() != 15 {
			t.Errorf("%d were renewed and %d refused, want 5 and 15", renewed.Load(), refused.Load())
		}
	})
}

// The last use of a key is updated within a minute, on every replica, and does not raise the config
// version.
func TestLastUseOfAKey(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		read := alice.Key(M{"permissions": []string{"read"}, "allowedIps": []string{"127.0.0.1"}})
		write := alice.Key(M{"permissions": []string{"write"}})
		idle := alice.Key(M{})
		idOf := func(c *apptest.Client) string {
			id, _, _ := strings.Cut(strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "), ".")
			return id
		}
		lastUse := func(c *apptest.Client) any {
			t.Helper()
			list := alice.Get("/api/keys/").OK(200)
			keys, _ := list.Value("keys").([]any)
			for _, k := range keys {
				if k, _ := k.(map[string]any); k["id"] == idOf(c) {
					return k["lastUsedAt"]
				}
			}
			t.Fatal("the key is not listed")
			return nil
		}
		write2 := func() {
			for range 2 { // both replicas
				form, contentType := apptest.Form(nil, "file", "b.txt", []byte("x"))
				write.Post("/api/upload", form, "Content-Type", contentType).OK(200)
			}
		}
		sweep := func() {
			for _, a := range l.Apps {
				if err := a.Keys.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		version := tableRows(t, l)["versions"]
		first := l.Clock.Now().UnixMilli()
		for range 2 {
			read.Get("/api/files?path=/home/alice").OK(200)
		}
		write2()
		wantStatus(t, "a refused request counts as a use",
			read.Post("/api/files/folder", M{"path": "/uploads", "name": "x"}), 403, "FORBIDDEN")
		wantStatus(t, "a wrong secret is none",
			l.Client(t).Get("/api/files", "Authorization", "Bearer "+idOf(idle)+".sk_"+strings.Repeat("a", 48)), 401,
			"INVALID_TOKEN")
		sweep()
		wantJSON(t, "of the one that reads", lastUse(read), first)
		wantJSON(t, "of the one that writes", lastUse(write), first)
		wantJSON(t, "of the one that was not used", lastUse(idle), nil)
		if now := tableRows(t, l)["versions"]; now != version {
			t.Errorf("the use of a key raised a version:\n%s\nnow\n%s", version, now)
		}
		l.Clock.Advance(time.Minute)
		second := l.Clock.Now().UnixMilli()
		write2()
		sweep()
		wantJSON(t, "a minute later", lastUse(write), second)
		wantJSON(t, "of the other", lastUse(read), first)
		for _, other := range []string{"/api/keys/", "/api/keys/rules"} {
			if strings.Contains(string(alice.Get(other).OK(200).Body), "sk_") {
				t.Errorf("%s reveals a secret", other)
			}
		}
	})
}

// The listed rules are the rules that apply: those of the keys, of the user, of the user's role,
// and of guests while guest access is on.
func TestKeyRulesListApplicableRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		boss := l.User(t, "boss", M{"role": "admin"})
		for _, role := range []string{"admin", "user", "guest"} {
			admin.Post("/api/admin/rules", M{"pathPattern": "/of/" + role + "/**", "effect": "deny", "role": role,
				"allowedIps": []string{"10.0.0.0/8"}}).OK(201)
		}
		ended := alice.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id")
		admin.Post("/api/admin/rules", M{"pathPattern": "/of/ended/**", "effect": "allow", "apiKeyId": ended,
			"requirePassword": true, "password": "open sesame"}).OK(201)
		alice.Delete("/api/keys/" + ended).OK(200)
		shown := func(c *apptest.Client) []string {
			t.Helper()
			var patterns []string
			reply := c.Get("/api/keys/rules").OK(200)
			rules, _ := reply.Value("rules").([]any)
			for _, rule := range rules {
				if rule, _ := rule.(map[string]any); strings.HasPrefix(rule["pathPattern"].(string), "/of/") {
					patterns = append(patterns, rule["pathPattern"].(string))
					if hash := rule["passwordHash"]; rule["requirePassword"] == true && hash != "******" ||
						rule["requirePassword"] == false && hash != nil {
						t.Errorf("passwordHash %v", hash)
					}
				}
			}
			slices.Sort(patterns)
			return patterns
		}
		wantJSON(t, "a user's", shown(alice), []string{"/of/ended/**", "/of/guest/**", "/of/user/**"})
		wantJSON(t, "an administrator's", shown(boss), []string{"/of/admin/**", "/of/guest/**"})
		setAllowGuestAccess(t, l, false)
		wantJSON(t, "a user's without guests", shown(alice), []string{"/of/ended/**", "/of/user/**"})
		wantJSON(t, "a guest's without guests", shown(l.User(t, "guesty", M{"role": "guest"})),
			[]string{"/of/guest/**"})
	})
}
