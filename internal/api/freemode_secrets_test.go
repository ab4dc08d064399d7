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
)

// Abuse cases C112, C114: what a visitor brings stands nowhere but sealed in the row of their session: in no log, no other table, no answer.
func TestFreeModeKeepsSecrets(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		const wrongKey, wrongSecret = "canary-access-key-id", "canary-secret-access-key"
		var said strings.Builder
		hear := func(r *apptest.Reply) *apptest.Reply {
			said.Write(r.Body)
			for name, values := range r.Header {
				if name != "Set-Cookie" {
					said.WriteString(name + strings.Join(values, " "))
				}
			}
			return r
		}
		hear(l.Client(t).Post("/api/free-mode/init", freeFields(bucket, M{"accessKeyId": wrongKey, "secretAccessKey": wrongSecret}))).Fails(400, "OPERATION_FAILED")
		hear(l.Client(t).Post("/api/free-mode/init", freeFields(bucket, M{"secretAccessKey": wrongSecret}))).Fails(400, "OPERATION_FAILED")
		c := visit(t, l, bucket)
		hear(c.Get("/api/free-mode/session")).OK(200)
		hear(c.Post("/api/free-mode/upload?path=/d", "hello", "X-File-Name", "a.txt")).OK(201)
		hear(c.Get("/api/free-mode/files?path=/d")).OK(200)
		hear(c.Get("/api/free-mode/download?key=d/a.txt")).OK(200)
		hear(c.Get("/api/free-mode/download?key=d/b.txt")).Fails(404, "NOT_FOUND")
		hear(c.Delete("/api/free-mode/object?key=d/a.txt")).OK(200)
		if _, err := bucket.SDK(t).DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket.Name}); err != nil {
			t.Fatal(err)
		}
		hear(c.Get("/api/free-mode/files")).Fails(500, "INTERNAL_ERROR") // which is logged with its cause
		l.Clock.Advance(10 * time.Minute)
		l.FlushLog()
		token := c.Cookies["fm_token"]
		reader := l.Apps[0].DB.Read(t.Context())
		rows, err := reader.Query("SELECT * FROM free_sessions")
		if err != nil {
			t.Fatal(err)
		}
		sessions := dump(t, rows)
		var others strings.Builder
		for _, table := range []string{"providers", "users", "settings", "entries", "objects", "mounts", "download_tokens", "csrf_tokens", "versions", "jobs", "upload_sessions"} {
			rows, err := reader.Query("SELECT * FROM " + table)
			if err != nil {
				t.Fatal(err)
			}
			others.WriteString(dump(t, rows))
		}
		places := map[string]string{"the service's log": l.Log.String(), "the access log": dumpLog(t, l), "the session's row": sessions, "another table": others.String(), "an answer": said.String()}
		for name, text := range places {
			if text == "" {
				t.Errorf("%s is empty", name)
			}
			for what, secret := range map[string]string{
				"token": token, "secret": bucket.SecretKey, "key id": bucket.AccessKey, "wrong secret": wrongSecret, "wrong key id": wrongKey,
				"endpoint": strings.TrimPrefix(bucket.Endpoint, "http://"), "CSRF token": c.CSRF,
			} {
				if what == "CSRF token" && name != "the service's log" && name != "the access log" || len(secret) < 8 {
					continue // it is told, and lies beside the hash
				}
				if strings.Contains(text, secret) {
					t.Errorf("%s holds the %s", name, what)
				}
			}
		}
		for _, path := range []string{"/d/a.txt", "/api/free-mode/init"} {
			if !strings.Contains(places["the access log"], path) {
				t.Errorf("the access log lacks %s: %s", path, places["the access log"])
			}
		}

		// what is sealed opens in no other row (abuse case C116)
		other := visitNowhere(t, l, c)
		other.Get("/api/free-mode/session").Fails(500, "INTERNAL_ERROR")
	}, apptest.ReachLoopback)
}

// visitNowhere moves what is sealed in a session to another row, and returns who holds that.
func visitNowhere(t *testing.T, l *apptest.Larder, c *apptest.Client) *apptest.Client {
	t.Helper()
	other := l.Client(t)
	other.Cookies["fm_token"] = "x"
	const hashOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // SHA-256
	change(t, l, "UPDATE free_sessions SET hash = '"+hashOfX+"'")
	c.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
	return other
}

// The access log tells what visitors did to which object.
func TestFreeModeInTheAccessLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := visit(t, l, bucket)
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
		same(t, "the log", have, "/api/free-mode/init 0 201", "/api/free-mode/logout 0 200", "/d/a.txt 0 200", "/d/a.txt 2 206", "/d/a.txt 5 201", "/no 0 404")
	}, apptest.ReachLoopback)
}
