package access

// machine runs a pattern over bytes as a set of states with one bit each. State n means that the
// first n parts of the pattern are matched. Each byte advances all states at once with a shift and
// two masks (R. Baeza-Yates and G. Gonnet, "A new approach to text searching", 1992), so the cost
// does not depend on the form of the pattern or the path.
type machine struct {
	states []state    // the masks were made from them
	words  int        // words of 64 states
	class  [256]uint8 // byte classes: bytes of a class act alike
	step   []uint64   // per class: the states that the byte enters from the state before
	stay   []uint64   // per class: the states that remain on the byte
	// the states of `**` segments; a slash enters the state after them as well
	skip      []uint64
	entered   []uint64 // the states that some byte other than a slash enters
	nameLoops []uint64 // the states that remain on every byte but a slash
	final     []uint64 // the accepting states
	acceptAll []uint64 // the accepting states that remain on every byte
}

// The first byte classes. All bytes of a character that the pattern does not name are in classOther
// or classContinuation.
const (
	classOther = iota
	classContinuation
	classSlash
	classNamed // and above
)

// maxWords is the number of words for the longest pattern: a state for each byte, and the start
// state.
const maxWords = MaxPatternBytes/64 + 1

// states is a set of states of one machine. Words beyond machine.words are zero.
type states [maxWords]uint64

// stay says on which bytes a state remains.
type stay uint8

const (
	stayNone     stay = iota
	stayRune          // continuation bytes: the rest of a character
	stayName          // `*`: every byte but a slash
	stayAnywhere      // `**`: every byte
)

// state describes one state while a machine is built.
type state struct {
	enter  byte // the byte that enters the state from the one before
	any    bool // if set, the first byte of any character but a slash enters it instead
	stay   stay
	skip   bool
	accept bool
}

// statesOf returns the states of the machine of a pattern with these clean segments, and the number
// of literal bytes before the first wildcard, each of which has one state. The slash before a `**`
// segment counts as part of the wildcard.
func statesOf(segments []string) (list []state, fixed int) {
	list, fixed = []state{{}}, -1
	wild := func() {
		if fixed < 0 {
			fixed = len(list) - 1
		}
	}
	for i, segment := range segments {
		if segment == "**" {
			wild()
			last := i == len(segments)-1
			list[len(list)-1].accept = last
			list = append(list, state{enter: '/', stay: stayAnywhere, skip: !last})
			continue
		}
		list = append(list, state{enter: '/'})
		for j := 0; j < len(segment); j++ {
			switch {
			case segment[j] == '?':
				wild()
				list = append(list, state{any: true, stay: stayRune})
			case segment[j] != '*':
				list = append(list, state{enter: segment[j]})
			case j+1 < len(segment) && segment[j+1] == '*':
				wild()
				list[len(list)-1].stay = stayAnywhere
				j++
			default:
				wild()
				list[len(list)-1].stay = stayName
			}
		}
	}
	wild()
	list[len(list)-1].accept = true
	return list, fixed
}

// newMachine builds the masks of a machine for the states of a pattern; see statesOf.
func newMachine(list []state) *machine {
	m := &machine{states: list, words: (len(list) + 63) / 64}
	classes := m.classify(list)
	m.step, m.stay = make([]uint64, len(classes)*m.words), make([]uint64, len(classes)*m.words)
	m.skip, m.entered, m.nameLoops = make([]uint64, m.words), make([]uint64, m.words), make([]uint64, m.words)
	m.final, m.acceptAll = make([]uint64, m.words), make([]uint64, m.words)
	for n, s := range list {
		word, bit := n/64, uint64(1)<<(n%64)
		for class, b := range classes {
			at := class*m.words + word
			if n > 0 && s.enteredBy(b) {
				m.step[at] |= bit
			}
			if s.staysOn(b) {
				m.stay[at] |= bit
			}
		}
		if n > 0 && (s.any || s.enter != '/') {
			m.entered[word] |= bit
		}
		if s.skip {
			m.skip[word] |= bit
		}
		if s.stay == stayName || s.stay == stayAnywhere {
			m.nameLoops[word] |= bit
		}
		if s.accept {
			m.final[word] |= bit
		}
		if s.accept && s.stay == stayAnywhere {
			m.acceptAll[word] |= bit
		}
	}
	return m
}

