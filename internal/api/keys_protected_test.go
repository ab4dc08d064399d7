package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// A key lists entries behind a password only where the session of its owner would without that
// password. Every answer with names, sizes or counts is the same for both, except for the key that
// can never give the password (docs/decisions.md, Metadata and passwords).
func TestKeysListProtectedLikeTheirOwner(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		adminKey, aliceKey := admin.Key(M{}), alice.Key(M{"uploadPath": "/uploads"})
		adminDAV, aliceDAV := davKey(admin, nil), davKey(alice, M{"uploadPath": "/uploads"})

		// two nested passwords of the administrator's on folders, and one of a rule
		outer, plain := mkdir(admin, "/public", "find-outer"), mkdir(admin, "/public", "find-plain")
		inner := mkdir(admin, "/public/find-outer", "find-inner")
		deep := mkdir(admin, "/public/find-outer/find-inner", "find-deep")
		ruled := mkdir(admin, "/public", "find-ruled")
		files := map[string]string{}
		for name, dir := range map[string]string{
			"find-outer.png": "/public/find-outer", "find-inner.png": "/public/find-outer/find-inner",
			"find-deep.png":  "/public/find-outer/find-inner/find-deep",
			"find-plain.png": "/public/find-plain", "find-ruled.png": "/public/find-ruled",
		} {
			files[name] = admin.Upload(dir, name, []byte(name))
		}
		setAccessPassword(admin, outer, "the outer one")
		setAccessPassword(admin, inner, "the inner one")
		addRule(admin, M{"pathPattern": "/public/find-ruled/**", "effect": "allow", "role": "user",
			"requirePassword": true, "password": "the rule's", "priority": 10})
		addRule(admin, M{"pathPattern": "/public/find-ruled/**", "effect": "deny", "role": "user", "priority": 9})

		shut := []string{outer, inner, deep, ruled, files["find-outer.png"], files["find-inner.png"],
			files["find-deep.png"], files["find-ruled.png"]}
		routes := map[string]func(c *apptest.Client) *apptest.Reply{}
		for _, path := range []string{"/public", "/public/find-outer", "/public/find-outer/find-inner",
			"/public/find-outer/find-inner/find-deep", "/public/find-plain", "/public/find-ruled",
			"/public/find-outer/none"} {
			routes["listing of "+path] = func(c *apptest.Client) *apptest.Reply { return listFolder(c, path) }
			routes["search in "+path] = func(c *apptest.Client) *apptest.Reply {
				return listFolder(c, path, "search", "FIND", "sort", "name")
			}
			routes["page of "+path] = func(c *apptest.Client) *apptest.Reply {
				return listFolder(c, path, "search", "find", "limit", "1", "page", "2")
			}
		}
		for _, id := range append(shut, plain, files["find-plain.png"]) {
			routes["details of "+id] = func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/" + id) }
			routes["link of "+id] = func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/" + id + "/copy-links")
			}
			routes["links of "+id] = func(c *apptest.Client) *apptest.Reply {
				return c.Post("/api/files/copy-links", M{"ids": []string{id}})
			}
			routes["thumbnail of "+id] = func(c *apptest.Client) *apptest.Reply {
				return c.Get("/api/files/" + id + "/thumbnail?size=160")
			}
			routes["zip of "+id] = func(c *apptest.Client) *apptest.Reply { return c.Get("/api/files/zip?ids=" + id) }
		}
		compare := func(when string, session, key *apptest.Client) {
			t.Helper()
			for name, route := range routes {
				want, got := route(session.Fork()), route(key.Fork())
				if session, key := entryFacts(want), entryFacts(got); session != key {
					t.Errorf("%s, %s: the session gets\n%s\nthe key gets\n%s", when, name, session, key)
				}
			}
		}
		compare("alice", alice, aliceKey)
		compare("the administrator", admin, adminKey)

		// the answers to alice's session, so that the comparison means something
		wantStrings(t, "alice's search", listNames(aliceKey, "/public", "search", "find"), "find-outer", "find-plain",
			"find-plain.png")
		wantJSON(t, "its total", listFolder(aliceKey, "/public", "search", "find").OK(200).Int("pagination.total"),
			int64(3))
		for _, path := range []string{"/public/find-outer", "/public/find-outer/find-inner", "/public/find-outer/none",
			"/public/find-ruled"} {
			wantStatus(t, "alice's key, "+path, listFolder(aliceKey, path), 403, "PASSWORD_REQUIRED")
		}
		for _, id := range shut[1:3] {
			wantStatus(t, "alice's key, details", aliceKey.Get("/api/files/"+id), 403, "PASSWORD_REQUIRED")
		}
		wantStrings(t, "the administrator's key", listNames(adminKey, "/public/find-outer"), "find-inner",
			"find-outer.png")

		// WebDAV: the folder appears, as it does in its parent; its contents do not
		for _, row := range []struct {
			path, depth  string
			alice, admin int
		}{
			{"/public/find-outer", "0", 207, 207},
			{"/public/find-outer", "1", 403, 207},
			{"/public/find-outer/find-outer.png", "0", 403, 207},
			{"/public/find-outer/none.png", "0", 403, 404},
			{"/public/find-outer/find-inner", "0", 403, 207},
			{"/public/find-outer/find-inner", "1", 403, 207},
			{"/public/find-outer/find-inner/find-deep", "1", 403, 207},
			{"/public/find-ruled", "0", 403, 207},
			{"/public/find-ruled", "1", 403, 207},
			{"/public/find-ruled/find-ruled.png", "0", 403, 207},
		} {
			for whose, want := range map[string]int{"alice's": row.alice, "the administrator's": row.admin} {
				key := map[string]*apptest.Client{"alice's": aliceDAV, "the administrator's": adminDAV}[whose]
				wantStatus(t, fmt.Sprintf("PROPFIND of %s, depth %s, %s key", row.path, row.depth, whose),
					dav(key, "PROPFIND", row.path, nil, "Depth", row.depth), want, "")
			}
		}
		wantStrings(t, "the folder above, by WebDAV", davMembers(t, aliceDAV, "/public"), "find-outer", "find-plain")

		// a password given by the owner gives the key no access, and removes the difference
		verifyPassword(alice, outer, "the outer one").OK(200)
		wantStrings(t, "alice, with the password", listNames(alice, "/public/find-outer"), "find-inner",
			"find-outer.png")
		wantStatus(t, "her key", listFolder(aliceKey, "/public/find-outer"), 403, "PASSWORD_REQUIRED")
		cookies := aliceKey.Fork()
		cookies.Cookies["unlocked"] = alice.Cookies["unlocked"]
		wantStatus(t, "her key, with the cookie", listFolder(cookies, "/public/find-outer"), 403, "PASSWORD_REQUIRED")
		wantStatus(t, "her key, PROPFIND", dav(aliceDAV, "PROPFIND", "/public/find-outer", nil), 403, "")
		setAccessPassword(admin, outer, nil)
		wantStrings(t, "her key, without the password", listNames(aliceKey, "/public/find-outer"), "find-inner",
			"find-outer.png")
		wantStrings(t, "by WebDAV", davMembers(t, aliceDAV, "/public/find-outer"), "find-inner", "find-outer.png")
		compare("without the outer password", alice, aliceKey)

		// a folder that alice has protected herself is listed for her and her key without the
		// password
		own := mkdir(alice, "/uploads", "own")
		alice.Upload("/uploads/own", "mine.png", []byte("mine"))
		setAccessPassword(alice, own, "alice's")
		wantStrings(t, "alice's own", listNames(aliceKey, "/uploads/own"), "mine.png")
		wantStrings(t, "by WebDAV", davMembers(t, aliceDAV, "/uploads/own"), "mine.png")
		wantStrings(t, "found", listNames(aliceKey, "/uploads", "search", "mine"), "mine.png")
	})
}

