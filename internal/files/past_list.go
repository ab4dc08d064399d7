package files

import (
	"context"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// PastQuery selects one page of a folder as it was at an earlier time.
type PastQuery struct {
	ListQuery        // without Search and Filter; Path as in ListPast
	FolderID  string // instead of Path: a folder that may be in the trash now; "" for Path
	At        int64  // ms
}

// PastState tells how an entry of an earlier time is now.
type PastState string

// The values.
const (
	PastSame    PastState = "same"    // where it was, with the content that it had
	PastChanged PastState = "changed" // where it was, with other content
	PastLost    PastState = "lost"    // where it was; the content that it had is not kept any more
	PastMoved   PastState = "moved"   // it has another name, or is in another folder
	PastTrashed PastState = "trashed" // in the trash
)

// PastEntry is an entry as it was at an earlier time.
type PastEntry struct {
	Entry
	State PastState
}

// PastListing is one page of a folder as it was.
type PastListing struct {
	Items         []PastEntry
	Total         int // on all pages
	Mount         mount.Mount
	Folder        Entry // as it was
	CompleteSince int64 // ms: everything is known about the folder from then
	KnownSince    int64 // ms: the folder can be listed at times from then that are in no gap
	Gaps          []Gap // between KnownSince and CompleteSince, in order; the last 1,000
}

// Gap is a time for which a folder is not known, since an entry was deleted for good that the
// folder had then.
type Gap struct {
	Since, Until int64 // ms; Until is exclusive
}

// maxGaps is the maximal number of gaps that a listing names.
const maxGaps = 1000

// pastPermissions are the most that anybody may do in an earlier time.
const pastPermissions = access.Set(access.Read) | access.Set(access.Download)

// ListPast returns the entries that were in a folder at an earlier time, those in the trash now
// included; entries that were deleted for good are left out. Names, paths and content are those of
// that time, everything else is as it is now. A file whose content of that time was deleted before
// its time is listed with its present size. The actor has to be allowed to read an entry at the
// path that it had, by the present rules and passwords, and to see it where it is now: at its
// present path, or in the trash. Nothing can be changed in an earlier time, so the permissions of
// the entries are to read and to download at most.
//
// ListPast lists the folder that had the path of the query at that time. If the actor sees no such
// folder, ListPast lists the present folder with this path, as it was at that time.
//
// Faults: Invalid (also for a time in the future, before KnownSince, or in a gap), NotFound (no
// such folder, a virtual one, or it did not exist at that time), Forbidden, PasswordRequired.
func (t *Tree) ListPast(ctx context.Context, a access.Actor, q PastQuery) (PastListing, error) {
	if err := q.check(); err != nil {
		return PastListing{}, err
	}
	l, err := t.openPast(ctx, a, q)
	if err != nil {
		return PastListing{}, err
	}
	if err := l.findLeft(); err != nil {
		return PastListing{}, err
	}
	listing := PastListing{Mount: l.mount, Folder: l.pastEntry(&l.row, l.then), CompleteSince: l.completeSince,
		KnownSince: l.since}
	gaps, err := gapsAfter(l.q, l.id, l.since, maxGaps)
	if err != nil {
		return PastListing{}, err
	}
	for _, g := range gaps {
		listing.Gaps = append(listing.Gaps, Gap{Since: g.since, Until: g.until})
	}
	order := sortOrder{key: q.Sort, desc: q.Order == "desc"}
	if q.Sort == "" {
		order = sortOrder{key: l.mount.SortBy, desc: l.mount.SortOrder == "desc"}
	}
	if order.names, err = t.nameOrderNow(ctx); err != nil {
		return PastListing{}, err
	}
	skip := int64(min(q.Page, 1<<31)-1) * int64(q.Limit)
	err = l.each(order, q.Type, func(_ *pastRow, e PastEntry) {
		if n := int64(listing.Total); n >= skip && n-skip < int64(q.Limit) {
			listing.Items = append(listing.Items, e)
		}
		listing.Total++
	})
	if err != nil {
		return PastListing{}, err
	}
	return listing, nil
}

// each calls found for the entries that the folder had and the actor sees, in order: folders first.
// onlyType is ListQuery.Type: file, folder or "" for both.
func (l *pastLister) each(order sortOrder, onlyType string, found func(r *pastRow, e PastEntry)) error {
	for _, kind := range []int{folderKind, fileKind} {
		if onlyType == "file" && kind == folderKind || onlyType == "folder" && kind == fileKind {
			continue
		}
		selection := pastSelection{folder: l.id, kind: kind, at: l.at}
		err := selection.each(l.q, order, func(r *pastRow) {
			if e, shown := l.view(r); shown {
				found(r, e)
			}
		})
		if err != nil {
			return err
		}
	}
	// an entry may have been deleted for good while the rows were read
	h, err := historyOf(l.q, l.id, l.at)
	if err == nil && (h.since == 0 || l.at < h.since || h.gap) {
		err = notKnown()
	}
	return err
}

// pastLister is one call of ListPast.
type pastLister struct {
	*entryViewer
	row      // the folder
	q        db.Querier
	at       int64               // ms
	mount    mount.Mount         // at that time
	then     access.Target       // of the folder at that time
	now      *access.Target      // of the folder now; nil in the trash
	left     map[string]presence // the entries that have left the folder, by id; nowhere when not seen
	outdated bool                // an entry has left the folder after left was read
	folderHistory
}

// presence is where an entry is now: at the path of the node, or in the trash, or nowhere.
type presence struct {
	node    node   // does not exist for an entry that no path leads to
	item    string // id of the entry in the trash that it is, or is in; "" outside of the trash
	deleted bool   // for good; the collector has not come to it yet
}

// openPast looks up the folder of the query as it is now and as it was at q.At, and decides whether
// the actor may list it in both places. The caller calls findLeft before each. Faults: those of
// ListPast.
func (t *Tree) openPast(ctx context.Context, a access.Actor, q PastQuery) (*pastLister, error) {
	l := &pastLister{q: t.DB.Read(ctx), at: q.At}
	var here, had presence // had is the folder that had the path of the query
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		if q.FolderID != "" {
			here, version, err = v.findPresence(l.q, q.FolderID)
		} else if here.node, version, err = v.find(l.q, q.Path); err == nil {
			var newest int64
			had, newest, err = v.findHad(l.q, q.Path, q.At)
			version = max(version, newest)
		}
		return version, err
	})
	if err != nil {
		return nil, err
	}
	if l.entryViewer, err = t.viewerOf(ctx, v, a); err != nil {
		return nil, err
	}
	if q.FolderID == "" && here.node.mounted() { // before it is told whether there is such a folder
		if err := l.authorize(here.node.target(a)); err != nil {
			return nil, err
		}
	}
	err = l.enter(had)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.PasswordRequired) {
		err = l.enter(here) // the answer must not reveal that another folder had the path
	}
	if err != nil {
		return nil, err
	}
	if l.folderHistory, err = t.knownHistory(l.q, v.trash, l.id, q.At); err != nil {
		return nil, err
	}
	then, err := v.findAt(l.q, l.id, q.At)
	if err != nil {
		return nil, err
	}
	l.mount, l.then = then.mount, then.existingTarget(a)
	if err := l.authorize(l.then); err != nil {
		return nil, err
	}
	return l, nil
}

