package oracletest

import (
	"cmp"
	"slices"
	"strings"
)

// reaches reports whether something that a caller has lies strictly below a folder: the home, or an allow rule that can match there.
func (w *world) reaches(u *user, k *key, c caller, folder string) bool {
	if u != nil && u.home != nil && u.role != "guest" && !w.hidden(u.home) && below(u.home.place(), folder) {
		return true
	}
	return slices.ContainsFunc(w.rules, func(r *rule) bool {
		mine := r.concerns(u, k) || w.guests && ofGuests(r)
		return mine && !r.deny && !r.password && fromThere(c.ip, r.ips) && w.canMatchBelow(r, folder) && (c.key == nil || c.key.uses(r))
	})
}

// uses reports whether a rule gives anything that a key may do.
func (k *key) uses(r *rule) bool {
	return slices.ContainsFunc(allPermissions, func(p string) bool { return r.names(p) && k.may(p, k.root) })
}

// canMatchBelow reports whether a rule's pattern and mount can match some path strictly below a folder.
func (w *world) canMatchBelow(r *rule, folder string) bool {
	switch {
	case r.mount == nil || w.covering(folder) == r.mount:
		return globBelow(r.pattern, folder)
	case below(r.mount.path, folder) && !w.hidden(r.mount.root):
		return glob(r.pattern, r.mount.path) || globBelow(r.pattern, r.mount.path)
	}
	return false
}

// shows reports whether a folder shows to a caller: read or write in it, or something of theirs below it.
func (w *world) shows(c caller, folder string) bool {
	leg := func(k *key) bool {
		for _, permission := range []string{"read", "write"} {
			if verdict, _ := w.judge(c.user, k, c.ip, permission, folder, w.ownerAt(folder)); verdict == allow && (c.key == nil || c.key.may(permission, folder)) {
				return true
			}
		}
		return w.reaches(c.user, k, c, folder)
	}
	if c.key == nil {
		return leg(nil)
	}
	if c.key.rootOnly && !within(folder, c.key.root) && !within(c.key.root, folder) {
		return false
	}
	return leg(nil) && leg(c.key)
}

// seen reports whether what is at a path appears to a caller.
func (w *world) seen(c caller, path string) bool {
	if w.isFolder(path) {
		return w.shows(c, path)
	}
	return w.has(c, "read", path) == allow
}

// opens reports whether the password that covers a path does not hinder a caller from listing and changing there.
func (w *world) opens(c caller, path string) bool {
	g := w.guard(path)
	return g == nil || c.user != nil && (c.user.role == "admin" || g.owner == c.user)
}

// lists is opens for listings, which are not refused to keys.
func (w *world) lists(c caller, path string) bool { return c.key != nil || w.opens(c, path) }

type item struct {
	path   string
	folder bool
}

// listing is what a listing of a folder shows, in the order of names.
func (w *world) listing(c caller, folder, kind string) []item {
	return w.pick(c, kind, func(path string) bool { return path != "/" && parentOf(path) == folder })
}

// found is what a search below a folder finds: what is in protected folders is told only to those who may list them.
func (w *world) found(c caller, folder, kind, needle string) []item {
	return w.pick(c, kind, func(path string) bool {
		return below(path, folder) && strings.Contains(strings.ToLower(baseOf(path)), strings.ToLower(needle)) && w.lists(c, parentOf(path))
	})
}

func (w *world) pick(c caller, kind string, wanted func(path string) bool) []item {
	items := []item{}
	for _, path := range w.paths() {
		folder := w.isFolder(path)
		if wanted(path) && (kind == "" || (kind == "folder") == folder) && w.seen(c, path) {
			items = append(items, item{path, folder})
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
	return cmp.Or(strings.Compare(strings.ToLower(baseOf(a.path)), strings.ToLower(baseOf(b.path))), strings.Compare(baseOf(a.path), baseOf(b.path)))
}
