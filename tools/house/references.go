package house

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tree is what references in comments and documents may lead to.
type Tree struct {
	Files   []string                   // from the root, with slashes
	Texts   map[string][]byte          // of the files, by path
	Anchors map[string]map[string]bool // of each document, by its path: the anchors of its headings
	Cases   map[int]bool               // the numbers in docs/abuse-cases.md
}

var (
	// caseNumber matches the number of an abuse case: C and up to three digits, as a word of
	// its own. Escapes (%C3, =C3), colours (#C12), character references (&C1) and parts of
	// longer words are none.
	caseNumber = regexp.MustCompile(`(?:^|[^\w%=#&])C([1-9][0-9]{0,2})\b`)
	// recordNumber matches the number of a decision record, recordPath the begin of its path.
	recordNumber = regexp.MustCompile(`\bADR[ -]([0-9]{4})\b`)
	recordPath   = regexp.MustCompile(`(?:^|[^\w/.])docs/adr/([0-9]{4})`)
	// document matches the path of a document from the root.
	document = regexp.MustCompile(`(?:^|[^\w/.])(docs/[\w./-]+\.md)\b`)
	// source matches the path of a source file in a code span, from the root or from internal; *
	// stands for any part of a name.
	source = regexp.MustCompile("`((?:[\\w.-]+/)+[\\w.*-]+\\.(?:go|ts|mjs|js|svelte|css|sql))`")
	// named matches names in code spans that a document places in a source file: `a`, `b`
	// and `c` in `access/decide.go`.
	named = regexp.MustCompile("((?:`\\w+`(?:, | and ))*`\\w+`) in (?:the |tables )?`((?:[\\w-]+/)+[\\w-]+\\.go)`")
	// qualified matches an exported name of a package below internal in a code span:
	// `files.Config.Active`.
	qualified = regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*(?:\\.\\w+)*)[`(]")
	// capitals matches a document that is named as those at the root are.
	capitals = regexp.MustCompile(`(?:^|[^\w/.-])([A-Z]{2,}\.md)\b`)
	// link matches the target of a link in Markdown, with an anchor or without one.
	link = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	// outside matches words for papers that are not part of the project, in code alone: the
	// number or title of a decision there. It asks for a begin of a sentence or a bracket, since
	// prose has decisions, too.
	outside = regexp.MustCompile(`\bDECISIONS\b|\bSPEC\b|(?i)\bthe brief\b`)
	decided = regexp.MustCompile(`(?:^\s*|[(;.] ?)[Dd]ecisions(?:[:,]| on) `)
)

// References finds references in comments and documents that lead nowhere: numbers of abuse cases
// and decision records, paths of documents, papers that are not part of the project; and in
// documents links, paths of source files, and names that a source file does not have.
func References(name string, text []byte, tree Tree) []Finding {
	var found []Finding
	for _, l := range prose(name, text) {
		report := func(format string, args ...any) {
			found = append(found, Finding{File: name, Line: l.number, Text: fmt.Sprintf(format, args...)})
		}
		for _, match := range caseNumber.FindAllStringSubmatch(l.text, -1) {
			if number, _ := strconv.Atoi(match[1]); !tree.Cases[number] {
				report("names abuse case C%d, which docs/abuse-cases.md does not have", number)
			}
		}
		for _, pattern := range []*regexp.Regexp{recordNumber, recordPath} {
			for _, match := range pattern.FindAllStringSubmatch(l.text, -1) {
				if !tree.begins("docs/adr/" + match[1] + "-") {
					report("names decision record %s, which docs/adr does not have", match[1])
				}
			}
		}
		for _, pattern := range []*regexp.Regexp{document, capitals} {
			for _, match := range pattern.FindAllStringSubmatch(l.text, -1) {
				if !slices.Contains(tree.Files, match[1]) {
					report("names %s, which does not exist", match[1])
				}
			}
		}
		if match := outside.FindString(l.text); match != "" {
			report("names %q, a paper that is not part of the project", match)
		}
		if path.Ext(name) != ".md" {
			if match := decided.FindString(l.text); match != "" {
				report("names %q without a document: write docs/decisions.md and the heading", strings.TrimSpace(match))
			}
			continue
		}
		for _, match := range source.FindAllStringSubmatch(l.text, -1) {
			if !tree.has(match[1]) && !tree.has("internal/"+match[1]) {
				report("names %s, which does not exist", match[1])
			}
		}
		for _, match := range named.FindAllStringSubmatch(l.text, -1) {
			for _, name := range strings.FieldsFunc(match[1],
				func(r rune) bool { return r == '`' || r == ',' || r == ' ' }) {
				if name != "and" && !tree.holds(match[2], name) {
					report("places %s in %s, which does not have it", name, match[2])
				}
			}
		}
		for _, match := range qualified.FindAllStringSubmatch(l.text, -1) {
			if !tree.exports(match[1], match[2]) {
				report("names %s.%s, which does not exist", match[1], match[2])
			}
		}
		for _, match := range link.FindAllStringSubmatch(l.text, -1) {
			if fault := tree.leads(name, match[1], match[2]); fault != "" {
				report("%s", fault)
			}
		}
	}
	return found
}

