package files_test

import (
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// A password on a folder covers the mounts below it, at any depth, for every operation.
func TestPasswordCoversMountsBelow(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		vault := h.createFolder(h.admin, "/public/vault")
		h.addMount("/public/vault/disk")
		h.addMount("/public/vault/disk/more/deep") // `more` is only a part of the mount's path
		near := h.mustUpload(h.admin, "/public/vault/disk/f", "near")
		deep := h.mustUpload(h.admin, "/public/vault/disk/more/deep/f", "deep")
		link, err := h.tree.Link(t.Context(), h.admin, near.ID)
		h.must(err)
		if got, err := h.readPath(h.visitor, "/public/vault/disk/f"); got != "near" || err != nil {
			t.Fatalf("without a password: %q, %v", got, err)
		}
		h.protectEntry(vault.ID)
		for _, who := range []access.Actor{h.visitor, h.bob, h.admin} { // a download asks everybody for the password
			for _, p := range []string{"/public/vault/disk/f", "/public/vault/disk/more/deep/f"} {
				_, err := h.readPath(who, p)
				h.wantFault(who.UserID+" reads "+p, err, fault.PasswordRequired)
			}
			for _, id := range []string{near.ID, deep.ID} {
				_, err := h.tree.ByID(t.Context(), who, id)
				h.wantFault(who.UserID+" fetches by id", err, fault.PasswordRequired)
			}
		}
		_, err = h.readPath(h.bob, "/public/vault/disk/absent")
		h.wantFault("whether a name exists", err, fault.PasswordRequired)
		_, err = h.tree.ByLink(t.Context(), link.ID)
		h.wantFault("a permanent link", err, fault.NotFound)
		_, err = h.tree.List(t.Context(), h.bob,
			files.ListQuery{Path: mustParsePath("/public/vault/disk"), Page: 1, Limit: 10})
		h.wantFault("a listing", err, fault.PasswordRequired)
		_, _, err = h.tree.Details(t.Context(), h.bob, deep.ID)
		h.wantFault("details", err, fault.PasswordRequired)
	})
}

// The entries of a mount inside a home belong to the home.
func TestHomeIncludesMountsBelow(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/home/ann/disk")
		f := h.mustUpload(h.admin, "/home/ann/disk/f", "x")
		if got, err := h.readPath(h.ann, "/home/ann/disk/f"); got != "x" || err != nil {
			t.Errorf("ann reads %q, %v", got, err)
		}
		_, err := h.tree.Rename(t.Context(), h.ann, f.ID, "g")
		h.must(err)
		h.mustUpload(h.ann, "/home/ann/disk/new", "y")
		_, err = h.readPath(h.bob, "/home/ann/disk/g")
		h.wantFault("bob", err, fault.Forbidden)
	})
}

// An actor who may not write somewhere does not learn from the refusal that a mount is there.
func TestRefusalsDoNotRevealMounts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/top")
		h.mustUpload(h.admin, "/top/plan", "a file in the way of the mount")
		h.mustUpload(h.admin, "/top/other", "another file")
		h.addMount("/top/plan/disk")
		for _, c := range []files.Conflict{files.RenameNew, files.Fail, files.Replace} {
			for _, p := range []string{"/top/plan", "/top/other", "/top/absent"} {
				_, err := h.upload(h.bob, p, "x", c)
				h.wantFault("bob puts "+p+" by "+string(c), err, fault.Forbidden)
			}
		}
		held := h.createFolder(h.admin, "/held")
		h.addRule(access.Rule{Pattern: "/hel?", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Update)})
		h.mustUpload(h.admin, "/held/f", "not his")
		h.addMount("/held/disk")
		_, err := h.tree.Rename(t.Context(), h.bob, held.ID, "help")
		h.wantFault("bob renames a folder and may not change its other fields", err, fault.Forbidden)
		_, err = h.tree.Rename(t.Context(), h.admin, held.ID, "help")
		h.wantFault("the administrator renames it", err, fault.Conflict)
	})
}

