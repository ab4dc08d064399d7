package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// searchPaths searches and returns the paths of the results.
func (f *fixture) searchPaths(a access.Actor, q files.ListQuery) []string {
	f.t.Helper()
	q.Page, q.Limit = 1, 100
	l, err := f.tree.List(f.t.Context(), a, q)
	f.must(err)
	found := []string{}
	for _, e := range l.Items {
		found = append(found, e.Path().String())
	}
	if l.Total != len(found) {
		f.t.Errorf("total %d, but %d items", l.Total, len(found))
	}
	return found
}

// Abuse case C19: a mount appears in place of the entries that it covers, in listings, in searches
// and by id.
func TestMountsShowAsFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/photos")
		h.createFolder(h.admin, "/photos/2026")
		h.mustUpload(h.admin, "/photos/2026/shadowed.jpg", "x")
		under := h.mustUpload(h.admin, "/photos/note.txt", "a file that the second mount hides")
		h.mustUpload(h.admin, "/photos/outer.jpg", "x")
		root := h.addMount("/photos/2026")
		h.addMount("/photos/note.txt")
		h.addMountWithPriority("/photos/hidden", -1) // the mount at the root covers it
		h.createFolder(h.admin, "/photos/2026/inner")
		h.mustUpload(h.admin, "/photos/2026/inner/sun.jpg", "x")

		if got, want := h.listFolder(h.admin, "/photos"), []string{"2026/", "note.txt/",
			"outer.jpg"}; !slices.Equal(got, want) {
			t.Errorf("listing: %q, want %q", got, want)
		}
		for page, want := range []string{"2026", "note.txt", "outer.jpg"} {
			l, err := h.tree.List(t.Context(), h.admin,
				files.ListQuery{Path: mustParsePath("/photos"), Page: page + 1, Limit: 1})
			h.must(err)
			if l.Total != 3 || len(l.Items) != 1 || l.Items[0].Name != want {
				t.Errorf("page %d: %+v, want %s of 3", page+1, l.Items, want)
			}
		}
		l, err := h.tree.List(t.Context(), h.admin, files.ListQuery{Path: mustParsePath("/photos"), Page: 1, Limit: 1})
		h.must(err)
		if e := l.Items[0]; e.ID != root || e.Name != "2026" || e.Dir.String() != "/photos" || !e.Folder ||
			e.MountID != "mount of /photos/2026" || l.Mount.ID != "m" {
			t.Errorf("the mount as an item: %+v of %+v", e, l.Mount)
		}
		l, err = h.tree.List(t.Context(), h.admin,
			files.ListQuery{Path: mustParsePath("/photos/2026"), Page: 1, Limit: 9})
		h.must(err)
		if l.Mount.ID != "mount of /photos/2026" || l.Folder.ID != root || l.Folder.Name != "2026" ||
			len(l.Items) != 1 {
			t.Errorf("the mount itself: %+v", l)
		}
		for search, want := range map[string][]string{
			"shadow": {}, "jpg": {"/photos/outer.jpg", "/photos/2026/inner/sun.jpg"}, "2026": {"/photos/2026"},
			"note": {"/photos/note.txt"}, "hidden": {}, "database": {},
		} {
			if got := h.searchPaths(h.admin, files.ListQuery{Path: mustParsePath("/"),
				Search: search}); !slices.Equal(got, want) {
				t.Errorf("search for %q: %q, want %q", search, got, want)
			}
		}
		if _, _, err := h.tree.Details(t.Context(), h.admin, under.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a file under a mount, by its id: %v", err)
		}
		if got, want := h.listFolder(h.ann, "/"), []string{"home/", "public/", "uploads/"}; !slices.Equal(got, want) {
			t.Errorf("an actor who may see nothing of it: %q, want %q", got, want)
		}
		h.addRule(access.Rule{Pattern: "/photos/2026/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read)})
		if got, want := h.listFolder(h.ann, "/photos"), []string{"2026/"}; !slices.Equal(got, want) {
			t.Errorf("an actor who may see the mount: %q, want %q", got, want)
		}
		if got, want := h.searchPaths(h.ann, files.ListQuery{Path: mustParsePath("/"),
			Search: "jpg"}), []string{"/photos/2026/inner/sun.jpg"}; !slices.Equal(got, want) {
			t.Errorf("and search in it: %q, want %q", got, want)
		}
		// Where a rule distinguishes names, each entry is checked. Entries covered by a mount are
		// left out there too.
		h.addRule(access.Rule{Pattern: "/photos/**", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Read)})
		h.addRule(access.Rule{Pattern: "/photos/o*r.png", Effect: access.Deny, UserID: "bob"})
		if got, want := h.searchPaths(h.bob, files.ListQuery{Path: mustParsePath("/"),
			Search: "jpg"}), []string{"/photos/outer.jpg", "/photos/2026/inner/sun.jpg"}; !slices.Equal(got, want) {
			t.Errorf("search with a pattern of names: %q, want %q", got, want)
		}
		h.protectEntry(root)
		if got, want := h.listFolder(h.ann, "/photos"), []string{"2026/"}; !slices.Equal(got, want) {
			t.Errorf("a mount with a password: %q, want %q", got, want)
		}
		if got := h.searchPaths(h.ann, files.ListQuery{Path: mustParsePath("/"), Search: "jpg"}); len(got) != 0 {
			t.Errorf("search behind its password: %q", got)
		}
	})
}