// enter sets the listed folder to the one at the presence, and decides whether the actor sees it
// there. Faults: NotFound, also for a folder in the trash that the actor does not see there,
// Forbidden, PasswordRequired.
func (l *pastLister) enter(here presence) (err error) {
	l.row, l.now = here.node.row, nil
	switch {
	case !here.node.exists() || !here.node.folder:
		return noFolder()
	case here.item != "":
		_, err = trashedFor(l.q, l.Actor, here.item)
		return err
	}
	now := here.node.existingTarget(l.Actor)
	l.now = &now
	return l.authorize(now)
}

// authorize decides whether the actor may list the folder that the target describes. Faults:
// Forbidden, PasswordRequired.
func (l *pastLister) authorize(folder access.Target) error {
	return listingFault(l.DecideListing(folder))
}

// findPresence looks up where an entry is now: at a path, in the trash, or nowhere, when its node
// does not exist. version is the config version that it read.
func (rs *ruleset) findPresence(q db.Querier, id string) (p presence, version int64, err error) {
	p.node, version, err = rs.findID(q, id)
	if err != nil || p.node.exists() {
		return p, version, err
	}
	c, err := readAncestors(q, byEntry, id)
	if err == nil && c.root == trashRoot && len(c.trail) > 1 {
		p.node, p.item = node{row: c.row, trail: c.trail}, c.trail[1].id
	}
	p.deleted = c.root == graveyard
	return p, version, err
}

// findHad finds the folder that had a path at a time (ms), and returns where it is now: nowhere if
// no folder had the path. Mounts have their present paths. version is the config version that
// findHad read, 0 if it read none.
func (rs *ruleset) findHad(q db.Querier, p vpath.Path, at int64) (had presence, version int64, err error) {
	m, found := rs.mounts.Resolve(p)
	if !found {
		return presence{}, 0, nil
	}
	id := m.RootID
	names, _ := p.RelativeTo(m.Path)
	for _, name := range names {
		if id, err = folderAt(q, id, name, at); err != nil || id == "" {
			return presence{}, 0, err
		}
	}
	return rs.findPresence(q, id)
}

