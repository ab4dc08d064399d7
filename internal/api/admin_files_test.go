package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestAdminFiles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		found := func(query string) string {
			t.Helper()
			r := admin.In(t).Get("/api/admin/files?" + query).OK(200)
			items, _ := r.Value("items").([]any)
			var names []string
			for _, item := range items {
				o := item.(map[string]any)
				name := strings.TrimSuffix(o["path"].(string), "/") + "/" + o["name"].(string)
				if o["type"] == "folder" {
					name += "/"
				}
				names = append(names, name)
			}
			return strings.Join(names, " ")
		}
		expect := func(query, want string) {
			t.Helper()
			if got := found(query); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		began := l.Clock.Now().UnixMilli()
		next := func() { l.Clock.Advance(time.Millisecond) }
		mkdir(alice, "/home/alice", "Neu needle")
		next()
		id := alice.Upload("/home/alice/Neu needle", "NEEDLE 1%.jpg", []byte("12345"))
		next()
		alice.Upload("/home/alice", "needle_2.txt", []byte("1"))
		next()
		admin.Upload("/public", "needle 3", []byte("1"))
		expect("search=Needle",
			"/home/alice/Neu needle/ /public/needle 3 /home/alice/needle_2.txt /home/alice/Neu needle/NEEDLE 1%.jpg")
		// abuse case C18
		expect("search=%25", "/home/alice/Neu needle/NEEDLE 1%.jpg")
		expect("search=_", "/home/alice/needle_2.txt")
		expect("search=*", "")
		expect("search=nowhere", "")
		expect("search=needle&limit=1&page=2", "/public/needle 3")
		expect("search=needle&limit=3&page=2", "/home/alice/Neu needle/NEEDLE 1%.jpg")
		expect("search=needle&limit=3&page=3", "")

		user := callerID(alice)
		wantJSON(t, "a file", admin.Get("/api/admin/files?search=1%25").OK(200).Value("items"), []any{M{
			"id": id, "name": "NEEDLE 1%.jpg", "path": "/home/alice/Neu needle", "type": "file", "size": 5,
			"mimeType": "image/jpeg", "hasPassword": false, "ownerId": user, "username": "alice", "ownerAvatar": nil,
			"createdAt": began + 1, "updatedAt": began + 1,
		}})
		folder, _ := admin.Get("/api/admin/files?search=neu").OK(200).Value("items.0").(map[string]any)
		wantFields(t, "a folder", folder, "id", "name", "path", "type", "size", "hasPassword", "ownerId", "username",
			"ownerAvatar", "createdAt", "updatedAt")
		wantJSON(t, "of a folder", []any{folder["size"], folder["type"]}, []any{0, "folder"})
		wantJSON(t, "pages", admin.Get("/api/admin/files?search=needle&limit=3").OK(200).Value("pagination"),
			M{"total": 4, "page": 1, "limit": 3, "pages": 2})
		// everything: home, alice's home, public, uploads, the folder, three files
		wantJSON(t, "without a search", admin.Get("/api/admin/files").OK(200).Value("pagination"),
			M{"total": 8, "page": 1, "limit": 20, "pages": 1})
		expect("limit=1&page=6", "/public/needle 3") // the newest of the files

		// passwords and rules hide no names from administrators
		alice.Put("/api/files/"+id, M{"accessPassword": "open sesame"}).OK(200)
		alice.Put("/api/files/"+folder["id"].(string), M{"accessPassword": "open sesame"}).OK(200)
		rule := admin.Post("/api/admin/rules", M{"pathPattern": "/home/**", "effect": "deny", "role": "admin"}).OK(201).
			Text("rule.id")
		if r := admin.Get("/api/files?path=/&search=needle").OK(200); r.Int("pagination.total") != 1 {
			t.Errorf("the rule does not deny administrators: %s", r.Body)
		}
		expect("search=1%25", "/home/alice/Neu needle/NEEDLE 1%.jpg")
		admin.Delete("/api/admin/rules/" + rule).OK(200)
	})
}

func TestAdminFilesAcrossMounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		store := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
		total := func(what, search string, want int64) {
			t.Helper()
			if n := admin.In(t).Get("/api/admin/files?search=" + search).OK(200).Int("pagination.total"); n != want {
				t.Errorf("%s: %d found, want %d", what, n, want)
			}
		}
		mkdir(admin, "/public", "shadow")
		admin.Upload("/public/shadow", "needle a", []byte("x"))
		total("before", "needle", 1)
		mount := addMount(admin, store, "/public/shadow")
		total("covered", "needle", 0)
		admin.Upload("/public/shadow", "needle b", []byte("x"))
		total("in the mount", "needle", 1)
		total("its root", "shadow", 1)
		hidden := admin.Post("/api/admin/mounts",
			M{"providerId": store, "mountPath": "/public/shadow", "name": "above", "priority": 5}).OK(201).
			Text("mount.id")
		total("a mount that is hidden", "needle", 0)
		admin.Delete("/api/admin/mounts/" + hidden).OK(200)
		total("shown again", "needle", 1)
		file, _ := admin.Get("/api/admin/files?search=needle").OK(200).Value("items.0.id").(string)
		admin.Delete("/api/files/" + file).OK(200)
		admin.Delete("/api/admin/mounts/" + mount).OK(200)
		total("uncovered", "needle", 1)
		for _, e := range admin.Get("/api/files?path=/public").OK(200).Value("items").([]any) {
			admin.Delete("/api/files/" + e.(map[string]any)["id"].(string)).OK(200)
		}
		total("in a folder that was deleted", "needle", 0)
		total("only the entries of a first start", "", 3)

		for query, ok := range map[string]bool{
			"limit=1": true, "limit=100": true, "limit=0": false, "limit=101": false, "limit=x": false, "page=0": false,
			"page=1000000000": true, "page=1000000001": false, "page=-1": false,
			"search=" + strings.Repeat("x", 255): true, "search=" + strings.Repeat("x", 256): false,
			"search=%00": false, "search=%ff": false, "search=" + strings.Repeat("%25", 255): true,
		} {
			r := admin.Get("/api/admin/files?" + query)
			if ok {
				r.OK(200)
			} else {
				r.Fails(400, "VALIDATION_ERROR")
			}
		}
	})
}