// The folders above a mount exist although no entries of their names are stored.
func TestVirtualFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error { // no mount covers the root any more
			if _, err := tx.Exec("DELETE FROM mounts"); err != nil {
				return err
			}
			return tx.BumpConfig()
		})
		empty, err := h.tree.List(t.Context(), h.admin, files.ListQuery{Page: 1, Limit: 9})
		if err != nil || empty.Total != 0 || empty.Mount != nil || empty.Folder != nil {
			t.Errorf("the root with nothing mounted: %+v, %v", empty, err)
		}
		h.addMount("/data/a/photos")
		h.addMount("/data/Z")
		h.mustUpload(h.admin, "/data/a/photos/x.jpg", "x")

		l, err := h.tree.List(t.Context(), h.admin, files.ListQuery{Path: mustParsePath("/data"), Page: 1, Limit: 9})
		h.must(err)
		if l.Mount != nil || l.Folder != nil || l.Total != 2 || l.Items[0].Name != "a" || l.Items[0].MountID != "" ||
			l.Items[1].Name != "Z" {
			t.Errorf("a virtual folder: %+v", l)
		}
		virtual := l.Items[0]
		if !virtual.Folder || virtual.Dir.String() != "/data" || virtual.Permissions != access.Set(access.Read) ||
			virtual.OwnerID != "" {
			t.Errorf("a virtual folder as an item: %+v", virtual)
		}
		_, _, err = h.tree.Details(t.Context(), h.admin, virtual.ID)
		h.wantFault("its id", err, fault.NotFound)
		_, err = h.tree.CreateFolder(t.Context(), h.admin, mustParsePath("/data"), "new")
		h.wantFault("a folder in it", err, fault.NotFound)
		_, err = h.tree.ResolveDestination(t.Context(), h.admin, mustParsePath("/data/a"), "new.txt", files.Fail)
		h.wantFault("an upload into it", err, fault.NotFound)
		_, err = h.tree.List(t.Context(), h.admin, files.ListQuery{Path: mustParsePath("/other"), Page: 1, Limit: 9})
		h.wantFault("a path above no mount", err, fault.NotFound)
		_, err = h.tree.List(t.Context(), h.ann, files.ListQuery{Path: mustParsePath("/data"), Page: 1, Limit: 9})
		h.wantFault("an actor who may see nothing below", err, fault.Forbidden)
		if got, want := h.searchPaths(h.admin, files.ListQuery{Search: "A"}), []string{"/data/a",
			"/data"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
		h.addRule(access.Rule{Pattern: "/data/a/photos/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read)})
		for p, want := range map[string][]string{"/": {"data/"}, "/data": {"a/"}, "/data/a": {"photos/"},
			"/data/a/photos": {"x.jpg"}} {
			if got := h.listFolder(h.ann, p); !slices.Equal(got, want) {
				t.Errorf("an actor who may see one mount lists %s: %q, want %q", p, got, want)
			}
		}
		if got, want := h.searchPaths(h.ann, files.ListQuery{Path: mustParsePath("/data"),
			Search: "o"}), []string{"/data/a/photos"}; !slices.Equal(got, want) {
			t.Errorf("and searches: %q, want %q", got, want)
		}
	})
}

