package oracletest

import (
	"net/netip"
	"slices"
	"strings"
)

type outcome string

const (
	allow         outcome = "allow"
	deny          outcome = "deny"
	needsPassword outcome = "needs-password"
)

// glob matches a whole path: `*` within a segment, `**` across segments, `?` one character,
// `/a/**` covers /a itself.
func glob(pattern, path string) bool {
	for _, plain := range expand(pattern) {
		// the root has no segment for `*`
		if globRunes([]rune(strings.TrimSuffix(plain, "/")), []rune(strings.TrimSuffix(path, "/"))) {
			return true
		}
	}
	return false
}

// expand returns the pattern without each `/**` that may match no segment.
func expand(pattern string) []string {
	all := []string{pattern}
	if top, ends := strings.CutSuffix(pattern, "/**"); ends {
		all = append(all, expand(top)...)
	}
	for i := range pattern {
		if strings.Index(pattern[i:], "/**/") == 0 {
			all = append(all, expand(pattern[:i]+pattern[i+3:])...)
		}
	}
	return all
}

func globRunes(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case len(pattern) > 1 && pattern[0] == '*' && pattern[1] == '*':
		return globRunes(pattern[2:], text) || len(text) > 0 && globRunes(pattern, text[1:])
	case pattern[0] == '*':
		return globRunes(pattern[1:], text) || len(text) > 0 && text[0] != '/' && globRunes(pattern, text[1:])
	case len(text) == 0:
		return false
	case pattern[0] == '?':
		return text[0] != '/' && globRunes(pattern[1:], text[1:])
	}
	return pattern[0] == text[0] && globRunes(pattern[1:], text[1:])
}

// globBelow reports whether a pattern can match some path strictly below a folder.
func globBelow(pattern, folder string) bool { return len(matchesBelow(pattern, folder)) > 0 }

// matchesBelow returns some paths strictly below a folder that match a pattern, none when no path
// can.
func matchesBelow(pattern, folder string) []string {
	prefix := strings.TrimSuffix(folder, "/") + "/"
	var list []string
	for _, plain := range expand(pattern) {
		for _, rest := range remainders([]rune(plain), []rune(prefix)) {
			for _, sample := range samples(string(rest)) {
				if sample != "" && !slices.Contains(strings.Split(sample, "/"), "") {
					list = append(list, prefix+sample)
				}
			}
		}
	}
	return list
}

// remainders returns the rests of a pattern after its beginning has matched prefix.
func remainders(pattern, prefix []rune) [][]rune {
	switch {
	case len(prefix) == 0:
		return [][]rune{pattern}
	case len(pattern) == 0:
		return nil
	case len(pattern) > 1 && pattern[0] == '*' && pattern[1] == '*':
		return append(remainders(pattern[2:], prefix), remainders(pattern, prefix[1:])...)
	case pattern[0] == '*':
		rest := remainders(pattern[1:], prefix)
		if prefix[0] != '/' {
			rest = append(rest, remainders(pattern, prefix[1:])...)
		}
		return rest
	case pattern[0] == '?' && prefix[0] != '/' || pattern[0] == prefix[0]:
		return remainders(pattern[1:], prefix[1:])
	}
	return nil
}

// samples returns texts that match a pattern, enough to find a valid path among them.
func samples(pattern string) []string {
	i := strings.IndexAny(pattern, "*?")
	if i < 0 {
		return []string{pattern}
	}
	width, stand := 1, []string{"x"}
	switch {
	case strings.Index(pattern[i:], "**") == 0:
		width, stand = 2, []string{"", "x", "x/x"}
	case pattern[i] == '*':
		stand = []string{"", "x"}
	}
	var all []string
	for _, end := range samples(pattern[i+width:]) {
		for _, s := range stand {
			all = append(all, pattern[:i]+s+end)
		}
	}
	return all
}

// addressAllowed reports whether an address is in a list of addresses and networks; an empty list
// allows all.
func addressAllowed(ip string, allowed []string) bool {
	address := netip.MustParseAddr(ip)
	for _, text := range allowed {
		if network, err := netip.ParsePrefix(text); err == nil && network.Contains(address) || text == ip {
			return true
		}
	}
	return len(allowed) == 0
}

func (r *rule) names(permission string) bool {
	return len(r.permissions) == 0 || slices.Contains(r.permissions, permission)
}

// concerns reports whether a rule applies to an account with that role, or to a key.
func (r *rule) concerns(u *user, k *key) bool {
	switch {
	case r.key != nil:
		return r.key == k
	case r.user != nil:
		return r.user == u
	}
	return u != nil && r.role == u.role
}

// subject ranks the subject of a rule: key, user, role.
func (r *rule) subject() int {
	switch {
	case r.key != nil:
		return 0
	case r.user != nil:
		return 1
	}
	return 2
}

