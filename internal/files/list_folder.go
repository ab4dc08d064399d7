package files

import (
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// lister is one call of List.
type lister struct {
	*eye
	q       db.Querier
	dialect db.Dialect
	mounts  []mount.Mount   // below the path, those that are hidden excepted
	roots   map[string]node // their root entries by mount
	order   ordering
	kind    int  // -1 for both
	shown   bool // to somebody else: only what may be downloaded is told
}

// place is a folder that is listed.
type place struct {
	id    string        // "" for a virtual one
	facts access.Target // about the folder itself
}

// sight is an entry that shows, with the facts about it.
type sight struct {
	row    row
	target access.Target
	fold   string // the name as it is sorted by, filled in where it is needed
}

// enter finds the folder that is to be listed. Faults: NotFound, Forbidden, PasswordRequired.
func (l *lister) enter(n *node, path vpath.Path) (place, error) {
	f := place{facts: n.target(l.Actor)}
	virtual := !n.exists() && (len(l.mounts) > 0 || path.IsRoot())
	switch {
	case virtual:
		f.facts = n.virtual(l.Actor, path)
	case !n.mounted():
		return place{}, noMount()
	default:
		f.id = n.id
	}
	outcome := l.Enter(f.facts)
	if l.shown && outcome == access.Allowed && l.Sealed(f.facts.Guard) {
		outcome = access.NeedsPassword
	}
	switch outcome {
	case access.NeedsPassword:
		return place{}, fault.New(fault.PasswordRequired, "A password is required.")
	case access.Denied:
		return place{}, forbidden()
	}
	if !virtual && !n.isFolder() {
		return place{}, noFolder()
	}
	return f, nil
}

func noFolder() error { return fault.New(fault.NotFound, "There is no such folder.") }

// tells reports whether an entry is listed.
func (l *lister) tells(s *sight) bool {
	if l.shown {
		return l.keeps(&s.row, s.target)
	}
	return l.Shows(s.target, s.row.folder)
}

// virtual returns the facts about a virtual folder below what there is of n. It lies in no mount and is nobody's.
func (n *node) virtual(a access.Actor, path vpath.Path) access.Target {
	if n.id == "" {
		return access.Target{Path: path}
	}
	return virtualIn(n.facts(a), path)
}

func virtualIn(above access.Target, path vpath.Path) access.Target {
	t := above.Inside()
	t.Path, t.MountID, t.OwnerID = path, "", ""
	return t
}

// virtual shows a virtual folder as an entry; its id leads nowhere.
func virtual(t access.Target) sight {
	return sight{row: row{id: virtualID(t.Path), name: string(t.Path.Base()), folder: true}, target: t}
}

func virtualID(path vpath.Path) string { return "path:" + path.String() }

// readRoots reads the root entries of the mounts below the path, and what lies over them.
func (l *lister) readRoots() error {
	ids := make([]string, len(l.mounts))
	for i, m := range l.mounts {
		ids[i] = m.RootID
	}
	rows, err := entriesByID(l.q, ids)
	if err != nil {
		return err
	}
	l.roots = map[string]node{}
	for _, m := range l.mounts {
		n := node{row: rows[m.RootID], mount: m, path: m.Path}
		n.name = string(m.Path.Base())
		n.trail = []level{{id: n.id, owner: n.owner, password: n.password}}
		version := l.version
		if err := l.crown(l.q, &n, &version); err != nil {
			return err
		}
		l.roots[m.ID] = n
	}
	return nil
}

// root shows a mount as an entry, named by the end of its path.
func (l *lister) root(m mount.Mount) sight {
	n := l.roots[m.ID]
	return sight{row: n.row, target: n.facts(l.Actor)}
}

// spot is a name in a folder that is judged by itself.
type spot struct {
	name  vpath.Name
	row   row          // without id where nothing is stored under the name
	mount *mount.Mount // that lies there
}

// spots looks up what has one of these names in f, and what mounts at or below f give a name to.
func (l *lister) spots(f place, names []vpath.Name) ([]spot, error) {
	mounted := map[vpath.Name]*mount.Mount{}
	for i, m := range l.mounts {
		down, _ := m.Path.Below(f.facts.Path)
		switch {
		case len(down) == 1:
			mounted[down[0]] = &l.mounts[i]
		case len(down) > 1 && mounted[down[0]] == nil:
			mounted[down[0]] = nil
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(names), maps.Keys(mounted)))))
	var rows map[vpath.Name]row
	if f.id != "" && len(names) > 0 {
		var err error
		if rows, err = childrenNamed(l.q, f.id, names); err != nil {
			return nil, err
		}
	}
	found := make([]spot, len(names))
	for i, name := range names {
		found[i] = spot{name: name, row: rows[name], mount: mounted[name]}
	}
	return found, nil
}

