package webdav

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// unusedNamespace is a namespace that no element has. As the outer default namespace it makes every
// outermost element declare its own.
const unusedNamespace = "\x00"

// innerXML returns the content of e as XML that has the same meaning wherever it is inserted.
// Elements declare their namespace by default where it changes; attributes get generated prefixes
// (a0, a1, …). RFC 4918 section 4.3 recommends keeping the client's own prefixes, for values that
// name them in text. White space is kept. It returns false when the result has more than most
// bytes: a namespace name may be repeated for every element.
func innerXML(e *element, most int) (string, bool) {
	w := innerWriter{limit: most}
	w.content(e, unusedNamespace)
	return string(w.b), len(w.b) <= most
}

// innerWriter stops soon after it has written more than limit bytes.
type innerWriter struct {
	b     []byte
	limit int
}

// content writes the elements and texts in e; space is the default namespace in effect.
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

// element writes e with its content as XML; space is the default namespace in effect. It declares
// the namespace of e where that differs.
func (w *innerWriter) element(e *element, space string) {
	tag := e.name.local
	w.b = append(w.b, '<')
	switch e.name.space {
	case xmlSpace: // only the prefix xml may be bound to it
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

// attributes writes the attributes of an element, with generated prefixes and their declarations.
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

// attribute writes one attribute of a start tag, with its value escaped and in double quotes.
func (w *innerWriter) attribute(name, value string) {
	w.b = append(w.b, ' ')
	w.b = append(w.b, name...)
	w.b = append(w.b, `="`...)
	w.b = appendEscaped(w.b, value)
	w.b = append(w.b, '"')
}

// appendEscaped appends s, escaped so that it can be text or an attribute value in double quotes
// and a parser reads exactly s. Characters that XML 1.0 does not have, and bytes that are not
// UTF-8, become U+FFFD.
func appendEscaped(b []byte, s string) []byte { return escape(b, s, true) }

// appendText appends s, escaped as the text of an element. Unlike appendEscaped it leaves tabs,
// line feeds and quotes as they are, which only attribute values need escaped.
func appendText(b []byte, s string) []byte { return escape(b, s, false) }

// escape appends s to b, escaped as the text of an element, or with inAttribute as the value of an
// attribute in double quotes.
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
