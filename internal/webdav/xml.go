package webdav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"larder/internal/fault"
)

const (
	// maxBody is the longest XML body, in bytes.
	maxBody = 64 << 10
	// maxNesting is how deep elements may be nested.
	maxNesting = 64
	// maxSpace is the longest namespace name, in bytes. A body declares it once, but the stored
	// value may repeat it for every element.
	maxSpace = 1024
)

const (
	davSpace   = "DAV:"
	xmlSpace   = "http://www.w3.org/XML/1998/namespace" // always bound to the prefix xml
	xmlnsSpace = "http://www.w3.org/2000/xmlns/"        // must not be bound to any prefix
)

// qname is an expanded XML name; space is "" for a name in no namespace.
type qname struct{ space, local string }

// davName returns a name in WebDAV's own namespace, DAV:.
func davName(local string) qname { return qname{davSpace, local} }

// element is an XML element as read from a body, with its prefixes resolved. Comments and
// processing instructions are dropped.
type element struct {
	name    qname
	attrs   []attribute // in the order written, without namespace declarations
	content []node      // in document order; texts are not empty and never adjacent
}

// attribute is an XML attribute with its prefix resolved.
type attribute struct {
	name  qname
	value string
}

// node is an element, or text when element is nil.
type node struct {
	element *element
	text    string
}

// elements yields the direct child elements of e in order, without its texts.
func (e *element) elements() iter.Seq[*element] {
	return func(yield func(*element) bool) {
		for _, n := range e.content {
			if n.element != nil && !yield(n.element) {
				return
			}
		}
	}
}

// named returns the direct child elements of e that have that name.
func (e *element) named(name qname) []*element {
	var found []*element
	for child := range e.elements() {
		if child.name == name {
			found = append(found, child)
		}
	}
	return found
}

// readXML parses a body. For one that is empty or white space only it returns nil without a fault.
// Beyond XML 1.0 and its namespaces it refuses document type declarations, so that no entity
// expands; charsets other than UTF-8 and US-ASCII; and bodies that exceed the limits of length,
// nesting or namespace names. encoding/xml does not distinguish line breaks in attribute values
// from references to them, so they are kept. Faults: Invalid, TooLarge.
func readXML(r io.Reader) (*element, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, fault.New(fault.TooLarge, "An XML body has at most 64 KiB.")
	case err != nil:
		return nil, fault.New(fault.Invalid, "The body could not be read.").WithCause(err)
	}
	return parseXML(body)
}

// parseXML parses an XML body as readXML does, without its limit of length. It returns nil for one
// that is empty. Fault: Invalid.
func parseXML(body []byte) (*element, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return nil, nil
	}
	if !utf8.Valid(body) || bytes.ContainsFunc(body, func(r rune) bool { return !isXML(r) }) {
		return nil, notWellFormed("it contains an invalid character")
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") &&
			!bytes.ContainsFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return in, nil
		}
		return nil, fmt.Errorf("charset %q", charset)
	}
	var t treeBuilder
	for {
		begin := d.InputOffset()
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "The body is not well-formed XML.").WithCause(err)
		}
		if err := t.add(token, begin == 0); err != nil {
			return nil, err
		}
	}
}

// isXML reports whether r is a character of XML 1.0 (section 2.2).
func isXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD ||
		r >= 0x10000 && r <= utf8.MaxRune
}

// notWellFormed returns the fault Invalid for a body that breaks the rules of XML; format and args
// name the mistake.
func notWellFormed(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "The body is not well-formed XML: %s.", fmt.Sprintf(format, args...))
}

// treeBuilder builds an element from raw tokens. It checks that their tags match and resolves their
// prefixes.
type treeBuilder struct {
	root *element
	open []frame // from the root down
}

// frame is an element whose end tag has not been read yet.
type frame struct {
	element *element
	tag     xml.Name          // as written, the prefix as its space
	spaces  map[string]string // declared by this element: prefixes ("" for the default) to namespaces
}

// end returns the root element after the last token. Fault: Invalid when an end tag or the element
// is missing.
func (t *treeBuilder) end() (*element, error) {
	switch {
	case len(t.open) > 0:
		return nil, notWellFormed("<%s> has no end tag", t.open[len(t.open)-1].tag.Local)
	case t.root == nil:
		return nil, notWellFormed("it has no element")
	}
	return t.root, nil
}

// add processes the next token; first says that it is at the beginning of the body, where alone an
// XML declaration may be. Fault: Invalid.
func (t *treeBuilder) add(token xml.Token, first bool) error {
	switch token := token.(type) {
	case xml.StartElement:
		return t.start(token)
	case xml.EndElement:
		if len(t.open) == 0 || t.open[len(t.open)-1].tag != token.Name {
			return notWellFormed("</%s> has no start tag", token.Name.Local)
		}
		t.open = t.open[:len(t.open)-1]
	case xml.CharData:
		return t.text(token)
	case xml.ProcInst:
		if strings.EqualFold(token.Target, "xml") && !first {
			return notWellFormed("its declaration is not at the beginning")
		}
	case xml.Directive:
		return fault.New(fault.Invalid, "The body must not have a document type declaration.")
	}
	return nil
}

