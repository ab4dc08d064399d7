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

// lister lists one folder, or searches below it, for one actor under the rules of one config
// version.
type lister struct {
	*entryViewer
	q       db.Querier
	cache   *EntryCache
	dialect db.Dialect
	mounts  []mount.Mount   // below the path, without hidden ones
	roots   map[string]node // root entries by mount id
	order   sortOrder
	kind    int  // -1 for both kinds
	shared  bool // for visitors of a share: only entries that may be downloaded
}

// listedFolder is the folder that is listed.
type listedFolder struct {
	id     string        // "" for a virtual one
	target access.Target // about the folder itself
}

// visibleEntry is a visible entry, with its target.
type visibleEntry struct {
	row    row
	target access.Target
	key    string // of the order of names, set where it is needed
}

// enter decides whether the actor may list the folder at path, which was looked up as n, and
// returns it for the lister. Faults: NotFound, Forbidden, PasswordRequired; NotFound only where the
// actor could list the folder if it existed, or where no mount is.
func (l *lister) enter(n *node, path vpath.Path) (listedFolder, error) {
	f := listedFolder{target: n.target(l.Actor)}
	virtual := !n.exists() && (len(l.mounts) > 0 || path.IsRoot())
	switch {
	case virtual:
		f.target = n.virtualTarget(l.Actor, path)
	case !n.mounted():
		return listedFolder{}, noMount()
	default:
		f.id = n.id
	}
	outcome := l.DecideListing(f.target)
	if l.shared && outcome == access.Allowed && l.NeedsPasswordToDownload(f.target.Password) {
		outcome = access.NeedsPassword
	}
	if err := listingFault(outcome); err != nil {
		return listedFolder{}, err
	}
	if !virtual && !n.isFolder() {
		return listedFolder{}, noFolder()
	}
	return f, nil
}

// listingFault returns the fault for the outcome of a decision about listing a folder: nil when it
// is allowed, PasswordRequired or Forbidden.
func listingFault(outcome access.Outcome) error {
	switch outcome {
	case access.Allowed:
		return nil
	case access.NeedsPassword:
		return fault.New(fault.PasswordRequired, "A password is required.")
	}
	return forbidden()
}

// noFolder is the fault NotFound for a path or id that no folder has.
func noFolder() error { return fault.New(fault.NotFound, "There is no such folder.") }

// lists reports whether the entry s is in the listing: the actor sees it; for the visitors of a
// share, it may also be downloaded.
func (l *lister) lists(s *visibleEntry) bool {
	if l.shared {
		return l.includes(&s.row, s.target)
	}
	return l.Shows(s.target, s.row.folder)
}

// virtualTarget returns the target for the virtual folder at path, below the deepest existing entry
// n. The folder is in no mount and has no owner, but the passwords of the folders above it apply.
func (n *node) virtualTarget(a access.Actor, path vpath.Path) access.Target {
	if n.id == "" {
		return access.Target{Path: path}
	}
	return virtualTargetIn(n.existingTarget(a), path)
}

// virtualTargetIn returns the target for the virtual folder at path, below the folder that above
// describes.
func virtualTargetIn(above access.Target, path vpath.Path) access.Target {
	t := above.ForChildren()
	t.Path, t.MountID, t.OwnerID = path, "", ""
	return t
}

// virtualEntry returns the virtual folder that t describes as an entry of a listing. Nothing can be
// looked up by its id.
func virtualEntry(t access.Target) visibleEntry {
	return visibleEntry{row: row{id: virtualID(t.Path), name: string(t.Path.Base()), folder: true}, target: t}
}

// virtualID is the id of the virtual folder at path in listings. It differs from all ids of
// entries.
func virtualID(path vpath.Path) string { return "path:" + path.String() }

// readRoots reads the root entries of the mounts below the listed path into l.roots, with the
// trails of folders above them, whose passwords apply to the mounts.
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
		n.trail = []trailEntry{{id: n.id, owner: n.owner, password: n.password}}
		version := l.version
		if err := l.addOuterTrail(l.q, &n, &version); err != nil {
			return err
		}
		l.roots[m.ID] = n
	}
	return nil
}

// mountEntry returns the root of the mount m as an entry of a listing, named by the last segment of
// the mount's path.
func (l *lister) mountEntry(m mount.Mount) visibleEntry {
	n := l.roots[m.ID]
	return visibleEntry{row: n.row, target: n.existingTarget(l.Actor)}
}

// exception is a name in a folder that needs a decision of its own.
type exception struct {
	name  vpath.Name
	row   row          // without id where no entry has the name
	mount *mount.Mount // mount at this name
}

