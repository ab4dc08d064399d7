package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of the stream: an event of `go test -json` (see `go doc test2json`), or, with
// Suite set, where a suite begins or ends.
type event struct {
	Action     string
	Package    string // of the events of a package
	ImportPath string // of the events of a build
	Test       string // "" for events of the whole package
	Output     string
	Elapsed    float64 // seconds, of the result of a test: without those of its parallel subtests

	Suite   string
	Ended   bool
	Seconds int
	Code    int // exit code of the suite's command
}

// suite is one command and what its events amounted to.
type suite struct {
	name           string
	events         bool // the command spoke JSON, so its tests can be counted
	ended          bool
	seconds        int
	passed, failed int
}

// line is a line of output and the test that wrote it, "" for the package.
type line struct{ test, text string }

// packageRun is a package whose tests are under way.
type packageRun struct {
	lines  []line
	open   map[string]bool // tests without a result so far
	hidden map[string]bool // tests that passed or were skipped: nobody reads what they wrote
	failed int             // tests that failed
}

// timing is how long a test took.
type timing struct {
	test    string  // package and name
	seconds float64 // without waiting for its turn
}

// slowestTests is how many of the slowest tests are printed.
const slowestTests = 10

// summary counts tests and prints results as they come.
type summary struct {
	out     io.Writer
	strict  bool // a skipped test is a failure
	suites  []*suite
	runs    map[string]*packageRun
	skipped []string
	timings []timing
}

func newSummary(out io.Writer, strict bool) *summary {
	return &summary{out: out, strict: strict, runs: map[string]*packageRun{}}
}

// read takes the stream to its end. Lines that are no event (of `go vet`, of a crashing
// program) are passed on.
func (s *summary) read(in io.Reader) error {
	reader := bufio.NewReader(in) // no Scanner: a test may print a line of any length
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
	for name, open := range s.runs { // the command died in the middle of these packages
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

// current is the suite that events belong to.
func (s *summary) current() *suite {
	if len(s.suites) == 0 {
		s.suites = append(s.suites, &suite{name: "tests"})
	}
	return s.suites[len(s.suites)-1]
}

// handleEvent counts one event of go test.
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

// result counts a test or subtest.
func (s *summary) result(e event, pkg *packageRun) {
	delete(pkg.open, e.Test)
	s.timings = append(s.timings, timing{e.Package + " " + e.Test, e.Elapsed})
	switch e.Action {
	case "pass":
		s.current().passed++
		pkg.hidden[e.Test] = true
	case "fail":
		s.current().failed++
		pkg.failed++
	case "skip":
		s.skipped = append(s.skipped, e.Package+" "+e.Test)
		pkg.hidden[e.Test] = true
	}
}

// finish prints a package's closing line, and when it failed all that its failing
// and unfinished tests wrote.
func (s *summary) finish(name string, pkg *packageRun, action string) {
	delete(s.runs, name)
	if action == "fail" {
		lost := len(pkg.open) // a panic or the time limit ended the process in the middle of these
		if lost+pkg.failed == 0 {
			lost = 1 // it did not build, or failed outside its tests
		}
		s.current().failed += lost
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
	if s.strict && len(s.skipped) > 0 {
		fmt.Fprintln(s.out, "FAIL\tno test may be skipped with CI=true")
		whole = false
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", passed, failed)
	return whole && failed == 0 && passed > 0
}

// slowest returns the tests that took longest, in descending order. A test that has subtests is
// left out: they are tests of their own.
func (s *summary) slowest() []timing {
	parents := map[string]bool{}
	for _, t := range s.timings {
		for i, r := range t.test {
			if r == '/' {
				parents[t.test[:i]] = true
			}
		}
	}
	leaves := slices.DeleteFunc(slices.Clone(s.timings), func(t timing) bool { return parents[t.test] })
	slices.SortStableFunc(leaves, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	return leaves[:min(len(leaves), slowestTests)]
}
