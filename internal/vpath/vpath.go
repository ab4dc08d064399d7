// Package vpath provides the only type for virtual paths. A Path comes only from Parse or from
// other paths, so every Path is clean: absolute, NFC, without empty, `.` or `..` segments, at most
// 64 levels and 4,096 bytes. Within compares segments, never bytes.
//
// Percent-decoding happens once, in the transport. Neither this package nor the packages below it
// decode again (abuse cases C1 to C14).
package vpath

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"larder/internal/fault"
)

const (
	// MaxBytes is the maximum length of a path in bytes of UTF-8.
	MaxBytes = 4096
	// MaxDepth is the maximum depth of a path in segments.
	MaxDepth = 64
	// MaxNameRunes is the maximum length of a name in characters.
	MaxNameRunes = 255
)

// Path is a clean absolute virtual path. The zero value is the root. Paths can be compared with ==.
type Path struct{ s string } // "" for the root, else "/a/b"

// Root is the path `/`.
var Root = Path{}

// Name is one clean segment of a path: 1 to 255 characters, NFC.
type Name string

// Parse parses an absolute path. It drops repeated, leading and trailing slashes and `.` segments,
// and refuses a `..` segment. Fault: Invalid.
func Parse(s string) (Path, error) {
	if !strings.HasPrefix(s, "/") {
		return Path{}, fault.New(fault.Invalid, "A path starts with \"/\".")
	}
	return FromSegments(strings.Split(s, "/"))
}

// FromSegments builds a path from segments that were decoded separately, so that a slash in one is
// refused and does not divide it. It drops empty and `.` segments. Fault: Invalid.
func FromSegments(segments []string) (Path, error) {
	var names []Name
	for _, segment := range segments {
		if segment == "" || segment == "." {
			continue
		}
		name, err := ParseName(segment)
		if err != nil {
			return Path{}, err
		}
		names = append(names, name)
	}
	return Root.Append(names...)
}

// ParseName validates a name and puts it in NFC: 1 to 255 characters of UTF-8, no slash, backslash
// or character of IsUnprintable, no white space at its ends, neither `.` nor `..`. Fault: Invalid,
// with a message that states what is wrong.
func ParseName(s string) (Name, error) {
	if !utf8.ValidString(s) {
		return "", fault.New(fault.Invalid, "A name must be valid UTF-8.")
	}
	if len(s) > 20*MaxNameRunes { // before the cost of normalising: NFC never shrinks a character by more
		return "", fault.New(fault.Invalid, "A name has at most 255 characters.")
	}
	s = norm.NFC.String(s)
	switch {
	case s == "":
		return "", fault.New(fault.Invalid, "A name must not be empty.")
	case s == "." || s == "..":
		return "", fault.New(fault.Invalid, "A name must not be \".\" or \"..\".")
	case utf8.RuneCountInString(s) > MaxNameRunes:
		return "", fault.New(fault.Invalid, "A name has at most 255 characters.")
	case strings.ContainsFunc(s, isForbidden):
		return "",
			fault.New(fault.Invalid,
				"A name must not contain slashes, backslashes, control characters or text-direction overrides.")
	case strings.TrimSpace(s) != s:
		return "", fault.New(fault.Invalid, "A name must not begin or end with white space.")
	}
	return Name(s), nil
}

// isForbidden reports whether r must not be in a name: slash and backslash, and the characters of
// IsUnprintable.
func isForbidden(r rune) bool { return r == '/' || r == '\\' || IsUnprintable(r) }

// IsUnprintable reports whether r may not be part of a text that is shown beside others: control
// characters, line and paragraph separators, overrides of the text direction.
func IsUnprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' &&
		r <= '\u2069'
}

// String returns the path with its leading slash, `/` for the root.
func (p Path) String() string {
	if p.s == "" {
		return "/"
	}
	return p.s
}

// IsRoot reports whether p is `/`.
func (p Path) IsRoot() bool { return p.s == "" }

// Names returns the segments of the path from the top down, nil for the root.
func (p Path) Names() []Name {
	if p.s == "" {
		return nil
	}
	parts := strings.Split(p.s[1:], "/")
	names := make([]Name, len(parts))
	for i, part := range parts {
		names[i] = Name(part)
	}
	return names
}

// Depth returns the number of segments, 0 for the root.
func (p Path) Depth() int { return strings.Count(p.s, "/") }

// Base returns the last segment, "" for the root.
func (p Path) Base() Name { return Name(p.s[strings.LastIndexByte(p.s, '/')+1:]) }

// Parent returns the folder that holds p; the root is its own parent.
func (p Path) Parent() Path {
	if p.s == "" {
		return p
	}
	return Path{p.s[:strings.LastIndexByte(p.s, '/')]}
}

// Append returns the path with names below it; without names it checks the limits of p itself.
// Fault: Invalid when the result has more than MaxBytes bytes or MaxDepth segments.
func (p Path) Append(names ...Name) (Path, error) {
	var b strings.Builder
	b.WriteString(p.s)
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(string(name))
	}
	out := Path{b.String()}
	if len(out.s) > MaxBytes {
		return Path{}, fault.New(fault.Invalid, "A path has at most 4096 bytes.")
	}
	if out.Depth() > MaxDepth {
		return Path{}, fault.New(fault.Invalid, "A path has at most 64 levels.")
	}
	return out, nil
}

// Child returns the path of name inside p without checking the limits, for names that are already
// stored.
func (p Path) Child(name Name) Path { return Path{p.s + "/" + string(name)} }

// Within reports whether p is root or lies below it. It compares segments, so `/ab` is not within
// `/a`.
func (p Path) Within(root Path) bool {
	return p.s == root.s || len(p.s) > len(root.s) && p.s[:len(root.s)] == root.s && p.s[len(root.s)] == '/'
}

// RelativeTo returns the segments of p after root, none for root itself. The bool is false when p
// is not within root.
func (p Path) RelativeTo(root Path) ([]Name, bool) {
	if !p.Within(root) {
		return nil, false
	}
	return Path{p.s[len(root.s):]}.Names(), true
}

// reservedNames are the first segments that belong to routes of the service, in folded form.
var reservedNames = map[string]bool{"api": true, "webdav": true, "share": true, "app": true, "favicon.ico": true,
	"robots.txt": true}

// Reserved reports whether the first segment of p belongs to a route of the service, such as
// `/api`, without regard to case. No entry may have such a path.
func (p Path) Reserved() bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.s, "/"), "/")
	return reservedNames[Fold(first)]
}

// Fold returns s in NFC with its case folded, for comparing and searching without case. The
// database stores names in this form as well.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(s))
}

// isASCII reports whether s has only bytes below 128.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