// text adds text to the innermost open element, joined with a text directly before it. Fault:
// Invalid for text outside of the root element.
func (t *treeBuilder) text(data []byte) error {
	if len(t.open) == 0 {
		if len(bytes.Trim(data, " \t\r\n")) > 0 {
			return notWellFormed("it has text outside of its element")
		}
		return nil
	}
	e := t.open[len(t.open)-1].element
	switch last := len(e.content) - 1; {
	case len(data) == 0:
	case last >= 0 && e.content[last].element == nil:
		e.content[last].text += string(data)
	default:
		e.content = append(e.content, node{text: string(data)})
	}
	return nil
}

// start adds an element to the innermost open one, or as the root, and opens it. Fault: Invalid for
// a second root, too deep nesting or wrong namespaces.
func (t *treeBuilder) start(tag xml.StartElement) error {
	switch {
	case len(t.open) == 0 && t.root != nil:
		return notWellFormed("it has a second element")
	case len(t.open) == maxNesting:
		return fault.Newf(fault.Invalid, "Elements may be nested at most %d levels deep.", maxNesting)
	}
	spaces, err := declarations(tag.Attr)
	if err != nil {
		return err
	}
	e := &element{}
	t.open = append(t.open, frame{e, tag.Name, spaces})
	if e.name, err = t.expand(tag.Name, true); err != nil {
		return err
	}
	if e.attrs, err = t.attributes(tag.Attr); err != nil {
		return err
	}
	if t.root == nil {
		t.root = e
		return nil
	}
	parent := t.open[len(t.open)-2].element
	parent.content = append(parent.content, node{element: e})
	return nil
}

// declares returns the prefix that an attribute such as xmlns:D declares for a namespace, "" for
// the default namespace, and whether the attribute is such a declaration.
func declares(a xml.Attr) (string, bool) {
	if a.Name.Space == "" && a.Name.Local == "xmlns" {
		return "", true
	}
	return a.Name.Local, a.Name.Space == "xmlns"
}

// declarations returns the namespaces that the attributes declare, by prefix, nil for none. It
// enforces the constraints of Namespaces in XML 1.0 (sections 2.2 and 3). Fault: Invalid.
func declarations(attrs []xml.Attr) (map[string]string, error) {
	var spaces map[string]string
	for _, a := range attrs {
		prefix, ok := declares(a)
		if !ok {
			continue
		}
		_, twice := spaces[prefix]
		switch {
		case twice:
			return nil, notWellFormed("a prefix is declared twice")
		case prefix == "xmlns" || a.Value == xmlnsSpace || (prefix == "xml") != (a.Value == xmlSpace):
			return nil, notWellFormed("a prefix is declared that is reserved")
		case prefix != "" && a.Value == "":
			return nil, notWellFormed("the prefix %s is declared with an empty namespace", prefix)
		case prefix != "" && !isNCName(prefix):
			return nil, notWellFormed("%s is not a valid prefix", prefix)
		case len(a.Value) > maxSpace:
			return nil, fault.Newf(fault.Invalid, "A namespace name has at most %d bytes.", maxSpace)
		}
		if spaces == nil {
			spaces = map[string]string{}
		}
		spaces[prefix] = a.Value
	}
	return spaces, nil
}

// attributes returns the attributes that are not namespace declarations, with their prefixes
// resolved. Fault: Invalid.
func (t *treeBuilder) attributes(written []xml.Attr) ([]attribute, error) {
	var attrs []attribute
	seen := map[qname]bool{}
	for _, a := range written {
		if _, ok := declares(a); ok {
			continue
		}
		name, err := t.expand(a.Name, false)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, notWellFormed("the attribute %s is given twice", name.local)
		}
		seen[name] = true
		attrs = append(attrs, attribute{name, a.Value})
	}
	return attrs, nil
}

// expand resolves the prefix of a name by the declarations of the open elements. The default
// namespace applies to elements only. Fault: Invalid.
func (t *treeBuilder) expand(name xml.Name, isElement bool) (qname, error) {
	if !isNCName(name.Local) {
		return qname{}, notWellFormed("%s is not a valid name", name.Local)
	}
	switch {
	case name.Space == "xml":
		return qname{xmlSpace, name.Local}, nil
	case name.Space == "" && !isElement:
		return qname{"", name.Local}, nil
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if space, ok := t.open[i].spaces[name.Space]; ok {
			return qname{space, name.Local}, nil
		}
	}
	if name.Space != "" {
		return qname{}, notWellFormed("the prefix %s is not declared", name.Space)
	}
	return qname{"", name.Local}, nil
}

// isNCName reports whether s, part of a name that encoding/xml has read, is a valid name by itself.
// encoding/xml checks the characters of names, but accepts colons at either end and any character
// after a colon.
func isNCName(s string) bool {
	if strings.Contains(s, ":") {
		return false
	}
	if c := s[0]; c < utf8.RuneSelf {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	_, err := xml.NewDecoder(strings.NewReader("<" + s + ">")).RawToken()
	return err == nil
}