// has reports whether a file of the tree matches the pattern, in which * stands for any part of a
// name.
func (t Tree) has(pattern string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool {
		matched, err := path.Match(pattern, file)
		return matched && err == nil
	})
}

// holds reports whether a source file, given from the root or from internal, has the identifier
// outside of its comments. Of a file that does not exist it is true, since another check reports
// that.
func (t Tree) holds(file, name string) bool {
	text, ok := t.Texts["internal/"+file]
	if !ok {
		text, ok = t.Texts[file]
	}
	return !ok || declares(text, name)
}

// exports reports whether a package below internal has each part of a qualified name, such as
// Config.Active. Of a package that does not exist it is true.
func (t Tree) exports(pkg, qualified string) bool {
	missing := strings.Split(qualified, ".")
	var sources int
	for _, file := range t.Files {
		if path.Dir(file) == "internal/"+pkg && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			sources++
			missing = slices.DeleteFunc(missing, func(name string) bool { return declares(t.Texts[file], name) })
		}
	}
	return sources == 0 || len(missing) == 0
}

// declares reports whether a Go source has the identifier.
func declares(text []byte, name string) bool {
	if !bytes.Contains(text, []byte(name)) {
		return false
	}
	var scan scanner.Scanner
	set := token.NewFileSet()
	scan.Init(set.AddFile("", set.Base(), len(text)), text, func(token.Position, string) {}, 0)
	for {
		_, kind, literal := scan.Scan()
		switch {
		case kind == token.EOF:
			return false
		case kind == token.IDENT && literal == name:
			return true
		}
	}
}

// begins reports whether the tree has a file whose path has the prefix.
func (t Tree) begins(prefix string) bool {
	return slices.ContainsFunc(t.Files, func(file string) bool { return strings.HasPrefix(file, prefix) })
}

// leads returns why a link in the document from leads nowhere, "" when it leads somewhere or to
// another site. target is the path, "" for the document itself; anchor is "" for none.
func (t Tree) leads(from, target, anchor string) string {
	if strings.Contains(target, ":") {
		return ""
	}
	to := from
	if target != "" {
		to = path.Join(path.Dir(from), target)
		if !slices.Contains(t.Files, to) && !t.begins(to+"/") {
			return "links to " + target + ", which does not exist"
		}
	}
	if anchor != "" && t.Anchors[to] != nil && !t.Anchors[to][anchor] {
		return "links to #" + anchor + ", which " + to + " does not have"
	}
	return ""
}

// anchorless matches what an anchor leaves out of a heading.
var anchorless = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// Anchors returns the anchors of the headings of a Markdown document, as GitHub and its like make
// them.
func Anchors(text []byte) map[string]bool {
	anchors := map[string]bool{}
	for _, l := range outsideFences(string(text)) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(l.text, "#"), " ")
		if !ok || !strings.HasPrefix(l.text, "#") {
			continue
		}
		anchors[strings.ReplaceAll(anchorless.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")] = true
	}
	return anchors
}
