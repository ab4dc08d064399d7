package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

// Abuse cases C112, C114: a visitor's credentials are stored only sealed in the row of their
// session. No log, no other table and no answer contains them.
func TestFreeModeKeepsSecrets(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		const wrongKey, wrongSecret = "canary-access-key-id", "canary-secret-access-key"
		var said strings.Builder
		record := func(r *apptest.Reply) *apptest.Reply {
			said.Write(r.Body)
			for name, values := range r.Header {
				if name != "Set-Cookie" {
					said.WriteString(name + strings.Join(values, " "))
				}
			}
			return r
		}
		record(l.Client(t).Post("/api/free-mode/init",
			freeFields(bucket, M{"accessKeyId": wrongKey, "secretAccessKey": wrongSecret}))).
			Fails(400, "OPERATION_FAILED")
		record(l.Client(t).Post("/api/free-mode/init", freeFields(bucket, M{"secretAccessKey": wrongSecret}))).
			Fails(400, "OPERATION_FAILED")
		c := openFreeSession(t, l, bucket)
		record(c.Get("/api/free-mode/session")).OK(200)
		record(c.Post("/api/free-mode/upload?path=/d", "hello", "X-File-Name", "a.txt")).OK(201)
		record(c.Get("/api/free-mode/files?path=/d")).OK(200)
		record(c.Get("/api/free-mode/download?key=d/a.txt")).OK(200)
		record(c.Get("/api/free-mode/download?key=d/b.txt")).Fails(404, "NOT_FOUND")
		record(c.Delete("/api/free-mode/object?key=d/a.txt")).OK(200)
		if _, err := bucket.SDK(t).DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket.Name}); err != nil {
			t.Fatal(err)
		}
		record(c.Get("/api/free-mode/files")).Fails(500, "INTERNAL_ERROR") // the error is logged with its cause
		l.Clock.Advance(10 * time.Minute)
		l.FlushLog()
		token := c.Cookies["fm_token"]
		reader := l.Apps[0].DB.Read(t.Context())
		rows, err := reader.Query("SELECT * FROM free_sessions")
		if err != nil {
			t.Fatal(err)
		}
		sessions := dumpRows(t, rows)
		var others strings.Builder
		for _, table := range []string{"providers", "users", "settings", "entries", "objects", "mounts",
			"download_tokens", "csrf_tokens", "versions", "jobs", "upload_sessions"} {
			rows, err := reader.Query("SELECT * FROM " + table)
			if err != nil {
				t.Fatal(err)
			}
			others.WriteString(dumpRows(t, rows))
		}
		places := map[string]string{"the service's log": l.Log.String(), "the access log": dumpLog(t, l),
			"the session's row": sessions, "another table": others.String(), "an answer": said.String()}
		for name, text := range places {
			if text == "" {
				t.Errorf("%s is empty", name)
			}
			for what, secret := range map[string]string{
				"token": token, "secret": bucket.SecretKey, "key id": bucket.AccessKey, "wrong secret": wrongSecret,
				"wrong key id": wrongKey,
				"endpoint":     strings.TrimPrefix(bucket.Endpoint, "http://"), "CSRF token": c.CSRF,
			} {
				if what == "CSRF token" && name != "the service's log" && name != "the access log" || len(secret) < 8 {
					continue // it is returned to the client and stored beside the hash
				}
				if strings.Contains(text, secret) {
					t.Errorf("%s contains the %s", name, what)
				}
			}
		}
		for _, path := range []string{"/d/a.txt", "/api/free-mode/init"} {
			if !strings.Contains(places["the access log"], path) {
				t.Errorf("the access log lacks %s: %s", path, places["the access log"])
			}
		}

		// sealed credentials do not open in another row (abuse case C116)
		other := openForeignFreeSession(t, l, c)
		other.Get("/api/free-mode/session").Fails(500, "INTERNAL_ERROR")
	}, apptest.ReachLoopback)
}

// openForeignFreeSession moves the sealed credentials of a session to another row and returns the
// client of that row.
func openForeignFreeSession(t *testing.T, l *apptest.Larder, c *apptest.Client) *apptest.Client {
	t.Helper()
	other := l.Client(t)
	other.Cookies["fm_token"] = "x"
	const hashOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // SHA-256
	execAndRaiseVersion(t, l, "UPDATE free_sessions SET hash = '"+hashOfX+"'")
	c.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
	return other
}

// The access log records which visitor did what to which object.
func TestFreeModeInTheAccessLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := openFreeSession(t, l, bucket)
		c.Post("/api/free-mode/upload?path=/d", "hello", "X-File-Name", "a.txt").OK(201)
		c.Get("/api/free-mode/files").OK(200)
		c.Get("/api/free-mode/download?key=d/a.txt", "Range", "bytes=0-1")
		c.Head("/api/free-mode/download?key=d/a.txt").OK(200)
		c.Get("/api/free-mode/download?key=no").Fails(404, "NOT_FOUND")
		c.Delete("/api/free-mode/object?key=d/a.txt").OK(200)
		c.Post("/api/free-mode/logout", nil).OK(200)
		l.FlushLog()
		reply := l.Admin(t).Get("/api/admin/logs?action=free_mode").OK(200)
		var have []string
		for _, item := range reply.Value("logs").([]any) {
			line := item.(map[string]any)
			if line["userId"] != nil {
				t.Errorf("userId %v", line["userId"])
			}
			have = append(have, fmt.Sprint(line["path"], " ", line["bytesTransferred"], " ", line["statusCode"]))
		}
		slices.Sort(have)
		wantStrings(t, "the log", have, "/api/free-mode/init 0 201", "/api/free-mode/logout 0 200", "/d/a.txt 0 200",
			"/d/a.txt 2 206", "/d/a.txt 5 201")
	}, apptest.ReachLoopback)
}

// Visitors cannot fill the access log: it records 60 of their requests a minute and address, with
// short paths, and no failed ones.
func TestFreeModeAccessLogLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
	bucket := s3test.New(t)
	c, again := openFreeSession(t, l, bucket), openFreeSession(t, l, bucket) // two log entries
	name := strings.Repeat("n", 300)
	c.Post("/api/free-mode/upload", "x", "X-File-Name", name[:255]).OK(201)
	c.Post("/api/free-mode/upload?path="+name[:100], "x", "X-File-Name", name[:200]).OK(201)
	for range 70 {
		c.Get("/api/free-mode/download?key=no").Fails(404, "NOT_FOUND")
		c.Delete("/api/free-mode/object?key=a..b").Fails(400, "VALIDATION_ERROR")
	}
	count := func() string {
		l.FlushLog()
		return fmt.Sprint(l.Admin(t).Get("/api/admin/logs?action=free_mode").OK(200).Value("pagination.total"))
	}
	for i := range 55 {
		c.Delete(fmt.Sprint("/api/free-mode/object?key=", i)).OK(200)
	}
	if n := count(); n != "59" {
		t.Errorf("%s notes, want 59", n)
	}
	for range 5 {
		again.Delete("/api/free-mode/object?key=x").OK(200)
	}
	if n := count(); n != "60" {
		t.Errorf("%s notes, want 60", n)
	}
	long := 0
	for _, item := range l.Admin(t).Get("/api/admin/logs?action=free_mode&limit=100").OK(200).Value("logs").([]any) {
		long = max(long, len(item.(map[string]any)["path"].(string)))
	}
	if long != 256 {
		t.Errorf("the longest path has %d bytes", long)
	}
}
