package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLines     = 500
	maxTestLines = 800
)

// Where something is allowed, besides tests and test support. Commands, benchmarks, black-box tests
// and tools are subject to the rules of form only.
var (
	exemptRoots   = []string{"cmd", "bench", "e2e", "tools"}
	sqlPackages   = []string{"internal/db"}
	jsonPackages  = []string{"internal/api"}
	clockPackages = []string{"internal/app"}
	httpPackages  = []string{"internal/api", "internal/webdav", "internal/egress", "internal/captcha",
		"internal/blob/s3",
		"internal/app", "web",
		"internal/provider/probe_direct.go"} // sends to a store the requests of a browser
)

// sqlStatement matches SQL: loosely in upper case, which this project uses, and strictly in lower
// case.
var sqlStatement = regexp.MustCompile(
	`^\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+\s*(\([^)]*\)\s*)?AS\s|` +
		`CREATE\s+((UNIQUE\s+)?INDEX|TABLE)\s|ALTER\s+TABLE\s|DROP\s+(TABLE|INDEX)\s|ORDER\s+BY\s|ON\s+CONFLICT\s)` +
		`|(?i)^\s*(select\s.*\sfrom\s+\w+\s+(where|join|order|group|limit)\s|insert\s+into\s+\w+\s*\(|update\s+\w+\s+set\s+\w+\s*=|delete\s+from\s+\w+\s+where\s|with\s+recursive\s)`)

// file is a parsed Go file with its findings.
type file struct {
	path  string // from the root, with slashes
	test  bool   // a test, or test support
	set   *token.FileSet
	ast   *ast.File
	found []Finding

	shortForm []*ast.BlockStmt // bodies of `if testing.Short()`, which may skip a test
}

// Source checks the rules that a single Go file can violate: where SQL, JSON tags, the clock and
// net/http are used, the length and the name of the file, disabled linters, commented-out code, and
// sleeping or skipped tests. name is the path from the root, with slashes.
func Source(name string, text []byte) []Finding {
	f := &file{path: name, test: strings.HasSuffix(name, "_test.go") || isTestSupport(path.Dir(name)),
		set: token.NewFileSet()}
	var err error
	if f.ast, err = parser.ParseFile(f.set, name, text, parser.ParseComments); err != nil {
		return []Finding{{File: name, Text: err.Error()}}
	}
	f.form(text)
	f.imports()
	f.comments()
	ast.Inspect(f.ast, f.visit)
	return f.found
}

// report adds a finding at a position of the file.
func (f *file) report(at token.Pos, format string, args ...any) {
	f.found = append(f.found, Finding{File: f.path, Line: f.set.Position(at).Line, Text: fmt.Sprintf(format, args...)})
}

// exempt reports whether a rule does not apply to the file: it is a test, or lies below one of
// homes or of exemptRoots.
func (f *file) exempt(homes []string) bool {
	return f.test || within(f.path, homes...) || within(f.path, exemptRoots...)
}

// form checks the number of lines and the name of the file.
func (f *file) form(text []byte) {
	limit := maxLines
	if strings.HasSuffix(f.path, "_test.go") {
		limit = maxTestLines
	}
	if lines := strings.Count(string(text), "\n"); lines > limit {
		f.report(f.ast.Package, "has %d lines; %d are the most", lines, limit)
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
	if saysNothing(stem) {
		f.report(f.ast.Package, "has a name that says nothing")
	}
}

// imports finds an import of net/http where it is not allowed.
func (f *file) imports() {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value == `"net/http"` && !f.exempt(httpPackages) {
			f.report(spec.Pos(), "imports net/http; only transports and what stands above them do")
		}
	}
}

