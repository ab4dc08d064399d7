// Package house checks the rules of this source tree that no compiler and no linter knows: which
// package may import which; where SQL, JSON tags, the clock and net/http are allowed; the length of
// files; the names of packages and files; the number of direct modules; references in comments and
// documents; the tests listed for each abuse case; the length of commit subjects.
//
// Its tests apply the rules to the tree, and apply each rule to samples that break it, since a
// check that cannot fail checks nothing. They need neither network nor services. CONTRIBUTING.md
// explains the rules.
package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Finding is one violation of a rule.
type Finding struct {
	File string // or the directory of a package, from the root, with slashes
	Line int    // from 1; 0 for the whole file
	Text string
}

// String formats the finding like a compiler message.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// machinePaths matches names that exist on a developer's machine only: directories, and documents
// outside the project. The pattern is split so that it does not match itself.
var machinePaths = regexp.MustCompile(`/wor` + `k/|/far` + `m/|\.\./sha` + `red|\b(SPE` + `C|DECI` + `SIONS)\.md\b`)

// Text finds names that exist on one machine only (machinePaths) in a file of any kind.
func Text(name string, text []byte) []Finding {
	var found []Finding
	for number, line := range strings.Split(string(text), "\n") {
		if match := machinePaths.FindString(line); match != "" {
			found = append(found, Finding{File: name, Line: number + 1,
				Text: "names " + match + ", which exists on one machine only"})
		}
	}
	return found
}

// Lock finds packages of a package-lock.json that name the host of a registry, which would tie the
// build to it.
func Lock(name string, text []byte) []Finding {
	var found []Finding
	for number, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, `"resolved": "http`) {
			found = append(found, Finding{File: name, Line: number + 1,
				Text: "names the host of a registry (npm's omit-lockfile-registry-resolved leaves it out)"})
		}
	}
	return found
}

// maxModules is the largest number of direct module dependencies of the product.
const maxModules = 25

// Requirement is a module in the output of `go mod edit -json`.
type Requirement struct {
	Path     string
	Indirect bool
}

// Modules returns a finding when the product has too many direct dependencies. Modules that only
// tests, benchmarks and test support import do not count.
func Modules(required []Requirement, packages []Package) []Finding {
	var counted []string
	for _, requirement := range required {
		if requirement.Indirect {
			continue
		}
		imported := slices.ContainsFunc(packages, func(pkg Package) bool {
			here := strings.TrimPrefix(pkg.ImportPath, module+"/")
			return !isTestSupport(here) && !within(here, "bench", "e2e") &&
				slices.ContainsFunc(pkg.Imports, func(path string) bool { return within(path, requirement.Path) })
		})
		if imported {
			counted = append(counted, requirement.Path)
		}
	}
	if len(counted) <= maxModules {
		return nil
	}
	return []Finding{{File: "go.mod", Text: fmt.Sprintf("%d direct modules; %d are the most: %s", len(counted),
		maxModules, strings.Join(counted, " "))}}
}
