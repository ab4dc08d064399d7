package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shown maps the number of an abuse case to the tests that carry it, by file. A file without
// functions is one whose comments carry the number outside of any test.
type Shown map[int]map[string][]string

var (
	// caseRange matches a range of abuse cases: C1 to C14, C84-C91.
	caseRange = regexp.MustCompile(`\bC([1-9][0-9]{0,2})(?: to |-|–)C([1-9][0-9]{0,2})\b`)
	// caseName matches the begin of a subtest's name: "C15: …" or "C84 …".
	caseName = regexp.MustCompile(`^["` + "`" + `]C([1-9][0-9]{0,2}):? `)
	// caseRow matches a row of docs/abuse-cases.md: the number, the case and its tests.
	caseRow = regexp.MustCompile(`^\| C([1-9][0-9]{0,2}) \| (.+) \| (.*) \|$`)
)

// Numbers returns the numbers of the abuse cases in the table of docs/abuse-cases.md, whose content
// is document.
func Numbers(document []byte) map[int]bool {
	numbers := map[int]bool{}
	for _, content := range strings.Split(string(document), "\n") {
		if match := caseRow.FindStringSubmatch(content); match != nil {
			number, _ := strconv.Atoi(match[1])
			numbers[number] = true
		}
	}
	return numbers
}

// Collect adds the tests of the file name that carry the number of an abuse case: the tests of a Go
// test file by their comments and the names of their subtests, else the file, when a comment in it
// carries one. Other files show nothing, nor do tests of the tools.
func (s Shown) Collect(name string, text []byte) {
	switch {
	case within(name, "tools"):
	case strings.HasSuffix(name, "_test.go"):
		s.collectGo(name, text)
	case within(name, "e2e/browser", "web/test"):
		for _, l := range prose(name, text) {
			s.add(l.text, name, "")
		}
	}
}

// collectGo is Collect for a Go test file. It ignores a file that cannot be parsed.
func (s Shown) collectGo(name string, text []byte) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return
	}
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			s.add(comment.Text, name, testAround(parsed, comment))
		}
	}
	for _, declared := range parsed.Decls {
		ast.Inspect(declared, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if match := caseName.FindStringSubmatch(literal.Value); match != nil {
					s.add("C"+match[1], name, testAround(parsed, literal))
				}
			}
			return true
		})
	}
}

// add records that a test in a file, "" for the file itself, carries the numbers in the text, alone
// or in ranges.
func (s Shown) add(text, file, test string) {
	var numbers []int
	for _, match := range caseNumber.FindAllStringSubmatch(text, -1) {
		number, _ := strconv.Atoi(match[1])
		numbers = append(numbers, number)
	}
	for _, match := range caseRange.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(match[1])
		last, _ := strconv.Atoi(match[2])
		for number := first; number <= last; number++ {
			numbers = append(numbers, number)
		}
	}
	for _, number := range numbers {
		if s[number] == nil {
			s[number] = map[string][]string{}
		}
		if tests := s[number][file]; !slices.Contains(tests, test) {
			s[number][file] = append(tests, test)
		}
	}
}

// testAround returns the name of the test whose body or doc comment contains the node, "" for none.
func testAround(parsed *ast.File, node ast.Node) string {
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin := function.Pos()
		if function.Doc != nil {
			begin = function.Doc.Pos()
		}
		if begin <= node.Pos() && node.End() <= function.End() {
			if name := function.Name.Name; strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
				return name
			}
		}
	}
	return ""
}

// cell returns the tests of a case as the table lists them: those with names where there are any,
// else the files; "none" for none.
func (s Shown) cell(number int) string {
	var named, bare []string
	for _, file := range slices.SortedFunc(maps.Keys(s[number]),
		func(a, b string) int { return cmp.Or(cmp.Compare(path.Dir(a), path.Dir(b)), cmp.Compare(a, b)) }) {
		tests := slices.DeleteFunc(slices.Clone(s[number][file]), func(test string) bool { return test == "" })
		if len(tests) == 0 {
			bare = append(bare, "`"+file+"`")
			continue
		}
		slices.Sort(tests)
		named = append(named, "`"+file+"`: "+strings.Join(tests, ", "))
	}
	if named == nil {
		named = bare
	}
	return cmp.Or(strings.Join(named, "; "), "none")
}

// Cases compares the tests that docs/abuse-cases.md lists with those that carry the numbers
// (shown). document is its content. It returns a finding for each difference, and the document as
// it should be.
func Cases(name string, document []byte, shown Shown) ([]Finding, []byte) {
	var found []Finding
	lines := strings.Split(string(document), "\n")
	seen := map[string]bool{}
	for i, content := range lines {
		match := caseRow.FindStringSubmatch(content)
		if match == nil {
			continue
		}
		report := func(format string, args ...any) {
			found = append(found, Finding{File: name, Line: i + 1, Text: fmt.Sprintf(format, args...)})
		}
		if seen[match[1]] {
			report("has C%s twice", match[1])
		}
		seen[match[1]] = true
		number, _ := strconv.Atoi(match[1])
		if cell := shown.cell(number); cell != match[3] {
			report("the tests of C%s are %s (`go -C tools test ./house -update` writes them)", match[1], cell)
			lines[i] = fmt.Sprintf("| C%s | %s | %s |", match[1], match[2], cell)
		}
	}
	return found, []byte(strings.Join(lines, "\n"))
}
