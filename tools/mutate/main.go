// Command mutate removes the guards of the service one by one (table.go) and runs the test that
// covers each: if the test passes without the guard, the guard is not tested. It works on a copy of
// the source tree, including uncommitted changes, in a temporary directory.
//
//	mutate [NAME...]    run at the top of the tree; names of guards or prefixes of names; without names all guards
//
// It prints a line for each guard. It exits with 1 when a guard survives: when its test passes
// without it, when the text to be replaced does not occur exactly once, when the mutated code does
// not compile, or when the test fails with all guards in place. scripts/mutate starts the services
// that the tests need.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// run applies the named mutations, all of them without names, one by one, prints the outcomes as a
// table, and reports whether every one was killed.
func run(ctx context.Context, out io.Writer, names []string) (ok bool, err error) {
	chosen, err := choose(mutations, names)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "larder-mutate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(dir); err != nil {
		return false, fmt.Errorf("copy the source tree: %w", err)
	}
	if err := checkUnmutated(ctx, dir, chosen); err != nil {
		return false, err
	}
	fmt.Fprint(out, "| guard | file | test | outcome | seconds |\n| --- | --- | --- | --- | --- |\n")
	survived := 0
	for _, m := range chosen {
		begin := time.Now()
		outcome, said := tryMutation(ctx, dir, m)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		fmt.Fprintf(out, "| %s: %s | `%s` | `%s` | %s | %.0f |\n", m.name, m.guard, m.file,
			strings.ReplaceAll(m.test, "|", `\|`), outcome, time.Since(begin).Seconds())
		if outcome != killed {
			survived++
			fmt.Fprintln(os.Stderr, said)
		}
	}
	fmt.Fprintf(out, "\n%d guards, %d killed, %d not.\n", len(chosen), len(chosen)-survived, survived)
	return survived == 0, nil
}

// choose returns those of all mutations whose names begin with one of the given names, all without
// names. Error: a name that fits none.
func choose(all []mutation, names []string) ([]mutation, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []mutation
	for _, name := range names {
		begins := func(m mutation) bool { return strings.HasPrefix(m.name, name) }
		if !slices.ContainsFunc(all, begins) {
			return nil, fmt.Errorf("there is no guard %q", name)
		}
	}
	for _, m := range all {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(m.name, name) }) {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// copyTree copies the files that git tracks or would track, in their state on disk, into the
// directory to.
func copyTree(to string) error {
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		info, err := os.Lstat(name)
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// checkUnmutated runs the tests of the chosen mutations with all guards in place, and fails when
// one fails: a test that fails anyway would kill every mutation.
func checkUnmutated(ctx context.Context, dir string, chosen []mutation) error {
	tests := map[string][]string{}
	for _, m := range chosen {
		if !slices.Contains(tests[m.pkg], m.test) {
			tests[m.pkg] = append(tests[m.pkg], m.test)
		}
	}
	for pkg, patterns := range tests {
		fmt.Fprintf(os.Stderr, "with all guards in place: ./%s, %d tests\n", pkg, len(patterns))
		said, err := runTest(ctx, dir, pkg, strings.Join(patterns, "|"))
		if err != nil || outcomeOf(said, err) == noTest {
			return fmt.Errorf("%s, with all guards in place: %v\n%s", pkg, err, said)
		}
	}
	return nil
}

// tryMutation removes one guard in the copy dir, runs its test and restores the guard. outcome is
// killed or why it is not; said is the output.
func tryMutation(ctx context.Context, dir string, m mutation) (outcome, said string) {
	file := filepath.Join(dir, m.file)
	before, err := os.ReadFile(file)
	if err != nil {
		return notApplied, err.Error()
	}
	after, err := m.apply(string(before))
	if err != nil {
		return notApplied, err.Error()
	}
	if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
		return notApplied, err.Error()
	}
	defer func() { _ = os.WriteFile(file, before, 0o644) }() // after a failed write the next mutation fails
	said, err = runTest(ctx, dir, m.pkg, m.test, "-failfast")
	return outcomeOf(said, err), said
}

// The outcomes.
const (
	killed     = "killed"
	survived   = "SURVIVED"
	notApplied = "DOES NOT APPLY"
	broken     = "DOES NOT COMPILE"
	noTest     = "NO SUCH TEST"
)

// outcomeOf returns what a run of go test, which printed said and ended with err, says about a
// mutation: killed when the test failed, survived when it passed, broken or noTest.
func outcomeOf(said string, err error) string {
	switch {
	case strings.Contains(said, "[build failed]"), strings.Contains(said, "[setup failed]"):
		return broken
	case strings.Contains(said, "no tests to run"):
		return noTest
	case err == nil:
		return survived
	}
	return killed
}

// runTest runs the tests of one package of the copy dir that match pattern, and returns their
// output.
func runTest(ctx context.Context, dir, pkg, pattern string, flags ...string) (said string, err error) {
	// the last two for speed
	args := append([]string{"test", "-count=1", "-timeout=10m", "-vet=off", "-ldflags=-s -w"}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, "-run", pattern, "./"+pkg)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // go test passes the signal on
	command.WaitDelay = 10 * time.Second
	out, err := command.CombinedOutput()
	return string(out), err
}
