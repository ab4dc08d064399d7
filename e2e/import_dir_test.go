package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pictures is a directory of the machine to import.
type pictures struct{ dir string }

// write writes a file with a time, and makes the directories above it.
func (p pictures) write(t testing.TB, name, content string, modified time.Time) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

// wantRun runs a command, and checks its exit code and that its output has some texts. It returns
// the output.
func (s *site) wantRun(t testing.TB, code int, args []string, texts ...string) string {
	t.Helper()
	out, errs, got := s.run(t, args...)
	if got != code {
		t.Fatalf("larder %q: exit code %d, want %d\n%s%s", args, got, code, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			t.Errorf("larder %q does not say %q:\n%s%s", args, text, out, errs)
		}
	}
	return out
}

// changed returns the path, id and time (ms) of each file below a folder.
func (c *client) changed(t testing.TB, folder string) (ids map[string]string, times map[string]int64) {
	t.Helper()
	ids, times = map[string]string{}, map[string]int64{}
	for _, file := range c.walk(t, folder) {
		var details struct{ File struct{ UpdatedAt int64 } }
		c.do(t, "GET", "/api/files/"+file.ID, nil).data(t, 200, &details)
		ids[file.full()], times[file.full()] = file.ID, details.File.UpdatedAt
	}
	return ids, times
}

// wantFiles checks all files below a folder, with their contents.
func (c *client) wantFiles(t testing.TB, folder string, want map[string]string) {
	t.Helper()
	files := c.walk(t, folder)
	if len(files) != len(want) {
		t.Errorf("%s has %v, want %d files", folder, files, len(want))
	}
	for _, file := range files {
		content, known := want[file.full()]
		if !known {
			t.Errorf("%s has %s", folder, file.full())
		} else if got := c.do(t, "GET", escaped(file.full()), nil).want(t, 200).body; hash(got) != hash([]byte(content)) {
			t.Errorf("%s has %d bytes, not the %d of the directory", file.full(), len(got), len(content))
		}
	}
}

