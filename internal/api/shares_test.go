package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

var shareID = regexp.MustCompile(`^[A-Za-z0-9]{12}$`)

var shareFields = []string{
	"id", "title", "creatorName", "kind", "fileKind", "file", "allowPreview", "allowDownload", "expiresAt",
	"requiresPassword", "viewCount", "maxViews", "downloadCount", "maxDownloads",
}

// Specification: Share endpoints, POST and GET /api/shares/{id}.
func TestShare(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		file := alice.Upload("/home/alice", "cat.png", []byte("meow"))
		made := alice.Post("/api/shares/", M{"fileId": file}).OK(201)
		wantFields(t, "data", made.Object()["data"], "share")
		wantFields(t, "share", made.Value("share"), "id", "url", "expiresAt", "createdAt", "passwordProtected",
			"allowPreview", "allowDownload")
		id := made.Text("share.id")
		if !shareID.MatchString(id) {
			t.Errorf("the id is %s", id)
		}
		now := l.Clock.Now().UnixMilli()
		for field, want := range (M{
			"url": "http://larder.test/share/" + id, "expiresAt": nil, "createdAt": now, "passwordProtected": false,
			"allowPreview": true, "allowDownload": true,
		}) {
			wantJSON(t, field, made.Value("share."+field), want)
		}

		first := visitShare(visitor, id).OK(200)
		wantFields(t, "data of the visit", first.Object()["data"], "share")
		wantFields(t, "the visited share", first.Value("share"), shareFields...)
		wantJSON(t, "share", first.Value("share"), M{
			"id": id, "title": "cat.png", "creatorName": "alice", "kind": "file", "fileKind": "image",
			"file": M{"id": file, "name": "cat.png", "path": "/", "type": "file", "size": 4,
				"mimeType": "image/png"},
			"allowPreview": true, "allowDownload": true, "expiresAt": nil, "requiresPassword": false, "viewCount": 1,
			"maxViews": nil, "downloadCount": 0, "maxDownloads": nil,
		})
		wantJSON(t, "the second view", visitShare(visitor, id).OK(200).Value("share.viewCount"), 2)
		wantStatus(t, "HEAD", visitor.Head("/api/shares/"+id), 200, "")
		for what, c := range map[string]*apptest.Client{
			"a stale cookie": withCookie(l.Client(t), "auth_token", "junk"), "the creator": alice,
			"a key": alice.Key(M{}),
		} {
			wantStatus(t, what, visitShare(c, id), 200, "")
		}
		wantJSON(t, "views, HEAD not among them", visitShare(visitor, id).OK(200).Value("share.viewCount"), 6)

		full := alice.Post("/api/shares", M{
			"fileId": file, "title": "  <b>Cat</b> ", "expiresIn": 60, "maxViews": 2, "maxDownloads": 7,
			"allowPreview": false, "allowDownload": false,
		}).OK(201)
		wantJSON(t, "expiresAt", full.Value("share.expiresAt"), now+60000)
		view := visitShare(visitor, full.Text("share.id")).OK(200)
		for field, want := range (M{
			"title": "  <b>Cat</b> ", "expiresAt": now + 60000, "maxViews": 2, "maxDownloads": 7, "allowPreview": false,
			"allowDownload": false, "viewCount": 1,
		}) {
			wantJSON(t, field, view.Value("share."+field), want)
		}
		for _, blank := range []string{"", "  ", "\u3000"} {
			unnamed := shareEntry(alice, file, M{"title": blank})
			wantJSON(t, "a blank title", visitShare(visitor, unnamed).OK(200).Value("share.title"), "cat.png")
			alice.Patch("/api/shares/"+unnamed, M{"title": "Cat"}).OK(200)
			wantJSON(t, "a title made blank",
				alice.Patch("/api/shares/"+unnamed, M{"title": blank}).OK(200).Value("share.title"), "cat.png")
		}
		wantStatus(t, "no such share", visitShare(visitor, "abcdefghijkl"), 404, "NOT_FOUND")
		wantStatus(t, "a long id", visitShare(visitor, strings.Repeat("a", 5000)), 404, "NOT_FOUND")

		folder := mkdir(alice, "/home/alice", "trip")
		view = visitShare(visitor, shareEntry(alice, folder)).OK(200)
		wantJSON(t, "a folder", view.Value("share.file"),
			M{"id": folder, "name": "trip", "path": "/", "type": "folder", "size": 0})
		wantJSON(t, "kind of a folder", view.Value("share.kind"), "folder")
	})
}

