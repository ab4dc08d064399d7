package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// An entry that a rule hides from a search stays hidden when it has a password too, and a found
// entry is returned once.
func TestSearchWithPasswords(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		denied := admin.Upload("/public", "find denied.txt", []byte("x"))
		named := admin.Upload("/public", "find named.txt", []byte("x"))
		shut := mkdir(admin, "/public", "find shut")
		admin.Upload("/public/find shut", "find below.txt", []byte("x"))
		addRule(admin, M{"pathPattern": "/public/find denied.txt", "effect": "deny", "role": "user"})
		addRule(admin, M{"pathPattern": "/public/find named.txt", "effect": "allow", "role": "user",
			"permissions": []string{"read", "share"}})
		for _, id := range []string{denied, named, shut} {
			setAccessPassword(admin, id, "open sesame")
		}
		wantStrings(t, "alice finds", listNames(alice, "/public", "search", "FIND"), "find shut", "find named.txt")
		verifyPassword(alice, shut, "open sesame").OK(200)
		wantStrings(t, "alice finds with the password", listNames(alice, "/public", "search", "find"), "find shut",
			"find below.txt", "find named.txt")
	})
}

// A user with write permission may create the virtual folder above another user's mount. Only
// administrators may set its password.
func TestPasswordsAboveMounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		store := addProvider(admin, "team")
		addMount(admin, store, "/uploads/team/photos")
		addRule(admin, M{"pathPattern": "/uploads/team/photos/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read", "download"}})
		admin.Upload("/uploads/team/photos", "p.txt", []byte("everybody's"))
		visitor := l.Client(t)
		open := func(what string) {
			t.Helper()
			wantBody(t, visitor.Get("/uploads/team/photos/p.txt").OK(200), "everybody's")
		}
		team := mkdir(alice, "/uploads", "team") // with the name of the virtual folder
		alice.Put("/api/files/"+team, M{"accessPassword": "mine now"}).Fails(403, "FORBIDDEN")
		alice.Put("/api/files/"+team, M{"customTitle": "Team", "accessPassword": "mine now"}).Fails(403, "FORBIDDEN")
		open("after alice's tries")
		alice.Put("/api/files/"+team, M{"customTitle": "Team"}).OK(200)

		// nor by moving a folder with a password to the name
		brought := mkdir(alice, "/uploads", "brought")
		setAccessPassword(alice, brought, "mine now")
		admin.Upload("/uploads/other", "p.txt", []byte("x"))
		addMount(admin, store, "/uploads/club/disk")
		alice.Put("/api/files/"+brought, M{"name": "club"}).Fails(409, "ALREADY_EXISTS")
		admin.Post("/api/files/"+brought+"/move", M{"targetPath": "/uploads", "newName": "club"}).
			Fails(409, "OPERATION_FAILED")

		// an administrator may, and its owner does not open it then
		setAccessPassword(admin, team, "the team's")
		wantStatus(t, "below the administrator's", visitor.Get("/uploads/team/photos/p.txt"), 403, "PASSWORD_REQUIRED")
		for _, password := range []any{nil, "mine now"} {
			alice.Put("/api/files/"+team, M{"accessPassword": password}).Fails(403, "FORBIDDEN")
		}
		unlock(visitor, "/uploads/team", "the team's")
		wantBody(t, visitor.Get(unlock(visitor, "/uploads/team/photos/p.txt",
			"the team's").OK(200).Text("url")).OK(200), "everybody's")
		setAccessPassword(admin, team, nil)
		open("without")

		// a folder that had a password before something was mounted below
		own := mkdir(alice, "/home/alice", "own")
		setAccessPassword(alice, own, "mine")
		mounted := addMount(admin, store, "/home/alice/own/disk")
		alice.Put("/api/files/"+own, M{"accessPassword": nil}).Fails(403, "FORBIDDEN")
		admin.Delete("/api/admin/mounts/" + mounted).OK(200)
		alice.Put("/api/files/"+own, M{"accessPassword": nil}).OK(200)
	})
}

// No change of a mount removes a password from the entries that it covers.
func TestMountsKeepPasswords(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		store := addProvider(admin, "second")
		over := addMount(admin, store, "/public/over")
		vault := mkdir(admin, "/public/over", "vault")
		disk := addMount(admin, store, "/public/over/vault/disk")
		deep := addMount(admin, store, "/public/over/vault/disk/a/deep")
		empty := addMount(admin, store, "/public/over/vault/empty")
		admin.Upload("/public/over/vault/disk/a/deep", "f.txt", []byte("content"))
		path := "/public/over/vault/disk/a/deep/f.txt"
		wantBody(t, visitor.Get(path).OK(200), "content")
		setAccessPassword(admin, vault, "open sesame")
		put := func(id string, body M) *apptest.Reply { return admin.Put("/api/admin/mounts/"+id, body) }
		refused := func(what string, r *apptest.Reply) {
			t.Helper()
			wantStatus(t, what, r, 409, "OPERATION_FAILED")
			wantStatus(t, "after: "+what, visitor.Get(path), 403, "PASSWORD_REQUIRED")
		}
		refused("out of the folder", put(deep, M{"mountPath": "/public/deep"}))
		refused("the one over it, out of the folder", put(disk, M{"mountPath": "/public/disk", "priority": 3}))
		refused("the parent folder, moved", put(over, M{"mountPath": "/elsewhere"}))
		refused("the parent folder, deleted", admin.Delete("/api/admin/mounts/"+over))
		refused("another over the folder", admin.Post("/api/admin/mounts",
			M{"providerId": store, "mountPath": "/public/over/vault", "name": "m"}))
		refused("another over all of it", admin.Post("/api/admin/mounts",
			M{"providerId": store, "mountPath": "/public/over", "name": "m", "priority": 5}))
		// it covers a mount, whose entries keep their passwords
		hiding := addMount(admin, store, "/public/over/vault/disk/a/deep", M{"priority": 7})
		wantStatus(t, "a covered mount, moved", put(deep, M{"mountPath": "/public/deep"}), 409,
			"OPERATION_FAILED")
		admin.Delete("/api/admin/mounts/" + hiding).OK(200)

		// changes without effect on passwords
		put(disk, M{"priority": 3, "name": "other", "mountPath": "/public/over/vault/moved"}).OK(200)
		put(disk, M{"priority": 0, "mountPath": "/public/over/vault/disk"}).OK(200)
		admin.Delete("/api/admin/mounts/" + empty).OK(200)
		addMount(admin, store, "/public/over/vault/empty")
		addMount(admin, store, "/public/beside")
		wantStatus(t, "all the same", visitor.Get(path), 403, "PASSWORD_REQUIRED")

		// a password of the mount's root moves with it
		root := listFolder(admin, "/public/over/vault/disk/a/deep").OK(200).Text("folder.id")
		setAccessPassword(admin, root, "its own")
		put(deep, M{"mountPath": "/public/deep"}).OK(200)
		wantStatus(t, "elsewhere, with its own", visitor.Get("/public/deep/f.txt"), 403, "PASSWORD_REQUIRED")
		setAccessPassword(admin, root, nil)
		wantBody(t, visitor.Get("/public/deep/f.txt").OK(200), "content")
		put(deep, M{"mountPath": "/public/over/vault/disk/a/deep"}).OK(200)
		setAccessPassword(admin, vault, nil)
		put(deep, M{"mountPath": "/public/deep"}).OK(200)
		wantBody(t, visitor.Get("/public/deep/f.txt").OK(200), "content")
	})
}
