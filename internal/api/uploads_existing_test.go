package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// existingOf returns the entry in the answer of an upload whose name is taken, nil for none.
func existingOf(c *apptest.Client, dir, name string) map[string]any {
	reply := postUploadSession(c, dir, name, 5, M{"conflict": "fail"}).Fails(409, "ALREADY_EXISTS")
	existing, _ := reply.Object()["error"].(map[string]any)["existing"].(map[string]any)
	return existing
}

// The error for a taken name contains the entry of that name if the caller may read it, and the
// SHA-256 of a file that the caller may download.
func TestUploadSessionOfATakenName(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of `hello`
		id := alice.Upload("/home/alice", "a.txt", []byte("hello"))
		of := func(what string, existing map[string]any, id, size, sum any) {
			t.Helper()
			wantJSON(t, what, []any{existing["id"], existing["size"], existing["sha256"]}, []any{id, size, sum})
		}
		existing := existingOf(alice, "/home/alice", "a.txt")
		of("an own file", existing, id, 5, sum)
		wantJSON(t, "its folder", existing["path"], "/home/alice")
		folder := alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "b"}).OK(201).Text("file.id")
		of("a folder", existingOf(alice, "/home/alice", "b"), folder, 0, nil)
		writes := alice.Key(M{"permissions": []string{"write"}, "uploadPath": "/"})
		if existing := existingOf(writes, "/home/alice", "b"); existing != nil {
			t.Errorf("a key that may only write: %v", existing)
		}
		alice.Put("/api/files/"+id, M{"accessPassword": "open sesame"}).OK(200)
		of("a file with a password", existingOf(alice, "/home/alice", "a.txt"), id, 5, nil)

		other := alice.Upload("/uploads", "a.txt", []byte("hello"))
		of("an own file in a folder to write in", existingOf(alice, "/uploads", "a.txt"), other, 5, sum)
		if existing := existingOf(bob, "/uploads", "a.txt"); existing != nil {
			t.Errorf("a file that bob may not read: %v", existing)
		}
		rule := M{"pathPattern": "/uploads/**", "effect": "allow", "role": "user", "permissions": []string{"read"},
			"priority": 9}
		admin.Post("/api/admin/rules", rule).OK(201)
		of("a file that bob may only read", existingOf(bob, "/uploads", "a.txt"), other, 5, nil)
		rule["permissions"] = []string{"download"}
		admin.Post("/api/admin/rules", rule).OK(201)
		of("a file that bob may download", existingOf(bob, "/uploads", "a.txt"), other, 5, sum)
	})
}
