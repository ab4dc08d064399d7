package webdav

import (
	"slices"
	"strings"

	"larder/internal/fault"
)

// Limits of an If header.
const (
	maxIf         = 16 << 10 // bytes
	maxLists      = 64
	maxConditions = 256 // in all lists together
)

// condition is one state that a resource must have. Exactly one of token and etag is set.
type condition struct {
	not   bool
	token string // a state token without its angle brackets
	etag  string // an entity tag as written, with its quotes and W/
}

// ifList is a list of conditions that must all hold.
type ifList struct {
	// the tag as written without its angle brackets, an absolute URI or path; "" for the
	// resource of the request
	resource   string
	conditions []condition
}

// parseIf reads an If header by the grammar of RFC 4918 section 10.4.2; it returns nil for "", no
// header. Either all lists are tagged or none is. Fault: Invalid, also when a limit is exceeded.
func parseIf(header string) ([]ifList, error) {
	if header == "" {
		return nil, nil
	}
	if len(header) > maxIf {
		return nil, fault.Newf(fault.Invalid, "An If header has at most %d bytes.", maxIf)
	}
	s := ifScanner{rest: header}
	lists, ok := s.lists()
	switch {
	case s.conditions > maxConditions || len(lists) > maxLists:
		return nil, fault.Newf(fault.Invalid, "An If header has at most %d lists and %d conditions.", maxLists,
			maxConditions)
	case !ok:
		return nil, fault.New(fault.Invalid, "The If header is malformed.")
	}
	return lists, nil
}

// ifScanner reads an If header from left to right. Its methods return false when the header does
// not match the grammar.
type ifScanner struct {
	rest       string
	conditions int // so far
}

// next skips white space and returns the following byte without consuming it, 0 at the end.
func (s *ifScanner) next() byte {
	s.rest = strings.TrimLeft(s.rest, " \t")
	if s.rest == "" {
		return 0
	}
	return s.rest[0]
}

// take reports whether text, in any case, comes next, and consumes it.
func (s *ifScanner) take(text string) bool {
	if len(s.rest) < len(text) || !strings.EqualFold(s.rest[:len(text)], text) {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// lists reads the whole header: lists of conditions, each after the address that it is for, or all
// without addresses. It stops early, without false, when a limit is exceeded.
func (s *ifScanner) lists() ([]ifList, bool) {
	var lists []ifList
	tagged := s.next() == '<'
	resource := ""
	for s.next() != 0 && len(lists) <= maxLists && s.conditions <= maxConditions {
		if s.rest[0] == '<' {
			var ok bool
			if resource, ok = s.bracketed(); !ok || !tagged || !isReference(resource) || s.next() != '(' {
				return lists, false
			}
		}
		list, ok := s.list()
		if !ok {
			return lists, false
		}
		lists = append(lists, ifList{resource, list})
	}
	return lists, len(lists) > 0
}

// list reads one list: conditions in parentheses, at least one.
func (s *ifScanner) list() ([]condition, bool) {
	if !s.take("(") {
		return nil, false
	}
	var list []condition
	for s.next() != ')' {
		c, ok := s.condition()
		if !ok {
			return nil, false
		}
		if s.conditions++; s.conditions > maxConditions {
			return nil, false
		}
		list = append(list, c)
	}
	return list, s.take(")") && len(list) > 0
}

// condition reads one condition: a state token in angle brackets or an entity tag in square
// brackets, after an optional Not.
func (s *ifScanner) condition() (condition, bool) {
	c := condition{not: s.take("Not")}
	var ok bool
	switch s.next() {
	case '<':
		c.token, ok = s.bracketed()
		ok = ok && isAbsoluteURI(c.token)
	case '[':
		c.etag, ok = s.entityTag()
	}
	return c, ok
}

// bracketed reads text in angle brackets, the first of which comes next, and returns it without
// them.
func (s *ifScanner) bracketed() (string, bool) {
	inside, rest, ok := strings.Cut(s.rest[1:], ">")
	s.rest = rest
	return inside, ok
}

// entityTag reads an entity tag (RFC 9110 section 8.8.3) in square brackets, without white space
// around it. It accepts spaces inside the tag, as HTTP once did.
func (s *ifScanner) entityTag() (string, bool) {
	weak := strings.TrimPrefix(s.rest[1:], "W/")
	if weak == "" || weak[0] != '"' {
		return "", false
	}
	opaque, rest, ok := strings.Cut(weak[1:], `"`)
	if !ok || rest == "" || rest[0] != ']' ||
		strings.ContainsFunc(opaque, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	tag := s.rest[1 : len(s.rest)-len(rest)]
	s.rest = rest[1:]
	return tag, true
}

// isReference reports whether s can be a Simple-ref of RFC 4918 section 8.3: an absolute URI or an
// absolute path.
func isReference(s string) bool {
	return s != "" && s[0] == '/' && !strings.ContainsFunc(s, notInURI) || isAbsoluteURI(s)
}

// isAbsoluteURI reports whether s begins with a scheme and contains no character for which notInURI
// is true.
func isAbsoluteURI(s string) bool {
	scheme, _, ok := strings.Cut(s, ":")
	return ok && isScheme(scheme) && !strings.ContainsFunc(s, notInURI)
}

// isScheme reports whether s has the form of a URI scheme (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// notInURI reports whether r is an ASCII character that would make the end of a URI ambiguous.
// Other characters that a URI must escape are accepted, since clients do not escape them.
func notInURI(r rune) bool { return r <= ' ' || r == 0x7f || r == '<' || r == '>' || r == '"' }

// submittedTokens returns the state tokens that the header submits, in order and without repeats.
// Tokens under Not count too (RFC 4918 section 10.4.1).
func submittedTokens(lists []ifList) []string {
	var tokens []string
	for _, list := range lists {
		for _, c := range list.conditions {
			if c.token != "" && !slices.Contains(tokens, c.token) {
				tokens = append(tokens, c.token)
			}
		}
	}
	return tokens
}

// anyListHolds reports whether all conditions of any list hold, or there is no list. It calls
// matches to ask whether the resource ("" for that of the request) has the state, without regard to
// Not, and only until the answer is known (RFC 4918 section 10.4.3).
func anyListHolds(lists []ifList, matches func(resource string, c condition) bool) bool {
	for _, list := range lists {
		if !slices.ContainsFunc(list.conditions, func(c condition) bool { return matches(list.resource, c) == c.not }) {
			return true
		}
	}
	return len(lists) == 0
}
