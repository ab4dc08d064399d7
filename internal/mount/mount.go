// Package mount finds the mount that covers a path. A mount binds a path of the virtual tree to a
// folder, its root entry, and to the provider that stores the contents. There are few mounts, so
// all of them are cached under the config version.
//
// Specification: Mount.
package mount

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// Mount is one mount.
type Mount struct {
	ID         string
	ProviderID string // of new objects
	// provider that a job evacuates to ProviderID, and that job; "" for none
	EvacuatedID, EvacuationID string
	RootID                    string // the entry that appears at Path
	Path                      vpath.Path
	Name                      string
	SortBy                    string // name, time, size or manual
	SortOrder                 string // asc or desc
	Priority                  int

	CreatedAt, UpdatedAt int64 // milliseconds
}

// RecordedProviderID returns the provider that administrators gave the mount. During an evacuation
// that is the evacuated one, while new objects go to the target (ProviderID).
func (m *Mount) RecordedProviderID() string { return cmp.Or(m.EvacuatedID, m.ProviderID) }

// Check validates the mount's path, name and sorting, as an administrator has entered them. It does
// not check the provider. Fault: Invalid, with the field that is wrong.
func (m *Mount) Check() error {
	switch {
	case m.Path.Reserved():
		return fault.InvalidField("mountPath", "The first segment of this path is reserved by the service.")
	case strings.TrimSpace(m.Name) == "" || utf8.RuneCountInString(m.Name) > maxName ||
		strings.ContainsFunc(m.Name, unicode.IsControl):
		return fault.InvalidField("name", "A mount's name has 1 to 255 characters, none of them a control character.")
	case !slices.Contains([]string{"name", "time", "size", "manual"}, m.SortBy):
		return fault.InvalidField("sortBy", "A mount is sorted by name, time, size or manual.")
	case m.SortOrder != "asc" && m.SortOrder != "desc":
		return fault.InvalidField("sortOrder", "The order of a mount is asc or desc.")
	}
	return nil
}

const maxName = 255 // characters

// Table holds all mounts of one config version. It is immutable and safe for concurrent use.
type Table struct {
	mounts []Mount // in the order of precedence
	byID   map[string]Mount
}

// NewTable returns the table of mounts, which may come in any order. It keeps no reference to the
// slice.
func NewTable(mounts []Mount) *Table {
	t := &Table{mounts: slices.Clone(mounts), byID: make(map[string]Mount, len(mounts))}
	slices.SortFunc(t.mounts, func(a, b Mount) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		if a.Path != b.Path && len(a.Path.String()) != len(b.Path.String()) {
			return len(b.Path.String()) - len(a.Path.String())
		}
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	for _, m := range t.mounts {
		t.byID[m.ID] = m
	}
	return t
}

// Resolve returns the mount that covers p: p is its path or below. The bool is false when there is
// none. Of several mounts it returns the one with the highest priority, then the one with the
// longest path, then the oldest. So a new mount hides no existing one unless its priority is
// higher.
func (t *Table) Resolve(p vpath.Path) (Mount, bool) {
	for _, m := range t.mounts {
		if p.Within(m.Path) {
			return m, true
		}
	}
	return Mount{}, false
}

// All lists all mounts, hidden ones too, by path. Mounts on the same path come in the order of
// precedence.
func (t *Table) All() []Mount {
	all := slices.Clone(t.mounts)
	slices.SortStableFunc(all, func(a, b Mount) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	return all
}

// Hidden reports whether another mount covers the path of m with precedence, so that no path leads
// to the contents of m.
func (t *Table) Hidden(m Mount) bool {
	top, _ := t.Resolve(m.Path)
	return top.ID != m.ID
}

// ByID returns the mount with that id, even if it is hidden; the bool is false when there is none.
func (t *Table) ByID(id string) (Mount, bool) {
	m, found := t.byID[id]
	return m, found
}

// ByRoot returns the mounts whose root is that entry, usually one, in the order of precedence.
func (t *Table) ByRoot(rootID string) []Mount {
	var found []Mount
	for _, m := range t.mounts {
		if m.RootID == rootID {
			found = append(found, m)
		}
	}
	return found
}

// Below lists the mounts strictly below p, at any depth, that are not hidden: the path of such a
// mount leads to its root.
func (t *Table) Below(p vpath.Path) []Mount {
	var found []Mount
	for _, m := range t.mounts {
		if m.Path == p || !m.Path.Within(p) {
			continue
		}
		if !t.Hidden(m) {
			found = append(found, m)
		}
	}
	return found
}
