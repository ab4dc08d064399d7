package freemode_test

import (
	"strings"
	"testing"

	"larder/internal/fault"
	"larder/internal/freemode"
)

// Specification: Free-mode endpoints. Abuse cases C1 to C17.
func TestParseKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ name, parent string }{
		"a": {"a", "/"}, "a/b.txt": {"b.txt", "/a"}, "a/b/": {"b", "/a"}, "a/": {"a", "/"}, ".hidden": {".hidden", "/"},
		"a.": {"a.", "/"}, " a ": {" a ", "/"}, "語/é": {"é", "/語"}, "%2e%2e": {"%2e%2e", "/"},
		strings.Repeat("x", 1024): {strings.Repeat("x", 1024), "/"},
	} {
		key, err := freemode.ParseKey(text)
		if err != nil || string(key) != text || key.Name() != want.name || key.Parent() != want.parent ||
			key.Path() != "/"+text {
			t.Errorf("%.20q: %q in %q, %v", text, key.Name(), key.Parent(), err)
		}
	}
	for text, want := range map[string]fault.Kind{
		"": fault.Invalid, strings.Repeat("x", 1025): fault.Invalid, "..": fault.Invalid, "a/../b": fault.Invalid,
		"a..b": fault.Invalid, "~": fault.Invalid, "a~": fault.Invalid, `a\b`: fault.Invalid,
		"a\x00b": fault.Invalid, "a\x1fb": fault.Invalid, "a\x7fb": fault.Invalid, "a\u0085b": fault.Invalid,
		"a\u2028b": fault.Invalid, "a\u202eb": fault.Invalid, "\xff": fault.Invalid, "a//b": fault.Invalid,
		"a/./b": fault.Invalid, ".": fault.Invalid, "./a": fault.Invalid, "a//": fault.Invalid, "/a": fault.Forbidden,
		"/": fault.Forbidden,
	} {
		if key, err := freemode.ParseKey(text); !fault.Is(err, want) {
			t.Errorf("%.20q: %q, %v", text, key, err)
		}
	}
}

func TestParseDir(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]freemode.Dir{
		"": "", "/": "", "//": "", ".": "", "a": "a/", "/a": "a/", "a/": "a/", "/a//./b/": "a/b/",
		strings.Repeat("x", 1023): freemode.Dir(strings.Repeat("x", 1023) + "/"),
	} {
		if dir, err := freemode.ParseDir(text); err != nil || dir != want {
			t.Errorf("%.20q: %.20q, %v", text, dir, err)
		}
	}
	for text, want := range map[string]fault.Kind{
		"..": fault.Forbidden, "a/..": fault.Forbidden, "/../a": fault.Forbidden, "a/../../b": fault.Forbidden,
		"a..b": fault.Invalid, "~a": fault.Invalid, `..\a`: fault.Invalid, "a\nb": fault.Invalid,
		strings.Repeat("x", 1024): fault.Invalid,
	} {
		if dir, err := freemode.ParseDir(text); !fault.Is(err, want) {
			t.Errorf("%.20q: %q, %v", text, dir, err)
		}
	}
	if key, err := freemode.Dir("a/").Child("b"); err != nil || key != "a/b" {
		t.Errorf("%q, %v", key, err)
	}
	if _, err := freemode.Dir(strings.Repeat("x", 1023) + "/").Child("bb"); !fault.Is(err, fault.Invalid) {
		t.Errorf("too long: %v", err)
	}
}

// FuzzParseKey checks that an accepted key is unchanged and stays inside the root.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a/b", "../x", "a//b", "/x", "~", "\xff", "a/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := freemode.ParseKey(text); err == nil {
			for _, segment := range strings.Split(strings.TrimSuffix(string(key), "/"), "/") {
				if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "~\\\x00\n") {
					t.Fatalf("%q is accepted", text)
				}
			}
			if key.Name() == "" || key.Parent()[0] != '/' {
				t.Fatalf("%q: %q in %q", text, key.Name(), key.Parent())
			}
		}
		if dir, err := freemode.ParseDir(text); err == nil && dir != "" {
			if key, err := dir.Child("x"); err == nil && !strings.HasPrefix(string(key), string(dir)) {
				t.Fatalf("%q leads to %q", text, key)
			}
		}
	})
}

// Ports of mail, shells, databases and the like are refused; those of object stores are
// not. Abuse case C64.
func TestPort(t *testing.T) {
	t.Parallel()
	for _, port := range []uint16{
		0, 1, 19, 21, 22, 23, 24, 25, 53, 110, 111, 119, 135, 137, 138, 139, 143, 161, 389, 445, 465, 512, 513, 514,
		587, 631, 636, 873, 993, 995, 1433, 1521, 2049, 2375, 2376, 3306, 3389,
		5432, 5900, 6379, 9200, 11211, 27017,
	} {
		if freemode.PortAllowed(port) {
			t.Errorf("%d may be reached", port)
		}
	}
	for _, port := range []uint16{80, 443, 3900, 7070, 7480, 8080, 8333, 8443, 9000, 9001, 10000, 65535} {
		if !freemode.PortAllowed(port) {
			t.Errorf("%d may not be reached", port)
		}
	}
}
