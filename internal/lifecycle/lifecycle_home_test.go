package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// firstAdmin returns the administrator of the first start.
func (r *replica) firstAdmin() access.Actor {
	r.t.Helper()
	admin, err := r.accounts.ByName(r.db.Read(ctx), "root_1")
	if err != nil {
		r.t.Fatal(err)
	}
	return access.Actor{UserID: admin.ID, Role: access.Admin}
}

// setDefaultPath sets the default path of an account as the administrator, and returns the account.
func (r *replica) setDefaultPath(a access.Actor, at string) account.User {
	r.t.Helper()
	p := path(r.t, at)
	changed, err := r.life.UpdateUser(ctx, r.firstAdmin().UserID, a.UserID, lifecycle.UserUpdate{DefaultPath: &p})
	if err != nil || changed.DefaultPath != at {
		r.t.Fatalf("%s: %+v, %v", at, changed.User, err)
	}
	return changed.User
}

// makeRootFolder makes a folder in / as the administrator.
func (r *replica) makeRootFolder(name vpath.Name) files.Entry {
	r.t.Helper()
	made, err := r.tree.CreateFolder(ctx, r.firstAdmin(), vpath.Root, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// rename renames a folder in / as the administrator.
func (r *replica) rename(id string, name vpath.Name) {
	r.t.Helper()
	if _, err := r.tree.Move(ctx, r.firstAdmin(), id, vpath.Root, &name); err != nil {
		r.t.Fatal(err)
	}
}

// rootFolderID returns the id of a folder in /.
func (r *replica) rootFolderID(name string) string {
	r.t.Helper()
	listing, err := r.tree.List(ctx, r.firstAdmin(),
		files.ListQuery{Path: vpath.Root.Child(vpath.Name(name)), Page: 1, Limit: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return listing.Folder.ID
}

// Neither the root nor the folder for homes ever becomes a home, even before any other account has
// one there (CVE-2026-62685).
func TestFoldersThatNeverBecomeAHome(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		ann := r.makeUser("ann", access.User)
		for _, at := range []string{"/", "/home", "/home/ann"} { // the second one contains only ann's home
			if changed := r.setDefaultPath(ann, at); changed.HomeID != ann.HomeID {
				t.Errorf("%s became the home", at)
			}
		}
		r.setDefaultPath(ann, "/home")
		bob := r.makeUser("bob", access.User)
		if _, err := r.put(bob, "/home/bob", "private", 1, files.RenameNew); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.list(ann, "/home"), " "); got != "ann" {
			t.Errorf("ann sees %q", got)
		}
		if _, err := r.tree.List(ctx, ann, files.ListQuery{Path: path(t, "/home/bob"), Page: 1,
			Limit: 1}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("ann in bob's home: %v", err)
		}
		if _, err := r.put(ann, "/home/bob", "private", 2, files.Replace); !fault.Is(err, fault.Forbidden) {
			t.Errorf("ann writes over bob's file: %v", err)
		}
		// below it, at a path without an account
		if changed := r.setDefaultPath(ann, "/home/carl"); changed.HomeID == ann.HomeID {
			t.Error("/home/carl did not become the home")
		}
		if carl, err := r.life.CreateUser(ctx, newUser("carl")); err != nil || carl.DefaultPath != "/home/carl-2" {
			t.Errorf("carl: %+v, %v", carl, err)
		}
	})
}

// No account gets a home inside another one's home, wherever folders and mounts were put since
// then.
func TestHomesAreNotNested(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		ann := r.makeUser("ann", access.User)
		homeless := func(name string) {
			t.Helper()
			made, err := r.life.CreateUser(ctx, newUser(name))
			if err != nil || made.HomeID != "" || made.DefaultPath != "/" {
				t.Errorf("%s: %+v, %v", name, made, err)
			}
			if names := r.list(r.firstAdmin(), "/home"); slices.Contains(names, name) {
				t.Errorf("a folder was made for %s: %q", name, names)
			}
		}
		// ann's folder becomes the folder for homes
		r.makeRootFolder("team")
		r.setDefaultPath(ann, "/team")
		r.rename(r.rootFolderID("home"), "former")
		r.rename(r.rootFolderID("team"), "home")
		homeless("bob")
		r.rename(r.rootFolderID("home"), "team")
		r.rename(r.rootFolderID("former"), "home")
		if carl, err := r.life.CreateUser(ctx, newUser("carl")); err != nil || carl.DefaultPath != "/home/carl" {
			t.Errorf("carl: %+v, %v", carl, err)
		}
		// ann's mount becomes the folder for homes
		m := mount.Mount{Path: path(t, "/vault"), Name: "vault", SortBy: "name", SortOrder: "asc"}
		if err := d.Read(ctx).QueryRow("SELECT id FROM providers").Scan(&m.ProviderID); err != nil {
			t.Fatal(err)
		}
		made, err := r.life.CreateMount(ctx, r.firstAdmin().UserID, m)
		if err != nil {
			t.Fatal(err)
		}
		r.setDefaultPath(ann, "/vault")
		if _, err := r.life.UpdateMount(ctx, made.ID,
			func(m *mount.Mount) error { m.Path = path(t, "/home"); return nil }); err != nil {
			t.Fatal(err)
		}
		homeless("dora")
	})
}

