package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of the stream: an event of `go test -json` (see `go doc test2json`), or, when
// Suite is set, the beginning or the end of a suite.
type event struct {
	Action     string
	Package    string // of the events of a package
	ImportPath string // of the events of a build
	Test       string // "" for events of the whole package
	Output     string
	Elapsed    float64 // of a test, in seconds, without its parallel subtests

	Suite   string
	Ended   bool
	Seconds int
	Code    int // exit code of the suite's command
}

// suite is one command with the results of its tests.
type suite struct {
	name           string
	events         bool // the command printed events, so its tests can be counted
	ended          bool
	seconds        int
	passed, failed int
}

// line is a line of output with the test that wrote it, "" for the package.
type line struct{ test, text string }

// packageRun is a package whose tests are running.
type packageRun struct {
	lines  []line
	open   map[string]bool // tests without a result so far
	hidden map[string]bool // tests that passed or were skipped, whose output is not printed
	failed int             // tests that failed
}

// timing is the duration of a test.
type timing struct {
	test    string  // package and name
	seconds float64 // without waiting for a free slot
}

// slowestTests is the number of slowest tests that are printed.
const slowestTests = 10

// summary counts tests and prints results as they arrive.
type summary struct {
	out     io.Writer
	strict  bool // a skipped test is a failure
	suites  []*suite
	runs    map[string]*packageRun
	failed  []string // tests with a result of their own or of a subtest
	skipped []string
	timings []timing
}

// newSummary returns an empty summary that prints to out. strict makes a skipped test a failure.
func newSummary(out io.Writer, strict bool) *summary {
	return &summary{out: out, strict: strict, runs: map[string]*packageRun{}}
}

// read reads the stream to its end. It prints lines that are not events, such as the output of `go
// vet` or of a crashing program.
func (s *summary) read(in io.Reader) error {
	reader := bufio.NewReader(in) // a Scanner would limit the length of a line
	for {
		text, err := reader.ReadString('\n')
		var e event
		switch {
		case text == "":
		case json.Unmarshal([]byte(text), &e) != nil:
			fmt.Fprint(s.out, text)
		case e.Suite != "":
			s.handleSuite(e)
		default:
			s.handleEvent(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

// handleSuite begins or ends a suite.
func (s *summary) handleSuite(e event) {
	if !e.Ended {
		s.suites = append(s.suites, &suite{name: e.Suite})
		return
	}
	current := s.current()
	current.ended, current.seconds = true, e.Seconds
	for name, open := range s.runs { // the command ended during these packages
		s.finish(name, open, "fail")
	}
	switch {
	case e.Code != 0 && current.failed == 0:
		fmt.Fprintf(s.out, "FAIL\t%s: exit code %d\n", e.Suite, e.Code)
		current.failed++
	case e.Code == 0 && !current.events: // a command that is one test by itself, such as vet
		current.passed++
	}
}

// current returns the suite that the present events belong to, a new one if none has begun.
func (s *summary) current() *suite {
	if len(s.suites) == 0 {
		s.suites = append(s.suites, &suite{name: "tests"})
	}
	return s.suites[len(s.suites)-1]
}

// handleEvent counts one event of `go test -json`, and keeps output until its package ends.
func (s *summary) handleEvent(e event) {
	current := s.current()
	current.events = true
	if e.Package == "" {
		if e.Action == "build-output" {
			fmt.Fprint(s.out, e.Output)
		}
		return
	}
	pkg := s.runs[e.Package]
	if pkg == nil {
		pkg = &packageRun{open: map[string]bool{}, hidden: map[string]bool{}}
		s.runs[e.Package] = pkg
	}
	switch {
	case e.Action == "output":
		pkg.lines = append(pkg.lines, line{e.Test, e.Output})
	case e.Action == "run":
		pkg.open[e.Test] = true
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip": // start, pause, cont, bench, attr
	case e.Test == "":
		s.finish(e.Package, pkg, e.Action)
	default:
		s.result(e, pkg)
	}
}

// result counts a test or subtest of pkg that has passed, failed or was skipped.
func (s *summary) result(e event, pkg *packageRun) {
	delete(pkg.open, e.Test)
	s.timings = append(s.timings, timing{e.Package + " " + e.Test, e.Elapsed})
	switch e.Action {
	case "pass":
		s.current().passed++
		pkg.hidden[e.Test] = true
	case "fail":
		s.current().failed++
		s.failed = append(s.failed, e.Package+" "+e.Test)
		pkg.failed++
	case "skip":
		s.skipped = append(s.skipped, e.Package+" "+e.Test)
		pkg.hidden[e.Test] = true
	}
}

// finish ends the package name with action (pass, fail or skip): it prints the closing line, and
// for a failed package the output of its failed and unfinished tests, which it counts.
func (s *summary) finish(name string, pkg *packageRun, action string) {
	delete(s.runs, name)
	if action == "fail" {
		lost := len(pkg.open) // a panic or the time limit ended the process during these
		if lost+pkg.failed == 0 {
			lost = 1 // it did not build, or failed outside its tests
		}
		s.current().failed += lost
		for _, test := range slices.Sorted(maps.Keys(pkg.open)) {
			s.failed = append(s.failed, name+" "+test+" (did not end)")
		}
	}
	closed := false
	for _, l := range pkg.lines {
		closing := l.test == "" && (strings.HasPrefix(l.text, "ok  \t") || strings.HasPrefix(l.text, "FAIL\t") ||
			strings.HasPrefix(l.text, "?   \t"))
		if closing || action == "fail" && !pkg.hidden[l.test] {
			fmt.Fprint(s.out, l.text)
			closed = closed || closing
		}
	}
	if action == "fail" && !closed {
		fmt.Fprintf(s.out, "FAIL\t%s\n", name)
	}
}

// close prints the closing lines and reports whether everything passed.
func (s *summary) close() bool {
	var passed, failed int
	whole := true
	fmt.Fprintln(s.out)
	for _, suite := range s.suites {
		fmt.Fprintf(s.out, "%-18s %4d s   %d passed, %d failed\n", suite.name, suite.seconds, suite.passed,
			suite.failed)
		passed += suite.passed
		failed += suite.failed
		if !suite.ended {
			fmt.Fprintf(s.out, "FAIL\t%s did not end\n", suite.name)
			whole = false
		}
	}
	for _, t := range s.slowest() {
		fmt.Fprintf(s.out, "slow: %6.1f s   %s\n", t.seconds, t.test)
	}
	for _, test := range s.skipped {
		fmt.Fprintf(s.out, "skipped: %s\n", test)
	}
	for _, test := range leaves(s.failed, func(test string) string { return test }) {
		fmt.Fprintf(s.out, "failed: %s\n", test)
	}
	if s.strict && len(s.skipped) > 0 {
		fmt.Fprintln(s.out, "FAIL\tno test may be skipped with CI=true")
		whole = false
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", passed, failed)
	return whole && failed == 0 && passed > 0
}

// slowest returns the slowestTests slowest tests in descending order.
func (s *summary) slowest() []timing {
	slow := leaves(s.timings, func(t timing) string { return t.test })
	slices.SortStableFunc(slow, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	return slow[:min(len(slow), slowestTests)]
}

// leaves returns the tests without those that have subtests in the list too; name returns package
// and name of a test.
func leaves[T any](tests []T, name func(T) string) []T {
	parents := map[string]bool{}
	for _, t := range tests {
		for i, r := range name(t) {
			if r == '/' {
				parents[name(t)[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(tests), func(t T) bool { return parents[name(t)] })
}
