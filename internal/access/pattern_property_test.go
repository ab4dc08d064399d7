package access_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"larder/internal/access"
	"larder/internal/vpath"
)

// refMatch matches by trying every reading of the pattern. It takes exponential time and shares
// nothing with the real matcher. Both arguments are "" for the root.
func refMatch(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern == "/**" || strings.HasPrefix(pattern, "/**/"):
		if refMatch(pattern[3:], s) {
			return true
		}
		if s == "" || s[0] != '/' {
			return false
		}
		next := strings.IndexByte(s[1:], '/')
		if next < 0 {
			return refMatch(pattern, "")
		}
		return refMatch(pattern, s[1+next:])
	case strings.HasPrefix(pattern, "**"):
		return refMatch(pattern[2:], s) || s != "" && refMatch(pattern, s[1:])
	case pattern[0] == '*':
		return refMatch(pattern[1:], s) || s != "" && s[0] != '/' && refMatch(pattern, s[1:])
	case s == "":
		return false
	case pattern[0] == '?':
		first, width := utf8.DecodeRuneInString(s)
		// a star may have ended inside a character
		return first != '/' && first != utf8.RuneError && refMatch(pattern[1:], s[width:])
	}
	return pattern[0] == s[0] && refMatch(pattern[1:], s[1:])
}

func refMatchPath(p access.Pattern, path vpath.Path) bool {
	return refMatch(strings.TrimSuffix(p.String(), "/"), strings.TrimSuffix(path.String(), "/"))
}

// Names and pattern segments that have much in common.
var (
	nearbyNames = []string{"a", "b", "é", "è", "aa", "ab", "ba", "aé", "aba", "z"}
	nearbyParts = []string{"a", "b", "é", "*", "*", "?", "**"}
)

func drawPath(maxDepth int) *rapid.Generator[vpath.Path] {
	return rapid.Custom(func(t *rapid.T) vpath.Path {
		names := rapid.SliceOfN(rapid.SampledFrom(nearbyNames), 0, maxDepth).Draw(t, "names")
		return path(t, "/"+strings.Join(names, "/"))
	})
}

func drawPattern(maxDepth int) *rapid.Generator[access.Pattern] {
	segment := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
			return "**"
		}
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(nearbyParts), 1, 3).Draw(t, "parts"), "")
	})
	return rapid.Custom(func(t *rapid.T) access.Pattern {
		return pattern(t, "/"+strings.Join(rapid.SliceOfN(segment, 0, maxDepth).Draw(t, "segments"), "/"))
	})
}

func TestPatternMatchesLikeReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawPattern(5).Draw(t, "pattern"), drawPath(6).Draw(t, "path")
		if got, want := p.Match(s), refMatchPath(p, s); got != want {
			t.Fatalf("%s matches %s: %v, want %v", p, s, got, want)
		}
	})
}

// A pattern that needs several words of states matches like its short form, since both the pattern
// and the path only get the same literal names in front.
func TestLongPatternMatchesLikeShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawPattern(4).Draw(t, "pattern"), drawPath(5).Draw(t, "path")
		long := strings.Repeat("/long", rapid.IntRange(1, 40).Draw(t, "levels"))
		wild := rapid.SampledFrom([]string{"/long", "/l?ng", "/*"}).Draw(t, "first")
		lp, ls := pattern(t, wild+long+p.String()), path(t, "/long"+long+s.String())
		if got, want := lp.Match(ls), refMatchPath(p, s); got != want {
			t.Fatalf("%s matches %s: %v, want %v", lp, ls, got, want)
		}
		if got, want := lp.MayMatchWithin(ls), p.MayMatchWithin(s); got != want {
			t.Fatalf("%s may match within %s: %v, want %v", lp, ls, got, want)
		}
	})
}

// allPaths returns root and every path of these names below it, down to a number of levels.
func allPaths(root vpath.Path, names []string, levels int) []vpath.Path {
	out := []vpath.Path{root}
	if levels > 0 {
		for _, name := range names {
			out = append(out, allPaths(root.Child(vpath.Name(name)), names, levels-1)...)
		}
	}
	return out
}

func TestPatternWithinAgreesWithEveryPath(t *testing.T) {
	t.Parallel()
	var names []string // every name of up to three of these characters
	for _, p := range allPaths(vpath.Root, []string{"a", "b", "é"}, 3)[1:] {
		names = append(names, strings.ReplaceAll(p.String()[1:], "/", ""))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(2).Draw(t, "pattern")
		root := path(t, "/"+rapid.SampledFrom(names).Draw(t, "root"))
		below := allPaths(root, names, 2)
		matches := func(s vpath.Path) bool { return p.Match(s) }
		if got, want := p.MayMatchWithin(root), slices.ContainsFunc(below, matches); got != want {
			t.Fatalf("%s may match within %s: %v, want %v", p, root, got, want)
		}
		every := !slices.ContainsFunc(below, func(s vpath.Path) bool { return !p.Match(s) })
		if p.CoversTree(root) && !every {
			t.Fatalf("%s does not cover all within %s", p, root)
		}
		if strings.HasSuffix(p.String(), "**") && !p.CoversTree(root) && every {
			t.Fatalf("%s covers all within %s", p, root)
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"/public/**", "/public/a"},
		{"/**/*.jpg", "/a/b.jpg"},
		{"/a?é**b/*", "/aéé/b/c"},
		{"/***/[", "/"},
		{"/\u0958*", "/\u0915\u093cx"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, in, at string) {
		p, err := access.ParsePattern(in)
		if err != nil {
			return
		}
		again, err := access.ParsePattern(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q is parsed as %q, and that as %q, %v", in, p, again, err)
		}
		s, err := vpath.Parse(at)
		if err != nil {
			return
		}
		matched := p.Match(s)
		if len(in)+len(at) < 24 && matched != refMatchPath(p, s) {
			t.Fatalf("%q matches %q: %v", p, s, matched)
		}
		if matched && (!p.MayMatchWithin(s) || !p.MayMatchWithin(vpath.Root) || !p.MayMatchWithin(s.Parent())) {
			t.Fatalf("%q matches %q and does not match within", p, s)
		}
		if p.CoversTree(s.Parent()) && !matched {
			t.Fatalf("%q covers the folder of %q and does not match it", p, s)
		}
	})
}
