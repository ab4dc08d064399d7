package api_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// foreignStatuses lists the statuses for an item of another account, by the parameter of a route
// (abuse case C36). Entries have unguessable ids, so their answers may differ by permission. An
// item that belongs to one account does not exist for others, including administrators outside of
// /api/admin.
var foreignStatuses = []struct {
	routes        *regexp.Regexp
	another, boss int // another user, an administrator
}{
	{regexp.MustCompile(`^/api/files/jobs/\{jobId\}`), 404, 404},
	{regexp.MustCompile(`^/api/files/upload/`), 404, 404},
	{regexp.MustCompile(`^/api/files/\{id\}`), 403, 200},
	{regexp.MustCompile(`^/api/keys/\{id\}$`), 404, 404},
	{regexp.MustCompile(`^/api/trash/\{id\}`), 404, 200},
	{regexp.MustCompile(`^/api/shares/\{id\}$`), 404, 404},
	{regexp.MustCompile(`^/api/users/me/sessions/\{id\}$`), 404, 404},
	{regexp.MustCompile(`^/api/users/me/favourites/\{id\}$`), 404, 200},
	{regexp.MustCompile(`^/api/admin/`), 403, 200},
}

// foreignStatusOf returns the statuses for another user and for an administrator at a route, 0 if
// none is listed. asked is false for routes without an id, and for routes that answer every holder
// of the address.
func foreignStatusOf(row routeRow) (another, boss int, asked bool) {
	if !strings.Contains(row.pattern, "{") || row.auth == noAuth {
		return 0, 0, false
	}
	if strings.HasPrefix(row.pattern, "/api/shares/") && row.method == "GET" {
		return 0, 0, false // open to every holder of the address
	}
	for _, f := range foreignStatuses {
		if f.routes.MatchString(row.pattern) {
			return f.another, f.boss, true
		}
	}
	return 0, 0, true // no status is listed
}

// No id lets a caller change an item of another account, and attempts leave no trace. Abuse case
// C36.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("foreign")
		look := watchTables(t, l)
		asked := 0
		for _, row := range matrix {
			another, boss, is := foreignStatusOf(row)
			if !is {
				continue
			}
			what := row.method + " " + row.pattern
			if another == 0 {
				t.Errorf("%s: no statuses are listed for another user", what)
				continue
			}
			asked++
			path, body := row.request(o)
			code := map[int]string{403: "FORBIDDEN", 404: "NOT_FOUND"}[another]
			wantStatus(t, what+" by another user", send(f.clients["another user"].Fork(), row.method, path, body),
				another, code)
			wantStatus(t, what+" by a guest's account", send(f.clients["guest account"].Fork(), row.method, path, body),
				another, code)
			if boss == 404 {
				wantStatus(t, what+" by an administrator", send(f.admin.Fork(), row.method, path, body), 404,
					"NOT_FOUND")
			}
			look(what)
		}
		if asked < 20 {
			t.Errorf("only %d routes take an id", asked)
		}
		// ids in bodies: each gets its own outcome, and none is changed
		other := f.clients["another user"]
		batch := other.Post("/api/files/batch", M{"action": "delete", "fileIds": []string{o.file}}).OK(200)
		wantJSON(t, "succeeded", batch.Value("succeeded"), []string{})
		links := other.Post("/api/files/copy-links", M{"ids": []string{o.file}, "signed": true}).OK(200)
		wantJSON(t, "code of copy-links", links.Value("items.0.code"), "FORBIDDEN")
		wantStatus(t, "a zip", other.Get("/api/files/zip?ids="+o.file), 404, "NOT_FOUND")
		wantStatus(t, "the completion of another user's session",
			other.Post("/api/files/upload-complete", M{"sessionId": o.session, "etag": o.etag}), 404, "NOT_FOUND")
		look("ids in bodies")
	}, apptest.ReachLoopback)
}

// Any text in place of an id gets a refusal and never a server error. Abuse cases C5, C6, C36.
func TestInvalidIDs(t *testing.T) {
	t.Parallel()
	parameter := regexp.MustCompile(`\{\w+\}`)
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		items := f.newItems("none")
		look := watchTables(t, l)
		ids := []string{
			unknownID, "x", "0", "-1", "null", "%00", "a%00b", "%0a", "%ff", "%ed%a0%80",
			"%c0%ae%c0%ae", "%2e%2e", "..%2f..", "%2f", "%5c", "%25", "%2500",
			url.PathEscape("' OR '1'='1"), url.PathEscape("'; DROP TABLE users; --"), url.PathEscape("$1"),
			url.PathEscape("{id}"), url.PathEscape("\u202eé"), "pk_" + strings.Repeat("a", 24), "graveyard", "staging",
			strings.Repeat("a", 10<<10), strings.Repeat("%00", 3<<10), "1e9", "9223372036854775808", "%20", "%25",
		}
		for _, row := range matrix {
			if !strings.Contains(row.pattern, "{") {
				continue
			}
			_, body := row.request(items)
			asking := []*apptest.Client{f.owner}
			switch row.auth {
			case adminAuth:
				asking = []*apptest.Client{f.admin}
			case noAuth, optionalAuth:
				asking = append(asking, f.anonymous)
			}
			for _, id := range ids {
				path := parameter.ReplaceAllLiteralString(row.pattern, id)
				for _, c := range asking {
					reply := send(c.Fork(), row.method, path, body)
					if reply.Err != nil || reply.Status < 400 || reply.Status >= 500 {
						t.Errorf("%s %s with the id %.40q: %d %v %.200s", row.method, row.pattern, id, reply.Status,
							reply.Err, reply.Body)
					}
				}
			}
			look(fmt.Sprint(row.method, " ", row.pattern))
		}
	}, apptest.ReachLoopback)
}
