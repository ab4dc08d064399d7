package oracletest

import (
	"cmp"
	"slices"
	"strings"
)

// certainty is whether an entry is visible. The decisions do not specify exactly which allow rules
// make a folder visible: a rule below it that grants nothing visible, or that others revoke, may or
// may not count. The result is yes when some existing or possible path below may be read or written
// by rule or home, no when even the widest interpretation finds no rule, and open otherwise.
type certainty int

const (
	no certainty = iota
	open
	yes
)

// candidatePaths returns paths below a folder that show the effect of rules there: existing ones,
// samples of patterns, a key's upload root, and a name in no rule.
func (w *world) candidatePaths(folder string) []string {
	list := []string{child(folder, "unheard of"), child(child(folder, "unheard of"), "unheard of")}
	for _, k := range w.keys {
		if below(k.root, folder) {
			list = append(list, k.root, child(k.root, "unheard of"))
		}
	}
	for _, at := range w.paths() {
		if below(at, folder) {
			list = append(list, at, child(at, "unheard of"))
		}
	}
	for _, r := range w.rules {
		list = append(list, matchesBelow(r.pattern, folder)...)
	}
	return list
}

// reaches reports whether a folder is visible because of what lies below it: the home, or allow
// rules.
func (w *world) reaches(c caller, folder string) certainty {
	for _, at := range w.candidatePaths(folder) {
		if w.decide(c, "read", at, nil) == allow || w.decide(c, "write", at, nil) == allow {
			return yes
		}
	}
	for _, r := range w.rules {
		mine := r.concerns(c.user, c.key) || w.guests && ofGuests(r)
		if mine && !r.deny && (!r.password || c.gave(r.id)) && addressAllowed(c.ip, r.ips) &&
			(w.canMatchBelow(r, folder) || w.glob(r, folder)) {
			return open
		}
	}
	return no
}

// glob reports whether a rule's pattern and mount match a path.
func (w *world) glob(r *rule, path string) bool {
	return (r.mount == nil || r.mount == w.covering(path)) && glob(r.pattern, path)
}

// canMatchBelow reports whether a rule's pattern and mount can match some path
// strictly below a folder.
func (w *world) canMatchBelow(r *rule, folder string) bool {
	switch {
	case r.mount == nil || w.covering(folder) == r.mount:
		return globBelow(r.pattern, folder)
	case below(r.mount.path, folder) && !w.hidden(r.mount.root):
		return glob(r.pattern, r.mount.path) || globBelow(r.pattern, r.mount.path)
	}
	return false
}

// shows reports whether a folder is visible to a caller: because of read or write, or something of
// theirs below it. A key that may read nothing outside its upload root still sees the folders above
// it. Whether a folder is visible that the caller may only write to and whose password prevents
// that is open.
func (w *world) shows(c caller, folder string) certainty {
	writes := w.has(c, "write", folder) == allow
	if w.has(c, "read", folder) == allow || writes && w.opens(c, folder) {
		return yes
	}
	reaches := w.reaches(c, folder)
	if writes {
		return max(reaches, open)
	}
	return reaches
}

// seen reports whether the entry at a path is visible to a caller.
func (w *world) seen(c caller, path string) certainty {
	switch {
	case w.isFolder(path):
		return w.shows(c, path)
	case w.has(c, "read", path) == allow:
		return yes
	}
	return no
}

// opens reports whether the password that covers a path allows the caller to list and change
// entries there.
func (w *world) opens(c caller, path string) bool {
	g := w.locked(c, path)
	return g == nil || c.user != nil && (c.user.role == "admin" || g.owner == c.user)
}

type item struct {
	path   string
	folder bool
	open   bool // optional in an answer
}

// listing returns the expected listing of a folder, in the order of names.
func (w *world) listing(c caller, folder, kind string) []item {
	return w.pick(c, kind, func(path string) bool { return path != "/" && parentOf(path) == folder })
}

// found returns the expected results of a search below a folder. The content of protected folders
// is visible only to callers who may list them.
func (w *world) found(c caller, folder, kind, needle string) []item {
	return w.pick(c, kind, func(path string) bool {
		return below(path, folder) && strings.Contains(strings.ToLower(baseOf(path)), strings.ToLower(needle)) &&
			w.opens(c, parentOf(path))
	})
}

func (w *world) pick(c caller, kind string, wanted func(path string) bool) []item {
	items := []item{}
	for _, path := range w.paths() {
		folder := w.isFolder(path)
		if wanted(path) && (kind == "" || (kind == "folder") == folder) {
			if seen := w.seen(c, path); seen != no {
				items = append(items, item{path, folder, seen == open})
			}
		}
	}
	slices.SortStableFunc(items, byName)
	return items
}

// byName is the order of names: folders first, case-insensitive, then the name itself.
func byName(a, b item) int {
	if a.folder != b.folder {
		if a.folder {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(strings.ToLower(baseOf(a.path)), strings.ToLower(baseOf(b.path))),
		strings.Compare(baseOf(a.path), baseOf(b.path)))
}
