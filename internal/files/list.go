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

// ListQuery asks for one page of a folder, or of a search below it.
type ListQuery struct {
	Path   vpath.Path
	Page   int    // from 1
	Limit  int    // items on a page, from 1
	Sort   string // name, time, size or manual; "" as the mount says, and then in its order
	Order  string // asc or desc; "" is asc
	Type   string // file, folder or "" for both
	Search string // names that contain it without regard to case, at any depth; "" lists the folder itself

	// id of the folder that is shown to somebody, see ListShared: what lies elsewhere is not
	// there; "" for none
	sharedFolderID string
}

// Listing is one page, of what the actor may see only.
type Listing struct {
	Items  []Entry
	Total  int          // on all pages
	Mount  *mount.Mount // that covers the path; nil for a virtual folder
	Folder *Entry       // the folder itself; nil for a virtual one
}

// sortOrder is how items are sorted: folders first, then by key, then by name.
type sortOrder struct {
	key  string // name, time, size or manual
	desc bool   // the key, and nothing else, runs backwards
}

// List returns what is in a folder, or below it when something is searched for. A mount shows as a
// folder, whatever lies at its path otherwise. A folder that is there only because a mount lies
// below it is virtual: it has neither a Mount nor a Folder, and so has the root where nothing is
// mounted. Faults: Invalid, NotFound (no mount at or below it, no such folder, a file), Forbidden
// (a folder that does not show to the actor, existing or not), PasswordRequired.
func (t *Tree) List(ctx context.Context, a access.Actor, q ListQuery) (Listing, error) {
	if err := q.check(); err != nil {
		return Listing{}, err
	}
	var n node
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), q.Path)
		return version, err
	})
	if err != nil {
		return Listing{}, err
	}
	e, err := t.viewerOf(ctx, v, a)
	if err != nil {
		return Listing{}, err
	}
	e.Shared = q.sharedFolderID != ""
	if e.Shared && !n.within(q.sharedFolderID) {
		return Listing{}, noFolder()
	}
	l := lister{entryViewer: e, q: t.DB.Read(ctx), dialect: t.DB.Dialect(), mounts: v.mounts.Below(q.Path), kind: -1,
		shared: e.Shared}
	f, err := l.enter(&n, q.Path)
	if err != nil {
		return Listing{}, err
	}
	var listing Listing
	l.order = sortOrder{key: q.Sort, desc: q.Order == "desc"}
	if f.id != "" {
		folder := v.entry(a, &n.row, f.facts)
		listing.Mount, listing.Folder = &n.mount, &folder
	}
	if q.Sort == "" {
		l.order = sortOrder{key: n.mount.SortBy, desc: n.mount.SortOrder == "desc"}
	}
	switch q.Type {
	case "folder":
		l.kind = folderKind
	case "file":
		l.kind = fileKind
	}
	if err := l.readRoots(); err != nil {
		return Listing{}, err
	}
	var parts []listPortion
	if q.Search != "" {
		parts, err = l.search(f, &n, q.Search)
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
	for i := range seen {
		listing.Items[i] = v.entry(a, &seen[i].row, seen[i].target)
	}
	return listing, nil
}

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
	case q.Search != "" && q.sharedFolderID != "":
		return fault.New(fault.Invalid, "What is shared is not searched.")
	case utf8.RuneCountInString(q.Search) > vpath.MaxNameRunes:
		return fault.New(fault.Invalid, "A search has at most 255 characters.")
	}
	return nil
}

// Details shows one entry and the mount it lies in. Faults: NotFound, Forbidden and
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
	facts := n.facts(a)
	if !e.Shows(facts, n.folder) {
		if err := v.allow(a, facts, access.Read); err != nil {
			return Entry{}, mount.Mount{}, err
		}
		return Entry{}, mount.Mount{}, forbidden()
	}
	return v.entry(a, &n.row, facts), n.mount, nil
}

// entryViewer decides what an actor gets to see.
type entryViewer struct {
	*ruleset
	access.Viewer
}

// entryViewer looks the actor's home up, since the folders above it show.
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
