package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Specification: GET /api/shares/.
func TestListShares(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		empty := alice.Get("/api/shares/").OK(200)
		wantFields(t, "data", empty.Object()["data"], "items", "pagination")
		wantJSON(t, "items of nothing", empty.Value("items"), []string{})
		wantJSON(t, "pagination of nothing", empty.Value("pagination"),
			M{"total": 0, "page": 1, "limit": 20, "pages": 0})

		dir := mkdir(alice, "/home/alice", "pics")
		file := alice.Upload("/home/alice/pics", "cat.png", []byte("meow"))
		var ids []string
		add := func(more M) string {
			l.Clock.Advance(time.Second)
			ids = append(ids, shareEntry(alice, file, more))
			return ids[len(ids)-1]
		}
		for range 3 {
			add(nil)
		}
		ending := add(M{"expiresIn": 60, "title": "ends", "maxViews": 5, "maxDownloads": 6, "allowPreview": false,
			"password": "x"})
		gone := add(nil)
		alice.Delete("/api/shares/" + gone).OK(200)
		both := add(M{"expiresIn": 60})
		alice.Delete("/api/shares/" + both).OK(200)
		shareEntry(bob, bob.Upload("/home/bob", "b.txt", []byte("x")))
		list := func(query string) *apptest.Reply { return alice.Get("/api/shares/" + query).OK(200) }
		listed := func(what string, r *apptest.Reply, total int, want ...string) {
			t.Helper()
			var have []string
			for i := 0; r.Value(fmt.Sprintf("items.%d.id", i)) != nil; i++ {
				have = append(have, r.Text(fmt.Sprintf("items.%d.id", i)))
			}
			wantJSON(t, what, have, want)
			wantJSON(t, what+": total", r.Value("pagination.total"), total)
		}
		created := l.Clock.Now().UnixMilli()
		item := list("?page=3&limit=1").Value("items.0")
		wantFields(t, "an item", item, "id", "url", "title", "file", "expiresAt", "viewCount", "downloadCount",
			"maxViews", "maxDownloads", "allowPreview", "allowDownload",
			"requiresPassword", "status", "createdAt", "hasPassword", "updatedAt") // the last two are additions
		wantJSON(t, "the item", item, M{
			"id": ending, "url": "http://larder.test/share/" + ending, "title": "ends",
			"file": M{"id": file, "name": "cat.png", "path": "/home/alice/pics", "type": "file", "size": 4,
				"mimeType": "image/png"}, // the last is an addition
			"expiresAt": created + 58000, "viewCount": 0, "downloadCount": 0, "maxViews": 5, "maxDownloads": 6,
			"allowPreview": false, "allowDownload": true,
			"requiresPassword": true, "hasPassword": true, "status": "active", "createdAt": created - 2000,
			"updatedAt": created - 2000,
		})
		wantJSON(t, "the title of one without", list("?status=active&page=2&limit=1").Value("items.0.title"), "cat.png")
		listed("all", list(""), 6, both, gone, ending, ids[2], ids[1], ids[0])
		listed("active ones", list("?status=active"), 4, ending, ids[2], ids[1], ids[0])
		listed("none has expired", list("?status=expired"), 0)
		l.Clock.Advance(time.Minute)
		listed("active ones later", list("?status=active"), 3, ids[2], ids[1], ids[0])
		listed("one has expired", list("?status=expired"), 1, ending)
		listed("revoked ones", list("?status=revoked"), 2, both, gone)
		wantJSON(t, "status of the expired", list("?status=expired").Value("items.0.status"), "expired")
		wantJSON(t, "status after both", list("?status=revoked").Value("items.0.status"), "revoked")
		listed("a page", list("?page=2&limit=2"), 6, ending, ids[2])
		wantJSON(t, "pagination", list("?page=2&limit=4").Value("pagination"),
			M{"total": 6, "page": 2, "limit": 4, "pages": 2})
		listed("beyond the last page", list("?page=4&limit=2"), 6)
		list("?limit=100")
		for _, query := range []string{"?page=0", "?page=-1", "?page=x", "?limit=0", "?limit=101", "?limit=-1",
			"?status=deleted", "?status=ACTIVE", "?page=1000000001"} {
			wantStatus(t, query, alice.Get("/api/shares/"+query), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "a visitor", l.Client(t).Get("/api/shares/"), 401, "UNAUTHORIZED")

		alice.Delete("/api/files/" + dir).OK(200)
		after := list("?status=active")
		listed("of a deleted file", after, 3, ids[2], ids[1], ids[0])
		wantJSON(t, "file", after.Value("items.0.file"), nil)
		wantJSON(t, "title", after.Value("items.0.title"), "")
		l.Sweep()
		l.Sweep()
		listed("swept", list(""), 0)
	})
}

