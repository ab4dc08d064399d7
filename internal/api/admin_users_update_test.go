package api_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// updateUser changes an account as the administrator.
func updateUser(admin *apptest.Client, id string, body M) *apptest.Reply {
	return admin.Put("/api/admin/users/"+id, body)
}

func usernames(r *apptest.Reply) []string {
	list := []string{}
	for i := range r.Value("users").([]any) {
		list = append(list, r.Text(fmt.Sprintf("users.%d.username", i)))
	}
	return list
}

func TestListUsers(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for name, more := range map[string]M{
			"alice": {"maxStorage": 1000, "maxFiles": 5}, "Bob_1": {"email": "Robert@Example.org"},
			"carl": {"role": "guest"}, "dora": {"role": "admin"}, "bobx1": {},
		} {
			l.User(t, name, more)
		}
		execAndRaiseVersion(t, l, "UPDATE users SET display_name = 'Élan 100% Über_Straße' WHERE username = 'carl'")
		updateUser(admin, userIDOf(t, admin, "bobx1"), M{"status": "banned"}).OK(200)
		alice := l.SignIn(t, "alice", "password of alice")
		alice.Upload("/home/alice", "a", []byte("1234"))

		r := admin.Get("/api/admin/users").OK(200)
		wantFields(t, "data", r.Object()["data"], "users", "pagination")
		wantStrings(t, "all, by name", usernames(r), "admin", "alice", "Bob_1", "bobx1", "carl", "dora")
		wantJSON(t, "pagination", r.Value("pagination"), M{"page": 1, "limit": 20, "total": 6, "pages": 1})
		wantFields(t, "user", r.Value("users.1"), "id", "username", "email", "emailVerified", "role", "status",
			"displayName", "avatarUrl", "defaultPath", "locale", "theme", "quota", "createdAt", "updatedAt",
			"lastSeenAt", "avatar", "keptStorage", "maxKept")
		wantJSON(t, "quota", r.Value("users.1.quota"),
			M{"maxStorage": 1000, "maxFiles": 5, "usedStorage": 4, "usedFiles": 1})
		wantJSON(t, "of the administrator", r.Value("users.0.quota"),
			M{"maxStorage": -1, "maxFiles": -1, "usedStorage": 0, "usedFiles": 0})
		// abuse case C115
		if strings.Contains(string(r.Body), "argon2") || strings.Contains(string(r.Body), "assword") {
			t.Errorf("a hash: %s", r.Body)
		}

		for query, want := range map[string][]string{
			"role=admin": {"admin", "dora"}, "role=guest": {"carl"}, "status=banned": {"bobx1"},
			"role=user&status=active": {"alice", "Bob_1"},
			// abuse case C18
			"search=BOB": {"Bob_1", "bobx1"}, "search=bob_1": {"Bob_1"}, "search=_": {"Bob_1", "carl"},
			"search=%25": {"carl"}, "search=robert@example": {"Bob_1"},
			"search=%C3%89LAN": {"carl"}, "search=%C3%BCber": {"carl"}, "search=STRASSE": {"carl"}, "search=nobody": {},
			"search=bob&status=active": {"Bob_1"},
			"search=bob&role=guest":    {}, "limit=2&page=2": {"Bob_1", "bobx1"}, "limit=4&page=2": {"carl", "dora"},
			"page=3": {}, "search=o&limit=2&page=2": {"Bob_1", "bobx1"},
			"search=%5C": {}, "search=&role=": {"admin", "alice", "Bob_1", "bobx1", "carl", "dora"},
		} {
			wantStrings(t, query, usernames(admin.Get("/api/admin/users?"+query).OK(200)), want...)
		}
		wantJSON(t, "a page of a search", admin.Get("/api/admin/users?search=o&limit=2&page=2").OK(200).Value(
			"pagination"), M{"page": 2, "limit": 2, "total": 6, "pages": 3})
		wantJSON(t, "beyond the end", admin.Get("/api/admin/users?limit=4&page=9").OK(200).Value("pagination"),
			M{"page": 9, "limit": 4, "total": 6, "pages": 2})

		for query, want := range map[string]int{
			"limit=0": 400, "limit=1": 200, "limit=100": 200, "limit=101": 400, "limit=-1": 400, "limit=x": 400,
			"limit=1.5": 400, "page=0": 400, "page=1": 200, "page=-1": 400,
			"role=root": 400, "role=ADMIN": 400, "status=gone": 400, "search=" + strings.Repeat("a", 255): 200,
			"search=" + strings.Repeat("a", 256): 400, "search=%00": 400, "search=%ff": 400,
		} {
			wantStatus(t, query, admin.Get("/api/admin/users?"+query), want,
				map[int]string{400: "VALIDATION_ERROR"}[want])
		}
	})
}

