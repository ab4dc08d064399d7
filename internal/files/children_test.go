package files_test

import (
	"cmp"
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

// listChildren reads all pages of a folder's members and calls between after each page.
func (f *fixture) listChildren(a access.Actor, p string, between func()) (all []files.Member, err error) {
	f.t.Helper()
	return f.listChildrenWith(a, p, files.MemberFields{IDs: true}, between)
}

func (f *fixture) listChildrenWith(a access.Actor, p string, what files.MemberFields,
	between func()) (all []files.Member, err error) {
	f.t.Helper()
	s, err := f.tree.ResourceAt(f.t.Context(), mustParsePath(p))
	f.must(err)
	c, err := s.Children(f.t.Context(), a, what)
	f.must(err)
	for {
		page, err := c.Next(f.t.Context())
		if err != nil {
			return all, err
		}
		if len(page) == 0 {
			if again, err := c.Next(f.t.Context()); err != nil || len(again) > 0 {
				f.t.Errorf("%d more members after the end, %v", len(again), err)
			}
			return all, nil
		}
		if len(page) > 256 {
			f.t.Errorf("a page of %d", len(page))
		}
		all = append(all, page...)
		if between != nil {
			between()
		}
	}
}

func memberNames(list []files.Member) (names []string) {
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

// The members read page by page equal the listing of the folder, and each entry read alone equals
// its entry in the listing. The test uses random trees with mounts, rules and passwords.
func TestChildrenMatchListings(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for seed := range seedCount {
			w := newRandomTree(h, seed)
			for range 2 {
				w.compareWithListings(t, seed)
			}
			if t.Failed() {
				return
			}
		}
	})
}

func (rt *randomTree) compareWithListings(t *testing.T, seed uint64) {
	who := rt.randomActor()
	byID := func(list []files.Member) []files.Member {
		return slices.SortedFunc(slices.Values(list), func(a, b files.Member) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, p := range who.paths {
		e := who.visible[p]
		s, err := rt.tree.ResourceAt(t.Context(), p)
		rt.must(err)
		if s.Virtual() != e.virtual || s.Exists() == e.virtual || s.Exists() && s.ID() != e.id {
			t.Errorf("seed %d: %s: virtual %v, exists %v, id %q; it is %+v", seed, p, s.Virtual(), s.Exists(), s.ID(),
				e)
		}
		saw, err := s.EntryFor(t.Context(), who.Actor)
		if shows := rt.visible(who.Actor, e, who.home, who.hasHome); shows != (err == nil) || !shows &&
			!fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.PasswordRequired) {
			t.Errorf("seed %d: %s is visible to %+v with key %+v: %v, but EntryFor returns %v", seed, p, who.Actor,
				who.Key, shows, err)
		} else if shows && (saw.Path() != p || saw.Folder != e.folder || saw.ID != e.id) {
			t.Errorf("seed %d: %s is seen as %+v", seed, p, saw)
		}
		if !e.folder {
			continue
		}
		l, listed := rt.tree.List(t.Context(), who.Actor, files.ListQuery{Path: p, Page: 1, Limit: 100})
		got, err := rt.listChildren(who.Actor, p.String(), nil)
		if (err == nil) != (listed == nil) || err != nil && fault.KindOf(err) != fault.KindOf(listed) {
			t.Errorf("seed %d: %s: listed with %v, read with %v", seed, p, listed, err)
		}
		var want []files.Member
		for i := range l.Items {
			want = append(want, l.Items[i].Member())
		}
		if err == nil && !slices.Equal(byID(got), byID(want)) {
			t.Errorf("seed %d: %s as %+v key %+v:\n%+v, listed\n%+v", seed, p, who.Actor, who.Key, byID(got),
				byID(want))
		}
		if err != nil {
			continue
		}
		// may omit ids, and nothing else
		short, err := rt.listChildrenWith(who.Actor, p.String(), files.MemberFields{}, nil)
		rt.must(err)
		tagged, err := rt.listChildrenWith(who.Actor, p.String(), files.MemberFields{IDs: true, ETags: true}, nil)
		rt.must(err)
		for i := range short {
			m := got[i]
			if short[i].ID == "" {
				m.ID = ""
			}
			if short[i] != m {
				t.Errorf("seed %d: %s contains %+v, without ids %+v", seed, p, got[i], short[i])
			}
			m = got[i]
			if !m.Folder {
				m.ETag = `"object"` // which all of the files share
			}
			if tagged[i] != m {
				t.Errorf("seed %d: %s contains %+v, with its ETag %+v", seed, p, m, tagged[i])
			}
		}
		if len(short) != len(got) || len(tagged) != len(got) {
			t.Errorf("seed %d: %s has %d, %d and %d members", seed, p, len(got), len(short), len(tagged))
		}
	}
}

// The ETag in a folder's members equals the ETag of the file, also after its content was copied to
// another provider and is stored as another object.
func TestChildrenReturnETags(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		for _, name := range []string{"a", "b"} {
			h.mustUpload(h.ann, "/home/ann/dir/"+name, name)
		}
		for _, carried := range []bool{false, true} {
			if carried {
				h.exec(
					"UPDATE objects SET content_id = 'before' WHERE id = (SELECT object_id FROM entries WHERE "+
						"parent_id = $1 AND name = 'a')", dir.ID)
			}
			got, err := h.listChildrenWith(h.ann, "/home/ann/dir", files.MemberFields{ETags: true}, nil)
			h.must(err)
			for _, m := range got {
				s := h.mustResource(h.tree.ResourceAt(t.Context(),
					mustParsePath("/home/ann/dir").Child(vpath.Name(m.Name))))
				if len(m.ETag) < 3 || m.ETag != s.ETag() || (m.ETag == `"before"`) != (carried && m.Name == "a") {
					t.Errorf("%s is reported as %s, want %s", m.Name, m.ETag, s.ETag())
				}
			}
			if len(got) != 2 {
				t.Errorf("the members are %q", memberNames(got))
			}
		}
	})
}

