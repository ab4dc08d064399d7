package api_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestDeleteUser(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		id, mine, bobs := userIDOf(t, admin, "alice"), userIDOf(t, admin, "admin"), userIDOf(t, admin, "bob")
		mkdir(alice, "/home/alice", "both")
		addRule(admin, M{"pathPattern": "/home/alice/both/**", "effect": "allow", "userId": bobs})
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "allow", "userId": id})
		file := alice.Upload("/home/alice/both", "a.png", []byte(onePixel))
		away := alice.Upload("/uploads", "away", []byte("123"))
		of := bob.Upload("/home/alice/both", "bob's", []byte("12345"))
		link := alice.Post("/api/files/"+file+"/link", nil).OK(200).Text("link.url")
		signed, once := signedLink(alice, away), downloadURL(alice, away)
		key := alice.Key(M{"uploadPath": "/home/alice"})
		keyOf := alice.Get("/api/keys/").OK(200).Text("keys.0.id")
		addRule(admin, M{"pathPattern": "/uploads/**", "effect": "deny", "apiKeyId": keyOf,
			"permissions": []string{"share"}})
		open := newUploadSession(alice, "/home/alice", "open", 7)
		putRaw(alice, open, []byte("1234567")).OK(200)
		parts := newUploadSession(alice, "/home/alice", "parts", 7, M{"partCount": 2, "idempotencyKey": "again"})
		execAndRaiseVersion(t, l,
			`INSERT INTO shares (id, entry_id, creator_id, allow_preview, allow_download, created_at, updated_at) VALUES ('abcdefghijkl', $1, $2, TRUE, TRUE, 1, 1)`, file, id)
		before, files := usedQuota(admin)
		rules := admin.Get("/api/admin/rules").OK(200).Int("pagination.total")

		wantStatus(t, "by a user", bob.Delete("/api/admin/users/"+id), 403, "FORBIDDEN")
		r := admin.Delete("/api/admin/users/" + id).OK(200)
		if !strings.Contains(string(r.Body), `"data":null`) {
			t.Errorf("deleting answers %s", r.Body)
		}
		checkOwnershipAndCharges(t, l, "deleted")
		admin.Delete("/api/admin/users/"+id).Fails(404, "NOT_FOUND")
		updateUser(admin, id, M{"role": "user"}).Fails(404, "NOT_FOUND")
		wantStrings(t, "accounts", usernames(admin.Get("/api/admin/users").OK(200)), "admin", "bob")

		// handed over
		homes := listNames(admin, "/home")
		if i := slices.IndexFunc(homes, regexp.MustCompile(`^alice\.deleted-[0-9a-f]{8}$`).MatchString); i < 0 ||
			len(homes) != 2 {
			t.Fatalf("in /home: %q", homes)
		}
		admin.Get("/api/files?path=/home/alice").Fails(404, "NOT_FOUND")
		for _, entry := range []struct{ id, owner string }{{file, mine}, {away, mine}, {of, bobs}} {
			wantJSON(t, "owner", admin.Get("/api/files/"+entry.id).OK(200).Value("file.ownerId"), entry.owner)
		}
		wantUsed(t, admin, before+int64(len(onePixel))+3, files+2)
		wantUsed(t, bob, 5, 1)
		if n := queryInt(t, l, "SELECT count(*) FROM entries WHERE owner_id = $1", id); n != 0 {
			t.Errorf("%d entries are left with the account", n)
		}
		wantBody(t, visitor.Get(link).OK(200), onePixel)
		wantBody(t, bob.Get("/home/"+homes[0]+"/both/bob's").OK(200), "12345")

		// ended
		alice.Get("/api/auth/me").Fails(401, "SESSION_REVOKED")
		postLogin(visitor, "alice", "password of alice").Fails(401, "INVALID_CREDENTIALS")
		key.Get("/api/files?path=/home/alice").Fails(401, "INVALID_TOKEN")
		for _, address := range []string{signed, once} {
			visitor.Get(address).Fails(401, "INVALID_TOKEN")
		}
		if n := admin.Get("/api/admin/rules").OK(200).Int("pagination.total"); n != rules-2 {
			t.Errorf("%d rules, there were %d", n, rules)
		}
		if n := queryInt(t, l, "SELECT count(*) FROM shares WHERE revoked_at IS NULL"); n != 0 {
			t.Error("the share is not revoked")
		}
		for _, session := range []string{open, parts} {
			if n := queryInt(t, l, "SELECT count(*) FROM upload_sessions WHERE id = $1 AND status = 'aborted'",
				session); n != 1 {
				t.Error("an upload continues")
			}
		}

		// another account with that name
		again := l.User(t, "alice")
		wantJSON(t, "home", again.Get("/api/auth/me").OK(200).Value("user.defaultPath"), "/home/alice")
		wantStrings(t, "in it", listNames(again, "/home/alice"))
		wantUsed(t, again, 0, 0)
		again.Get("/api/files/"+file).Fails(403, "FORBIDDEN")
		again.Get("/api/files?path=/home/"+homes[0]).Fails(403, "FORBIDDEN")
		alice.Get("/api/auth/me").Fails(401, "SESSION_REVOKED")
		key.Get("/api/files?path=/home/alice").Fails(401, "INVALID_TOKEN")
		visitor.Get(signed).Fails(401, "INVALID_TOKEN")

		// the bytes of uploads under way are collected
		l.Clock.Advance(time.Hour + time.Minute)
		l.Sweep()
		if objects := bucketObjects(t, l, "default"); len(objects) != 3 {
			t.Errorf("objects %q", objects)
		}
		checkOwnershipAndCharges(t, l, "in the end")
	})
}

