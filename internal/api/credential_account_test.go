package api_test

import (
	"bytes"
	"strings"
	"testing"

	"larder/internal/apptest"
)

const accountHeader = "X-Larder-Account"

// Addition: X-Larder-Account. A request for another account than that of the session changes
// nothing, on every route that reads the session cookie.
func TestRequestsForAnotherAccountAreRefused(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	f := newMatrixFixture(t, l)
	items := f.newItems("m")
	ownerID, adminID := callerID(f.owner), callerID(f.admin)
	look := watchTables(t, l)
	checked := 0
	for _, row := range matrix {
		c, id, other := f.owner, ownerID, adminID
		switch row.auth {
		case adminAuth:
			c, id, other = f.admin, adminID, ownerID
		case sessionAuth, sessionOrKeyAuth, optionalAuth:
		case noAuth:
			if row.pattern != "/api/auth/logout" {
				continue
			}
		default:
			continue
		}
		checked++
		path, body := row.request(items)
		r := send(c.Fork(), row.method, path, body, accountHeader, other)
		if r.Status != 409 || !bytes.Contains(r.Body, []byte(`"code":"OPERATION_FAILED"`)) {
			t.Errorf("%s %s: status %d: %.200s", row.method, row.pattern, r.Status, r.Body)
		}
		wantHeader(t, r, accountHeader, id)
	}
	if checked < 80 {
		t.Errorf("only %d routes", checked)
	}
	look("requests for another account")
	f.owner.Get("/api/auth/me").OK(200)
}

// The header counts for a session cookie only, and only as exactly the id of its account.
func TestAccountHeader(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
	id, other := callerID(alice), callerID(bob)
	wantJSON(t, "the profile's id", alice.Get("/api/users/me/settings").OK(200).Text("profile.id"), id)
	const home = "/api/files?path=/home/alice"
	wantHeader(t, alice.Get(home, accountHeader, id).OK(200), accountHeader, "")
	alice.Get(home).OK(200)
	alice.Get(home, accountHeader, id, accountHeader, id).OK(200)
	alice.Head(home, accountHeader, other).Fails(409, "OPERATION_FAILED")
	for _, value := range []string{other, "", "alice", strings.ToUpper(id), id + ", " + id, id + "x", id[:8], "*", "\xff",
		strings.Repeat("a", 5000)} {
		alice.Get(home, accountHeader, value).Fails(409, "OPERATION_FAILED")
	}
	alice.Get(home, accountHeader, id, accountHeader, other).Fails(409, "OPERATION_FAILED")
	alice.Get(home, accountHeader, other, accountHeader, id).Fails(409, "OPERATION_FAILED")
	// before the permission of administrators and the CSRF token are checked
	alice.Get("/api/admin/users", accountHeader, other).Fails(409, "OPERATION_FAILED")
	stale := alice.Fork()
	stale.CSRF = "stale"
	stale.Post("/api/files/folder", M{"path": "/home/alice", "name": "x"}, accountHeader, other).
		Fails(409, "OPERATION_FAILED")
	stale.Post("/api/files/folder", M{"path": "/home/alice", "name": "x"}, accountHeader, id).Fails(403, "INVALID_CSRF")

	// without a session there is nothing to compare
	visitor.Get(home, accountHeader, id).Fails(401, "UNAUTHORIZED")
	broken := l.Client(t)
	broken.Cookies["auth_token"] = "broken"
	broken.Get(home, accountHeader, id).Fails(401, "INVALID_TOKEN")
	admin.Upload("/public", "a.txt", []byte("public"))
	for _, c := range []*apptest.Client{visitor, broken} {
		wantBody(t, c.Get("/public/a.txt", accountHeader, id).OK(200), "public")
	}
	alice.Get("/public/a.txt", accountHeader, other).Fails(409, "OPERATION_FAILED")
	// keys have no cookie, and public endpoints don't look at it
	alice.Key(M{"uploadPath": "/home/alice"}).Get(home, accountHeader, other).OK(200)
	alice.Get("/api/public/settings", accountHeader, other).OK(200)
	alice.Fork().Post("/api/auth/login", M{"username": "bob", "password": "password of bob"}, accountHeader, id).OK(200)

	// the stale page of alice can't sign bob out
	bob.Post("/api/auth/logout", M{}, accountHeader, id).Fails(409, "OPERATION_FAILED")
	bob.Get("/api/auth/me").OK(200)
	bob.Post("/api/auth/logout", M{}, accountHeader, other).OK(200)
	broken.Post("/api/auth/logout", M{}, accountHeader, id).OK(200)
}
