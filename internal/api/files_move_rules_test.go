package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// Abuse case C26: where a rule hides something, neither a move nor a new name brings it to where
// the rule does not reach, although the rule says nothing of changing and deleting.
func TestMoveKeepsHidingRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		const home = "/home/alice"
		mkdir(admin, "/", "team")
		addRule(admin, m{"pathPattern": "/team/**", "effect": "allow", "role": "user"})
		inner := []string{mkdir(admin, "/team", "deep"), mkdir(admin, "/team/deep", "secret")}
		outer := mkdir(admin, "/team", "plain")
		file := admin.Upload("/team/deep/secret", "plans.txt", []byte("plans"))
		lone := admin.Upload("/team", "salaries.txt", []byte("much"))
		open := admin.Upload("/team/plain", "menu.txt", []byte("soup"))
		for _, pattern := range []string{"/team/deep/secret/**", "/team/salaries*"} {
			addRule(admin, m{"pathPattern": pattern, "effect": "deny", "role": "user",
				"permissions": []string{"read", "download"}})
		}

		for _, id := range append(inner, file, lone) {
			alice.Post("/api/files/"+id+"/move", m{"targetPath": home}).Fails(403, "FORBIDDEN")
			alice.Post("/api/files/"+id+"/move", m{"targetPath": "/team/plain"}).Fails(403, "FORBIDDEN")
		}
		for _, id := range append(inner, lone) {
			alice.Put("/api/files/"+id, m{"name": "renamed"}).Fails(403, "FORBIDDEN")
		}
		alice.Get("/team/deep/secret/plans.txt").Fails(403, "FORBIDDEN")
		wantStrings(t, "home", listNames(alice, home))

		// What stays hidden may be renamed, and what she sees goes where she may put it.
		alice.Put("/api/files/"+file, m{"name": "plans-2.txt"}).OK(200)
		alice.Put("/api/files/"+open, m{"name": "menu-2.txt"}).OK(200)
		alice.Put("/api/files/"+outer, m{"name": "plain-2"}).OK(200)
		alice.Post("/api/files/"+outer+"/move", m{"targetPath": home}).OK(200)
		wantBody(t, alice.Get(home+"/plain-2/menu-2.txt").OK(200), "soup")
	})
}

// A place where everybody may put, change and take away, but sees just their own: whoever takes
// what is another's away does not get to see it.
func TestMovingRevealsNothing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		mkdir(admin, "/", "drop")
		addRule(admin, m{"pathPattern": "/drop/**", "effect": "allow", "role": "user",
			"permissions": []string{"write", "update", "delete"}})
		folder := mkdir(bob, "/drop", "letters")
		file := bob.Upload("/drop/letters", "letter.txt", []byte("dear"))

		for _, id := range []string{folder, file} {
			alice.Post("/api/files/"+id+"/move", m{"targetPath": "/home/alice"}).Fails(403, "FORBIDDEN")
			bob.Post("/api/files/"+id+"/move", m{"targetPath": "/home/bob"}).OK(200)
			bob.Post("/api/files/"+id+"/move", m{"targetPath": "/drop"}).OK(200)
		}
		mkdir(alice, "/drop", "sorted")
		alice.Post("/api/files/"+file+"/move", m{"targetPath": "/drop/sorted"}).OK(200) // nobody sees more of it there
		alice.Put("/api/files/"+file, m{"name": "read-me.txt"}).OK(200)
		alice.Get("/drop/sorted/read-me.txt").Fails(403, "FORBIDDEN")
		wantBody(t, bob.Get("/drop/sorted/read-me.txt").OK(200), "dear")
	})
}

// A rule that only keeps things as they are is not shed by moving them either.
func TestMoveKeepsProtectingRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		const home = "/home/alice"
		folder := mkdir(alice, home, "keep")
		file := alice.Upload(home+"/keep", "record.txt", []byte("1"))
		addRule(admin, m{"pathPattern": home + "/keep/**", "effect": "deny", "role": "user",
			"permissions": []string{"delete"}})
		alice.Delete("/api/files/"+file).Fails(403, "FORBIDDEN")
		alice.Put("/api/files/"+folder, m{"name": "kept"}).Fails(403, "FORBIDDEN")
		alice.Put("/api/files/"+file, m{"name": "record-1.txt"}).OK(200) // the rule holds for that name too
		alice.Delete("/api/files/"+file).Fails(403, "FORBIDDEN")
	})
}
