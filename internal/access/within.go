package access

import (
	"strings"

	"larder/internal/vpath"
)

// MayMatchWithin reports whether the pattern covers path or a possible path below it. It is exact
// for names of any characters. It ignores the limits on length and depth, so it errs towards true.
func (p Pattern) MayMatchWithin(path vpath.Path) bool {
	if p.machine == nil {
		return path.IsRoot()
	}
	d := p.machine.statesAfter(matchText(path))
	// The states that remain can always be completed by some names, so it suffices to test for
	// acceptance here and for a state after a slash.
	return p.machine.accepts(&d) || p.machine.move(&d, classSlash)
}

// CoversTree reports whether the pattern covers path and every possible path below it, at any
// depth. It recognises patterns that end in `**` or `**/*`, and errs towards false for others that
// have the same effect.
func (p Pattern) CoversTree(path vpath.Path) bool {
	if p.machine == nil {
		return false
	}
	d := p.machine.statesAfter(matchText(path))
	return p.machine.accepts(&d) && p.machine.coversBelow(&d)
}

// coversBelow reports whether the pattern matches every possible path below the one whose bytes led
// to the states d, as far as it can tell; it errs towards false. It changes d.
func (m *machine) coversBelow(d *states) bool {
	for before := *d; m.descend(d) && m.accepts(d); before = *d {
		if m.intersects(d, m.acceptAll) || before == *d {
			return true
		}
	}
	return false
}

// descend advances the states d from a folder to its children with any name: over a slash and over
// a name that the pattern does not contain. It keeps the states that remain on every byte of a
// name, as at `*` and `**`, and reports whether any is left. Repeated calls reach a set that does
// not change any more, after as many calls as a path has names.
func (m *machine) descend(d *states) bool {
	m.move(d, classSlash)
	left := uint64(0)
	for w := range m.words {
		d[w] &= m.nameLoops[w]
		left |= d[w]
	}
	return left != 0
}

// covers reports whether p covers all paths that the pattern other covers. It errs towards false.
func (p Pattern) covers(other Pattern) bool {
	return p.text == other.text || other.shape == literal && p.Match(other.base) || p.CoversTree(other.base)
}

// moved returns the pattern with its base moved from one folder to another, as the rules of a
// folder move with it. The base must lie within from. Fault: Invalid if the result is too long.
func (p Pattern) moved(from, to vpath.Path) (Pattern, error) {
	return ParsePattern(matchText(to) + p.text[len(matchText(from)):])
}

// folderMatch describes how a pattern matches the names in a folder.
type folderMatch struct {
	matchesAll bool         // every name is matched
	names      []vpath.Name // literal names that are matched, or below which something may be
	globs      []string     // names that match one of these are matched; they consist of literals, `*` and `?`
	// a wildcard decides whether a name is matched, or whether something below it may be
	byWildcard bool
	sameBelow  bool // either everything below the folder is matched, at any depth, or nothing
}

// matchFolder returns which names directly in folder the pattern covers, or covers something below:
// by literal names, by wildcards, or all names. ListingFilter decides by it which entries show.
func (p Pattern) matchFolder(folder vpath.Path) folderMatch {
	m := p.machine
	if m == nil {
		return folderMatch{sameBelow: true}
	}
	d := m.statesAfter(matchText(folder))
	if !m.move(&d, classSlash) {
		return folderMatch{sameBelow: true}
	}
	var h folderMatch
	for n := range m.states {
		if d[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		switch text, wild, matched := m.segment(n); {
		case text == "":
		case text == "*":
			h.matchesAll = h.matchesAll || matched
		case wild:
			h.byWildcard = true
			if matched {
				h.globs = append(h.globs, text)
			}
		default:
			h.names = append(h.names, vpath.Name(text))
		}
	}
	h.sameBelow = m.intersects(&d, m.acceptAll)
	return h
}

// segment returns the text of the pattern from state n to the next slash, which is matched with one
// name, whether it contains wildcards, and whether a name that matches it is accepted. Within one
// name `**` is `*`.
func (m *machine) segment(n int) (text string, wild, matched bool) {
	var b strings.Builder
	star := func() {
		if s := m.states[n].stay; s == stayName || s == stayAnywhere {
			b.WriteByte('*')
			wild = true
		}
	}
	star()
	for n+1 < len(m.states) && (m.states[n+1].any || m.states[n+1].enter != '/') {
		n++
		if m.states[n].any {
			b.WriteByte('?')
			wild = true
		} else {
			b.WriteByte(m.states[n].enter)
		}
		star()
	}
	return b.String(), wild, m.states[n].accept
}
