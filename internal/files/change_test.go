package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

func TestCreateFolderValidatesNames(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		home := mustParsePath("/home/ann")
		nfc, nfd := mustParsePath("/home/ann/\u00e9"), mustParsePath("/home/ann/e\u0301")
		h.createFolder(h.ann, nfc.String())
		_, err := h.tree.CreateFolder(t.Context(), h.ann, home, nfd.Base()) // abuse case C7
		h.wantFault("NFD beside NFC", err, fault.AlreadyExists)
		h.mustUpload(h.ann, "/home/ann/e\u0301/Secret.txt", "found")
		if got, err := h.readPath(h.ann, "/home/ann/\u00e9/Secret.txt"); got != "found" || err != nil {
			t.Errorf("by NFC: %q, %v", got, err)
		}
		_, err = h.readPath(h.ann, "/home/ann/\u00e9/secret.txt") // abuse case C8
		h.wantFault("another case", err, fault.NotFound)
		h.addRule(access.Rule{Pattern: "/home/ann/\u00e9/**", Effect: access.Deny, UserID: "ann"})
		_, err = h.readPath(h.ann, "/home/ann/e\u0301/Secret.txt")
		h.wantFault("a rule in NFC, a path in NFD", err, fault.Forbidden)

		// abuse cases C10, C13, C14
		for _, name := range []vpath.Name{"CON", "aux.png", ".htaccess", ".well-known", "a..b.txt", "...",
			"a?b#c;d%20&+.png"} {
			h.mustUpload(h.ann, "/home/ann/"+string(name), string(name))
			if got, err := h.readPath(h.ann, "/home/ann/"+string(name)); got != string(name) || err != nil {
				t.Errorf("%q: %q, %v", name, got, err)
			}
		}
	})
}

func TestCreateFolder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		e := h.createFolder(h.ann, "/home/ann/new")
		if e.Name != "new" || e.Dir.String() != "/home/ann" || !e.Folder || e.Size != 0 || e.OwnerID != "ann" {
			t.Errorf("made %+v", e)
		}
		h.mustUpload(h.ann, "/home/ann/file", "x")
		for _, c := range []struct {
			who    access.Actor
			parent string
			name   vpath.Name
			kind   fault.Kind
		}{
			{h.ann, "/home/ann", "new", fault.AlreadyExists},
			{h.ann, "/home/ann", "file", fault.AlreadyExists},
			{h.ann, "/home/ann/absent", "x", fault.NotFound},
			{h.ann, "/home/ann/file", "x", fault.NotFound},
			{h.ann, "/home/bob", "x", fault.Forbidden},
			{h.ann, "/home/bob/absent", "x", fault.Forbidden},
			{h.ann, "/", "x", fault.Forbidden},
			{h.admin, "/", "WebDAV", fault.Invalid},
		} {
			_, err := h.tree.CreateFolder(t.Context(), c.who, mustParsePath(c.parent), c.name)
			h.wantFault(fmt.Sprintf("%s makes %s in %s", c.who.UserID, c.name, c.parent), err, c.kind)
		}
	})
}

// Abuse cases C25 and C26.
func TestRename(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f.txt", "x")
		h.mustUpload(h.ann, "/home/ann/taken", "x")
		e, err := h.tree.Rename(t.Context(), h.ann, dir.ID, "Other")
		h.must(err)
		if e.ID != dir.ID || e.Name != "Other" {
			t.Errorf("renamed %+v", e)
		}
		if got, err := h.readPath(h.ann, "/home/ann/Other/f.txt"); got != "x" || err != nil {
			t.Errorf("below the new name: %q, %v", got, err)
		}
		if got, want := h.listFolder(h.ann, "/home/ann"), []string{"Other/", "taken"}; !slices.Equal(got, want) {
			t.Errorf("the folder contains %q, want %q", got, want)
		}
		if got := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/home/ann"),
			Search: "oTHER"}); !slices.Equal(got, []string{"Other/"}) {
			t.Errorf("search for the new name: %q", got)
		}
		rename := func(a access.Actor, id string, name vpath.Name) error {
			_, err := h.tree.Rename(t.Context(), a, id, name)
			return err
		}
		h.wantFault("a name that is taken", rename(h.ann, dir.ID, "taken"), fault.AlreadyExists)
		h.wantFault("another user's", rename(h.bob, dir.ID, "x"), fault.Forbidden)
		h.wantFault("no such entry", rename(h.bob, "absent", "x"), fault.NotFound)
		h.wantFault("the root of a mount", rename(h.admin, h.root, "x"), fault.Conflict)
		top := h.createFolder(h.admin, "/top")
		h.wantFault("a reserved name", rename(h.admin, top.ID, "App"), fault.Invalid)
		h.addRule(access.Rule{Pattern: "/home/ann/frozen/**", Effect: access.Deny, Role: access.User})
		h.wantFault("into a denied path", rename(h.ann, dir.ID, "frozen"), fault.Forbidden)
		h.addRule(access.Rule{Pattern: "/home/ann/Other/f.*", Effect: access.Deny, Role: access.User,
			Permissions: access.Set(access.Update)})
		h.wantFault("a folder with something denied in it", rename(h.ann, dir.ID, "fine"), fault.Forbidden)
		h.wantFault("an entry that is denied itself", rename(h.ann, f.ID, "fine"), fault.Forbidden)
	})
}

