package vpath_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"larder/internal/fault"
	"larder/internal/vpath"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		// abuse case C12
		"/": "/", "//": "/", "/.": "/", "/a": "/a", "/a/": "/a", "//a///b/": "/a/b", "/./a/./b": "/a/b",
		"/a..b.txt": "/a..b.txt", "/...": "/...", "/a.": "/a.", "/CON/aux.png": "/CON/aux.png", // C9, C10, C14
		"/%2e%2e":           "/%2e%2e",           // C3: nothing is decoded here
		"/e\u0301":          "/\u00e9",           // C7: NFC
		"/a?b#c;d%20&+.png": "/a?b#c;d%20&+.png", // C13
	} {
		p, err := vpath.Parse(in)
		if err != nil || p.String() != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", in, p, err, want)
		}
	}
}

// Abuse cases C1, C4, C5, C6, C9, C11.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "a", "a/b", "/..", "/a/../b", "/a/..", "/a\\b", "/a\x00b", "/a\x01", "/a\x1f", "/a\x7f", "/a\u0080",
		"/a\u009f", "/\u2028", "/\u2029",
		"/a\u202a", "/a\u202eb", "/\u2066a", "/\u2069a", "/\xff", "/\xc0\xae\xc0\xae", "/\xed\xa0\x80", "/ a", "/a ",
		"/ ", "/\ta", "/a/\u3000",
		"/" + strings.Repeat("猫", 256),
		strings.Repeat("/a", 65),
		"/" + strings.Repeat(strings.Repeat("b", 200)+"/", 21),
	} {
		if p, err := vpath.Parse(in); !fault.Is(err, fault.Invalid) {
			t.Errorf("Parse(%q) = %q, %v, want a fault", in, p, err)
		}
	}
}

func TestLimitsAtTheirEdge(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("猫", 255) // 765 bytes
	full := strings.Repeat("/"+strings.Repeat("b", 255), 16)
	for name, in := range map[string]string{"255 characters": long, "64 levels": strings.Repeat("/a", 64),
		"4096 bytes": full} {
		if p, err := vpath.Parse(in); err != nil || p.String() != in {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(full) != 4096 {
		t.Fatalf("the path of 4096 bytes has %d", len(full))
	}
	if _, err := vpath.Parse(full[:len(full)-1] + "猫"); !fault.Is(err, fault.Invalid) {
		t.Errorf("4098 bytes: %v", err)
	}
	// Combining marks that NFC merges into their letters do not count.
	if _, err := vpath.ParseName(strings.Repeat("e\u0301", 255)); err != nil {
		t.Errorf("255 letters with marks: %v", err)
	}
}

func TestWithinComparesSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, root string
		want       bool
	}{
		{"/", "/", true}, {"/a", "/", true}, {"/a", "/a", true}, {"/a/b", "/a", true}, {"/", "/a", false},
		// abuse cases C8, C15
		{"/ab", "/a", false}, {"/a_b", "/a", false}, {"/uploads-evil/x", "/uploads", false}, {"/A", "/a", false},
	} {
		if got := parse(t, c.path).Within(parse(t, c.root)); got != c.want {
			t.Errorf("%s within %s: %v", c.path, c.root, got)
		}
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		// abuse case C21
		"/api": true, "/API/x": true, "/webdav": true, "/Share/a": true, "/app": true, "/Robots.txt": true,
		"/favicon.ico": true,
		"/":            false, "/apis": false, "/x/api": false, "/.well-known": false,
	} {
		if got := parse(t, in).Reserved(); got != want {
			t.Errorf("%s reserved: %v", in, got)
		}
	}
}

func parse(t *testing.T, s string) vpath.Path {
	t.Helper()
	p, err := vpath.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNamesBaseAndParentAgree(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_.猫é-]{1,8}`).Filter(func(s string) bool {
		return s != "." && s != ".."
	}), 0, 10)
	rapid.Check(t, func(t *rapid.T) {
		segments := names.Draw(t, "segments")
		p, err := vpath.FromSegments(segments)
		if err != nil {
			t.Fatal(err)
		}
		if p.Depth() != len(segments) || len(p.Names()) != len(segments) || p.IsRoot() != (len(segments) == 0) {
			t.Fatalf("%q has depth %d", p, p.Depth())
		}
		if !p.IsRoot() {
			if back := p.Parent().Child(p.Base()); back != p {
				t.Fatalf("%q became %q", p, back)
			}
			below, within := p.RelativeTo(p.Parent())
			if !within || len(below) != 1 || below[0] != p.Base() {
				t.Fatalf("%q below its parent: %q", p, below)
			}
		}
		again, err := vpath.Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%q parsed again is %q: %v", p, again, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/../x", "/a//b", "/e\u0301/ ", "/\u202e", "/%2e%2e/x",
		strings.Repeat("/a", 65)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := vpath.Parse(in)
		if err != nil {
			return
		}
		s := p.String()
		if !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) || len(s) > vpath.MaxBytes ||
			p.Depth() > vpath.MaxDepth || s[0] != '/' {
			t.Fatalf("%q became the unclean %q", in, s)
		}
		for _, name := range p.Names() {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(string(name), "/\\\x00") {
				t.Fatalf("%q holds the name %q", in, name)
			}
		}
		if again, err := vpath.Parse(s); err != nil || again != p {
			t.Fatalf("%q parsed again is %q: %v", s, again, err)
		}
	})
}
