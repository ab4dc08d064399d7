package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

// withTrash switches the trash on, with the default retention.
func withTrash(c *config.Config) { c.TrashRetention = 30 * 24 * time.Hour }

// trashOf returns the items in the trash that a client lists.
func trashOf(t testing.TB, c *apptest.Client, query string) (items []M) {
	t.Helper()
	for _, item := range c.Get("/api/trash" + query).OK(200).Value("items").([]any) {
		items = append(items, item.(map[string]any))
	}
	return items
}

// Addition: the trash (docs/decisions.md, Trash).
func TestTrash(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob, admin := l.User(t, "alice"), l.User(t, "bob"), l.Admin(t)
		id := alice.Upload("/home/alice/Trip", "cat.png", []byte("meow"))
		share := shareEntry(alice, id, M{})
		link := alice.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		guest := l.Client(t)

		wantJSON(t, "a deletion", alice.Delete("/api/files/" + id + "?trash=true").OK(200).Object()["data"],
			M{"deleted": 1, "size": 4, "trashId": id})
		alice.Get("/api/files/"+id).Fails(404, "NOT_FOUND")
		guest.Get("/api/shares/"+share).Fails(404, "NOT_FOUND")
		if status := guest.Get(link).Status; status != 404 {
			t.Errorf("the link of a file in the trash: %d", status)
		}
		wantJSON(t, "used", alice.Get("/api/auth/me").OK(200).Value("quota.usedStorage"), 0)
		deleted := l.Clock.Now().UnixMilli()
		list := alice.Get("/api/trash").OK(200)
		wantJSON(t, "the trash", list.Object()["data"], M{"items": []any{M{"id": id, "name": "cat.png",
			"path": "/home/alice/Trip/cat.png", "type": "file", "size": 4, "files": 1, "deletedAt": deleted,
			"deletedBy": M{"id": callerID(alice), "username": "alice"}, "expiresAt": deleted + 30*24*3600*1000,
			"reason": "deleted"}}, "nextCursor": nil, "keptStorage": 4, "maxKept": 5 << 30})
		if items := trashOf(t, bob, ""); len(items) != 0 {
			t.Errorf("another account sees %v", items)
		}
		bob.Post("/api/trash/"+id+"/restore", M{}).Fails(404, "NOT_FOUND")
		bob.Delete("/api/trash/"+id).Fails(404, "NOT_FOUND")
		wantJSON(t, "bob empties the trash", bob.Delete("/api/trash").OK(200).Object()["data"], M{"jobId": nil})
		alice.Post("/api/trash/none/restore", M{}).Fails(404, "NOT_FOUND")
		alice.Post("/api/trash/"+id+"/restore", M{"conflict": "ask"}).Fails(400, "VALIDATION_ERROR")
		alice.Post("/api/trash/"+id+"/restore", M{"targetPath": "/home/alice/none"}).Fails(404, "NOT_FOUND")

		back := alice.Post("/api/trash/"+id+"/restore", M{}).OK(200)
		wantJSON(t, "the file", []any{back.Text("file.id"), back.Text("file.path"), back.Value("links")},
			[]any{id, "/home/alice/Trip", 1})
		guest.Get("/api/shares/" + share).OK(200)
		if status := guest.Get(link).Status; status != 200 {
			t.Errorf("the link after the restore: %d", status)
		}
		wantJSON(t, "used again", alice.Get("/api/auth/me").OK(200).Value("quota.usedStorage"), 4)

		alice.Delete("/api/files/" + id + "?trash=true").OK(200)
		wantJSON(t, "a purge", alice.Delete("/api/trash/" + id).OK(200).Object()["data"], M{"deleted": 1, "size": 4})
		alice.Post("/api/trash/"+id+"/restore", M{}).Fails(404, "NOT_FOUND")

		admin.Patch("/api/admin/settings", M{"trashDays": 0}).OK(200)
		other := alice.Upload("/home/alice", "dog.png", []byte("woof"))
		alice.Delete("/api/files/"+other+"?trash=true").Fails(409, "OPERATION_FAILED")
		alice.Get("/api/files/" + other).OK(200)
		admin.Patch("/api/admin/settings", M{"trashDays": 1, "trashAll": true}).OK(200)
		alice.Delete("/api/files/" + other).OK(200)
		l.Clock.Advance(24*time.Hour - time.Millisecond)
		l.Sweep()
		alice = l.SignIn(t, "alice", "password of alice")
		if items := trashOf(t, alice, ""); len(items) != 1 {
			t.Errorf("a millisecond before the end: %v", items)
		}
		l.Clock.Advance(time.Millisecond)
		l.Sweep()
		if items := trashOf(t, alice, ""); len(items) != 0 {
			t.Errorf("at the end: %v", items)
		}
	}, withTrash)
}

