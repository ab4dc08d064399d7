package api_test

import (
	"testing"

	"larder/internal/apptest"
)

func TestMove(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		move := func(c *apptest.Client, id, target string, newName ...string) *apptest.Reply {
			body := M{"targetPath": target}
			for _, name := range newName {
				body["newName"] = name
			}
			return c.Post("/api/files/"+id+"/move", body)
		}
		t.Run("job", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			mkdir(alice, home, "to")
			id := alice.Upload(home, "a.txt", []byte("words"))
			r := move(alice, id, home+"/to").OK(200)
			if r.Text("status") != "pending" {
				t.Errorf("status %s", r.Text("status"))
			}
			job := r.Text("jobId")
			r = alice.Get("/api/files/jobs/" + job).OK(200)
			wantFieldsOf(t, r, "job", "id", "type", "status", "progress", "errorMessage", "createdAt", "completedAt")
			if r.Text("job.id") != job || r.Text("job.type") != "move" || r.Text("job.status") != "completed" ||
				r.Int("job.progress") != 100 || r.Value("job.errorMessage") != nil ||
				r.Int("job.createdAt") != l.Clock.Now().UnixMilli() || r.Int("job.completedAt") != l.Clock.Now().
				UnixMilli() {
				t.Errorf("job %s", r.Body)
			}
			bob.Get("/api/files/jobs/"+job).Fails(404, "NOT_FOUND")         // abuse case C36
			admin.In(t).Get("/api/files/jobs/"+job).Fails(404, "NOT_FOUND") // only its owner
			alice.Get("/api/files/jobs/none").Fails(404, "NOT_FOUND")
			wantBody(t, alice.Get("/home/alice/to/a.txt").OK(200), "words")
			alice.Get("/home/alice/a.txt").Fails(404, "NOT_FOUND")
			details := alice.Get("/api/files/" + id).OK(200)
			if details.Text("file.path") != home+"/to" || details.Text("file.name") != "a.txt" {
				t.Errorf("moved to %s", details.Body)
			}
			wantUsed(t, alice, 5, 1)
		})
		t.Run("names", func(t *testing.T) {
			alice := alice.In(t)
			mkdir(alice, home, "n1")
			mkdir(alice, home, "n2")
			id := alice.Upload(home+"/n1", "x.txt", []byte("x"))
			alice.Upload(home+"/n2", "taken.txt", []byte("x"))
			move(alice, id, home+"/n2", "taken.txt").Fails(409, "OPERATION_FAILED")
			move(alice, id, home+"/n2", "y.txt").OK(200)
			move(alice, id, home+"/n2", "z.txt").OK(200) // a rename in the same folder
			wantStrings(t, "n2", listNames(alice, home+"/n2"), "taken.txt", "z.txt")
			for _, bad := range []string{"", ".", "..", "a/b", "../a", `a\b`, "a\x00", " a"} {
				move(alice, id, home+"/n1", bad).Fails(400, "VALIDATION_ERROR")
			}
			alice.Post("/api/files/"+id+"/move", M{}).Fails(400, "VALIDATION_ERROR")
			alice.Post("/api/files/"+id+"/move", M{"targetPath": nil}).Fails(400, "VALIDATION_ERROR")
			move(alice, id, home+"/n1/..").Fails(400, "VALIDATION_ERROR")
			move(alice, id, home+"/n1", "cafe\u0301").OK(200)
			wantStrings(t, "composed", listNames(alice, home+"/n1"), "caf\u00e9")
		})
		t.Run("folders", func(t *testing.T) {
			alice := alice.In(t)
			a := mkdir(alice, home, "f1")
			b := mkdir(alice, home+"/f1", "f2")
			alice.Upload(home+"/f1/f2", "deep.txt", []byte("deep"))
			mkdir(alice, home, "f1x") // has the same text prefix
			move(alice, a, home+"/f1").Fails(409, "OPERATION_FAILED")
			move(alice, a, home+"/f1/f2").Fails(409, "OPERATION_FAILED")
			move(alice, a, home+"/f1/f2", "other").Fails(409, "OPERATION_FAILED")
			move(alice, a, home+"/none").Fails(404, "NOT_FOUND")
			move(alice, a, home+"/f1/f2/deep.txt").Fails(404, "NOT_FOUND") // a file
			move(alice, "none", home).Fails(404, "NOT_FOUND")
			move(alice, a, home+"/f1x").OK(200)
			wantBody(t, alice.Get("/home/alice/f1x/f1/f2/deep.txt").OK(200), "deep")
			move(alice, b, home).OK(200)
			wantBody(t, alice.Get("/home/alice/f2/deep.txt").OK(200), "deep")
			wantStrings(t, "left", listNames(alice, home+"/f1x/f1"))
		})
		t.Run("rights", func(t *testing.T) { // abuse case C25
			mine := alice.In(t).Upload(home, "mine.txt", []byte("x"))
			for _, target := range []string{"/home/bob", "/home/none", "/public", "/", "/none", "/home"} {
				move(alice.In(t), mine, target).Fails(403, "FORBIDDEN")
			}
			move(bob.In(t), mine, "/home/bob").Fails(403, "FORBIDDEN")
			public := admin.In(t).Upload("/public", "p.txt", []byte("x"))
			move(alice.In(t), public, home).Fails(403, "FORBIDDEN") // read and download only
			mkdir(alice.In(t), home, "denied")
			addRule(admin.In(t), M{"pathPattern": home + "/denied/*.exe", "effect": "deny", "role": "user",
				"permissions": []string{"write"}})
			move(alice.In(t), mine, home+"/denied", "a.exe").Fails(403, "FORBIDDEN")
			move(alice.In(t), mine, home+"/denied", "a.txt").OK(200)
			addRule(admin.In(t), M{"pathPattern": home + "/denied/*.com", "effect": "deny", "role": "user"})
			alice.In(t).Put("/api/files/"+mine, M{"name": "b.com"}).Fails(403, "FORBIDDEN")
			alice.In(t).Post("/api/files/folder", M{"path": home + "/denied", "name": "c.exe"}).Fails(403, "FORBIDDEN")
			alice.In(t).Post("/api/files/upload-session",
				M{"path": home + "/denied", "fileName": "d.exe", "fileSize": 1}).Fails(403, "FORBIDDEN")
			wantStrings(t, "unchanged", listNames(alice.In(t), home+"/denied"), "a.txt")
			move(alice.In(t), mine, "/uploads").OK(200) // may write there and still owns it
			wantBody(t, alice.In(t).Get("/uploads/a.txt").OK(200), "x")
			bob.In(t).Get("/uploads/a.txt").Fails(403, "FORBIDDEN")
		})
		t.Run("a move cannot evade a deny rule", func(t *testing.T) { // abuse case C26
			folder := mkdir(alice.In(t), home, "carry")
			mkdir(alice.In(t), home+"/carry", "hidden")
			addRule(admin.In(t), M{"pathPattern": home + "/carry/hidden/**", "effect": "deny", "role": "user"})
			move(alice.In(t), folder, home+"/to").Fails(403, "FORBIDDEN")
			// and into the reach of a deny rule below the target
			addRule(admin.In(t), M{"pathPattern": home + "/to/box/inner/**", "effect": "deny", "role": "user"})
			box := mkdir(alice.In(t), home, "box")
			mkdir(alice.In(t), home+"/box", "inner")
			move(alice.In(t), box, home+"/to").Fails(403, "FORBIDDEN")
		})
	})
}

