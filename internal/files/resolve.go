package files

import (
	"slices"
	"strings"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// row is an entry as it is stored, with the location of its content.
type row struct {
	id, parent string // parent is "" for a root
	name       string
	sortKey    string // only in listings
	folder     bool
	size       int64
	mimeType   string
	owner      string
	password   string // id of its password, "" for none
	object     string

	title, color, cover, emoji *string
	position                   *int64
	created, updated           int64
	contentSince               int64 // ms: it has this content from then; 0: from created
	placeSince                 int64 // ms: it was in its folder from then; only of a deleted file

	provider string
	key      blob.Key
	content  string // equal for all objects that were copied from one another
	damaged  bool   // the object is marked as damaged
}

// trailEntry is one entry on the way from the root of a mount down to an entry.
type trailEntry struct {
	id, owner string
	password  string // id of its password, "" for none
}

// node is an entry found in the tree, with its mount, its path, and the trail of entries above it.
// Looked up by path, it is the deepest entry that exists on the path.
type node struct {
	row
	mount mount.Mount
	path  vpath.Path
	// from the top of the tree, through all mounts, down to the entry itself
	trail []trailEntry
	// by path: requested names below the entry, which is then the deepest that exists
	missing []vpath.Name
	// the ids of folders in mounts above, in which a name of the mount's path is missing: a new
	// folder of that name joins the trail
	gaps []string
}

// mounted reports whether a mount covers the requested path.
func (n *node) mounted() bool { return n.mount.ID != "" }

// exists reports whether the requested entry exists: something was found, and no name of the path
// is missing.
func (n *node) exists() bool { return n.id != "" && len(n.missing) == 0 }

// isFolder reports whether the requested entry exists and is a folder.
func (n *node) isFolder() bool { return n.exists() && n.folder }

// requestedPath returns the path that was asked for: that of the found entry and the missing names.
func (n *node) requestedPath() vpath.Path {
	p := n.path
	for _, name := range n.missing {
		p = p.Child(name)
	}
	return p
}

// target returns the target, by which access decides about the actor, for the requested entry. With
// missing names it is that of an entry that is about to be created there.
func (n *node) target(a access.Actor) access.Target {
	if len(n.missing) > 0 {
		return n.newTarget(a, n.requestedPath())
	}
	return n.existingTarget(a)
}

// existingTarget returns the target for the found entry, the deepest that exists, with the
// passwords on it and above it, and whether it is in the actor's home.
func (n *node) existingTarget(a access.Actor) access.Target {
	t := access.Target{Path: n.path, MountID: n.mount.ID, OwnerID: n.owner}
	for i, l := range n.trail {
		if a.HomeID != "" && l.id == a.HomeID {
			t.InHome = true
		}
		if l.password != "" {
			t.Password = &access.EntryPassword{ID: l.password, OwnerID: l.owner}
			if i < len(n.trail)-1 {
				t.PasswordAbove = t.Password
			}
		}
	}
	return t
}

// newTarget returns the target, by which access decides, for an entry that is about to be created
// at path, directly or further below the folder n.
func (n *node) newTarget(a access.Actor, path vpath.Path) access.Target {
	t := n.existingTarget(a).ForChildren()
	t.Path = path
	return t
}

// childTarget returns the target for the entry r directly in the folder with the target t, without
// another query.
func childTarget(t access.Target, a access.Actor, r *row) access.Target {
	t = t.ForChildren()
	t.Path = t.Path.Child(vpath.Name(r.name))
	t.OwnerID = r.owner
	t.InHome = t.InHome || a.HomeID != "" && r.id == a.HomeID
	if r.password != "" {
		t.Password = &access.EntryPassword{ID: r.password, OwnerID: r.owner}
	}
	return t
}

// find resolves a path, from the root of the mount that covers it, to the deepest existing entry
// and the missing names. Without a mount the node is empty. version is the config version that the
// query read; the caller must use rules of the same version (readConsistent).
func (rs *ruleset) find(q db.Querier, p vpath.Path) (n node, version int64, err error) {
	m, found := rs.mounts.Resolve(p)
	if !found {
		version, err = db.ConfigVersion(q)
		return node{}, version, err
	}
	names, _ := p.RelativeTo(m.Path)
	n, version, err = descend(q, m.RootID, names)
	n.mount, n.path = m, m.Path
	for _, name := range names[:len(names)-len(n.missing)] {
		n.path = n.path.Child(name)
	}
	if err == nil {
		err = rs.addOuterTrail(q, &n, &version)
	}
	return n, version, err
}

// addOuterTrail prepends the folders above the root of its mount to the trail of n: those on the
// mount's path, in the mounts that cover it. So the password of a folder also covers mounts below
// it, and a home includes them. It costs one query for each mount that is in another one. It raises
// *version to the newest config version that it reads.
func (rs *ruleset) addOuterTrail(q db.Querier, n *node, version *int64) error {
	if n.mount.Path.IsRoot() {
		return nil
	}
	over := n.mount.Path.Parent()
	if _, covered := rs.mounts.Resolve(over); !covered {
		return nil
	}
	above, newest, err := rs.find(q, over)
	if err != nil {
		return err
	}
	n.trail, *version = append(above.trail, n.trail...), max(*version, newest)
	if n.gaps = above.gaps; len(above.missing) > 0 {
		n.gaps = append(n.gaps, above.id)
	}
	return nil
}

// findID looks up an entry by its id. The node does not exist when there is no such entry, or no
// path leads to it: it is in the trash, in the graveyard, or in a mount that another one hides.
// version is the config version that the query read.
func (rs *ruleset) findID(q db.Querier, id string) (n node, version int64, err error) {
	return rs.findUpwards(q, byEntry, id)
}

// findByLink looks up the entry of a permanent link; see findID for the results.
func (rs *ruleset) findByLink(q db.Querier, linkID string) (n node, version int64, err error) {
	return rs.findUpwards(q, byLink, linkID)
}

// findUpwards looks up an entry with its ancestors, and determines mount and path from their root.
// start is byEntry or byLink, the kind of id. It returns the config version that it read as well.
func (rs *ruleset) findUpwards(q db.Querier, start, id string) (node, int64, error) {
	c, err := readAncestors(q, start, id)
	if err != nil || c.id == "" {
		return node{}, rs.version, err
	}
	m, path, found := rs.mountAndPath(&c)
	if !found {
		return node{}, c.version, nil
	}
	n := node{row: c.row, mount: m, path: path, trail: c.trail}
	err = rs.addOuterTrail(q, &n, &c.version)
	return n, c.version, err
}

// mountAndPath returns the mount that an entry is in and its path there. It is not found when no
// path leads to the entry.
func (rs *ruleset) mountAndPath(c *ancestry) (m mount.Mount, path vpath.Path, found bool) {
	for _, m := range rs.mounts.ByRoot(c.root) {
		path := m.Path
		for _, name := range c.names {
			path = path.Child(vpath.Name(name))
		}
		if top, _ := rs.mounts.Resolve(path); top.ID == m.ID {
			return m, path, true
		}
	}
	return mount.Mount{}, vpath.Path{}, false
}

// findIDs looks up entries by their ids, as findID does for one. It leaves out entries to which no
// path leads. version is the newest config version that a query read. ids has an id at least.
func (rs *ruleset) findIDs(q db.Querier, ids []string) (found map[string]node, version int64, err error) {
	all, version, err := readAncestorsOfAll(q, ids)
	if err != nil {
		return nil, 0, err
	}
	found = make(map[string]node, len(all))
	outer := map[string][]trailEntry{} // by mount
	for id, c := range all {
		m, path, there := rs.mountAndPath(&c)
		if !there {
			continue
		}
		above, known := outer[m.ID]
		if !known {
			root := node{mount: m}
			if err := rs.addOuterTrail(q, &root, &version); err != nil {
				return nil, 0, err
			}
			above = root.trail
			outer[m.ID] = above
		}
		found[id] = node{row: c.row, mount: m, path: path, trail: slices.Concat(above, c.trail)}
	}
	return found, version, nil
}

// parseTrail parses the trail that queries concatenate, from the top down: `id,owner;` for each
// level, `id,owner!password;` where there is a password, by its id.
func parseTrail(s string) []trailEntry {
	if s == "" {
		return nil
	}
	levels := make([]trailEntry, 0, strings.Count(s, ";"))
	for part := range strings.SplitSeq(strings.TrimSuffix(s, ";"), ";") {
		id, owner, _ := strings.Cut(part, ",")
		owner, password, _ := strings.Cut(owner, "!")
		levels = append(levels, trailEntry{id: id, owner: owner, password: password})
	}
	return levels
}

// within reports whether the entry is the one with this id, or is below it at any depth, through
// mounts as well.
func (n *node) within(id string) bool {
	return slices.ContainsFunc(n.trail, func(l trailEntry) bool { return l.id == id })
}
