package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// An account cannot delete its own home, nor a folder that contains the home, by any request. It
// can delete the contents. An administrator can delete the home of another account.
func TestUserCannotDeleteOwnHome(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		l.User(t, "bob")
		me := callerID(alice)
		team := mkdir(admin, "/uploads", "team")
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me})
		admin.Put("/api/admin/users/"+me, M{"defaultPath": "/uploads/team/alice"}).OK(200)
		const home = "/uploads/team/alice"
		id := entryIDOf(admin, "/uploads/team", "alice")
		key, byDAV := alice.Key(M{"uploadPath": "/uploads"}), davKey(alice, M{"uploadPath": "/uploads"})
		file := alice.Upload(home, "f.txt", []byte("x"))
		other := mkdir(alice, "/uploads", "other")

		for whose, c := range map[string]*apptest.Client{"a session": alice, "a key": key} {
			for what, folder := range map[string]string{"the home": id, "a folder above": team} {
				wantStatus(t, whose+", "+what, c.Delete("/api/files/"+folder), 409, "OPERATION_FAILED")
				batch := c.Post("/api/files/batch", M{"action": "delete", "fileIds": []string{folder}}).OK(200)
				wantJSON(t, whose+", "+what+", in a batch", batch.Value("failed.0.code"), "OPERATION_FAILED")
			}
		}
		for _, path := range []string{home, home + "/", "/uploads/team"} {
			wantDAVStatus(t, "DELETE "+path, dav(byDAV, "DELETE", path, nil), 403)
		}
		wantDAVStatus(t, "MOVE over it", dav(byDAV, "MOVE", "/uploads/other", nil, "Destination", "/webdav"+home), 403)
		wantDAVStatus(t, "COPY over it", dav(byDAV, "COPY", "/uploads/other", nil, "Destination", "/webdav"+home), 403)
		alice.Get("/api/files/" + other).OK(200)
		wantBody(t, alice.Get(home+"/f.txt").OK(200), "x")

		alice.Delete("/api/files/" + file).OK(200)
		mkdir(alice, home, "sub")
		wantStatus(t, "an entry in it, by WebDAV", dav(byDAV, "DELETE", home+"/sub", nil), 204, "")
		wantStrings(t, "remaining entries", listNames(alice, home))
		alice.Put("/api/files/"+id, M{"name": "renamed"}).OK(200)
		wantStatus(t, "under another name", alice.Delete("/api/files/"+id), 409, "OPERATION_FAILED")
		admin.Delete("/api/files/" + entryIDOf(admin, "/home", "bob")).OK(200)
	})
}