// Abuse cases C15, C32: a key changes entries inside its upload root, within its permissions and
// those of its owner.
func TestKeyChangePermissions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		for _, name := range []string{"in", "in-evil", "inX"} {
			mkdir(alice, home, name)
		}
		inside := alice.Upload(home+"/in", "inside.txt", []byte("x"))
		outside := alice.Upload(home+"/in-evil", "outside.txt", []byte("x"))
		key := alice.Key(M{"uploadPath": home + "/in"})
		for _, dir := range []string{home, home + "/in-evil", home + "/inX", home + "/in-evil/sub", "/home", "/",
			"/uploads"} {
			key.Post("/api/files/folder", M{"path": dir, "name": "a"}).Fails(403, "FORBIDDEN")
			key.Post("/api/files/upload-session", M{"path": dir, "fileName": "a", "fileSize": 1}).
				Fails(403, "FORBIDDEN")
			key.Post("/api/files/"+inside+"/move", M{"targetPath": dir}).Fails(403, "FORBIDDEN")
		}
		key.Post("/api/files/folder", M{"path": home, "name": "in2"}).Fails(403, "FORBIDDEN")
		key.Put("/api/files/"+outside, M{"name": "b.txt"}).Fails(403, "FORBIDDEN")
		key.Delete("/api/files/"+outside).Fails(403, "FORBIDDEN")
		key.Post("/api/files/"+outside+"/move", M{"targetPath": home + "/in"}).Fails(403, "FORBIDDEN")
		key.Get("/api/files/" + outside).OK(200)

		mkdir(key, home+"/in", "sub")
		id := key.Upload(home+"/in", "new.txt", []byte("x"))
		job := key.Post("/api/files/"+id+"/move", M{"targetPath": home + "/in/sub", "newName": "moved.txt"}).OK(200).
			Text("jobId")
		key.Get("/api/files/jobs/" + job).OK(200)
		alice.Get("/api/files/jobs/" + job).OK(200)
		key.Put("/api/files/"+id, M{"name": "again.txt"}).OK(200)
		key.Delete("/api/files/" + id).OK(200)

		file := alice.Upload(home+"/in", "scopes.txt", []byte("x"))
		calls := map[string]func(k *apptest.Client) *apptest.Reply{
			"read":  func(k *apptest.Client) *apptest.Reply { return k.Get("/api/files/" + file) },
			"bytes": func(k *apptest.Client) *apptest.Reply { return k.Get("/api/files/" + file + "/download") },
			"write": func(k *apptest.Client) *apptest.Reply {
				return k.Put("/api/files/"+file, M{"name": "scopes.txt"})
			},
			"move": func(k *apptest.Client) *apptest.Reply {
				return k.Post("/api/files/"+file+"/move", M{"targetPath": home + "/in", "newName": "scopes.txt"})
			},
			"gone": func(k *apptest.Client) *apptest.Reply { return k.Delete("/api/files/none") },
			"link": func(k *apptest.Client) *apptest.Reply { return k.Post("/api/files/"+file+"/link", M{}) },
		}
		for _, test := range []struct {
			permissions []string
			want        map[string]int
		}{
			{[]string{"read"}, map[string]int{"read": 200, "bytes": 200, "write": 403, "move": 403, "gone": 403,
				"link": 401}},
			{[]string{"write"}, map[string]int{"read": 403, "bytes": 403, "write": 200, "move": 403, "gone": 403,
				"link": 401}},
			{[]string{"delete"}, map[string]int{"read": 403, "bytes": 403, "write": 403, "move": 403, "gone": 404,
				"link": 401}},
		} {
			k := alice.Key(M{"uploadPath": home + "/in", "permissions": test.permissions})
			for name, call := range calls {
				if r := call(k); r.Status != test.want[name] {
					t.Errorf("key that may %q: %s: status %d, want %d: %s", test.permissions, name, r.Status,
						test.want[name], r.Body)
				}
			}
		}
		dav := alice.Key(M{"uploadPath": home + "/in", "protocols": []string{"webdav"}})
		dav.Get("/api/files/"+file).Fails(403, "FORBIDDEN")
		for _, path := range []string{"/api/keys", "/api/auth/me", "/api/auth/csrf-token"} {
			key.Get(path).Fails(401, "UNAUTHORIZED")
		}
		key.Get("/api/admin/rules").Fails(401, "UNAUTHORIZED")
	})
}