// The shares of one file or folder: an addition to the list.
func TestListSharesOfFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		dir := mkdir(alice, "/home/alice", "pics")
		file := alice.Upload("/home/alice/pics", "cat.png", []byte("meow"))
		unshared := alice.Upload("/home/alice/pics", "dog.png", []byte("woof"))
		first := shareEntry(alice, file)
		l.Clock.Advance(time.Second)
		ofFolder := shareEntry(alice, dir)
		l.Clock.Advance(time.Second)
		second := shareEntry(alice, file)
		alice.Delete("/api/shares/" + first).OK(200)
		l.Clock.Advance(time.Second)
		byAdmin := shareEntry(admin, file)
		listed := func(what string, c *apptest.Client, query string, want ...string) {
			t.Helper()
			r := c.Get(query).OK(200)
			have := []string{}
			for i := 0; r.Value(fmt.Sprintf("items.%d.id", i)) != nil; i++ {
				have = append(have, r.Text(fmt.Sprintf("items.%d.id", i)))
			}
			wantJSON(t, what, have, append([]string{}, want...))
			wantJSON(t, what+": total", r.Value("pagination.total"), len(want))
		}
		listed("of a file", alice, "/api/shares/?fileId="+file, second, first)
		listed("of a file, of all users", admin, "/api/admin/shares?limit=100&fileId="+file, byAdmin, second, first)
		listed("active ones of a file", alice, "/api/shares/?status=active&fileId="+file, second)
		listed("revoked ones of a file", alice, "/api/shares/?status=revoked&fileId="+file, first)
		listed("of a folder, without those in it", alice, "/api/shares/?fileId="+dir, ofFolder)
		listed("of a file without shares", alice, "/api/shares/?fileId="+unshared)
		listed("of somebody else's file", bob, "/api/shares/?fileId="+file)
		listed("a caller's own of somebody else's file", admin, "/api/shares/?fileId="+file, byAdmin)
		listed("of no file", alice, "/api/shares/?fileId=nothing")
		listed("of the longest id", alice, "/api/shares/?fileId="+strings.Repeat("x", 255))
		listed("without an id", alice, "/api/shares/?fileId=", second, ofFolder, first)
		page := alice.Get("/api/shares/?limit=1&page=2&fileId=" + file).OK(200)
		wantJSON(t, "the second page", page.Value("items.0.id"), first)
		wantJSON(t, "pagination", page.Value("pagination"), M{"total": 2, "page": 2, "limit": 1, "pages": 2})
		for _, bad := range []string{strings.Repeat("x", 256), "%00", "%ff"} {
			wantStatus(t, bad, alice.Get("/api/shares/?fileId="+bad), 400, "VALIDATION_ERROR")
		}
	})
}

// The creator's own list does not reveal files that the creator may not see any more.
func TestListSharesOfUnreadableFiles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		file := admin.Upload("/uploads", "a.txt", []byte("x"))
		rule := addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": callerID(alice),
			"permissions": []string{"read", "share", "download"}})
		shareEntry(alice, file)
		wantJSON(t, "name", alice.Get("/api/shares/").OK(200).Value("items.0.file.name"), "a.txt")
		admin.Delete("/api/admin/rules/" + rule).OK(200)
		admin.Put("/api/files/"+file, M{"name": "secret.txt"}).OK(200)
		after := alice.Get("/api/shares/").OK(200)
		wantJSON(t, "file", after.Value("items.0.file"), nil)
		wantJSON(t, "title", after.Value("items.0.title"), "")
		wantJSON(t, "an administrator's list", admin.Get("/api/admin/shares").OK(200).Value("items.0.file.name"),
			"secret.txt")
	})
}

