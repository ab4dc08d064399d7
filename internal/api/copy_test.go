package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/vpath"
)

func copyTo(c *apptest.Client, id, target string, newName ...string) *apptest.Reply {
	body := M{"targetPath": target}
	for _, name := range newName {
		body["newName"] = name
	}
	return c.Post("/api/files/"+id+"/copy", body)
}

func TestCopy(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice", M{"maxStorage": 20, "maxFiles": 5}), l.User(t, "bob")
		const home = "/home/alice"
		mkdir(alice, home, "to")
		box := mkdir(alice, home, "box")
		id := alice.Upload(home+"/box", "a.txt", []byte("words"))
		t.Run("job", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			r := copyTo(alice, id, home+"/to").OK(200)
			wantJSON(t, "status", r.Text("status"), "pending")
			job := r.Text("jobId")
			r = alice.Get("/api/files/jobs/" + job).OK(200)
			wantFieldsOf(t, r, "job", "id", "type", "status", "progress", "errorMessage", "createdAt", "completedAt")
			if r.Text("job.type") != "copy" || r.Text("job.status") != "completed" || r.Int("job.progress") != 100 ||
				r.Value("job.errorMessage") != nil {
				t.Errorf("job %s", r.Body)
			}
			bob.Get("/api/files/jobs/"+job).Fails(404, "NOT_FOUND") // abuse case C36
			wantBody(t, alice.Get(home+"/to/a.txt").OK(200), "words")
			wantBody(t, alice.Get(home+"/box/a.txt").OK(200), "words")
			wantUsed(t, alice, 10, 2)
		})
		t.Run("requests", func(t *testing.T) {
			alice := alice.In(t)
			copyTo(alice, id, home+"/to").Fails(409, "OPERATION_FAILED")
			copyTo(alice, id, home+"/box").Fails(409, "OPERATION_FAILED") // to the folder that it is in
			copyTo(alice, box, home+"/box").Fails(409, "OPERATION_FAILED")
			copyTo(alice, id, home+"/none").Fails(404, "NOT_FOUND")
			copyTo(alice, id, home+"/to/a.txt").Fails(404, "NOT_FOUND") // a file
			copyTo(alice, "none", home).Fails(404, "NOT_FOUND")
			for _, bad := range []string{"", ".", "..", "a/b", "../a", `a\b`, "a\x00", " a"} {
				copyTo(alice, id, home, bad).Fails(400, "VALIDATION_ERROR")
			}
			copyTo(alice, id, home+"/to/..").Fails(400, "VALIDATION_ERROR")
			for _, body := range []M{{}, {"targetPath": nil}, {"targetPath": 5}, {"targetPath": home, "newName": 5}} {
				alice.Post("/api/files/"+id+"/copy", body).Fails(400, "VALIDATION_ERROR")
			}
			l.Client(t).Post("/api/files/"+id+"/copy", M{"targetPath": home}).Fails(401, "UNAUTHORIZED")
			copyTo(bob.In(t), id, "/home/bob").Fails(403, "FORBIDDEN")
			copyTo(alice, id, "/home/bob").Fails(403, "FORBIDDEN")
			wantStrings(t, "to", listNames(alice, home+"/to"), "a.txt")
		})
		t.Run("quota", func(t *testing.T) {
			alice := alice.In(t)
			copyTo(alice, id, home, "third.txt").OK(200)
			big := alice.Upload(home, "big.txt", []byte("five!"))
			wantUsed(t, alice, 20, 4) // the quota is full
			copyTo(alice, id, home, "more.txt").Fails(413, "QUOTA_EXCEEDED")
			copyTo(alice, box, home, "more").Fails(413, "QUOTA_EXCEEDED")
			wantUsed(t, alice, 20, 4)
			alice.Delete("/api/files/" + big).OK(200)
			copyTo(alice, box, home, "more").OK(200)
			wantUsed(t, alice, 20, 4)
		})
		t.Run("keys", func(t *testing.T) { // abuse case C32
			bob := bob.In(t)
			mkdir(bob, "/home/bob", "in")
			f := bob.Upload("/home/bob", "f.txt", []byte("x"))
			for _, c := range []struct {
				permissions []string
				status      int
			}{{[]string{"read", "write"}, 200}, {[]string{"read"}, 403}, {[]string{"write"}, 403},
				{[]string{"delete"}, 403}, {[]string{"write", "delete"}, 403}} {
				key := bob.Key(M{"uploadPath": "/home/bob/in", "permissions": c.permissions})
				code := ""
				if c.status == 403 {
					code = "FORBIDDEN"
					wantStatus(t, fmt.Sprint("a copy of a missing entry, by a key that may ", c.permissions),
						copyTo(key, "none", "/home/bob/in"), 403, code)
				}
				wantStatus(t, fmt.Sprint("a key that may ", c.permissions),
					copyTo(key, f, "/home/bob/in", fmt.Sprint(len(c.permissions), c.status)), c.status, code)
				wantStatus(t, "outside its root", copyTo(key, f, "/home/bob", "g"), 403, "FORBIDDEN")
			}
			confined := bob.Key(M{"uploadPath": "/home/bob/in", "rootOnly": true})
			copyTo(confined, f, "/home/bob/in", "h").Fails(403, "FORBIDDEN")
			dav := bob.Key(M{"uploadPath": "/home/bob/in", "protocols": []string{"webdav"}})
			copyTo(dav, f, "/home/bob/in", "h").Fails(403, "FORBIDDEN")
			wantStrings(t, "in", listNames(bob, "/home/bob/in"), "2 200")
		})
		t.Run("rules", func(t *testing.T) { // abuse cases C25, C26
			bob, admin := bob.In(t), admin.In(t)
			f := bob.Upload("/home/bob", "rules.txt", []byte("x"))
			mkdir(bob, "/home/bob", "denied")
			addRule(admin, M{"pathPattern": "/home/bob/denied/*.exe", "effect": "deny", "role": "user",
				"permissions": []string{"write"}})
			copyTo(bob, f, "/home/bob/denied", "a.exe").Fails(403, "FORBIDDEN")
			copyTo(bob, f, "/home/bob/denied", "a.txt").OK(200)
			folder := mkdir(bob, "/home/bob", "carry")
			mkdir(bob, "/home/bob/carry", "hidden")
			copyTo(bob, folder, "/home/bob", "carried").OK(200)
			addRule(admin, M{"pathPattern": "/home/bob/carry/hidden/**", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			copyTo(bob, folder, "/home/bob", "again").Fails(403, "FORBIDDEN")
		})
	})
}