func TestUpdateUser(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := userIDOf(t, admin, "alice")

		t.Run("fields", func(t *testing.T) {
			admin := admin.In(t)
			for i, row := range []struct {
				body   any
				status int
			}{
				{M{}, 200}, {M{"role": "root"}, 400}, {M{"role": ""}, 400}, {M{"role": 1}, 400}, {M{"role": nil}, 200},
				{M{"status": "gone"}, 400}, {M{"status": true}, 400},
				{M{"defaultPath": ""}, 400}, {M{"defaultPath": "home"}, 400}, {M{"defaultPath": "/a/../b"}, 400},
				{M{"defaultPath": 5}, 400}, {M{"defaultPath": "/a\x00"}, 400},
				{M{"defaultPath": "/API"}, 400}, {M{"defaultPath": "/share/x"}, 400},
				{M{"defaultPath": "/" + strings.Repeat("a", 255)}, 200},
				{M{"defaultPath": "/" + strings.Repeat("a", 256)}, 400},
				{M{"defaultPath": strings.Repeat("/d", 64)}, 200}, {M{"defaultPath": strings.Repeat("/d", 65)}, 400},
				{M{"defaultPath": "/home/alice"}, 200},
				// abuse case C98
				{M{"maxStorage": -2}, 400}, {M{"maxStorage": -1}, 200}, {M{"maxStorage": 0}, 200},
				{M{"maxStorage": 1.5}, 400}, {M{"maxStorage": "5"}, 400}, {M{"maxStorage": nil}, 200},
				{M{"maxFiles": -2}, 400}, {M{"maxFiles": -1}, 200}, {M{"maxFiles": 0}, 200}, {M{"maxFiles": 1.5}, 400},
				{M{"maxFiles": "5"}, 400},
				{`{"maxFiles": 9223372036854775808}`, 400}, {`{"maxFiles": 9223372036854775807}`, 200}, {`[]`, 400},
				{`{`, 400},
				{M{"maxStorage": 10 << 20, "maxFiles": 100, "username": "other", "email": "o@example.org",
					"emailVerified": false, "usedStorage": 9, "id": "x"}, 200},
			} {
				r := admin.Put("/api/admin/users/"+id, row.body, "Content-Type", "application/json")
				wantStatus(t, fmt.Sprint(i, row.body), r, row.status,
					map[int]string{400: "VALIDATION_ERROR"}[row.status])
			}
			r := updateUser(admin, id, M{}).OK(200)
			wantFields(t, "data", r.Object()["data"], "user")
			for field, want := range (M{"username": "alice", "email": "alice@example.org", "role": "user",
				"status": "active", "defaultPath": "/home/alice",
				"quota": M{"maxStorage": 10 << 20, "maxFiles": 100, "usedStorage": 0, "usedFiles": 0}}) {
				wantJSON(t, field, r.Value("user."+field), want)
			}
			for _, none := range []string{"x", "%00", "%ff", strings.Repeat("a", 3000)} {
				updateUser(admin, none, M{}).Fails(404, "NOT_FOUND")
				admin.Delete("/api/admin/users/"+none).Fails(404, "NOT_FOUND")
			}
			alice.In(t).Get("/api/auth/me").OK(200) // none of this ended the session
		})

		t.Run("sessions", func(t *testing.T) {
			admin, ask := admin.In(t), func(c *apptest.Client) *apptest.Reply { return c.In(t).Get("/api/auth/me") }
			for _, state := range []string{"disabled", "banned"} {
				alice := l.SignIn(t, "alice", "password of alice")
				wantJSON(t, "status", updateUser(admin, id, M{"status": state}).OK(200).Value("user.status"), state)
				ask(alice).Fails(401, "SESSION_REVOKED")
				postLogin(l.Client(t), "alice", "password of alice").Fails(401, "USER_DISABLED")
				updateUser(admin, id, M{"status": "active"}).OK(200)
				ask(alice).Fails(401, "SESSION_REVOKED")
				fresh := l.SignIn(t, "alice", "password of alice")
				updateUser(admin, id, M{"status": "active", "role": "user"}).OK(200) // the present values
				ask(fresh).OK(200)
			}
			alice := l.SignIn(t, "alice", "password of alice")
			updateUser(admin, id, M{"role": "guest"}).OK(200)
			ask(alice).Fails(401, "ROLE_CHANGED")
			updateUser(admin, id, M{"role": "user"}).OK(200)
			ask(alice).Fails(401, "ROLE_CHANGED")
		})

		t.Run("quota below the usage", func(t *testing.T) { // abuse case C98
			admin, alice := admin.In(t), l.SignIn(t, "alice", "password of alice")
			file := alice.Upload("/home/alice", "a", []byte("12345"))
			updateUser(admin, id, M{"maxStorage": 4}).OK(200)
			alice.Post("/api/files/upload-session", M{"path": "/home/alice", "fileName": "b", "fileSize": 1}).
				Fails(413, "QUOTA_EXCEEDED")
			wantBody(t, alice.Get("/home/alice/a").OK(200), "12345")
			updateUser(admin, id, M{"maxStorage": 6}).OK(200)
			alice.Upload("/home/alice", "b", []byte("6"))
			alice.Post("/api/files/upload-session", M{"path": "/home/alice", "fileName": "c", "fileSize": 1}).
				Fails(413, "QUOTA_EXCEEDED")
			alice.Delete("/api/files/" + file).OK(200)
			updateUser(admin, id, M{"maxStorage": -1, "maxFiles": -1}).OK(200)
			wantUsed(t, alice, 1, 1)
		})
	})
}

