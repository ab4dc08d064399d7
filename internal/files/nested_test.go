package files_test

import (
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// mount makes a mount of the same provider and returns its root's id.
func (h *house) mount(p string) (root string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		if root, err = h.tree.InsertRoot(tx, "admin", "M"); err != nil {
			return err
		}
		return mount.New(h.db).Insert(tx, mount.Mount{ID: h.ids.UUID(), ProviderID: "local", RootID: root, Path: path(p), Name: "M", SortBy: "name", SortOrder: "asc"}, 0)
	})
	return root
}

// A password on a folder covers what is mounted below it, at any depth, for every way of asking.
func TestPasswordCoversMountsBelow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		vault := h.folder(h.admin, "/public/vault")
		h.mount("/public/vault/disk")
		h.mount("/public/vault/disk/more/deep") // `more` is nothing but a part of its path
		near := h.file(h.admin, "/public/vault/disk/f", "near")
		deep := h.file(h.admin, "/public/vault/disk/more/deep/f", "deep")
		link, err := h.tree.Link(t.Context(), h.admin, near.ID)
		h.must(err)
		if got, err := h.read(h.visitor, "/public/vault/disk/f"); got != "near" || err != nil {
			t.Fatalf("without a password: %q, %v", got, err)
		}
		h.protect(vault.ID)
		for _, who := range []access.Actor{h.visitor, h.bob, h.admin} { // a download asks everybody
			for _, p := range []string{"/public/vault/disk/f", "/public/vault/disk/more/deep/f"} {
				_, err := h.read(who, p)
				h.wantFault(who.UserID+" reads "+p, err, fault.PasswordRequired)
			}
			for _, id := range []string{near.ID, deep.ID} {
				_, err := h.tree.ByID(t.Context(), who, id)
				h.wantFault(who.UserID+" fetches by id", err, fault.PasswordRequired)
			}
		}
		_, err = h.read(h.bob, "/public/vault/disk/absent")
		h.wantFault("whether a name exists", err, fault.PasswordRequired)
		_, err = h.tree.ByLink(t.Context(), link.ID)
		h.wantFault("a permanent link", err, fault.NotFound)
		_, err = h.tree.List(t.Context(), h.bob, files.ListQuery{Path: path("/public/vault/disk"), Page: 1, Limit: 10})
		h.wantFault("a listing", err, fault.PasswordRequired)
		_, _, err = h.tree.Details(t.Context(), h.bob, deep.ID)
		h.wantFault("details", err, fault.PasswordRequired)
	})
}

// What is mounted in a home is inside the home.
func TestHomeHoldsMountsBelow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.mount("/home/ann/disk")
		f := h.file(h.admin, "/home/ann/disk/f", "x")
		if got, err := h.read(h.ann, "/home/ann/disk/f"); got != "x" || err != nil {
			t.Errorf("ann reads: %q, %v", got, err)
		}
		_, err := h.tree.Rename(t.Context(), h.ann, f.ID, "g")
		h.must(err)
		h.file(h.ann, "/home/ann/disk/new", "y")
		_, err = h.read(h.bob, "/home/ann/disk/g")
		h.wantFault("bob", err, fault.Forbidden)
	})
}

// Whoever may not write somewhere does not learn from a refusal that something is mounted there.
func TestRefusalsTellOfNoMount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.folder(h.admin, "/top")
		h.file(h.admin, "/top/plan", "a file in the way of the mount")
		h.file(h.admin, "/top/other", "another file")
		h.mount("/top/plan/disk")
		for _, c := range []files.Conflict{files.RenameNew, files.Fail, files.Replace} {
			for _, p := range []string{"/top/plan", "/top/other", "/top/absent"} {
				_, err := h.put(h.bob, p, "x", c)
				h.wantFault("bob puts "+p+" by "+string(c), err, fault.Forbidden)
			}
		}
		held := h.folder(h.admin, "/held")
		h.rule(access.Rule{Pattern: "/hel?", Effect: access.Allow, UserID: "bob", Permissions: access.Set(access.Update)})
		h.file(h.admin, "/held/f", "not his")
		h.mount("/held/disk")
		_, err := h.tree.Rename(t.Context(), h.bob, held.ID, "help")
		h.wantFault("bob renames a folder of which he may change nothing else", err, fault.Forbidden)
		_, err = h.tree.Rename(t.Context(), h.admin, held.ID, "help")
		h.wantFault("the administrator renames it", err, fault.Conflict)
	})
}

