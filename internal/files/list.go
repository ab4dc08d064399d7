package files

import (
	"context"
	"strings"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// ListQuery selects one page of a folder, or with Search or Filter one page of a search below it.
type ListQuery struct {
	Path   vpath.Path
	Page   int    // from 1
	Limit  int    // entries on a page, from 1
	Sort   string // name, time, size or manual; "" for the setting of the mount, then with its order
	Order  string // asc or desc; "" is asc
	Type   string // file, folder or "" for both
	Search string // part of the name regardless of case, at any depth
	Filter SearchFilter

	// sharedFolderID is the id of the shared folder, see ListShared: entries outside of it do not
	// exist; "" for none.
	sharedFolderID string
}

// Listing is one page of entries that the actor may see.
type Listing struct {
	Items  []Entry
	Total  int          // on all pages
	Mount  *mount.Mount // that covers the path; nil for a virtual folder
	Folder *Entry       // the folder itself; nil for a virtual one
}

// sortOrder is the order of entries: folders first, then by key, then by name.
type sortOrder struct {
	key   string // name, time, size or manual
	desc  bool   // reverses the key only
	names nameOrder
}

// List returns the entries in a folder, or those below it that q.Search or q.Filter select. A mount
// is listed as a folder and hides any entry at its path. A folder that exists only because a mount
// is below it is virtual: it has neither a Mount nor a Folder; the same holds for the root where
// nothing is mounted. Faults: Invalid, NotFound (no mount at or below it, no such folder, a file),
// Forbidden (the folder is not visible to the actor, whether or not it exists), PasswordRequired.
func (t *Tree) List(ctx context.Context, a access.Actor, q ListQuery) (Listing, error) {
	if err := q.check(); err != nil {
		return Listing{}, err
	}
	l, n, f, err := t.openFolder(ctx, a, q.Path, q.sharedFolderID)
	if err != nil {
		return Listing{}, err
	}
	var listing Listing
	l.order = sortOrder{key: q.Sort, desc: q.Order == "desc"}
	if f.id != "" {
		folder := l.entry(a, &n.row, f.target)
		listing.Mount, listing.Folder = &n.mount, &folder
	}
	if q.Sort == "" {
		l.order = sortOrder{key: n.mount.SortBy, desc: n.mount.SortOrder == "desc"}
	}
	if l.order.names, err = t.nameOrderNow(ctx); err != nil {
		return Listing{}, err
	}
	switch {
	case q.Type == "folder":
		l.kind = folderKind
	case q.Type == "file" || !q.Filter.empty():
		l.kind = fileKind
	}
	var parts []listPortion
	if q.searches() {
		parts, err = l.search(f, n, q.Search, q.Filter)
	} else {
		parts, err = l.children(f)
	}
	if err != nil {
		return Listing{}, err
	}
	seen, total, err := pageOf(parts, l.order, int64(min(q.Page, 1<<31)-1)*int64(q.Limit), int64(q.Limit))
	if err != nil {
		return Listing{}, err
	}
	listing.Total, listing.Items = int(total), make([]Entry, len(seen))
	targets := make([]access.Target, len(seen))
	for i := range seen {
		targets[i] = seen[i].target
		listing.Items[i] = l.entry(a, &seen[i].row, targets[i])
	}
	if !l.shared {
		if err := t.addCovers(ctx, l.entryViewer, listing.Items, targets); err != nil {
			return Listing{}, err
		}
	}
	return listing, t.addPictures(ctx, listing.Items)
}

// openFolder looks up a folder, also a virtual one, and decides whether the actor may list it. It
// returns a lister of both kinds whose order the caller sets, the node at the path, and the folder
// for the lister. sharedFolderID is that of ListQuery. Faults: NotFound, Forbidden,
// PasswordRequired.
func (t *Tree) openFolder(ctx context.Context, a access.Actor, path vpath.Path, sharedFolderID string) (
	*lister, *node, listedFolder, error) {
	var n node
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), path)
		return version, err
	})
	if err != nil {
		return nil, nil, listedFolder{}, err
	}
	e, err := t.viewerOf(ctx, v, a)
	if err != nil {
		return nil, nil, listedFolder{}, err
	}
	e.Shared = sharedFolderID != ""
	if e.Shared && !n.within(sharedFolderID) {
		return nil, nil, listedFolder{}, noFolder()
	}
	l := lister{entryViewer: e, q: t.DB.Read(ctx), cache: t.EntryCache, dialect: t.DB.Dialect(),
		mounts: v.mounts.Below(path), kind: -1,
		shared: e.Shared}
	f, err := l.enter(&n, path)
	if err != nil {
		return nil, nil, listedFolder{}, err
	}
	return &l, &n, f, l.readRoots()
}

