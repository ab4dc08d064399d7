package api_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/apptest"
)

var (
	keyID     = regexp.MustCompile(`^pk_[A-Za-z0-9]{24}$`)
	keySecret = regexp.MustCompile(`^sk_[A-Za-z0-9]{48}$`)
)

// newKey returns a body that makes a key, changed by more; nil removes a field.
func newKey(more M) M {
	return M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}}.With(more)
}

func TestCreateKey(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		reply := alice.Post("/api/keys/", M{"name": "PicGo", "permissions": []string{"write", "read"},
			"protocols": []string{"api", "webdav"}}).OK(201)
		wantFields(t, "data", reply.Object()["data"], "key", "configs")
		wantFields(t, "key", reply.Value("key"), "id", "keyId", "secret", "fullToken", "name", "permissions",
			"protocols", "uploadPath", "createdAt", "expiresAt",
			"allowedIps", "publicLinks", "rootOnly") // additions
		id, secret := reply.Text("key.id"), reply.Text("key.secret")
		if !keyID.MatchString(id) || !keySecret.MatchString(secret) {
			t.Errorf("id %s, secret %s", id, secret)
		}
		wantJSON(t, "keyId", reply.Value("key.keyId"), id)
		wantJSON(t, "fullToken", reply.Value("key.fullToken"), id+"."+secret)
		wantJSON(t, "name", reply.Value("key.name"), "PicGo")
		permissions, _ := reply.Value("key.permissions").([]any)
		if len(permissions) != 2 || !slices.Contains(permissions, any("read")) ||
			!slices.Contains(permissions, any("write")) {
			t.Errorf("permissions %v", permissions)
		}
		wantJSON(t, "uploadPath", reply.Value("key.uploadPath"), "/uploads")
		wantJSON(t, "createdAt", reply.Int("key.createdAt"), l.Clock.Now().UnixMilli())
		wantJSON(t, "expiresAt", reply.Value("key.expiresAt"), nil)
		wantJSON(t, "allowedIps", reply.Value("key.allowedIps"), []string{})
		wantJSON(t, "publicLinks", reply.Value("key.publicLinks"), "images")
		wantJSON(t, "rootOnly", reply.Value("key.rootOnly"), false)
		wantJSON(t, "configs", reply.Value("configs"), M{
			"bearer": M{"header": "Authorization: Bearer " + id + "." + secret, "url": "http://larder.test/api/upload"},
			"webdav": M{"password": secret, "url": "http://larder.test/webdav", "username": id},
		})

		list := alice.Get("/api/keys/").OK(200)
		wantFields(t, "data of the list", list.Object()["data"], "keys")
		wantFields(t, "a listed key", list.Value("keys.0"), "id", "name", "keyId", "permissions", "protocols",
			"uploadPath", "lastUsedAt", "expiresAt", "createdAt", "status",
			"allowedIps", "publicLinks", "rootOnly") // additions
		wantJSON(t, "status", list.Value("keys.0.status"), "active")
		wantJSON(t, "lastUsedAt", list.Value("keys.0.lastUsedAt"), nil)
		if strings.Contains(string(list.Body), secret) || strings.Contains(string(list.Body), "sk_") {
			t.Errorf("the list reveals a secret: %s", list.Body)
		}
		wantJSON(t, "another user's list", l.User(t, "bob").Get("/api/keys/").OK(200).Value("keys"), []string{})

		expiring := alice.Post("/api/keys/", newKey(M{"expiresIn": 60, "uploadPath": "/home/alice//pics/",
			"protocols": []string{"webdav"}})).OK(201)
		wantJSON(t, "expiresAt", expiring.Int("key.expiresAt"), l.Clock.Now().UnixMilli()+60000)
		wantJSON(t, "uploadPath, normalised", expiring.Value("key.uploadPath"), "/home/alice/pics")
		wantJSON(t, "publicLinks without api", expiring.Value("key.publicLinks"), "none")
		wantJSON(t, "a path template", alice.Post("/api/keys/",
			newKey(M{"uploadPath": "/uploads/{year}/{month}"})).OK(201).Value("key.uploadPath"),
			"/uploads/{year}/{month}")
		if log := l.Log.String(); strings.Contains(log, secret) {
			t.Error("the log contains a secret")
		}
	})
}