// A key's permission is checked first. Without it, the key learns nothing about the result of the
// request.
func TestKeyWithoutAPermission(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		file := alice.Upload(home, "a.txt", []byte("x"))
		full := alice.Key(M{"uploadPath": home})
		keyWith := func(permission string) *apptest.Client {
			return alice.Key(M{"uploadPath": home, "permissions": []string{permission}})
		}
		reads, writes, deletes := keyWith("read"), keyWith("write"), keyWith("delete")
		for what, test := range map[string]struct {
			key    *apptest.Client // lacks the needed permission
			call   func(c *apptest.Client) *apptest.Reply
			status int // for a key with all permissions
		}{
			"a folder with a name of two": {reads, func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/folder", M{"path": home, "name": "a/b"})
			}, 400},
			"a folder in a file": {reads, func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/folder", M{"path": home + "/a.txt", "name": "b"})
			}, 404},
			"a change of nothing": {reads,
				func(c *apptest.Client) *apptest.Reply { return c.Put("/api/files/"+file, M{}) }, 200},
			"a rename of a missing entry": {reads,
				func(c *apptest.Client) *apptest.Reply { return c.Put("/api/files/none", M{"name": "b"}) }, 404},
			"a session for a name of two": {reads,
				func(c *apptest.Client) *apptest.Reply { return postUploadSession(c, home, "a/b", 1) }, 400},
			"the bytes of no session": {reads,
				func(c *apptest.Client) *apptest.Reply { return putRaw(c, "none", "x") }, 404},
			"the completion of no session": {reads,
				func(c *apptest.Client) *apptest.Reply { return completeUpload(c, "none", "x") }, 404},
			"the end of no session": {reads,
				func(c *apptest.Client) *apptest.Reply { return abortUpload(c, "none") }, 404},
			"a compatible upload of nothing": {reads,
				func(c *apptest.Client) *apptest.Reply { return c.Post("/api/upload", nil) }, 400},
			"the deletion of a missing entry": {writes,
				func(c *apptest.Client) *apptest.Reply { return c.Delete("/api/files/none") }, 404},
			"a move of a missing entry": {writes,
				func(c *apptest.Client) *apptest.Reply { return c.Post("/api/files/none/move", M{"targetPath": home}) },
				404},
			"a move without the right to move": {deletes,
				func(c *apptest.Client) *apptest.Reply { return c.Post("/api/files/none/move", M{"targetPath": home}) },
				404},
			"a move to a path that is none": {reads, func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/"+file+"/move", M{"targetPath": "x/.."})
			}, 400},
			"the details of a missing entry": {writes,
				func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/none") }, 404},
			"a listing of a missing folder": {writes,
				func(c *apptest.Client) *apptest.Reply { return listFolder(c, home+"/none") }, 404},
			"an address for a missing entry": {writes,
				func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/none/download") }, 404},
		} {
			wantStatus(t, what+", by a key that may not", test.call(test.key), 403, "FORBIDDEN")
			wantStatus(t, what, test.call(full), test.status, "")
		}
	})
}