// insertMany inserts entries directly in a folder of ann's.
func (f *fixture) insertMany(parent string, folders bool, names ...string) {
	f.t.Helper()
	f.write(func(tx *db.Tx) error {
		for _, name := range names {
			l := treeEntry{id: f.ids.UUID(), parent: parent, name: name, owner: "ann", folder: folders}
			if err := f.insertEntry(tx, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// numberedNames returns names that are equal in pairs when folded, in the order in which members
// are returned.
func numberedNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%c%04d", "Nn"[i%2], i/2))
	}
	return names
}

// Each of many members is returned once: folders first, each kind by name, also at the edges of
// pages.
func TestChildrenPagination(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for i, c := range []struct{ folders, files int }{{0, 0}, {0, 255}, {0, 256}, {0, 257}, {256, 0}, {255, 1},
			{256, 256}, {1, 512}, {512, 3}, {300, 600}} {
			dir := h.createFolder(h.ann, fmt.Sprintf("/home/ann/dir%d", i))
			f, g := numberedNames(c.folders), numberedNames(c.files)
			for i := range g {
				g[i] += ".x"
			}
			h.insertMany(dir.ID, true, f...)
			h.insertMany(dir.ID, false, g...)
			got, err := h.listChildren(h.ann, dir.Path().String(), nil)
			h.must(err)
			if want := slices.Concat(f, g); !slices.Equal(memberNames(got), want) {
				t.Errorf("%d folders and %d files: %d members, %.300q", c.folders, c.files, len(got), memberNames(got))
			}
		}
	})
}

// Pages on which a rule about names hides every entry are skipped.
func TestChildrenHiddenByRules(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.admin, "/public/dir")
		names := numberedNames(700)
		for i := range names {
			names[i] += map[bool]string{true: ".jpg", false: ".txt"}[i >= 650]
		}
		h.insertMany(dir.ID, false, names...)
		h.addRule(access.Rule{Pattern: "/public/dir/*.txt", Effect: access.Deny, Role: access.Guest})
		got, err := h.listChildren(h.visitor, "/public/dir", nil)
		h.must(err)
		if !slices.Equal(memberNames(got), names[650:]) {
			t.Errorf("%d members, %.300q", len(got), memberNames(got))
		}
	})
}

