// Package mount says which mount covers a path. A mount is a place in the tree of virtual paths where a folder, its root entry, and the
// provider that stores what is in it appear. There are few mounts: all of them sit in memory under the config version.
//
// Specification: Mount.
package mount

import (
	"slices"
	"strings"

	"larder/internal/vpath"
)

// Mount is one mount.
type Mount struct {
	ID, ProviderID string
	RootID         string // the entry that lies at Path
	Path           vpath.Path
	Name           string
	SortBy         string // name, time, size or manual
	SortOrder      string // asc or desc
	Priority       int
}

// Table is all mounts of one config version. It never changes and is safe for concurrent use.
type Table struct {
	mounts []Mount // in the order in which they are asked
	byID   map[string]Mount
}

// NewTable returns the table of mounts, in whatever order they come. It keeps no reference to them.
func NewTable(mounts []Mount) *Table {
	t := &Table{mounts: slices.Clone(mounts), byID: make(map[string]Mount, len(mounts))}
	slices.SortFunc(t.mounts, func(a, b Mount) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		if a.Path != b.Path && len(a.Path.String()) != len(b.Path.String()) {
			return len(b.Path.String()) - len(a.Path.String())
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, m := range t.mounts {
		t.byID[m.ID] = m
	}
	return t
}

// Resolve returns the mount that covers p, and whether there is one: of several the one with the highest priority, then the one with the
// longest path, then the one with the smallest id.
func (t *Table) Resolve(p vpath.Path) (Mount, bool) {
	for _, m := range t.mounts {
		if p.Within(m.Path) {
			return m, true
		}
	}
	return Mount{}, false
}

// ByID returns a mount, hidden or not.
func (t *Table) ByID(id string) (Mount, bool) {
	m, found := t.byID[id]
	return m, found
}

// ByRoot returns the mounts whose root is that entry, in the order in which they are asked.
func (t *Table) ByRoot(rootID string) []Mount {
	var found []Mount
	for _, m := range t.mounts {
		if m.RootID == rootID {
			found = append(found, m)
		}
	}
	return found
}

// Within lists the mounts strictly below p that are not hidden: of which at least the root can be reached by its path.
func (t *Table) Within(p vpath.Path) []Mount {
	var found []Mount
	for _, m := range t.mounts {
		if m.Path == p || !m.Path.Within(p) {
			continue
		}
		if top, _ := t.Resolve(m.Path); top.ID == m.ID {
			found = append(found, m)
		}
	}
	return found
}
