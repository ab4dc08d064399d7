package api_test

import (
	"testing"
	"time"

	"larder/internal/apptest"
)

// docs/decisions.md, Changes by others: visitors who may list a folder learn that it has changed,
// and nothing of what they may not see.
func TestPublicFolderRevision(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		revision := func(who *apptest.Client, path string) *apptest.Reply {
			return who.Get("/api/public/files/revision?path=" + path)
		}
		addRule(admin, M{"pathPattern": "/public/hidden*", "effect": "deny", "role": "guest"})
		admin.Upload("/public", "a.txt", []byte("a"))
		before := revision(visitor, "/public").OK(200)
		wantJSON(t, "entries", before.Value("total"), 1)
		wantHeader(t, before, "Cache-Control", "private, no-store")
		if id := before.Text("revision"); len(id) != 32 || revision(visitor, "/public").Text("revision") != id {
			t.Errorf("revision %q, and then another one", id)
		}
		l.Clock.Advance(time.Second)
		admin.Upload("/public", "hidden.txt", []byte("hidden"))
		everyone := map[string]*apptest.Client{"a visitor": visitor, "a user": alice, "an administrator": admin}
		for who, c := range everyone {
			wantJSON(t, who+" after a hidden file", revision(c, "/public").OK(200).Value("revision"),
				before.Value("revision"))
		}
		admin.Upload("/public", "b.txt", []byte("b"))
		after := revision(visitor, "/public").OK(200)
		wantJSON(t, "entries", after.Value("total"), 2)
		if after.Text("revision") == before.Text("revision") {
			t.Errorf("an upload leaves the revision %s", after.Text("revision"))
		}
		wantJSON(t, "entries of the root", visitor.Get("/api/public/files/revision").OK(200).Value("total"), 1)

		revision(visitor, "/home/alice").Fails(401, "UNAUTHORIZED")
		revision(alice, "/home/alice").Fails(401, "UNAUTHORIZED") // as a visitor
		revision(visitor, "/public/absent").Fails(404, "NOT_FOUND")
		revision(visitor, "/public/..").Fails(400, "VALIDATION_ERROR")
		shut := mkdir(admin, "/public", "shut")
		admin.Put("/api/files/"+shut, M{"accessPassword": "open sesame"}).OK(200)
		revision(visitor, "/public/shut").Fails(403, "PASSWORD_REQUIRED")
		admin.Patch("/api/admin/settings", M{"allowGuestAccess": false}).OK(200)
		revision(visitor, "/public").Fails(401, "UNAUTHORIZED")
	})
}

// docs/decisions.md, Changes by others: an open page of a share learns that the folder has changed
// and that the share has ended, and counts no view.
func TestShareRevision(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		const home = "/home/alice"
		trip := mkdir(alice, home, "trip")
		mkdir(alice, home+"/trip", "day one")
		note := alice.Upload(home+"/trip", "note.txt", []byte("note"))
		share := shareEntry(alice, trip, M{"maxViews": 1})
		revision := func(id, path string) *apptest.Reply {
			return visitor.Get("/api/shares/" + id + "/revision?path=" + path)
		}
		before, below := revision(share, "/").OK(200), revision(share, "/day%20one").OK(200)
		wantFields(t, "data", before.Object()["data"], "revision", "total", "downloadCount", "title", "expiresAt",
			"maxDownloads", "allowPreview", "allowDownload", "accessExpiresIn")
		wantJSON(t, "downloads", before.Value("downloadCount"), 0)
		visitor.Get(shareDownload(visitor, share)).OK(200)
		wantJSON(t, "downloads after one", revision(share, "/").OK(200).Value("downloadCount"), 1)
		wantJSON(t, "entries", before.Value("total"), 2)
		wantJSON(t, "entries below", below.Value("total"), 0)
		wantHeader(t, before, "Cache-Control", "private, no-store")
		l.Clock.Advance(time.Second)
		alice.Upload(home, "beside.txt", []byte("beside"))
		wantJSON(t, "after a file beside the share", revision(share, "/").OK(200).Value("revision"),
			before.Value("revision"))
		alice.Upload(home+"/trip/day one", "lake.txt", []byte("lake"))
		wantJSON(t, "after a file below", revision(share, "/").OK(200).Value("revision"), before.Value("revision"))
		if after := revision(share, "/day%20one").OK(200); after.Text("revision") == below.Text("revision") {
			t.Errorf("an upload leaves the revision %s", after.Text("revision"))
		}
		for _, bad := range []string{"..", "/../beside.txt", "day%20one"} {
			revision(share, bad).Fails(400, "VALIDATION_ERROR")
		}
		for _, absent := range []string{"/absent", "/note.txt"} {
			revision(share, absent).Fails(404, "NOT_FOUND")
		}

		// the only view is still there, and the page that has used it goes on
		visitShare(visitor, share).OK(200)
		visitShare(visitor, share).Fails(410, "SHARE_LIMIT_REACHED")
		revision(share, "/").OK(200)

		alice.Delete("/api/shares/" + share).OK(200)
		revision(share, "/").Fails(410, "SHARE_REVOKED")
		revision("abcdefghijkl", "/").Fails(404, "NOT_FOUND")

		one := shareEntry(alice, note, M{"expiresIn": 60, "password": "open sesame"})
		revision(one, "/").Fails(401, "INVALID_PASSWORD")
		verifySharePassword(visitor, one, "open sesame").OK(200)
		l.Clock.Advance(time.Second)
		wantJSON(t, "a file", revision(one, "/").OK(200).Object()["data"], M{"revision": "", "total": 1,
			"downloadCount": 0, "title": "note.txt", "expiresAt": l.Clock.Now().UnixMilli() + 59_000, "maxDownloads": nil,
			"allowPreview": true, "allowDownload": true, "accessExpiresIn": 899_000})
		alice.Patch("/api/shares/"+one, M{"title": "Read this", "expiresIn": 120, "maxDownloads": 3, "allowPreview": false}).
			OK(200)
		wantJSON(t, "a file after changes of its creator", revision(one, "/").OK(200).Object()["data"], M{"revision": "",
			"total": 1, "downloadCount": 0, "title": "Read this", "expiresAt": l.Clock.Now().UnixMilli() + 120_000,
			"maxDownloads": 3, "allowPreview": false, "allowDownload": true, "accessExpiresIn": 899_000})
		visitor.Get(shareDownload(visitor, one)).OK(200)
		wantJSON(t, "a file after a download", revision(one, "/").OK(200).Value("downloadCount"), 1)
		revision(one, "/note.txt").Fails(404, "NOT_FOUND")
		alice.Patch("/api/shares/"+one, M{"password": "another one"}).OK(200)
		revision(one, "/").Fails(401, "INVALID_PASSWORD")
		alice.Patch("/api/shares/"+one, M{"password": nil}).OK(200)
		wantJSON(t, "without a password", revision(one, "/").OK(200).Value("accessExpiresIn"), nil)
		l.Clock.Advance(2 * time.Minute)
		revision(one, "/").Fails(410, "SHARE_EXPIRED")
	})
}
