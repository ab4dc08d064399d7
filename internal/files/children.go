package files

import (
	"context"
	"slices"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Resource is the result of looking up a path, before the actor is known. WebDAV looks up a path
// once, then asks the Resource about rights, locks and content.
type Resource struct{ FoundEntry }

// ResourceAt looks up a path, without checking permissions. A path without an entry is no error;
// see Resource.Exists.
func (t *Tree) ResourceAt(ctx context.Context, p vpath.Path) (*Resource, error) {
	f, err := t.FindPath(ctx, p)
	if err != nil {
		return nil, err
	}
	s := &Resource{*f}
	if !s.node.mounted() {
		s.node.path = p
	}
	return s, nil
}

// Exists reports whether there is a stored entry at the path; virtual folders are none.
func (r *Resource) Exists() bool { return r.node.exists() }

// ID is the id of the entry, "" for none.
func (r *Resource) ID() string {
	if !r.node.exists() {
		return ""
	}
	return r.node.id
}

// ETag is the ETag of a file's content, "" for anything else.
func (r *Resource) ETag() string {
	if !r.node.exists() {
		return ""
	}
	return etag(r.node.content)
}

// Size is the size of a file in bytes.
func (r *Resource) Size() int64 { return r.node.size }

// OwnerID is the id of the account that owns the entry; for a path without an entry, that of the
// owner of the deepest folder on it, "" where no mount covers the path.
func (r *Resource) OwnerID() string { return r.node.owner }

// UpdatedAt is the time of the last change of the entry, in ms.
func (r *Resource) UpdatedAt() int64 { return r.node.updated }

// Virtual reports whether the path is a folder without a stored entry, which exists only because a
// mount is below it. The root of the tree always exists.
func (r *Resource) Virtual() bool {
	at := r.node.requestedPath()
	return !r.node.exists() && (at.IsRoot() || len(r.rules.mounts.Below(at)) > 0)
}

// Authorize decides whether the actor has the permission p here. For a missing entry it decides as
// if the entry were about to be made, and returns NotFound only to an actor with the permission, so
// that others do not learn what exists. Faults: Forbidden, PasswordRequired, NotFound.
func (r *Resource) Authorize(a access.Actor, p access.Permission) error {
	if err := r.rules.allow(a, r.node.target(a), p); err != nil {
		return err
	}
	if !r.node.exists() && !r.Virtual() {
		return noEntry()
	}
	return nil
}

// Locks returns the WebDAV locks that cover the entry, or would cover it if it existed, with their
// paths.
func (r *Resource) Locks(ctx context.Context) ([]WriteLock, error) {
	return r.tree.coveringLocks(ctx, &r.node)
}

// CheckUnlocked refuses a new or changed file here while the lock of another client covers the
// path, so that no body is received in vain. Put checks again in its transaction. Fault: Locked,
// with the path of the lock (LockedAt) where that can be told.
func (r *Resource) CheckUnlocked(ctx context.Context, a access.Actor) error {
	if r.node.id == "" {
		return nil
	}
	there, err := locksOn(r.tree.DB.Read(ctx), trailIDs(r.node.trail), r.tree.nowMs())
	if err != nil {
		return err
	}
	l := blockingLock(a, r.node.trail, there)
	if l == nil {
		return nil
	}
	path, err := r.tree.PathOf(ctx, l.EntryID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return lockedFault(path)
}

// EntryFor returns the entry as listings show it to an actor, without Permissions; a virtual folder
// has no MountID. Faults: NotFound, Forbidden (whether or not the entry exists, where the actor may
// not read), PasswordRequired.
func (r *Resource) EntryFor(ctx context.Context, a access.Actor) (Entry, error) {
	e, err := r.tree.viewerOf(ctx, r.rules, a)
	if err != nil {
		return Entry{}, err
	}
	target := r.node.target(a)
	onlyWay := r.Virtual()
	if onlyWay {
		target = r.node.virtualTarget(a, r.node.requestedPath())
	}
	// a missing entry is authorized as a file; more folders than files are visible
	if !e.Shows(target, onlyWay || r.node.isFolder()) {
		if err := r.rules.allow(a, target, access.Read); err != nil {
			return Entry{}, err
		}
		return Entry{}, forbidden()
	}
	switch {
	case onlyWay:
		seen := virtualEntry(target)
		return plainEntry(&seen.row, target), nil
	case !r.node.exists():
		return Entry{}, noEntry()
	}
	return plainEntry(&r.node.row, target), nil
}

// Member is an entry as a listing of its folder shows it. It has few fields since a folder may have
// a million entries. Times are in milliseconds.
type Member struct {
	ID                   string // "" unless MemberFields asked for it
	Name                 string
	Folder               bool
	Virtual              bool   // exists only because a mount is below it; has no times
	Size                 int64  // bytes
	MimeType             string // of a file
	ETag                 string // of a file's content; "" unless MemberFields asked for it
	CreatedAt, UpdatedAt int64
}

// Member returns the entry in the short form of a MemberCursor, as a listing of its folder would
// show it.
func (e *Entry) Member() Member {
	return Member{
		ID: e.ID, Name: e.Name, Folder: e.Folder, Virtual: e.MountID == "", Size: e.Size, MimeType: e.MimeType,
		ETag:      e.ETag,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

// MemberCursor reads the visible entries of a folder in pages. Its memory does not grow with their
// number, it holds nothing in the database between two pages, and entries that appear or disappear
// meanwhile do not shift the others. The cursor decides about each page anew. Not for concurrent
// use.
type MemberCursor struct {
	tree    *Tree
	actor   access.Actor
	id      string // of the folder; "" for a virtual one
	path    vpath.Path
	etags   etagSource
	withIDs bool
	next    childKind
	names   nameOrder // kept to the end, so that no entry is lost or repeated
	after   namePosition
	page    []Member
}

// childrenPage is the maximal number of entries on a page, not counting mounts.
const childrenPage = 256

// MemberFields selects the fields of a Member that cost extra work.
type MemberFields struct{ IDs, ETags bool }

// Children returns a cursor at the beginning of the folder at the path, for the actor a; t selects
// costly fields. Each page checks whether the actor may list the folder.
func (r *Resource) Children(ctx context.Context, a access.Actor, t MemberFields) (c *MemberCursor, err error) {
	c = &MemberCursor{tree: r.tree, actor: a, id: r.ID(), path: r.node.requestedPath(), withIDs: t.IDs,
		next: childMounts}
	if c.names, err = r.tree.nameOrderNow(ctx); err != nil {
		return nil, err
	}
	if t.ETags {
		c.etags, err = etagSourceNow(r.tree.DB.Read(ctx))
	}
	return c, err
}

// Next returns the next page of entries, which is valid until the next call, and none after the
// last. Faults: Forbidden, PasswordRequired, NotFound when the folder is gone.
func (c *MemberCursor) Next(ctx context.Context) ([]Member, error) {
	c.page = c.page[:0]
	for len(c.page) == 0 && c.next != childNone {
		if err := c.read(ctx); err != nil {
			return nil, err
		}
	}
	return c.page, nil
}

// read decides again whether the actor may list the folder, and reads the next page into c.page:
// first the mounts and virtual folders in it, then stored folders, then files. The page may be
// empty before the end (c.next is childNone at the end). Faults: Forbidden, PasswordRequired,
// NotFound.
func (c *MemberCursor) read(ctx context.Context) error {
	q := c.tree.DB.Read(ctx)
	var n node
	v, err := c.tree.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		if c.id == "" {
			n, version, err = v.find(q, c.path)
		} else {
			n, version, err = v.findID(q, c.id)
		}
		return version, err
	})
	if err != nil {
		return err
	}
	if c.id != "" {
		if !n.exists() {
			return noFolder()
		}
		c.path = n.path
	}
	l, err := c.tree.lister(ctx, v, c.actor, c.path)
	if err != nil {
		return err
	}
	f, err := l.enter(&n, c.path)
	if err != nil {
		return err
	}
	exceptions, err := l.exceptions(f, nil) // names that mounts occupy
	if err != nil {
		return err
	}
	switch {
	case c.next != childMounts:
		return c.readStored(ctx, l, f, exceptions)
	case f.id == "":
		c.next = childNone
	default:
		c.next = childFolders
	}
	for _, s := range exceptions { // mounts in the folder, and virtual folders that lead to mounts further down
		if at := l.exceptionEntry(f, s); at.row.id != "" && l.lists(&at) {
			e := plainEntry(&at.row, at.target)
			c.page = append(c.page, e.Member())
		}
	}
	return nil
}

// readStored reads the next page of stored entries of the folder f: folders first, then files, each
// kind by name. exceptions are the names that mounts occupy, which it leaves out.
func (c *MemberCursor) readStored(ctx context.Context, l *lister, f listedFolder, exceptions []exception) error {
	kind := folderKind
	if c.next == childFiles {
		kind = fileKind
	}
	all := l.allVisible(f, kind)
	read, last := 0, namePosition{}
	query := memberQuery{dialect: l.dialect, order: c.names, etags: c.etags, full: c.withIDs || !all}
	err := query.read(c.tree.DB.Read(ctx), f.id, kind, c.after, childrenPage,
		func(m *Member, r *row) {
			read, last = read+1, namePosition{r.sortKey, m.Name}
			if slices.ContainsFunc(exceptions, func(s exception) bool { return string(s.name) == m.Name }) {
				return
			}
			if all || l.Shows(childTarget(f.target, c.actor, r), m.Folder) {
				c.page = append(c.page, *m)
			}
		})
	if err != nil {
		return err
	}
	if read == childrenPage {
		c.after = last
		return nil
	}
	c.after = namePosition{}
	c.next = childFiles
	if kind == fileKind {
		c.next = childNone
	}
	return nil
}

// allVisible reports whether the actor sees all entries of a kind (fileKind or folderKind) in the
// folder f, so that no entry needs a decision of its own.
func (l *lister) allVisible(f listedFolder, kind int) bool {
	in := l.ListingFilter(f.target)
	if kind == folderKind {
		return in.Folders == access.ShownAll && len(in.Exceptions) == 0
	}
	return in.Files == access.ShownAll && len(in.Exceptions) == 0 && len(in.Globs) == 0
}

// lister returns a lister of both kinds for the folder at path, under the rules v, with the roots
// of the mounts below it.
func (t *Tree) lister(ctx context.Context, v *ruleset, a access.Actor, path vpath.Path) (*lister, error) {
	e, err := t.viewerOf(ctx, v, a)
	if err != nil {
		return nil, err
	}
	l := &lister{entryViewer: e, q: t.DB.Read(ctx), cache: t.EntryCache, dialect: t.DB.Dialect(),
		mounts: v.mounts.Below(path), kind: -1}
	return l, l.readRoots()
}

// LocksOn returns the locks taken on the entries with these ids, by entry id and without their
// paths. It leaves out locks on folders above them. It checks no permission.
func (t *Tree) LocksOn(ctx context.Context, ids []string) (map[string][]WriteLock, error) {
	found := map[string][]WriteLock{}
	there, err := locksOn(t.DB.Read(ctx), ids, t.nowMs())
	for _, l := range there {
		found[l.EntryID] = append(found[l.EntryID], l)
	}
	return found, err
}

// HasLocksOrProperties reports whether any entry in the database is locked, and whether any has a
// dead property. Usually none has, and a listing need not ask about its entries.
func (t *Tree) HasLocksOrProperties(ctx context.Context) (locks, properties bool, err error) {
	return anyLocksOrProperties(t.DB.Read(ctx), t.nowMs())
}
