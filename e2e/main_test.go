// Package e2e drives the real binary from outside: processes, sockets, files, real clients. It
// knows the interface and nothing within.
//
// The binary is built once for a run. Every test starts processes of its own on a directory of its
// own, so all run in parallel. It needs LARDER_TEST_POSTGRES, strace, Chromium, Node and the npm
// packages of browser/ (`make test` has them installed and started).
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the path of the program under test; its version was set to builtVersion.
var binary string

const builtVersion = "e2e-4711"

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "larder-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "larder")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X main.version="+builtVersion, "-o", binary, "larder/cmd/larder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
