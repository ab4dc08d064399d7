package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// davRequest is a request about an entry, with its body and headers.
type davRequest struct {
	name, method string
	body         any
	header       []string
}

const (
	lockBody  = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`
	patchBody = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="u:x">1</x></prop></set></propertyupdate>`
)

// davUnlock ends the lock that an answer returned.
func davUnlock(t *testing.T, c *apptest.Client, path string, r *apptest.Reply) {
	t.Helper()
	if token := r.Header.Get("Lock-Token"); token != "" {
		wantStatus(t, "UNLOCK "+path, dav(c, "UNLOCK", path, nil, "Lock-Token", token), 204, "")
	}
}

// The test covers which permission of a key allows which method, inside and outside of its upload
// root (specification: WebDAV; docs/webdav.md). A forbidden request is refused whether the entry
// exists or not; an allowed one on a missing entry gets 404.
func TestDAVPermissions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		bob := l.User(t, "bob")
		bob.Upload("/home/bob", "his.txt", []byte("his"))
		root := "/home/alice/root"
		mkdir(alice, "/home/alice", "root")
		mkdir(alice, root, "folder")
		alice.Upload("/home/alice", "outer.txt", []byte("outer"))
		keys := map[string]*apptest.Client{}
		for letters, permissions := range map[string][]string{
			"r": {"read"}, "w": {"write"}, "d": {"delete"}, "rw": {"read", "write"}, "wd": {"write", "delete"},
			"rwd": {"read", "write", "delete"},
		} {
			keys[letters] = davKey(alice, M{"name": letters, "permissions": permissions, "uploadPath": root})
		}
		dav(keys["w"], "PUT", root+"/there.txt", "there").OK(201)
		// statuses other than 403 of a key with r, w or d each
		for i, row := range []struct {
			act   davRequest
			path  string
			needs string
			want  int
		}{
			{davRequest{"PROPFIND of a file", "PROPFIND", nil, []string{"Depth", "0"}}, root + "/there.txt", "r", 207},
			{davRequest{"PROPFIND of a folder", "PROPFIND", nil, nil}, root + "/folder", "r", 207},
			{davRequest{"PROPFIND of nothing", "PROPFIND", nil, nil}, root + "/none", "r", 404},
			{davRequest{"PROPFIND outside", "PROPFIND", nil, nil}, "/home/alice/outer.txt", "r", 207},
			{davRequest{"PROPFIND of others", "PROPFIND", nil, nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"PROPFIND of nothing of others", "PROPFIND", nil, nil}, "/home/bob/none", "-", 0},
			{davRequest{"GET", "GET", nil, nil}, root + "/there.txt", "r", 200},
			{davRequest{"HEAD", "HEAD", nil, nil}, root + "/there.txt", "r", 200},
			{davRequest{"GET of nothing", "GET", nil, nil}, root + "/none", "r", 404},
			{davRequest{"HEAD of nothing", "HEAD", nil, nil}, root + "/none", "r", 404},
			{davRequest{"GET outside", "GET", nil, nil}, "/home/alice/outer.txt", "r", 200},
			{davRequest{"GET of others", "GET", nil, nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"GET of nothing of others", "GET", nil, nil}, "/home/bob/none", "-", 0},
			{davRequest{"PUT", "PUT", "x", nil}, root + "/new.txt", "w", 201},
			{davRequest{"PUT over", "PUT", "x", nil}, root + "/there.txt", "w", 204},
			{davRequest{"PUT below nothing", "PUT", "x", nil}, root + "/none/x", "w", 409},
			{davRequest{"PUT outside", "PUT", "x", nil}, "/home/alice/new.txt", "-", 0},
			{davRequest{"PUT over outside", "PUT", "x", nil}, "/home/alice/outer.txt", "-", 0},
			{davRequest{"PUT beside the root", "PUT", "x", nil}, "/home/alice/root-evil", "-", 0}, // abuse case C15
			{davRequest{"PUT over others", "PUT", "x", nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"PUT at others", "PUT", "x", nil}, "/home/bob/none", "-", 0},
			{davRequest{"MKCOL", "MKCOL", nil, nil}, root + "/new", "w", 201},
			{davRequest{"MKCOL below nothing", "MKCOL", nil, nil}, root + "/none/x", "w", 409},
			{davRequest{"MKCOL outside", "MKCOL", nil, nil}, "/home/alice/new", "-", 0},
			{davRequest{"MKCOL at others", "MKCOL", nil, nil}, "/home/bob/new", "-", 0},
			{davRequest{"DELETE", "DELETE", nil, nil}, root + "/there.txt", "d", 204},
			{davRequest{"DELETE of nothing", "DELETE", nil, nil}, root + "/none", "d", 404},
			{davRequest{"DELETE outside", "DELETE", nil, nil}, "/home/alice/outer.txt", "-", 0},
			{davRequest{"DELETE of nothing outside", "DELETE", nil, nil}, "/home/alice/none", "-", 0},
			{davRequest{"DELETE of others", "DELETE", nil, nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"DELETE of nothing of others", "DELETE", nil, nil}, "/home/bob/none", "-", 0},
			{davRequest{"MOVE", "MOVE", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				root + "/there.txt", "wd", 201},
			{davRequest{"MOVE out", "MOVE", nil, []string{"Destination", "/webdav/home/alice/to.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"MOVE over, out", "MOVE", nil, []string{"Destination", "/webdav/home/alice/outer.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"MOVE in", "MOVE", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				"/home/alice/outer.txt", "-", 0},
			{davRequest{"MOVE of nothing, in", "MOVE", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				"/home/alice/none", "-", 0},
			{davRequest{"MOVE to others", "MOVE", nil, []string{"Destination", "/webdav/home/bob/to.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"MOVE to others, over", "MOVE", nil, []string{"Destination", "/webdav/home/bob/his.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"MOVE from others", "MOVE", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				"/home/bob/his.txt", "-", 0},
			{davRequest{"MOVE to others, without Overwrite", "MOVE", nil,
				[]string{"Destination", "/webdav/home/bob/his.txt", "Overwrite", "F"}}, root + "/there.txt", "-", 0},
			{davRequest{"COPY", "COPY", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				root + "/there.txt", "rw", 201},
			{davRequest{"COPY of nothing", "COPY", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				root + "/none", "r", 404},
			{davRequest{"MOVE of nothing", "MOVE", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				root + "/none", "d", 404},
			{davRequest{"COPY in", "COPY", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				"/home/alice/outer.txt", "rw", 201},
			{davRequest{"COPY out", "COPY", nil, []string{"Destination", "/webdav/home/alice/to.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"COPY from others", "COPY", nil, []string{"Destination", "/webdav" + root + "/to.txt"}},
				"/home/bob/his.txt", "-", 0},
			{davRequest{"COPY to others, over", "COPY", nil, []string{"Destination", "/webdav/home/bob/his.txt"}},
				root + "/there.txt", "-", 0},
			{davRequest{"PROPPATCH", "PROPPATCH", patchBody, nil}, root + "/there.txt", "w", 207},
			{davRequest{"PROPPATCH of nothing", "PROPPATCH", patchBody, nil}, root + "/none", "w", 404},
			{davRequest{"PROPPATCH outside", "PROPPATCH", patchBody, nil}, "/home/alice/outer.txt", "-", 0},
			{davRequest{"PROPPATCH of others", "PROPPATCH", patchBody, nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"LOCK", "LOCK", lockBody, nil}, root + "/there.txt", "w", 200},
			{davRequest{"LOCK of a folder", "LOCK", lockBody, nil}, root + "/folder", "w", 200},
			{davRequest{"LOCK of nothing", "LOCK", lockBody, nil}, root + "/made.txt", "w", 201},
			{davRequest{"LOCK of nothing below nothing", "LOCK", lockBody, nil}, root + "/none/made.txt", "w", 409},
			{davRequest{"LOCK outside", "LOCK", lockBody, nil}, "/home/alice/outer.txt", "-", 0},
			{davRequest{"LOCK of nothing outside", "LOCK", lockBody, nil}, "/home/alice/made.txt", "-", 0},
			{davRequest{"LOCK of others", "LOCK", lockBody, nil}, "/home/bob/his.txt", "-", 0},
			{davRequest{"LOCK of nothing of others", "LOCK", lockBody, nil}, "/home/bob/none", "-", 0},
		} {
			for letters, key := range keys {
				want := 403
				if row.needs != "-" && strings.Trim(row.needs, letters) == "" {
					want = row.want
				}
				what := fmt.Sprintf("%d %s by %s", i, row.act.name, letters)
				r := dav(key, row.act.method, row.path, row.act.body, row.act.header...)
				if want >= 400 {
					wantDAVStatus(t, what, r, want)
				} else {
					wantStatus(t, what, r, want, "")
				}
				davUnlock(t, key, row.path, r)
				if r.Status == 201 || r.Status == 204 {
					for _, made := range []string{"/new.txt", "/new", "/to.txt", "/made.txt"} {
						dav(keys["wd"], "DELETE", root+made, nil)
					}
					dav(keys["w"], "PUT", root+"/there.txt", "there")
				}
			}
		}
		wantStrings(t, "in the root", listNames(alice, root), "folder", "there.txt")
		wantStrings(t, "outside the root", listNames(alice, "/home/alice"), "root", "outer.txt")
		wantBody(t, alice.Get("/home/alice/outer.txt").OK(200), "outer")
		wantStrings(t, "bob's home", listNames(bob, "/home/bob"), "his.txt")
		wantBody(t, bob.Get("/home/bob/his.txt").OK(200), "his")
	})
}

// Rules apply to each method as they do elsewhere (abuse cases C25, C26): an actor without read
// sees nothing, and a move does not replace an entry that the actor may not change.
func TestDAVByRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := userIDOf(t, admin, "alice")
		key := davKey(alice, M{"uploadPath": "/"})
		for _, dir := range []string{"seen", "created", "denied", "narrow"} {
			mkdir(admin, "/", dir)
			admin.Upload("/"+dir, "theirs.txt", []byte("theirs"))
		}
		mkdir(alice, "/home/alice", "mixed")
		mkdir(alice, "/home/alice/mixed", "barred")
		alice.Upload("/home/alice/mixed/barred", "kept.txt", []byte("kept"))
		alice.Upload("/home/alice", "mine.txt", []byte("mine"))
		for _, rule := range []M{
			{"pathPattern": "/seen/**", "effect": "allow", "permissions": []string{"read"}},
			{"pathPattern": "/created/**", "effect": "allow", "permissions": []string{"read", "write"}},
			{"pathPattern": "/narrow/**", "effect": "allow", "permissions": []string{"read", "write", "download"}},
			{"pathPattern": "/narrow/**", "effect": "deny", "permissions": []string{"update"}},
			{"pathPattern": "/home/alice/mixed/barred/**", "effect": "deny"},
			{"pathPattern": "/home/alice/caf\u00e9.txt", "effect": "deny"},
		} {
			rule["userId"] = id
			addRule(admin, rule)
		}
		to := func(path string) []string { return []string{"Destination", "/webdav" + path} }
		for _, row := range []struct {
			method, path string
			body         any
			header       []string
			want         int
		}{
			{"PROPFIND", "/seen", nil, nil, 207},
			{"PROPFIND", "/seen/theirs.txt", nil, nil, 207},
			{"PROPFIND", "/seen/none", nil, nil, 404},
			{"GET", "/seen/theirs.txt", nil, nil, 403}, // read does not include download
			{"GET", "/seen/none", nil, nil, 403},
			{"COPY", "/seen/theirs.txt", nil, to("/home/alice/stolen.txt"), 403},
			{"PUT", "/seen/new.txt", "x", nil, 403},
			{"MKCOL", "/seen/new", nil, nil, 403},
			{"LOCK", "/seen/new", lockBody, nil, 403},
			{"MOVE", "/home/alice/mine.txt", nil, to("/seen/new.txt"), 403},
			{"PROPFIND", "/denied", nil, nil, 403},
			{"PROPFIND", "/denied/theirs.txt", nil, nil, 403},
			{"PROPFIND", "/denied/none", nil, nil, 403},
			{"PROPFIND", "/none", nil, nil, 403},
			{"PUT", "/created/new.txt", "x", nil, 201},
			{"PUT", "/created/new.txt", "x", nil, 204}, // her own file
			{"PUT", "/created/theirs.txt", "x", nil, 403},
			{"PROPPATCH", "/created/theirs.txt", patchBody, nil, 403},
			{"LOCK", "/created/theirs.txt", lockBody, nil, 403},
			{"DELETE", "/created/theirs.txt", nil, nil, 403},
			{"MOVE", "/home/alice/mine.txt", nil, to("/created/theirs.txt"), 403},
			{"COPY", "/home/alice/mine.txt", nil, to("/created/theirs.txt"), 403},
			{"DELETE", "/created/new.txt", nil, nil, 204},
			{"PUT", "/narrow/new.txt", "x", nil, 201},
			{"PUT", "/narrow/new.txt", "y", nil, 403},
			{"LOCK", "/narrow/new.txt", lockBody, nil, 403},
			{"COPY", "/home/alice/mine.txt", nil, to("/narrow/new.txt"), 403},
			{"MOVE", "/home/alice/mine.txt", nil, to("/narrow/new.txt"), 403},
			{"DELETE", "/home/alice/mixed", nil, nil, 403}, // C26
			{"MOVE", "/home/alice/mixed", nil, to("/home/alice/carried"), 403},
			{"PROPFIND", "/home/alice/mixed/barred", nil, nil, 403},
			{"PUT", "/home/alice/mixed/barred/new", "x", nil, 403},
			{"MKCOL", "/home/alice/mixed/barred/new", nil, nil, 403},
			{"MOVE", "/home/alice/mine.txt", nil, to("/home/alice/mixed/barred/new"), 403},
			{"PUT", "/home/alice/caf%C3%A9.txt", "x", nil, 403},
			{"PUT", "/home/alice/cafe%CC%81.txt", "x", nil, 403}, // C7
			{"MOVE", "/home/alice/mine.txt", nil, to("/home/alice/cafe%CC%81.txt"), 403},
			{"DELETE", "/home", nil, nil, 403},
			{"DELETE", "/", nil, nil, 403},
			{"MOVE", "/home", nil, to("/homes"), 403},
		} {
			r := dav(key, row.method, row.path, row.body, row.header...)
			what := fmt.Sprint(row.method, " ", row.path, " ", row.header)
			if row.want >= 400 {
				wantDAVStatus(t, what, r, row.want)
			} else {
				wantStatus(t, what, r, row.want, "")
			}
			if strings.Contains(string(r.Body), "barred/kept") || strings.Contains(string(r.Body), "theirs\n") {
				t.Errorf("%s: the answer reveals %s", what, r.Body)
			}
		}
		// LOCK of a free name requires the permission to write and leaves no file behind when it is
		// refused
		r := dav(key, "LOCK", "/narrow/locked.txt", lockBody)
		if _, left := map[string]bool{}[""], listNames(admin, "/narrow"); r.Status == 403 && len(left) != 2 {
			t.Errorf("LOCK where update is denied: %d, and in the folder %q", r.Status, left)
		}
		davUnlock(t, key, "/narrow/locked.txt", r)
		for _, dir := range []string{"seen", "created", "denied", "narrow"} {
			wantBody(t, admin.Get("/"+dir+"/theirs.txt").OK(200), "theirs")
		}
		wantBody(t, admin.Get("/narrow/new.txt").OK(200), "x")
		wantBody(t, admin.Get("/home/alice/mixed/barred/kept.txt").OK(200), "kept")
		wantBody(t, alice.Get("/home/alice/mine.txt").OK(200), "mine")
		wantStrings(t, "the key's view of the root", davMembers(t, key, "/"), "created", "home", "narrow", "public",
			"seen", "uploads")
		wantStrings(t, "the key's view of the folder", davMembers(t, key, "/home/alice/mixed"))
	})
}

// A key never may more than its owner, and rules about the key restrict that key only (abuse case
// C32). With rootOnly it reads nothing outside its upload root.
func TestDAVKeyAndOwner(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		for _, dir := range []string{"a", "b"} {
			mkdir(alice, "/home/alice", dir)
			alice.Upload("/home/alice/"+dir, "f.txt", []byte(dir))
		}
		made := alice.Post("/api/keys/", newKey(M{"permissions": []string{"read", "write"},
			"protocols": []string{"webdav"}, "uploadPath": "/home/alice"})).OK(201)
		key := l.Client(t)
		key.Header.Set("Authorization", basicAuth(made.Text("key.fullToken")))
		addRule(admin, M{"pathPattern": "/home/alice/b/**", "effect": "deny", "apiKeyId": made.Text("key.id")})
		wantStatus(t, "requests left to the key", dav(key, "GET", "/home/alice/a/f.txt", nil), 200, "")
		wantDAVStatus(t, "requests that the key's rule denies", dav(key, "GET", "/home/alice/b/f.txt", nil), 403)
		wantDAVStatus(t, "requests that the key's rule denies", dav(key, "PUT", "/home/alice/b/new", "x"), 403)
		wantDAVStatus(t, "requests that the key's rule denies",
			dav(key, "COPY", "/home/alice/a/f.txt", nil, "Destination", "/webdav/home/alice/b/new"), 403)
		wantStrings(t, "the key's view", davMembers(t, key, "/home/alice"), "a")
		wantBody(t, alice.Get("/home/alice/b/f.txt").OK(200), "b")

		only := davKey(alice, M{"name": "only", "uploadPath": "/home/alice/a", "rootOnly": true})
		wantBody(t, dav(only, "GET", "/home/alice/a/f.txt", nil).OK(200), "a")
		for _, path := range []string{"/home/alice/b/f.txt", "/home/alice/b", "/home/alice/none", "/public"} {
			wantDAVStatus(t, "with rootOnly, "+path, dav(only, "PROPFIND", path, nil), 403)
			wantDAVStatus(t, "with rootOnly, "+path, dav(only, "GET", path, nil), 403)
		}
		wantDAVStatus(t, "with rootOnly", dav(only, "COPY", "/home/alice/b/f.txt", nil, "Destination",
			"/webdav/home/alice/a/new"), 403)
		for at, below := range map[string]string{"/": "home", "/home": "alice", "/home/alice": "a"} {
			wantStrings(t, "with rootOnly, in "+at, davMembers(t, only, at), below)
		}
	})
}