func TestCreateKeyRefuses(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	for _, row := range []struct {
		name   string
		change M
		status int
	}{
		{"100 characters", M{"name": strings.Repeat("é", 100)}, 201},
		{"101 characters", M{"name": strings.Repeat("é", 101)}, 400},
		{"no name", M{"name": nil}, 400},
		{"an empty name", M{"name": ""}, 400},
		{"only spaces", M{"name": "   "}, 400},
		{"a line break", M{"name": "a\nb"}, 400},
		{"permissions null", M{"permissions": nil}, 400},
		{"permissions empty", M{"permissions": []string{}}, 400},
		{"permission unknown", M{"permissions": []string{"read", "admin"}}, 400},
		{"permission share", M{"permissions": []string{"share"}}, 400},
		{"permission in capitals", M{"permissions": []string{"READ"}}, 400},
		{"permissions a string", M{"permissions": "read"}, 400},
		{"all permissions", M{"permissions": []string{"read", "write", "delete"}}, 201},
		{"one twice", M{"permissions": []string{"read", "read"}}, 201},
		{"protocols null", M{"protocols": nil}, 400},
		{"protocols empty", M{"protocols": []string{}}, 400},
		{"protocol unknown", M{"protocols": []string{"ftp"}}, 400},
		{"expiresIn 59", M{"expiresIn": 59}, 400},
		{"expiresIn 60", M{"expiresIn": 60}, 201},
		{"expiresIn 0", M{"expiresIn": 0}, 400},
		{"expiresIn -60", M{"expiresIn": -60}, 400},
		{"expiresIn 60.5", M{"expiresIn": 60.5}, 400},
		{"expiresIn a string", M{"expiresIn": "60"}, 400},
		{"expiresIn beyond all time", M{"expiresIn": int64(1) << 62}, 400},
		{"expiresIn null", M{"expiresIn": nil}, 201},
		{"uploadPath null", M{"uploadPath": nil}, 201},
		{"uploadPath ..", M{"uploadPath": "/uploads/../home"}, 403},
		{"uploadPath .. at the end", M{"uploadPath": "/uploads/.."}, 403},
		{"uploadPath only ..", M{"uploadPath": ".."}, 403},
		{"uploadPath ~", M{"uploadPath": "~"}, 403},
		{"uploadPath ~ inside", M{"uploadPath": "/uploads/~alice"}, 403}, // abuse case C17
		{"uploadPath with a backslash", M{"uploadPath": `/uploads\..\home`}, 403},
		{"uploadPath with a NUL", M{"uploadPath": "/uploads/\u0000"}, 400},
		{"uploadPath a number", M{"uploadPath": 5}, 400},
		{"publicLinks unknown", M{"publicLinks": "some"}, 400},
		{"rootOnly a string", M{"rootOnly": "true"}, 400},
	} {
		code := map[int]string{400: "VALIDATION_ERROR", 403: "FORBIDDEN"}[row.status]
		reply := alice.Post("/api/keys/", newKey(row.change))
		wantStatus(t, row.name, reply, row.status, code)
		if reply.Status == 201 {
			alice.Delete("/api/keys/" + reply.Text("key.id")).OK(200)
		}
	}
}