// The account that receives the files is charged for them, whatever its quota allows.
func TestHandoverIgnoresQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice").Upload("/home/alice", "a", []byte("123"))
		heir := l.User(t, "heir", M{"role": "admin", "maxStorage": 0, "maxFiles": 0})
		heir.Delete("/api/admin/users/" + userIDOf(t, heir, "alice")).OK(200)
		wantJSON(t, "quota", heir.Get("/api/auth/me").OK(200).Value("quota"),
			M{"maxStorage": 0, "maxFiles": 0, "usedStorage": 3, "usedFiles": 1})
		heir.Post("/api/files/upload-session", M{"path": "/home/heir", "fileName": "b", "fileSize": 0}).
			Fails(413, "QUOTA_EXCEEDED")
		checkOwnershipAndCharges(t, l, "over the quota")
	})
}

// A job hands over a large account. Charges match ownership at every moment.
func TestLargeAccountIsHandedOver(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const many = 4500
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := userIDOf(t, admin, "alice")
		file := alice.Upload("/home/alice", "first", []byte("123"))
		link := alice.Post("/api/files/"+file+"/link", nil).OK(200).Text("link.url")
		execAndRaiseVersion(t, l, `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+fmt.Sprint(many)+`)
			INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
			SELECT 'many-' || n.i, e.parent_id, 'f' || n.i, 'f' || n.i, 1, e.size, e.mime_type, e.owner_id, e.object_id, 0, 0, 'f' || length(CAST(n.i AS TEXT)) || n.i
			FROM n, entries e WHERE e.id = $1`, file)
		execAndRaiseVersion(t, l,
			"UPDATE objects SET refs = refs + $1 WHERE id = (SELECT object_id FROM entries WHERE id = $2)", many, file)
		execAndRaiseVersion(t, l,
			"UPDATE quotas SET used_files = used_files + $1, used_storage = used_storage + 3 * $1 WHERE user_id = $2",
			many, id)
		before, files := usedQuota(admin)
		checkOwnershipAndCharges(t, l, "before")
		admin.Delete("/api/admin/users/" + id).OK(200)
		checkOwnershipAndCharges(t, l, "while it is handed over")
		for _, address := range []string{link, link} {
			wantBody(t, l.Client(t).Get(address).OK(200), "123")
		}
		again := l.User(t, "alice")
		wantUsed(t, again, 0, 0)
		admin.Get("/api/files?path=/home&search=f").OK(200)
		waitForHandover(t, l)
		checkOwnershipAndCharges(t, l, "afterwards")
		wantUsed(t, admin, before+3*(many+1), files+many+1)
		wantBody(t, l.Client(t).Get(link).OK(200), "123")
		if n := queryInt(t, l, "SELECT count(*) FROM jobs WHERE type = 'legacy'"); n != 0 {
			// the row is deleted shortly after the last batch
			l.Sweep()
		}
	})
}
