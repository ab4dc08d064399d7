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

// linked makes permanent links to some files.
func (r *replica) linked(a access.Actor, ids []string) (links []string) {
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

// opens checks whether permanent links work.
func (r *replica) opens(when string, want bool, links ...string) {
	r.t.Helper()
	for i, link := range links {
		if _, err := r.tree.ByLink(ctx, link); want && err != nil || !want && !fault.Is(err, fault.NotFound) {
			r.t.Errorf("%s: link %d: %v", when, i, err)
		}
	}
}

func (r *replica) alter(by, of access.Actor, c lifecycle.Alteration) {
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

// rule stores a rule.
func (r *replica) rule(id string, rule access.Rule) {
	r.t.Helper()
	rule.ID = id
	if err := r.db.Write(ctx, func(tx *db.Tx) error { return r.policies.Insert(tx, access.Stored{Rule: rule}) }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) folder(a access.Actor, dir, name string) {
	r.t.Helper()
	if _, err := r.tree.CreateFolder(ctx, a, path(r.t, dir), path(r.t, "/"+name).Base()); err != nil {
		r.t.Fatal(err)
	}
}

// What an administrator has closed by banning somebody stays closed when that account is deleted, and its files belong to somebody who is active.
func TestDeletingRevivesNoLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.person("boss", access.Admin)
		for i, status := range []account.Status{account.Banned, account.Disabled} {
			ann := r.person(fmt.Sprint("ann", i), access.User)
			home := fmt.Sprint("/home/ann", i)
			ids := r.fill(ann, home, 20)
			links := r.linked(ann, ids)
			r.opens("active", true, links...)
			r.alter(boss, ann, lifecycle.Alteration{Status: &status})
			r.opens("not active", false, links...)
			r.delete(boss, ann)
			r.opens("deleted", false, links...)
			if owned := r.owned(ann); owned == 0 {
				t.Fatal("nothing is left to the job")
			}
			// whoever has the files may link to them, also to one that is still to be handed over
			pending := ids[:0:0]
			for _, id := range ids {
				if r.count("SELECT count(*) FROM entries WHERE id = $1 AND owner_id = $2", id, ann.UserID) == 1 {
					pending = append(pending, id)
				}
			}
			again := r.linked(boss, pending[:2])
			file, _, err := r.tree.Details(ctx, boss, pending[2])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.put(boss, file.Dir.String(), file.Name, 30, files.Replace); err != nil { // with a link
				t.Fatal(err)
			}
			replaced, err := r.tree.Published(ctx, pending[2])
			if err != nil || replaced.Link == nil {
				t.Fatalf("a replaced file has the link %+v, %v", replaced, err)
			}
			again = append(again, replaced.Link.ID)
			r.opens("made anew", true, again...)
			r.agree("made anew")
			r.once(r.legacyJobs())
			r.opens("handed over", false, links...)
			r.opens("made anew, handed over", true, again...)
			r.agree("handed over")
			if n := r.count("SELECT count(*) FROM links"); n != len(again) {
				t.Errorf("%d links are left", n)
			}
			if err := d.Write(ctx, func(tx *db.Tx) error { _, err := tx.Exec("DELETE FROM links"); return err }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Links that rest because a rule keeps their owner from sharing or downloading those files end with the account, and all its other links too.
func TestDeletingRevivesNoLinksThatRulesClose(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.person("boss", access.Admin)
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
			ann := r.person(name, access.User)
			r.folder(ann, "/home/"+name, "quiet")
			quiet := r.linked(ann, r.fill(ann, "/home/"+name+"/quiet", 2))
			loud := r.linked(ann, r.fill(ann, "/home/"+name, 9)) // more than the deletion hands over itself
			row.rule.Effect, row.rule.Pattern = access.Deny, "/home/"+name+"/quiet/**"
			if row.rule.Role == "" {
				row.rule.UserID = ann.UserID
			}
			r.rule(row.name, row.rule)
			r.alter(boss, ann, lifecycle.Alteration{Role: &row.role})
			r.opens(row.name, false, quiet...)
			r.opens(row.name, true, loud...)
			r.delete(boss, ann)
			r.opens(row.name+", deleted", false, quiet...)
			r.opens(row.name+", deleted", false, loud...)
			for r.count("SELECT count(*) FROM jobs") > 0 {
				r.once(r.legacyJobs())
			}
			r.opens(row.name+", handed over", false, quiet...)
			r.opens(row.name+", handed over", false, loud...)
		}
	})
}

// Rules that allow, or deny something else or somebody else, end no link.
func TestDeletingKeepsLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, ann := r.person("boss", access.Admin), r.person("ann", access.User)
		r.rule("allow", access.Rule{Pattern: "/home/**", Effect: access.Allow, Role: access.User})
		r.rule("other", access.Rule{Pattern: "/home/**", Effect: access.Deny, UserID: ann.UserID, Permissions: access.Set(access.Delete)})
		r.rule("guests", access.Rule{Pattern: "/home/**", Effect: access.Deny, Role: access.Guest})
		r.rule("bob", access.Rule{Pattern: "/home/**", Effect: access.Deny, UserID: r.person("bob", access.User).UserID})
		links := r.linked(ann, r.fill(ann, "/home/ann", 20))
		r.delete(boss, ann)
		r.opens("deleted", true, links...)
		r.once(r.legacyJobs())
		r.opens("handed over", true, links...)
	})
}

// What is still being handed over to somebody who is deleted in turn: what rests with them doesn't come back with their heir.
func TestDeletingAnHeirRevivesNoLinks(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss := r.person("boss", access.Admin)
		banned, role := account.Banned, access.User
		for i, row := range []struct {
			name  string
			then  lifecycle.Alteration
			stays bool
		}{
			{"active", lifecycle.Alteration{}, true},
			{"banned", lifecycle.Alteration{Status: &banned}, false},
			{"demoted", lifecycle.Alteration{Role: &role}, true},
		} {
			heir, ann := r.person(fmt.Sprint("heir", i), access.Admin), r.person(fmt.Sprint("ann", i), access.User)
			ids := r.fill(ann, fmt.Sprint("/home/ann", i), 20)
			links := r.linked(ann, ids)
			r.delete(heir, ann)
			r.opens(row.name, true, links...)
			var pending []string
			for i, id := range ids {
				if r.count("SELECT count(*) FROM entries WHERE id = $1 AND owner_id = $2", id, ann.UserID) == 1 {
					pending = append(pending, links[i])
				}
			}
			r.alter(boss, heir, row.then)
			r.opens(row.name, row.stays, pending...)
			r.delete(boss, heir)
			r.opens(row.name+", deleted", row.stays, pending...)
			for r.count("SELECT count(*) FROM jobs") > 0 {
				r.once(r.legacyJobs())
			}
			r.opens(row.name+", handed over", row.stays, pending...)
		}
	})
}