// literals counts the characters before the first wildcard, all other characters than wildcards,
// and the `**`.
func literals(pattern string) (before, all, doubles int) {
	wild := false
	for _, c := range pattern {
		if c == '*' || c == '?' {
			wild = true
			continue
		}
		all++
		if !wild {
			before++
		}
	}
	return before, all, strings.Count(pattern, "**")
}

// inOrder reports whether rule a is evaluated before rule b.
func inOrder(a, b *rule) int {
	aBefore, aAll, aDoubles := literals(a.pattern)
	bBefore, bAll, bDoubles := literals(b.pattern)
	denyFirst := func(r *rule) int {
		if r.deny {
			return 0
		}
		return 1
	}
	for _, step := range []int{b.priority - a.priority, a.subject() - b.subject(), bBefore - aBefore, bAll - aAll,
		aDoubles - bDoubles, denyFirst(a) - denyFirst(b), int(a.created - b.created)} {
		if step != 0 {
			return step
		}
	}
	return 0
}

// matches reports whether a rule decides about a path from an address, its password aside. A deny
// with addresses applies to all other addresses.
func (w *world) matches(r *rule, permission, path, ip string) bool {
	if !r.names(permission) || r.mount != nil && r.mount != w.covering(path) || !glob(r.pattern, path) {
		return false
	}
	if r.deny && len(r.ips) > 0 {
		return !addressAllowed(ip, r.ips)
	}
	return addressAllowed(ip, r.ips)
}

// decided returns the verdict of the rules for a caller. asked reports that a rule was skipped
// because its password was not given.
func (w *world) decided(concerned func(*rule) bool, c caller, permission,
	path string) (verdict outcome, by string, asked bool) {
	rules := []*rule{}
	for _, r := range w.rules {
		if concerned(r) {
			rules = append(rules, r)
		}
	}
	slices.SortStableFunc(rules, inOrder)
	for _, r := range rules {
		switch {
		case !w.matches(r, permission, path, c.ip):
		case r.deny:
			return deny, r.id, asked
		case r.password && !c.gave(r.id):
			asked = true
		default:
			return allow, r.id, asked
		}
	}
	return "", "", asked
}

func ofGuests(r *rule) bool { return r.role == "guest" }

// homeCovers reports whether a path is a user's home or below it. The home of a guest has no
// effect.
func (w *world) homeCovers(u *user, path string) bool {
	return u != nil && u.home != nil && u.role != "guest" && !w.hidden(u.home) && within(path, u.home.path())
}

// evaluate decides for a caller, including a key's own rules, without the key's limits.
func (w *world) evaluate(c caller, permission, path string, owner *user) (outcome, string) {
	u := c.user
	verdict, by, asked := w.decided(func(r *rule) bool { return r.concerns(u, c.key) }, c, permission, path)
	switch {
	case verdict != "":
	case u != nil && u.role == "admin":
		return allow, "administrator"
	case u != nil && owner == u:
		return allow, "owner"
	case w.homeCovers(u, path):
		return allow, "home"
	case w.guests:
		var again bool
		verdict, by, again = w.decided(ofGuests, c, permission, path)
		asked = asked || again
	}
	switch {
	case verdict == allow:
		return allow, by
	case asked:
		return needsPassword, by
	case verdict == deny:
		return deny, by
	}
	return deny, "default"
}

// decide returns the verdict about an existing or future entry at a path that belongs to owner.
func (w *world) decide(c caller, permission, path string, owner *user) outcome {
	if c.key == nil {
		verdict, _ := w.evaluate(c, permission, path, owner)
		return verdict
	}
	verdict, _ := w.evaluate(caller{user: c.user, ip: c.ip}, permission, path, owner)
	if !c.key.may(permission, path) {
		return deny
	}
	with, _ := w.evaluate(c, permission, path, owner)
	switch {
	case verdict == allow && with == allow:
		return allow
	case verdict == deny || with == deny:
		return deny
	}
	return needsPassword
}

// may checks the limits of a key: its permissions, and its upload root for changes, or for
// everything when it may read nothing else.
func (k *key) may(permission, path string) bool {
	var named string
	switch permission {
	case "read", "download":
		named = "read"
	case "write", "update":
		named = "write"
	case "delete":
		named = "delete"
	default:
		return false
	}
	return slices.Contains(k.permissions, named) && (named == "read" && !k.rootOnly || within(path, k.root))
}

// has decides about an existing entry.
func (w *world) has(c caller, permission, path string) outcome {
	return w.decide(c, permission, path, w.ownerAt(path))
}

// creates decides about a new entry: the owner of the folder may do everything in it.
func (w *world) creates(c caller, path string) outcome {
	return w.decide(c, "write", path, w.ownerAt(parentOf(path)))
}
