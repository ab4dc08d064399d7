package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"larder/internal/blob/s3/s3test"
)

// litmusTests is the number of tests in each suite of litmus 0.13, including the two at its
// beginning and the one at its end.
var litmusTests = map[string]int{"basic": 16, "copymove": 13, "props": 30, "locks": 41, "http": 4}

var (
	litmusBegin = regexp.MustCompile("^-> running `(\\w+)':$")
	litmusTest  = regexp.MustCompile(`^ ?(\d+)\. \w+[. ]+pass$`)
)

// litmus runs all suites of litmus in a folder. Every line of its output must be expected: a
// warning, a skipped test and a missing test are failures.
func litmus(t *testing.T, folder string, k davKey) {
	out, code := program(t, t.TempDir(), "", "litmus", "-k", folder, k.user, k.password)
	passed, suite, ended := map[string]int{}, "", 0
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		// each test is printed at its beginning and overwritten at its end
		line = line[strings.LastIndex(line, "\r")+1:]
		if m := litmusBegin.FindStringSubmatch(line); m != nil {
			suite = m[1]
			continue
		}
		n := passed[suite]
		if m := litmusTest.FindStringSubmatch(line); m != nil && m[1] == strconv.Itoa(n) {
			passed[suite]++
			continue
		}
		if line == fmt.Sprintf("<- summary for `%s': of %d tests run: %d passed, 0 failed. 100.0%%", suite, n, n) {
			ended++
			continue
		}
		t.Errorf("litmus %s printed %q", suite, line)
	}
	if code != 0 || ended != len(litmusTests) || !maps.Equal(passed, litmusTests) {
		t.Errorf("litmus: exit code %d, passed %v, want %v\n%s", code, passed, litmusTests, out)
	}
}

// cadaver runs cadaver in a folder and checks that its output contains all of said, in order.
func cadaver(t *testing.T, dir, folder, script string, said ...string) (out string) {
	t.Helper()
	out, code := program(t, dir, script+"quit\n", "cadaver", folder)
	rest := out
	for _, words := range said {
		_, after, found := strings.Cut(rest, words)
		if !found {
			t.Fatalf("cadaver did not print %q where it should have:\n%s", words, out)
		}
		rest = after
	}
	if code != 0 {
		t.Errorf("cadaver: exit code %d\n%s", code, out)
	}
	return out
}

// cadaver runs all commands of the program on a file. The program forgets its locks when it ends,
// so the second run of their owner has to discover them. In between another user can read the
// locked file and not change it.
func (f *davFixture) cadaver(t *testing.T) {
	folder := f.url + "/webdav/shared/"
	host := strings.TrimPrefix(f.url, "http://")
	host, _, _ = strings.Cut(host, ":")
	home := func(k davKey) string {
		dir := t.TempDir()
		writeFile(t, fmt.Appendf(nil, "machine %s login %s password %s\n", host, k.user, k.password), dir, ".netrc")
		return dir
	}
	content, other := contentOf("cadaver", 12_345), contentOf("of somebody else", 777)
	mine, theirs := home(f.adminKey), home(f.sharedKey)
	writeFile(t, content, mine, "local.bin")
	writeFile(t, []byte("a line to read\n"), mine, "line.txt")
	writeFile(t, other, theirs, "local.bin")

	const ok = "succeeded."
	out := cadaver(t, mine, folder,
		"mkcol box\ncd box\nput local.bin a.bin\nput line.txt\nls\ncat line.txt\ncopy a.bin b.bin\nmove b.bin c.bin\n"+
			"propset c.bin colour green\npropget c.bin colour\nlock c.bin\ndiscover c.bin\nls\n",
		"Creating `box':", ok, "Uploading local.bin to `/webdav/shared/box/a.bin':", ok,
		"Uploading line.txt to `/webdav/shared/box/line.txt':", ok,
		"Listing collection", ok, "a.bin", " 12345 ", "line.txt", " 15 ", "a line to read",
		"Copying `/webdav/shared/box/a.bin' to `/webdav/shared/box/b.bin':", ok,
		"Moving `/webdav/shared/box/b.bin' to `/webdav/shared/box/c.bin':", ok,
		"Setting property on `c.bin':", ok, "Value of colour is: green", "Locking `c.bin':", ok,
		"Lock token <urn:uuid:", "/webdav/shared/box/c.bin'", "Scope: exclusive  Type: write", "Listing collection",
		"a.bin", "c.bin", " 12345 ", "line.txt")
	if strings.Contains(out, "failed") {
		t.Errorf("cadaver:\n%s", out)
	}
	if held := slices.Collect(maps.Keys(f.admin.below(t, "/shared/box", ""))); !slices.Equal(sorted(held),
		[]string{"a.bin", "c.bin", "line.txt"}) {
		t.Errorf("the folder holds %q", held)
	}

	const no = "failed:"
	cadaver(t, theirs, folder,
		"cd box\nput local.bin c.bin\ndelete c.bin\nmove c.bin d.bin\npropset c.bin colour red\nlock c.bin\n"+
			"get c.bin back.bin\nput local.bin a.bin\n",
		"Uploading", no, "423 Locked", "Deleting", no, "423 Locked", "Moving", no, "423 Locked", "Setting property", no,
		"423 Locked", "Locking", no, "423 Locked",
		"Downloading", ok, "Uploading", ok)
	wantSameFile(t, content, theirs, "back.bin")

	out = cadaver(t, mine, folder,
		"cd box\nsteal c.bin\nput line.txt c.bin\npropget c.bin colour\nunlock c.bin\nget c.bin back.txt\n"+
			"get a.bin back.bin\ndelete a.bin\ncd ..\nrmcol box\n",
		"Stealing locks", "<urn:uuid:", "Uploading", ok, "Value of colour is: green", "Unlocking `c.bin':", ok,
		"Downloading", ok, "Downloading", ok,
		"Deleting `a.bin':", ok)
	if strings.Contains(out, "423 Locked") {
		t.Errorf("cadaver:\n%s", out)
	}
	wantSameFile(t, []byte("a line to read\n"), mine, "back.txt")
	wantSameFile(t, other, mine, "back.bin")
	f.admin.do(t, "GET", "/api/files?path=/shared/box", nil).fails(t, 404, "NOT_FOUND")
}

