package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/db"
)

var madeID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// lineWith returns the first line of the log with a message and a request id, "" for none.
func lineWith(l *apptest.Larder, message, id string) string {
	for line := range strings.Lines(l.Log.String()) {
		if strings.Contains(line, `"msg":"`+message+`"`) && strings.Contains(line, `"request_id":"`+id+`"`) {
			return line
		}
	}
	return ""
}

// Every response carries an id, which the log of the service and the access log have, too.
func TestRequestID(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		file := alice.Upload("/home/alice", "a.txt", []byte("12345"))
		admin.Upload("/public", "p.txt", []byte("12345"))
		seen := map[string]bool{}
		for name, r := range map[string]*apptest.Reply{
			"a success":           visitor.Get("/api/public/settings"),
			"a probe":             visitor.Get("/api/public/health/live"),
			"a refusal":           visitor.Get("/api/auth/me"),
			"an unknown endpoint": visitor.Get("/api/nothing"),
			"a wrong method":      visitor.Put("/api/public/settings", M{}),
			"HEAD":                visitor.Head("/api/public/settings"),
			"the page":            visitor.Get("/app/"),
			"a public file":       visitor.Get("/public/p.txt"),
			"no public file":      visitor.Get("/public/absent"),
			"an unnormal path":    visitor.Get("//public"),
			"a drive":             visitor.Do(apptest.Request{Method: "PROPFIND", Path: "/webdav/"}),
			"OPTIONS":             visitor.Do(apptest.Request{Method: "OPTIONS", Path: "/"}),
			"not modified":        visitor.Get("/public/p.txt", "If-None-Match", "*"),
			"an id of no proxy":   visitor.Get("/api/auth/me", "X-Request-Id", "mine"),
		} {
			id := r.Header.Get("X-Request-Id")
			if !madeID.MatchString(id) || seen[id] || len(r.Header.Values("X-Request-Id")) != 1 {
				t.Errorf("%s: status %d, ids %q", name, r.Status, r.Header.Values("X-Request-Id"))
			}
			seen[id] = true
			if lineWith(l, "request", id) == "" {
				t.Errorf("%s: no line of the log has the id %s", name, id)
			}
			if r.Status >= 400 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				if refusal, _ := r.Object()["error"].(map[string]any); refusal["requestId"] != id {
					t.Errorf("%s: the envelope is %s, the id %s", name, r.Body, id)
				}
			}
		}

		folder := alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "new"}).OK(201)
		id := folder.Header.Get("X-Request-Id")
		visitor.Get("/public/p.txt").OK(200)
		l.FlushLog()
		found := admin.Get("/api/admin/logs?search=" + id).OK(200)
		if found.Int("pagination.total") != 1 || found.Text("logs.0.requestId") != id ||
			found.Text("logs.0.path") != "/home/alice/new" {
			t.Errorf("the search for a request id finds %s", found.Body)
		}
		if n := admin.Get("/api/admin/logs?search=" + id[:15]).OK(200).Int("pagination.total"); n != 0 {
			t.Errorf("the search for a part of a request id finds %d entries", n)
		}

		err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error { // an object without a row
			_, err := tx.Exec("DELETE FROM objects WHERE id = (SELECT object_id FROM entries WHERE id = $1)", file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		failed := alice.Delete("/api/files/"+file).Fails(500, "INTERNAL_ERROR")
		id = failed.Header.Get("X-Request-Id")
		refusal, _ := failed.Object()["error"].(map[string]any)
		if message := fmt.Sprint(refusal["message"]); !strings.HasSuffix(message, "by the request id "+id+".") {
			t.Errorf("the message of a failure is %q, the id %s", message, id)
		}
		if line := lineWith(l, "request failed", id); !strings.Contains(line, "release object") {
			t.Errorf("the cause of the failure with the id %s has the line %q", id, line)
		}
	})
}

// Trusted proxies may set the id. Other values get an id of this service, as does a request with
// two ids, one of which a client may have added.
func TestRequestIDOfProxy(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.TrustLoopback)
	for _, id := range []string{"a", "4bf92f3577b34da6a3ce929d0e0e4736", "Az09._:+/=@-", strings.Repeat("x", 128)} {
		r := l.Client(t).Get("/api/auth/me", "X-Request-Id", id)
		if r.Header.Get("X-Request-Id") != id || lineWith(l, "request", id) == "" {
			t.Errorf("%q became %q", id, r.Header.Get("X-Request-Id"))
		}
	}
	for _, ids := range [][]string{{""}, {strings.Repeat("x", 129)}, {"a b"}, {"a,b"}, {`a"b`}, {"é"}, {"<b>"}, {"a", "b"}} {
		header := []string{}
		for _, id := range ids {
			header = append(header, "X-Request-Id", id)
		}
		r := l.Client(t).Get("/api/auth/me", header...)
		if got := r.Header.Get("X-Request-Id"); !madeID.MatchString(got) {
			t.Errorf("%q became %q", ids, got)
		}
	}
}
