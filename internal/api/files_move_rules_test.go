package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// Abuse case C26: an entry that a rule hides cannot be moved or renamed out of the rule's reach,
// even if the rule does not deny changes and deletion.
func TestMoveKeepsHidingRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		const home = "/home/alice"
		mkdir(admin, "/", "team")
		addRule(admin, M{"pathPattern": "/team/**", "effect": "allow", "role": "user"})
		inner := []string{mkdir(admin, "/team", "deep"), mkdir(admin, "/team/deep", "secret")}
		outer := mkdir(admin, "/team", "plain")
		file := admin.Upload("/team/deep/secret", "plans.txt", []byte("plans"))
		lone := admin.Upload("/team", "salaries.txt", []byte("much"))
		open := admin.Upload("/team/plain", "menu.txt", []byte("soup"))
		for _, pattern := range []string{"/team/deep/secret/**", "/team/salaries*"} {
			addRule(admin, M{"pathPattern": pattern, "effect": "deny", "role": "user",
				"permissions": []string{"read", "download"}})
		}

		for _, id := range append(inner, file, lone) {
			alice.Post("/api/files/"+id+"/move", M{"targetPath": home}).Fails(403, "FORBIDDEN")
			alice.Post("/api/files/"+id+"/move", M{"targetPath": "/team/plain"}).Fails(403, "FORBIDDEN")
		}
		for _, id := range append(inner, lone) {
			alice.Put("/api/files/"+id, M{"name": "renamed"}).Fails(403, "FORBIDDEN")
		}
		alice.Get("/team/deep/secret/plans.txt").Fails(403, "FORBIDDEN")
		wantStrings(t, "home", listNames(alice, home))

		// A hidden entry may be renamed to another hidden name. An entry that alice sees may be
		// moved to any place where she may write.
		alice.Put("/api/files/"+file, M{"name": "plans-2.txt"}).OK(200)
		alice.Put("/api/files/"+open, M{"name": "menu-2.txt"}).OK(200)
		alice.Put("/api/files/"+outer, M{"name": "plain-2"}).OK(200)
		alice.Post("/api/files/"+outer+"/move", M{"targetPath": home}).OK(200)
		wantBody(t, alice.Get(home+"/plain-2/menu-2.txt").OK(200), "soup")
	})
}

// In a folder where everybody may write, change and delete but reads only their own entries, moving
// another user's entry away does not reveal it.
func TestMovingRevealsNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		mkdir(admin, "/", "drop")
		addRule(admin, M{"pathPattern": "/drop/**", "effect": "allow", "role": "user",
			"permissions": []string{"write", "update", "delete"}})
		folder := mkdir(bob, "/drop", "letters")
		file := bob.Upload("/drop/letters", "letter.txt", []byte("dear"))

		for _, id := range []string{folder, file} {
			alice.Post("/api/files/"+id+"/move", M{"targetPath": "/home/alice"}).Fails(403, "FORBIDDEN")
			bob.Post("/api/files/"+id+"/move", M{"targetPath": "/home/bob"}).OK(200)
			bob.Post("/api/files/"+id+"/move", M{"targetPath": "/drop"}).OK(200)
		}
		mkdir(alice, "/drop", "sorted")
		// nobody can read more of it there
		alice.Post("/api/files/"+file+"/move", M{"targetPath": "/drop/sorted"}).OK(200)
		alice.Put("/api/files/"+file, M{"name": "read-me.txt"}).OK(200)
		alice.Get("/drop/sorted/read-me.txt").Fails(403, "FORBIDDEN")
		wantBody(t, bob.Get("/drop/sorted/read-me.txt").OK(200), "dear")
	})
}

// A rule that only protects entries from changes is not avoided by a move either.
func TestMoveKeepsProtectingRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		const home = "/home/alice"
		folder := mkdir(alice, home, "keep")
		file := alice.Upload(home+"/keep", "record.txt", []byte("1"))
		addRule(admin, M{"pathPattern": home + "/keep/**", "effect": "deny", "role": "user",
			"permissions": []string{"delete"}})
		alice.Delete("/api/files/"+file).Fails(403, "FORBIDDEN")
		alice.Put("/api/files/"+folder, M{"name": "kept"}).Fails(403, "FORBIDDEN")
		alice.Put("/api/files/"+file, M{"name": "record-1.txt"}).OK(200) // the rule covers that name too
		alice.Delete("/api/files/"+file).Fails(403, "FORBIDDEN")
	})
}