// check validates page, limit, sort, order, type, search text and filter of a query. Fault:
// Invalid.
func (q *ListQuery) check() error {
	switch {
	case q.Page < 1 || q.Limit < 1:
		return fault.New(fault.Invalid, "Pages and limits begin at 1.")
	case q.Sort != "" && q.Sort != "name" && q.Sort != "time" && q.Sort != "size" && q.Sort != "manual":
		return fault.New(fault.Invalid, "Files are sorted by name, time, size or manual.")
	case q.Order != "" && q.Order != "asc" && q.Order != "desc":
		return fault.New(fault.Invalid, "The order is asc or desc.")
	case q.Type != "" && q.Type != "file" && q.Type != "folder":
		return fault.New(fault.Invalid, "The type is file or folder.")
	case !utf8.ValidString(q.Search) || strings.ContainsRune(q.Search, 0):
		return fault.New(fault.Invalid, "A search is valid UTF-8 without NUL.")
	case q.Type == "folder" && !q.Filter.empty():
		return fault.InvalidField("type", "A filter selects files only.")
	case q.searches() && q.sharedFolderID != "":
		return fault.New(fault.Invalid, "A share cannot be searched.")
	case utf8.RuneCountInString(q.Search) > vpath.MaxNameRunes:
		return fault.New(fault.Invalid, "A search has at most 255 characters.")
	}
	return q.Filter.check()
}

// searches reports whether the query searches below its folder instead of listing it.
func (q *ListQuery) searches() bool { return q.Search != "" || !q.Filter.empty() }

// Details returns one entry and the mount that it is in. Faults: NotFound; Forbidden and
// PasswordRequired when the actor may not read it.
func (t *Tree) Details(ctx context.Context, a access.Actor, id string) (Entry, mount.Mount, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return Entry{}, mount.Mount{}, err
	}
	e, err := t.viewerOf(ctx, v, a)
	if err != nil {
		return Entry{}, mount.Mount{}, err
	}
	target := n.existingTarget(a)
	if !e.Shows(target, n.folder) {
		if err := v.allow(a, target, access.Read); err != nil {
			return Entry{}, mount.Mount{}, err
		}
		return Entry{}, mount.Mount{}, forbidden()
	}
	found := []Entry{v.entry(a, &n.row, target)}
	err = t.addPictures(ctx, found)
	return found[0], n.mount, err
}

// entryViewer decides which entries an actor sees: the rules of one config version, and the actor
// with the path of their home.
type entryViewer struct {
	*ruleset
	access.Viewer
}

// viewerOf returns the viewer of the actor a under the rules v. It looks up the actor's home, since
// the folders above the home are visible as the way to it.
func (t *Tree) viewerOf(ctx context.Context, v *ruleset, a access.Actor) (*entryViewer, error) {
	e := &entryViewer{ruleset: v, Viewer: access.Viewer{Policy: v.policy, Actor: a}}
	if a.HomeID == "" || a.Role != access.User {
		return e, nil
	}
	n, _, err := v.findID(t.DB.Read(ctx), a.HomeID)
	if err != nil {
		return nil, err
	}
	e.Home, e.HasHome = n.path, n.exists()
	return e, nil
}
