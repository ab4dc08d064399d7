package access

import (
	"strings"

	"larder/internal/vpath"
)

// MayMatchWithin reports whether the pattern covers path or anything that could lie below it.
// It is exact for names of any characters; limits on length and depth are not looked at, so
// it errs towards true.
func (p Pattern) MayMatchWithin(path vpath.Path) bool {
	if p.machine == nil {
		return path.IsRoot()
	}
	d := p.machine.statesAfter(matchText(path))
	// Whatever is left of a pattern can be matched by some names: all there is to ask is whether it
	// is matched here or goes on below.
	return p.machine.accepts(&d) || p.machine.move(&d, classSlash)
}

// CoversTree reports whether the pattern surely covers path and everything that could lie below it,
// at any depth. It finds what ends in `**` or in `**/*`, and errs towards false for patterns that
// come to the same by other means.
func (p Pattern) CoversTree(path vpath.Path) bool {
	if p.machine == nil {
		return false
	}
	d := p.machine.statesAfter(matchText(path))
	return p.machine.accepts(&d) && p.machine.coversBelow(&d)
}

// coversBelow reports whether everything that could lie below what led to d is surely matched. It
// leaves d at some depth below.
func (m *machine) coversBelow(d *states) bool {
	for before := *d; m.descend(d) && m.accepts(d); before = *d {
		if m.intersects(d, m.acceptAll) || before == *d {
			return true
		}
	}
	return false
}

// descend takes d over a slash and any one name: what is left are the states that no name at all
// leads out of. It reports whether there are any. Each step adds what the `**` before lead to and
// loses what they do not, so that it comes to rest after as many steps as a path has names.
func (m *machine) descend(d *states) bool {
	m.move(d, classSlash)
	left := uint64(0)
	for w := range m.words {
		d[w] &= m.nameLoops[w]
		left |= d[w]
	}
	return left != 0
}

// covers reports whether p surely covers all that other covers. It errs towards false.
func (p Pattern) covers(other Pattern) bool {
	return p.text == other.text || other.shape == literal && p.Match(other.base) || p.CoversTree(other.base)
}

// moved returns the pattern for the same below another folder; its base must lie within the former
// one. Fault: Invalid when it is too long there.
func (p Pattern) moved(from, to vpath.Path) (Pattern, error) {
	return ParsePattern(matchText(to) + p.text[len(matchText(from)):])
}

// folderMatch is what a pattern does to the names in a folder.
type folderMatch struct {
	matchesAll bool         // every name is matched
	names      []vpath.Name // these are matched, or something below them may be
	globs      []string     // of `*` and `?`: names like these are matched
	// what a name looks like decides whether it is matched, or whether something below it may be
	byWildcard bool
	sameBelow  bool // all that lies below the folder, at any depth, is matched, or none of it
}

// matchFolder returns what the pattern does to the names in folder.
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

// segment returns what the pattern says from state n on up to the next slash, whether there are
// wildcards in it, and whether a name that is like it is matched. Within one name `**` is `*`.
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
