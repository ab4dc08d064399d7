package files_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

func TestListShowsOnlyReadableEntries(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/uploads/ann.txt", "1")
		h.mustUpload(h.bob, "/uploads/bob.txt", "2")
		h.createFolder(h.bob, "/uploads/bobs")
		h.mustUpload(h.ann, "/home/ann/secret.txt", "3")
		h.mustUpload(h.admin, "/public/logo.png", "4")
		for _, c := range []struct {
			who  access.Actor
			path string
			want []string
		}{
			{h.admin, "/", []string{"home/", "public/", "uploads/"}},
			{h.ann, "/", []string{"home/", "public/", "uploads/"}},
			{h.visitor, "/", []string{"public/"}},
			{h.ann, "/home", []string{"ann/"}},
			{h.ann, "/home/ann", []string{"secret.txt"}},
			{h.ann, "/uploads", []string{"bobs/", "ann.txt"}}, // a folder is listed for an actor who may write in it
			{h.bob, "/uploads", []string{"bobs/", "bob.txt"}},
			{h.admin, "/uploads", []string{"bobs/", "ann.txt", "bob.txt"}},
			{h.visitor, "/public", []string{"logo.png"}},
		} {
			if got := h.listFolder(c.who, c.path); !slices.Equal(got, c.want) {
				t.Errorf("%s lists %s: %q, want %q", c.who.UserID, c.path, got, c.want)
			}
		}
		for _, c := range []struct {
			who  access.Actor
			path string
			kind fault.Kind
		}{
			{h.bob, "/home/ann", fault.Forbidden},
			{h.bob, "/home/ann/absent", fault.Forbidden}, // permission is checked before existence
			{h.bob, "/absent", fault.Forbidden},
			{h.visitor, "/uploads", fault.Forbidden},
			{h.ann, "/home/ann/absent", fault.NotFound},
			{h.ann, "/home/ann/secret.txt", fault.NotFound}, // a file
			{h.admin, "/absent", fault.NotFound},
		} {
			_, err := h.tree.List(t.Context(), c.who, files.ListQuery{Path: mustParsePath(c.path), Page: 1, Limit: 10})
			h.wantFault(c.who.UserID+" lists "+c.path, err, c.kind)
		}
	})
}

// Abuse case C28: a denied entry is neither listed nor counted, in a listing or a search.
func TestDeniedNamesAreAbsentAndNotCounted(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addRule(access.Rule{Pattern: "/public/*.key", Effect: access.Deny, Role: access.User,
			Permissions: access.Set(access.Read)})
		for _, name := range []string{"a.key", "b.txt", "c.key", "d.txt"} {
			h.mustUpload(h.admin, "/public/"+name, name)
		}
		h.createFolder(h.admin, "/private")
		h.mustUpload(h.admin, "/private/b.txt", "x")
		if got, want := h.listFolder(h.ann, "/public"), []string{"b.txt", "d.txt"}; !slices.Equal(got, want) {
			t.Errorf("listing: %q, want %q", got, want)
		}
		if got := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/"), Search: "key"}); len(got) != 0 {
			t.Errorf("search for a denied entry: %q", got)
		}
		if got, want := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/"),
			Search: "B.TX"}), []string{"b.txt"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
		l, err := h.tree.List(t.Context(), h.ann, files.ListQuery{Path: mustParsePath("/public"), Page: 2, Limit: 1})
		h.must(err)
		if l.Total != 2 || len(l.Items) != 1 || l.Items[0].Name != "d.txt" {
			t.Errorf("second page: %+v", l)
		}
	})
}

func TestListOrder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := "/home/ann/"
		for i, f := range []struct{ name, content string }{{"b", "333"}, {"A", "22"}, {"c", "1"}, {"É", "22"}} {
			h.advance(time.Second)
			e := h.mustUpload(h.ann, dir+f.name, f.content)
			if f.name == "c" || f.name == "b" { // positions 10 and 8, the others have none
				h.exec("UPDATE entries SET manual_position = $1 WHERE id = $2", 8+i, e.ID)
			}
		}
		h.createFolder(h.ann, dir+"z")
		h.createFolder(h.ann, dir+"Y")
		for _, c := range []struct {
			q    files.ListQuery
			want []string
		}{
			{files.ListQuery{}, []string{"Y/", "z/", "A", "b", "c", "É"}},
			{files.ListQuery{Sort: "name", Order: "desc"}, []string{"z/", "Y/", "É", "c", "b", "A"}},
			{files.ListQuery{Sort: "size"}, []string{"Y/", "z/", "c", "A", "É", "b"}},
			{files.ListQuery{Sort: "size", Order: "desc"}, []string{"Y/", "z/", "b", "A", "É", "c"}},
			{files.ListQuery{Sort: "time", Type: "file"}, []string{"b", "A", "c", "É"}},
			{files.ListQuery{Sort: "time", Order: "desc", Type: "file"}, []string{"É", "c", "A", "b"}},
			{files.ListQuery{Sort: "manual", Type: "file"}, []string{"b", "c", "A", "É"}},
			{files.ListQuery{Sort: "manual", Order: "desc", Type: "file"}, []string{"c", "b", "A", "É"}},
			{files.ListQuery{Type: "folder"}, []string{"Y/", "z/"}},
			{files.ListQuery{Limit: 2, Page: 2}, []string{"A", "b"}},
			{files.ListQuery{Limit: 2, Page: 9}, []string{}},
			{files.ListQuery{Limit: 2, Page: 1 << 62}, []string{}},
			{files.ListQuery{Search: "e\u0301"}, []string{"É"}}, // ignores case; the query is in NFD
		} {
			c.q.Path = mustParsePath(dir)
			if got := h.listNames(h.ann, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		for _, q := range []files.ListQuery{
			{Page: 0, Limit: 1}, {Page: 1, Limit: 0}, {Page: 1, Limit: 1, Sort: "id"}, {Page: 1, Limit: 1, Order: "up"},
			{Page: 1, Limit: 1, Type: "x"},
		} {
			q.Path = mustParsePath(dir)
			_, err := h.tree.List(t.Context(), h.ann, q)
			h.wantFault(fmt.Sprintf("%+v", q), err, fault.Invalid)
		}
	})
}