// A job copies a folder of 5,000 entries in batches, so that other requests are served meanwhile.
func TestCopyOfFiveThousandEntries(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		box := mkdir(alice, home, "box")
		first := alice.Upload(home+"/box", "first.txt", []byte("words"))
		const folders, each = 8, 624 // 8 * 625 folders and files; 5,002 with the folder and its first file
		err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			for i := range folders {
				folder := fmt.Sprint("folder", i)
				_, err := tx.Exec(`
					INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
					SELECT CAST($1 AS TEXT), $2, CAST($1 AS TEXT), CAST($1 AS TEXT), 0, 0, '', owner_id, 0, 0, CAST($3 AS TEXT)
					FROM entries WHERE id = $2`, folder, box, vpath.SortKey(folder))
				if err != nil {
					return err
				}
				for n := range each {
					_, err := tx.Exec(`
						INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
						SELECT CAST($1 AS TEXT), $2, CAST($3 AS TEXT), CAST($3 AS TEXT), 1, size, mime_type, owner_id, object_id, 0, 0, CAST($5 AS TEXT)
						FROM entries WHERE id = $4`, fmt.Sprint(folder, "-", n), folder, fmt.Sprint(n, ".txt"), first,
						vpath.SortKey(fmt.Sprint(n, ".txt")))
					if err != nil {
						return err
					}
				}
			}
			if _, err := tx.Exec("UPDATE objects SET refs = refs + $1", folders*each); err != nil {
				return err
			}
			_, err := tx.Exec(
				"UPDATE quotas SET used_storage = used_storage + 5 * $1, used_files = used_files + $1 WHERE "+
					"used_files = 1", folders*each)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		job := copyTo(alice, box, home, "copy").OK(200).Text("jobId")
		var longest time.Duration
		writes := 0
		for alice.Get("/api/files/jobs/"+job).OK(200).Value("job.completedAt") == nil {
			start := time.Now()
			mkdir(alice, home, fmt.Sprint("meanwhile", writes))
			longest = max(longest, time.Since(start))
			writes++
		}
		t.Logf("%d writes meanwhile, the longest took %v", writes, longest)
		if r := waitForJob(t, alice, job); r.Text("job.status") != "completed" {
			t.Fatalf("job %s", r.Body)
		}
		const all = 2 * (folders*each + 1)
		wantUsed(t, alice, 5*all, all)
		wantJSON(t, "references", queryInt(t, l, "SELECT refs FROM objects"), all)
		wantBody(t, alice.Get(home+"/copy/folder7/623.txt").OK(200), "words")
		wantJSON(t, "found", int(alice.Get("/api/files?path="+home+
			"/copy&search=.txt&limit=1").OK(200).Int("pagination.total")), folders*each+1)
		for _, gone := range []string{box, alice.Get("/api/files?path=" + home +
			"&search=copy&limit=1").OK(200).Text("items.0.id")} {
			alice.Delete("/api/files/" + gone).OK(200)
		}
		l.Sweep()
		wantUsed(t, alice, 0, 0)
		wantJSON(t, "objects", queryInt(t, l, "SELECT COUNT(*) FROM objects"), 0)
	})
}