// A batch deletes into the trash as well; an entry in a folder of the batch comes back with that
// folder.
func TestTrashByBatch(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		box := mkdir(alice, "/home/alice", "box")
		inside := alice.Upload("/home/alice/box", "a.txt", []byte("a"))
		beside := alice.Upload("/home/alice", "b.txt", []byte("b"))
		reply := alice.Post("/api/files/batch", M{"action": "delete", "fileIds": []string{box, inside, beside},
			"trash": true}).OK(200)
		wantJSON(t, "succeeded", reply.Value("succeeded"), []string{box, inside, beside})
		wantJSON(t, "items", reply.Value("trashIds"), []string{box, beside})
		hard := alice.Upload("/home/alice", "c.txt", []byte("c"))
		reply = alice.Post("/api/files/batch", M{"action": "delete", "fileIds": []string{hard}}).OK(200)
		wantJSON(t, "items of a deletion for good", reply.Value("trashIds"), []string{})
		alice.Post("/api/trash/"+box+"/restore", M{}).OK(200)
		alice.Get("/api/files/" + inside).OK(200)
	}, withTrash)
}

// The limits of the list.
func TestTrashListInput(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", withTrash)
	alice := l.User(t, "alice")
	for n := range 3 {
		alice.Delete("/api/files/" + alice.Upload("/home/alice", fmt.Sprintf("F%d.txt", n), []byte("x")) + "?trash=true").OK(200)
	}
	for _, query := range []string{"?limit=0", "?limit=201", "?cursor=x", "?limit=x", "?path=relative"} {
		alice.Get("/api/trash"+query).Fails(400, "VALIDATION_ERROR")
	}
	for query, want := range map[string]int{"?limit=1": 1, "?limit=200": 3, "?search=f2": 1, "?search=none": 0,
		"?path=/home/alice": 3} {
		if items := trashOf(t, alice, query); len(items) != want {
			t.Errorf("%s: %d items, want %d", query, len(items), want)
		}
	}
	first := alice.Get("/api/trash?limit=2").OK(200)
	rest := trashOf(t, alice, "?cursor="+first.Text("nextCursor"))
	if len(rest) != 1 {
		t.Errorf("the second page has %d items", len(rest))
	}
	alice.Get("/api/trash?path=/home/bob").Fails(403, "FORBIDDEN")
}

