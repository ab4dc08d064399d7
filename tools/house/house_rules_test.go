package house

import (
	"fmt"
	"strings"
	"testing"
)

// expect compares findings with the parts of their texts that are wanted, in order.
func expect(t *testing.T, found []Finding, want ...string) {
	t.Helper()
	if len(found) != len(want) {
		t.Fatalf("%d findings, want %d: %v", len(found), len(want), found)
	}
	for i, part := range want {
		if !strings.Contains(found[i].String(), part) {
			t.Errorf("finding %q does not say %q", found[i], part)
		}
	}
}

func TestLayers(t *testing.T) {
	for _, test := range []struct {
		name, pkg string
		imports   string // separated by spaces
		want      []string
	}{
		{"down is fine", "larder/internal/files", "fmt larder/internal/access larder/internal/db", nil},
		{"left in the row is fine", "larder/internal/mount", "larder/internal/provider", nil},
		{"a child counts as its parent", "larder/internal/blob/disk", "larder/internal/blob larder/internal/fault",
			nil},
		{"a command takes all", "larder/cmd/larder", "larder/internal/app larder/internal/config", nil},
		{"up", "larder/internal/db", "larder/internal/files",
			[]string{"internal/db: imports internal/files, which does not lie below"}},
		{"right in the row", "larder/internal/access", "larder/internal/account", []string{"does not lie below"}},
		{"a child goes up like its parent", "larder/internal/blob/s3", "larder/internal/provider",
			[]string{"does not lie below"}},
		{"a foundation takes no domain package", "larder/internal/fault", "larder/internal/vpath",
			[]string{"does not lie below"}},
		{"unknown", "larder/internal/stuff", "fmt", []string{"internal/stuff: has no place"}},
		{"a longer name is not a child", "larder/internal/filesystem", "fmt", []string{"has no place"}},
		{"the root holds no package", "larder", "fmt", []string{"has no place"}},
		{"configuration stays above", "larder/internal/api", "larder/internal/config",
			[]string{"which only internal/app, internal/apptest, cmd may"}},
		{"test support in the product", "larder/internal/provider", "larder/internal/blob/blobtest",
			[]string{"is for tests"}},
		{"test support in test support", "larder/internal/apptest", "larder/internal/app larder/internal/blob/blobtest",
			nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expect(t, Layers([]Package{{ImportPath: test.pkg, Imports: strings.Fields(test.imports)}}), test.want...)
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"files", "upload", "blobtest", "ident"} {
		expect(t, Names([]Package{{ImportPath: "larder/internal/" + good, Name: good}}))
	}
	for _, bad := range []string{"util", "utils", "common", "helper", "helpers", "models", "model", "types", "service",
		"misc", "httputil", "testhelpers"} {
		expect(t, Names([]Package{{ImportPath: "larder/internal/" + bad, Name: bad}}), bad+": is a package")
	}
	expect(t, Names([]Package{{ImportPath: "larder/internal/common/disk", Name: "disk"}}), "says nothing")
}

func TestModules(t *testing.T) {
	t.Parallel()
	var required []Requirement
	pkg := Package{ImportPath: "larder/internal/db"}
	for i := range 25 {
		path := fmt.Sprintf("example.com/m%02d", i)
		required = append(required, Requirement{Path: path})
		pkg.Imports = append(pkg.Imports, path+"/part")
	}
	tests := Package{ImportPath: "larder/internal/apptest", Imports: []string{"example.com/compare"}}
	required = append(required, Requirement{Path: "example.com/far", Indirect: true},
		Requirement{Path: "example.com/compare"})
	expect(t, Modules(required, []Package{pkg, tests}))

	pkg.Imports = append(pkg.Imports, "example.com/compare")
	expect(t, Modules(required, []Package{pkg, tests}), "go.mod: 26 direct modules; 25 are the most")
}

func TestText(t *testing.T) {
	t.Parallel()
	expect(t, Text("a.md", []byte("We work/rest.\nhttps://example.com/network/x docs/decisions.md\n")))
	expect(t, Text("a.md", []byte("fine\ncd /wor"+"k/main\n")), "a.md:2: names /wor"+"k/")
	expect(t, Text("a.go", []byte("// see ../sha"+"red/x\n// see SPE"+"C.md\n// see DECI"+"SIONS.md\n")), "a.go:1",
		"a.go:2", "a.go:3")
}

func TestLock(t *testing.T) {
	t.Parallel()
	expect(t, Lock("package-lock.json", []byte("{\n  \"version\": \"1.0.0\",\n  \"url\": \"https://example.com\"\n}")))
	expect(t, Lock("package-lock.json", []byte("{\n  \"resolved\": \"https://registry.example.com/a.tgz\"\n}")),
		"package-lock.json:2: names the host")
}