// classify gives each byte that the pattern names a class of its own, and returns one byte of each
// class: all bytes of a class have the same masks, so the masks stay small.
func (m *machine) classify(list []state) []byte {
	// no pattern names the byte 0, and slashes have their own class
	classes := []byte{classOther: 0, classContinuation: 0x80, classSlash: '/'}
	for b := range m.class {
		if isContinuation(byte(b)) {
			m.class[b] = classContinuation
		}
	}
	m.class['/'] = classSlash
	for _, s := range list[1:] {
		if !s.any && m.class[s.enter] < classSlash {
			m.class[s.enter] = uint8(len(classes))
			classes = append(classes, s.enter)
		}
	}
	// A continuation byte that the pattern names has a class of its own. The representative of
	// classContinuation must be another one.
	for classes[classContinuation] < 0xBF && m.class[classes[classContinuation]] != classContinuation {
		classes[classContinuation]++
	}
	return classes
}

// isContinuation reports whether b is a byte of a UTF-8 character other than its first.
func isContinuation(b byte) bool { return b&0xC0 == 0x80 }

// enteredBy reports whether the byte b of a path leads from the state before to s.
func (s state) enteredBy(b byte) bool {
	if s.any {
		return b != '/' && !isContinuation(b)
	}
	return b == s.enter
}

// staysOn reports whether the machine stays in s on the byte b, as a wildcard does.
func (s state) staysOn(b byte) bool {
	switch s.stay {
	case stayRune:
		return isContinuation(b)
	case stayName:
		return b != '/'
	}
	return s.stay == stayAnywhere
}

// match reports whether the machine accepts all of s, starting in the state with the number from. A
// caller that has compared the literal beginning of the pattern starts behind it.
func (m *machine) match(from int, s string) bool {
	if m.words > 1 {
		var d states
		d[from/64] = 1 << (from % 64)
		return m.run(&d, s) && m.accepts(&d)
	}
	d, skip := uint64(1)<<from, m.skip[0]
	for i := range len(s) {
		class := m.class[s[i]]
		d = d<<1&m.step[class] | d&m.stay[class]
		if class == classSlash {
			d |= d & skip << 1
		}
		if d == 0 {
			return false
		}
	}
	return d&m.final[0] != 0
}

// statesAfter returns the states that the machine is in after s, starting in the start state; none
// if s cannot begin a match.
func (m *machine) statesAfter(s string) states {
	d := states{1}
	m.run(&d, s)
	return d
}

// run advances the set of states d over the bytes of s and reports whether any state is left: none
// means that no text that begins with s matches.
func (m *machine) run(d *states, s string) bool {
	for i := range len(s) {
		if !m.move(d, m.class[s[i]]) {
			return false
		}
	}
	return true
}

// move advances the set of states d over one byte of a class and reports whether any state is left.
func (m *machine) move(d *states, class uint8) bool {
	at, set := int(class)*m.words, d[:m.words]
	step, stay := m.step[at:][:len(set)], m.stay[at:][:len(set)]
	left, carry := uint64(0), uint64(0)
	for w, was := range set {
		next := (was<<1|carry)&step[w] | was&stay[w]
		carry = was >> 63
		set[w] = next
		left |= next
	}
	if class == classSlash {
		carry = 0
		for w := range set {
			passed := set[w] & m.skip[w]
			set[w] |= passed<<1 | carry
			carry = passed >> 63
		}
	}
	return left != 0
}

// intersects reports whether d contains a state of mask, a set in the form of the machine's masks.
func (m *machine) intersects(d *states, mask []uint64) bool {
	for w, bits := range mask {
		if d[w]&bits != 0 {
			return true
		}
	}
	return false
}

// accepts reports whether d contains an accepting state: the bytes so far match the pattern.
func (m *machine) accepts(d *states) bool { return m.intersects(d, m.final) }
