package main

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the source tree, from this package.
const root = "../.."

// TestTableFitsTheTree finds entries of the table that no longer fit the code, without running
// their tests.
func TestTableFitsTheTree(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutations {
		if names[m.name] || m.name == "" || m.guard == "" || strings.Contains(m.guard, "|") {
			t.Errorf("%q: a guard needs a unique name and a description", m.name)
		}
		names[m.name] = true
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		after, err := m.apply(string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasSuffix(m.file, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, after, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: the mutated source is not valid Go: %v", m.name, err)
			}
		}
		for _, test := range tests(m.test) {
			if !hasTest(t, m.pkg, test) {
				t.Errorf("%s: there is no %s in %s", m.name, test, m.pkg)
			}
		}
	}
	if len(mutations) < 24 {
		t.Errorf("only %d guards", len(mutations))
	}
}

// tests returns the names of the test functions in a pattern.
func tests(pattern string) []string {
	return regexp.MustCompile(`Test\w+`).FindAllString(pattern, -1)
}

func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func TestMutationAppliesOnceOrNot(t *testing.T) {
	m := mutation{name: "m", old: "b", new: "x"}
	if got, err := m.apply("abc"); got != "axc" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"ac", "abcb"} {
		if _, err := m.apply(text); err == nil {
			t.Errorf("%q was changed", text)
		}
	}
}

func TestOutcomes(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, row := range []struct {
		said string
		err  error
		want string
	}{
		{"ok  \tlarder/internal/x\t0.1s", nil, survived},
		{"--- FAIL: TestX (0.00s)\nFAIL\tlarder/internal/x\t0.1s", failed, killed},
		{"panic: test timed out after 10m0s\nFAIL\tlarder/internal/x\t600s", failed, killed},
		{"x.go:1:1: declared and not used: y\nFAIL\tlarder/internal/x [build failed]", failed, broken},
		{"FAIL\tlarder/internal/x [setup failed]", failed, broken},
		{"testing: warning: no tests to run\nok  \tlarder/internal/x\t0.1s [no tests to run]", nil, noTest},
	} {
		if got := outcomeOf(row.said, row.err); got != row.want {
			t.Errorf("%q: %s, want %s", row.said, got, row.want)
		}
	}
}

func TestGuardsAreChosenByTheBeginningOfTheirNames(t *testing.T) {
	all := []mutation{{name: "key-a"}, {name: "key-b"}, {name: "csrf"}}
	for _, row := range []struct {
		names []string
		want  int // -1 for an error
	}{{nil, 3}, {[]string{"key"}, 2}, {[]string{"key-b"}, 1}, {[]string{"csrf", "key-a"}, 2},
		{[]string{"csrf", "none"}, -1}} {
		got, err := choose(all, row.names)
		if (err != nil) != (row.want < 0) || err == nil && len(got) != row.want {
			t.Errorf("%v: %v, %v", row.names, got, err)
		}
	}
}
