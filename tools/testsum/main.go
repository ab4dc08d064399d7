// Command testsum reads what scripts/test writes, the events of `go test -json` suite after
// suite, and prints what a person wants of it: go's closing line of each package, the failures
// in full, the tests that were skipped, the seconds of each suite, the slowest tests, and last
// "N passed, N failed".
//
// It exits 1 when anything failed: a test, a package that did not build, a command with a non-zero
// exit code although its events were good, a stream that ends early, no test at all, and, with
// CI=true, a skipped test.
package main

import (
	"fmt"
	"os"
)

func main() {
	summary := newSummary(os.Stdout, os.Getenv("CI") == "true")
	if err := summary.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	if !summary.close() {
		os.Exit(1)
	}
}