// An entry that is created or deleted between two pages is returned once or not at all. No other
// entry is repeated or omitted.
func TestChildrenChangedBetweenPages(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for name, folders := range map[string]bool{"files": false, "folders": true} {
			dir := h.createFolder(h.ann, "/home/ann/"+name)
			names := numberedNames(600)
			h.insertMany(dir.ID, folders, names...)
			gone := map[string]bool{}
			drop := func(names ...string) {
				for _, name := range names {
					gone[name] = true
					h.exec("DELETE FROM entries WHERE parent_id = $1 AND name = $2", dir.ID, name)
				}
			}
			var came []string
			pages := 0
			got, err := h.listChildren(h.ann, dir.Path().String(), func() {
				switch pages++; pages {
				case 1: // entries that were returned, the last of them, and the next ones
					drop(names[0], names[100], names[255], names[256], names[257])
					h.insertMany(dir.ID, folders, "a before", "n0000a", "n0127a", "n0127b", "n0128a", "z after")
					came = append(came, "n0128a", "z after")
				case 2:
					drop(names[560], names[599])
					h.insertMany(dir.ID, folders, "a before 2", "zz after")
					came = append(came, "zz after")
				}
			})
			h.must(err)
			count := map[string]int{}
			for _, name := range memberNames(got) {
				count[name]++
			}
			for i, name := range names {
				want := 1
				if gone[name] && i >= 256 {
					want = 0
				}
				if count[name] != want {
					t.Errorf("%s is returned %d times, want %d", name, count[name], want)
				}
			}
			for _, name := range came {
				if count[name] != 1 {
					t.Errorf("%s was created behind the position of the reader and is returned %d times", name,
						count[name])
				}
			}
			for name, n := range count {
				if n > 1 {
					t.Errorf("%s is returned %d times", name, n)
				}
			}
		}
	})
}

// Permissions are checked for each page. When the folder is deleted, the next page reports that, at
// any position.
func TestChildrenCheckPermissionsForEachPage(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/disk")
		for pages, after := range map[int]string{0: "before", 1: "within"} {
			for what, c := range map[string]struct {
				change func(dir files.Entry)
				kind   fault.Kind
			}{
				"deleted": {func(dir files.Entry) {
					_, _, err := h.tree.Delete(t.Context(), h.admin, dir.ID)
					h.must(err)
				}, fault.NotFound},
				"denied": {func(dir files.Entry) {
					h.addRule(access.Rule{Pattern: dir.Path().String() + "/**", Effect: access.Deny, Role: access.User})
				}, fault.Forbidden},
				"protected": {func(dir files.Entry) { h.protectEntry(dir.ID) }, fault.PasswordRequired},
			} {
				dir := h.createFolder(h.admin, "/public/"+what+" "+after)
				h.insertMany(dir.ID, false, numberedNames(300)...)
				s, err := h.tree.ResourceAt(t.Context(), dir.Path())
				h.must(err)
				read, err := s.Children(t.Context(), h.bob, files.MemberFields{})
				h.must(err)
				for range pages {
					page, err := read.Next(t.Context())
					if err != nil || len(page) != 256 {
						t.Fatalf("a page of %d, %v", len(page), err)
					}
				}
				c.change(dir)
				page, err := read.Next(t.Context())
				h.wantFault(what+" "+after, err, c.kind)
				if len(page) > 0 {
					t.Errorf("%s %s: the page has %q", what, after, memberNames(page))
				}
			}
		}
		dir := h.createFolder(h.ann, "/home/ann/dir") // a moved folder is followed
		h.insertMany(dir.ID, false, numberedNames(300)...)
		n := 0
		got, err := h.listChildren(h.ann, "/home/ann/dir", func() {
			if n++; n == 1 {
				_, err := h.tree.Rename(t.Context(), h.ann, dir.ID, "elsewhere")
				h.must(err)
			}
		})
		h.must(err)
		if len(got) != 300 || got[299].Name != "n0149" {
			t.Errorf("the members are %q", memberNames(got))
		}
	})
}

