package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// tablesChangedByGet lists the tables that a GET changes, by route, with the reason why it is not a
// write. HEAD changes nothing.
var tablesChangedByGet = map[string][]string{
	// made at the first request and constant afterwards
	"/api/auth/csrf-token":   {"csrf_tokens"},
	"/api/auth/verify-email": {"users", "mailed_tokens"}, // a link in a mail can only be followed by GET
	"/api/auth/verify":       {"users", "mailed_tokens"},
	// each answer is a new address, which changes no visible state
	"/api/files/{id}/download":                  {"download_tokens"},
	"/api/files/{id}/versions/{until}/download": {"download_tokens"},
	"/api/files/{id}/copy-links":                {"download_tokens"},           // the gateway's address, where the store signs none
	"/api/gateway/download/{token}":             {"download_tokens", "shares"}, // works once, and counts a download of the share
	"/api/shares/{id}":                          {"shares"},                    // counts a view
	"/api/shares/{id}/download":                 {"download_tokens"},
}

// GET and HEAD change only the tables listed above, at every route, also at routes for writes.
// Abuse case C44.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newMatrixFixture(t, l)
		o := f.newItems("reads")
		fresh := l.Client(t) // a session without a CSRF token
		postLogin(fresh, "owner", "password of owner").OK(200)
		look := watchTables(t, l)
		for _, row := range matrix {
			path, _ := row.request(o)
			for _, c := range []*apptest.Client{f.anonymous, f.owner, f.admin, fresh} {
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
