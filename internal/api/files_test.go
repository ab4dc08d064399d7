package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestCreateFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		const home = "/home/alice"
		create := func(c *apptest.Client, dir, name string) *apptest.Reply {
			return c.Post("/api/files/folder", M{"path": dir, "name": name})
		}
		t.Run("answer", func(t *testing.T) {
			r := create(alice.In(t), home, "photos").OK(201)
			wantFieldsOf(t, r, "file", "id", "name", "path", "type", "size", "hasPassword", "createdAt")
			if r.Text("file.name") != "photos" || r.Text("file.path") != home || r.Text("file.type") != "folder" ||
				r.Int("file.size") != 0 ||
				r.Value("file.hasPassword") != false || r.Int("file.createdAt") != l.Clock.Now().UnixMilli() {
				t.Errorf("got %s", r.Body)
			}
			create(alice.In(t), home+"/", "photos").Fails(409, "ALREADY_EXISTS")
			alice.In(t).Upload(home, "taken", []byte("x"))
			create(alice.In(t), home, "taken").Fails(409, "ALREADY_EXISTS")
			wantUsed(t, alice.In(t), 1, 1) // folders do not count
		})
		t.Run("refused names", func(t *testing.T) { // abuse cases C4, C5, C6, C9, C11
			long := strings.Repeat("语", 256)
			for _, name := range append([]string{"", ".", "..", "a ", " a", " ", "\u3000", "a\u00a0", "a/b", "/a", "a/",
				"../a", `a\b`, `\`, long, "a\u200f\u202e"}, forbiddenCharacters()...) {
				create(alice.In(t), home, name).Fails(400, "VALIDATION_ERROR")
			}
			for _, body := range []any{
				M{"path": home}, M{"name": "a"}, M{}, M{"path": home, "name": nil}, M{"path": nil, "name": "a"},
				M{"path": home, "name": 7}, M{"path": []string{home}, "name": "a"},
				M{"path": home + "/..", "name": "a"}, M{"path": "../" + home, "name": "a"},
				M{"path": `\home\alice`, "name": "a"}, "[]", `"x"`, "{", `{"path":"/home/alice","name":"\ud800"}x`,
			} {
				alice.In(t).Post("/api/files/folder", body, "Content-Type", "application/json").
					Fails(400, "VALIDATION_ERROR")
			}
			wantStrings(t, "nothing was made", listNames(alice.In(t), home, "type", "folder"), "photos")
		})
		t.Run("ordinary names", func(t *testing.T) { // abuse cases C9, C10, C11, C13, C14
			mkdir(alice.In(t), home, "odd")
			for _, name := range []string{
				"...", "a.", "a..b.txt", "CON", "aux.png", ".htaccess", ".well-known", "api", "webdav", "~", "{year}",
				"%2e%2e", "%00", "a?b#c;d%20&+.png",
				"'", `"`, "<b>", "$(x)", "-rf", "🦀", "👩‍👩‍👧", strings.Repeat("语", 255), strings.Repeat("🦀", 255),
				"a  b", "null",
			} {
				id := create(alice.In(t), home+"/odd", name).OK(201).Text("file.id")
				if got := alice.In(t).Get("/api/files/" + id).OK(200).Text("file.name"); got != name {
					t.Errorf("made %q, got %q", name, got)
				}
				if got := listFolder(alice.In(t), home+"/odd/"+name).OK(200).Text("folder.id"); got != id {
					t.Errorf("%q: another folder by path", name)
				}
				create(alice.In(t), home+"/odd", name).Fails(409, "ALREADY_EXISTS")
			}
		})
		t.Run("names are equal in NFC", func(t *testing.T) { // abuse case C7
			id := mkdir(alice.In(t), home, "caf\u00e9")
			create(alice.In(t), home, "cafe\u0301").Fails(409, "ALREADY_EXISTS")
			if got := listFolder(alice.In(t), home+"/cafe\u0301").OK(200).Text("folder.id"); got != id {
				t.Error("the decomposed path is another folder")
			}
			if got := create(alice.In(t), home, "e\u0301te\u0301").OK(201).Text("file.name"); got != "\u00e9t\u00e9" {
				t.Errorf("stored as %q", got)
			}
		})
		t.Run("names are case-sensitive", func(t *testing.T) { // abuse case C8
			mkdir(alice.In(t), home, "Secret")
			listFolder(alice.In(t), home+"/secret").Fails(404, "NOT_FOUND")
			mkdir(alice.In(t), home, "secret")
		})
		t.Run("reserved at the root", func(t *testing.T) {
			for _, name := range []string{"api", "API", "Api", "webdav", "WebDAV", "share", "Share", "app", "APP",
				"favicon.ico", "Favicon.ICO", "robots.txt", "Robots.txt"} {
				create(admin.In(t), "/", name).Fails(400, "VALIDATION_ERROR")
				admin.In(t).Post("/api/files/upload-session", M{"path": "/", "fileName": name, "fileSize": 1}).
					Fails(400, "VALIDATION_ERROR")
				admin.In(t).Post("/api/files/upload-session", M{"path": "/" + name, "fileName": "a", "fileSize": 1}).
					Fails(400, "VALIDATION_ERROR")
			}
			id := mkdir(admin.In(t), "/", "plain")
			admin.In(t).Put("/api/files/"+id, M{"name": "Share"}).Fails(400, "VALIDATION_ERROR")
			inner := mkdir(admin.In(t), "/plain", "webdav")
			admin.In(t).Post("/api/files/"+inner+"/move", M{"targetPath": "/"}).Fails(400, "VALIDATION_ERROR")
			admin.In(t).Post("/api/files/"+inner+"/move", M{"targetPath": "/", "newName": "API"}).
				Fails(400, "VALIDATION_ERROR")
			mkdir(admin.In(t), "/", "apis")
		})
		t.Run("where", func(t *testing.T) {
			create(alice.In(t), home+"/none", "a").Fails(404, "NOT_FOUND")
			create(alice.In(t), home+"/taken", "a").Fails(404, "NOT_FOUND") // a file
			create(alice.In(t), "/home/bob", "a").Fails(403, "FORBIDDEN")
			create(alice.In(t), "/home", "a").Fails(403, "FORBIDDEN")
			create(alice.In(t), "/", "a").Fails(403, "FORBIDDEN")
			create(alice.In(t), "/public", "a").Fails(403, "FORBIDDEN")
			create(alice.In(t), "/public/none", "a").Fails(403, "FORBIDDEN")
			create(alice.In(t), "/uploads", "a").OK(201)
			create(l.Client(t), home, "a").Fails(401, "UNAUTHORIZED")
		})
		t.Run("64 levels", func(t *testing.T) { // abuse case C11
			dir := home + strings.Repeat("/d", 61)       // level 63
			alice.In(t).Upload(dir, "file", []byte("x")) // level 64
			create(alice.In(t), dir, "deepest").OK(201)  // level 64
			create(alice.In(t), dir+"/deepest", "a").Fails(400, "VALIDATION_ERROR")
			alice.In(t).Post("/api/files/upload-session", M{"path": dir + "/deepest", "fileName": "a", "fileSize": 1}).
				Fails(400, "VALIDATION_ERROR")
			id := mkdir(alice.In(t), home, "moved")
			mkdir(alice.In(t), home+"/moved", "below")
			// moved would be on level 64 and its contents on level 65
			alice.In(t).Post("/api/files/"+id+"/move", M{"targetPath": dir}).Fails(400, "VALIDATION_ERROR")
		})
		t.Run("4096 bytes of path", func(t *testing.T) { // abuse case C11
			dir := home + strings.Repeat("/"+strings.Repeat("语", 255), 5) // 11 + 5×766 = 3841 bytes
			alice.In(t).Upload(dir, "file", []byte("x"))
			create(alice.In(t), dir, strings.Repeat("a", 254)).OK(201)
			create(alice.In(t), dir, strings.Repeat("b", 255)).Fails(400, "VALIDATION_ERROR")
			alice.In(t).Post("/api/files/upload-session",
				M{"path": dir, "fileName": strings.Repeat("b", 255), "fileSize": 1}).Fails(400, "VALIDATION_ERROR")
			id := listFolder(alice.In(t), dir, "type", "folder").OK(200).Text("items.0.id")
			alice.In(t).Put("/api/files/"+id, M{"name": strings.Repeat("b", 255)}).Fails(400, "VALIDATION_ERROR")
		})
	})
}

