package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
)

func newUser(more M) M {
	return M{"username": "alice", "email": "alice@example.org", "password": "a good password"}.With(more)
}

func TestCreateUser(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		reply := admin.Post("/api/admin/users", newUser(nil)).OK(201)
		wantFields(t, "data", reply.Object()["data"], "user")
		wantFields(t, "user", reply.Value("user"), "id", "username", "email", "emailVerified", "role", "status",
			"displayName", "avatarUrl", "defaultPath", "locale", "theme", "quota", "createdAt", "updatedAt",
			"lastSeenAt", "avatar", "keptStorage", "maxKept")
		now := l.Clock.Now().UnixMilli()
		for field, want := range (M{
			"username": "alice", "email": "alice@example.org", "emailVerified": true, "role": "user",
			"status": "active", "displayName": nil, "avatarUrl": nil, "defaultPath": "/home/alice",
			"locale": "en-US", "theme": "system", "lastSeenAt": nil,
			"quota": M{"maxFiles": 500, "maxStorage": 5000, "usedFiles": 0, "usedStorage": 0}, "createdAt": now,
			"updatedAt": now,
		}) {
			wantJSON(t, field, reply.Value("user."+field), want)
		}
		if strings.Contains(string(reply.Body), "argon2") || strings.Contains(string(reply.Body), "a good password") {
			t.Errorf("%s", reply.Body)
		}
		alice := l.SignIn(t, "alice", "a good password")
		list := alice.Get("/api/files?path=/home/alice").OK(200)
		wantJSON(t, "the home", list.Value("items"), []string{})
		wantJSON(t, "its owner", list.Value("folder.ownerId"), reply.Value("user.id"))
		wantStatus(t, "writing there", alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "pics"}), 201,
			"")

		// names and addresses are unique, ignoring case
		for name, body := range map[string]M{
			"name":                newUser(M{"email": "b@example.org"}),
			"name in capitals":    newUser(M{"username": "ALICE", "email": "b@example.org"}),
			"address":             newUser(M{"username": "bob"}),
			"address in capitals": newUser(M{"username": "bob", "email": "Alice@EXAMPLE.org"}),
			"the administrator's": newUser(M{"username": "Admin", "email": "b@example.org"}),
		} {
			wantStatus(t, "taken: "+name, admin.Post("/api/admin/users", body), 409, "ALREADY_EXISTS")
		}
		wantStatus(t, "no home is left behind", admin.Get("/api/files?path=/home/bob"), 404, "NOT_FOUND")

		// an existing folder never becomes a home
		admin.Post("/api/files/folder", M{"path": "/home", "name": "bob"}).OK(201)
		bob := admin.Post("/api/admin/users",
			newUser(M{"username": "bob", "email": "bob@example.org", "role": "admin", "maxStorage": -1,
				"maxFiles": 0})).OK(201)
		wantJSON(t, "home", bob.Value("user.defaultPath"), "/home/bob-2")
		wantJSON(t, "role", bob.Value("user.role"), "admin")
		admin.Post("/api/files/folder", M{"path": "/home", "name": "carl"}).OK(201)
		admin.Post("/api/files/folder", M{"path": "/home", "name": "carl-2"}).OK(201)
		carl := admin.Post("/api/admin/users",
			newUser(M{"username": "carl", "email": "carl@example.org", "role": "guest", "maxStorage": 0})).OK(201)
		if path := carl.Text("user.defaultPath"); path == "/home/carl" || path == "/home/carl-2" ||
			!strings.HasPrefix(path, "/home/carl") {
			t.Errorf("home %s", path)
		}
		quota := l.SignIn(t, "bob", "a good password").Get("/api/auth/me").OK(200).Value("quota")
		wantJSON(t, "quota", quota, M{"maxFiles": 0, "maxStorage": -1, "usedFiles": 0, "usedStorage": 0})

		wantStatus(t, "by a user", alice.Post("/api/admin/users",
			newUser(M{"username": "dora", "email": "dora@example.org"})), 403, "FORBIDDEN")
		wantStatus(t, "by a guest account", l.SignIn(t, "carl", "a good password").Post("/api/admin/users",
			newUser(M{"username": "dora", "email": "dora@example.org"})), 403, "FORBIDDEN")
	}, func(cfg *config.Config) { cfg.DefaultMaxStorage, cfg.DefaultMaxFiles = 5000, 500 })
}

