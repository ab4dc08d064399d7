package house

import (
	"slices"
	"strings"
)

// module is the path of the main module.
const module = "larder"

// layers defines which package may import which: only packages of an earlier row, or further left
// in the same row. A package below another (internal/blob/disk) belongs to that one's place.
// docs/architecture.md draws the same picture.
var layers = [][]string{
	{"internal/fault", "internal/vpath", "internal/ident", "internal/color", "internal/crash", "internal/concurrency",
		"internal/lastuse", "internal/zipstream", "internal/osfile"},
	{"internal/secret", "internal/config", "internal/egress", "internal/db", "internal/kv", "internal/blob",
		"internal/thumb", "internal/mail", "internal/captcha"},
	{"internal/job"},
	{"internal/site", "internal/letter", "internal/audit", "internal/quota", "internal/notice", "internal/access",
		"internal/account",
		"internal/apikey", "internal/provider", "internal/mount"},
	{"internal/object"},
	{"internal/files"},
	{"internal/upload", "internal/share", "internal/download", "internal/freemode", "internal/pictures"},
	{"internal/lifecycle", "internal/fsck", "internal/backup", "internal/dirimport"},
	{"internal/webdav"},
	{"web", "internal/api"},
	{"internal/app"},
	{"internal/apptest"},
	{"cmd", "bench", "e2e"},
}

// restrictedImporters lists, for packages that few may import, the packages that may.
var restrictedImporters = map[string][]string{
	"internal/config": {"internal/app", "internal/apptest", "cmd"},
}

// vagueNames are names that do not describe the content of a package or file.
var vagueNames = []string{"util", "common", "helper", "model", "type", "service", "misc"}

// Package is a package in the output of `go list -json`.
type Package struct {
	ImportPath string
	Name       string
	Imports    []string // without those of its tests
}

// Layers finds imports against the order of layers, packages that no layer contains, and imports of
// test support outside of tests.
func Layers(packages []Package) []Finding {
	var found []Finding
	for _, pkg := range packages {
		here := strings.TrimPrefix(pkg.ImportPath, module+"/")
		row, column, seat := layerOf(here)
		if row < 0 {
			found = append(found, Finding{File: here,
				Text: "has no place in the table of layers (tools/house/layers.go)"})
			continue
		}
		for _, imported := range pkg.Imports {
			there, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			thatRow, thatColumn, thatSeat := layerOf(there)
			switch {
			case thatRow > row, thatRow == row && thatColumn > column:
				found = append(found, Finding{File: here, Text: "imports " + there + ", which does not lie below it"})
			case isTestSupport(there) && !isTestSupport(here) && !within(here, "bench", "e2e"):
				found = append(found, Finding{File: here, Text: "imports " + there + ", which is for tests"})
			case restrictedImporters[thatSeat] != nil && thatSeat != seat &&
				!slices.Contains(restrictedImporters[thatSeat], seat):
				found = append(found, Finding{File: here,
					Text: "imports " + there + ", which only " + strings.Join(restrictedImporters[thatSeat], ", ") +
						" may"})
			}
		}
	}
	return found
}

// layerOf returns the row, the column and the entry of the table for a package, given by its path
// in the module. The row is -1 when there is none.
func layerOf(pkg string) (row, column int, seat string) {
	for row, names := range layers {
		for column, name := range names {
			if within(pkg, name) {
				return row, column, name
			}
		}
	}
	return -1, -1, ""
}

// Names finds packages with names that do not describe their content (vagueNames).
func Names(packages []Package) []Finding {
	var found []Finding
	for _, pkg := range packages {
		here := strings.TrimPrefix(pkg.ImportPath, module+"/")
		if saysNothing(pkg.Name) || slices.ContainsFunc(strings.Split(here, "/"), saysNothing) {
			found = append(found, Finding{File: here, Text: "is a package with a name that says nothing"})
		}
	}
	return found
}

// saysNothing reports whether a name is one of vagueNames, or made of one, such as helpers and
// stringutil.
func saysNothing(name string) bool {
	singular := strings.TrimSuffix(strings.ToLower(name), "s")
	return slices.Contains(vagueNames, singular) || strings.HasSuffix(singular, "util") ||
		strings.HasSuffix(singular, "helper")
}

// within reports whether a slash-separated path equals one of the roots or lies below one.
func within(place string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return place == root ||
			strings.HasPrefix(place, root+"/")
	})
}

// isTestSupport reports whether a package only supports tests: apptest, blobtest, kvtest.
func isTestSupport(pkg string) bool {
	return slices.ContainsFunc(strings.Split(pkg, "/"),
		func(segment string) bool { return strings.HasSuffix(segment, "test") })
}
