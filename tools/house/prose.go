package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// line is one line of a comment or of a document.
type line struct {
	number int // from 1
	text   string
}

// prose returns the comments of a source file, or the lines of a document outside of its code
// blocks. Files of other kinds have none.
func prose(name string, text []byte) []line {
	switch path.Ext(name) {
	case ".md":
		return outsideFences(string(text))
	case ".go":
		return goComments(text)
	case ".ts", ".mjs", ".js", ".svelte", ".css", ".html":
		return blockComments(string(text))
	case ".sql":
		return lineComments(string(text), "--")
	case "", ".sh", ".toml":
		return lineComments(string(text), "#")
	}
	return nil
}

// maxColumns is how many characters a line of prose in a document may have.
const maxColumns = 100

// codeSpan matches code within a line of Markdown.
var codeSpan = regexp.MustCompile("`[^`]+`")

// Columns finds lines of prose in a Markdown document with more than maxColumns characters. Tables
// are free, and so is a line without a place to break it.
func Columns(name string, text []byte) []Finding {
	var found []Finding
	for _, l := range outsideFences(string(text)) {
		breakable := strings.Contains(strings.TrimSpace(codeSpan.ReplaceAllString(l.text, "x")), " ")
		length := utf8.RuneCountInString(l.text)
		if length > maxColumns && breakable && !strings.HasPrefix(l.text, "|") {
			message := fmt.Sprintf("has %d characters in a line of prose; %d are the most", length, maxColumns)
			found = append(found, Finding{File: name, Line: l.number, Text: message})
		}
	}
	return found
}

// outsideFences returns the lines of Markdown that do not lie between fences.
func outsideFences(text string) []line {
	var found []line
	var fenced bool
	for number, content := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(content), "```"):
			fenced = !fenced
		case !fenced:
			found = append(found, line{number + 1, content})
		}
	}
	return found
}

// goComments returns the comments of a Go file, none when it cannot be parsed: Source reports that.
func goComments(text []byte) []line {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var found []line
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			first := set.Position(comment.Pos()).Line
			for i, content := range strings.Split(comment.Text, "\n") {
				found = append(found, line{first + i, strings.TrimPrefix(content, "//")})
			}
		}
	}
	return found
}

// lineComments returns the comments of one line: the text after mark, such as #, where a line
// begins with the mark or has white space before it.
func lineComments(text, mark string) []line {
	var found []line
	for number, content := range strings.Split(text, "\n") {
		for at := 0; ; {
			next := strings.Index(content[at:], mark)
			if next < 0 {
				break
			}
			at += next + len(mark)
			if before := strings.TrimSuffix(content[:at], mark); before == "" || strings.HasSuffix(before, " ") ||
				strings.HasSuffix(before, "\t") {
				found = append(found, line{number + 1, content[at:]})
				break
			}
		}
	}
	return found
}

// blockStart matches the begin of a comment of many lines, blockEnd its end.
var (
	blockStart = regexp.MustCompile(`/\*|<!--`)
	blockEnd   = regexp.MustCompile(`\*/|-->`)
)

// blockComments returns the comments of JavaScript, TypeScript, Svelte, CSS and HTML, in the order
// of their lines.
func blockComments(text string) []line {
	found := lineComments(text, "//")
	var inside bool
	for number, content := range strings.Split(text, "\n") {
		if !inside {
			start := blockStart.FindStringIndex(content)
			if start == nil {
				continue
			}
			content, inside = content[start[1]:], true
		}
		if end := blockEnd.FindStringIndex(content); end != nil {
			content, inside = content[:end[0]], false
		}
		found = append(found, line{number + 1, content})
	}
	slices.SortStableFunc(found, func(a, b line) int { return a.number - b.number })
	return found
}