// entryFacts returns the facts about entries in an answer: its status and the names, sizes, counts,
// flags and codes.
func entryFacts(r *apptest.Reply) string {
	if r.Status != 200 || strings.Contains(r.Header.Get("Content-Type"), "zip") {
		return fmt.Sprint(r.Status, " ", factFields.FindAllString(string(r.Body), 1))
	}
	return fmt.Sprint(r.Status, " ", factFields.FindAllString(string(r.Body), -1))
}

var factFields = regexp.MustCompile(`"(name|size|path|total|public|hasPassword|needsPassword|code)":("[^"]*"|[^,}]*)`)

// No key moves or copies an entry out of the reach of a password, by move, batch, copy, MOVE or
// COPY. The session of a user who may remove the password can, and the entry is then served at its
// new path without it.
func TestKeysCannotMoveOutOfProtectedFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const home = "/home/alice"
		alice := l.User(t, "alice")
		key, byDAV := alice.Key(M{"uploadPath": home}), davKey(alice, M{"uploadPath": home})
		shut := mkdir(alice, home, "shut")
		mkdir(alice, home+"/shut", "deep")
		file := alice.Upload(home+"/shut", "f.png", []byte("secret"))
		other := alice.Upload(home, "other.png", []byte("other"))
		link := alice.Post("/api/files/"+file+"/link", M{}).OK(200).Text("link.url")
		setAccessPassword(alice, shut, "open sesame")
		wantProtected := func(what, path string) {
			t.Helper()
			wantStatus(t, what+": its path", alice.Get(path), 403, "PASSWORD_REQUIRED")
			wantDAVStatus(t, what+": GET", dav(byDAV, "GET", path, nil), 403)
			wantStatus(t, what+": its link", l.Client(t).Get(link), 404, "NOT_FOUND")
		}
		wantProtected("at first", home+"/shut/f.png")

		wantStatus(t, "a move", key.Post("/api/files/"+file+"/move", M{"targetPath": home}), 403, "PASSWORD_REQUIRED")
		wantStatus(t, "a copy", key.Post("/api/files/"+file+"/copy", M{"targetPath": home}), 403, "PASSWORD_REQUIRED")
		batch := key.Post("/api/files/batch",
			M{"action": "move", "fileIds": []string{file, other}, "targetPath": home + "/shut/deep"}).OK(200)
		wantJSON(t, "a batch within", batch.Value("succeeded"), []string{file, other})
		batch = key.Post("/api/files/batch", M{"action": "move", "fileIds": []string{file, other}, "targetPath": home}).
			OK(200)
		wantJSON(t, "a batch", batch.Value("succeeded"), []string{})
		wantJSON(t, "why", batch.Value("failed.0.code"), "PASSWORD_REQUIRED")
		for _, to := range []string{"/f.png", "/free.png"} {
			for _, method := range []string{"MOVE", "COPY"} {
				wantDAVStatus(t, method+" to "+to,
					dav(byDAV, method, home+"/shut/deep/f.png", nil, "Destination", "/webdav"+home+to), 403)
				wantDAVStatus(t, method+" of the folder to "+to,
					dav(byDAV, method, home+"/shut/deep", nil, "Destination", "/webdav"+home+to), 403)
			}
			dav(byDAV, "PUT", home+"/free.png", "beside") // and then over an existing file
		}
		wantProtected("after all that", home+"/shut/deep/f.png")

		wantStatus(t, "MOVE within", dav(byDAV, "MOVE", home+"/shut/deep/f.png", nil, "Destination",
			"/webdav"+home+"/shut/g.png"), 201, "")
		wantProtected("within", home+"/shut/g.png")
		wantStatus(t, "MOVE of the folder", dav(byDAV, "MOVE", home+"/shut", nil, "Destination",
			"/webdav"+home+"/closed"), 201, "")
		wantProtected("with its folder", home+"/closed/g.png")

		alice.Post("/api/files/"+file+"/move", M{"targetPath": home}).OK(200)
		wantBody(t, alice.Get(home+"/g.png").OK(200), "secret")
		wantBody(t, l.Client(t).Get(link).OK(200), "secret")
		wantStatus(t, "moved by alice", dav(byDAV, "GET", home+"/g.png", nil), 200, "")
		alice.Post("/api/files/"+file+"/move", M{"targetPath": home + "/closed"}).OK(200)
		wantProtected("and back", home+"/closed/g.png")
	})
}
