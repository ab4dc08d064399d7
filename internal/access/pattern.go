package access

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// MaxPatternBytes is the maximum length of a pattern in bytes of UTF-8.
const MaxPatternBytes = 4096

// Pattern selects the virtual paths that a rule applies to. `*` matches any characters of one name,
// `?` exactly one character, `**` any characters including slashes. A segment that is `**` alone
// matches any number of names, including none: `/a/**` covers `/a` too, and `/a/**/b` covers
// `/a/b`. Every other character is literal, including `]`, `{` and `}`. Case matters.
//
// Matching never backtracks. It takes one step per byte of the path, and the cost of a step grows
// by one word for each 64 states of the pattern (abuse case C33). The zero Pattern matches only the
// root.
type Pattern struct {
	text    string     // the result of String
	prefix  string     // the literal bytes that every match begins with
	base    vpath.Path // the deepest folder that the prefix names: every match is at or below it
	shape   shape      // how Match works
	machine *machine   // nil only in the zero Pattern
	rank    specificity
}

// shape distinguishes the patterns that can be matched without the machine.
type shape uint8

const (
	literal shape = iota // matches the prefix
	tree                 // matches the prefix and everything below it
	glob                 // every other pattern
)

// specificity orders patterns: first by the characters before the first wildcard, then by all
// literal characters, then by fewer `**`.
type specificity struct{ literalPrefix, literals, globs int }

// ParsePattern parses a pattern. It drops repeated and trailing slashes, shortens runs of stars to
// two, and puts the text in NFC. Fault: Invalid for a pattern that does not begin with a slash, is
// longer than MaxPatternBytes, is not UTF-8, has a `.` or `..` segment or a name that no entry can
// have, or contains `[`, which has a meaning in other matchers but not in this one.
func ParsePattern(s string) (Pattern, error) {
	if err := checkPattern(s); err != nil {
		return Pattern{}, err
	}
	var segments []string
	for segment := range strings.SplitSeq(norm.NFC.String(s), "/") {
		segment = collapseStars(segment)
		switch {
		case segment == "":
			continue
		case segment == "." || segment == "..":
			return Pattern{}, fault.New(fault.Invalid, `A path pattern must not have "." or ".." segments.`)
		case strings.TrimSpace(segment) != segment:
			return Pattern{}, fault.New(fault.Invalid,
				"A name in a path pattern must not begin or end with white space.")
		case segment == "**" && len(segments) > 0 && segments[len(segments)-1] == "**":
			continue
		}
		segments = append(segments, segment)
	}
	text := "/" + strings.Join(segments, "/")
	if !strings.ContainsAny(text, "*?") {
		if _, err := vpath.Parse(text); err != nil {
			return Pattern{}, err
		}
	}
	if len(text) > MaxPatternBytes {
		return Pattern{}, fault.New(fault.Invalid, "A path pattern has at most 4096 bytes.")
	}
	return compilePattern(text, segments), nil
}

// checkPattern refuses a text that is too long, does not begin with a slash, or has characters that
// no pattern can contain. Fault: Invalid.
func checkPattern(s string) error {
	switch {
	case len(s) > MaxPatternBytes:
		return fault.New(fault.Invalid, "A path pattern has at most 4096 bytes.")
	case len(s) == 0 || s[0] != '/':
		return fault.New(fault.Invalid, `A path pattern starts with "/".`)
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "A path pattern must be valid UTF-8.")
	case strings.ContainsFunc(s, forbiddenRune):
		return fault.New(fault.Invalid,
			`A path pattern must not contain "[", backslashes, control characters or text-direction overrides.`)
	}
	return nil
}

// forbiddenRune reports whether r cannot be part of a name, or is the bracket that looks like the
// start of a character set.
func forbiddenRune(r rune) bool {
	switch {
	case r == '[' || r == '\\' || unicode.IsControl(r):
		return true
	case r == '\u2028' || r == '\u2029':
		return true
	}
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// collapseStars shortens runs of stars to two, which mean the same.
func collapseStars(s string) string {
	for strings.Contains(s, "***") {
		s = strings.ReplaceAll(s, "***", "**")
	}
	return s
}

// compilePattern builds the pattern of text, which consists of a slash before each of the clean
// segments.
func compilePattern(text string, segments []string) Pattern {
	list, fixed := statesOf(segments)
	p := Pattern{text: text, prefix: text[:fixed], machine: newMachine(list), rank: rankOf(text)}
	p.base = baseOf(text, fixed)
	switch end := len(list) - 1; {
	case end == fixed && list[end].stay == stayNone:
		p.shape = literal
	case end == fixed+1 && list[fixed].accept && list[fixed].stay == stayNone && list[end].stay == stayAnywhere:
		p.shape = tree
	default:
		p.shape = glob
	}
	return p
}

// baseOf returns the deepest folder that the literal beginning of a pattern, the first fixed bytes
// of text, names completely: every path that the pattern covers is at or below that folder. It
// returns the root for a path that is too deep to exist.
func baseOf(text string, fixed int) vpath.Path {
	if fixed < len(text) && text[fixed] != '/' { // the wildcard is part of a name
		fixed = strings.LastIndexByte(text[:fixed], '/')
	}
	base, err := vpath.Parse("/" + text[:fixed])
	if err != nil {
		return vpath.Root
	}
	return base
}

// rankOf computes how specific a pattern is, which orders rules: its literal characters, slashes
// included, before the first wildcard and in all, and its number of `**`.
func rankOf(text string) specificity {
	r := specificity{literalPrefix: -1}
	for i := 0; i < len(text); {
		c, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case c != '*' && c != '?':
			r.literals++
		case r.literalPrefix < 0:
			r.literalPrefix = r.literals
			fallthrough
		default:
			if c == '*' && i+1 < len(text) && text[i+1] == '*' {
				r.globs++
				width = 2
			}
		}
		i += width
	}
	if r.literalPrefix < 0 {
		r.literalPrefix = r.literals
	}
	return r
}

// String returns the normalised pattern.
func (p Pattern) String() string {
	if p.text == "" {
		return "/"
	}
	return p.text
}

// matchText returns the text of path that patterns are matched with: "" for the root, else a slash
// before every name.
func matchText(path vpath.Path) string {
	if path.IsRoot() {
		return ""
	}
	return path.String()
}

// Match reports whether the pattern covers path.
func (p Pattern) Match(path vpath.Path) bool { return p.match(matchText(path)) }

// match reports whether the pattern covers a path, given as its matchText.
func (p *Pattern) match(s string) bool {
	rest, ok := strings.CutPrefix(s, p.prefix)
	if !ok {
		return false
	}
	switch p.shape {
	case literal:
		return rest == ""
	case tree:
		return rest == "" || rest[0] == '/'
	}
	return p.machine.match(len(p.prefix), rest)
}
