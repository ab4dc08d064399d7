package files

import (
	"context"

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
}

// Listing is one page, of what the actor may see only.
type Listing struct {
	Items  []Entry
	Total  int          // on all pages
	Mount  *mount.Mount // that covers the path
	Folder *Entry       // the folder itself
}

// ordering is how items are sorted: folders first, then by key, then by name.
type ordering struct {
	key  string // name, time, size or manual
	desc bool   // the key, and nothing else, runs backwards
}

// List returns what is in a folder, or below it when something is searched for. Faults: Invalid, NotFound (no mount, no such folder, a file),
// Forbidden (a folder that does not show to the actor, existing or not), PasswordRequired.
func (t *Tree) List(ctx context.Context, a access.Actor, q ListQuery) (Listing, error) {
	if err := q.check(); err != nil {
		return Listing{}, err
	}
	var n node
	v, err := t.ask(ctx, func(v *view) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), q.Path)
		return version, err
	})
	if err != nil {
		return Listing{}, err
	}
	if !n.mounted() {
		return Listing{}, noMount()
	}
	e, err := t.eye(ctx, v, a)
	if err != nil {
		return Listing{}, err
	}
	if err := e.enter(n.target(a)); err != nil {
		return Listing{}, err
	}
	if !n.isFolder() {
		return Listing{}, fault.New(fault.NotFound, "There is no such folder.")
	}
	p := page{offset: int64(min(q.Page, 1<<31)-1) * int64(q.Limit), limit: int64(q.Limit), kind: -1}
	switch q.Type {
	case "folder":
		p.kind = folderKind
	case "file":
		p.kind = fileKind
	}
	p.order = ordering{key: q.Sort, desc: q.Order == "desc"}
	if q.Sort == "" {
		p.order = ordering{key: n.mount.SortBy, desc: n.mount.SortOrder == "desc"}
	}
	facts := n.facts(a)
	folder := v.entry(a, &n.row, facts)
	listing := Listing{Mount: &n.mount, Folder: &folder}
	var seen []sight
	if q.Search != "" {
		seen, listing.Total, err = t.search(ctx, e, &n, q.Search, p)
	} else {
		seen, listing.Total, err = t.children(ctx, e, &n.row, facts, p)
	}
	if err != nil {
		return Listing{}, err
	}
	listing.Items = make([]Entry, len(seen))
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
	}
	return nil
}

// Details shows one entry and the mount it lies in. Faults: NotFound, Forbidden and PasswordRequired when the actor may not read it.
func (t *Tree) Details(ctx context.Context, a access.Actor, id string) (Entry, mount.Mount, error) {
	n, v, err := t.lookUp(ctx, id)
	if err != nil {
		return Entry{}, mount.Mount{}, err
	}
	e, err := t.eye(ctx, v, a)
	if err != nil {
		return Entry{}, mount.Mount{}, err
	}
	facts := n.facts(a)
	if !e.sees(&n.row, facts) {
		if err := v.allow(a, facts, access.Read); err != nil {
			return Entry{}, mount.Mount{}, err
		}
		return Entry{}, mount.Mount{}, forbidden()
	}
	return v.entry(a, &n.row, facts), n.mount, nil
}

// eye decides what an actor gets to see.
type eye struct {
	*view
	actor   access.Actor
	home    vpath.Path
	hasHome bool
}

// eye looks the actor's home up, since the folders above it show.
func (t *Tree) eye(ctx context.Context, v *view, a access.Actor) (*eye, error) {
	e := &eye{view: v, actor: a}
	if a.HomeID == "" || a.Role != access.User {
		return e, nil
	}
	n, _, err := v.findID(t.DB.Read(ctx), a.HomeID)
	if err != nil {
		return nil, err
	}
	e.home, e.hasHome = n.path, n.exists()
	return e, nil
}

// enter decides whether a folder may be listed; it then lists what sees shows. Faults: Forbidden, PasswordRequired.
func (e *eye) enter(folder access.Target) error {
	in := folder.Inside()
	err := e.allow(e.actor, in, access.Read)
	switch {
	case err == nil, e.allowed(in, access.Write):
		return nil
	case fault.Is(err, fault.Forbidden) && e.reveals(folder.Path):
		return nil
	}
	return err
}

