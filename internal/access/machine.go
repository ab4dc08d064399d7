package access

// machine runs a pattern over bytes as a set of states, one bit each: state n means that the first
// n parts of the pattern are matched. A byte moves every state on at once with a shift and two
// masks (R. Baeza-Yates and G. Gonnet, "A new approach to text searching", 1992), so the cost does
// not depend on what the pattern or the path look like.
type machine struct {
	states []state    // as the masks were made from it
	words  int        // of 64 states
	class  [256]uint8 // bytes that the pattern tells apart
	step   []uint64   // per class: the states that a byte leads into from the one before
	stay   []uint64   // per class: the states that a byte leaves as they are
	// the states of `**` segments, which a single slash passes too: the one after
	// is reached with it
	skip      []uint64
	entered   []uint64 // the states that some byte other than a slash leads into
	nameLoops []uint64 // the states that every byte but a slash leaves as they are
	final     []uint64 // the states in which the pattern is matched
	acceptAll []uint64 // the states that are final and stay so whatever comes
}

// The first classes. A character that no part of the pattern names is classOther
// whatever its bytes are.
const (
	classOther = iota
	classContinuation
	classSlash
	classNamed // and on
)

// maxWords holds the states of the longest pattern: one for each byte, and the
// one before the first.
const maxWords = MaxPatternBytes/64 + 1

// states is a set of states of one machine; words past the machine's own are zero.
type states [maxWords]uint64

// stay says what keeps a state as it is.
type stay uint8

const (
	stayNone     stay = iota
	stayRune          // what remains of a character: bytes that continue it
	stayName          // `*`: everything but a slash
	stayAnywhere      // `**`
)

// state is one state while a machine is built.
type state struct {
	enter  byte // the byte that leads here from the state before
	any    bool // instead: the first byte of any character but a slash
	stay   stay
	skip   bool
	accept bool
}

// statesOf returns the states of a pattern with these clean segments, and how many bytes are
// literal before the first wildcard; each of those has one state. The slash before a `**` segment
// counts as part of the wildcard.
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

// newMachine turns states into masks.
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
			if s.keptBy(b) {
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

// classify gives every byte that the pattern names a class of its own, and returns one
// byte of each class.
func (m *machine) classify(list []state) []byte {
	// no pattern names the byte 0, and slashes have their class
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
	// A continuation byte that is named keeps its class; the byte that stands for the rest only has
	// to be one that is not.
	for classes[classContinuation] < 0xBF && m.class[classes[classContinuation]] != classContinuation {
		classes[classContinuation]++
	}
	return classes
}

// isContinuation reports whether b is inside a character, not its first byte.
func isContinuation(b byte) bool { return b&0xC0 == 0x80 }

// enteredBy reports whether b leads into s from the state before.
func (s state) enteredBy(b byte) bool {
	if s.any {
		return b != '/' && !isContinuation(b)
	}
	return b == s.enter
}

// keptBy reports whether b leaves s as it is.
func (s state) keptBy(b byte) bool {
	switch s.stay {
	case stayRune:
		return isContinuation(b)
	case stayName:
		return b != '/'
	}
	return s.stay == stayAnywhere
}

// match reports whether the machine takes all of s when it begins in the given state.
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

// statesAfter returns the states that s leads to from the start.
func (m *machine) statesAfter(s string) states {
	d := states{1}
	m.run(&d, s)
	return d
}

// run moves d over the bytes of s and reports whether anything is left of it.
func (m *machine) run(d *states, s string) bool {
	for i := range len(s) {
		if !m.move(d, m.class[s[i]]) {
			return false
		}
	}
	return true
}

// move takes d over one byte of a class and reports whether anything is left of it.
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

// intersects reports whether d has a state of mask.
func (m *machine) intersects(d *states, mask []uint64) bool {
	for w, bits := range mask {
		if d[w]&bits != 0 {
			return true
		}
	}
	return false
}

// accepts reports whether the pattern is matched in d.
func (m *machine) accepts(d *states) bool { return m.intersects(d, m.final) }
