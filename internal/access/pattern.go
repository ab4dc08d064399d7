package access

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// MaxPatternBytes is the longest pattern in bytes of UTF-8.
const MaxPatternBytes = 4096

// Pattern says which virtual paths a rule is about: `*` stands for any characters of one name, `?`
// for exactly one, `**` for any characters with slashes among them. A segment that is `**` alone
// stands for any number of names, none included, so `/a/**` covers `/a` too and `/a/**/b` covers
// `/a/b`. Everything else is literal, `]`, `{` and `}` included; case counts.
//
// Matching never backtracks: it takes one step per byte of the path, each as long as the pattern
// has 64 states (abuse case C33). The zero Pattern matches the root alone.
type Pattern struct {
	text    string     // as String returns it
	prefix  string     // the bytes that every match begins with
	base    vpath.Path // the folder that every match is or lies below, as deep as the prefix tells
	shape   shape      // how Match can go about it
	machine *machine   // nil in the zero Pattern only
	rank    specificity
}

// shape names the patterns that need no machine to be matched.
type shape uint8

const (
	literal shape = iota // the prefix itself
	tree                 // the prefix and all below it
	glob                 // anything else
)

// specificity orders patterns: more characters before the first wildcard, then more in
// all, then fewer `**`.
type specificity struct{ literalPrefix, literals, globs int }

// ParsePattern reads a pattern. Repeated and trailing slashes disappear, runs of more than two
// stars are two, the text is put in NFC. Fault: Invalid for what begins without a slash, is longer
// than MaxPatternBytes, is not UTF-8, has a `.` or `..` segment or a name that no entry can have,
// or holds `[`, which other matchers give a meaning that this one does not.
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

// checkPattern refuses what cannot be part of any pattern.
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

// forbiddenRune reports characters that names cannot hold, and the bracket that would look like
// a set of characters.
func forbiddenRune(r rune) bool {
	switch {
	case r == '[' || r == '\\' || unicode.IsControl(r):
		return true
	case r == '\u2028' || r == '\u2029':
		return true
	}
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// collapseStars shortens runs of stars to two.
func collapseStars(s string) string {
	for strings.Contains(s, "***") {
		s = strings.ReplaceAll(s, "***", "**")
	}
	return s
}

// compilePattern builds the pattern of clean segments.
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

// baseOf returns the folder that the first fixed bytes of text name in full. Of text that names
// something too deep to exist it is the root.
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

// rankOf counts what makes text specific, in characters, slashes included.
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

// String returns the pattern in its clean form.
func (p Pattern) String() string {
	if p.text == "" {
		return "/"
	}
	return p.text
}

// matchText returns path as patterns see it: "" for the root, else with a slash before every name.
func matchText(path vpath.Path) string {
	if path.IsRoot() {
		return ""
	}
	return path.String()
}

// Match reports whether the pattern covers path.
func (p Pattern) Match(path vpath.Path) bool { return p.match(matchText(path)) }

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
