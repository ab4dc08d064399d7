package access_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

func path(t interface{ Fatalf(string, ...any) }, s string) vpath.Path {
	p, err := vpath.Parse(s)
	if err != nil {
		t.Fatalf("vpath.Parse(%q): %v", s, err)
	}
	return p
}

func pattern(t interface{ Fatalf(string, ...any) }, s string) access.Pattern {
	p, err := access.ParsePattern(s)
	if err != nil {
		t.Fatalf("ParsePattern(%q): %v", s, err)
	}
	return p
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/":               "/",
		"//":              "/",
		"/a":              "/a",
		"//a///b/":        "/a/b", // abuse case C12: other spellings of the same path
		"/a/**/**/b":      "/a/**/b",
		"/a/*****":        "/a/**",
		"/a***b":          "/a**b",
		"/{a}]~#;%20.b..": "/{a}]~#;%20.b..",
		"/e\u0301/*":      "/\u00e9/*", // abuse case C7: a rule in NFD applies to the NFC name
		"/...":            "/...",
	} {
		p, err := access.ParsePattern(in)
		if err != nil || p.String() != want {
			t.Errorf("ParsePattern(%q) = %q, %v; want %q", in, p, err, want)
		}
	}
}

// Abuse cases C1, C4, C5, C6, C9, C11 and C33 with a pattern as the input.
func TestParsePatternRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"empty":                       "",
		"no leading slash":            "public/**",
		"only stars":                  "**",
		"dot dot":                     "/a/../b",
		"dot dot at the end":          "/a/..",
		"dot":                         "/a/./b",
		"bracket":                     "/[ab]",
		"opening bracket alone":       "/[",
		"backslash":                   `/a\*`,
		"NUL":                         "/a\x00",
		"control":                     "/a\x1f*",
		"delete":                      "/a\x7f",
		"C1 control":                  "/a\u0085",
		"line separator":              "/a\u2028",
		"text direction":              "/a\u202e*",
		"text direction isolate":      "/a\u2066*",
		"not UTF-8":                   "/a\xff",
		"overlong":                    "/\xc0\xae\xc0\xae",
		"trailing space":              "/a /*",
		"leading space":               "/ a*",
		"name of 256 characters":      "/" + strings.Repeat("字", 256),
		"65 levels":                   strings.Repeat("/a", 65),
		"4097 bytes":                  "/" + strings.Repeat("*a", 2048),
		"longer after normalising":    "/*" + strings.Repeat("\u0958", 1300), // 3 bytes, 6 in NFC
		"4097 bytes that would clean": strings.Repeat("/", 4096) + "a",
	} {
		if p, err := access.ParsePattern(in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: ParsePattern(%.40q) = %.40q, %v; want an Invalid fault", name, in, p, err)
		}
	}
}

func TestPatternMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no string // lists of paths
	}{
		{"/", "/", "/a /a/b"},
		{"/a", "/a", "/ /A /aa /a/b /b/a"},
		{"/**", "/ /a /a/b/c", ""},
		{"/*", "/a /abc", "/ /a/b"},
		{"/?", "/a /é /字 /😀", "/ /ab /a/b"},
		{"/??", "/ab /字é", "/a /字 /abc /a/b"},
		{"/public/*", "/public/a", "/public /public/a/b /publicity"},                        // abuse case C33
		{"/public/**", "/public /public/a /public/a/b", "/publicity /publi /x/public /pub"}, // abuse case C33
		{"/public**", "/public /publicity /public/a/b", "/publi"},
		{"/a*", "/a /ab /abc", "/ /b /a/b /ab/c"},
		{"/*.jpg", "/.jpg /x.jpg /a.jpg.jpg", "/x.jpeg /a/x.jpg /jpg"},
		{"/**/*.jpg", "/x.jpg /a/x.jpg /a/b/x.jpg", "/a/x.jpg/b /x.png"},
		{"/a/**/b", "/a/b /a/x/b /a/x/y/b /a/b/b", "/a /b /ab /a/xb /a/b/c /axb"},
		{"/**/b", "/b /a/b /a/a/b", "/ /ab /a/ab /b/a"},
		{"/**/b/**", "/b /a/b /b/c /a/b/c/d", "/ /a /ab /bc /a/bc"},
		{"/a/*/c", "/a/b/c /a/bb/c", "/a/c /a/b/b/c"},
		{"/a/*/**", "/a/b /a/b/c", "/a"},
		{"/a/**/*", "/a/b /a/b/c", "/a"},
		{"/a**b", "/ab /axb /a/b /a/x/b /ax/yb", "/a /b /abc"},
		{"/a/**b", "/a/b /a/xb /a/x/yb", "/a /ab /a/bc"},
		{"/a*b*c", "/abc /axbxc /abbcc", "/acb /ab /a/bc /ab/c"},
		{"/é?", "/éa /éé", "/é /ea /éaa"},
		{"/{a,b}]", "/{a,b}]", "/a /b /a]"},
		{"/*é", "/é /aé /éé", "/e /éa /è"}, // é and è have the same first byte
		{"/" + strings.Repeat("long/", 20) + "*/x/**",
			"/" + strings.Repeat("long/", 20) + "y/x /" + strings.Repeat("long/", 20) + "y/x/z", "/long/y/x"},
	} {
		p := pattern(t, c.pattern)
		for _, s := range strings.Fields(c.yes) {
			if !p.Match(path(t, s)) {
				t.Errorf("%s does not match %s", c.pattern, s)
			}
		}
		for _, s := range strings.Fields(c.no) {
			if p.Match(path(t, s)) {
				t.Errorf("%s matches %s", c.pattern, s)
			}
		}
	}
}

// Abuse case C7: a rule in NFC matches a path that was requested in NFD.
func TestPatternMatchNormalised(t *testing.T) {
	t.Parallel()
	if !pattern(t, "/caf\u00e9/**").Match(path(t, "/cafe\u0301/x")) {
		t.Error("the NFC pattern does not match the NFD path")
	}
}

func TestZeroPattern(t *testing.T) {
	t.Parallel()
	var p access.Pattern
	if p.String() != "/" || !p.Match(vpath.Root) || p.Match(path(t, "/a")) || !p.MayMatchWithin(vpath.Root) ||
		p.CoversTree(vpath.Root) ||
		p.MayMatchWithin(path(t, "/a")) {
		t.Error("the zero pattern is not the root alone")
	}
}

func TestPatternWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		folder  string
		may     bool
		covers  bool
	}{
		{"/a/**", "/", true, false},
		{"/a/**", "/a", true, true},
		{"/a/**", "/a/b", true, true},
		{"/a/**", "/ab", false, false},
		{"/**", "/", true, true},
		{"/a", "/", true, false},
		{"/a", "/a", true, false},
		{"/a", "/a/b", false, false},
		{"/a/*", "/a", true, false},
		{"/a/?*", "/a", true, false},
		{"/a/*?", "/a", true, false},
		{"/a/??*", "/a", true, false},
		{"/a/*", "/", true, false},
		{"/a/*/c", "/a/b", true, false},
		{"/a/*/c", "/a", true, false},
		{"/**/c", "/x/y", true, false},
		{"/**/c/**", "/x/c/y", true, true},
		{"/**/c/**", "/x", true, false},
		{"/**/*.jpg", "/x", true, false},
		{"/a/**/*", "/a", true, false}, // everything below, but not the folder
		{"/a/**/*", "/a/b", true, true},
		{"/a/**/*", "/a/b/c/d", true, true},
		{"/a/**/*", "/", true, false},
		{"/a/**/*", "/b", false, false},
		{"/**/*", "/", true, false},
		{"/**/*", "/a", true, true},
		{"/*/**/*", "/a", true, false},
		{"/*/**/*", "/a/b", true, true},
		{"/a*/**/*", "/ab/c", true, true},
		{"/a**/*", "/a/b", true, true},
		{"/a**/*", "/a", true, false},
		{"/**/b/**/*", "/a/b/c", true, true},
		{"/**/b/**/*", "/a/c", true, false},
		{"/a/**/*/*", "/a/b", true, false},
		{"/a/**/*/*", "/a/b/c", true, true},
		{"/a/**/*/*", "/a/b/c/d", true, true},
		{"/a/**/?*", "/a/b", true, false}, // true for the same reason as the pattern above, but not recognised
		{"/a/**/*.jpg", "/a/b.jpg", true, false},
		{"/a/**/*b", "/a/b", true, false},
		{"/a/*/*", "/a/b", true, false},
		{"/a/*/*", "/a/b/c", true, false},
		{"/a**", "/a", true, true},
		{"/a**", "/", true, false},
		{"/a**", "/b", false, false},
		{"/a/b/c*", "/a", true, false},
		{"/", "/", true, false},
	} {
		p, folder := pattern(t, c.pattern), path(t, c.folder)
		if p.MayMatchWithin(folder) != c.may || p.CoversTree(folder) != c.covers {
			t.Errorf("%s in %s: may %v, covers %v; want %v, %v", c.pattern, c.folder,
				p.MayMatchWithin(folder), p.CoversTree(folder), c.may, c.covers)
		}
	}
}

// A machine of several words carries its states from one word to the next, wherever the boundary
// falls in the pattern.
func TestPatternMatchAcrossWords(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 140; n++ {
		name := "/" + strings.Repeat("a", n)
		for _, c := range []struct {
			pattern string
			path    string
			want    bool
		}{
			{"/*/**/b", name + "/b", true},
			{"/*" + name + "/**/b", "/x" + name + "/b", true},
			{"/*" + name + "/**/b", "/x" + name + "/c/b", true},
			{"/*" + name + "/**/b", "/x" + name + "b", false},
			{name + "/**/?/**", name + "/é/x", true},
			{name + "?é*", name + "éé", true},
			{name + "?é*", name + "é", false},
		} {
			if got := pattern(t, c.pattern).Match(path(t, c.path)); got != c.want {
				t.Errorf("%s matches %s: %v, want %v", c.pattern, c.path, got, c.want)
			}
		}
	}
}

// costlyPatterns are pairs of pattern and path that take other matchers very long. The first is
// abuse case C33.
var costlyPatterns = []struct{ name, pattern, path string }{
	{"a thousand stars", "/" + strings.Repeat("*a", 1000) + "*b", strings.Repeat("/"+strings.Repeat("a", 254), 16)},
	{"a thousand double stars", "/" + strings.Repeat("**a", 1000) + "**b",
		strings.Repeat("/"+strings.Repeat("a", 254), 16)},
	{"a thousand segments", strings.Repeat("/*", 1000), strings.Repeat("/"+strings.Repeat("a", 62), 64)},
	{"a run of stars", "/" + strings.Repeat("*", 1000) + "b", strings.Repeat("/"+strings.Repeat("a", 254), 16)},
	{"the longest text", "/**" + strings.Repeat("a", 4092) + "b", strings.Repeat("/"+strings.Repeat("a", 254), 16)},
}

// Abuse case C33: no pattern takes longer than a millisecond, whatever the path. The fastest of
// many runs counts, since the test machine may be busy.
func TestPatternMatchIsLinear(t *testing.T) {
	t.Parallel()
	for _, c := range costlyPatterns {
		p, s, best := pattern(t, c.pattern), path(t, c.path), time.Hour
		for range 100 {
			start := time.Now()
			if p.Match(s) {
				t.Fatalf("%s: matched", c.name)
			}
			best = min(best, time.Since(start))
		}
		if best > timeFactor*time.Millisecond {
			t.Errorf("%s: %v", c.name, best)
		}
	}
}
