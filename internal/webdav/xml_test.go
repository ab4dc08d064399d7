package webdav

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"larder/internal/fault"
)

// formatTree formats a tree as {space}local[attributes](content), with quoted text.
func formatTree(e *element) string {
	if e == nil {
		return "nil"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{%s}%s", e.name.space, e.name.local)
	for _, a := range e.attrs {
		fmt.Fprintf(&b, "[{%s}%s=%q]", a.name.space, a.name.local, a.value)
	}
	if len(e.content) > 0 {
		b.WriteByte('(')
		for _, n := range e.content {
			if n.element != nil {
				b.WriteString(formatTree(n.element))
			} else {
				fmt.Fprintf(&b, "%q", n.text)
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

func mustReadXML(t *testing.T, body string) *element {
	t.Helper()
	e, err := readXML(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return e
}

func TestReadXML(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "nil", " \t\r\n": "nil", "\ufeff": "nil",
		`<a/>`: `{}a`, `<a></a >`: `{}a`, "\ufeff<a/>": `{}a`, " <a/>\n": `{}a`,
		`<D:a xmlns:D="DAV:"/>`:                               `{DAV:}a`,
		`<a xmlns="DAV:"><b/></a>`:                            `{DAV:}a({DAV:}b)`,
		`<a xmlns="DAV:"><b xmlns=""/><c/></a>`:               `{DAV:}a({}b{DAV:}c)`,
		`<x:a xmlns:x="u:1"><x:b xmlns:x="u:2"/><x:c/></x:a>`: `{u:1}a({u:2}b{u:1}c)`,
		// the default namespace does not apply to attributes; order does not matter
		`<a xmlns="u:1" b="1" x:b="2" xmlns:x="u:2"/>`:                        `{u:1}a[{}b="1"][{u:2}b="2"]`,
		`<a xml:lang="de" xmlns:xml="http://www.w3.org/XML/1998/namespace"/>`: `{}a[{http://www.w3.org/XML/1998/namespace}lang="de"]`,
		`<xml:a/>`:                  `{http://www.w3.org/XML/1998/namespace}a`,
		`<?xml version="1.0"?><a/>`: `{}a`,
		`<?xml version="1.0" encoding="utf-8" ?>` + "\n<!-- x --><?p i?><a/><!-- y --><?p i?>\n": `{}a`,
		`<?xml version="1.0" encoding="US-ASCII"?><a>&#228;</a>`:                                 `{}a("ä")`,
		`<a><![CDATA[]]></a>`: `{}a`, `<a><b/><![CDATA[]]><c/></a>`: `{}a({}b{}c)`,
		`<a>b<!-- - -->c<?p i?>d<![CDATA[]]>e</a>`:                  `{}a("bcde")`,
		`<a><![CDATA[<b>&amp;</b>]]]]><![CDATA[>]]></a>`:            `{}a("<b>&amp;</b>]]>")`,
		`<a> x <b> </b>` + "\n\t" + `</a>`:                          `{}a(" x "{}b(" ")"\n\t")`,
		"<a>1\r\n2\r3&#13;4&#xD;&#10;5</a>":                         `{}a("1\n2\n3\r4\r\n5")`,
		`<a b='&lt;&gt;&amp;&apos;&quot;&#9;&#x10FFFF;'>&lt;"'</a>`: `{}a[{}b="<>&'\"\t\U0010ffff"]("<\"'")`,
		`<é><日本 é="猫"/></é>`:                                        `{}é({}日本[{}é="猫"])`,
		`<x:é xmlns:x="u:1" x:_1=""/>`:                              `{u:1}é[{u:1}_1=""]`,
	} {
		e, err := readXML(strings.NewReader(in))
		if err != nil || formatTree(e) != want {
			t.Errorf("%q is %s, %v, want %s", in, formatTree(e), err, want)
		}
	}
}

func TestReadXMLRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"no element":                           `<!-- x -->`,
		"text alone":                           `x`,
		"text before":                          `x<a/>`,
		"text behind":                          `<a/>x`,
		"a reference after the root":           `<a/>&amp;`,
		"a second root":                        `<a/><b/>`,
		"no end":                               `<a>`,
		"no end tag of the inner element":      `<a><b></a>`,
		"half a tag":                           `<a`,
		"an end tag alone":                     `</a>`,
		"an end tag too many":                  `<a/></a>`,
		"ends crossed":                         `<a><b></a></b>`,
		"another prefix at the end":            `<x:a xmlns:x="u:1" xmlns:y="u:1"></y:a>`,
		"a document type":                      `<!DOCTYPE a><a/>`,
		"entities of its own":                  `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`,
		"a directive inside":                   `<a><!ELEMENT b ANY></a>`,
		"an unknown entity":                    `<a>&nbsp;</a>`,
		"an ampersand":                         `<a>b & c</a>`,
		"an unknown entity in an attribute":    `<a b="&nbsp;"/>`,
		"an undeclared prefix":                 `<x:a/>`,
		"an undeclared prefix of an attribute": `<a x:b=""/>`,
		"a prefix outside its element":         `<a><b xmlns:x="u:1"/><x:c/></a>`,
		"a prefix declared as nothing":         `<a xmlns:x=""/>`,
		"the prefix xmlns":                     `<xmlns:a/>`,
		"the prefix xmlns declared":            `<a xmlns:xmlns="http://www.w3.org/2000/xmlns/"/>`,
		"the prefix xmlns for another":         `<a xmlns:xmlns="u:1"/>`,
		"the namespace of declarations":        `<a xmlns:x="http://www.w3.org/2000/xmlns/"/>`,
		"the prefix xml for another":           `<a xmlns:xml="u:1"/>`,
		"another prefix for xml":               `<a xmlns:x="http://www.w3.org/XML/1998/namespace"/>`,
		"xml by default":                       `<a xmlns="http://www.w3.org/XML/1998/namespace"/>`,
		"a default declared twice":             `<a xmlns="u:1" xmlns="u:1"/>`,
		"a prefix declared twice":              `<a xmlns:x="u:1" xmlns:x="u:2"/>`,
		"an attribute twice":                   `<a b="1" b="2"/>`,
		"an attribute twice by two prefixes":   `<a xmlns:x="u:1" xmlns:y="u:1" x:b="1" y:b="2"/>`,
		"two colons":                           `<x:y:a xmlns:x="u:1"/>`,
		"a colon before the name":              `<:a/>`,
		"a colon after the name":               `<a:/>`,
		"a digit after the prefix":             `<x:1 xmlns:x="u:1"/>`,
		"a combining mark after the prefix":    "<x:\u0301 xmlns:x=\"u:1\"/>",
		"a digit as prefix":                    `<a xmlns:1="u:1"/>`,
		"a name that begins with a digit":      `<1/>`,
		"an attribute without quotes":          `<a b=c/>`,
		"an attribute without a value":         `<a b/>`,
		"less-than in an attribute":            `<a b="<"/>`,
		"the end of CDATA in text":             `<a>]]></a>`,
		"CDATA without end":                    `<a><![CDATA[x</a>`,
		"two dashes in a comment":              `<a><!-- -- --></a>`,
		"another charset":                      `<?xml version="1.0" encoding="ISO-8859-1"?><a/>`,
		"US-ASCII with a character beyond it":  `<?xml version="1.0" encoding="us-ascii"?><a>ä</a>`,
		"another version":                      `<?xml version="1.1"?><a/>`,
		"a declaration later":                  `<a/><?xml version="1.0"?>`,
		"a declaration inside":                 `<a><?XML x?></a>`,
		"UTF-16":                               "\xff\xfe<\x00a\x00/\x00>\x00",
		"Latin-1":                              "<a>\xe4</a>",
		"half a surrogate pair":                "<a>\xed\xa0\x80</a>",
		"a control character":                  "<a>\x01</a>",
		"NUL":                                  "<a>\x00</a>",
		"a noncharacter":                       "<a>\ufffe</a>",
		"NUL by reference":                     "<a>&#0;</a>",
		"a control character by reference":     `<a b="&#1;"/>`,
		"a reference beyond Unicode":           "<a>&#x110000;</a>",
		"invalid UTF-8 in a comment":           "<a><!-- \xff --></a>",
		"a control character in a comment":     "<a><!-- \x01 --></a>",
	} {
		if e, err := readXML(strings.NewReader(in)); !fault.Is(err, fault.Invalid) || e != nil {
			t.Errorf("%s: %s, %v, want a fault", name, formatTree(e), err)
		}
	}
}

func TestReadXMLLimits(t *testing.T) {
	t.Parallel()
	long := func(size int) string { return "<a>" + strings.Repeat("x", size-7) + "</a>" }
	deep := func(levels int) string { return strings.Repeat("<a>", levels) + strings.Repeat("</a>", levels) }
	space := func(size int) string { return `<a xmlns="` + strings.Repeat("u", size) + `"/>` }
	for name, in := range map[string]string{"64 KiB": long(65536), "64 levels": deep(64),
		"a namespace of 1 KiB": space(1024)} {
		if _, err := readXML(strings.NewReader(in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		in   string
		want fault.Kind
	}{
		"64 KiB and a byte":             {long(65537), fault.TooLarge},
		"white space without end":       {strings.Repeat(" ", 1<<20), fault.TooLarge},
		"65 levels":                     {deep(65), fault.Invalid},
		"a namespace of 1 KiB and more": {space(1025), fault.Invalid},
	} {
		if _, err := readXML(strings.NewReader(c.in)); !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// countingReader counts the bytes that are read from it.
type countingReader struct {
	from io.Reader
	n    int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += n
	return n, err
}

func TestReadXMLStopsReading(t *testing.T) {
	t.Parallel()
	body := &countingReader{from: strings.NewReader(strings.Repeat("x", 1<<20))}
	if _, err := readXML(body); !fault.Is(err, fault.TooLarge) || body.n != 65537 {
		t.Errorf("read %d bytes: %v", body.n, err)
	}
	broken := errors.New("connection reset")
	if _, err := readXML(io.MultiReader(strings.NewReader("<a/>"), iotest.ErrReader(broken))); !fault.Is(err,
		fault.Invalid) || !errors.Is(err, broken) {
		t.Errorf("a broken body: %v", err)
	}
}

func FuzzReadXML(f *testing.F) {
	for _, seed := range []string{
		"", "<a/>", `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`,
		`<?xml version="1.0" encoding="utf-8"?><a xmlns="u:1" xmlns:x="u:2" x:b="&#13;">c<x:d/></a>`,
		`<propertyupdate xmlns="DAV:" xml:lang="de"><set><prop><a><![CDATA[<]]></a></prop></set></propertyupdate>`,
		`<!DOCTYPE a><a/>`, `<x:1 xmlns:x="u:1"/>`,
		`<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype><owner> a <b/></owner></lockinfo>`, "<xml:a/>", "<a>\r\n&#xD;</a>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := readXML(strings.NewReader(string(body)))
		_, findErr := parsePropfind(e)
		_, updateErr := parsePropertyUpdate(e)
		_, lockErr := parseLockInfo(e)
		for _, err := range []error{err, findErr, updateErr, lockErr} {
			if err != nil && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.TooLarge) {
				t.Fatalf("%q gave an error that is not Invalid or TooLarge: %v", body, err)
			}
		}
		if e == nil {
			return
		}
		around := &element{name: davName("w"), content: []node{{element: e}}}
		text, ok := innerXML(around, 1<<30)
		if !ok {
			t.Fatal("too long")
		}
		if back, err := parseXML([]byte(text)); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%q was written as %q and read as %s: %v", body, text, formatTree(back), err)
		}
	})
}