// exceptions returns the names in f that need a decision of their own, sorted: the given names, and
// those that a mount at or below f occupies, each with the stored entry and the mount of this name,
// if any.
func (l *lister) exceptions(f listedFolder, names []vpath.Name) ([]exception, error) {
	mounted := map[vpath.Name]*mount.Mount{}
	for i, m := range l.mounts {
		down, _ := m.Path.RelativeTo(f.target.Path)
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
	found := make([]exception, len(names))
	for i, name := range names {
		found[i] = exception{name: name, row: rows[name], mount: mounted[name]}
	}
	return found, nil
}

// exceptionEntry returns the entry that the name s in f shows: the mount, else the stored entry,
// else a virtual folder that leads to a mount. It has no id where there is none of them.
func (l *lister) exceptionEntry(f listedFolder, s exception) visibleEntry {
	path := f.target.Path.Child(s.name)
	switch {
	case s.mount != nil:
		return l.mountEntry(*s.mount)
	case s.row.id != "":
		return visibleEntry{row: s.row, target: childTarget(f.target, l.Actor, &s.row)}
	case slices.ContainsFunc(l.mounts, func(m mount.Mount) bool { return m.Path.Within(path) }):
		return virtualEntry(virtualTargetIn(f.target, path))
	}
	return visibleEntry{}
}

// maxExceptions is the maximal number of names in a folder that get a decision of their own. Where
// rules name more, each entry gets one.
const maxExceptions = 500

// children divides a folder into entries that one query can select by its rules, and entries that
// need a decision of their own: those that rules name, mounts, virtual folders, and for a share
// also entries with a password. It returns the part of the folders, then that of the files, unless
// l.kind has only one of them.
func (l *lister) children(f listedFolder) ([]listPortion, error) {
	var in access.ListingFilter
	if f.id != "" {
		in = l.ListingFilter(f.target)
	}
	globs := 0
	for _, g := range in.Globs {
		globs += len(g.Names)
	}
	if globs > maxGlobs {
		in.Globs, in.Files = nil, access.ShownByName
	}
	if l.shared && f.id != "" {
		guarded, err := protectedIn(l.q, f.id, maxExceptions+1)
		if err != nil {
			return nil, err
		}
		in.Exceptions = append(in.Exceptions, guarded...)
	}
	if len(in.Exceptions) > maxExceptions || l.shared && !l.ReadImpliesDownload(f.target) {
		in = access.ListingFilter{Files: access.ShownByName, Folders: access.ShownByName}
	}
	exceptions, err := l.exceptions(f, in.Exceptions)
	if err != nil {
		return nil, err
	}
	folders := folderPortion{lister: l, folder: f, selection: l.newSelection(f, folderKind, in.Folders)}
	files := folderPortion{lister: l, folder: f, selection: l.newSelection(f, fileKind, in.Files)}
	files.selection.globs = in.Globs
	var special [2][]visibleEntry // by kind
	for _, s := range exceptions {
		if s.row.id != "" {
			folders.selection.except = append(folders.selection.except, s.name)
			files.selection.except = folders.selection.except
		}
		if at := l.exceptionEntry(f, s); at.row.id != "" && l.lists(&at) {
			special[kindOf(at.row.folder)] = append(special[kindOf(at.row.folder)], at)
		}
	}
	var parts []listPortion
	if l.kind != fileKind {
		parts = append(parts, listPortion{source: &folders, exceptions: special[folderKind]})
	}
	if l.kind != folderKind {
		parts = append(parts, listPortion{source: &files, exceptions: special[fileKind]})
	}
	return parts, nil
}

// kindOf is the kind of an entry as the database stores it: folderKind or fileKind.
func kindOf(folder bool) int {
	if folder {
		return folderKind
	}
	return fileKind
}

// newSelection returns the query for the files or folders (kind) directly in f; visible says which
// of them the actor sees: all, their own, none, or each by a decision of its own.
func (l *lister) newSelection(f listedFolder, kind int, visible access.ShownEntries) selection {
	return selection{dialect: l.dialect, names: l.order.names, folder: f.id, kind: kind,
		visible: visible, userID: l.Actor.UserID}
}

// folderPortion is the files or the folders in a folder that a query selects.
type folderPortion struct {
	*lister
	folder    listedFolder
	selection selection
}

// page implements pageSource: it returns the entries from offset on, at most limit, and the total
// number that the actor sees. Where rules decide about each name, it reads the whole folder.
func (p *folderPortion) page(offset, limit int64) (found []visibleEntry, total int64, err error) {
	switch {
	case p.folder.id == "" || p.selection.visible == access.ShownNone && len(p.selection.globs) == 0:
		return nil, 0, nil
	case p.selection.visible == access.ShownByName:
		err = p.selection.each(p.q, p.order, func(r *row) {
			s := visibleEntry{row: *r, target: childTarget(p.folder.target, p.Actor, r)}
			if !p.lists(&s) {
				return
			}
			if total >= offset && total-offset < limit {
				found = append(found, s)
			}
			total++
		})
		return found, total, err
	}
	rows, total, err := window(offset, limit, func() (int64, error) { return p.selection.count(p.q, p.cache) },
		func(offset, limit int64, reverse bool) ([]row, error) {
			return p.selection.window(p.q, p.order, offset, limit, reverse)
		})
	for i := range rows {
		found = append(found, visibleEntry{row: rows[i], target: childTarget(p.folder.target, p.Actor, &rows[i])})
	}
	return found, total, err
}
