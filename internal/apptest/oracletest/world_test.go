package oracletest

import (
	"maps"
	"slices"
	"strings"
)

// The data of a world. Paths are strings, "/" or "/a/b".

type world struct {
	guests  bool // site setting allowGuestAccess
	users   []*user
	keys    []*key
	mounts  []*mount
	entries []*entry // parents before children
	rules   []*rule

	there map[string]*entry // entries by path, filled in once all entries exist
	all   []string          // see paths
}

type user struct {
	id, name, role string
	home           *entry
}

type key struct {
	id, secret  string
	owner       *user
	permissions []string // read, write, delete
	protocols   []string
	root        string
	rootOnly    bool
	ips         []string
}

type mount struct {
	id, path string
	priority int
	root     *entry
}

type entry struct {
	id       string
	parent   *entry // nil for the root of a mount
	mount    *mount
	name     string // "" for the root of a mount
	folder   bool
	owner    *user
	password bool
	link     string // id of its permanent link, "" for none
}

type rule struct {
	id          string
	user        *user
	role        string
	key         *key
	mount       *mount // nil for all
	pattern     string
	deny        bool
	permissions []string // none for all six
	priority    int
	created     int64
	ips         []string
	password    bool
}

// caller is a visitor, an account or a key with an address.
type caller struct {
	user  *user // nil for a visitor; a key's owner
	key   *key
	ip    string
	given []string // ids of the entries and rules whose password was given, by the cookie

	protocol string // of a key, "" for api
}

// gave reports whether a caller has given the password of an entry or rule; a key cannot.
func (c caller) gave(id string) bool { return c.key == nil && slices.Contains(c.given, id) }

var allPermissions = []string{"read", "write", "update", "delete", "share", "download"}

// segments splits a path into names.
func segments(path string) []string {
	if path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

func join(names ...string) string { return "/" + strings.Join(names, "/") }

func child(dir, name string) string { return join(append(segments(dir), name)...) }

func parentOf(path string) string {
	names := segments(path)
	return join(names[:max(0, len(names)-1)]...)
}

func baseOf(path string) string {
	names := segments(path)
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// within reports whether path is top or lies below it.
func within(path, top string) bool {
	p, t := segments(path), segments(top)
	return len(p) >= len(t) && slices.Equal(p[:len(t)], t)
}

func below(path, top string) bool { return path != top && within(path, top) }

// path returns the path of an entry without regard to mounts that cover it.
func (e *entry) path() string {
	if e.parent == nil {
		return e.mount.path
	}
	return child(e.parent.path(), e.name)
}

// covering returns the mount of a path: the highest priority, then the longest mount path.
func (w *world) covering(path string) *mount {
	var best *mount
	for _, m := range w.mounts {
		if within(path, m.path) && (best == nil || m.priority > best.priority || m.priority == best.priority &&
			len(segments(m.path)) > len(segments(best.path))) {
			best = m
		}
	}
	return best
}

// hidden reports whether another mount covers an entry, which then does not exist for any caller.
func (w *world) hidden(e *entry) bool { return w.covering(e.path()) != e.mount }

// at returns the entry at a path, nil for none.
func (w *world) at(path string) *entry { return w.there[path] }

// settle computes the paths of all entries. Mounts and entries do not change afterwards.
func (w *world) settle() {
	w.there = map[string]*entry{}
	for _, e := range w.entries {
		if !w.hidden(e) {
			w.there[e.path()] = e
		}
	}
	all := map[string]bool{"/": true}
	for path := range w.there {
		all[path] = true
	}
	for _, m := range w.mounts {
		if !w.hidden(m.root) {
			for top := m.path; top != "/"; top = parentOf(top) {
				all[top] = true
			}
		}
	}
	w.all = slices.Sorted(maps.Keys(all))
}

// virtual reports whether a path without an entry is shown as a folder: the root, and the paths
// above visible mounts.
func (w *world) virtual(path string) bool {
	if w.at(path) != nil {
		return false
	}
	if path == "/" {
		return true
	}
	for _, m := range w.mounts {
		if below(m.path, path) && !w.hidden(m.root) {
			return true
		}
	}
	return false
}

// paths returns every path of an entry or a virtual folder.
func (w *world) paths() []string { return w.all }

func (w *world) isFolder(path string) bool {
	e := w.at(path)
	return w.virtual(path) || e != nil && e.folder
}

// ownerAt returns the owner of the entry at a path, or of the deepest entry above it.
func (w *world) ownerAt(path string) *user {
	for ; ; path = parentOf(path) {
		if e := w.at(path); e != nil {
			return e.owner
		}
		if path == "/" || w.virtual(path) {
			return nil
		}
	}
}

// locked is guard for a caller: nil when they have given the password.
func (w *world) locked(c caller, path string) *entry {
	if g := w.guard(path); g != nil && !c.gave(g.id) {
		return g
	}
	return nil
}

// guard returns the entry whose password covers a path: the nearest at or above it.
func (w *world) guard(path string) *entry {
	for {
		if e := w.at(path); e != nil && e.password {
			return e
		}
		if path == "/" {
			return nil
		}
		path = parentOf(path)
	}
}
