package webdav

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"larder/internal/fault"
)

func TestParseIf(t *testing.T) {
	t.Parallel()
	const uuid = "urn:uuid:181d4fae-7d8c-11d0-a765-00a0c91e6bf2"
	token := func(s string) condition { return condition{token: s} }
	etag := func(s string) condition { return condition{etag: s} }
	for name, c := range map[string]struct {
		in   string
		want []ifList
	}{
		"none": {"", nil},
		"untagged (10.4.6)": {
			`(<` + uuid + `> ["I am an ETag"]) (["I am another ETag"])`,
			[]ifList{{"", []condition{token(uuid), etag(`"I am an ETag"`)}},
				{"", []condition{etag(`"I am another ETag"`)}}},
		},
		"Not (10.4.7)": {
			`(Not <` + uuid + `> <urn:uuid:58f202ac-22cf-11d1-b12d-002035b29092>)`,
			[]ifList{{"", []condition{{not: true, token: uuid},
				token("urn:uuid:58f202ac-22cf-11d1-b12d-002035b29092")}}},
		},
		"a condition that always holds (10.4.8)": {
			`(<` + uuid + `>) (Not <DAV:no-lock>)`,
			[]ifList{{"", []condition{token(uuid)}}, {"", []condition{{not: true, token: "DAV:no-lock"}}}},
		},
		"tagged (10.4.9)": {
			`</resource1> (<` + uuid + `> [W/"A weak ETag"]) (["strong ETag"])`,
			[]ifList{{"/resource1", []condition{token(uuid), etag(`W/"A weak ETag"`)}},
				{"/resource1", []condition{etag(`"strong ETag"`)}}},
		},
		"a folder (10.4.10)": {
			`<http://www.example.com/specs/> (<` + uuid + `>)`,
			[]ifList{{"http://www.example.com/specs/", []condition{token(uuid)}}},
		},
		"an entity tag of another (10.4.11)": {`</specs/rfc2518.doc> (["4217"])`,
			[]ifList{{"/specs/rfc2518.doc", []condition{etag(`"4217"`)}}}},
		"not that entity tag (10.4.11)": {`</specs/rfc2518.doc> (Not ["4217"])`,
			[]ifList{{"/specs/rfc2518.doc", []condition{{not: true, etag: `"4217"`}}}}},
		"two tags": {
			`</a> (<u:1>) (<u:2>) <http://h/b?c> (<u:3>)`,
			[]ifList{{"/a", []condition{token("u:1")}}, {"/a", []condition{token("u:2")}},
				{"http://h/b?c", []condition{token("u:3")}}},
		},
		"no white space": {`(Not<u:1>["a"]not["b"]NOT<u:2>)(<u:3>)`, []ifList{
			{"", []condition{{not: true, token: "u:1"}, etag(`"a"`), {not: true, etag: `"b"`},
				{not: true, token: "u:2"}}}, {"", []condition{token("u:3")}},
		}},
		"all white space": {" \t( \tNot \t<u:1> \t[\"\"] \t) \t",
			[]ifList{{"", []condition{{not: true, token: "u:1"}, etag(`""`)}}}},
		"brackets in a tag":    {`(["a)]>("])`, []ifList{{"", []condition{etag(`"a)]>("`)}}}},
		"escapes and brackets": {`</a(b)%20[c]> (<u:(x)>)`, []ifList{{"/a(b)%20[c]", []condition{token("u:(x)")}}}},
		"letters of all kinds": {`</ä> (["ä"])`, []ifList{{"/ä", []condition{etag(`"ä"`)}}}},
	} {
		got, err := parseIf(c.in)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseIfRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		" ", "x", "()", "( )", "(", ")", "(<u:1>", "(<u:1", "<u:1>", "u:1", `"a"`, `["a"]`, "(u:1)", `("a")`,
		"(<u:1>))", "((<u:1>))", "(<u:1>) x", "(<u:1>),(<u:2>)",
		"(Not)", "(Not Not <u:1>)", "Not (<u:1>)", "(<u:1> Not)", "(No <u:1>)", "(Nothing <u:1>)",
		"(<>)", "(<a>)", "(<a/b>)", "(</a>)", "(<:a>)", "(<1:a>)", "(<u:a b>)", "(< u:1>)", "(<u:1 >)", "(<u:<1>)",
		"(<u:\"1>)", "(<u:\x001>)", "(<ü:1>)",
		"([])", "([a])", `(["a)`, `(["a"`, `(["a])`, `([ "a"])`, `(["a" ])`, `(["a""b"])`, `(["a"x)`, `([w/"a"])`,
		`([W/a])`, `([W/ "a"])`, "([\"\x01\"])", "([\"\x7f\"])", "([*])",
		"</a>", "</a> <b:c>", "</a> </b> (<u:1>)", "</a> (<u:1>) </b>", "<a> (<u:1>)", "<> (<u:1>)", "</a b> (<u:1>)",
		"< /a> (<u:1>)", "</a (<u:1>)",
		"(<u:1>) </a> (<u:2>)", "</a> ()", "</a> (<u:1>) ()",
	} {
		if got, err := parseIf(in); !fault.Is(err, fault.Invalid) || got != nil {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func TestParseIfLimits(t *testing.T) {
	t.Parallel()
	long := func(size int) string { return "(<u:" + strings.Repeat("1", size-6) + ">)" }
	for name, in := range map[string]string{
		"64 lists": strings.Repeat("(<u:1>)", 64), "256 conditions": "(" + strings.Repeat("<u:1>", 256) + ")",
		"256 conditions in 64 lists": strings.Repeat("(<u:1><u:1><u:1><u:1>)", 64), "16 KiB": long(16384),
	} {
		if _, err := parseIf(in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]string{
		"65 lists": strings.Repeat("(<u:1>)", 65), "257 conditions": "(" + strings.Repeat("<u:1>", 257) + ")",
		"257 conditions in 2 lists": "(" + strings.Repeat("<u:1>", 256) + ")(<u:1>)", "16 KiB and a byte": long(16385),
	} {
		if got, err := parseIf(in); !fault.Is(err, fault.Invalid) || got != nil {
			t.Errorf("%s: %d lists, %v", name, len(got), err)
		}
	}
}

func ifLists(t *testing.T, header string) []ifList {
	t.Helper()
	lists, err := parseIf(header)
	if err != nil {
		t.Fatal(err)
	}
	return lists
}

func TestSubmitted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"": nil, `(["a"])`: nil, "(Not <DAV:no-lock>)": {"DAV:no-lock"},
		"(<u:1>)": {"u:1"}, "(<u:2>) (<u:1> <u:2>)": {"u:2", "u:1"},
		`</a> (<u:1> Not <u:2> ["x"]) </b> (<u:3>)`: {"u:1", "u:2", "u:3"},
		"(Not <u:1>) (<u:1>)":                       {"u:1"},
	} {
		if got := submittedTokens(ifLists(t, in)); !slices.Equal(got, want) {
			t.Errorf("%s submits %q, want %q", in, got, want)
		}
	}
}

// RFC 4918 section 10.4.3: the header holds when all conditions of any list hold.
func TestHolds(t *testing.T) {
	t.Parallel()
	states := map[string]bool{" u:1": true, ` "a"`: true, "/b u:2": true} // resource and state
	for in, want := range map[string]bool{
		"": true, "(<u:1>)": true, "(<u:2>)": false, "(Not <u:1>)": false, "(Not <u:2>)": true,
		`(<u:1> ["a"])`: true, `(<u:1> ["b"])`: false, `(<u:1> Not ["b"])`: true, `(Not <u:1> ["a"])`: false,
		`(<u:2>) (["b"])`: false, `(<u:2>) (["a"])`: true, `(["a"]) (<u:2>)`: true, "(<u:2>) (Not <DAV:no-lock>)": true,
		"</b> (<u:2>)": true, "</b> (<u:1>)": false, "</c> (<u:2>)": false, "</c> (<u:2>) </b> (<u:2>)": true,
	} {
		if got := anyListHolds(ifLists(t, in),
			func(resource string, c condition) bool { return states[resource+" "+c.token+c.etag] }); got != want {
			t.Errorf("%s holds: %v", in, got)
		}
	}
}

func FuzzIf(f *testing.F) {
	for _, seed := range []string{
		"", `(<urn:uuid:1> ["a"]) (Not [W/"b"])`, `</a> (<u:1>) <http://h/b> (Not <DAV:no-lock>)`, "(", "()", `(["a)])`,
		"(Not Not <u:1>)", "</a>(<u:1>)(<u:2>)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		lists, err := parseIf(header)
		if err != nil {
			if !fault.Is(err, fault.Invalid) || lists != nil {
				t.Fatalf("%q: %+v, %v", header, lists, err)
			}
			return
		}
		conditions := 0
		for _, list := range lists {
			if len(list.conditions) == 0 || (list.resource == "") != (lists[0].resource == "") ||
				!strings.Contains(header, list.resource) {
				t.Fatalf("%q holds the list %+v", header, list)
			}
			for _, c := range list.conditions {
				if (c.token == "") == (c.etag == "") || !strings.Contains(header, c.token+c.etag) {
					t.Fatalf("%q holds the condition %+v", header, c)
				}
			}
			conditions += len(list.conditions)
		}
		if (len(lists) == 0) != (header == "") || len(lists) > maxLists || conditions > maxConditions {
			t.Fatalf("%q holds %d lists and %d conditions", header, len(lists), conditions)
		}
		submittedTokens(lists)
		anyListHolds(lists, func(string, condition) bool { return false })
	})
}