func TestCreateUserFields(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for i, row := range []struct {
		name   string
		change M
		status int
	}{
		{"2 characters", M{"username": "ab"}, 400},
		{"3 characters", M{"username": "abc"}, 201},
		{"20 characters", M{"username": strings.Repeat("a", 20)}, 201},
		{"21 characters", M{"username": strings.Repeat("a", 21)}, 400},
		{"all kinds of characters", M{"username": "Az_09"}, 201},
		{"a dash", M{"username": "a-b"}, 400},
		{"a dot", M{"username": "a.b"}, 400},
		{"a space", M{"username": "a b"}, 400},
		{"letters of other scripts", M{"username": "élan"}, 400},
		{"a line break at the end", M{"username": "abcd\n"}, 400},
		{"dots", M{"username": "../.."}, 400},
		{"no username", M{"username": nil}, 400},
		{"username a number", M{"username": 12345}, 400},
		{"7 characters of password", M{"password": "1234567"}, 400},
		{"8 characters", M{"password": "12345678"}, 201},
		{"8 characters of 4 bytes", M{"password": strings.Repeat("😀", 8)}, 201},
		{"128 characters", M{"password": strings.Repeat("é", 128)}, 201},
		{"129 characters", M{"password": strings.Repeat("a", 129)}, 400},
		{"no password", M{"password": nil}, 400},
		{"a password of 1 MB", M{"password": strings.Repeat("a", 1000000)}, 400}, // abuse case C107
		{"no address", M{"email": nil}, 400},
		{"an empty address", M{"email": ""}, 400},
		{"no @", M{"email": "alice.example.org"}, 400},
		{"nothing before the @", M{"email": "@example.org"}, 400},
		{"no domain", M{"email": "alice@"}, 400},
		{"two addresses", M{"email": "a@example.org, b@example.org"}, 400},
		{"a display name", M{"email": "Alice <alice@example.org>"}, 400},
		{"a header", M{"email": "a@example.org\r\nBcc: b@example.org"}, 400},
		{"255 characters", M{"email": strings.Repeat("a", 243) + "@example.org"}, 400},
		{"a plus", M{"email": "a+b@example.org"}, 201},
		{"role unknown", M{"role": "root"}, 400},
		{"role empty", M{"role": ""}, 400},
		{"role null", M{"role": nil}, 201},
		{"maxStorage -2", M{"maxStorage": -2}, 400},
		{"maxStorage -1", M{"maxStorage": -1}, 201},
		{"maxStorage 0", M{"maxStorage": 0}, 201},
		{"maxStorage a string", M{"maxStorage": "5"}, 400},
		{"maxStorage 1.5", M{"maxStorage": 1.5}, 400},
		{"maxFiles -2", M{"maxFiles": -2}, 400},
		{"maxFiles -1", M{"maxFiles": -1}, 201},
		{"maxFiles 0", M{"maxFiles": 0}, 201},
		// abuse case C52
		{"fields that don't belong there", M{"id": "chosen", "status": "banned", "emailVerified": false,
			"usedStorage": 5, "ROLE": "admin"}, 201},
	} {
		body := M{"username": fmt.Sprintf("user%d", i), "email": fmt.Sprintf("user%d@example.org", i),
			"password": "a good password"}.With(row.change)
		code := map[int]string{400: "VALIDATION_ERROR"}[row.status]
		reply := admin.Post("/api/admin/users", body)
		wantStatus(t, row.name, reply, row.status, code)
		if row.change["id"] != nil && reply.Status == 201 {
			wantJSON(t, "role", reply.Value("user.role"), "user")
			wantJSON(t, "status", reply.Value("user.status"), "active")
			if reply.Text("user.id") == "chosen" {
				t.Error("the id was chosen by the client")
			}
		}
	}
}
