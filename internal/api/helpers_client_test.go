package api_test

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// unknownID is an id that nothing has.
const unknownID = "00000000-0000-4000-8000-000000000000"

// mkdir makes a folder and returns its id.
func mkdir(c *apptest.Client, dir, name string) string {
	return c.Post("/api/files/folder", M{"path": dir, "name": name}).OK(201).Text("file.id")
}

// addRule makes a permission rule as the administrator and returns its id.
func addRule(admin *apptest.Client, body M) string {
	return admin.Post("/api/admin/rules", body).OK(201).Text("rule.id")
}

// listFolder requests GET /api/files with further parameters name, value, name, value …
func listFolder(c *apptest.Client, path string, parameters ...string) *apptest.Reply {
	q := url.Values{"path": {path}}
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return c.Get("/api/files?" + q.Encode())
}

// listNames returns the names in a listing, in its order.
func listNames(c *apptest.Client, path string, parameters ...string) []string {
	return listFolder(c, path, parameters...).OK(200).Names("items")
}

// wantStrings fails the test unless got and want are equal lists.
func wantStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// usedQuota returns the bytes and files that the caller uses.
func usedQuota(c *apptest.Client) (bytes, files int64) {
	me := c.Get("/api/auth/me").OK(200)
	return me.Int("quota.usedStorage"), me.Int("quota.usedFiles")
}

// wantUsed fails the test unless the caller uses exactly that many bytes and files.
func wantUsed(t *testing.T, c *apptest.Client, bytes, files int64) {
	t.Helper()
	if b, f := usedQuota(c); b != bytes || f != files {
		t.Errorf("quota in use: %d bytes and %d files, want %d and %d", b, f, bytes, files)
	}
}

// wantHeader fails the test unless the answer has exactly that header, "" for none.
func wantHeader(t *testing.T, r *apptest.Reply, name, want string) {
	t.Helper()
	if got := strings.Join(r.Header.Values(name), " | "); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// wantBody fails the test unless the answer's body is want.
func wantBody(t *testing.T, r *apptest.Reply, want string) {
	t.Helper()
	if bytes.Equal(r.Body, []byte(want)) {
		return
	}
	same := 0
	for same < min(len(r.Body), len(want)) && r.Body[same] == want[same] {
		same++
	}
	t.Errorf("status %d (%v), %d bytes, want %d; from byte %d on %.100q, want %.100q", r.Status, r.Err, len(r.Body),
		len(want), same, r.Body[same:], want[same:])
}

// downloadURL requests a single-use address of a file.
func downloadURL(c *apptest.Client, id string) string {
	return c.Get("/api/files/" + id + "/download").OK(200).Text("url")
}

// callerID returns the id of the account that c is signed in with.
func callerID(c *apptest.Client) string { return c.Get("/api/auth/me").OK(200).Text("user.id") }

// userIDOf returns the id of the named account, which the administrator looks up.
func userIDOf(t *testing.T, admin *apptest.Client, name string) string {
	t.Helper()
	r := admin.Get("/api/admin/users?limit=100").OK(200)
	for _, user := range r.Value("users").([]any) {
		if user := user.(map[string]any); user["username"] == name {
			return user["id"].(string)
		}
	}
	t.Fatalf("no account %s in %s", name, r.Body)
	return ""
}

// entryIDOf returns the id of the entry of that name in a folder.
func entryIDOf(c *apptest.Client, dir, name string) string {
	list := listFolder(c, dir, "limit", "1000").OK(200)
	for i, have := range list.Names("items") {
		if have == name {
			return list.Text(fmt.Sprintf("items.%d.id", i))
		}
	}
	return ""
}
