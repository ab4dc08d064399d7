// Package house holds the rules of this source tree that no compiler and no linter knows: which
// package may import which, where SQL, JSON tags, the clock and net/http may stand, how long a file
// may grow, what may be named how, how many modules we depend on, where references in comments and
// documents lead, which tests show an abuse case, how long the subject of a commit may be.
//
// Its tests apply the rules to the tree, and each rule to samples that break it, since a check
// that cannot fail checks nothing. They need neither network nor services. CONTRIBUTING.md tells
// the rules in prose.
package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Finding is one breach of a rule.
type Finding struct {
	File string // or the directory of a package, from the root, with slashes
	Line int    // from 1; 0 for the whole file
	Text string
}

// String returns the finding as compilers write theirs.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// machinePaths matches what belongs to the machine of a developer: its directories, and documents
// that are not part of the project. It is put together so that it does not match itself.
var machinePaths = regexp.MustCompile(`/wor` + `k/|/far` + `m/|\.\./sha` + `red|\b(SPE` + `C|DECI` + `SIONS)\.md\b`)

// Text finds places of one machine in a file of any kind.
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

// Lock finds packages of a package-lock.json that are bound to one registry.
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

// maxModules is how many modules the product may depend on directly.
const maxModules = 25

// Requirement is a module as `go mod edit -json` tells it.
type Requirement struct {
	Path     string
	Indirect bool
}

// Modules finds too many direct dependencies of the product; modules that only tests, benchmarks
// and test support import do not count.
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
