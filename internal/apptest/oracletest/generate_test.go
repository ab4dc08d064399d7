package oracletest

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// names are the names of entries and mounts. There are few, so that patterns, mounts and entries
// often match; they include case variants, wildcards and escapes.
var names = []string{"a", "b", "c", "a", "b", "m", "n", "A", "x.jpg", "y.txt", "x.jpg", "été", "日本", "100%", "a_b",
	"axb", "a b", "a..b", ".h", "q?", "s*", "%41", "a+b", "#1"}

// The addresses of callers, and the networks that rules and keys allow.
var (
	addresses = []string{"10.0.0.1", "192.0.2.7", "2001:db8::5"}
	networks  = []string{"10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "10.0.0.1"}
)

// random generates worlds.
type random struct{ *rand.Rand }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](d random, from []T) T { return from[d.IntN(len(from))] }

// some picks one or more of the values, in their order.
func some[T any](d random, from []T) []T {
	var few []T
	for len(few) == 0 {
		for _, one := range from {
			if d.chance(40) {
				few = append(few, one)
			}
		}
	}
	return few
}

func (r random) id() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), r.Uint64()>>16)
}

// newWorld generates a world with some of the accounts.
func newWorld(d random, accounts []*user) *world {
	w := &world{guests: d.chance(75)}
	for i, u := range accounts { // the first is an administrator
		if i == 0 || d.chance(75) {
			w.users = append(w.users, &user{id: u.id, name: u.name, role: u.role})
		}
	}
	w.addMounts(d)
	for range 5 + d.IntN(21) {
		w.addEntry(d)
	}
	w.settle()
	w.addHomes(d)
	for i := range d.IntN(4) {
		w.addKey(d, i)
	}
	for i := range d.IntN(9) {
		w.addRule(d, int64(i+1))
	}
	if d.chance(45) { // a broad allow rule
		broad := &rule{id: d.id(), created: 0, role: pick(d, []string{"user", "user", "guest"}),
			pattern: pick(d, []string{"/**", "/**", child(pick(d, w.mounts).path, "**")})}
		if d.chance(70) {
			broad.permissions = []string{"read", "download"}
		}
		w.rules = append(w.rules, broad)
	}
	return w
}

func (w *world) addMounts(d random) {
	count := 1 + d.IntN(4)
	for i := range count {
		at := "/"
		if i > 0 || d.chance(30) {
			if i > 0 && d.chance(50) {
				at = pick(d, w.mounts).path
			}
			for range 1 + d.IntN(2) {
				at = child(at, pick(d, []string{"a", "b", "m", "n"}))
			}
		}
		m := &mount{id: d.id(), path: at}
		if d.chance(25) {
			m.priority = d.IntN(3) - 1
		}
		if slices.ContainsFunc(w.mounts, func(other *mount) bool {
			return other.path == m.path &&
				other.priority == m.priority
		}) {
			continue // the two would have the same path and priority
		}
		m.root = &entry{id: d.id(), mount: m, folder: true, owner: w.users[0], password: d.chance(3)}
		w.mounts, w.entries = append(w.mounts, m), append(w.entries, m.root)
	}
}

func (w *world) addEntry(d random) {
	folders := []*entry{}
	for _, e := range w.entries {
		if e.folder {
			folders = append(folders, e)
		}
	}
	e := &entry{id: d.id(), parent: pick(d, folders), name: pick(d, names), folder: d.chance(50),
		owner: pick(d, w.users), password: d.chance(7)}
	e.mount = e.parent.mount
	if slices.ContainsFunc(w.entries, func(other *entry) bool {
		return other.parent == e.parent &&
			other.name == e.name
	}) {
		return
	}
	if len(w.users) > 1 && d.chance(50) {
		e.owner = e.parent.owner
	}
	if slices.ContainsFunc(w.mounts, func(m *mount) bool { return within(m.path, e.path()) }) {
		e.folder = true // a mount is at this path or below it
	}
	if !e.folder && d.chance(30) {
		e.link = fmt.Sprintf("%022d", d.Uint64())
	}
	w.entries = append(w.entries, e)
}

func (w *world) addHomes(d random) {
	for _, u := range w.users {
		e := pick(d, w.entries)
		inTheWay := slices.ContainsFunc(w.users, func(other *user) bool {
			return other.home != nil && (within(other.home.path(), e.path()) || within(e.path(), other.home.path()))
		})
		if u.role == "admin" || !e.folder || e.parent == nil || w.hidden(e) || inTheWay {
			continue
		}
		u.home, e.owner = e, u
	}
}

func (w *world) addKey(d random, i int) {
	k := &key{
		id: fmt.Sprintf("pk_%024d", i), secret: fmt.Sprintf("sk_%048d", i), owner: pick(d, w.users),
		permissions: []string{"read", "write", "delete"}, protocols: []string{"api", "webdav"}, root: w.anyPath(d),
		rootOnly: d.chance(30),
	}
	if d.chance(40) {
		k.permissions = some(d, k.permissions)
	}
	if d.chance(8) {
		k.protocols = []string{pick(d, k.protocols)}
	}
	if d.chance(15) {
		k.ips = some(d, networks)
	}
	if d.chance(25) {
		k.root = "/"
	}
	for !plainPath(k.root) { // braces and tildes are special in an upload path
		k.root = parentOf(k.root)
	}
	w.keys = append(w.keys, k)
}

