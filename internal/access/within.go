package access

import "larder/internal/vpath"

// MayMatchWithin reports whether the pattern covers path or anything that could lie below it. It is exact for names of any characters; limits
// on length and depth are not looked at, so it errs towards true.
func (p Pattern) MayMatchWithin(path vpath.Path) bool {
	if p.machine == nil {
		return path.IsRoot()
	}
	d := p.machine.after(bytesOf(path))
	// Whatever is left of a pattern can be matched by some names: all there is to ask is whether it is matched here or goes on below.
	return p.machine.accepts(&d) || p.machine.move(&d, classSlash)
}

// CoversWithin reports whether the pattern surely covers path and everything that could lie below it. It finds what ends in `**`, and errs
// towards false for patterns that come to the same by other means.
func (p Pattern) CoversWithin(path vpath.Path) bool {
	if p.machine == nil {
		return false
	}
	d := p.machine.after(bytesOf(path))
	if !p.machine.accepts(&d) {
		return false
	}
	p.machine.move(&d, classSlash)
	return p.machine.meets(&d, p.machine.every)
}

// covers reports whether p surely covers all that other covers. It errs towards false.
func (p Pattern) covers(other Pattern) bool {
	return p.text == other.text || other.shape == literal && p.Match(other.base) || p.CoversWithin(other.base)
}

// Reach says which of a folder's direct children a pattern covers.
type Reach uint8

// The reaches.
const (
	ReachesNone Reach = iota
	ReachesSome       // the child's name decides
	ReachesAll
)

// ReachesChildren returns which direct children of folder the pattern covers, whatever their names.
func (p Pattern) ReachesChildren(folder vpath.Path) Reach {
	m := p.machine
	if m == nil {
		return ReachesNone
	}
	d := m.after(bytesOf(folder))
	if !m.move(&d, classSlash) || !m.takesSomeName(d) {
		return ReachesNone
	}
	if m.takesEveryName(d) {
		return ReachesAll
	}
	return ReachesSome
}

// takesEveryName reports whether each name, of whatever characters, leads d to a match. Characters that the pattern does not name are the
// hardest to match: where as many of those match, others do.
func (m *machine) takesEveryName(d states) bool {
	for range vpath.MaxNameRunes {
		before := d
		m.move(&d, classOther)
		if !m.accepts(&d) {
			return false
		}
		if d == before {
			return true
		}
	}
	return true
}

// takesSomeName reports whether some name leads d to a match.
func (m *machine) takesSomeName(d states) bool {
	stay := m.stay[classOther*m.words:]
	for w := m.words - 1; w >= 0; w-- {
		d[w] = d.shifted(w)&m.inner[w] | d[w]&stay[w]
	}
	for { // a name may go on with any characters, so each state leads to the next as far as no slash is needed
		if m.accepts(&d) {
			return true
		}
		before := d
		for w := range m.words {
			d[w] |= d.shifted(w) & m.inner[w]
		}
		if d == before {
			return false
		}
	}
}
