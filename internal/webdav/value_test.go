package webdav

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInnerXML(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`<p/>`:                          ``,
		`<p>text</p>`:                   `text`,
		"<p> \n\ttwo\r\nlines </p>":     " \n\ttwo\nlines ",
		`<p>&lt;&amp;]]&gt;"'&#13;</p>`: `&lt;&amp;]]&gt;"'&#13;`,
		`<p><a/></p>`:                   `<a xmlns=""/>`,
		`<D:p xmlns:D="DAV:"><D:href>/x</D:href></D:p>`:                          `<href xmlns="DAV:">/x</href>`,
		`<p xmlns="u:1"><a><b/><c xmlns="u:2"><d/></c><e xmlns=""/></a><f/></p>`: `<a xmlns="u:1"><b/><c xmlns="u:2"><d/></c><e xmlns=""/></a><f xmlns="u:1"/>`,
		`<p>x<a/>y<!-- z --><b/> </p>`:                                           `x<a xmlns=""/>y<b xmlns=""/> `,
		`<p xmlns:x="u:1" xmlns:y="u:2"><a b="1" x:b="2" y:c="3" x:d="4"/></p>`:  `<a xmlns="" b="1" xmlns:a0="u:1" a0:b="2" xmlns:a1="u:2" a1:c="3" a0:d="4"/>`,
		`<p><a xml:lang="de" b="&#9;&#10;&#13;&quot;'&lt;&amp;"/></p>`:           `<a xmlns="" xml:lang="de" b="&#9;&#10;&#13;&quot;'&lt;&amp;"/>`,
		`<p xmlns="u:1"><xml:a><b/></xml:a></p>`:                                 `<xml:a><b xmlns="u:1"/></xml:a>`,
		`<p xmlns="u:&quot;&amp;"><a/></p>`:                                      `<a xmlns="u:&quot;&amp;"/>`,
	} {
		if got, ok := innerXML(mustReadXML(t, in), maxBody); !ok || got != want {
			t.Errorf("%s holds %s, %v, want %s", in, got, ok, want)
		}
	}
}

func TestInnerXMLLimit(t *testing.T) {
	t.Parallel()
	e := mustReadXML(t, `<p>123456789</p>`)
	if got, ok := innerXML(e, 9); !ok || got != "123456789" {
		t.Errorf("9 bytes of 9: %q, %v", got, ok)
	}
	if _, ok := innerXML(e, 8); ok {
		t.Error("9 bytes were accepted with a limit of 8")
	}
	// The namespace is declared once in the body and repeated 10,000 times in the value: 10 MB
	many := mustReadXML(t, `<p xmlns:x="`+strings.Repeat("u", 1024)+`">`+strings.Repeat("<x:a/>", 10_000)+`</p>`)
	if got, ok := innerXML(many, maxBody); ok || len(got) > maxBody+2048 {
		t.Errorf("wrote %d bytes, %v", len(got), ok)
	}
}

func TestAppendEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain ä 猫 😀": "plain ä 猫 😀", `<a b="c">&amp;'`: "&lt;a b=&quot;c&quot;&gt;&amp;amp;'",
		"a\tb\nc\rd":             "a&#9;b&#10;c&#13;d",
		"\x00\x01\x1f\x7f\u0085": "\ufffd\ufffd\ufffd\x7f\u0085",
		"\ufffd\ufffe\uffff":     "\ufffd\ufffd\ufffd",
		"\xff\xed\xa0\x80":       "\ufffd\ufffd\ufffd\ufffd",
		"]]>":                    "]]&gt;",
	} {
		if got := string(appendEscaped([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// anyTree generates elements with everything that a body can contain.
func anyTree() *rapid.Generator[*element] {
	local := rapid.SampledFrom([]string{"a", "b", "xmlns", "a0", "xml", "é", "_-.1", "日本"})
	space := rapid.SampledFrom([]string{"", "", "DAV:", "u:1", "u:<&\"\n", "a0", xmlSpace})
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab <>&\"'\t\n\r];äﾀ猫😀\u0085\u2028\ufffd")))
	var draw func(t *rapid.T, levels int) *element
	draw = func(t *rapid.T, levels int) *element {
		e := &element{name: qname{space.Draw(t, "space"), local.Draw(t, "local")}}
		seen := map[qname]bool{{"", "xmlns"}: true} // not an attribute but a declaration
		for range rapid.IntRange(0, 4).Draw(t, "attributes") {
			a := attribute{qname{space.Draw(t, "space"), local.Draw(t, "local")}, text.Draw(t, "value")}
			if !seen[a.name] {
				seen[a.name] = true
				e.attrs = append(e.attrs, a)
			}
		}
		if levels == 0 {
			return e
		}
		for range rapid.IntRange(0, 4).Draw(t, "content") {
			n := node{text: text.Draw(t, "text")}
			if last := len(e.content) - 1; n.text == "" || last >= 0 && e.content[last].element == nil {
				n = node{element: draw(t, levels-1)}
			}
			e.content = append(e.content, n)
		}
		return e
	}
	return rapid.Custom(func(t *rapid.T) *element { return draw(t, 4) })
}

func TestInnerXMLRoundTrip(t *testing.T) {
	t.Parallel()
	all := anyTree()
	rapid.Check(t, func(t *rapid.T) {
		e := all.Draw(t, "tree")
		inner, ok := innerXML(e, 1<<30)
		if !ok {
			t.Fatal("too long")
		}
		for _, around := range []string{`<w>%s</w>`, `<w xmlns="u:1" xmlns:a0="u:evil" xmlns:a1="u:evil">%s</w>`} {
			back, err := parseXML(fmt.Appendf(nil, around, inner))
			if err != nil {
				t.Fatalf("%s: %v", inner, err)
			}
			if !reflect.DeepEqual(back.content, e.content) {
				t.Fatalf("%s became %s, written as %s", formatTree(e), formatTree(back), inner)
			}
		}
	})
}