// findAt finds an entry at the path that it had at a time (ms), by the former places of itself and
// of the folders above it. Its owner and the passwords on the path are the present ones. Fault:
// NotFound when it did not exist then, or was in no mount.
func (rs *ruleset) findAt(q db.Querier, id string, at int64) (node, error) {
	n := node{row: row{id: id}}
	var names []vpath.Name
	for above := id; ; {
		p, found, err := placeAt(q, above, at)
		if err != nil {
			return node{}, err
		}
		if found && p.left { // it may be deleted for good, and not collected yet
			here, _, err := rs.findPresence(q, above)
			if err != nil {
				return node{}, err
			}
			found = here.node.exists()
		}
		if !found || len(n.trail) > vpath.MaxDepth { // after a clock went back, two folders may be in one another
			return node{}, noHistory()
		}
		if above == id {
			n.owner, n.folder, n.parent, n.name = p.owner, p.folder, p.parent, p.name
		}
		n.trail = slices.Insert(n.trail, 0, trailEntry{id: above, owner: p.owner, password: p.password})
		if p.parent == "" {
			break
		}
		names = slices.Insert(names, 0, vpath.Name(p.name))
		above = p.parent
	}
	for _, m := range rs.mounts.ByRoot(n.trail[0].id) {
		n.mount, n.path = m, m.Path
		for _, name := range names {
			n.path = n.path.Child(name)
		}
		if top, _ := rs.mounts.Resolve(n.path); top.ID == m.ID {
			var version int64
			return n, rs.addOuterTrail(q, &n, &version)
		}
	}
	return node{}, noHistory()
}

// findLeft looks up where those entries are now that have left the folder since l.at, for view.
// Entries in no mount, and those in the trash that the actor does not see there, are nowhere in
// l.left. Entries in one folder share the query for its path. Fault: Invalid when an entry is
// deleted for good and the collector has not recorded the gap yet.
func (l *pastLister) findLeft() error {
	ids, err := leftSince(l.q, l.id, l.at)
	if err != nil {
		return err
	}
	rows, err := entriesByID(l.q, ids)
	if err != nil {
		return err
	}
	l.left = make(map[string]presence, len(ids))
	folders := map[string]presence{}
	var items []string
	for _, id := range ids {
		l.left[id] = presence{}
	}
	for id, r := range rows {
		folder, known := folders[r.parent]
		if !known && r.parent != trashRoot {
			if folder, _, err = l.findPresence(l.q, r.parent); err != nil {
				return err
			}
			folders[r.parent] = folder
		}
		here := l.presenceIn(&folder, r)
		if here.deleted {
			return notKnown()
		}
		if here.item != "" {
			items = append(items, here.item)
		}
		if here.node.exists() {
			l.left[id] = here
		}
	}
	seen := map[string]bool{"": true}
	err = trashedAmong(l.q, items, func(i *trashed) { seen[i.id] = i.seenBy(l.Actor) })
	for id, here := range l.left {
		if !seen[here.item] {
			l.left[id] = presence{}
		}
	}
	return err
}

// presenceIn returns where the entry r is, whose parent folder is at the presence folder. An entry
// directly in the trash needs no folder.
func (rs *ruleset) presenceIn(folder *presence, r row) presence {
	if r.parent == trashRoot {
		return presence{node: node{row: r}, item: r.id}
	}
	switch {
	case !folder.node.exists():
		return presence{deleted: folder.deleted}
	case folder.item != "":
		return presence{node: node{row: r}, item: folder.item}
	}
	n := node{row: r, mount: folder.node.mount, path: folder.node.path.Child(vpath.Name(r.name))}
	n.trail = append(slices.Clip(folder.node.trail), trailEntry{id: r.id, owner: r.owner, password: r.password})
	if over, _ := rs.mounts.Resolve(n.path); over.ID != n.mount.ID {
		return presence{}
	}
	return presence{node: n}
}

// view returns the entry r as it was and the actor sees it, with its state now. The bool is false
// when the actor does not see it: at its path of then by the present rules, or where it is now.
func (l *pastLister) view(r *pastRow) (PastEntry, bool) {
	then := childTarget(l.then, l.Actor, &r.row)
	if over, _ := l.mounts.Resolve(then.Path); over.ID != l.mount.ID || !l.Shows(then, r.folder) {
		return PastEntry{}, false
	}
	state, now := PastTrashed, l.now
	if l.now != nil {
		state = PastSame
		target := childTarget(*l.now, l.Actor, &r.row)
		now = &target
	}
	if r.left {
		here, known := l.left[r.id]
		l.outdated = l.outdated || !known
		switch {
		case !here.node.exists():
			return PastEntry{}, false
		case here.item != "":
			state, now = PastTrashed, nil
		default:
			state = PastMoved
			if here.node.parent == l.id && here.node.name == r.name {
				state = PastSame
			}
			target := here.node.existingTarget(l.Actor)
			now = &target
		}
	}
	switch {
	case state == PastSame && r.lost:
		state = PastLost
	case state == PastSame && r.version != 0:
		state = PastChanged
	}
	e := PastEntry{Entry: l.pastEntry(&r.row, then), State: state}
	if r.lost {
		e.Permissions &^= access.Set(access.Download)
	}
	if now != nil {
		if !l.Shows(*now, r.folder) {
			return PastEntry{}, false
		}
		e.Permissions &= l.policy.Allowed(l.Actor, *now)
	}
	return e, true
}

// pastEntry returns r at the path that it had, described by the target then, with no permission but
// to read and to download.
func (l *pastLister) pastEntry(r *row, then access.Target) Entry {
	e := l.entry(l.Actor, r, then)
	e.Public = false // only the present content is
	e.Permissions &= pastPermissions
	return e
}