// wantSameFile compares the content of a file.
func wantSameFile(t *testing.T, want []byte, path ...string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(path...))
	if err != nil || hash(got) != hash(want) {
		t.Errorf("%s has %d bytes (%v), want %d others", path[len(path)-1], len(got), err, len(want))
	}
}

// oddNames are file names that clients, proxies and servers often handle wrongly.
func oddNames() []string {
	names := []string{
		"a b", "a  b", "a+b", "50%", "50%25", "%2F", "%00", "%", "x#y", "#", "q?z", "a&b", "a&amp;b", "a;b", "it's",
		`say "x"`, "[1]", "{2}", "up^", "back`tick",
		"pi|pe", "less<more>", "~tilde", "~$doc.docx", "wow!", "cash$", "eq=", "com,ma", "at@", "col:on", "http:x",
		"\u00e4 \u00f6 \u00fc \u00df", "\u65e5\u672c\u8a9e",
		"\U0001f389 party", "\U0001f469\u200d\U0001f4bb", "\u03a9mega", ".hidden", "...", "..a", "a..b", "dot.",
		"-dash", "--help", "con", "nul.txt", "(brackets)", "*",
		"._x", ".DS_Store", "desktop.ini", "Thumbs.db", strings.Repeat("n", 250), strings.Repeat("\u00e9", 125),
		"webdav", "api", "UPPER", "upper",
	}
	return append(names, oddName)
}

// emptyFolders are the empty folders of oddTree.
var emptyFolders = []string{"nothing in it", "nor/in \u65e5/here"}