// A new account is given no home that holds what was mounted before: it gets one with a number.
func TestNewHomesHoldNoMount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.mount("/home/carol")
		h.mount("/home/carol-2/disk")
		h.file(h.admin, "/home/carol-2/disk/f", "x")
		var home vpath.Path
		h.write(func(tx *db.Tx) (err error) {
			_, home, err = h.tree.InsertHome(t.Context(), tx, "carol", "carol", nobodys)
			return err
		})
		if home.String() != "/home/carol-3" {
			t.Errorf("the home is %s", home)
		}
	})
}

// A folder that is only there because a mount lies below it has its name: another entry under it would hide what is in it.
func TestNamesOverMountsAreTaken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.mount("/home/ann/over/disk")
		dir := h.folder(h.ann, "/home/ann/dir")
		h.file(h.ann, "/home/ann/dir/disk", "would be hidden")
		f := h.file(h.ann, "/home/ann/f", "x")
		_, err := h.tree.Rename(t.Context(), h.ann, dir.ID, "over")
		h.wantFault("renamed to it", err, fault.AlreadyExists)
		away := h.folder(h.ann, "/home/ann/away")
		over := vpath.Name("over")
		_, err = h.tree.Move(t.Context(), h.ann, dir.ID, path("/home/ann"), &over)
		h.wantFault("moved to it", err, fault.Conflict)
		_, err = h.tree.Move(t.Context(), h.ann, f.ID, path("/home/ann"), &over)
		h.wantFault("a file moved to it", err, fault.Conflict)
		for _, c := range []files.Conflict{files.Fail, files.Replace} {
			_, err = h.put(h.ann, "/home/ann/over", "x", c)
			h.wantFault("uploaded to it", err, fault.AlreadyExists)
		}
		e, err := h.put(h.ann, "/home/ann/over", "x", files.RenameNew)
		if err != nil || e.Name != "over (1)" {
			t.Errorf("uploaded with a number: %q, %v", e.Name, err)
		}
		_, err = h.tree.Move(t.Context(), h.ann, away.ID, path("/home/ann/dir"), &over)
		h.must(err)                       // the same name elsewhere is free
		h.folder(h.ann, "/home/ann/over") // and the folder may become a real one
		if got, err := h.read(h.ann, "/home/ann/dir/disk"); got != "would be hidden" || err != nil {
			t.Errorf("what was not moved: %q, %v", got, err)
		}
	})
}

// A rule for one mount reveals nothing in another, and takes back what it denies in its own.
func TestRulesOfOneMountRevealThereOnly(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.mount("/disk")
		h.folder(h.admin, "/disk/plans")
		h.folder(h.admin, "/top")
		h.folder(h.admin, "/top/plans")
		read := access.Set(access.Read)
		// of the first mount, "m": /top shows, /disk lies in another
		h.rule(access.Rule{Pattern: "/*/plans/**", Effect: access.Allow, Role: access.User, MountID: "m", Permissions: read})
		if got := h.list(h.bob, "/top"); !slices.Equal(got, []string{"plans/"}) {
			t.Errorf("in the mount that the rule is for: %q", got)
		}
		_, err := h.tree.List(t.Context(), h.bob, files.ListQuery{Path: path("/disk"), Page: 1, Limit: 10})
		h.wantFault("in another", err, fault.Forbidden)

		h.folder(h.admin, "/top/secret")
		h.rule(access.Rule{Pattern: "/top/**", Effect: access.Allow, UserID: "bob", Permissions: read})
		if got := h.list(h.bob, "/top"); !slices.Equal(got, []string{"plans/", "secret/"}) {
			t.Errorf("before the deny: %q", got)
		}
		h.rule(access.Rule{Pattern: "/top/secret/**", Effect: access.Deny, UserID: "bob", MountID: "m"})
		if got := h.list(h.bob, "/top"); !slices.Equal(got, []string{"plans/"}) {
			t.Errorf("after a deny for the mount: %q", got)
		}
	})
}