func TestShareRefuses(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, bob := l.User(t, "alice"), l.User(t, "bob")
	file := alice.Upload("/home/alice", "a.txt", []byte("x"))
	for _, row := range []struct {
		name   string
		change M
		status int
	}{
		{"no file", M{"fileId": nil}, 400},
		{"an empty id", M{"fileId": ""}, 400},
		{"an unknown id", M{"fileId": "b9a3a2f6-1111-4222-8333-444455556666"}, 404},
		{"200 characters", M{"title": strings.Repeat("é", 200)}, 201},
		{"201 characters", M{"title": strings.Repeat("é", 201)}, 400},
		{"an empty title", M{"title": ""}, 201},
		{"title null", M{"title": nil}, 201},
		{"a line break in the title", M{"title": "a\r\nBcc: b"}, 400}, // abuse case C73
		{"a text-direction override", M{"title": "a\u202eb"}, 400},
		{"an empty password", M{"password": ""}, 400},
		{"password null", M{"password": nil}, 201},
		{"1 character", M{"password": "x"}, 201},
		{"128 characters", M{"password": strings.Repeat("é", 128)}, 201},
		{"129 characters", M{"password": strings.Repeat("x", 129)}, 400},
		{"512 bytes", M{"password": strings.Repeat("😀", 128)}, 201},
		{"a password that is a number", M{"password": 1}, 400},
		{"expiresIn 59", M{"expiresIn": 59}, 400},
		{"expiresIn 60", M{"expiresIn": 60}, 201},
		{"a year", M{"expiresIn": 31536000}, 201},
		{"more than a year", M{"expiresIn": 31536001}, 400},
		{"expiresIn 0", M{"expiresIn": 0}, 400},
		{"expiresIn null", M{"expiresIn": nil}, 201},
		{"expiresIn 60.5", M{"expiresIn": 60.5}, 400},
		{"maxViews 0", M{"maxViews": 0}, 400},
		{"maxViews -1", M{"maxViews": -1}, 400},
		{"maxViews 1", M{"maxViews": 1}, 201},
		{"maxViews null", M{"maxViews": nil}, 201},
		{"maxViews 1000000000", M{"maxViews": 1000000000}, 201},
		{"maxViews 1000000001", M{"maxViews": 1000000001}, 400},
		{"maxDownloads 0", M{"maxDownloads": 0}, 400},
		{"maxDownloads -1", M{"maxDownloads": -1}, 400},
		{"maxDownloads 1", M{"maxDownloads": 1}, 201},
		{"maxDownloads null", M{"maxDownloads": nil}, 201},
		{"maxDownloads 1000000001", M{"maxDownloads": 1000000001}, 400},
		{"allowPreview a string", M{"allowPreview": "true"}, 400},
	} {
		body := M{"fileId": file}.With(row.change)
		code := map[int]string{400: "VALIDATION_ERROR", 404: "NOT_FOUND"}[row.status]
		wantStatus(t, row.name, alice.Post("/api/shares/", body), row.status, code)
	}
	wantStatus(t, "somebody else's file", bob.Post("/api/shares/", M{"fileId": file}), 403, "FORBIDDEN")
	wantStatus(t, "a visitor", l.Client(t).Post("/api/shares/", M{"fileId": file}), 401, "UNAUTHORIZED")
	wantStatus(t, "a key", alice.Key(M{}).Post("/api/shares/", M{"fileId": file}), 401, "UNAUTHORIZED")
	wantJSON(t, "bob's shares", bob.Get("/api/shares/").OK(200).Value("items"), []string{})
}