// visit checks one node of the syntax tree, for ast.Inspect: SQL in strings, struct tags, and uses
// of the packages time and testing. It always continues.
func (f *file) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING && f.sqlForbidden() {
			if value, err := strconv.Unquote(n.Value); err == nil && sqlStatement.MatchString(value) {
				f.report(n.Pos(), "holds SQL; that stands in sql*.go of the package that owns the table")
			}
		}
	case *ast.Field:
		if n.Tag != nil && !f.exempt(jsonPackages) {
			tag, _ := strconv.Unquote(n.Tag.Value)
			if _, tagged := reflect.StructTag(tag).Lookup("json"); tagged {
				f.report(n.Tag.Pos(), "has a JSON tag; what clients see is written in internal/api")
			}
		}
	case *ast.IfStmt:
		if f.isShort(n.Cond) {
			f.shortForm = append(f.shortForm, n.Body)
		}
	case *ast.SelectorExpr:
		f.selector(n)
	}
	return true
}

// isShort reports whether a condition is testing.Short().
func (f *file) isShort(condition ast.Expr) bool {
	call, ok := condition.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "Short" {
		return false
	}
	from, ok := of.X.(*ast.Ident)
	return ok && from.Name == f.localName("testing")
}

// sqlForbidden reports whether the file may not hold SQL: only sql*.go and package db may.
func (f *file) sqlForbidden() bool {
	name := path.Base(f.path)
	return !f.exempt(sqlPackages) && !strings.HasPrefix(name, "sql")
}

// selector finds reads of the clock (time.Now and the like) outside of package app, and sleeps and
// skips in tests.
func (f *file) selector(n *ast.SelectorExpr) {
	from, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	isTime := from.Name == f.localName("time")
	switch n.Sel.Name {
	case "Now", "Since", "Until":
		if isTime && !f.exempt(clockPackages) {
			f.report(n.Pos(), "reads the clock by time.%s; take a now func() time.Time", n.Sel.Name)
		}
	case "Sleep":
		if isTime && f.test {
			f.report(n.Pos(), "sleeps in a test; wait for a condition or move the clock")
		}
	case "Skip", "Skipf", "SkipNow":
		inShortForm := func(b *ast.BlockStmt) bool { return b.Pos() <= n.Pos() && n.Pos() < b.End() }
		if f.test && (from.Name == "t" || from.Name == "b") && !slices.ContainsFunc(f.shortForm, inShortForm) {
			f.report(n.Pos(), "skips a test; only the short form may (testing.Short)")
		}
	}
}

// localName returns the name under which the file imports a package of the standard library, ""
// when it does not import it.
func (f *file) localName(pkg string) string {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value == strconv.Quote(pkg) {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return pkg
		}
	}
	return ""
}

// comments finds disabled linters and commented-out code.
func (f *file) comments() {
	for _, group := range f.ast.Comments {
		for _, comment := range group.List {
			text := strings.TrimPrefix(comment.Text, "//")
			switch {
			case strings.HasPrefix(strings.TrimSpace(text), "nolint"), strings.HasPrefix(text, "lint:"):
				f.report(comment.Pos(), "switches a linter off")
			case !strings.HasPrefix(text, "\t") &&
				isCode(strings.TrimSpace(text)): // a tab begins an example in a doc comment
				f.report(comment.Pos(), "is code that was commented out")
			}
		}
	}
}

// callLine matches a line that consists of a call of a package's function or of a method; prose
// seldom has this form.
var callLine = regexp.MustCompile(`^\w+(\.\w+)+\(.*\)$`)

// isCode reports whether a comment line is a Go statement. Only forms that prose does not have
// count: definitions with :=, blocks, and calls with a selector.
func isCode(line string) bool {
	if strings.HasSuffix(line, "{") {
		line += "}" // the head of a block
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+line+"\n}",
		parser.SkipObjectResolution)
	if err != nil || len(parsed.Decls) == 0 {
		return false
	}
	body := parsed.Decls[0].(*ast.FuncDecl).Body.List
	if len(body) != 1 {
		return false
	}
	switch statement := body[0].(type) {
	case *ast.AssignStmt:
		return statement.Tok == token.DEFINE
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	case *ast.ExprStmt:
		return callLine.MatchString(line)
	}
	return false
}
