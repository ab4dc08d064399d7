package house

import (
	_ "embed"
	"strings"
	"testing"
)

// longLines is a Go file whose only violations are in the lines 5, 6 and 7.
//
//go:embed testdata/width.txt
var longLines string

func TestWidth(t *testing.T) {
	t.Parallel()
	expect(t, Width("a.go", []byte(longLines)), "a.go:5: has 121 columns", "a.go:6: has 136",
		"a.go:7: has 125")

	full := strings.Repeat("a ", 59) + "b" // 119 columns
	quoted := `"` + strings.Repeat("a ", 60) + `"`
	for _, name := range []string{"scripts/run", "web/src/a.ts", "web/src/a.svelte", "e2e/a.mjs"} {
		expect(t, Width(name, []byte(full+"c\n")))
		expect(t, Width(name, []byte(full+"cd\n")), ":1: has 121 columns")
		expect(t, Width(name, []byte("\t"+full[4:]+"c\n")))
		expect(t, Width(name, []byte("\t"+full[3:]+"c\n")), "has 121")
		expect(t, Width(name, []byte("say "+quoted+"\nsay '"+full+"'\nsay `"+full+"`\n")))
		expect(t, Width(name, []byte(full+" "+quoted+"\n")))
		expect(t, Width(name, []byte(full+"c "+quoted+"\n")), "has 243")
	}
}

func TestWidthOfComments(t *testing.T) {
	t.Parallel()
	for begin, name := range map[string]string{"// ": "a.go", "\t// ": "web/src/a.ts", " * ": "web/src/a.svelte",
		"/* ": "e2e/a.mjs", "# ": "scripts/run", "<!-- ": "web/src/a.svelte"} {
		words := strings.Repeat("a ", 50)
		fits := begin + words[:100-columns(begin)]
		expect(t, Width(name, []byte(fits+"\n")))
		expect(t, Width(name, []byte(fits+"b\n")), ":1: has 101 columns of a comment")
		expect(t, Width(name, []byte(begin+"https://"+strings.Repeat("a", 100)+"\n")))
	}
	// code with a comment behind it, and directives
	long := strings.Repeat("a ", 50)
	expect(t, Width("a.go", []byte("f() // "+long+"\n//go:generate "+long+"\n")))
	expect(t, Width("web/src/a.svelte", []byte("<!-- svelte-ignore "+long+"\n")))
}

func TestWidthAppliesToCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.go", "web/src/a.ts", "web/src/A.svelte", "e2e/browser/a.mjs", "scripts/web",
		".ci/run", "a.sh"} {
		if !hasWidth(name) {
			t.Errorf("not to %s", name)
		}
	}
	for _, name := range []string{"README.md", "web/package-lock.json", "a.sql", "tools/house/testdata/width.txt"} {
		if hasWidth(name) {
			t.Errorf("to %s", name)
		}
	}
}