// at returns what a spot in f shows as; without id for nothing.
func (l *lister) at(f place, s spot) sight {
	path := f.facts.Path.Child(s.name)
	switch {
	case s.mount != nil:
		return l.root(*s.mount)
	case s.row.id != "":
		return sight{row: s.row, target: child(f.facts, l.Actor, &s.row)}
	case slices.ContainsFunc(l.mounts, func(m mount.Mount) bool { return m.Path.Within(path) }):
		return virtual(virtualIn(f.facts, path))
	}
	return sight{}
}

// maxSpots is how many names in one folder are judged by themselves; where rules name more, every name is.
const maxSpots = 500

// listChildren takes a folder apart into what a query can tell and what is judged by itself.
func (l *lister) children(f place) ([]part, error) {
	var in access.Inside
	if f.id != "" {
		in = l.Inside(f.facts)
	}
	globs := 0
	for _, g := range in.Globs {
		globs += len(g.Names)
	}
	if globs > maxGlobs {
		in.Globs, in.Files = nil, access.ChildrenMixed
	}
	if l.shown && f.id != "" {
		guarded, err := guardedIn(l.q, f.id, maxSpots+1)
		if err != nil {
			return nil, err
		}
		in.Names = append(in.Names, guarded...)
	}
	if len(in.Names) > maxSpots || l.shown && !l.Undivided(f.facts) {
		in = access.Inside{Files: access.ChildrenMixed, Folders: access.ChildrenMixed}
	}
	spots, err := l.spots(f, in.Names)
	if err != nil {
		return nil, err
	}
	folders := listPart{lister: l, folder: f, selection: l.selection(f, folderKind, in.Folders)}
	files := listPart{lister: l, folder: f, selection: l.selection(f, fileKind, in.Files)}
	files.selection.globs = in.Globs
	var special [2][]sight // by kind
	for _, s := range spots {
		if s.row.id != "" {
			folders.selection.except = append(folders.selection.except, s.name)
			files.selection.except = folders.selection.except
		}
		if at := l.at(f, s); at.row.id != "" && l.tells(&at) {
			special[kindOf(at.row.folder)] = append(special[kindOf(at.row.folder)], at)
		}
	}
	var parts []part
	if l.kind != fileKind {
		parts = append(parts, part{source: &folders, special: special[folderKind]})
	}
	if l.kind != folderKind {
		parts = append(parts, part{source: &files, special: special[fileKind]})
	}
	return parts, nil
}

func kindOf(folder bool) int {
	if folder {
		return folderKind
	}
	return fileKind
}

func (l *lister) selection(f place, kind int, share access.Children) selection {
	return selection{dialect: l.dialect, folder: f.id, kind: kind, share: share, me: l.Actor.UserID}
}

// listPart is what a query tells of the files or of the folders in a folder.
type listPart struct {
	*lister
	folder    place
	selection selection
}

func (p *listPart) page(offset, limit int64) (found []sight, total int64, err error) {
	switch {
	case p.folder.id == "" || p.selection.share == access.ChildrenNone && len(p.selection.globs) == 0:
		return nil, 0, nil
	case p.selection.share == access.ChildrenMixed:
		err = p.selection.each(p.q, p.order, func(r *row) {
			s := sight{row: *r, target: child(p.folder.facts, p.Actor, r)}
			if !p.tells(&s) {
				return
			}
			if total >= offset && total-offset < limit {
				found = append(found, s)
			}
			total++
		})
		return found, total, err
	}
	rows, total, err := window(offset, limit, func() (int64, error) { return p.selection.count(p.q) },
		func(offset, limit int64, reverse bool) ([]row, error) {
			return p.selection.window(p.q, p.order, offset, limit, reverse)
		})
	for i := range rows {
		found = append(found, sight{row: rows[i], target: child(p.folder.facts, p.Actor, &rows[i])})
	}
	return found, total, err
}
