//go:build davfs2

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// davfs2 mounts a drive with an empty cache. It returns the directory and a function that waits for
// all uploads and unmounts it.
func (f *davFixture) davfs2(t *testing.T) (mounted string, unmount func()) {
	t.Helper()
	dir := t.TempDir()
	mounted = filepath.Join(dir, "drive")
	for _, folder := range []string{mounted, filepath.Join(dir, "cache")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	group, err := user.LookupGroup("davfs2") // the program runs with this group
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(group.Gid)
	cache := filepath.Join(dir, "cache")
	if err = errors.Join(err, os.Chown(cache, -1, number), os.Chmod(cache, 0o770),
		os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	address := f.url + "/webdav"
	writeFile(t, fmt.Appendf(nil, "%s %s %s\n", address, f.adminKey.user, f.adminKey.password), dir, "secrets")
	// buf_size: Linux 6.18 reads folders in larger pages than davfs2 1.6 supports by default.
	writeFile(t, fmt.Appendf(nil, "secrets %s/secrets\ncache_dir %s/cache\nask_auth 0\nbuf_size 1024\ndelay_upload 0\n",
		dir, dir), dir, "davfs2.conf")
	if out, code := program(t, dir, "", "/usr/sbin/mount.davfs", "-o", "conf="+filepath.Join(dir, "davfs2.conf"),
		address, mounted); code != 0 {
		t.Fatalf("mount.davfs: exit code %d\n%s", code, out)
	}
	is := true
	unmount = func() {
		if !is {
			return
		}
		is = false
		if out, code := program(t, dir, "", "umount", mounted); code != 0 {
			t.Errorf("umount: exit code %d\n%s", code, out)
		}
	}
	t.Cleanup(unmount)
	return mounted, unmount
}

// filesBelow returns the contents of the files below a directory by path; folders end in a slash.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path) // both paths are absolute
		switch {
		case err != nil || rel == ".":
			return err
		case e.IsDir():
			found[rel+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(path)
		found[rel] = hash(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A drive mounted by davfs2 behaves like a folder: what is written there can be read there, by the
// API, and after a new mount. The test requires root and FUSE, so scripts/soak runs it.
func TestMountByDavfs2(t *testing.T) {
	w := newDAVFixture(t, "sqlite", onDisk)
	c := w.adminKey.client(w.url)
	want := map[string]string{}
	mounted, unmount := w.davfs2(t)
	drive := filepath.Join(mounted, "shared")
	put := func(path string, content []byte) {
		t.Helper()
		writeFile(t, content, drive, path)
		want[path] = hash(content)
		for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
			want[up+"/"] = ""
		}
	}
	for _, name := range oddNames() {
		if len(name) < 240 { // davfs2 appends to names in its cache
			put("odd/"+name, contentOf(name, 3000))
		}
	}
	put("1/2/3/4/deep", []byte("deep"))
	put("large.bin", contentOf("large", 8<<20+3))
	put("empty", nil)
	same := func(when string, got map[string]string) {
		t.Helper()
		for path, content := range want {
			if got[path] != content {
				t.Errorf("%s: %q is not as it was written", when, path)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: there is %q, want %q", when, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
	same("written", filesBelow(t, drive))

	if err := os.Rename(filepath.Join(drive, "1/2"), filepath.Join(drive, "two")); err != nil {
		t.Fatal(err)
	}
	delete(want, "1/2/")
	for path := range maps.Clone(want) {
		if rest, moved := strings.CutPrefix(path, "1/2/"); moved {
			want["two/"+rest] = want[path]
			delete(want, path)
		}
	}
	want["two/"] = ""
	f, err := os.OpenFile(filepath.Join(drive, "large.bin"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("more")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	want["large.bin"] = hash(append(contentOf("large", 8<<20+3), "more"...))
	if err := os.Remove(filepath.Join(drive, "empty")); err != nil {
		t.Fatal(err)
	}
	delete(want, "empty")
	unmount()

	stored := map[string]string{}
	for path, e := range w.admin.below(t, "/shared", "") {
		stored[path] = ""
		if e.Type != "folder" {
			stored[path] = hash(c.do(t, "GET", "/webdav"+escaped(e.full()), nil).want(t, 200).body)
			if told := c.do(t, "PROPFIND", "/webdav"+escaped(e.full()), nil, "Depth", "0").want(t, 207).
				body; strings.Contains(string(told), "activelock") {
				t.Errorf("%s is still locked", path)
			}
		}
	}
	same("stored", stored)

	mounted, unmount = w.davfs2(t)
	drive = filepath.Join(mounted, "shared")
	same("mounted anew", filesBelow(t, drive))
	for path := range want {
		top, _, _ := strings.Cut(path, "/")
		if err := os.RemoveAll(filepath.Join(drive, top)); err != nil {
			t.Fatal(err)
		}
	}
	unmount()
	if left := w.admin.list(t, "/shared"); len(left) > 0 {
		t.Errorf("after all was removed there is %+v", left)
	}
	w.fsck(t)
}