func TestDeleteGivesQuotaBack(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.admin, "/uploads/dir")
		h.mustUpload(h.ann, "/uploads/dir/a/b/one", "12345")
		h.mustUpload(h.ann, "/uploads/dir/two", "123")
		h.mustUpload(h.bob, "/uploads/dir/a/three", "1234567")
		h.mustUpload(h.bob, "/uploads/dir/a/b/five", "12") // beside files of ann's
		h.mustUpload(h.bob, "/uploads/four", "1")
		_, _, err := h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.wantFault("somebody else's folder", err, fault.Forbidden)
		rows, bytes, err := h.tree.Delete(t.Context(), h.admin, dir.ID)
		h.must(err)
		if rows != 7 || bytes != 17 {
			t.Errorf("deleted %d entries and %d bytes, want 7 and 17", rows, bytes)
		}
		for user, want := range map[string][2]int64{"ann": {0, 0}, "bob": {1, 1}} {
			if bytes, count := h.usage(user); bytes != want[0] || count != want[1] {
				t.Errorf("%s is charged %d bytes and %d files, want %v", user, bytes, count, want)
			}
		}
		_, err = h.readPath(h.ann, "/uploads/dir/two")
		h.wantFault("a deleted entry", err, fault.Forbidden) // the same answer as for an entry that never existed
		_, _, err = h.tree.Delete(t.Context(), h.admin, dir.ID)
		h.wantFault("twice", err, fault.NotFound)
		_, _, err = h.tree.Delete(t.Context(), h.admin, h.root)
		h.wantFault("the root of a mount", err, fault.Conflict)
	})
}

// A change of a folder applies to the whole folder. An entry of another owner, or behind another
// user's password, makes the change refused.
func TestFolderChangeNeedsAllContents(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/uploads/anns")
		mixed := h.mustUpload(h.bob, "/uploads/anns/x/bobs", "1")
		_, _, err := h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.wantFault("something is bob's", err, fault.Forbidden)
		_, _, err = h.tree.Delete(t.Context(), h.bob, mixed.ID)
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.ann, dir.ID)
		h.wantFault("the folder x is still bob's", err, fault.Forbidden)
		bobs := h.createFolder(h.bob, "/uploads/bobs") // the same with the names in the other order
		mixed = h.mustUpload(h.ann, "/uploads/bobs/y/anns", "1")
		_, _, err = h.tree.Delete(t.Context(), h.bob, bobs.ID)
		h.wantFault("something is ann's", err, fault.Forbidden)
		_, _, err = h.tree.Delete(t.Context(), h.ann, mixed.ID)
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.bob, bobs.ID)
		h.wantFault("the folder y is still ann's", err, fault.Forbidden)
		beside := h.createFolder(h.bob, "/uploads/beside")
		h.mustUpload(h.bob, "/uploads/beside/z", "1")
		h.mustUpload(h.ann, "/uploads/beside/z2", "1")
		_, _, err = h.tree.Delete(t.Context(), h.bob, beside.ID)
		h.wantFault("a file of ann's beside bob's", err, fault.Forbidden)
		beside = h.createFolder(h.ann, "/uploads/beside-ann")
		h.mustUpload(h.bob, "/uploads/beside-ann/z", "1")
		_, _, err = h.tree.Delete(t.Context(), h.ann, beside.ID)
		h.wantFault("a file of bob's", err, fault.Forbidden)

		h.addRule(access.Rule{Pattern: "/team/**", Effect: access.Allow, Role: access.User})
		team := h.createFolder(h.admin, "/team/")
		inner := h.createFolder(h.ann, "/team/inner")
		h.mustUpload(h.ann, "/team/inner/f", "1")
		h.protectEntry(inner.ID)
		sub := h.createFolder(h.bob, "/team/sub")
		_, err = h.tree.Move(t.Context(), h.ann, inner.ID, mustParsePath("/team/sub"), nil)
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.bob, sub.ID)
		h.wantFault("something has ann's password", err, fault.Forbidden)
		if _, _, err := h.tree.Delete(t.Context(), h.admin, team.ID); err != nil {
			t.Errorf("administrators: %v", err)
		}
	})
}

