package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestListingParameters(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		mkdir(alice, home, "b")
		l.Clock.Advance(time.Second)
		alice.Upload(home, "c.txt", []byte("12"))
		l.Clock.Advance(time.Second)
		alice.Upload(home, "B.txt", []byte("1"))
		l.Clock.Advance(time.Second)
		mkdir(alice, home, "A")
		l.Clock.Advance(time.Second)
		alice.Upload(home, "a.txt", []byte("123"))

		for _, test := range []struct {
			parameters string // name=value …
			want       string
		}{
			{"", "A b a.txt B.txt c.txt"}, // the seeded mount sorts by name
			{"sort=name", "A b a.txt B.txt c.txt"},
			{"sort=name order=asc", "A b a.txt B.txt c.txt"},
			{"sort=name order=desc", "b A c.txt B.txt a.txt"},
			{"sort=time", "b A c.txt B.txt a.txt"},
			{"sort=time order=desc", "A b a.txt B.txt c.txt"},
			{"sort=size", "A b B.txt c.txt a.txt"},
			{"sort=size order=desc type=file", "a.txt c.txt B.txt"},
			{"sort=manual", "A b a.txt B.txt c.txt"}, // no entry has a position
			{"type=file", "a.txt B.txt c.txt"},
			{"type=folder", "A b"},
			{"type=folder sort=name order=desc", "b A"},
			{"limit=2", "A b"},
			{"limit=2 page=2", "a.txt B.txt"},
			{"limit=2 page=3", "c.txt"},
			{"limit=2 page=4", ""},
			{"limit=1000", "A b a.txt B.txt c.txt"},
			{"limit=1 page=3 type=file sort=size", "a.txt"},
		} {
			t.Run(test.parameters, func(t *testing.T) {
				parameters := strings.FieldsFunc(test.parameters, func(r rune) bool { return r == ' ' || r == '=' })
				wantStrings(t, "names", listNames(alice.In(t), home, parameters...), strings.Fields(test.want)...)
			})
		}
		for _, bad := range []string{
			"page=0", "page=-1", "page=x", "page=1.5", "page=1e3", "page=1000000000000000", "page=99999999999999999999",
			"page=%31%20",
			"limit=0", "limit=-1", "limit=1001", "limit=ten", "limit=1e2", "limit=0x10",
			"sort=date", "sort=NAME", "sort=name,size", "order=up", "order=DESC", "type=dir", "type=File", "path=%2F..",
			"path=%2Fhome%2F..%2Fhome",
			"path=%00", "path=%ff", "search=" + strings.Repeat("x", 256), "search=" + strings.Repeat("%C3%A9", 256),
		} {
			t.Run("bad "+bad[:min(len(bad), 40)],
				func(t *testing.T) { alice.In(t).Get("/api/files?"+bad).Fails(400, "VALIDATION_ERROR") })
		}
		t.Run("totals", func(t *testing.T) {
			alice := alice.In(t)
			for _, test := range []struct {
				page, limit, kind string
				want              [4]int64 // total, page, limit, pages
			}{
				{"", "", "", [4]int64{5, 1, 100, 1}},
				{"1", "2", "", [4]int64{5, 1, 2, 3}},
				{"9", "2", "", [4]int64{5, 9, 2, 3}},
				{"1", "5", "", [4]int64{5, 1, 5, 1}},
				{"1", "1", "file", [4]int64{3, 1, 1, 3}},
			} {
				parameters := []string{}
				for name, value := range map[string]string{"page": test.page, "limit": test.limit, "type": test.kind} {
					if value != "" {
						parameters = append(parameters, name, value)
					}
				}
				r := listFolder(alice, home, parameters...).OK(200)
				got := [4]int64{r.Int("pagination.total"), r.Int("pagination.page"), r.Int("pagination.limit"),
					r.Int("pagination.pages")}
				if got != test.want {
					t.Errorf("page %q limit %q type %q: %v, want %v", test.page, test.limit, test.kind, got, test.want)
				}
			}
			empty := listFolder(alice, home+"/b").OK(200)
			if empty.Int("pagination.total") != 0 || empty.Int("pagination.pages") != 0 {
				t.Errorf("empty folder: %s", empty.Body)
			}
			if !strings.Contains(string(empty.Body), `"items":[]`) {
				t.Errorf("items of an empty folder: %s", empty.Body)
			}
		})
		t.Run("fields", func(t *testing.T) {
			r := listFolder(alice.In(t), home).OK(200)
			wantFieldsOf(t, r, "mount", "id", "name", "sortBy", "sortOrder")
			if r.Text("mount.name") != "Files" {
				t.Errorf("mount %s", r.Text("mount.name"))
			}
			wantFieldsOf(t, r, "items.2", "id", "name", "path", "type", "size", "mimeType", "hasPassword", "ownerId",
				"createdAt", "updatedAt", "permissions", "public")
			if r.Text("items.2.path") != home || r.Text("items.2.type") != "file" || r.Int("items.2.size") != 3 ||
				r.Value("items.2.hasPassword") != false ||
				r.Text("items.2.mimeType") != "text/plain" &&
					!strings.HasPrefix(r.Text("items.2.mimeType"), "text/plain;") {
				t.Errorf("a.txt: %s", r.Body)
			}
			if r.Text("items.0.type") != "folder" || r.Int("items.0.size") != 0 || r.Text("folder.name") != "alice" ||
				r.Text("folder.path") != "/home" {
				t.Errorf("folders: %s", r.Body)
			}
		})
	})
}

