package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root      = "../.." // the top of the source tree, from this package
	casesFile = "docs/abuse-cases.md"
)

var update = flag.Bool("update", false, "write the tests of each case into "+casesFile)

// TestTree applies every rule to the tree as it lies on disk, committed or not.
func TestTree(t *testing.T) {
	packages := listPackages(t)
	t.Run("imports go down", func(t *testing.T) { reportAll(t, Layers(packages)) })
	t.Run("package and file names are specific", func(t *testing.T) { reportAll(t, Names(packages)) })
	t.Run("direct modules are few", func(t *testing.T) { reportAll(t, Modules(listRequirements(t), packages)) })
	texts := readFiles(t)
	names := slices.Sorted(maps.Keys(texts))
	t.Run("files keep the rules", func(t *testing.T) {
		var sources int
		for _, name := range names {
			text := texts[name]
			reportAll(t, Text(name, text))
			if hasWidth(name) {
				reportAll(t, Width(name, text))
			}
			switch {
			case path.Ext(name) == ".go":
				sources++
				reportAll(t, Source(name, text))
			case path.Ext(name) == ".md":
				reportAll(t, Columns(name, text))
			case path.Base(name) == "package-lock.json":
				reportAll(t, Lock(name, text))
			}
		}
		if sources < 10 {
			t.Errorf("only %d Go files were seen", sources)
		}
	})
	t.Run("references resolve", func(t *testing.T) {
		tree := Tree{Files: names, Texts: texts, Anchors: map[string]map[string]bool{},
			Cases: Numbers(texts[casesFile])}
		for _, name := range names {
			if path.Ext(name) == ".md" {
				tree.Anchors[name] = Anchors(texts[name])
			}
		}
		for _, name := range names {
			reportAll(t, References(name, texts[name], tree))
		}
	})
	t.Run("abuse cases list their tests", func(t *testing.T) {
		shown := Shown{}
		for _, name := range names {
			shown.Collect(name, texts[name])
		}
		found, renewed := Cases(casesFile, texts[casesFile], shown)
		if !*update {
			reportAll(t, found)
			return
		}
		if err := os.WriteFile(filepath.Join(root, casesFile), renewed, 0o666); err != nil {
			t.Fatal(err)
		}
	})
}

// readFiles returns the texts of the files of the tree.
func readFiles(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for _, name := range listFiles(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) { // deleted, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	return texts
}

// reportAll fails the test with the findings.
func reportAll(t *testing.T, found []Finding) {
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

// listFiles returns the files that git tracks or would track, from the root, with slashes. In a
// tree without a repository it returns all files but those that are made there.
func listFiles(t *testing.T) []string {
	t.Helper()
	if !isRepository(t, root) {
		return walkFiles(t)
	}
	out := output(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// walkFiles returns the files below the root, without those that a build or a service makes.
func walkFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	made := map[string]bool{"bin": true, "data": true, "web/node_modules": true, "web/dist": true}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && made[name]:
			return filepath.SkipDir
		case entry.Type().IsRegular():
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