func TestMove(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f.txt", "x")
		h.createFolder(h.ann, "/home/ann/to")
		h.mustUpload(h.ann, "/home/ann/to/taken", "x")
		name := vpath.Name("renamed")
		j, err := h.tree.Move(t.Context(), h.ann, dir.ID, mustParsePath("/home/ann/to"), &name)
		h.must(err)
		if got, err := h.readPath(h.ann, "/home/ann/to/renamed/f.txt"); got != "x" || err != nil {
			t.Errorf("at the new place: %q, %v", got, err)
		}
		stored, err := job.ByID(h.db.Read(t.Context()), "ann", j.ID)
		h.must(err)
		if stored.Status != "completed" || stored.Progress != 100 || stored.Type != "move" ||
			stored.CompletedAt == nil {
			t.Errorf("job: %+v", stored)
		}
		_, err = job.ByID(h.db.Read(t.Context()), "bob", j.ID)
		h.wantFault("another user's job", err, fault.NotFound)

		h.addRule(access.Rule{Pattern: "/home/ann/closed/**", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Write)})
		taken, closed := vpath.Name("taken"), vpath.Name("closed")
		for what, c := range map[string]struct {
			who  access.Actor
			id   string
			to   string
			name *vpath.Name
			kind fault.Kind
		}{
			"into itself":          {h.ann, dir.ID, "/home/ann/to/renamed", nil, fault.Conflict},
			"below itself":         {h.ann, f.ID, "/home/ann/to/renamed", nil, fault.Conflict},
			"a name that is taken": {h.ann, f.ID, "/home/ann/to", &taken, fault.Conflict},
			"no such folder":       {h.ann, f.ID, "/home/ann/absent", nil, fault.NotFound},
			"a file as target":     {h.ann, f.ID, "/home/ann/to/taken", nil, fault.NotFound},
			"no such entry":        {h.ann, "absent", "/home/ann", nil, fault.NotFound},
			"not mine":             {h.bob, f.ID, "/home/bob", nil, fault.Forbidden},
			"not there":            {h.ann, f.ID, "/home/bob", nil, fault.Forbidden},
			"not there, absent":    {h.ann, f.ID, "/home/bob/absent", nil, fault.Forbidden},
			"denied there":         {h.ann, f.ID, "/home/ann", &closed, fault.Forbidden}, // abuse case C25
			"the root":             {h.admin, h.root, "/public", nil, fault.Conflict},
		} {
			_, err := h.tree.Move(t.Context(), c.who, c.id, mustParsePath(c.to), c.name)
			h.wantFault(what, err, c.kind)
		}
		if got, err := h.readPath(h.ann, "/home/ann/to/renamed/f.txt"); got != "x" || err != nil {
			t.Errorf("after the refusal: %q, %v", got, err)
		}
	})
}

func TestMoveRespectsDepthLimit(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/d")
		h.mustUpload(h.ann, "/home/ann/d/e/f", "x") // two levels below d
		deep := "/home/ann" + strings.Repeat("/x", 60)
		h.mustUpload(h.ann, deep+"/file", "x") // deep has 62 levels, so d would lie on 63 and f on 65
		_, err := h.tree.Move(t.Context(), h.ann, dir.ID, mustParsePath(deep), nil)
		h.wantFault("a level too deep", err, fault.Invalid)
		_, err = h.tree.Move(t.Context(), h.ann, dir.ID, mustParsePath(deep).Parent(), nil)
		h.must(err)
		if got, err := h.readPath(h.ann, mustParsePath(deep).Parent().String()+"/d/e/f"); got != "x" || err != nil {
			t.Errorf("64 levels down: %q, %v", got, err)
		}
	})
}