// oddTree writes files into a directory and returns their contents by path. Some are empty, some
// are deep, and all have odd names.
func oddTree(t *testing.T, dir string, files int) map[string][]byte {
	t.Helper()
	contents := map[string][]byte{}
	put := func(path, stored string, content []byte) {
		writeFile(t, content, dir, path)
		contents[stored] = content
	}
	names := oddNames()
	for _, name := range names {
		put("odd/"+name, "odd/"+name, contentOf(name, len(name)))
	}
	// A decomposed name as on macOS, which is stored in composed form.
	put("nfd/u\u0308ber.txt", "nfd/\u00fcber.txt", []byte("decomposed"))
	deep := "1/2 2/3#/4%/5\u00fc/\u65e56/7+/8"
	put(deep+"/deep", deep+"/deep", []byte("deep"))
	for i := len(contents); i < files; i++ {
		name := names[i%len(names)]
		path := fmt.Sprintf("many/%d %s/%d %s", i%7, names[i%7], i, name[:min(len(name), 20)])
		if strings.ToValidUTF8(path, "") != path { // cut within a character
			path = fmt.Sprintf("many/%d", i)
		}
		put(path, path, contentOf(path, i%9*50))
	}
	for _, empty := range emptyFolders {
		if err := os.MkdirAll(filepath.Join(dir, empty), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return contents
}

// below returns the entries below a folder by relative path; folders end in a slash.
func (c *client) below(t *testing.T, folder, prefix string) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	for _, e := range c.list(t, folder) {
		if e.Type != "folder" {
			all[prefix+e.Name] = e
			continue
		}
		all[prefix+e.Name+"/"] = e
		maps.Copy(all, c.below(t, e.full(), prefix+e.Name+"/"))
	}
	return all
}

// rclone is the program with a configuration and a tree of files. It limits itself to a hundred
// requests per second, so several processes copy a part of the tree each.
type rclone struct {
	dir, source string
	parts       []string
}

// run runs rclone and checks its exit code and a part of its output.
func (r *rclone) run(t *testing.T, want int, said string, args ...string) {
	t.Helper()
	args = append(args, "--config", filepath.Join(r.dir, "config"), "--transfers", "8", "--checkers", "8", "--retries",
		"1", "--low-level-retries", "1")
	if out, code := program(t, r.dir, "", "rclone", args...); code != want || !strings.Contains(out, said) {
		t.Errorf("rclone %q: exit code %d, want %d and %q\n%s", args, code, want, said, tail(out, 3000))
	}
}

// each runs rclone for each part of the tree and the corresponding remote folder, in parallel.
func (r *rclone) each(t *testing.T, want int, said, verb, folder string, more ...string) {
	t.Helper()
	var all sync.WaitGroup
	for _, part := range r.parts {
		all.Go(func() {
			r.run(t, want, said, append([]string{verb, filepath.Join(r.source, part), folder + "/" + part}, more...)...)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// rclone copies a tree of files, copies nothing the second time, moves the tree, also to another
// store where there is one, and deletes it.
func (f *davFixture) rclone(t *testing.T, parts, files int) {
	dir := t.TempDir()
	r := &rclone{dir: dir, source: filepath.Join(dir, "source")}
	contents := map[string][]byte{}
	for i := range parts {
		part := fmt.Sprintf("part %d", i)
		r.parts = append(r.parts, part)
		for path, content := range oddTree(t, filepath.Join(r.source, part), files) {
			contents[part+"/"+path] = content
		}
	}
	if len(contents) != parts*files {
		t.Fatalf("%d files were made, want %d", len(contents), parts*files)
	}
	obscured, _ := program(t, dir, "", "rclone", "obscure", f.adminKey.password)
	writeFile(t, fmt.Appendf(nil, "[larder]\ntype = webdav\nvendor = other\nurl = %s/webdav\nuser = %s\npass = %s\n",
		f.url, f.adminKey.user, obscured), dir, "config")
	const nothingTransferred, noFolder = 9, 3
	matching := func(files int) string { return fmt.Sprintf(": %d matching files", files) }

	r.run(t, 0, "", "mkdir", "larder:tree")
	r.each(t, 0, "", "sync", "larder:tree", "--create-empty-src-dirs")
	stored := f.admin.below(t, "/tree", "")
	stays := 0
	for path, e := range stored {
		if content, sent := contents[path]; sent && e.Size == int64(len(content)) {
			stays++
		} else if e.Type != "folder" {
			t.Errorf("%q is stored, of %d bytes", path, e.Size)
		}
	}
	if stays != parts*files {
		t.Errorf("%d files are stored as they were sent, want %d", stays, parts*files)
	}
	for _, part := range r.parts {
		for _, folder := range emptyFolders {
			if _, there := stored[part+"/"+folder+"/"]; !there {
				t.Errorf("the empty folder %q is missing", folder)
			}
		}
	}
	r.each(t, 0, matching(files), "check", "larder:tree", "--download")
	r.each(t, nothingTransferred, "", "sync", "larder:tree", "--create-empty-src-dirs", "--error-on-no-transfer")

	r.run(t, 0, "", "move", "larder:tree", "larder:other name")
	r.run(t, 0, matching(parts*files), "check", r.source, "larder:other name")
	moved := f.admin.below(t, "/other name", "")
	for path, e := range stored {
		if moved[path].ID != e.ID {
			t.Errorf("%q is another entry after the move", path)
		}
	}
	r.run(t, noFolder, "directory not found", "lsf", "larder:tree")
	if f.store == onDisk {
		f.admin.mount(t, "/cloud", f.provider(t, s3test.New(t), nil))
		r.run(t, 0, "", "move", "larder:other name/part 0/odd", "larder:cloud/odd")
		r.run(t, 0, matching(len(oddNames())), "check", filepath.Join(r.source, "part 0/odd"), "larder:cloud/odd",
			"--download")
		r.run(t, 0, "", "purge", "larder:cloud/odd")
	}
	r.run(t, 0, "", "purge", "larder:other name")
	r.run(t, noFolder, "directory not found", "lsf", "larder:other name")
	for _, e := range f.admin.list(t, "/") {
		if e.Name == "tree" || e.Name == "other name" {
			t.Errorf("there is still %s", e.Name)
		}
	}
}