// Abuse case C18: names that are patterns in other systems are literal here.
func TestWildcardsInNamesAreLiteral(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := "/home/ann"
		under := h.createFolder(h.ann, dir+"/a_b")
		h.createFolder(h.ann, dir+"/axb")
		h.createFolder(h.ann, dir+`/100%`)
		h.mustUpload(h.ann, dir+"/axb/keep.txt", "kept")
		h.mustUpload(h.ann, dir+"/a_b/gone.txt", "gone")
		for search, want := range map[string][]string{"%": {"100%/"}, "_": {"a_b/"}, "A_": {"a_b/"}, `\`: {}} {
			if got := h.listNames(h.ann, files.ListQuery{Path: mustParsePath(dir), Search: search}); !slices.Equal(got,
				want) {
				t.Errorf("search %q: %q, want %q", search, got, want)
			}
		}
		rows, _, err := h.tree.Delete(t.Context(), h.ann, under.ID)
		h.must(err)
		if rows != 2 {
			t.Errorf("deleted %d entries, want 2", rows)
		}
		if got, err := h.readPath(h.ann, dir+"/axb/keep.txt"); got != "kept" || err != nil {
			t.Errorf("the neighbour: %q, %v", got, err)
		}
	})
}

// A search includes folders that are not listed, and hides the entries behind a password.
func TestSearchFindsOwnEntriesInHiddenFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		hidden := h.createFolder(h.admin, "/hidden")
		h.write(func(tx *db.Tx) error {
			_, err := h.tree.InsertFolder(tx, hidden.ID, "mine-too", "ann")
			return err
		})
		if got, want := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/"),
			Search: "mine"}), []string{"mine-too/"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
		if got := h.listFolder(h.ann, "/"); slices.Contains(got, "hidden/") {
			t.Errorf("ownership of an entry lists the folder above it: %q", got)
		}
		locked := h.createFolder(h.admin, "/public/locked")
		h.mustUpload(h.admin, "/public/locked/mine.txt", "x")
		h.protectEntry(locked.ID)
		if got := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/public"), Search: "mine"}); len(got) != 0 {
			t.Errorf("search below a password: %q", got)
		}
		if got, want := h.listFolder(h.ann, "/public"), []string{"locked/"}; !slices.Equal(got, want) {
			t.Errorf("the folder itself is listed: %q, want %q", got, want)
		}
		_, err := h.tree.List(t.Context(), h.ann,
			files.ListQuery{Path: mustParsePath("/public/locked"), Page: 1, Limit: 1})
		h.wantFault("list a folder with a password", err, fault.PasswordRequired)
		with := h.ann
		with.Unlocked = []string{locked.ID}
		if got, want := h.listFolder(with, "/public/locked"), []string{"mine.txt"}; !slices.Equal(got, want) {
			t.Errorf("with the password: %q, want %q", got, want)
		}
	})
}

func TestEntryDetails(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/x.txt", "abc")
		e, m, err := h.tree.Details(t.Context(), h.ann, f.ID)
		h.must(err)
		if e.Name != "x.txt" || e.Dir.String() != "/home/ann" || e.Size != 3 || e.OwnerID != "ann" ||
			m.Name != "Files" || e.Permissions != access.All || e.Public {
			t.Errorf("details: %+v in %+v", e, m)
		}
		_, _, err = h.tree.Details(t.Context(), h.bob, f.ID) // abuse case C29
		h.wantFault("another user's file", err, fault.Forbidden)
		_, _, err = h.tree.Details(t.Context(), h.bob, "absent")
		h.wantFault("no such id", err, fault.NotFound)
		_, _, err = h.tree.Details(t.Context(), h.admin, "graveyard")
		h.wantFault("the graveyard", err, fault.NotFound)
		e, _, err = h.tree.Details(t.Context(), h.admin, h.root)
		h.must(err)
		if e.Path() != vpath.Root {
			t.Errorf("the root's path: %s", e.Path())
		}
	})
}