// Only an actor who may read a folder learns whether an entry exists in it.
func TestResourceHidesExistenceWithoutRead(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.bob, "/uploads/bobs", "x")
		h.mustUpload(h.ann, "/home/ann/f", "x")
		h.mustUpload(h.ann, "/home/ann/closed/f", "x")
		h.protectEntry(h.idAtPath("/home/ann/closed"))
		h.mustUpload(h.admin, "/public/f", "x")
		h.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob",
			Permissions: access.Set(access.Read)})
		const fine = fault.Kind(-1)
		for _, c := range []struct {
			who            access.Actor
			there, nothing string
			see, seeNone   fault.Kind
			p              access.Permission
			may, mayNone   fault.Kind
		}{
			{h.ann, "/home/ann/f", "/home/ann/g", fine, fault.NotFound, access.Delete, fine, fault.NotFound},
			{h.ann, "/uploads/bobs", "/uploads/none", fault.Forbidden, fault.Forbidden, access.Read, fault.Forbidden,
				fault.Forbidden},
			{h.ann, "/uploads/bobs", "/uploads/none/deep", fault.Forbidden, fault.Forbidden, access.Update,
				fault.Forbidden, fault.Forbidden},
			{h.ann, "/home/bob", "/home/none", fault.Forbidden, fault.Forbidden, access.Write, fault.Forbidden,
				fault.Forbidden},
			{h.visitor, "/home/ann/f", "/home/ann/g", fault.Forbidden, fault.Forbidden, access.Read, fault.Forbidden,
				fault.Forbidden},
			{h.visitor, "/public/f", "/public/f/g", fine, fault.NotFound, access.Update, fault.Forbidden,
				fault.Forbidden},
			{h.bob, "/home/ann/f", "/home/ann/g", fine, fault.NotFound, access.Delete, fault.Forbidden,
				fault.Forbidden},
			{h.bob, "/home/ann/closed/f", "/home/ann/closed/g", fault.PasswordRequired, fault.PasswordRequired,
				access.Read, fault.PasswordRequired, fault.PasswordRequired},
		} {
			for p, kinds := range map[string][2]fault.Kind{c.there: {c.see, c.may}, c.nothing: {c.seeNone, c.mayNone}} {
				what := strings.TrimSpace(c.who.UserID + " at " + p)
				s := h.mustResource(h.tree.ResourceAt(t.Context(), mustParsePath(p)))
				e, err := s.EntryFor(t.Context(), c.who)
				if kinds[0] != fine {
					h.wantFault(what+" sees", err, kinds[0])
				} else if err != nil || e.Path().String() != p {
					t.Errorf("%s: seen %+v, %v", what, e, err)
				}
				err = s.Authorize(c.who, c.p)
				if kinds[1] != fine {
					h.wantFault(what+" may", err, kinds[1])
				} else if err != nil {
					t.Errorf("%s may: %v", what, err)
				}
			}
		}
	})
}

func (f *fixture) mustResource(s *files.Resource, err error) *files.Resource {
	f.t.Helper()
	f.must(err)
	return s
}

// A virtual folder exists for an actor who sees a mount below it, and lists the way to the mount.
func TestResourceOfVirtualFolder(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/way/to/disk")
		for p, want := range map[string]string{"/way": "to", "/way/to": "disk"} {
			s := h.mustResource(h.tree.ResourceAt(t.Context(), mustParsePath(p)))
			if !s.Virtual() || s.Exists() || s.ID() != "" || s.ETag() != "" {
				t.Errorf("%s: %v %v %q", p, s.Virtual(), s.Exists(), s.ID())
			}
			e, err := s.EntryFor(t.Context(), h.admin)
			if err != nil || !e.Folder || e.MountID != "" || e.Path() != mustParsePath(p) ||
				e.Name != string(mustParsePath(p).Base()) {
				t.Errorf("%s is seen as %+v, %v", p, e, err)
			}
			got, err := h.listChildren(h.admin, p, nil)
			if err != nil || len(got) != 1 || got[0].Name != want {
				t.Errorf("in %s there is %+v, %v", p, got, err)
			}
			if locks, err := s.Locks(t.Context()); err != nil || len(locks) > 0 {
				t.Errorf("%s: locks %+v, %v", p, locks, err)
			}
		}
	})
}