// Abuse case C54.
func TestLastAdministrator(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := userIDOf(t, admin, "admin")
		wantLastAdmin := func(when string) {
			t.Helper()
			for _, body := range []M{{"role": "user"}, {"role": "guest"}, {"status": "disabled"}, {"status": "banned"},
				{"role": "user", "status": "active", "maxFiles": 7}} {
				wantStatus(t, fmt.Sprint(when, body), updateUser(admin, id, body), 400, "VALIDATION_ERROR")
			}
			wantStatus(t, when+", deleting", admin.Delete("/api/admin/users/"+id), 400, "VALIDATION_ERROR")
			r := admin.Get("/api/auth/me").OK(200)
			wantJSON(t, "quota", r.Value("quota.maxFiles"), -1) // the refused request changed nothing
		}
		wantLastAdmin("alone")
		updateUser(admin, id, M{"role": "admin", "status": "active"}).OK(200)
		l.User(t, "mere")
		wantLastAdmin("beside a user")
		l.User(t, "second", M{"role": "admin"})
		second := userIDOf(t, admin, "second")
		updateUser(admin, second, M{"status": "disabled"}).OK(200)
		wantLastAdmin("beside a disabled one")
		updateUser(admin, second, M{"status": "banned"}).OK(200)
		wantLastAdmin("beside a banned one")
		updateUser(admin, second, M{"status": "active", "role": "guest"}).OK(200)
		wantLastAdmin("beside a demoted one")
		updateUser(admin, second, M{"role": "admin"}).OK(200)
		wantStatus(t, "one's own account", admin.Delete("/api/admin/users/"+id), 400, "VALIDATION_ERROR")
		wantJSON(t, "oneself", updateUser(admin, id, M{"role": "user"}).OK(200).Value("user.role"), "user")
		admin.Get("/api/auth/me").Fails(401, "ROLE_CHANGED")
		wantStatus(t, "the remaining administrator", updateUser(l.SignIn(t, "second", "password of second"), second,
			M{"status": "banned"}), 400, "VALIDATION_ERROR")
	})
}

