package lifecycle_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/lifecycle"
)

// makeLinks makes permanent links to some files.
func (r *replica) makeLinks(a access.Actor, ids []string) (links []string) {
	r.t.Helper()
	for _, id := range ids {
		link, err := r.tree.Link(ctx, a, id)
		if err != nil {
			r.t.Fatal(err)
		}
		links = append(links, link.ID)
	}
	return links
}

// wantLinks checks whether permanent links work.
func (r *replica) wantLinks(when string, want bool, links ...string) {
	r.t.Helper()
	for i, link := range links {
		if _, err := r.tree.ByLink(ctx, link); want && err != nil || !want && !fault.Is(err, fault.NotFound) {
			r.t.Errorf("%s: link %d: %v", when, i, err)
		}
	}
}

func (r *replica) update(by, of access.Actor, c lifecycle.UserUpdate) {
	r.t.Helper()
	if _, err := r.life.UpdateUser(ctx, by.UserID, of.UserID, c); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) delete(by, of access.Actor) {
	r.t.Helper()
	if err := r.life.DeleteUser(ctx, by.UserID, of.UserID); err != nil {
		r.t.Fatal(err)
	}
}

// addRule stores a rule.
func (r *replica) addRule(id string, rule access.Rule) {
	r.t.Helper()
	rule.ID = id
	if err := r.db.Write(ctx, func(tx *db.Tx) error {
		return r.policies.Insert(tx, access.StoredRule{Rule: rule})
	}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) makeFolder(a access.Actor, dir, name string) {
	r.t.Helper()
	if _, err := r.tree.CreateFolder(ctx, a, path(r.t, dir), path(r.t, "/"+name).Base()); err != nil {
		r.t.Fatal(err)
	}
}

// Links closed by banning a user stay closed when the account is deleted and its files belong to an
// active user.
func TestDeletingReopensNoLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.makeUser("boss", access.Admin)
		for i, status := range []account.Status{account.Banned, account.Disabled} {
			ann := r.makeUser(fmt.Sprint("ann", i), access.User)
			home := fmt.Sprint("/home/ann", i)
			ids := r.putFiles(ann, home, 20)
			links := r.makeLinks(ann, ids)
			r.wantLinks("active", true, links...)
			r.update(boss, ann, lifecycle.UserUpdate{Status: &status})
			r.wantLinks("not active", false, links...)
			r.delete(boss, ann)
			r.wantLinks("deleted", false, links...)
			if owned := r.countOwned(ann); owned == 0 {
				t.Fatal("nothing is left to the job")
			}
			// the successor may make links, also to a file that is still to be handed over
			pending := ids[:0:0]
			for _, id := range ids {
				if r.count("SELECT count(*) FROM entries WHERE id = $1 AND owner_id = $2", id, ann.UserID) == 1 {
					pending = append(pending, id)
				}
			}
			again := r.makeLinks(boss, pending[:2])
			file, _, err := r.tree.Details(ctx, boss, pending[2])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.put(boss, file.Dir.String(), file.Name, 30, files.Replace); err != nil { // with a link
				t.Fatal(err)
			}
			replaced, err := r.tree.PublicAccess(ctx, pending[2])
			if err != nil || replaced.Link == nil {
				t.Fatalf("a replaced file has the link %+v, %v", replaced, err)
			}
			again = append(again, replaced.Link.ID)
			r.wantLinks("made anew", true, again...)
			r.checkCharges("made anew")
			r.runNext(r.handoverRunner())
			r.wantLinks("handed over", false, links...)
			r.wantLinks("made anew, handed over", true, again...)
			r.checkCharges("handed over")
			if n := r.count("SELECT count(*) FROM links"); n != len(again) {
				t.Errorf("%d links are left", n)
			}
			if err := d.Write(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec("DELETE FROM links")
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Links that do not work because a rule keeps their owner from sharing or downloading end with the
// account, as do all its other links.
func TestDeletingReopensNoLinksClosedByRules(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.makeUser("boss", access.Admin)
		for i, row := range []struct {
			name string
			role access.Role
			rule access.Rule
		}{
			{"a user's downloads", access.User, access.Rule{Permissions: access.Set(access.Read | access.Download)}},
			{"a role's sharing", access.Guest, access.Rule{Role: access.Guest, Permissions: access.Set(access.Share)}},
			{"all that a user may", access.User, access.Rule{}},
		} {
			name := fmt.Sprint("ann", i)
			ann := r.makeUser(name, access.User)
			r.makeFolder(ann, "/home/"+name, "quiet")
			quiet := r.makeLinks(ann, r.putFiles(ann, "/home/"+name+"/quiet", 2))
			loud := r.makeLinks(ann, r.putFiles(ann, "/home/"+name, 9)) // more than the deletion hands over itself
			row.rule.Effect, row.rule.Pattern = access.Deny, "/home/"+name+"/quiet/**"
			if row.rule.Role == "" {
				row.rule.UserID = ann.UserID
			}
			r.addRule(row.name, row.rule)
			r.update(boss, ann, lifecycle.UserUpdate{Role: &row.role})
			r.wantLinks(row.name, false, quiet...)
			r.wantLinks(row.name, true, loud...)
			r.delete(boss, ann)
			r.wantLinks(row.name+", deleted", false, quiet...)
			r.wantLinks(row.name+", deleted", false, loud...)
			for r.count("SELECT count(*) FROM jobs") > 0 {
				r.runNext(r.handoverRunner())
			}
			r.wantLinks(row.name+", handed over", false, quiet...)
			r.wantLinks(row.name+", handed over", false, loud...)
		}
	})
}

// Rules that allow, or that deny other permissions or other users, end no link.
func TestDeletingKeepsLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann := r.makeUser("boss", access.Admin), r.makeUser("ann", access.User)
		r.addRule("allow", access.Rule{Pattern: "/home/**", Effect: access.Allow, Role: access.User})
		r.addRule("other", access.Rule{Pattern: "/home/**", Effect: access.Deny, UserID: ann.UserID,
			Permissions: access.Set(access.Delete)})
		r.addRule("guests", access.Rule{Pattern: "/home/**", Effect: access.Deny, Role: access.Guest})
		r.addRule("bob", access.Rule{Pattern: "/home/**", Effect: access.Deny,
			UserID: r.makeUser("bob", access.User).UserID})
		links := r.makeLinks(ann, r.putFiles(ann, "/home/ann", 20))
		r.delete(boss, ann)
		r.wantLinks("deleted", true, links...)
		r.runNext(r.handoverRunner())
		r.wantLinks("handed over", true, links...)
	})
}