// Specification: GET /api/admin/shares, DELETE /api/admin/shares/{id}.
func TestAdminShares(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		first := shareEntry(alice, alice.Upload("/home/alice", "a.txt", []byte("x")), M{"password": "x", "maxViews": 5})
		l.Clock.Advance(time.Second)
		second := shareEntry(bob, bob.Upload("/home/bob", "b.txt", []byte("xy")), M{"title": "bob's", "expiresIn": 60})
		list := admin.Get("/api/admin/shares").OK(200)
		wantFields(t, "data", list.Object()["data"], "items", "pagination")
		wantJSON(t, "pagination", list.Value("pagination"), M{"total": 2, "page": 1, "limit": 20, "pages": 1})
		wantFields(t, "an item", list.Value("items.0"), "id", "title", "creatorId", "status",
			// additions
			"creatorName", "creatorAvatar", "url", "file", "expiresAt", "viewCount", "downloadCount", "maxViews", "maxDownloads",
			"hasPassword", "createdAt")
		for at, want := range map[string]any{
			"0.id": second, "0.title": "bob's", "0.creatorId": callerID(bob), "0.creatorName": "bob",
			"0.status": "active", "0.hasPassword": false, "0.file.path": "/home/bob",
			"1.id": first, "1.title": "a.txt", "1.creatorId": callerID(alice), "1.maxViews": 5, "1.hasPassword": true,
		} {
			wantJSON(t, at, list.Value("items."+at), want)
		}
		wantJSON(t, "a page", admin.Get("/api/admin/shares?page=2&limit=1").OK(200).Value("items.0.id"), first)
		tooLong := "?search=" + strings.Repeat("x", 256)
		for _, query := range []string{"?page=0", "?limit=0", "?limit=101", "?status=x", tooLong} {
			wantStatus(t, query, admin.Get("/api/admin/shares"+query), 400, "VALIDATION_ERROR")
		}
		for search, want := range map[string][]string{
			"A.TXT": {first}, "b.t": {second}, "Bob%27s": {second}, "bob": {second}, "ALICE": {first}, ".txt": {second, first},
			".txt&page=2&limit=1": {first}, ".txt&status=revoked": {}, "%25": {}, tooLong[len("?search=x"):]: {},
		} {
			found := []string{}
			list := admin.Get("/api/admin/shares?search=" + search).OK(200)
			for i := range list.Value("items").([]any) {
				found = append(found, list.Text(fmt.Sprintf("items.%d.id", i)))
			}
			if !slices.Equal(found, want) {
				t.Errorf("search %s: got %v, want %v", search, found, want)
			}
		}

		for range 2 {
			wantJSON(t, "data", admin.Delete("/api/admin/shares/" + first).OK(200).Object()["data"], nil)
		}
		wantStatus(t, "no such share", admin.Delete("/api/admin/shares/abcdefghijkl"), 404, "NOT_FOUND")
		wantStatus(t, "revoked", visitShare(l.Client(t), first), 410, "SHARE_REVOKED")
		wantJSON(t, "alice's list", alice.Get("/api/shares/?status=revoked").OK(200).Value("items.0.id"), first)
		l.Clock.Advance(time.Minute)
		for what, want := range map[string]string{"revoked": first, "expired": second} {
			r := admin.Get("/api/admin/shares?status=" + what).OK(200)
			wantJSON(t, what, r.Value("items.0.id"), want)
			wantJSON(t, what+": total", r.Value("pagination.total"), 1)
		}
		wantJSON(t, "none is active", admin.Get("/api/admin/shares?status=active").OK(200).Value("items"), []string{})
	})
}

// Changes of shares are in the access log with the path of the file. Views are not.
func TestSharesInTheLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		id := shareEntry(alice, alice.Upload("/home/alice", "a.txt", []byte("x")))
		l.Clock.Advance(time.Second)
		alice.Patch("/api/shares/"+id, M{"title": "x"}).OK(200)
		visitShare(l.Client(t), id).OK(200)
		l.Clock.Advance(time.Second)
		alice.Delete("/api/shares/" + id).OK(200)
		l.FlushLog()
		logs := l.Admin(t).Get("/api/admin/logs?action=share").OK(200)
		wantJSON(t, "how many", logs.Value("pagination.total"), 3)
		for i, want := range []int{200, 200, 201} {
			at := fmt.Sprintf("logs.%d.", i)
			wantJSON(t, "path", logs.Value(at+"path"), "/home/alice/a.txt")
			wantJSON(t, "statusCode", logs.Value(at+"statusCode"), want)
			wantJSON(t, "username", logs.Value(at+"username"), "alice")
		}
	})
}
