package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// A folder moves to another provider whose store is unreachable at first. Until the store is back,
// everything is readable at the old path, then at the new one.
func TestMoveToAnotherProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		dir := addVaultMount(t, l)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		content := map[string]string{"a.txt": "first",
			"sub/b.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("pixels", 50_000), "sub/empty": ""}
		ids, links, etags := map[string]string{}, map[string]string{}, map[string]string{}
		box := mkdir(alice, home, "box")
		mkdir(alice, home+"/box", "sub")
		mkdir(alice, home+"/box", "nothing")
		for name, text := range content {
			ids[name] = alice.Upload(filepath.Dir(home+"/box/"+name), filepath.Base(name), []byte(text))
			links[name] = alice.Post("/api/files/"+ids[name]+"/link", nil).OK(200).Text("link.url")
			etags[name] = l.Client(t).Get(links[name]).OK(200).Header.Get("ETag")
		}
		wantReadableAt := func(folder, not string) {
			t.Helper()
			for name, text := range content {
				for how, r := range map[string]*apptest.Reply{
					"path":    alice.Get(folder + "/" + name),
					"link":    l.Client(t).Get(links[name]),
					"id":      alice.Get("/api/files/"+ids[name]+"/download", "Sec-Fetch-Dest", "image"),
					"gateway": l.Client(t).Get(downloadURL(alice, ids[name])),
				} {
					if r.Status != 200 || string(r.Body) != text || r.Header.Get("ETag") != etags[name] {
						t.Errorf("%s by %s: status %d, %d bytes, ETag %s", name, how, r.Status, len(r.Body),
							r.Header.Get("ETag"))
					}
				}
				l.Client(t).Get(links[name], "If-None-Match", etags[name]).OK(304)
				alice.Get(not+"/"+name).Fails(404, "NOT_FOUND")
				if at := alice.Get("/api/files/" + ids[name]).OK(200).
					Text("file.path"); at != filepath.Dir(folder+"/"+name) {
					t.Errorf("%s is in %s", name, at)
				}
			}
		}
		key := alice.Key(M{"uploadPath": "/"})
		bytes, count := usedQuota(alice)
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		r := alice.Post("/api/files/"+box+"/move", M{"targetPath": "/vault", "newName": "crate"}).OK(200)
		id := r.Text("jobId")
		if r.Text("status") != "pending" {
			t.Errorf("answered %s", r.Body)
		}
		waitUntil(t, "the job will be retried",
			func() bool { return strings.Contains(l.Log.String(), "a job will be retried") })
		if status := alice.Get("/api/files/jobs/" + id).OK(200).Text("job.status"); status != "pending" &&
			status != "running" {
			t.Errorf("status %s", status)
		}
		wantReadableAt(home+"/box", "/vault/crate")
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		l.Clock.Advance(time.Minute)
		r = waitForJob(t, alice, id)
		if r.Text("job.status") != "completed" || r.Int("job.progress") != 100 || r.Value("job.errorMessage") != nil ||
			r.Int("job.completedAt") == 0 || r.Text("job.type") != "move" {
			t.Errorf("job %s", r.Body)
		}
		wantReadableAt("/vault/crate", home+"/box")
		wantStrings(t, "the folder", listNames(alice, "/vault/crate"), "nothing", "sub", "a.txt")
		wantUsed(t, alice, bytes, count)
		if n := len(bucketObjects(t, l, "vault")); n != len(content) {
			t.Errorf("%d objects in the new store", n)
		}
		// The old objects stay for the grace period, the new ones permanently.
		l.Sweep()
		if n := len(bucketObjects(t, l, "default")); n != len(content) {
			t.Errorf("%d objects in the old store within the grace period", n)
		}
		l.Clock.Advance(3 * time.Hour)
		l.Sweep()
		if n := len(bucketObjects(t, l, "default")); n != 0 {
			t.Errorf("%d objects are left in the old store", n)
		}
		wantReadableAt("/vault/crate", home+"/box")

		// And back again, by a key, inside its upload root.
		r = waitForJob(t, key, key.Post("/api/files/"+box+"/move",
			M{"targetPath": home, "newName": "box"}).OK(200).Text("jobId"))
		if r.Text("job.status") != "completed" {
			t.Errorf("job %s", r.Body)
		}
		wantReadableAt(home+"/box", "/vault/crate")
	})
}

