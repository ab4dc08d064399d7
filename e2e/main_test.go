// Package e2e tests the real binary from outside, with processes, sockets, files and real clients.
// It uses only the public interface.
//
// The binary is built once per run. Every test starts its own processes on its own directory, so
// all tests run in parallel. The tests need LARDER_TEST_POSTGRES, strace, Chromium, Node and the
// npm packages of browser/ (`make test` installs and starts them).
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the path of the tested program, whose version is set to builtVersion.
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
