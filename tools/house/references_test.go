package house

import (
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	tree := Tree{
		Files: []string{"README.md", "docs/security.md", "docs/operate.md", "docs/adr/0005-access-log-apart.md",
			"internal/api/files.go", "web/src/boot.js"},
		Texts: map[string][]byte{"internal/api/files.go": []byte(
			"package api\n\n// lists\nfunc list() {}\nfunc page() {}\n\ntype Page struct{ Size int }\n")},
		Anchors: map[string]map[string]bool{"docs/operate.md": {"the-access-log": true}},
		Cases:   map[int]bool{1: true, 12: true},
	}
	for _, test := range []struct {
		name, path, text string
		want             []string
	}{
		{"cases that exist", "a.go", "package a\n\n// f withstands abuse case C12 (C1 to C12; C1, C12).\nfunc f() {}\n",
			nil},
		{"a case that does not", "a.go", "package a\n\n// Abuse case C2.\nfunc f() {}\n",
			[]string{"a.go:3: names abuse case C2,"}},
		{"a list of cases", "a.go", "package a // C1,C3/C4-C5\n", []string{"C3", "C4", "C5"}},
		{"a case inside of a function", "a.go", "package a\n\nfunc f() {\n\t/* of\n\tC2 */\n}\n", []string{"a.go:5"}},
		{"a case in a document", "docs/security.md", "Larder\nanswers C2.\n", []string{"docs/security.md:2"}},
		{"a case in TypeScript", "a.ts", "const a = \"C3\"; // C4\n/* one\n * C5 */ const b = \"https://C6\";\n",
			[]string{"a.ts:1: names abuse case C4", "a.ts:3: names abuse case C5"}},
		{"a case in Svelte", "a.svelte", "<!-- C4\n-->\n<p>C3</p>\n", []string{"a.svelte:1"}},
		{"a case in SQL", "a.sql", "SELECT 'C2'; -- C3\n", []string{"a.sql:1: names abuse case C3"}},
		{"a case in a script", "scripts/a", "echo C2#C3 # C4\n", []string{"names abuse case C4"}},
		{"escapes, colours and words", "a.go",
			"package a\n\n// %C3%A4 =C3 #C33 &C3 utf_C3 C3x C2024 C0\nconst s = \"C3\"\n", nil},
		{"a block of code", "README.md", "```\nC2\n```\n", nil},

		{"records that exist", "a.go", "package a // ADR 0005, docs/adr/0005 and docs/adr/0005-access-log-apart.md\n",
			nil},
		{"records that do not", "a.go", "package a // ADR 0006, docs/adr/0007\n",
			[]string{"decision record 0006", "decision record 0007"}},
		{"documents that exist", "a.go", "package a // docs/security.md: Who asks. https://example.org/docs/a.md\n",
			nil},
		{"a document that does not", "a.go", "package a // see docs/safety.md.\n",
			[]string{"names docs/safety.md, which does not exist"}},
		{"a document at the root", "a.go", "package a // README.md has it, not SAFETY.md\n",
			[]string{"names SAFETY.md"}},

		{"source files", "README.md",
			"`internal/api/files.go` `api/files.go` `api/f*.go` `web/src/boot.js` `files.go` api/none.go", nil},
		{"source files that do not exist", "README.md", "`api/none.go` `internal/api/n*.go` `src/boot.js`",
			[]string{"api/none.go", "n*.go", "src/boot.js"}},
		{"names in source files", "README.md",
			"`list` in `api/files.go`, then `list`, `page` and `api` in `internal/api/files.go`; `none` there", nil},
		{"names that are not there", "README.md",
			"`lists` in `api/files.go`, then `list`, `pages` and `page` in `api/files.go`",
			[]string{"places lists in api/files.go", "places pages"}},
		{"qualified names", "README.md",
			"`api.Page`, `api.Page.Size`, `api.Page(true)`, `fmt.Print`, `audit.db`", nil},
		{"qualified names that do not exist", "README.md", "`api.Pages`, `api.Page.Length`",
			[]string{"names api.Pages", "names api.Page.Length"}},
		{"links", "docs/security.md",
			"[a](operate.md#the-access-log) [b](../README.md) [c](adr/) [d](https://example.org/x.md#y)", nil},
		{"a link to no document", "docs/security.md", "[a](run.md)", []string{"links to run.md, which does not exist"}},
		{"a link to no heading", "README.md", "[a](docs/operate.md#logs)",
			[]string{"links to #logs, which docs/operate.md does not have"}},

		{"a paper", "a.go", "package a // as the Brief says; DECISI" + "ONS 3\n", []string{`"the Brief"`}},
		{"a decision without a document", "a.go",
			"package a\n\n// decisions: Keys\n// Decisions on start: one\n// f (rule 5; decisions: Keys)\n",
			[]string{"a.go:3", "a.go:4", "a.go:5"}},
		{"decisions in prose", "a.go", "package a // these are two decisions: docs/security.md tells them\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expect(t, References(test.path, []byte(test.text), tree), test.want...)
		})
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("é", 98) + " b"
	expect(t, Columns("a.md", []byte(full+"\n| "+full+" |\n```\n"+full+"c\n```\n  `"+full+"`:\n")))
	expect(t, Columns("a.md", []byte("a\n"+full+"c\n")),
		"a.md:2: has 101 characters in a line of prose; 100 are the most")
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	anchors := Anchors(
		[]byte("# The access log\n## Pages of the site (CORS)\n```\n# no heading\n```\n" +
			"#none\n### Directories (`store_a`)\n"))
	for _, want := range []string{"the-access-log", "pages-of-the-site-cors", "directories-store_a"} {
		if !anchors[want] {
			t.Errorf("there is no anchor %q: %v", want, anchors)
		}
	}
	if len(anchors) != 3 {
		t.Errorf("anchors: %v", anchors)
	}
}

