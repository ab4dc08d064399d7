// Command testsum reads the output of scripts/test, the events of `go test -json` for one suite
// after another, and prints a summary: the closing line of each package, the complete output of
// failures, the skipped tests, the duration of each suite in seconds, the slowest tests, and last
// "N passed, N failed".
//
// It exits with 1 when anything failed: a test, a package that did not build, a command with a
// non-zero exit code, a stream that ends early, no test at all, and, with CI=true, a skipped test.
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