// "I have 200 GB of pictures in /srv/photos and want them in my account, with their times."
func TestImportDir(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_URL"], s.env["LARDER_KEY"] = "https://files.example.org", "pk_a.sk_b" // of a client beside it
	p := s.start(t)
	admin := p.admin(t)
	admin.createUser(t, "anna", "correct horse", "user")
	anna := login(t, "anna", "correct horse", p.url)
	taken := time.Date(2019, 7, 14, 18, 30, 12, 345e6, time.UTC)
	from := pictures{filepath.Join(t.TempDir(), "photos")}
	large := strings.Repeat("lake and mountain ", 20000) // 360,000 bytes
	from.write(t, "2019/lake.jpg", large, taken)
	from.write(t, "2019/notes/empty.txt", "", time.UnixMilli(0))
	from.write(t, ".hidden", "secret", time.Date(1965, 1, 2, 3, 4, 5, 0, time.UTC))
	from.write(t, "future.txt", "tomorrow", time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	if err := os.Mkdir(filepath.Join(from.dir, "nothing"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"/home/anna/2019/lake.jpg": large, "/home/anna/2019/notes/empty.txt": "",
		"/home/anna/.hidden": "secret", "/home/anna/future.txt": "tomorrow"}
	command := []string{"import", "dir", from.dir, "--user", "anna"}

	// what it would do
	s.wantRun(t, 0, append(command, "--dry-run"),
		`To import into "/home/anna": 4 files with 360014 bytes, and 3 new folders. 0 files are there already`,
		"The quota of anna has room for 10737418240 bytes and 100000 files. That is enough.")
	if left := anna.list(t, "/home/anna"); len(left) != 0 {
		t.Errorf("a dry run made %v", left)
	}

	// files, bytes and times; an empty directory becomes a folder
	begin := time.Now().UnixMilli()
	s.wantRun(t, 0, command, "Imported 4 files with 360014 bytes", "made 3 folders")
	anna.wantFiles(t, "/home/anna", want)
	ids, times := anna.changed(t, "/home/anna")
	for path, at := range map[string]int64{"/home/anna/2019/lake.jpg": 1563129012345,
		"/home/anna/2019/notes/empty.txt": 0, "/home/anna/.hidden": -157668955000} {
		if times[path] != at {
			t.Errorf("%s is of %d, want %d", path, times[path], at)
		}
	}
	if at := times["/home/anna/future.txt"]; at < begin || at > time.Now().UnixMilli() {
		t.Errorf("a file of the future is of %d, want the time of its import", at)
	}
	if names := fmt.Sprint(anna.list(t, "/home/anna")); !strings.Contains(names, "nothing") {
		t.Errorf("the empty folder is not in %s", names)
	}
	if storage, files := anna.usage(t); storage != 360014 || files != 4 {
		t.Errorf("anna uses %d bytes and %d files", storage, files)
	}

	// a second run has nothing to do
	s.wantRun(t, 0, command, "Imported 0 files with 0 bytes", "4 files were there already")

	// a file that differs is left alone, unless it is to be replaced
	from.write(t, "2019/lake.jpg", "another lake", taken.Add(time.Hour))
	from.write(t, ".hidden", "secreT", taken)
	s.wantRun(t, 1, command, `differs  "2019/lake.jpg": `, `differs  ".hidden": `, "Left out 2: 2 differ")
	anna.wantFiles(t, "/home/anna", want)
	s.wantRun(t, 0, append(command, "--replace"), "Imported 2 files with 18 bytes",
		"2 files replaced others; 2 files were there already")
	want["/home/anna/2019/lake.jpg"], want["/home/anna/.hidden"] = "another lake", "secreT"
	anna.wantFiles(t, "/home/anna", want) // the server answered from memory before
	newIDs, times := anna.changed(t, "/home/anna")
	if lake := "/home/anna/2019/lake.jpg"; newIDs[lake] != ids[lake] || times[lake] != 1563132612345 {
		t.Errorf("the replaced file is %s of %d", newIDs[lake], times[lake])
	}
	var list struct{ Versions []struct{ SHA256 string } }
	anna.do(t, "GET", "/api/files/"+ids["/home/anna/2019/lake.jpg"]+"/versions", nil).data(t, 200, &list)
	if len(list.Versions) != 1 || list.Versions[0].SHA256 != hash([]byte(large)) {
		t.Errorf("the versions are %v", list)
	}

	// into a folder that is missing, of an account without a home
	s.wantRun(t, 2, []string{"import", "dir", from.dir, "--user", "admin"}, "name a folder with --into")
	s.wantRun(t, 0, []string{"import", "dir", "--into", "/public/of anna/2", "--user=admin", from.dir},
		"made 5 folders")
	admin.wantFiles(t, "/public/of anna", map[string]string{"/public/of anna/2/2019/lake.jpg": "another lake",
		"/public/of anna/2/2019/notes/empty.txt": "", "/public/of anna/2/.hidden": "secreT",
		"/public/of anna/2/future.txt": "tomorrow"})
	s.fsck(t)
	s.env["LARDER_NONSENSE"] = "1"
	s.wantRun(t, 2, command, "LARDER_NONSENSE in the environment is not a setting")
}

// What an account cannot have is reported, an entry a line, and the rest is imported.
func TestImportDirLeavesOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	admin := p.admin(t)
	id := admin.createUser(t, "anna", "correct horse", "user")
	anna := login(t, "anna", "correct horse", p.url)
	from := pictures{filepath.Join(t.TempDir(), "photos")}
	taken := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	from.write(t, "a.txt", "a letter", taken)
	for _, name := range []string{"two\nlines", "latin\xe9", "blank ", `back\slash`, "x\u202ey", "cafe\u0301", "caf\u00e9",
		"folder", "store/.larder-store"} {
		from.write(t, name, "refused", taken)
	}
	from.write(t, "file/in it.txt", "refused", taken)
	if err := os.Symlink("a.txt", filepath.Join(from.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(from.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	anna.mkdir(t, "/home/anna", "folder")
	anna.upload(t, "/home/anna", "file", []byte("a file"), nil)
	lines := []string{`refused  "two\nlines": `, `refused  "latin\xe9": A name must be valid UTF-8.`, `refused  "blank ": `,
		`refused  "back\\slash": `, `refused  "x\u202ey": `, `refused  "folder": The account has a folder of this name.`,
		`refused  "file": The account has a file of this name.`, `refused  "store": `, `refused  "café": `,
		`skipped  "link": `, `skipped  "pipe": `}
	command := []string{"import", "dir", from.dir, "--user", "anna"}
	s.wantRun(t, 1, append(command, "--dry-run"), append(lines, "2 files with 15 bytes", "11 other entries")...)
	s.wantRun(t, 1, command, append(lines, "Imported 2 files with 15 bytes",
		"Left out 11: 0 differ, 2 skipped, 9 refused, 0 failed.")...)
	all := map[string]string{"/home/anna/a.txt": "a letter", "/home/anna/caf\u00e9": "refused",
		"/home/anna/file": "a file"}
	anna.wantFiles(t, "/home/anna", all)

	// a quota that ends: what fits is imported
	whole := pictures{filepath.Join(t.TempDir(), "more")}
	whole.write(t, "1 large", strings.Repeat("x", 2000), taken)
	whole.write(t, "2 small", "fits", taken)
	admin.do(t, "PUT", "/api/admin/users/"+id, object{"maxStorage": 1000}).want(t, 200)
	command = []string{"import", "dir", whole.dir, "--user", "anna", "--into", "/home/anna/more"}
	s.wantRun(t, 1, append(command, "--dry-run"), "has room for 979 bytes and 99997 files",
		"not enough: the import needs 2004 bytes and 2 files")
	s.wantRun(t, 1, command, `failed   "1 large": The quota of the account has no room for this.`,
		"Imported 1 files with 4 bytes", "Left out 1: 0 differ, 0 skipped, 0 refused, 1 failed.")
	all["/home/anna/more/2 small"] = "fits"
	anna.wantFiles(t, "/home/anna", all)

	// neither Larder's own data, nor a target that is none
	for _, own := range []string{filepath.Dir(s.dir), s.dir, filepath.Join(s.dir, "objects", "default")} {
		s.wantRefused(t, "contains data of this Larder, or lies in it", "import", "dir", own, "--user", "anna")
	}
	s.wantRefused(t, "the target is a file", append(command[:5:5], "--into", "/home/anna/a.txt/below")...)
	s.wantRefused(t, "reserved", append(command[:5:5], "--into", "/api/x")...)
	s.wantRefused(t, `no account "nobody"`, "import", "dir", whole.dir, "--user", "nobody")
	s.wantRefused(t, "no such file", "import", "dir", whole.dir+"/missing", "--user", "anna")
	for _, wrong := range [][]string{{"import", "dir", whole.dir}, {"import", "dir", "--user", "anna"},
		{"import", "dir", whole.dir, "--user", "anna", "--into", "relative"}, {"import"}} {
		s.wantRun(t, 2, wrong)
	}
	admin.do(t, "PUT", "/api/admin/users/"+id, object{"status": "disabled"}).want(t, 200)
	s.wantRefused(t, "is disabled", command...)
	s.fsck(t)
}

// An import that a signal ends leaves whole files alone, and the same command continues.
func TestImportDirInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	admin := p.admin(t)
	from := pictures{filepath.Join(t.TempDir(), "photos")}
	taken := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	want := map[string]string{}
	for i := range 20 {
		content := strings.Repeat(fmt.Sprint(i), 1000)
		from.write(t, fmt.Sprintf("%02d/a.jpg", i), content, taken)
		want[fmt.Sprintf("/public/%02d/a.jpg", i)] = content
	}
	last := filepath.Join(from.dir, "zz last")
	from.write(t, "zz last", "", taken)
	if err := os.Truncate(last, 1<<30); err != nil { // a hole, which takes a while to copy
		t.Fatal(err)
	}
	command := []string{"import", "dir", from.dir, "--user", "admin", "--into", "/public"}
	for _, end := range []os.Signal{os.Interrupt, os.Kill} {
		said, state := s.endDuringCopy(t, end, command...)
		if end == os.Interrupt && (state.ExitCode() != 130 || !strings.Contains(said, "Interrupted.")) {
			t.Errorf("after SIGINT: exit code %d\n%s", state.ExitCode(), said)
		}
		if end == os.Kill && !wasKilled(state) {
			t.Errorf("the import ended before it was killed: %v\n%s", state, said)
		}
		admin.wantFiles(t, "/public", want)
		s.fsck(t)
	}
	from.write(t, "zz last", "short", taken)
	s.wantRun(t, 0, command, "Imported 1 files with 5 bytes", "20 files were there already")
	want["/public/zz last"] = "short"
	admin.wantFiles(t, "/public", want)
	s.fsck(t)
}

// endDuringCopy runs a command and sends it a signal while it writes an object of more than 1 MiB.
func (s *site) endDuringCopy(t testing.TB, end os.Signal, args ...string) (said string, state *os.ProcessState) {
	t.Helper()
	temporary := func() map[string]bool {
		found := map[string]bool{}
		entries, err := os.ReadDir(filepath.Join(s.dir, "objects/default/tmp"))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 1<<20 {
				found[entry.Name()] = true
			}
		}
		return found
	}
	before := temporary()
	var out bytes.Buffer
	command := s.command(args...)
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait() // the caller looks at the state
		close(exited)
	}()
	poll(t, exited, patience, "copying", func() bool {
		for name := range temporary() {
			if !before[name] {
				return true
			}
		}
		return false
	})
	_ = command.Process.Signal(end) // fails when it has ended, which the caller sees
	<-exited
	return out.String(), command.ProcessState
}