// A user has at most 20 active keys, also when many are made concurrently. Abuse case C89.
func TestTwentyActiveKeys(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		var made atomic.Int64
		var all sync.WaitGroup
		for range 40 {
			c := alice.Fork()
			all.Go(func() {
				switch reply := c.Post("/api/keys/", newKey(M{"expiresIn": 600})); reply.Status {
				case 201:
					made.Add(1)
				default:
					wantStatus(t, "one too many", reply, 403, "FORBIDDEN")
				}
			})
		}
		all.Wait()
		list := alice.Get("/api/keys/").OK(200)
		keys, _ := list.Value("keys").([]any)
		if made.Load() != 20 || len(keys) != 20 {
			t.Fatalf("%d keys were made and %d are listed, want 20", made.Load(), len(keys))
		}
		wantStatus(t, "the 21st", alice.Post("/api/keys/", newKey(nil)), 403, "FORBIDDEN")
		wantStatus(t, "another user's first", l.User(t, "bob").Post("/api/keys/", newKey(nil)), 201, "")
		alice.Delete("/api/keys/" + list.Text("keys.7.id")).OK(200)
		wantStatus(t, "after one was revoked", alice.Post("/api/keys/", newKey(nil)), 201, "")
		wantStatus(t, "the 21st again", alice.Post("/api/keys/", newKey(nil)), 403, "FORBIDDEN")
		l.Clock.Advance(600 * time.Second)
		wantStatus(t, "after the others expired", alice.Post("/api/keys/", newKey(nil)), 201, "")
		for range 18 {
			alice.Post("/api/keys/", newKey(nil)).OK(201)
		}
		expired := ""
		for i := range 40 {
			at := fmt.Sprintf("keys.%d.", i)
			if list := alice.Get("/api/keys/").OK(200); list.Value(at+"status") == "expired" {
				expired = list.Text(at + "id")
			}
		}
		wantStatus(t, "an expired one brought back as the 21st", alice.Patch("/api/keys/"+expired, M{"expiresIn": nil}),
			403, "FORBIDDEN")
		wantStatus(t, "its name", alice.Patch("/api/keys/"+expired, M{"name": "still expired"}), 200, "")
	})
}

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		created := alice.Post("/api/keys/", newKey(M{"expiresIn": 3600})).OK(201)
		id := created.Text("key.id")
		key := l.Client(t)
		key.Header.Set("Authorization", "Bearer "+created.Text("key.fullToken"))
		listed := func(field string) any { return alice.Get("/api/keys/").OK(200).Value("keys.0." + field) }

		used := l.Clock.Now().UnixMilli()
		wantStatus(t, "the key", key.Get("/api/files?path=/home/alice"), 200, "")
		wantStatus(t, "the key, the scheme in small letters",
			l.Client(t).Get("/api/files?path=/home/alice", "Authorization", "bearer "+created.Text("key.fullToken")),
			200, "")
		l.Sweep()
		if len(l.Apps) == 1 { // each replica writes its own
			wantJSON(t, "lastUsedAt", listed("lastUsedAt"), used)
		}
		l.Clock.Advance(time.Hour - time.Second)
		wantJSON(t, "status", listed("status"), "active")
		wantStatus(t, "just before it expires", key.Get("/api/files?path=/home/alice"), 200, "")
		l.Clock.Advance(2 * time.Second)
		wantJSON(t, "status", listed("status"), "expired")
		for range 2 {
			wantStatus(t, "just after", key.Get("/api/files?path=/home/alice"), 401, "INVALID_TOKEN")
		}

		// PATCH makes it active again
		patched := alice.Patch("/api/keys/"+id,
			M{"expiresIn": nil, "name": "renamed", "permissions": []string{"write"},
				"allowedIps": []string{"10.0.0.0/8", "127.0.0.1"}, "publicLinks": "all", "rootOnly": true}).OK(200)
		wantFields(t, "data", patched.Object()["data"], "key")
		wantFields(t, "key", patched.Value("key"), "id", "name", "keyId", "permissions", "protocols", "uploadPath",
			"lastUsedAt", "expiresAt", "createdAt", "status", "allowedIps", "publicLinks", "rootOnly")
		for field, want := range (M{"id": id, "name": "renamed", "permissions": []string{"write"},
			"allowedIps": []string{"10.0.0.0/8", "127.0.0.1"}, "publicLinks": "all", "rootOnly": true, "expiresAt": nil,
			"status": "active"}) {
			wantJSON(t, field, patched.Value("key."+field), want)
		}
		for range 2 {
			wantStatus(t, "writing", key.Post("/api/files/upload-session",
				M{"path": "/uploads", "fileName": "a", "fileSize": 1}), 200, "")
			wantStatus(t, "reading", key.Get("/api/files?path=/home/alice"), 403, "FORBIDDEN")
		}
		wantStatus(t, "PATCH of nothing", alice.Patch("/api/keys/"+id, M{}), 200, "")
		wantJSON(t, "name after it", listed("name"), "renamed")
		for name, bad := range map[string]M{
			"name": {"name": strings.Repeat("a", 101)}, "an empty name": {"name": ""},
			"permissions": {"permissions": []string{}}, "expiresIn": {"expiresIn": 59},
			"a negative expiresIn": {"expiresIn": -1},
			"allowedIps":           {"allowedIps": []string{"x"}}, "publicLinks": {"publicLinks": "x"},
		} {
			wantStatus(t, "PATCH "+name, alice.Patch("/api/keys/"+id, bad), 400, "VALIDATION_ERROR")
		}
		wantJSON(t, "secret and upload path can't be patched",
			alice.Patch("/api/keys/"+id, M{"uploadPath": "/", "protocols": []string{"webdav"}, "userId": "x",
				"secret": "x", "expiresIn": 60}).OK(200).Value("key.uploadPath"), "/uploads")

		// for another user the key does not exist
		wantStatus(t, "another user's PATCH", bob.Patch("/api/keys/"+id, M{"name": "x"}), 404, "NOT_FOUND")
		wantStatus(t, "another user's DELETE", bob.Delete("/api/keys/"+id), 404, "NOT_FOUND")
		wantStatus(t, "an administrator's DELETE", l.Admin(t).Delete("/api/keys/"+id), 404, "NOT_FOUND")
		for _, none := range []string{"pk_aaaaaaaaaaaaaaaaaaaaaaaa", "x", "%00", strings.Repeat("a", 5000)} {
			wantStatus(t, "DELETE of an unknown id", alice.Delete("/api/keys/"+none), 404, "NOT_FOUND")
		}

		for range 2 { // revoking twice succeeds
			wantJSON(t, "data of DELETE", alice.Delete("/api/keys/" + id).OK(200).Object()["data"], nil)
		}
		wantJSON(t, "status", listed("status"), "revoked")
		for range 2 {
			wantStatus(t, "the revoked key", key.Post("/api/files/upload-session",
				M{"path": "/uploads", "fileName": "a", "fileSize": 1}), 401, "INVALID_TOKEN")
		}
		l.Clock.Advance(time.Hour)
		wantJSON(t, "revoked and expired", listed("status"), "revoked")
	})
}