func plainPath(at string) bool { return !strings.ContainsAny(at, "{}~") && !strings.Contains(at, "..") }

// anyPath returns a path of the world, mostly that of an existing entry.
func (w *world) anyPath(d random) string {
	at := pick(d, w.paths())
	if d.chance(15) {
		at = child(at, pick(d, names))
	}
	return at
}

func (w *world) addRule(d random, n int64) {
	r := &rule{id: d.id(), created: n, pattern: w.addPattern(d), deny: d.chance(36)}
	switch n := d.IntN(100); {
	case n < 25:
		r.role = "guest"
	case n < 52:
		r.role = "user"
	case n < 56:
		r.role = "admin"
	case n < 82 || len(w.keys) == 0:
		r.user = pick(d, w.users[min(1, len(w.users)-1):])
	default:
		r.key = pick(d, w.keys)
	}
	switch n := d.IntN(100); {
	case n < 30:
	case n < 50:
		r.permissions = []string{"read", "download"}
	case n < 60:
		r.permissions = []string{"read", "write", "update", "delete"}
	default:
		r.permissions = some(d, allPermissions)
	}
	if d.chance(35) {
		r.priority = d.IntN(4) - 1
	}
	if d.chance(15) {
		r.ips = some(d, networks)
	}
	if !r.deny && d.chance(14) {
		r.password = true
	}
	if d.chance(15) {
		r.mount = pick(d, w.mounts)
	}
	w.rules = append(w.rules, r)
}

// addPattern generates a pattern without repeated `**`: the rank of `/**/**` depends on whether it
// is shortened before it is compared.
func (w *world) addPattern(d random) string {
	pattern := w.somePattern(d)
	for strings.Contains(pattern, "/**/**") || strings.Contains(pattern, "***") {
		pattern = strings.NewReplacer("/**/**", "/**", "***", "**").Replace(pattern)
	}
	return pattern
}

// somePattern generates a pattern from an existing path, mostly one for a folder and all below it.
func (w *world) somePattern(d random) string {
	at := pick(d, w.paths())
	parts := segments(at)
	if len(parts) > 0 && d.chance(15) {
		parts[d.IntN(len(parts))] = pick(d, []string{"*", "?", "**", "a*", "*b", "?*"})
	}
	at = join(parts...)
	switch n := d.IntN(100); {
	case n < 45:
		return child(at, "**")
	case n < 60:
		return at
	case n < 68:
		return child(at, "*")
	case n < 75:
		return child(at, "*"+path.Ext(pick(d, names)))
	case n < 80:
		return child(at, "**") + "/" + pick(d, names)
	case n < 84:
		return child(at, pick(d, names)) + "/**"
	case n < 88:
		return child(at, "*") + "/" + pick(d, names)
	case n < 92:
		return child(at, "**") + "/*" + path.Ext(pick(d, names))
	case n < 95:
		return child(at, "**/"+pick(d, names)) + "/**"
	case n < 97:
		return at + "**"
	}
	return "/**"
}

// String describes a world for a reader of the test's output.
func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "guests %v\n", w.guests)
	for _, u := range w.users {
		home := "none"
		if u.home != nil {
			home = u.home.path()
		}
		fmt.Fprintf(&b, "user %s %s home %s\n", u.name, u.role, home)
	}
	for _, k := range w.keys {
		fmt.Fprintf(&b, "key %s of %s %v %v root %s rootOnly %v ips %v\n", k.name(), k.owner.name, k.permissions,
			k.protocols, k.root, k.rootOnly, k.ips)
	}
	for i, m := range w.mounts {
		fmt.Fprintf(&b, "mount %d %s priority %d\n", i, m.path, m.priority)
	}
	for _, e := range w.entries {
		fmt.Fprintf(&b, "entry %s of %s in mount %d", e.path(), e.owner.name, slices.Index(w.mounts, e.mount))
		for _, mark := range []struct {
			is   bool
			text string
		}{{e.folder, "folder"}, {e.password, "password " + e.id}, {e.link != "", "link"}, {w.hidden(e), "HIDDEN"}} {
			if mark.is {
				b.WriteString(" " + mark.text)
			}
		}
		b.WriteString("\n")
	}
	rules := slices.SortedStableFunc(slices.Values(w.rules), inOrder)
	for _, r := range rules {
		effect, subject := "allow", r.role
		if r.deny {
			effect = "deny"
		}
		if r.user != nil {
			subject = "user " + r.user.name
		}
		if r.key != nil {
			subject = "key " + r.key.name()
		}
		fmt.Fprintf(&b, "rule %s %s %s %v priority %d created %d ips %v password %v mount %d id %s\n", effect, subject,
			r.pattern, r.permissions, r.priority, r.created, r.ips, r.password, slices.Index(w.mounts, r.mount), r.id)
	}
	return b.String()
}

func (k *key) name() string { return strings.TrimLeft(k.id, "pk_0") + "k" }

func (c caller) String() string {
	from := " from " + c.ip
	if c.given != nil {
		from += fmt.Sprint(" with the passwords of ", c.given)
	}
	switch {
	case c.user == nil:
		return "anonymous" + from
	case c.key != nil:
		return "key " + c.key.name() + " of " + c.user.name + from
	}
	return c.user.name + from
}
