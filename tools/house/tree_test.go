package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the source tree, from this package.
const root = "../.."

// TestTree applies every rule to the tree as it lies on disk, committed or not.
func TestTree(t *testing.T) {
	packages := listPackages(t)
	t.Run("imports go down", func(t *testing.T) { show(t, Layers(packages)) })
	t.Run("packages have names that say something", func(t *testing.T) { show(t, Names(packages)) })
	t.Run("direct modules are few", func(t *testing.T) { show(t, Modules(listRequirements(t), packages)) })
	t.Run("files keep the rules", func(t *testing.T) {
		var sources int
		for _, name := range listFiles(t) {
			text, err := os.ReadFile(filepath.Join(root, name))
			if errors.Is(err, os.ErrNotExist) { // deleted, and not yet committed
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			show(t, Text(name, text))
			switch {
			case path.Ext(name) == ".go":
				sources++
				show(t, Source(name, text))
			case path.Base(name) == "package-lock.json":
				show(t, Lock(name, text))
			}
		}
		if sources < 10 {
			t.Errorf("only %d Go files were seen", sources)
		}
	})
}

// show fails the test with the findings.
func show(t *testing.T, found []Finding) {
	t.Helper()
	for _, finding := range found {
		t.Error(finding)
	}
}

// output runs a command at the root.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(name, args...)
	command.Dir, command.Stderr = root, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, &stderr)
	}
	return out
}

// listPackages returns the packages of the main module.
func listPackages(t *testing.T) []Package {
	t.Helper()
	var packages []Package
	decoder := json.NewDecoder(bytes.NewReader(output(t, "go", "list", "-json=ImportPath,Name,Imports", "./...")))
	for {
		var pkg Package
		err := decoder.Decode(&pkg)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, pkg)
	}
	if len(packages) < 3 {
		t.Fatalf("go list knows only %d packages", len(packages))
	}
	return packages
}

// listRequirements returns the require lines of go.mod.
func listRequirements(t *testing.T) []Requirement {
	t.Helper()
	var mod struct{ Require []Requirement }
	if err := json.Unmarshal(output(t, "go", "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	return mod.Require
}

// listFiles returns the files that git tracks or would track, from the root, with slashes.
func listFiles(t *testing.T) []string {
	t.Helper()
	out := output(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