// The test covers the status of a share (specification: Share status) and the order in which
// several ends are reported.
func TestShareEnds(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, admin, visitor := l.User(t, "alice"), l.Admin(t), l.Client(t)
		file := alice.Upload("/home/alice", "a.txt", []byte("x"))
		t.Run("expired", func(t *testing.T) {
			id := shareEntry(alice, file, M{"expiresIn": 60, "maxViews": 1})
			visitShare(visitor, id).OK(200)
			l.Clock.Advance(time.Minute - time.Millisecond)
			wantStatus(t, "the limit", visitShare(visitor, id), 410, "SHARE_LIMIT_REACHED")
			wantStatus(t, "the limit, by HEAD", visitor.Head("/api/shares/"+id), 410, "")
			l.Clock.Advance(time.Millisecond)
			wantStatus(t, "both", visitShare(visitor, id), 410, "SHARE_EXPIRED")
			wantStatus(t, "verify", verifySharePassword(visitor, id, "x"), 410, "SHARE_EXPIRED")
			alice.Delete("/api/shares/" + id).OK(200)
			wantStatus(t, "all three", visitShare(visitor, id), 410, "SHARE_REVOKED")
		})
		t.Run("revoked", func(t *testing.T) {
			id := shareEntry(alice, file)
			wantStatus(t, "by another user", l.User(t, "bob").Delete("/api/shares/"+id), 404, "NOT_FOUND")
			wantStatus(t, "by an administrator, as if it were theirs", admin.Delete("/api/shares/"+id), 404,
				"NOT_FOUND")
			visitShare(visitor, id).OK(200)
			for range 2 {
				wantJSON(t, "data", alice.Delete("/api/shares/" + id).OK(200).Object()["data"], nil)
			}
			wantStatus(t, "a view", visitShare(visitor, id), 410, "SHARE_REVOKED")
			wantStatus(t, "verify", verifySharePassword(visitor, id, "x"), 410, "SHARE_REVOKED")
			wantStatus(t, "no such share", alice.Delete("/api/shares/abcdefghijkl"), 404, "NOT_FOUND")
		})
		t.Run("renamed, moved, deleted", func(t *testing.T) {
			file := alice.Upload("/home/alice", "b.txt", []byte("x"))
			id := shareEntry(alice, file)
			alice.Put("/api/files/"+file, M{"name": "c.txt"}).OK(200)
			mkdir(alice, "/home/alice", "deep")
			alice.Post("/api/files/"+file+"/move", M{"targetPath": "/home/alice/deep"}).OK(200)
			view := visitShare(visitor, id).OK(200)
			wantJSON(t, "name", view.Value("share.file.name"), "c.txt")
			wantJSON(t, "path", view.Value("share.file.path"), "/") // abuse case C39
			alice.Delete("/api/files/" + file).OK(200)
			wantStatus(t, "deleted", visitShare(visitor, id), 404, "NOT_FOUND")
			wantStatus(t, "deleted, and changed", alice.Patch("/api/shares/"+id, M{"title": "x"}), 404, "NOT_FOUND")
			l.Sweep()
			l.Sweep()
			wantJSON(t, "its remaining data", queryInt(t, l, "SELECT COUNT(*) FROM shares WHERE id = $1", id), 0)
		})
		for _, what := range []string{"disabled", "banned"} {
			t.Run("creator "+what, func(t *testing.T) { // abuse case C86
				name := "eve" + what[:3]
				eve := l.User(t, name)
				id := shareEntry(eve, eve.Upload("/home/"+name, "a.txt", []byte("x")))
				visitShare(visitor, id).OK(200)
				execAndRaiseVersion(t, l, "UPDATE users SET status = $1 WHERE username = $2", what, name)
				wantStatus(t, "a view", visitShare(visitor, id), 410, "SHARE_REVOKED")
				execAndRaiseVersion(t, l, "UPDATE users SET status = 'active' WHERE username = $1", name)
				visitShare(visitor, id).OK(200)
			})
		}
		t.Run("right lost", func(t *testing.T) {
			id := shareEntry(alice, file)
			for _, permission := range []string{"share", "read"} {
				rule := addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "deny", "userId": callerID(alice),
					"permissions": []string{permission}})
				wantStatus(t, "without "+permission, visitShare(visitor, id), 410, "SHARE_REVOKED")
				wantStatus(t, "a new one without "+permission, alice.Post("/api/shares/", M{"fileId": file}), 403,
					"FORBIDDEN")
				wantStatus(t, "changed without "+permission, alice.Patch("/api/shares/"+id, M{"title": "x"}), 403,
					"FORBIDDEN")
				admin.Delete("/api/admin/rules/" + rule).OK(200)
				visitShare(visitor, id).OK(200)
			}
		})
	})
}