// A defaultPath that an administrator sets becomes the account's home, unless two accounts would
// share it.
func TestAdministratorSetsHome(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		id := userIDOf(t, admin, "alice")
		addVaultMount(t, l)
		mkdir(admin, "/", "team")
		mkdir(admin, "/team", "box")
		admin.Upload("/team/box", "of the administrator", []byte("x"))
		admin.Upload("/team", "file", []byte("x"))
		writes := func(c *apptest.Client, dir string) bool {
			t.Helper()
			r := c.Post("/api/files/folder", M{"path": dir, "name": "probe"})
			if r.Status == 201 {
				admin.Delete("/api/files/" + r.Text("file.id")).OK(200)
			}
			return r.Status == 201
		}
		for _, c := range []struct {
			path string
			home bool
		}{
			{"/team/box", true},          // with a file of another owner in it
			{"/team/new/deep", true},     // is created
			{"/", false},                 // never the root
			{"/home", false},             // contains bob's home
			{"/home/bob", false},         // bob's home
			{"/home/bob/below", false},   // lies in bob's home
			{"/team", true},              // contains no home except the current one
			{"/vault/mine", true},        // in another mount
			{"/vault", true},             // the mount itself
			{"/home/alice", true},        // the old home again
			{"/home/alice/inside", true}, // a smaller folder
			{"/home/alice", true},
		} {
			r := updateUser(admin, id, M{"defaultPath": c.path + "/"}).OK(200)
			want := c.path
			wantJSON(t, "defaultPath", r.Value("user.defaultPath"), want)
			if c.path == "/vault" || c.path == "/vault/mine" { // everybody may do everything there
				continue
			}
			if got := writes(alice, c.path); got != c.home {
				t.Errorf("%s: alice may write there: %v", c.path, got)
			}
		}
		deep := admin.Get("/api/files?path=/team/new/deep").OK(200)
		wantJSON(t, "owner of the created folder", deep.Value("folder.ownerId"), id)
		wantJSON(t, "owner of the folders created above it",
			admin.Get("/api/files?path=/team/new").OK(200).Value("folder.ownerId"), userIDOf(t, admin, "admin"))
		admin.Get("/api/files?path=/home/bob/below").Fails(404, "NOT_FOUND")
		for _, path := range []string{"/team/file", "/team/file/x", "/api/x", "/Webdav"} {
			wantStatus(t, path, updateUser(admin, id, M{"defaultPath": path}), 400, "VALIDATION_ERROR")
		}
		if writes(alice, "/home/bob") || !writes(bob, "/home/bob") || writes(bob, "/home/alice") {
			t.Error("homes are mixed up")
		}

		// a home in a mount counts for the folders above the mount, and the other way round
		updateUser(admin, id, M{"defaultPath": "/vault/mine"}).OK(200)
		bobs := userIDOf(t, admin, "bob")
		for _, path := range []string{"/vault", "/vault/mine", "/vault/mine/x"} {
			updateUser(admin, bobs, M{"defaultPath": path}).OK(200)
			wantJSON(t, path, bob.Get("/api/auth/me").OK(200).Value("user.defaultPath"), path)
		}
		var home string
		row := l.Apps[0].DB.Read(t.Context()).
			QueryRow("SELECT name FROM entries WHERE id = (SELECT home_id FROM users WHERE username = 'bob')")
		if err := row.Scan(&home); err != nil || home != "bob" {
			t.Errorf("bob's home is %s, %v", home, err)
		}

		// a guest's home has no effect
		updateUser(admin, id, M{"defaultPath": "/team/box", "role": "guest"}).OK(200)
		guest := l.SignIn(t, "alice", "password of alice")
		if writes(guest, "/team/box") {
			t.Error("a guest can write in the home")
		}
		guest.Get("/api/files?path=/team/box").Fails(403, "FORBIDDEN")
		updateUser(admin, id, M{"role": "user"}).OK(200)
		if !writes(l.SignIn(t, "alice", "password of alice"), "/team/box") {
			t.Error("the home is missing after the change back")
		}
	})
}

// An administrator's changes are in the access log under the path of the endpoint.
func TestUsersInTheAccessLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		l.User(t, "alice")
		id := userIDOf(t, admin, "alice")
		updateUser(admin, id, M{"maxFiles": 7}).OK(200)
		admin.Delete("/api/admin/users/" + id).OK(200)
		admin.Delete("/api/admin/users/"+id).Fails(404, "NOT_FOUND")
		l.FlushLog()
		got := map[string]int{}
		for _, e := range accessLogs(t, l, admin, "&action=admin") {
			if strings.HasPrefix(e.Path, "/api/admin/users/"+id) {
				got[fmt.Sprint(e.Path, " ", e.StatusCode)]++
			}
		}
		if !maps.Equal(got, map[string]int{"/api/admin/users/" + id + " 200": 2}) { // the third request changed nothing
			t.Errorf("the log has %v", got)
		}
	})
}
