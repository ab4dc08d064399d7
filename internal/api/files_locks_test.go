package api_test

import (
	"net/netip"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/apptest"
	"larder/internal/files"
	"larder/internal/vpath"
)

// The web UI and the API refuse changes of entries that a WebDAV client has locked, with a
// sentence. The lock ends when its key is revoked, when the key's owner is deleted, or when it
// expires.
func TestWebDAVLockRefusesOtherChanges(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		dir := alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "dir"}).OK(201).Text("file.id")
		f := alice.Upload("/home/alice/dir", "f", []byte("one"))
		other := alice.Upload("/home/alice", "g", []byte("two"))
		user := userIDOf(t, l.Admin(t), "alice")
		var home string
		if err := l.Apps[0].DB.Read(t.Context()).QueryRow("SELECT home_id FROM users WHERE id = $1", user).
			Scan(&home); err != nil {
			t.Fatal(err)
		}
		made := alice.Post("/api/keys/", newKey(M{"permissions": []string{"read", "write", "delete"},
			"protocols": []string{"api", "webdav"}, "uploadPath": "/home/alice"})).OK(201)
		locked := func(key, id string) {
			t.Helper()
			a := access.Actor{UserID: user, Role: access.User, HomeID: home, IP: netip.MustParseAddr("192.0.2.1"),
				Key: &access.Key{ID: key, Permissions: access.All, Root: vpath.Root}}
			if _, err := l.Apps[0].Tree.Lock(t.Context(), a, id, files.WriteLock{Exclusive: true, Deep: true},
				time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		key := made.Text("key.id")
		locked(key, dir)
		byKey := l.Client(t)
		byKey.Header.Set("Authorization", "Bearer "+made.Text("key.fullToken"))
		for _, c := range []*apptest.Client{alice, byKey} {
			c.Delete("/api/files/"+f).Fails(409, "OPERATION_FAILED")
			c.Delete("/api/files/"+dir).Fails(409, "OPERATION_FAILED")
			c.Put("/api/files/"+f, M{"name": "new"}).Fails(409, "OPERATION_FAILED")
			c.Put("/api/files/"+f, M{"customTitle": "new"}).Fails(409, "OPERATION_FAILED")
			c.Post("/api/files/folder", M{"path": "/home/alice/dir", "name": "sub"}).Fails(409, "OPERATION_FAILED")
			c.Post("/api/files/"+f+"/move", M{"targetPath": "/home/alice"}).Fails(409, "OPERATION_FAILED")
			c.Post("/api/files/"+other+"/move", M{"targetPath": "/home/alice/dir"}).Fails(409, "OPERATION_FAILED")
			c.Post("/api/files/"+other+"/copy", M{"targetPath": "/home/alice/dir"}).Fails(409, "OPERATION_FAILED")
			for _, conflict := range []string{"replace", "rename"} {
				session := c.Post("/api/files/upload-session",
					M{"path": "/home/alice/dir", "fileName": "f", "fileSize": 3, "conflict": conflict}).OK(200).
					Text("sessionId")
				etag := c.Put("/api/files/upload/raw/"+session, []byte("new")).OK(200).Text("etag")
				c.Post("/api/files/upload-complete", M{"sessionId": session, "etag": etag}).
					Fails(409, "OPERATION_FAILED")
			}
			wantOutcomes(t, "delete", postBatch(c, "delete", []string{f}), []string{}, [2]string{f, "OPERATION_FAILED"})
			wantOutcomes(t, "move", postBatch(c, "move", []string{f}, "/home/alice"), []string{},
				[2]string{f, "OPERATION_FAILED"})
			c.Get("/api/files/" + f).OK(200)
			c.Get("/api/files/" + f + "/download").OK(200)
		}
		alice.Delete("/api/keys/" + key).OK(200)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM locks"); n != 0 {
			t.Errorf("%d locks of a key that was revoked", n)
		}
		alice.Put("/api/files/"+f, M{"customTitle": "new"}).OK(200)

		locked("pk_expired", f)
		l.Clock.Advance(time.Hour)
		alice.Put("/api/files/"+f, M{"customTitle": "newer"}).OK(200)
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM locks"); n != 0 {
			t.Errorf("%d expired locks", n)
		}
		locked(alice.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id"), f)
		l.Admin(t).Delete("/api/admin/users/" + user).OK(200)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM locks"); n != 0 {
			t.Errorf("%d locks of a deleted account", n)
		}
	})
}