// With a key in the request, the cookie is ignored.
func TestKeyTakesPrecedenceOverCookie(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	created := alice.Post("/api/keys/", newKey(nil)).OK(201)
	id, token := created.Text("key.id"), created.Text("key.fullToken")
	for name, bad := range map[string]string{
		"garbage": "Bearer x", "nothing": "Bearer ", "the id alone": "Bearer " + id,
		"an empty secret": "Bearer " + id + ".", "a wrong secret": "Bearer " + id + ".sk_" + strings.Repeat("a", 48),
		"the secret alone": "Bearer " + created.Text("key.secret"), "something behind": "Bearer " + token + "x",
		"a JWT": "Bearer " + alice.Cookies["auth_token"], "10 KB": "Bearer " + strings.Repeat("a", 10000),
		"%": "Bearer pk_%.sk_%", "small letters": "Bearer " + strings.ToLower(token),
	} {
		wantStatus(t, name, alice.Get("/api/files?path=/uploads", "Authorization", bad), 401, "INVALID_TOKEN")
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+created.Text("key.secret")))
	wantStatus(t, "Basic is ignored", alice.Get("/api/auth/me", "Authorization", basic), 200, "")
	wantStatus(t, "not accepted as a "+
		"credential", l.Client(t).Get("/api/files?path=/uploads", "Authorization", basic), 401,
		"UNAUTHORIZED")

	// a key has its own permissions, not those of the session
	read := alice.Fork()
	read.Header.Set("Authorization", "Bearer "+token)
	wantStatus(t, "reading", read.Get("/api/files?path=/home/alice"), 200, "")
	wantStatus(t, "writing", read.Post("/api/files/folder", M{"path": "/uploads", "name": "x"}), 403, "FORBIDDEN")
	for _, path := range []string{"/api/auth/me", "/api/auth/csrf-token", "/api/keys/", "/api/keys/rules",
		"/api/admin/rules"} {
		wantStatus(t, path, read.Get(path), 401, "UNAUTHORIZED")
	}

	// the upload root is a folder, not a text prefix: abuse case C15
	for _, row := range []struct {
		path string
		want int
	}{{"/uploads/x", 200}, {"/uploads", 200}, {"/uploads-evil", 403}, {"/uploadsX", 403}, {"/home/alice", 403},
		{"/", 403}, {"/uploads/../home/alice", 400}} {
		writer := alice.Key(M{"permissions": []string{"read", "write"}})
		wantStatus(t, "into "+row.path, writer.Post("/api/files/upload-session",
			M{"path": row.path, "fileName": "a", "fileSize": 1}), row.want, "")
		alice.Delete("/api/keys/" + strings.TrimPrefix(strings.Split(writer.Header.Get("Authorization"), ".")[0],
			"Bearer ")).OK(200)
	}
}

func TestKeyRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		mine := alice.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id")
		foreign := bob.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id")
		me := callerID(alice)
		other := callerID(bob)
		want := map[string]bool{}
		for i, subject := range []M{{"apiKeyId": mine}, {"userId": me}, {"apiKeyId": foreign}, {"userId": other}} {
			body := M{"pathPattern": fmt.Sprintf("/rule%d/**", i), "effect": "allow", "requirePassword": true,
				"password": "a secret password"}.With(subject)
			admin.Post("/api/admin/rules", body).OK(201)
			want[fmt.Sprintf("/rule%d/**", i)] = i < 2
		}
		want["/public/**"], want["/uploads/**"] = true, true // the rules of the role user
		reply := alice.Get("/api/keys/rules").OK(200)
		wantFields(t, "data", reply.Object()["data"], "rules")
		rules, _ := reply.Value("rules").([]any)
		have := map[string]bool{}
		for i, rule := range rules {
			wantFields(t, "a rule", rule, ruleFields...)
			have[reply.Text(fmt.Sprintf("rules.%d.pathPattern", i))] = true
		}
		for pattern, shown := range want {
			if have[pattern] != shown {
				t.Errorf("%s shown: %v, want %v", pattern, have[pattern], shown)
			}
		}
		if strings.Contains(string(reply.Body), "argon2") {
			t.Errorf("a hash is shown: %s", reply.Body)
		}
	})
}