// A creator who may not download a file shares its name, not its content. Abuse case C27.
func TestShareWithoutDownload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		file := admin.Upload("/uploads", "a.png", []byte("x"))
		me := callerID(alice)
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me,
			"permissions": []string{"read", "share"}})
		made := alice.Post("/api/shares/", M{"fileId": file, "allowDownload": true, "allowPreview": true}).OK(201)
		wantJSON(t, "allowDownload", made.Value("share.allowDownload"), false)
		wantJSON(t, "allowPreview", made.Value("share.allowPreview"), false)
		id := made.Text("share.id")
		wantJSON(t, "allowDownload, set again",
			alice.Patch("/api/shares/"+id, M{"allowDownload": true}).OK(200).Value("share.allowDownload"), false)

		more := addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": me,
			"permissions": []string{"download"}})
		both := shareEntry(alice, file)
		wantJSON(t, "with the right", visitShare(visitor, both).OK(200).Value("share.allowDownload"), true)
		admin.Delete("/api/admin/rules/" + more).OK(200)
		view := visitShare(visitor, both).OK(200)
		wantJSON(t, "the right lost: allowDownload", view.Value("share.allowDownload"), false)
		wantJSON(t, "the right lost: allowPreview", view.Value("share.allowPreview"), false)
	})
}

// Rules with addresses apply to the visitor's address. A share gives a visitor no access that the
// creator would not have from that address.
func TestShareChecksVisitorsAddress(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		file := admin.Upload("/uploads", "a.png", []byte("x"))
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": callerID(alice),
			"permissions": []string{"read", "share", "download"},
			"allowedIps":  []string{"127.0.0.0/8", "192.0.2.0/24"}})
		id := shareEntry(alice, file)
		from := func(ip string) *apptest.Reply { return l.Client(t).Get("/api/shares/"+id, "X-Forwarded-For", ip) }
		wantStatus(t, "from inside", from("192.0.2.7"), 200, "")
		wantStatus(t, "from outside", from("198.51.100.7"), 410, "SHARE_REVOKED")
		wantStatus(t, "from inside again", from("192.0.2.7"), 200, "")
	}, apptest.TrustLoopback)
}

