package webdav

import (
	"slices"
	"strings"
	"testing"

	"larder/internal/fault"
)

func TestParsePropfind(t *testing.T) {
	t.Parallel()
	const box = "http://ns.example.com/boxschema/"
	for name, c := range map[string]struct {
		in    string
		kind  propfindKind
		props []qname
	}{
		"no body": {"", allprop, nil},
		"named properties (9.1.3)": {
			`<?xml version="1.0" encoding="utf-8" ?><D:propfind xmlns:D="DAV:"><D:prop xmlns:R="` + box + `">
			<R:bigbox/><R:author/><R:DingALing/><R:Random/></D:prop></D:propfind>`,
			prop, []qname{{box, "bigbox"}, {box, "author"}, {box, "DingALing"}, {box, "Random"}},
		},
		"names (9.1.4)": {`<propfind xmlns="DAV:"><propname/></propfind>`, propname, nil},
		"all (9.1.5)":   {`<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`, allprop, nil},
		"all and included (9.1.6)": {
			`<D:propfind xmlns:D="DAV:"><D:allprop/><D:include><D:supported-live-property-set/><D:supported-report-set/></D:include></D:propfind>`,
			allprop, []qname{davName("supported-live-property-set"), davName("supported-report-set")},
		},
		"included before all": {`<propfind xmlns="DAV:"><include><a/></include><allprop/></propfind>`, allprop,
			[]qname{davName("a")}},
		"an empty include": {`<propfind xmlns="DAV:"><allprop/><include/></propfind>`, allprop, nil},
		"duplicates": {
			`<propfind xmlns="DAV:"><prop><b/><a/><b/><b xmlns=""/><a>x</a></prop></propfind>`,
			prop, []qname{davName("b"), davName("a"), {"", "b"}},
		},
		"no property": {`<propfind xmlns="DAV:"><prop/></propfind>`, prop, nil},
		"unknown elements (17)": {
			`<propfind xmlns="DAV:"><x/><propname/><y xmlns="u:1"><prop/></y><prop xmlns="u:1"/></propfind>`, propname,
			nil,
		},
		"include beside a prop": {`<propfind xmlns="DAV:"><prop><a/></prop><include><b/></include></propfind>`,
			prop, []qname{davName("a")}},
		"unknown attributes (17)": {`<propfind xmlns="DAV:" a="b"><propname c="d"/></propfind>`, propname, nil},
	} {
		got, err := parsePropfind(mustReadXML(t, c.in))
		if err != nil || got.kind != c.kind || !slices.Equal(got.props, c.props) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParsePropfindRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"another root":                   `<prop xmlns="DAV:"/>`,
		"another namespace":              `<propfind><allprop xmlns="DAV:"/></propfind>`,
		"nothing":                        `<propfind xmlns="DAV:"/>`,
		"unknown elements only":          `<propfind xmlns="DAV:"><expired-props xmlns="u:1"/></propfind>`,
		"include alone":                  `<propfind xmlns="DAV:"><include><a/></include></propfind>`,
		"all and names":                  `<propfind xmlns="DAV:"><propname/><allprop/></propfind>`,
		"all and some":                   `<propfind xmlns="DAV:"><allprop/><prop><a/></prop></propfind>`,
		"two lists":                      `<propfind xmlns="DAV:"><prop><a/></prop><prop><b/></prop></propfind>`,
		"all twice":                      `<propfind xmlns="DAV:"><allprop/><allprop/></propfind>`,
		"allprop inside another element": `<propfind xmlns="DAV:"><x><allprop/></x></propfind>`,
		"a prop of another namespace":    `<propfind xmlns="DAV:"><prop xmlns=""><a/></prop></propfind>`,
	} {
		if got, err := parsePropfind(mustReadXML(t, in)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParsePropertyUpdate(t *testing.T) {
	t.Parallel()
	const z = "http://ns.example.com/standards/z39.50/"
	for name, c := range map[string]struct {
		in   string
		want []propUpdate
	}{
		"set and remove (9.2.2)": {
			`<?xml version="1.0" encoding="utf-8" ?>
			<D:propertyupdate xmlns:D="DAV:" xmlns:Z="` + z + `"><D:set><D:prop>
			<Z:Authors><Z:Author>Jim Whitehead</Z:Author><Z:Author>Roy Fielding</Z:Author></Z:Authors>
			</D:prop></D:set><D:remove><D:prop><Z:Copyright-Owner/></D:prop></D:remove></D:propertyupdate>`,
			[]propUpdate{
				{name: qname{z, "Authors"}, value: `<Author xmlns="` + z + `">Jim Whitehead</Author><Author xmlns="` +
					z + `">Roy Fielding</Author>`},
				{name: qname{z, "Copyright-Owner"}, remove: true},
			},
		},
		"in document order": {
			`<propertyupdate xmlns="DAV:"><remove><prop><a/></prop></remove><set><prop><a>1</a><b>2</b></prop></set>
			<remove><prop><b/></prop></remove></propertyupdate>`,
			[]propUpdate{{name: davName("a"), remove: true}, {name: davName("a"), value: "1"},
				{name: davName("b"), value: "2"}, {name: davName("b"), remove: true}},
		},
		"no namespace": {
			`<propertyupdate xmlns="DAV:"><set><prop><a xmlns="">x</a></prop></set></propertyupdate>`,
			[]propUpdate{{name: qname{"", "a"}, value: "x"}},
		},
		"the value of a removed property is ignored": {
			`<propertyupdate xmlns="DAV:"><remove><prop><a xml:lang="de">x</a></prop></remove></propertyupdate>`,
			[]propUpdate{{name: davName("a"), remove: true}},
		},
		"no property": {`<propertyupdate xmlns="DAV:"><set><prop/></set></propertyupdate>`, nil},
		"unknown elements (17)": {
			`<propertyupdate xmlns="DAV:"><x><set/></x><set><y/><prop><a/></prop></set></propertyupdate>`,
			[]propUpdate{{name: davName("a")}},
		},
		"language (4.3)": {
			`<propertyupdate xmlns="DAV:" xml:lang="en"><set><prop><a/></prop></set><set xml:lang="fr"><prop><b/></prop></set>
			<set xml:lang="fr"><prop xml:lang="it"><c/>
			<d xml:lang="de"><e xml:lang="ja"/></d><f xml:lang=""/><g lang="x"/></prop></set></propertyupdate>`,
			[]propUpdate{
				{name: davName("a"), lang: "en"}, {name: davName("b"), lang: "fr"}, {name: davName("c"), lang: "it"},
				{name: davName("d"), lang: "de", value: `<e xmlns="DAV:" xml:lang="ja"/>`}, {name: davName("f")},
				{name: davName("g"), lang: "it"},
			},
		},
	} {
		got, err := parsePropertyUpdate(mustReadXML(t, c.in))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParsePropertyUpdateRefuses(t *testing.T) {
	t.Parallel()
	set := func(s string) string {
		return `<propertyupdate xmlns="DAV:"><set><prop>` + s + `</prop></set></propertyupdate>`
	}
	for name, c := range map[string]struct {
		in   string
		want fault.Kind
	}{
		"no body":      {``, fault.Invalid},
		"another root": {`<propfind xmlns="DAV:"><set><prop><a/></prop></set></propfind>`, fault.Invalid},
		"another namespace": {`<propertyupdate><set xmlns="DAV:"><prop><a/></prop></set></propertyupdate>`,
			fault.Invalid},
		"nothing": {`<propertyupdate xmlns="DAV:"/>`, fault.Invalid},
		"unknown elements only": {`<propertyupdate xmlns="DAV:"><set xmlns="u:1"><prop/></set></propertyupdate>`,
			fault.Invalid},
		"a set without a prop": {`<propertyupdate xmlns="DAV:"><set/></propertyupdate>`, fault.Invalid},
		"a remove without a prop": {
			`<propertyupdate xmlns="DAV:"><set><prop><a/></prop></set><remove><a/></remove></propertyupdate>`,
			fault.Invalid},
		"a long language": {set(`<a xml:lang="` + strings.Repeat("x", 101) + `"/>`), fault.Invalid},
		"a value that grows beyond the limit": { // each of 300 elements declares its namespace of 1000 bytes
			set(`<x:a xmlns:x="u:1" xmlns:y="` + strings.Repeat("y", 1000) + `">` + strings.Repeat(`<y:b/>`, 300) +
				`</x:a>`), fault.TooLarge,
		},
		"values that grow beyond the limit together": {
			`<propertyupdate xmlns="DAV:" xmlns:y="` + strings.Repeat("y", 1000) + `"><set><prop>` +
				strings.Repeat(`<a><y:b/></a>`, 300) + `</prop></set></propertyupdate>`, fault.TooLarge,
		},
	} {
		if got, err := parsePropertyUpdate(mustReadXML(t, c.in)); !fault.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestEscapedBodyOfMaximalSize(t *testing.T) {
	t.Parallel()
	const before, after = `<propertyupdate xmlns="DAV:"><set><prop><a><![CDATA[`, `]]></a></prop></set></propertyupdate>`
	e := mustReadXML(t, before+strings.Repeat("<", 65536-len(before+after))+after)
	if got, err := parsePropertyUpdate(e); err != nil || len(got) != 1 {
		t.Errorf("%d updates, %v", len(got), err)
	}
}

func TestParseLockInfo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want lockInfo
	}{
		"exclusive (9.10.7)": {
			`<?xml version="1.0" encoding="utf-8" ?><D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>
			<D:locktype><D:write/></D:locktype><D:owner>
			<D:href>http://example.org/~ejw/contact.html</D:href></D:owner></D:lockinfo>`,
			lockInfo{true, "\n\t\t\t" + `<href xmlns="DAV:">http://example.org/~ejw/contact.html</href>`},
		},
		"shared, another order": {
			`<lockinfo xmlns="DAV:"><owner>Jim</owner><locktype><write/></locktype><lockscope><shared/></lockscope></lockinfo>`, lockInfo{false, "Jim"},
		},
		"no owner": {
			`<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`,
			lockInfo{exclusive: true}},
		"an empty owner": {
			`<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner/></lockinfo>`, lockInfo{exclusive: true},
		},
		"unknown elements (17)": {
			`<lockinfo xmlns="DAV:"><x/><lockscope><y/><exclusive/><shared xmlns=""/></lockscope><locktype><write/><z/></locktype></lockinfo>`,
			lockInfo{exclusive: true},
		},
	} {
		got, err := parseLockInfo(mustReadXML(t, c.in))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseLockInfoRefuses(t *testing.T) {
	t.Parallel()
	const scope, kind = `<lockscope><exclusive/></lockscope>`, `<locktype><write/></locktype>`
	for name, inside := range map[string]string{
		"nothing":                              ``,
		"no scope":                             kind,
		"no type":                              scope,
		"an empty scope":                       `<lockscope/>` + kind,
		"an empty type":                        scope + `<locktype/>`,
		"both scopes":                          `<lockscope><exclusive/><shared/></lockscope>` + kind,
		"a scope twice":                        `<lockscope><shared/><shared/></lockscope>` + kind,
		"two scopes":                           `<lockscope><shared/></lockscope><lockscope><x/></lockscope>` + kind,
		"an unknown scope":                     `<lockscope><local/></lockscope>` + kind,
		"exclusive of another namespace":       `<lockscope><exclusive xmlns=""/></lockscope>` + kind,
		"an unknown type":                      scope + `<locktype><read/></locktype>`,
		"two owners":                           scope + kind + `<owner/><owner/>`,
		"a long owner":                         scope + kind + `<owner>` + strings.Repeat("x", 4097) + `</owner>`,
		"an owner that grows beyond the limit": scope + kind + `<owner>` + strings.Repeat("&lt;", 1025) + `</owner>`,
	} {
		if got, err := parseLockInfo(mustReadXML(t, `<lockinfo xmlns="DAV:">`+inside+`</lockinfo>`)); !fault.Is(err,
			fault.Invalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, in := range []string{``, `<propfind xmlns="DAV:">` + scope + kind + `</propfind>`, `<lockinfo/>`} {
		if got, err := parseLockInfo(mustReadXML(t, in)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	long := strings.Repeat("x", 4096)
	if got, err := parseLockInfo(mustReadXML(t,
		`<lockinfo xmlns="DAV:">`+scope+kind+`<owner>`+long+`</owner></lockinfo>`)); err != nil || got.owner != long {
		t.Errorf("an owner of 4096 bytes: %v", err)
	}
}
