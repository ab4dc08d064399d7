// Command testsum reads the output of scripts/test, one file for each sequence of suites that run in
// parallel with the others. A file has the events of `go test -json` for one suite after another.
// testsum prints a summary: the closing line of each package, the complete output of failures, the
// skipped tests, the duration of each suite in seconds, the slowest tests, and last "N passed, N
// failed".
//
// It exits with 1 when anything failed: a test, a package that did not build, a command with a
// non-zero exit code, a file that ends early, no test at all, and, with CI=true, a skipped test.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

func main() {
	summary := newSummary(os.Stdout, os.Getenv("CI") == "true")
	faults := make([]error, len(os.Args))
	var group sync.WaitGroup
	for i, path := range os.Args[1:] {
		group.Go(func() { faults[i] = summary.readFile(path) })
	}
	group.Wait()
	whole := summary.close()
	if err := errors.Join(faults...); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		whole = false
	}
	if !whole {
		os.Exit(1)
	}
}
