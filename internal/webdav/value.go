package webdav

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// unusedNamespace is a default namespace that no element has, so what is written under
// it declares its own.
const unusedNamespace = "\x00"

// innerXML writes the content of e so that it means the same wherever it is put: elements declare
// their namespace by default where it changes, and attributes get prefixes of our making (a0, a1,
// …). RFC 4918 section 4.3 would like the client's own prefixes kept, for values that name them in
// text. White space stays as it is. It returns false when that takes more than most bytes: a
// namespace name may be repeated for every element.
func innerXML(e *element, most int) (string, bool) {
	w := innerWriter{limit: most}
	w.content(e, unusedNamespace)
	return string(w.b), len(w.b) <= most
}

// innerWriter stops soon after it has written more than most bytes.
type innerWriter struct {
	b     []byte
	limit int
}

func (w *innerWriter) content(e *element, space string) {
	for _, n := range e.content {
		switch {
		case len(w.b) > w.limit:
			return
		case n.element != nil:
			w.element(n.element, space)
		default:
			w.b = appendText(w.b, n.text)
		}
	}
}

// element writes e where space is the default namespace.
func (w *innerWriter) element(e *element, space string) {
	tag := e.name.local
	w.b = append(w.b, '<')
	switch e.name.space {
	case xmlSpace: // which nothing but the prefix xml may stand for
		tag = "xml:" + tag
		w.b = append(w.b, tag...)
	case space:
		w.b = append(w.b, tag...)
	default:
		space = e.name.space
		w.b = append(w.b, tag...)
		w.attribute("xmlns", space)
	}
	w.attributes(e.attrs)
	if len(e.content) == 0 {
		w.b = append(w.b, "/>"...)
		return
	}
	w.b = append(w.b, '>')
	w.content(e, space)
	w.b = append(w.b, "</"...)
	w.b = append(w.b, tag...)
	w.b = append(w.b, '>')
}

func (w *innerWriter) attributes(attrs []attribute) {
	var spaces []string // the prefix of each is a and its index
	for _, a := range attrs {
		switch a.name.space {
		case "":
			w.attribute(a.name.local, a.value)
			continue
		case xmlSpace:
			w.attribute("xml:"+a.name.local, a.value)
			continue
		}
		i := slices.Index(spaces, a.name.space)
		if i < 0 {
			i = len(spaces)
			spaces = append(spaces, a.name.space)
			w.attribute("xmlns:a"+strconv.Itoa(i), a.name.space)
		}
		w.attribute("a"+strconv.Itoa(i)+":"+a.name.local, a.value)
	}
}

func (w *innerWriter) attribute(name, value string) {
	w.b = append(w.b, ' ')
	w.b = append(w.b, name...)
	w.b = append(w.b, `="`...)
	w.b = appendEscaped(w.b, value)
	w.b = append(w.b, '"')
}

// appendEscaped appends s as text or as an attribute value in double quotes, so that a
// reader gets s back to the letter. Characters that XML 1.0 doesn't have, and bytes that are
// no UTF-8, become U+FFFD.
func appendEscaped(b []byte, s string) []byte { return escape(b, s, true) }

// appendText is appendEscaped for text alone, where tabs, line feeds and
// quotes stand for themselves.
func appendText(b []byte, s string) []byte { return escape(b, s, false) }

func escape(b []byte, s string, inAttribute bool) []byte {
	for _, r := range s {
		switch {
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '\r':
			b = append(b, "&#13;"...)
		case inAttribute && r == '"':
			b = append(b, "&quot;"...)
		case inAttribute && r == '\t':
			b = append(b, "&#9;"...)
		case inAttribute && r == '\n':
			b = append(b, "&#10;"...)
		case !isXML(r):
			b = append(b, "\ufffd"...)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}