// Links that do not work for a successor who is deleted during a handover do not work again for the
// next successor.
func TestDeletingASuccessorReopensNoLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.makeUser("boss", access.Admin)
		banned, role := account.Banned, access.User
		for i, row := range []struct {
			name  string
			then  lifecycle.UserUpdate
			stays bool
		}{
			{"active", lifecycle.UserUpdate{}, true},
			{"banned", lifecycle.UserUpdate{Status: &banned}, false},
			{"demoted", lifecycle.UserUpdate{Role: &role}, true},
		} {
			heir, ann := r.makeUser(fmt.Sprint("heir", i), access.Admin), r.makeUser(fmt.Sprint("ann", i), access.User)
			ids := r.putFiles(ann, fmt.Sprint("/home/ann", i), 20)
			links := r.makeLinks(ann, ids)
			r.delete(heir, ann)
			r.wantLinks(row.name, true, links...)
			var pending []string
			for i, id := range ids {
				if r.count("SELECT count(*) FROM entries WHERE id = $1 AND owner_id = $2", id, ann.UserID) == 1 {
					pending = append(pending, links[i])
				}
			}
			r.update(boss, heir, row.then)
			r.wantLinks(row.name, row.stays, pending...)
			r.delete(boss, heir)
			r.wantLinks(row.name+", deleted", row.stays, pending...)
			for r.count("SELECT count(*) FROM jobs") > 0 {
				r.runNext(r.handoverRunner())
			}
			r.wantLinks(row.name+", handed over", row.stays, pending...)
		}
	})
}
