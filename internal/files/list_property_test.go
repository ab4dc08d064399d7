package files_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// randomTree is a random tree with mounts and rules. It records the tree's content without asking
// the package under test.
type randomTree struct {
	*fixture
	rand    *rand.Rand
	policy  *access.Policy
	mounts  *mount.Table
	entries map[string][]treeEntry // by parent
	roots   map[string]treeEntry

	passwords []string // ids of the rules' passwords, and one that belongs to no rule
}

// entryAtPath is an entry with its path.
type entryAtPath struct {
	treeEntry
	path    vpath.Path
	target  access.Target
	virtual bool
}

func (rt *randomTree) pick(choices ...string) string { return choices[rt.rand.IntN(len(choices))] }

var randomNames = []string{"a", "b", "ab", "B", "é", "x.jpg", "y.jpg", "100%", "a_b", "a9", "A10", "a09"}

func newRandomTree(h *fixture, seed uint64) *randomTree {
	w := &randomTree{fixture: h, rand: rand.New(rand.NewPCG(seed, 7)), entries: map[string][]treeEntry{},
		roots: map[string]treeEntry{}, passwords: []string{"none"}}
	h.write(func(tx *db.Tx) error {
		for _, text := range []string{"DELETE FROM rules", "DELETE FROM mounts",
			"DELETE FROM entries WHERE id NOT IN ('graveyard', 'staging')"} {
			if _, err := tx.Exec(text); err != nil {
				return err
			}
		}
		w.entries, w.roots = map[string][]treeEntry{}, map[string]treeEntry{}
		var mounts []mount.Mount
		places := []string{"/", "/a", "/a/b", "/a/b/m", "/b/x.jpg", "/home", "/é/b/a", "/a/ab"}
		for _, i := range w.rand.Perm(len(places))[:1+w.rand.IntN(5)] {
			m := mount.Mount{ID: fmt.Sprintf("m%d", i), ProviderID: "local", RootID: fmt.Sprintf("root%d", i),
				Path: mustParsePath(places[i]), Name: "M", SortBy: "name", SortOrder: "asc", Priority: w.rand.IntN(2)}
			mounts = append(mounts, m)
			root := treeEntry{id: m.RootID, name: "Files", owner: w.pick("admin", "ann"), folder: true,
				hasPassword: w.rand.IntN(5) == 0}
			w.roots[root.id] = root
			if err := w.insertEntry(tx, root); err != nil {
				return err
			}
			if err := w.fillFolder(tx, root.id, 0); err != nil {
				return err
			}
			if err := mount.New(h.db).Insert(tx, m, 0); err != nil {
				return err
			}
		}
		w.mounts = mount.NewTable(mounts)
		var rules []access.Rule
		for i := range w.rand.IntN(7) {
			rules = append(rules, w.rule(i, mounts))
		}
		for _, r := range rules {
			hash := ""
			if r.RequirePassword {
				hash = "hash"
			}
			if err := h.rules.Insert(tx, access.StoredRule{Rule: r, PasswordHash: hash}); err != nil {
				return err
			}
		}
		return tx.BumpConfig()
	})
	stored, err := h.rules.All(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var rules []access.Rule
	for _, r := range stored {
		rules = append(rules, r.Rule)
		w.passwords = append(w.passwords, r.PasswordID)
	}
	w.policy = access.NewPolicy(rules, true).WithMounts(mountLookup{w.mounts})
	return w
}

// mountLookup tells the policy where the mounts are.
type mountLookup struct{ *mount.Table }

func (l mountLookup) Covering(p vpath.Path) string {
	m, _ := l.Resolve(p)
	return m.ID
}

func (l mountLookup) Below(p vpath.Path) map[string]vpath.Path {
	below := map[string]vpath.Path{}
	for _, m := range l.Table.Below(p) {
		below[m.ID] = m.Path
	}
	return below
}

func (rt *randomTree) rule(i int, mounts []mount.Mount) access.Rule {
	r := access.Rule{ID: fmt.Sprintf("r%d", i), Effect: access.Effect(rt.pick("allow", "allow", "deny")),
		Priority: rt.rand.IntN(2)}
	r.Pattern = rt.pick("/**", "/a/**", "/a", "/a/*", "/a/*.jpg", "/**/*.jpg", "/*/b/**", "/a/b/**", "/b/**", "/**/b/**",
		"/home/**", "/home/a/**", "/a?", "/?/x*", "/a/b/m/**", "/é/**", "/é/b", "/ab/**/a")
	switch rt.rand.IntN(5) {
	case 0:
		r.UserID = "ann"
	case 1:
		r.KeyID = "key"
	case 2:
		r.Role = access.Guest
	default:
		r.Role = access.User
	}
	r.Permissions = []access.Set{0, access.Set(access.Read), access.Set(access.Read | access.Download),
		access.Set(access.Write), access.Set(access.Download)}[rt.rand.IntN(5)]
	if r.Effect == access.Allow && rt.rand.IntN(6) == 0 {
		r.RequirePassword = true
	}
	if rt.rand.IntN(6) == 0 {
		r.AllowedIPs = []netip.Prefix{netip.MustParsePrefix(rt.pick("192.0.2.0/24", "10.0.0.0/8"))}
	}
	if rt.rand.IntN(5) == 0 {
		r.MountID = mounts[rt.rand.IntN(len(mounts))].ID
	}
	return r
}

// fillFolder fills a folder.
func (rt *randomTree) fillFolder(tx *db.Tx, parent string, depth int) error {
	for _, i := range rt.rand.Perm(len(randomNames))[:rt.rand.IntN(6)] {
		l := treeEntry{
			id: fmt.Sprintf("%s.%d", parent, i), parent: parent, name: randomNames[i],
			owner:  rt.pick("admin", "ann", "bob", "ann"),
			folder: rt.rand.IntN(2) == 0 && depth < 3, size: int64(rt.rand.IntN(3)), updated: int64(rt.rand.IntN(3)),
			hasPassword: rt.rand.IntN(6) == 0,
		}
		if rt.rand.IntN(2) == 0 {
			position := int64(rt.rand.IntN(3))
			l.position = &position
		}
		if l.folder {
			l.size = 0
		}
		rt.entries[parent] = append(rt.entries[parent], l)
		if err := rt.insertEntry(tx, l); err != nil {
			return err
		}
		if l.folder {
			if err := rt.fillFolder(tx, l.id, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// reachable returns all entries that a path leads to, visible or not, with their targets for an
// actor.
func (rt *randomTree) reachable(a access.Actor) map[vpath.Path]entryAtPath {
	all := map[vpath.Path]entryAtPath{}
	var down func(m mount.Mount, l treeEntry, p vpath.Path, above access.Target)
	down = func(m mount.Mount, l treeEntry, p vpath.Path, above access.Target) {
		t := access.Target{Path: p, MountID: m.ID, OwnerID: l.owner, InHome: above.InHome || l.id == a.HomeID,
			Password: above.Password, PasswordAbove: above.Password}
		if l.hasPassword {
			t.Password = &access.EntryPassword{ID: l.id, OwnerID: l.owner}
		}
		if top, _ := rt.mounts.Resolve(p); top.ID == m.ID {
			all[p] = entryAtPath{treeEntry: l, path: p, target: t}
		}
		for _, child := range rt.entries[l.id] {
			down(m, child, p.Child(vpath.Name(child.name)), t)
		}
	}
	var shown []mount.Mount
	for id := range rt.roots {
		for _, m := range rt.mounts.ByRoot(id) {
			if top, _ := rt.mounts.Resolve(m.Path); top.ID == m.ID {
				shown = append(shown, m)
				down(m, rt.roots[id], m.Path, rt.inherited(m, a))
			}
		}
	}
	for _, m := range shown {
		for p := m.Path; ; p = p.Parent() {
			if _, there := all[p]; !there {
				t := access.Target{Path: p}
				for up := p; up != vpath.Root; { // the target of the deepest existing folder
					up = up.Parent()
					if e, there := all[up]; there && !e.virtual {
						if top, _ := rt.mounts.Resolve(p); top.ID == e.target.MountID {
							t.InHome = e.target.InHome
							t.Password, t.PasswordAbove = e.target.Password, e.target.Password
						}
						break
					}
				}
				all[p] = entryAtPath{treeEntry: treeEntry{id: "path:" + p.String(), folder: true}, path: p, target: t,
					virtual: true}
			}
			if p.IsRoot() {
				break
			}
		}
	}
	return all
}

// inherited returns the target fields that a mount inherits from the folders above its path in the
// covering mount: passwords and the home.
func (rt *randomTree) inherited(m mount.Mount, a access.Actor) (t access.Target) {
	top, covered := rt.mounts.Resolve(m.Path.Parent())
	if m.Path.IsRoot() || !covered {
		return access.Target{}
	}
	t = rt.inherited(top, a)
	names, _ := m.Path.Parent().RelativeTo(top.Path)
	for l, there := rt.roots[top.RootID], true; there; {
		t.InHome = t.InHome || l.id == a.HomeID
		if l.hasPassword {
			t.Password = &access.EntryPassword{ID: l.id, OwnerID: l.owner}
		}
		at := -1
		if len(names) > 0 {
			at = slices.IndexFunc(rt.entries[l.id], func(c treeEntry) bool { return c.name == string(names[0]) })
		}
		if there = at >= 0; there {
			l, names = rt.entries[l.id][at], names[1:]
		}
	}
	return t
}

// passwordMissing repeats the rule about passwords of entries independently of the tested code.
func passwordMissing(a access.Actor, g *access.EntryPassword) bool {
	given := g != nil && a.Key == nil && slices.Contains(a.Unlocked, g.ID)
	return g != nil && !given && (a.UserID == "" || a.Role != access.Admin && a.UserID != g.OwnerID)
}

func (rt *randomTree) visible(a access.Actor, e entryAtPath, home vpath.Path, hasHome bool) bool {
	may := func(p access.Permission) bool { return rt.policy.Decide(a, e.target, p).Outcome == access.Allowed }
	if passwordMissing(a, e.target.PasswordAbove) {
		return false
	}
	return may(access.Read) || e.folder && (may(access.Write) || rt.policy.ShowsFolder(a, e.path, home, hasHome))
}

func (rt *randomTree) mayDownload(a access.Actor, e entryAtPath) bool {
	return rt.policy.Decide(a, e.target, access.Download).Outcome == access.Allowed
}

// compareBy orders by the field, equal fields naturally by name, then by name, and equal names in
// different folders by those folders.
func compareBy(sort string, desc bool) func(a, b entryAtPath) int {
	return func(a, b entryAtPath) int {
		name := cmp.Or(cmp.Compare(vpath.SortKey(string(a.path.Base())), vpath.SortKey(string(b.path.Base()))),
			cmp.Compare(a.path.Base(), b.path.Base()))
		key := name
		switch sort {
		case "time":
			key = cmp.Compare(a.updated, b.updated)
		case "size":
			key = cmp.Compare(a.size, b.size)
		case "manual":
			if (a.position == nil) != (b.position == nil) {
				if a.folder != b.folder {
					break
				}
				if a.position == nil {
					return 1
				}
				return -1
			}
			key = 0
			if a.position != nil {
				key = cmp.Compare(*a.position, *b.position)
			}
		}
		if desc {
			key = -key
		}
		switch {
		case a.folder && !b.folder:
			return -1
		case b.folder && !a.folder:
			return 1
		}
		return cmp.Or(key, name, cmp.Compare(a.parent, b.parent), cmp.Compare(a.path.String(), b.path.String()))
	}
}

// seedCount is the number of random trees tried on each engine.
const seedCount = uint64(40)

// Listings and searches return exactly the entries that a check of each entry allows, in one order
// and with one total on all pages.
func TestListMatchesPerEntryChecks(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for seed := range seedCount {
			w := newRandomTree(h, seed)
			for range 6 {
				w.checkListings(t, seed)
			}
			if t.Failed() {
				return
			}
		}
	})
}

// filter picks a filter, most often the empty one.
func (rt *randomTree) filter() (f files.SearchFilter) {
	one := int64(1)
	switch rt.rand.IntN(8) {
	case 0:
		f.MinSize = &one
	case 1:
		f.MaxSize = &one
	case 2:
		f.From = &one
	case 3:
		f.To, f.OwnerID = &one, "ann"
	}
	return f
}

// selects repeats the meaning of a filter independently of the tested code.
func selects(f files.SearchFilter, e entryAtPath) bool {
	return f == (files.SearchFilter{}) || !e.folder && (f.MinSize == nil || e.size >= *f.MinSize) &&
		(f.MaxSize == nil || e.size <= *f.MaxSize) && (f.From == nil || e.updated >= *f.From) &&
		(f.To == nil || e.updated < *f.To) && (f.OwnerID == "" || e.owner == f.OwnerID)
}

// viewer is an actor who lists a random tree, with the entries that exist for that actor.
type viewer struct {
	access.Actor
	visible map[vpath.Path]entryAtPath
	paths   []vpath.Path // sorted
	home    vpath.Path
	hasHome bool
}

// randomActor picks an actor.
func (rt *randomTree) randomActor() (who viewer) {
	a := []access.Actor{rt.admin, rt.ann, rt.ann, rt.bob, rt.visitor}[rt.rand.IntN(5)]
	a.HomeID = ""
	all := rt.reachable(a)
	paths := slices.SortedFunc(func(yield func(vpath.Path) bool) {
		for p := range all {
			if !yield(p) {
				return
			}
		}
	}, func(a, b vpath.Path) int { return cmp.Compare(a.String(), b.String()) })
	hasHome := false
	var home vpath.Path
	if a.UserID != "" && a.Role == access.User && rt.rand.IntN(2) == 0 {
		if e := all[paths[rt.rand.IntN(len(paths))]]; e.folder && !e.virtual {
			a.HomeID, home, hasHome = e.id, e.path, true
			all = rt.reachable(a)
		}
	}
	if a.UserID != "" && rt.rand.IntN(3) == 0 {
		permissions := []access.Set{access.All, access.Set(access.Read | access.Download),
			access.Set(access.Write)}[rt.rand.IntN(3)]
		a.Key = &access.Key{ID: "key", Permissions: permissions,
			Root: mustParsePath(rt.pick("/", "/a", "/a/b", "/home")), RootOnly: rt.rand.IntN(2) == 0}
	}
	for range rt.rand.IntN(4) {
		a.Unlocked = append(a.Unlocked, all[paths[rt.rand.IntN(len(paths))]].id,
			rt.passwords[rt.rand.IntN(len(rt.passwords))])
	}
	return viewer{a, all, paths, home, hasHome}
}

func (rt *randomTree) checkListings(t *testing.T, seed uint64) {
	who := rt.randomActor()
	a, all, paths, home, hasHome := who.Actor, who.visible, who.paths, who.home, who.hasHome
	for _, p := range paths {
		folder := all[p]
		if !folder.folder {
			continue
		}
		q := files.ListQuery{
			Path: p, Limit: 1 + rt.rand.IntN(4), Sort: rt.pick("name", "time", "size", "manual"),
			Order: rt.pick("", "asc", "desc"),
			Type:  rt.pick("", "", "file", "folder"), Search: rt.pick("", "", "a", "A", "%", "é", "x.j", "_", ".", "9", "0"),
			Filter: rt.filter(),
		}
		if q.Filter != (files.SearchFilter{}) && q.Type == "folder" {
			q.Type = ""
		}
		in := folder
		in.target = in.target.ForChildren()
		enters := !passwordMissing(a, in.target.PasswordAbove) && (rt.visible(a, in, home, hasHome))
		var want []entryAtPath
		for _, e := range all {
			below := e.path != p && e.path.Within(p)
			if q.Search == "" && q.Filter == (files.SearchFilter{}) {
				below = below && e.path.Parent() == p
			}
			timed := q.Filter.From != nil || q.Filter.To != nil
			if below && selects(q.Filter, e) && (!timed || rt.mayDownload(a, e)) &&
				(q.Type == "" || e.folder == (q.Type == "folder")) &&
				strings.Contains(vpath.Fold(string(e.path.Base())), vpath.Fold(q.Search)) &&
				rt.visible(a, e, home, hasHome) {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, compareBy(q.Sort, q.Order == "desc"))
		var got []string
		for q.Page = 1; ; q.Page++ {
			l, err := rt.tree.List(t.Context(), a, q)
			if fault.Is(err, fault.PasswordRequired) || fault.Is(err, fault.Forbidden) {
				if enters && !fault.Is(err, fault.PasswordRequired) {
					t.Errorf("seed %d: %s: %v", seed, p, err)
				}
				break
			}
			if err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, q, err)
			}
			if !enters {
				t.Errorf("seed %d: %+v lists %s", seed, a, p)
			}
			if l.Total != len(want) || (l.Mount == nil) != folder.virtual || (l.Folder == nil) != folder.virtual {
				t.Errorf("seed %d: %+v: total %d, want %d; mount %v, folder %v", seed, q, l.Total, len(want), l.Mount,
					l.Folder)
			}
			for _, e := range l.Items {
				got = append(got, e.ID+" "+e.Path().String())
			}
			if len(l.Items) == 0 {
				names := make([]string, len(want))
				for i, e := range want {
					names[i] = e.id + " " + e.path.String()
				}
				if !slices.Equal(got, names) {
					t.Errorf("seed %d: %+v as %+v key %+v home %v %v:\n%q, want\n%q", seed, q, a, a.Key, home, hasHome,
						got, names)
				}
				break
			}
		}
	}
}
