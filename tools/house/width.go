package house

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCodeColumns and maxCommentColumns are how many columns a line of code, and a line that is a
// comment, may have. A tab takes four.
const (
	maxCodeColumns    = 120
	maxCommentColumns = 100
)

// unbreakable matches comments that cannot be wrapped: addresses, and directives to other tools.
var unbreakable = regexp.MustCompile(`\S{50}|svelte-ignore|eslint-disable`)

// commentLine matches a line that is a comment and nothing else: // in Go, JavaScript and
// TypeScript, the lines of a block, # in scripts.
var commentLine = regexp.MustCompile(`^\s*(// |/\*|\* |# |<!-- )`)

// quotedPart matches a string, a template or a word list within a line of a script or of the web
// UI.
var quotedPart = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`.*`")

// Width finds lines of code and of comments that are too long. A comment may be longer if it cannot
// be wrapped. A line of code may be longer if it would fit with its longest unbreakable literal
// left out. In Go these are raw strings, such as SQL, struct tags and regular expressions, and
// other strings without a space, such as addresses; a string with spaces is wrapped by `+`. In
// scripts and the sources of the web UI these are all literals, which Prettier does not wrap
// either.
func Width(name string, text []byte) []Finding {
	lines := strings.Split(string(text), "\n")
	var literals map[int][]string
	if strings.HasSuffix(name, ".go") {
		literals = goLiterals(text)
	}
	var found []Finding
	for i, l := range lines {
		total := columns(l)
		if commentLine.MatchString(l) {
			if total > maxCommentColumns && !unbreakable.MatchString(l) {
				found = append(found, Finding{File: name, Line: i + 1,
					Text: fmt.Sprintf("has %d columns of a comment; %d are the most", total, maxCommentColumns)})
			}
			continue
		}
		if total <= maxCodeColumns {
			continue
		}
		parts := literals[i+1]
		if literals == nil {
			parts = quotedPart.FindAllString(l, -1)
		}
		longest := 0
		for _, part := range parts {
			longest = max(longest, columns(part))
		}
		if total-longest > maxCodeColumns {
			found = append(found, Finding{File: name, Line: i + 1,
				Text: fmt.Sprintf("has %d columns of code; %d are the most", total, maxCodeColumns)})
		}
	}
	return found
}

// goLiterals returns the unbreakable strings of a Go source by line, from 1: raw strings, cut into
// their lines, and strings without a space.
func goLiterals(text []byte) map[int][]string {
	found := map[int][]string{}
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for pos, tok, literal := s.Scan(); tok != token.EOF; pos, tok, literal = s.Scan() {
		if tok != token.STRING || literal[0] == '"' && strings.Contains(literal, " ") {
			continue
		}
		for i, part := range strings.Split(literal, "\n") {
			found[file.Line(pos)+i] = append(found[file.Line(pos)+i], part)
		}
	}
	return found
}

// columns returns the width of a line in columns; a tab takes four.
func columns(l string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(l, "\t", "    "))
}

// hasWidth reports whether Width applies to a file of the tree: scripts, Go, and the sources of the
// web UI.
func hasWidth(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return strings.HasPrefix(name, "scripts/") || name == ".ci/run" ||
		dot >= 0 && slices.Contains([]string{".go", ".ts", ".mjs", ".svelte", ".sh"}, name[dot:])
}