// Where a mount covers the root, the folders on the way to another mount appear too, although they
// are not stored. They are behind the passwords of the stored folders above them.
func TestVirtualFoldersInAMount(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/public/way/to/m")
		locked := h.createFolder(h.admin, "/public/locked")
		h.addMount("/public/locked/way/m")
		h.protectEntry(locked.ID)
		for p, want := range map[string][]string{"/public": {"locked/", "way/"}, "/public/way": {"to/"},
			"/public/way/to": {"m/"}} {
			if got := h.listFolder(h.ann, p); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", p, got, want)
			}
		}
		_, err := h.tree.List(t.Context(), h.ann,
			files.ListQuery{Path: mustParsePath("/public/locked/way"), Page: 1, Limit: 9})
		h.wantFault("a virtual folder behind a password", err, fault.PasswordRequired)
		if got, want := h.searchPaths(h.ann, files.ListQuery{Path: vpath.Root,
			Search: "way"}), []string{"/public/way"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
		_, err = h.tree.CreateFolder(t.Context(), h.admin, mustParsePath("/public/way"), "new")
		h.wantFault("a folder in a virtual one", err, fault.NotFound)
		h.createFolder(h.admin, "/public/way") // now it is stored like any folder
		l, err := h.tree.List(t.Context(), h.admin,
			files.ListQuery{Path: mustParsePath("/public/way"), Page: 1, Limit: 9})
		if err != nil || l.Folder == nil || l.Mount == nil || l.Total != 1 {
			t.Errorf("after its creation: %+v, %v", l, err)
		}
	})
}

// Of overlapping mounts, the mount with the higher priority appears, whichever path is longer.
func TestListShowsMountOfHigherPriority(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		outer := h.addMountWithPriority("/m", 5)
		h.addMountWithPriority("/m/inner", 4)
		h.addMountWithPriority("/m/n", 6)
		twin := h.addMountWithPriority("/m/n/twin", 6)
		for root, name := range map[string]string{outer: "inner", twin: "in twin"} {
			h.write(func(tx *db.Tx) error {
				_, err := h.tree.InsertFolder(tx, root, vpath.Name(name), "admin")
				return err
			})
		}
		// these mounts sort in reverse order
		for p, want := range map[string][]string{"/m": {"n/", "inner/"}, "/m/inner": {}, "/m/n": {"twin/"},
			"/m/n/twin": {"in twin/"}} {
			if got := h.listFolder(h.admin, p); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", p, got, want)
			}
		}
		if got, want := h.searchPaths(h.admin,
			files.ListQuery{Path: mustParsePath("/m"), Search: "in", Sort: "name"}), []string{"/m/n/twin/in twin",
			"/m/inner", "/m/n/twin"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
	})
}

// Entries that are checked individually have the right position in every order, on every page.
func TestListOrderOfIndividuallyCheckedEntries(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for i := range 9 {
			h.createFolder(h.admin, fmt.Sprintf("/public/f%d", i))
			h.mustUpload(h.admin, fmt.Sprintf("/public/x%d", i), strings.Repeat("x", 9-i))
		}
		for _, m := range []string{"/public/a", "/public/f3", "/public/f55", "/public/z"} {
			h.addMount(m)
		}
		h.addRule(access.Rule{Pattern: "/public/f4/**", Effect: access.Deny, Role: access.User})
		h.addRule(access.Rule{Pattern: "/public/x2", Effect: access.Deny, Role: access.User})
		h.addRule(access.Rule{Pattern: "/public/x5", Effect: access.Allow, Role: access.User}) // changes nothing
		folders := []string{"a/", "f0/", "f1/", "f2/", "f3/", "f5/", "f6/", "f7/", "f8/", "f55/", "z/"}
		names := []string{"x0", "x1", "x3", "x4", "x5", "x6", "x7", "x8"}
		back := slices.Clone(names)
		slices.Reverse(back)
		for limit := 1; limit < 8; limit++ {
			for _, c := range []struct {
				sort  string
				files []string
			}{{"name", names}, {"size", back}} {
				var got []string
				for p := 1; ; p++ {
					l, err := h.tree.List(t.Context(), h.ann,
						files.ListQuery{Path: mustParsePath("/public"), Page: p, Limit: limit, Sort: c.sort})
					h.must(err)
					if l.Total != 19 {
						t.Fatalf("total %d on page %d of %d, want 19", l.Total, p, limit)
					}
					if len(l.Items) == 0 {
						break
					}
					for _, e := range l.Items {
						got = append(got, e.Name+map[bool]string{true: "/"}[e.Folder])
					}
				}
				if want := slices.Concat(folders, c.files); !slices.Equal(got, want) {
					t.Errorf("by %s in pages of %d: %q, want %q", c.sort, limit, got, want)
				}
			}
		}
	})
}