// An unchanged default path in an update makes no home: users choose their default path themselves,
// and a form sends the whole record.
func TestUnchangedDefaultPathMakesNoHome(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		r.makeRootFolder("projects")
		ann := r.makeUser("ann", access.User)
		wish := func(at string) {
			t.Helper()
			if err := d.Write(ctx, func(tx *db.Tx) error {
				return r.accounts.SetDefaultPath(tx, ann.UserID, at)
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []string{"/projects", "/no/such/folder"} {
			wish(at)
			if changed := r.setDefaultPath(ann, at); changed.HomeID != ann.HomeID {
				t.Errorf("%s became the home", at)
			}
		}
		if names := r.list(r.firstAdmin(), "/"); slices.Contains(names, "no") {
			t.Errorf("a folder was made: %q", names)
		}
		// another path than the present one
		if changed := r.setDefaultPath(ann, "/projects"); changed.HomeID != r.rootFolderID("projects") {
			t.Error("/projects did not become the home")
		}
	})
}

// Deleting an account renames only a home that belongs to it alone, not a folder of another owner,
// nor one that rules and accounts refer to by name.
func TestDeletingRenamesOnlyTheOwnHome(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		r.makeRootFolder("projects")
		for i, c := range []struct {
			at   string
			mine func(a access.Actor) // before it becomes the home
			kept bool
		}{
			{at: "/projects", kept: true},
			{at: "/public", kept: true},
			{at: "/uploads", kept: true},
			{at: "/team"},        // made for the account
			{at: "/team/public"}, // the name of a folder of the first start, at another path
			{at: "/public", kept: true, mine: func(access.Actor) {
				r.rename(r.rootFolderID("public"), "former public")
			}},
			{at: "/uploads", kept: true, mine: func(access.Actor) {
				r.rename(r.rootFolderID("uploads"), "former uploads")
			}},
		} {
			a := r.makeUser([]string{"ann", "bob", "carl", "dora", "emil", "fay", "gus"}[i], access.User)
			if c.mine != nil {
				c.mine(a)
			}
			home := r.setDefaultPath(a, c.at).HomeID
			if home == a.HomeID {
				t.Fatalf("%s did not become the home", c.at)
			}
			if err := r.life.DeleteUser(ctx, r.firstAdmin().UserID, a.UserID); err != nil {
				t.Fatal(err)
			}
			entry, _, err := r.tree.Details(ctx, r.firstAdmin(), home)
			if err != nil || (entry.Name == string(path(t, c.at).Base())) != c.kept || entry.OwnerID != r.firstAdmin().
				UserID {
				t.Errorf("%s: %+v, %v", c.at, entry, err)
			}
		}
		// a home at the path for homes
		ann := r.makeUser("gwen", access.User)
		r.setDefaultPath(ann, "/hers")
		r.rename(r.rootFolderID("home"), "former home")
		r.rename(r.rootFolderID("hers"), "home")
		if err := r.life.DeleteUser(ctx, r.firstAdmin().UserID, ann.UserID); err != nil {
			t.Fatal(err)
		}
		if names := r.list(r.firstAdmin(), "/"); !slices.Contains(names, "home") {
			t.Errorf("/home is gone: %q", names)
		}
	})
}