// A new account gets no home that contains an existing mount. It gets a home with a number.
func TestNewHomesAvoidExistingMounts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/home/carol")
		h.addMount("/home/carol-2/disk")
		h.mustUpload(h.admin, "/home/carol-2/disk/f", "x")
		var home vpath.Path
		h.write(func(tx *db.Tx) (err error) {
			_, home, err = h.tree.InsertHome(t.Context(), tx, "carol", "carol", noHome)
			return err
		})
		if home.String() != "/home/carol-3" {
			t.Errorf("the home is %s", home)
		}
	})
}

// A virtual folder above a mount reserves its name. An entry of that name would hide the mount.
func TestVirtualFolderNamesAreReserved(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/home/ann/over/disk")
		dir := h.createFolder(h.ann, "/home/ann/dir")
		h.mustUpload(h.ann, "/home/ann/dir/disk", "would be hidden")
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		_, err := h.tree.Rename(t.Context(), h.ann, dir.ID, "over")
		h.wantFault("renamed to it", err, fault.AlreadyExists)
		away := h.createFolder(h.ann, "/home/ann/away")
		over := vpath.Name("over")
		_, err = h.tree.Move(t.Context(), h.ann, dir.ID, mustParsePath("/home/ann"), &over)
		h.wantFault("moved to it", err, fault.Conflict)
		_, err = h.tree.Move(t.Context(), h.ann, f.ID, mustParsePath("/home/ann"), &over)
		h.wantFault("a file moved to it", err, fault.Conflict)
		for _, c := range []files.Conflict{files.Fail, files.Replace} {
			_, err = h.upload(h.ann, "/home/ann/over", "x", c)
			h.wantFault("uploaded to it", err, fault.AlreadyExists)
		}
		e, err := h.upload(h.ann, "/home/ann/over", "x", files.RenameNew)
		if err != nil || e.Name != "over (1)" {
			t.Errorf("uploaded with a number: %q, %v", e.Name, err)
		}
		_, err = h.tree.Move(t.Context(), h.ann, away.ID, mustParsePath("/home/ann/dir"), &over)
		h.must(err)                             // the same name is free elsewhere
		h.createFolder(h.ann, "/home/ann/over") // and the virtual folder may be created
		if got, err := h.readPath(h.ann, "/home/ann/dir/disk"); got != "would be hidden" || err != nil {
			t.Errorf("the file that was not moved: %q, %v", got, err)
		}
	})
}

// A rule for one mount reveals nothing in another mount, and a denial applies in its own mount.
func TestMountRulesApplyToTheirMountOnly(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/disk")
		h.createFolder(h.admin, "/disk/plans")
		h.createFolder(h.admin, "/top")
		h.createFolder(h.admin, "/top/plans")
		read := access.Set(access.Read)
		// of the first mount, "m": /top shows, /disk lies in another
		h.addRule(access.Rule{Pattern: "/*/plans/**", Effect: access.Allow, Role: access.User, MountID: "m",
			Permissions: read})
		if got := h.listFolder(h.bob, "/top"); !slices.Equal(got, []string{"plans/"}) {
			t.Errorf("in the mount that the rule is for: %q", got)
		}
		_, err := h.tree.List(t.Context(), h.bob, files.ListQuery{Path: mustParsePath("/disk"), Page: 1, Limit: 10})
		h.wantFault("in another", err, fault.Forbidden)

		h.createFolder(h.admin, "/top/secret")
		h.addRule(access.Rule{Pattern: "/top/**", Effect: access.Allow, UserID: "bob", Permissions: read})
		if got := h.listFolder(h.bob, "/top"); !slices.Equal(got, []string{"plans/", "secret/"}) {
			t.Errorf("before the deny: %q", got)
		}
		h.addRule(access.Rule{Pattern: "/top/secret/**", Effect: access.Deny, UserID: "bob", MountID: "m"})
		if got := h.listFolder(h.bob, "/top"); !slices.Equal(got, []string{"plans/"}) {
			t.Errorf("after a deny for the mount: %q", got)
		}
	})
}