// forbiddenCharacters returns names with each character that names may not contain (abuse case C5).
func forbiddenCharacters() []string {
	var names []string
	for _, r := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x2028, 0x2029}, {0x202a, 0x202e}, {0x2066, 0x2069}} {
		for c := r[0]; c <= r[1]; c++ {
			names = append(names, "a"+string(c)+"b")
		}
	}
	return names
}

func TestDetailsRenameDelete(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		t.Run("details", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			id := alice.Upload(home, "a.png", []byte("not really"), M{"mimeType": "image/png"})
			r := alice.Get("/api/files/" + id).OK(200)
			wantFieldsOf(t, r, "file", "id", "name", "path", "type", "size", "mimeType", "hasPassword", "createdAt",
				"updatedAt")
			wantFieldsOf(t, r, "mount", "id", "name", "sortBy", "sortOrder")
			if r.Text("accessMode") != "private_gateway" || r.Value("hasPassword") != false ||
				r.Text("file.mimeType") != "image/png" || r.Text("file.path") != home || r.Int("file.size") != 10 {
				t.Errorf("got %s", r.Body)
			}
			if permissions := r.Value("permissions").([]any); len(permissions) != 6 {
				t.Errorf("permissions %v", permissions)
			}
			bob.Get("/api/files/"+id).Fails(403, "FORBIDDEN") // abuse case C36
			for _, missing := range []string{"none", unknownID, strings.ToUpper(id) + "x",
				url.PathEscape("../x"), "%00", "%ff", url.PathEscape("a b"), strings.Repeat("x", 5000)} {
				alice.Get("/api/files/"+missing).Fails(404, "NOT_FOUND")
			}
			l.Client(t).Get("/api/files/"+id).Fails(401, "UNAUTHORIZED")
			l.Client(t).Get("/api/files/none").Fails(401, "UNAUTHORIZED")
		})
		t.Run("read without download", func(t *testing.T) { // abuse case C29
			mkdir(admin.In(t), "/", "look")
			id := admin.In(t).Upload("/look", "a.txt", []byte("x"))
			addRule(admin.In(t), M{"pathPattern": "/look/**", "effect": "allow", "role": "user",
				"permissions": []string{"read"}})
			r := bob.In(t).Get("/api/files/" + id).OK(200)
			if got := r.Value("permissions").([]any); len(got) != 1 || got[0] != "read" {
				t.Errorf("permissions %v", got)
			}
			bob.In(t).Get("/api/files/"+id+"/download").Fails(403, "FORBIDDEN")
			bob.In(t).Get("/api/files/"+id+"/download", "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
			bob.In(t).Get("/look/a.txt").Fails(403, "FORBIDDEN")
			bob.In(t).Post("/api/files/"+id+"/link", M{}).Fails(403, "FORBIDDEN")
			bob.In(t).Put("/api/files/"+id, M{"name": "b.txt"}).Fails(403, "FORBIDDEN")
			bob.In(t).Delete("/api/files/"+id).Fails(403, "FORBIDDEN")
		})
		t.Run("rename", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			mkdir(alice, home, "rename")
			id := alice.Upload(home+"/rename", "old.txt", []byte("words"))
			alice.Upload(home+"/rename", "other.txt", []byte("x"))
			l.Clock.Advance(time.Second)
			r := alice.Put("/api/files/"+id, M{"name": "ne\u0301w.txt"}).OK(200)
			wantFieldsOf(t, r, "file", "id", "name", "path", "type", "size", "hasPassword", "updatedAt")
			if r.Text("file.id") != id || r.Text("file.name") != "n\u00e9w.txt" ||
				r.Text("file.path") != home+"/rename" || r.Int("file.updatedAt") != l.Clock.Now().UnixMilli() {
				t.Errorf("got %s", r.Body)
			}
			wantBody(t, alice.Get("/home/alice/rename/n%C3%A9w.txt").OK(200), "words")
			alice.Get("/home/alice/rename/old.txt").Fails(404, "NOT_FOUND")
			alice.Put("/api/files/"+id, M{"name": "other.txt"}).Fails(409, "ALREADY_EXISTS")
			alice.Put("/api/files/"+id, M{"name": "n\u00e9w.txt"}).OK(200)
			alice.Put("/api/files/"+id, M{"name": "N\u00e9w.txt"}).OK(200)
			for _, bad := range []any{"", ".", "..", "a/b", `a\b`, "a ", strings.Repeat("a", 256), 7, []string{"a"},
				"a\x00"} {
				alice.Put("/api/files/"+id, M{"name": bad}).Fails(400, "VALIDATION_ERROR")
			}
			alice.Put("/api/files/none", M{"name": "a"}).Fails(404, "NOT_FOUND")
			bob.Put("/api/files/"+id, M{"name": "mine.txt"}).Fails(403, "FORBIDDEN")
			if got := alice.Put("/api/files/"+id, M{}).OK(200).Text("file.name"); got != "N\u00e9w.txt" {
				t.Errorf("an empty change made it %q", got)
			}
		})
		t.Run("delete", func(t *testing.T) {
			carol := l.User(t, "carol")
			dir := "/home/carol"
			folder := mkdir(carol, dir, "tree")
			mkdir(carol, dir+"/tree", "inner")
			one := carol.Upload(dir+"/tree", "1", []byte("12345"))
			two := carol.Upload(dir+"/tree/inner", "2", []byte("123"))
			single := carol.Upload(dir, "3", []byte("1"))
			wantUsed(t, carol, 9, 3)
			bob.In(t).Delete("/api/files/"+folder).Fails(403, "FORBIDDEN")
			r := carol.Delete("/api/files/" + folder).OK(200)
			if r.Int("deleted") != 4 || r.Int("size") != 8 {
				t.Errorf("got %s", r.Body)
			}
			wantUsed(t, carol, 1, 1)
			for _, id := range []string{folder, one, two} {
				carol.Get("/api/files/"+id).Fails(404, "NOT_FOUND")
				carol.Delete("/api/files/"+id).Fails(404, "NOT_FOUND")
			}
			r = carol.Delete("/api/files/" + single).OK(200)
			if r.Int("deleted") != 1 || r.Int("size") != 1 {
				t.Errorf("got %s", r.Body)
			}
			wantUsed(t, carol, 0, 0)
			wantStrings(t, "left", listNames(carol, dir))
			carol.Upload(dir+"/tree", "1", []byte("new")) // the name is free again
			wantUsed(t, carol, 3, 1)
		})
		t.Run("the mount itself", func(t *testing.T) { // abuse case C23
			root := listFolder(admin.In(t), "/").OK(200).Text("folder.id")
			if r := admin.In(t).Delete("/api/files/" + root); r.Status != 409 && r.Status != 403 {
				t.Fatalf("deleting the root: %d %s", r.Status, r.Body)
			}
			admin.In(t).Put("/api/files/"+root, M{"name": "x"}).Fails(409, "OPERATION_FAILED")
			admin.In(t).Post("/api/files/"+root+"/move", M{"targetPath": "/home"}).Fails(409, "OPERATION_FAILED")
		})
		t.Run("deletion below a name with "+
			"wildcards", func(t *testing.T) { // abuse case C18: wildcards of SQL in a deleted folder's name
			alice := alice.In(t)
			for _, name := range []string{"a_b", "axb", "a%", "ab"} {
				mkdir(alice, home, name)
				alice.Upload(home+"/"+name, "f", []byte("x"))
			}
			for _, name := range []string{"a_b", "a%"} {
				id := listFolder(alice, home+"/"+name).OK(200).Text("folder.id")
				if deleted := alice.Delete("/api/files/" + id).OK(200).Int("deleted"); deleted != 2 {
					t.Errorf("%s: deleted %d", name, deleted)
				}
			}
			wantStrings(t, "left", listNames(alice, home+"/axb"), "f")
			wantStrings(t, "left", listNames(alice, home+"/ab"), "f")
		})
	})
}