// Administrators see how much the trash keeps of each account, bound it, and empty it.
func TestTrashOfOthers(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, admin := l.User(t, "alice", M{"maxStorage": 1000}), l.Admin(t)
		user := func() *apptest.Reply { return admin.Get("/api/admin/users?search=alice").OK(200) }
		wantKept := func(what string, kept, most int) {
			t.Helper()
			r := user()
			wantJSON(t, what, []any{r.Value("users.0.keptStorage"), r.Value("users.0.maxKept")}, []any{kept, most})
		}
		id := callerID(alice)
		for _, name := range []string{"a", "b"} {
			alice.Delete("/api/files/" + alice.Upload("/home/alice", name, []byte("1234")) + "?trash=true").OK(200)
		}
		wantKept("half of the storage limit", 8, 500)
		for _, bound := range []any{-2, 1.5, "x"} {
			updateUser(admin, id, M{"maxKept": bound}).Fails(400, "VALIDATION_ERROR")
		}
		updateUser(admin, id, M{"maxKept": -1}).OK(200)
		wantKept("no bound", 8, -1)
		r := updateUser(admin, id, M{"maxKept": 7}).OK(200)
		wantJSON(t, "the reply", []any{r.Value("user.keptStorage"), r.Value("user.maxKept")}, []any{8, 7})
		l.Sweep()
		wantKept("the oldest file is gone", 4, 7)
		r = updateUser(admin, id, M{"maxKept": nil, "maxStorage": 10}).OK(200)
		wantJSON(t, "the default", r.Value("user.maxKept"), 5)
		r = updateUser(admin, id, M{"maxStorage": -1}).OK(200)
		wantJSON(t, "the default without a limit", r.Value("user.maxKept"), 100<<30)
		updateUser(admin, id, M{"maxKept": 9}).OK(200)
		r = updateUser(admin, id, M{"maxStorage": 10}).OK(200)
		wantJSON(t, "a bound stays", r.Value("user.maxKept"), 9)
		updateUser(admin, id, M{"maxKept": 4}).OK(200)
		l.Sweep()
		wantKept("as much as the bound stays", 4, 4)
		large := alice.Upload("/home/alice", "large", []byte("12345"))
		alice.Delete("/api/files/"+large+"?trash=true").Fails(409, "OPERATION_FAILED")
		alice.Get("/api/files/" + large).OK(200)

		trash := "/api/admin/users/" + id + "/trash"
		alice.Delete(trash).Fails(403, "FORBIDDEN")
		admin.Delete("/api/admin/users/none/trash").Fails(404, "NOT_FOUND")
		wantJSON(t, "emptied", admin.Delete(trash).OK(200).Object()["data"], M{"jobId": nil})
		wantKept("nothing", 0, 4)
		if items := trashOf(t, alice, ""); len(items) != 0 {
			t.Errorf("left: %v", items)
		}
		l.FlushLog()
		logged := 0
		for _, e := range accessLogs(t, l, admin, "&action=admin") {
			if e.Path == trash && e.StatusCode == 200 {
				logged++
			}
		}
		wantJSON(t, "how often the log has it", logged, 1)
		purges := fmt.Sprint(accessLogs(t, l, admin, "&action=purge"))
		if want := "[admin purge /api/admin/users/alice/trash 0 200 1]"; purges != want {
			t.Errorf("the log has the purges %s, want %s", purges, want)
		}

		wantJSON(t, "days", alice.Get("/api/users/me/settings").OK(200).Value("trashDays"), 30)
		for days, status := range map[any]int{-1: 400, 366: 400, 1.5: 400, 365: 200, 0: 200} {
			if got := admin.Patch("/api/admin/settings", M{"trashDays": days}).Status; got != status {
				t.Errorf("%v days: %d, want %d", days, got, status)
			}
		}
		admin.Patch("/api/admin/settings", M{"trashDays": 0}).OK(200)
		wantJSON(t, "days", alice.Get("/api/users/me/settings").OK(200).Value("trashDays"), 0)
	}, withTrash)
}

// The trash of a deleted account passes to the administrator who gets its files.
func TestDeletedAccountsTrashPassesOn(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, admin := l.User(t, "alice"), l.Admin(t)
		id := alice.Upload("/home/alice", "a.txt", []byte("1234"))
		alice.Delete("/api/files/" + id + "?trash=true").OK(200)
		expires := trashOf(t, alice, "")[0]["expiresAt"]
		admin.Delete("/api/admin/users/" + callerID(alice)).OK(200)
		list := admin.Get("/api/trash").OK(200)
		wantJSON(t, "the trash", []any{list.Value("items.0.id"), list.Value("items.0.expiresAt"),
			list.Value("items.0.deletedBy.username"), list.Value("keptStorage")}, []any{id, expires, "", 4})
		admin.Post("/api/trash/"+id+"/restore", M{}).OK(200)
		wantJSON(t, "its owner", admin.Get("/api/files/"+id).OK(200).Value("file.ownerId"), callerID(admin))
	}, withTrash)
}