// Addition: PATCH /api/shares/{id}.
func TestChangeShare(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		id := shareEntry(alice, alice.Upload("/home/alice", "a.txt", []byte("x")),
			M{"title": "mine", "expiresIn": 60, "maxViews": 1})
		patch := func(body M) *apptest.Reply { return alice.Patch("/api/shares/"+id, body) }
		listed := alice.Get("/api/shares/").OK(200).Value("items.0")
		wantJSON(t, "an empty change", patch(M{}).OK(200).Value("share"), listed)
		visitShare(visitor, id).OK(200)
		wantStatus(t, "viewed", visitShare(visitor, id), 410, "SHARE_LIMIT_REACHED")
		wantJSON(t, "maxViews", patch(M{"maxViews": 2}).OK(200).Value("share.maxViews"), 2)
		wantJSON(t, "viewed once more", visitShare(visitor, id).OK(200).Value("share.viewCount"), 2)
		wantStatus(t, "viewed twice", visitShare(visitor, id), 410, "SHARE_LIMIT_REACHED")
		l.Clock.Advance(2 * time.Minute)
		wantStatus(t, "expired", visitShare(visitor, id), 410, "SHARE_EXPIRED")
		wantJSON(t, "limits off", patch(M{"maxViews": nil, "maxDownloads": 3}).OK(200).Value("share.status"), "expired")
		wantStatus(t, "still expired", visitShare(visitor, id), 410, "SHARE_EXPIRED")
		again := patch(M{"expiresIn": 60, "title": nil, "allowPreview": false}).OK(200)
		wantJSON(t, "status", again.Value("share.status"), "active")
		wantJSON(t, "expiresAt", again.Value("share.expiresAt"), l.Clock.Now().UnixMilli()+60000)
		view := visitShare(visitor, id).OK(200)
		for field, want := range (M{"title": "a.txt", "maxViews": nil, "maxDownloads": 3, "allowPreview": false,
			"allowDownload": true, "viewCount": 3}) {
			wantJSON(t, field, view.Value("share."+field), want)
		}
		wantJSON(t, "no end", patch(M{"expiresIn": nil}).OK(200).Value("share.expiresAt"), nil)
		for what, body := range map[string]M{
			"an empty password": {"password": ""}, "129 characters": {"password": strings.Repeat("x", 129)},
			"expiresIn 59": {"expiresIn": 59}, "expiresIn 0": {"expiresIn": 0},
			"more than a year": {"expiresIn": 31536001}, "maxViews 0": {"maxViews": 0},
			"maxDownloads -1": {"maxDownloads": -1}, "maxViews 1000000001": {"maxViews": 1000000001},
			"201 characters": {"title": strings.Repeat("x", 201)}, "a line break": {"title": "a\nb"},
		} {
			wantStatus(t, what, patch(body), 400, "VALIDATION_ERROR")
		}
		for what, body := range map[string]M{"a year": {"expiresIn": 31536000},
			"200 characters": {"title": strings.Repeat("x", 200)}, "maxViews 1000000000": {"maxViews": 1000000000}} {
			wantStatus(t, what, patch(body), 200, "")
		}
		wantStatus(t, "somebody else's", l.User(t, "bob").Patch("/api/shares/"+id, M{"title": "bob's"}), 404,
			"NOT_FOUND")
		wantStatus(t, "an administrator", l.Admin(t).Patch("/api/shares/"+id, M{"title": "the admin's"}), 404,
			"NOT_FOUND")
		alice.Delete("/api/shares/" + id).OK(200)
		wantStatus(t, "a revoked one", patch(M{"expiresIn": 3600}), 409, "OPERATION_FAILED")
		wantStatus(t, "revoked for good", visitShare(visitor, id), 410, "SHARE_REVOKED")
	})
}

// The number of views is exactly the limit, for any concurrency (abuse case C85), and none is given
// after the revocation was answered.
func TestShareRaces(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		file := alice.Upload("/home/alice", "a.txt", []byte("x"))
		id := shareEntry(alice, file, M{"maxViews": 3})
		replies := runConcurrently(t, visitor, 50,
			func(c *apptest.Client, _ int) *apptest.Reply { return visitShare(c, id) })
		got := countStatuses(t, replies)
		if got[200] != 3 || got[410] != 47 {
			t.Errorf("with maxViews 3: %v", got)
		}
		counts := map[string]bool{}
		for _, r := range replies {
			if r.Status == 200 {
				counts[fmt.Sprint(r.Value("share.viewCount"))] = true
			}
		}
		wantJSON(t, "the returned counts", counts, map[string]bool{"1": true, "2": true, "3": true})
		wantJSON(t, "viewCount", alice.Get("/api/shares/").OK(200).Value("items.0.viewCount"), 3)

		id = shareEntry(alice, file)
		replies = runConcurrently(t, visitor, 40, func(c *apptest.Client, i int) *apptest.Reply {
			if i == 20 {
				return alice.In(t).Delete("/api/shares/" + id)
			}
			return visitShare(c, id)
		})
		views := countStatuses(t, replies)[200] - 1
		wantJSON(t, "viewCount after a revocation", queryInt(t, l, "SELECT view_count FROM shares WHERE id = $1", id),
			views)
		wantStatus(t, "afterwards", visitShare(visitor, id), 410, "SHARE_REVOKED")
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}
