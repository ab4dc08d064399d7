package lifecycle_test

import (
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
)

// Rules that keep others out of part of a home still do when the account is deleted and its home
// gets another name. A new account of that name has a home without rules.
func TestRulesFollowAHomeThatIsRenamed(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann, bob := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User), r.makeUser("bob",
			access.User)
		for _, dir := range []string{"open", "shut"} {
			r.makeFolder(ann, "/home/ann", dir)
			r.putFiles(boss, "/home/ann/"+dir, 1)
		}
		r.addRule("open", access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: bob.UserID})
		r.addRule("shut", access.Rule{Pattern: "/home/ann/shut/**", Effect: access.Deny, UserID: bob.UserID})
		r.addRule("another", access.Rule{Pattern: "/home/anna/**", Effect: access.Deny, Role: access.User})
		see := func(when, home string) {
			t.Helper()
			if n := len(r.list(bob, home+"/open")); n != 1 {
				t.Errorf("%s: bob sees %d files", when, n)
			}
			if _, err := r.tree.CreateFolder(ctx, bob, path(t, home+"/shut"), "late"); !fault.Is(err, fault.NotFound) &&
				!fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: bob makes a folder where he may not: %v", when, err)
			}
		}
		see("before", "/home/ann")
		r.delete(boss, ann)
		home := ""
		for _, name := range r.list(boss, "/home") {
			if strings.HasPrefix(name, "ann.deleted-") {
				home = "/home/" + name
			}
		}
		see("after", home)
		for id, want := range map[string]string{"open": home + "/**", "shut": home + "/shut/**",
			"another": "/home/anna/**"} {
			if n := r.count("SELECT count(*) FROM rules WHERE id = $1 AND path_pattern = $2", id, want); n != 1 {
				t.Errorf("the rule %s is not for %s", id, want)
			}
		}

		again := r.makeUser("ann", access.User)
		r.makeFolder(again, "/home/ann", "open")
		r.makeFolder(again, "/home/ann", "shut")
		r.putFiles(again, "/home/ann/shut", 1)
		if _, err := r.tree.CreateFolder(ctx, bob, path(t, "/home/ann/open"), "mine"); !fault.Is(err, fault.NotFound) &&
			!fault.Is(err, fault.Forbidden) {
			t.Errorf("bob is let in by the former account's rule: %v", err)
		}
		if n := r.count("SELECT count(*) FROM rules WHERE path_pattern LIKE $1", "/home/ann/%"); n != 0 {
			t.Errorf("%d rules are for the name", n)
		}
	})
}