// Tests carry the numbers of cases in comments of their own, on them, and in the names of subtests.
func TestCases(t *testing.T) {
	t.Parallel()
	shown := Shown{}
	shown.Collect("internal/a/b_test.go", []byte(
		"package a\n\n// TestB: abuse case C1.\nfunc TestB() {\n\t// C3 to C5\n\trun(\"C7: a\", \"C8 b\", \"C3x\", "+
			"\"at C9\")\n}\n"+
			"\n// C1\nfunc TestA() {}\n\n// C1, C6\nfunc some() {}\n"))
	shown.Collect("internal/a/a.go", []byte("package a // C2\n"))
	shown.Collect("tools/a/a_test.go", []byte("package a // C2\n"))
	shown.Collect("e2e/browser/a.mjs", []byte("// C1, C2\n"))
	document := strings.Join([]string{
		"| case | abuse | tests |",
		"| C1 | one | `internal/a/b_test.go`: TestA, TestB |",
		"| C2 | two | `e2e/browser/a.mjs` |",
		"| C4 | four | none |",
		"| C6 | six | `internal/a/b_test.go` |",
		"| C7 | seven | `internal/a/b_test.go`: TestB |",
		"| C8 | eight | `internal/a/b_test.go`: TestB |",
		"| C9 | nine | old |",
		"| C9 | nine | none |",
	}, "\n")
	found, renewed := Cases("d.md", []byte(document), shown)
	expect(t, found, "d.md:4: the tests of C4 are `internal/a/b_test.go`: TestB (",
		"d.md:8: the tests of C9 are none (", "d.md:9: has C9 twice")
	want := strings.NewReplacer("| four | none |", "| four | `internal/a/b_test.go`: TestB |", "| old |", "| none |").
		Replace(document)
	if string(renewed) != want {
		t.Errorf("the document is then\n%s", renewed)
	}
	if numbers := Numbers([]byte(document)); len(numbers) != 7 || !numbers[4] || numbers[3] {
		t.Errorf("numbers: %v", numbers)
	}
}