// Abuse case C18: characters with a meaning in SQL are literal in a search.
func TestListingSearch(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		for _, name := range []string{"a_b", "axb", "100%", "sub"} {
			mkdir(alice, home, name)
		}
		long := strings.Repeat("语", 255)
		mkdir(alice, home+"/sub", long)
		alice.Upload(home+"/sub", "Été.TXT", []byte("x"))
		alice.Upload(home+"/sub", `back\slash`[:4]+"'quote", []byte("x"))
		bob.Upload("/home/bob", "été of bob.txt", []byte("x"))
		for _, test := range []struct {
			path, search string
			want         []string
		}{
			{home, "a_b", []string{"a_b"}},
			{home, "A_B", []string{"a_b"}},
			{home, "%", []string{"100%"}},
			{home, "_", []string{"a_b"}},
			{home, "été", []string{"Été.TXT"}},
			{home, "ÉTÉ.t", []string{"Été.TXT"}},
			{home, "e\u0301te\u0301", []string{"Été.TXT"}}, // decomposed
			{"/", "été", []string{"Été.TXT"}},
			{home + "/sub", "x", []string{"Été.TXT"}},
			{home + "/a_b", "x", nil},
			{home, long, []string{long}},
			{home, "'", []string{"back'quote"}},
			{home, `\`, nil},
			{home, `\%`, nil},
			{home, "x", []string{"axb", "Été.TXT"}},
			{"/home", "alice", []string{"alice"}},
			{"/", "bob", nil},
		} {
			t.Run(test.path+" "+test.search[:min(9, len(test.search))], func(t *testing.T) {
				r := listFolder(alice.In(t), test.path, "search", test.search).OK(200)
				wantStrings(t, "found", r.Names("items"), test.want...)
				if r.Int("pagination.total") != int64(len(test.want)) {
					t.Errorf("total %d", r.Int("pagination.total"))
				}
			})
		}
		t.Run("with type and page", func(t *testing.T) {
			r := listFolder(alice.In(t), home, "search", "x", "type", "file").OK(200)
			wantStrings(t, "files", r.Names("items"), "Été.TXT")
			r = listFolder(alice.In(t), home, "search", "x", "limit", "1", "page", "2").OK(200)
			wantStrings(t, "second page", r.Names("items"), "Été.TXT")
			if r.Int("pagination.total") != 2 || r.Int("pagination.pages") != 2 {
				t.Errorf("pagination: %s", r.Body)
			}
		})
	})
}

// Abuse case C28: entries that the caller may not read are in no listing, search or count.
func TestListingShowsOnlyReadableEntries(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		guest := l.User(t, "visitor", M{"role": "guest"})
		me := callerID(alice)
		for _, name := range []string{"internal", "club"} {
			mkdir(admin, "/", name)
		}
		mkdir(admin, "/public", "open")
		mkdir(admin, "/public", "secret")
		admin.Upload("/public/secret", "secret plan.txt", []byte("x"))
		admin.Upload("/public", "seen.txt", []byte("x"))
		admin.Upload("/club", "members.txt", []byte("x"))
		admin.Upload("/internal", "plan.txt", []byte("x"))
		admin.Upload("/uploads", "plan of admin.txt", []byte("x"))
		bob.Upload("/uploads", "bob.txt", []byte("x"))
		alice.Upload("/uploads", "alice.txt", []byte("x"))
		addRule(admin, M{"pathPattern": "/public/secret/**", "effect": "deny", "userId": me})
		addRule(admin, M{"pathPattern": "/club/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read"}})

		for _, test := range []struct {
			who    *apptest.Client
			name   string
			path   string
			search string
			want   []string
		}{
			{alice, "alice", "/", "", []string{"club", "home", "public", "uploads"}},
			{alice, "alice", "/home", "", []string{"alice"}},
			{alice, "alice", "/public", "", []string{"open", "seen.txt"}},
			{alice, "alice", "/uploads", "", []string{"alice.txt"}},
			{alice, "alice", "/club", "", []string{"members.txt"}},
			{alice, "alice", "/", "plan", nil},
			{alice, "alice", "/", "secret", nil},
			{alice, "alice", "/", "txt", []string{"alice.txt", "members.txt", "seen.txt"}},
			{bob, "bob", "/public", "", []string{"open", "secret", "seen.txt"}},
			{bob, "bob", "/", "plan", []string{"secret plan.txt"}},
			{guest, "guest", "/", "", []string{"club", "public"}},
			{guest, "guest", "/public", "", []string{"open", "secret", "seen.txt"}},
			{admin, "admin", "/", "", []string{"club", "home", "internal", "public", "uploads"}},
			{admin, "admin", "/", "plan", []string{"plan of admin.txt", "plan.txt", "secret plan.txt"}},
		} {
			t.Run(test.name+" "+test.path+" "+test.search, func(t *testing.T) {
				parameters := []string{}
				if test.search != "" {
					parameters = append(parameters, "search", test.search)
				}
				r := listFolder(test.who.In(t), test.path, parameters...).OK(200)
				wantStrings(t, "items", r.Names("items"), test.want...)
				if r.Int("pagination.total") != int64(len(test.want)) {
					t.Errorf("total %d, want %d", r.Int("pagination.total"), len(test.want))
				}
			})
		}
		t.Run("403 before 404", func(t *testing.T) {
			for _, path := range []string{"/internal", "/internal/none", "/none", "/home/bob", "/home/bob/none",
				"/home/nobody", "/public/secret", "/public/secret/none", "/public/secret/secret plan.txt"} {
				listFolder(alice.In(t), path).Fails(403, "FORBIDDEN")
			}
			for _, path := range []string{"/home/alice/none", "/home/alice/none/deeper", "/public/none",
				"/public/seen.txt", "/uploads/none", "/uploads/alice.txt", "/public/seen.txt/below"} {
				listFolder(alice.In(t), path).Fails(404, "NOT_FOUND")
			}
			for _, path := range []string{"/none", "/internal/plan.txt", "/home/nobody"} {
				listFolder(admin.In(t), path).Fails(404, "NOT_FOUND")
			}
			l.Client(t).Get("/api/files?path=/public").Fails(401, "UNAUTHORIZED")
		})
		t.Run("same verdict for every spelling of the path", func(t *testing.T) { // abuse case C12
			for _, path := range []string{"//public//secret", "/./public/secret", "/public/./secret/",
				"/public/secret//"} {
				if r := listFolder(alice.In(t), path); r.Status != 403 && r.Status != 400 {
					t.Errorf("%s: status %d, want 403 or 400: %s", path, r.Status, r.Body)
				}
			}
			wantStrings(t, "trailing slash", listNames(alice.In(t), "/public/"), "open", "seen.txt")
		})
		t.Run("permissions and public", func(t *testing.T) {
			seen := func(c *apptest.Client, path, name string) (permissions []string, public bool) {
				r := listFolder(c.In(t), path).OK(200)
				i := slices.Index(r.Names("items"), name)
				if i < 0 {
					t.Fatalf("%s not in %s: %s", name, path, r.Body)
				}
				object := r.Value("items").([]any)[i].(map[string]any)
				for _, p := range object["permissions"].([]any) {
					permissions = append(permissions, p.(string))
				}
				slices.Sort(permissions)
				return permissions, object["public"] == true
			}
			all := []string{"delete", "download", "read", "share", "update", "write"}
			for _, test := range []struct {
				who        *apptest.Client
				path, name string
				want       []string
				public     bool
			}{
				{alice, "/public", "seen.txt", []string{"download", "read"}, true},
				{alice, "/uploads", "alice.txt", all, false},
				{alice, "/club", "members.txt", []string{"read"}, false},
				{alice, "/home", "alice", all, false},
				{admin, "/internal", "plan.txt", all, false},
			} {
				got, public := seen(test.who, test.path, test.name)
				if test.name == "alice.txt" || test.name == "plan.txt" || test.name == "alice" {
					if !slices.Equal(got, all) {
						t.Errorf("%s/%s: %q", test.path, test.name, got)
					}
				} else if !slices.Equal(got, test.want) {
					t.Errorf("%s/%s: %q, want %q", test.path, test.name, got, test.want)
				}
				if public != test.public {
					t.Errorf("%s/%s: public %t", test.path, test.name, public)
				}
			}
		})
		t.Run("guest fallback ends with guest access", func(t *testing.T) {
			setAllowGuestAccess(t, l, false)
			defer setAllowGuestAccess(t, l, true)
			wantStrings(t, "root", listNames(alice.In(t), "/"), "home", "public", "uploads")
			listFolder(alice.In(t), "/club").Fails(403, "FORBIDDEN")
			wantStrings(t, "public by the rule for users", listNames(alice.In(t), "/public"), "open", "seen.txt")
		})
	})
}

// A key with rootOnly reads only inside its upload root. A key without it reads the same as its
// owner.
func TestListingByKey(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		for _, name := range []string{"in", "in-side", "out"} {
			mkdir(alice, "/home/alice", name)
			alice.Upload("/home/alice/"+name, name+".txt", []byte("x"))
		}
		confined := alice.Key(M{"uploadPath": "/home/alice/in", "rootOnly": true})
		free := alice.Key(M{"uploadPath": "/home/alice/in"})
		blind := alice.Key(M{"uploadPath": "/home/alice/in", "permissions": []string{"write", "delete"}})

		wantStrings(t, "root", listNames(confined, "/home/alice/in"), "in.txt")
		wantStrings(t, "search from the root", listNames(confined, "/home/alice/in", "search", "txt"), "in.txt")
		wantStrings(t, "search from above", listNames(confined, "/", "search", "txt"), "in.txt")
		listFolder(confined, "/home/alice/in-side").Fails(403, "FORBIDDEN")
		listFolder(confined, "/home/alice/out").Fails(403, "FORBIDDEN")
		wantStrings(t, "without rootOnly", listNames(free, "/home/alice"), "in", "in-side", "out")
		listFolder(blind, "/home/alice/in").Fails(403, "FORBIDDEN") // abuse case C32
	})
}

// An entry that the caller owns in a folder without access is found by search, by id and by path,
// but the folder is not listed.
func TestOwnershipDoesNotRevealFolders(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		mkdir(admin, "/", "drop")
		admin.Upload("/drop", "others.txt", []byte("x"))
		open := addRule(admin, M{"pathPattern": "/drop/**", "effect": "allow", "role": "user",
			"permissions": []string{"write"}})
		id := alice.Upload("/drop", "mine.txt", []byte("mine"))
		wantStrings(t, "while open", listNames(alice, "/"), "drop", "home", "public", "uploads")
		wantStrings(t, "while open", listNames(alice, "/drop"), "mine.txt")
		admin.Delete("/api/admin/rules/" + open).OK(200)

		wantStrings(t, "closed", listNames(alice, "/"), "home", "public", "uploads")
		listFolder(alice, "/drop").Fails(403, "FORBIDDEN")
		wantStrings(t, "search", listNames(alice, "/", "search", "txt"), "mine.txt")
		wantBody(t, alice.Get("/drop/mine.txt").OK(200), "mine")
		alice.Get("/drop/others.txt").Fails(403, "FORBIDDEN")
		alice.Get("/api/files/" + id).OK(200)

		t.Run("patterns", func(t *testing.T) { // abuse case C33
			admin, alice := admin.In(t), alice.In(t)
			admin.Upload("/club/inner/deep", "deep.txt", []byte("x"))
			admin.Upload("/club", "top.txt", []byte("x"))
			admin.Upload("/clubhouse", "near.txt", []byte("x"))
			admin.Upload("/drop", "x1.txt", []byte("x"))
			addRule(admin, M{"pathPattern": "/club/*", "effect": "allow", "role": "user",
				"permissions": []string{"read"}})
			wantStrings(t, "club", listNames(alice, "/club"), "inner", "top.txt")
			listFolder(alice, "/clubhouse").Fails(403, "FORBIDDEN")
			wantStrings(t, "search", listNames(alice, "/", "search", "txt"), "mine.txt", "top.txt")
			wantStrings(t, "inner", listNames(alice, "/club/inner"))
			listFolder(alice, "/club/inner/deep").Fails(403, "FORBIDDEN")
			addRule(admin, M{"pathPattern": "/drop/x?.txt", "effect": "allow", "role": "user",
				"permissions": []string{"read"}})
			wantStrings(t, "one character", listNames(alice, "/drop"), "mine.txt", "x1.txt")
		})
		t.Run("HEAD", func(t *testing.T) {
			if r := alice.In(t).Head("/api/files?path=/public"); r.Status != 200 || len(r.Body) != 0 {
				t.Errorf("%d, body %s", r.Status, r.Body)
			}
		})
	})
}

func TestFolderRevision(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		revision := func(who *apptest.Client) *apptest.Reply { return who.Get("/api/files/revision?path=" + home) }
		mkdir(alice, home, "trip")
		before := revision(alice).OK(200)
		wantJSON(t, "entries", before.Value("total"), 1)
		if id := before.Text("revision"); len(id) != 32 || revision(alice).Text("revision") != id {
			t.Errorf("revision %q, and then another one", id)
		}
		alice.Upload(home, "a.jpg", []byte("x"))
		after := revision(alice).OK(200)
		wantJSON(t, "entries", after.Value("total"), 2)
		if after.Text("revision") == before.Text("revision") {
			t.Errorf("an upload leaves the revision %s", after.Text("revision"))
		}
		wantJSON(t, "entries of the root", alice.Get("/api/files/revision").OK(200).Value("total"), 3)

		revision(bob).Fails(403, "FORBIDDEN")
		revision(l.Client(t)).Fails(401, "UNAUTHORIZED")
		alice.Get("/api/files/revision?path=/home/alice/absent").Fails(404, "NOT_FOUND")
		alice.Get("/api/files/revision?path=/home/alice/a.jpg").Fails(404, "NOT_FOUND")
		alice.Get("/api/files/revision?path=home").Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files/revision?path=/home/../home").Fails(400, "VALIDATION_ERROR")
		blind := alice.Key(M{"uploadPath": home, "permissions": []string{"write"}})
		revision(blind).Fails(403, "FORBIDDEN") // abuse case C32
		revision(alice.Key(M{"uploadPath": home})).OK(200)
	})
}