// Abuse case C31: the actor has lost the permission when the job runs. The job fails with a
// sentence that reveals nothing else, and the source is unchanged.
func TestMoveFailsWhenActorLosesRights(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		dir := addVaultMount(t, l)
		admin, alice := l.Admin(t), l.User(t, "alice")
		for name, lose := range map[string]func(c *apptest.Client){
			"the key is revoked": func(c *apptest.Client) {
				id, _, _ := strings.Cut(strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "), ".")
				alice.Delete("/api/keys/" + id).OK(200)
			},
			"the key has expired": func(*apptest.Client) { l.Clock.Advance(time.Hour) },
			"the key may not delete": func(c *apptest.Client) {
				id, _, _ := strings.Cut(strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "), ".")
				alice.Patch("/api/keys/"+id, M{"permissions": []string{"read", "write"}}).OK(200)
			},
			"a rule forbids it": func(*apptest.Client) {
				addRule(admin, M{"pathPattern": "/vault/**", "effect": "deny", "role": "user",
					"permissions": []string{"write"}, "priority": 9})
			},
		} {
			key := alice.Key(M{"uploadPath": "/", "expiresIn": 3600})
			file := alice.Upload("/home/alice", name, []byte("mine"))
			logged := len(l.Log.String())
			if err := os.Rename(dir, dir+"-away"); err != nil {
				t.Fatal(err)
			}
			id := key.Post("/api/files/"+file+"/move", M{"targetPath": "/vault"}).OK(200).Text("jobId")
			waitUntil(t, "the job will be retried",
				func() bool { return strings.Contains(l.Log.String()[logged:], "a job will be retried") })
			if err := os.Rename(dir+"-away", dir); err != nil { // no job is due until the clock advances
				t.Fatal(err)
			}
			lose(key)
			l.Clock.Advance(time.Minute)
			r := waitForJob(t, alice, id)
			message, _ := r.Value("job.errorMessage").(string)
			if r.Text("job.status") != "failed" || !strings.Contains(message, "permission") &&
				!strings.Contains(message, "API key") || strings.Contains(message, name) {
				t.Errorf("%s: %s", name, r.Body)
			}
			wantBody(t, alice.Get("/api/files/"+file+"/download", "Sec-Fetch-Dest", "image").OK(200), "mine")
			if at := alice.Get("/api/files/" + file).OK(200).Text("file.path"); at != "/home/alice" {
				t.Errorf("%s: moved to %s", name, at)
			}
			for _, rule := range admin.Get("/api/admin/rules?limit=100").OK(200).Value("rules").([]any) {
				if rule := rule.(map[string]any); rule["effect"] == "deny" {
					admin.Delete("/api/admin/rules/" + rule["id"].(string)).OK(200)
				}
			}
		}
	})
}

// Abuse case C36: the list has the caller's own jobs only, newest first, at most 100.
func TestListOfJobs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		if got := alice.Get("/api/files/jobs").OK(200).Value("jobs"); fmt.Sprint(got) != "[]" {
			t.Errorf("before: %v", got)
		}
		owner := callerID(alice)
		for i, status := range []string{"pending", "running", "completed", "failed"} {
			execAndRaiseVersion(t, l,
				"INSERT INTO jobs (id, type, owner_id, status, progress, created_at) VALUES ($1, 'kept', $2, $3, 7, "+
					"$4)", "j-"+status, owner, status, i)
		}
		list := func(c *apptest.Client, query string) string {
			t.Helper()
			var ids []string
			jobs, _ := c.Get("/api/files/jobs" + query).OK(200).Value("jobs").([]any)
			for _, j := range jobs {
				ids = append(ids, strings.TrimPrefix(j.(map[string]any)["id"].(string), "j-"))
			}
			return strings.Join(ids, " ")
		}
		key := alice.Key(M{"uploadPath": "/uploads", "permissions": []string{"read"}})
		for _, c := range []*apptest.Client{alice, key} {
			if got := list(c, ""); got != "failed completed running pending" {
				t.Errorf("all: %s", got)
			}
			for _, status := range []string{"pending", "running", "completed", "failed"} {
				if got := list(c, "?status="+status); got != status {
					t.Errorf("%s: %s", status, got)
				}
			}
			for _, bad := range []string{"done", "Pending", "pending,running"} {
				c.Get("/api/files/jobs?status="+bad).Fails(400, "VALIDATION_ERROR")
			}
		}
		r := alice.Get("/api/files/jobs?status=failed").OK(200)
		wantFieldsOf(t, r, "jobs.0", "id", "type", "status", "progress", "errorMessage", "createdAt", "completedAt")
		if got := list(bob, ""); got != "" {
			t.Errorf("another user sees %s", got)
		}
		l.Client(t).Get("/api/files/jobs").Fails(401, "UNAUTHORIZED")
		for i := range 100 {
			execAndRaiseVersion(t, l,
				"INSERT INTO jobs (id, type, owner_id, status, progress, created_at) VALUES ($1, 'kept', $2, "+
					"'failed', 7, $3)", fmt.Sprint("more", i), owner, 100+i)
		}
		if got := strings.Fields(list(alice, "")); len(got) != 100 || got[0] != "more99" || got[99] != "more0" {
			t.Errorf("%d jobs, %s to %s", len(got), got[0], got[len(got)-1])
		}
	})
}

// Content uploaded in parts gets its checksum from a job. The job leaves no row.
func TestChecksumJob(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		text := []byte(strings.Repeat("in parts ", 10_000))
		alice.Upload("/home/alice", "f", text)
		execAndRaiseVersion(t, l, "UPDATE objects SET sha256 = NULL")
		execAndRaiseVersion(t, l,
			"INSERT INTO jobs (id, type, owner_id, status, progress, created_at, payload) SELECT 'sum', 'checksum', "+
				"'', 'pending', 0, 1, id FROM objects")
		waitUntil(t, "the end of the job", func() bool { return queryInt(t, l, "SELECT COUNT(*) FROM jobs") == 0 })
		waitForChecksum(t, l, string(text))
	})
}
