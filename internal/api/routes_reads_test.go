package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// What a GET changes, by its route: the tables, and why it is not a write all the same.
// HEAD changes nothing anywhere.
var tablesChangedByGet = map[string][]string{
	// made when it is first asked for, and the same from then on
	"/api/auth/csrf-token":   {"csrf_tokens"},
	"/api/auth/verify-email": {"users", "mailed_tokens"}, // a link in a mail can only be followed
	"/api/auth/verify":       {"users", "mailed_tokens"},
	// each is another address, which changes nothing that anybody sees
	"/api/files/{id}/download":      {"download_tokens"},
	"/api/files/{id}/copy-links":    {"download_tokens"},           // the gateway's address, where a store signs none
	"/api/gateway/download/{token}": {"download_tokens", "shares"}, // serves once, and counts a share's download
	"/api/shares/{id}":              {"shares"},                    // counts a view
	"/api/shares/{id}/download":     {"download_tokens"},
}

// GET and HEAD change nothing but what is said above, at every route, and at those of writes,
// too. Abuse case C44.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := newMatrixFixture(t, l)
		f := w.newItems("reads")
		fresh := l.Client(t) // a session that has no CSRF token yet
		postLogin(fresh, "owner", "password of owner").OK(200)
		look := watchTables(t, l)
		for _, row := range matrix {
			path, _ := row.request(f)
			for _, c := range []*apptest.Client{w.anonymous, w.owner, w.admin, fresh} {
				head := c.Fork().Do(apptest.Request{Method: "HEAD", Path: path})
				look("HEAD " + row.pattern)
				get := c.Fork().Get(path)
				if row.method == "GET" {
					wantStatus(t, "HEAD "+path, head, get.Status, "")
					look("GET "+row.pattern, tablesChangedByGet[row.pattern]...)
				} else {
					look("GET " + row.pattern)
				}
			}
		}
	}, apptest.ReachLoopback)
}