// Abuse case C26: a folder that contains an entry which the caller may not delete is refused as a
// whole.
func TestFolderDeletionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		aliceID := callerID(alice)
		const home = "/home/alice"
		wantRefused := func(t *testing.T, c *apptest.Client, folder string) {
			t.Helper()
			c.In(t).Delete("/api/files/"+folder).Fails(403, "FORBIDDEN")
			c.In(t).Put("/api/files/"+folder, M{"name": "elsewhere"}).Fails(403, "FORBIDDEN")
			c.In(t).Post("/api/files/"+folder+"/move", M{"targetPath": home, "newName": "elsewhere"}).
				Fails(403, "FORBIDDEN")
		}
		t.Run("a deny rule below", func(t *testing.T) {
			folder := mkdir(alice.In(t), home, "a")
			mkdir(alice.In(t), home+"/a", "b")
			mkdir(alice.In(t), home+"/a/b", "locked")
			alice.In(t).Upload(home+"/a/b", "free.txt", []byte("x"))
			rule := addRule(admin.In(t), M{"pathPattern": home + "/a/b/locked/**", "effect": "deny", "userId": aliceID})
			wantRefused(t, alice, folder)
			wantStrings(t, "still there", listNames(alice.In(t), home+"/a/b"), "free.txt")
			admin.In(t).Put("/api/files/"+folder, M{"name": "a2"}).OK(200) // an administrator may
			admin.In(t).Put("/api/files/"+folder, M{"name": "a"}).OK(200)
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			alice.In(t).Put("/api/files/"+folder, M{"name": "elsewhere"}).OK(200)
		})
		t.Run("an address rule that can match below", func(t *testing.T) {
			folder := mkdir(alice.In(t), home, "net")
			rule := addRule(admin.In(t), M{"pathPattern": home + "/n*/**/x.txt", "effect": "deny", "role": "user",
				"allowedIps": []string{"192.0.2.1"}})
			wantRefused(t, alice, folder)
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			alice.In(t).Delete("/api/files/" + folder).OK(200)
		})
		t.Run("entries of other owners", func(t *testing.T) {
			folder := mkdir(alice.In(t), "/uploads", "shared")
			alice.In(t).Upload("/uploads/shared", "hers.txt", []byte("x"))
			mine := bob.In(t).Upload("/uploads/shared", "his.txt", []byte("x"))
			alice.In(t).Delete("/api/files/"+folder).Fails(403, "FORBIDDEN")
			alice.In(t).Put("/api/files/"+folder, M{"name": "x"}).Fails(403, "FORBIDDEN")
			bob.In(t).Delete("/api/files/" + mine).OK(200)
			alice.In(t).Delete("/api/files/" + folder).OK(200)
		})
		t.Run("entries of others in a home", func(t *testing.T) {
			addRule(admin.In(t), M{"pathPattern": home + "/inbox/**", "effect": "allow",
				"userId": callerID(bob.In(t)), "permissions": []string{"write"}})
			folder := mkdir(alice.In(t), home, "inbox")
			bob.In(t).Upload(home+"/inbox", "his.txt", []byte("12345"))
			wantUsed(t, bob.In(t), 5, 1)
			alice.In(t).Delete("/api/files/" + folder).OK(200) // the home covers it
			wantUsed(t, bob.In(t), 0, 0)
		})
	})
}