// sees decides whether an entry shows.
func (e *eye) sees(r *row, t access.Target) bool {
	return e.allowed(t, access.Read) || r.folder && (e.allowed(t, access.Write) || e.reveals(t.Path))
}

func (e *eye) allowed(t access.Target, p access.Permission) bool {
	return e.policy.Decide(e.actor, t, p).Outcome == access.Allowed
}

// reveals reports whether something that the actor may see lies below path.
func (e *eye) reveals(path vpath.Path) bool {
	return e.policy.Reveals(e.actor, path, e.home, e.hasHome)
}

// verdict decides about all children of a folder at once, if that can be done.
func (e *eye) verdict(folder access.Target) access.Children {
	read := e.policy.Children(e.actor, folder, access.Read)
	if read == access.ChildrenAll || read == access.ChildrenMixed || e.reveals(folder.Path) {
		if read == access.ChildrenAll {
			return read
		}
		return access.ChildrenMixed
	}
	// A folder also shows to who may write in it.
	if write := e.policy.Children(e.actor, folder, access.Write); write != access.ChildrenNone && write != read {
		return access.ChildrenMixed
	}
	return read
}

// sight is an entry that shows, with the facts about it.
type sight struct {
	row    row
	target access.Target
}

// page is the part of a listing that is asked for.
type page struct {
	offset, limit int64
	kind          int // -1 for both
	order         ordering
}

// children lists a folder.
func (t *Tree) children(ctx context.Context, e *eye, folder *row, facts access.Target, p page) (seen []sight, total int, err error) {
	owner := ""
	switch e.verdict(facts) {
	case access.ChildrenNone:
		return nil, 0, nil
	case access.ChildrenMixed:
		return t.childrenMixed(ctx, e, folder, facts, p)
	case access.ChildrenOwn:
		owner = e.actor.UserID
	}
	q := t.DB.Read(ctx)
	if total, err = countChildren(q, folder.id, p.kind, owner); err != nil || int64(total) <= p.offset {
		return nil, total, err
	}
	err = eachChild(q, folder.id, p, owner, func(r *row) {
		seen = append(seen, sight{row: *r, target: child(facts, e.actor, r)})
	})
	return seen, total, err
}

// childrenMixed reads the whole folder and asks about each entry in it; only the page asked for is kept.
func (t *Tree) childrenMixed(ctx context.Context, e *eye, folder *row, facts access.Target, p page) (seen []sight, total int, err error) {
	all := p
	all.offset, all.limit = 0, everyRow
	err = eachChild(t.DB.Read(ctx), folder.id, all, "", func(r *row) {
		target := child(facts, e.actor, r)
		if !e.sees(r, target) {
			return
		}
		if int64(total) >= p.offset && int64(len(seen)) < p.limit {
			seen = append(seen, sight{row: *r, target: target})
		}
		total++
	})
	return seen, total, err
}

// search finds names below a folder. Folders that the actor may not see are walked through as well: what is theirs shows wherever it lies.
func (t *Tree) search(ctx context.Context, e *eye, n *node, text string, p page) (seen []sight, total int, err error) {
	err = eachMatch(t.DB.Read(ctx), n.id, text, p, func(path string, trail []level, r *row) {
		at := *n
		at.row, at.path, at.trail = *r, n.path, append(n.trail[:len(n.trail):len(n.trail)], trail...)
		at.trail = append(at.trail, level{id: r.id, owner: r.owner, guarded: r.guarded})
		for _, name := range segments(path) {
			at.path = at.path.Child(name)
		}
		at.path = at.path.Child(vpath.Name(r.name))
		if e.covered(&at, at.path) {
			return
		}
		target := at.facts(e.actor)
		if !e.sees(r, target) {
			return
		}
		if int64(total) >= p.offset && int64(len(seen)) < p.limit {
			seen = append(seen, sight{row: *r, target: target})
		}
		total++
	})
	return seen, total, err
}
