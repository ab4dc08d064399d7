package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// faultFixture is a site whose store or database fails during a request.
type faultFixture struct {
	*site
	p     *process
	admin *client
	token string
	root  string // the directory of the store
	kept  string // content of /uploads/kept.bin
}

// systemFault is a fault of the operating system. begin injects it into a running server and
// returns a function that ends it. temp is the temporary file of the body in progress.
type systemFault struct {
	name         string
	begin        func(t *testing.T, a *faultFixture, temp string) (end func())
	failsStores  bool // bytes cannot be stored
	failsCommits bool // nothing can be committed
	failsOpens   bool // nothing can be opened
	separate     bool // the store is on a small file system of its own
}

var systemFaults = []systemFault{
	{name: "EIO on write", failsStores: true, begin: func(t *testing.T, a *faultFixture, temp string) func() {
		return a.p.inject(t, "write", "EIO", temp)
	}},
	{name: "EIO on fsync of the bytes", failsStores: true,
		begin: func(t *testing.T, a *faultFixture, temp string) func() {
			return a.p.inject(t, "fsync", "EIO", temp)
		}},
	{name: "EIO on rename", failsStores: true, begin: func(t *testing.T, a *faultFixture, temp string) func() {
		return a.p.inject(t, "renameat2", "EIO", filepath.Dir(temp))
	}},
	{name: "EIO on fsync of the directory", failsStores: true,
		begin: func(t *testing.T, a *faultFixture, _ string) func() {
			shards := []string{a.root}
			for i := range 256 {
				shards = append(shards, filepath.Join(a.root, fmt.Sprintf("%02x", i)))
			}
			return a.p.inject(t, "fsync", "EIO", shards...)
		}},
	{name: "EIO on fdatasync of the database", failsCommits: true,
		begin: func(t *testing.T, a *faultFixture, _ string) func() {
			return a.p.inject(t, "fsync,fdatasync", "EIO", filepath.Join(a.dir, "larder.db-wal"))
		}},
	{name: "ENOSPC and a short write", failsStores: true, separate: true, begin: fillUp},
	{name: "EMFILE", failsStores: true, failsOpens: true, begin: func(t *testing.T, a *faultFixture, _ string) func() {
		before := a.p.limitFiles(t, "1")
		return func() { a.p.limitFiles(t, before) }
	}},
}

// Abuse cases C124 and C128: the store or the database fails during an upload, a replacement or a
// completion. The client receives an error and never a success, earlier content stays readable,
// nothing stays reserved, and the server works again when the fault ends.
func TestFaultsOfTheSystem(t *testing.T) {
	t.Parallel()
	for _, m := range systemFaults {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			a := newFaultFixture(t, m.separate)
			content := bytes.Repeat([]byte("new content "), 200_000) // 2.4 MB
			during := func(op func(between func()) reply) {
				t.Helper()
				end := func() {}
				r := op(func() { end = m.begin(t, a, a.temporary(t)) })
				end()
				if r.status < 500 {
					t.Errorf("answered %d while it was failing: %s", r.status, tail(string(r.body), 300))
				}
				a.wantHealthy(t)
			}
			key := http.Header{"Authorization": {"Bearer " + a.token}, "X-File-Name": {"new.bin"}}
			during(func(between func()) reply { return a.halves(t, "POST", "/api/upload", key, content, between) })
			// when the answer to a commit is lost, the file may exist
			if n := len(a.admin.list(t, "/uploads")); n != 1 && !m.failsCommits {
				t.Errorf("%d files after an upload that failed, want the one before", n)
			}
			a.wantFreed(t, m.failsCommits)

			begin := func() uploadSession {
				return a.admin.announce(t, "/uploads", "kept.bin", int64(len(content)), object{"conflict": "replace"})
			}
			session := begin()
			raw := "/api/files/upload/raw/" + session.SessionID
			cookies := a.admin.headers(t)
			during(func(between func()) reply { return a.halves(t, "PUT", raw, cookies, content, between) })
			a.admin.do(t, "POST", "/api/files/upload-complete",
				object{"sessionId": session.SessionID, "etag": hash(content)}).fails(t, 422, "OPERATION_FAILED")
			a.admin.do(t, "DELETE", "/api/files/upload/multipart/"+session.SessionID, nil).want(t, 200)
			a.wantFreed(t, m.failsCommits)

			session = begin()
			raw = "/api/files/upload/raw/" + session.SessionID
			a.admin.do(t, "PUT", raw, content).want(t, 200)
			complete := func() reply {
				return a.admin.do(t, "POST", "/api/files/upload-complete",
					object{"sessionId": session.SessionID, "etag": hash(content)})
			}
			if m.failsCommits || m.failsOpens {
				end := m.begin(t, a, "")
				r := complete()
				end()
				if r.status < 500 {
					t.Errorf("completed with %d while it was failing: %s", r.status, r.body)
				}
				a.wantHealthy(t)
			}
			complete().want(t, 200)
			a.kept = string(content)
			a.wantHealthy(t)
			a.wantFreed(t, m.failsCommits)
			withKey(a.token, a.p.url).mustRaw(t, "new.bin", "", "application/x-test", content)
			a.fsck(t)
			a.p.stop(t)
		})
	}
}

func newFaultFixture(t *testing.T, separate bool) *faultFixture {
	t.Helper()
	a := &faultFixture{site: newSite(t), kept: strings.Repeat("old ", 1000)}
	objects := filepath.Join(a.dir, "objects")
	if separate {
		objects = filepath.Join(filepath.Dir(a.dir), "small")
		if err := os.Mkdir(objects, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", objects, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
			t.Logf("no file system of 16 MiB can be mounted here (%v): the full disk is made up by strace instead", err)
		} else {
			t.Cleanup(func() {
				if err := syscall.Unmount(objects, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
		}
	}
	a.env["LARDER_OBJECT_DIR"], a.env["LARDER_MIN_FREE"] = objects, "0"
	a.root = filepath.Join(objects, "default")
	a.p = a.start(t)
	a.admin, a.token = a.p.admin(t), a.key(t, "admin")
	withKey(a.token, a.p.url).mustRaw(t, "kept.bin", "", "application/x-test", []byte(a.kept))
	return a
}

// wantHealthy fails the test unless the server is ready and shows the expected files.
func (f *faultFixture) wantHealthy(t *testing.T) {
	t.Helper()
	f.p.await(t, "ready", func() bool { return f.p.probe("/api/public/health/ready") == 200 })
	if got := f.admin.do(t, "GET", "/uploads/kept.bin", nil).want(t, 200).body; string(got) != f.kept {
		t.Errorf("the object stored before has %d bytes now, want %d", len(got), len(f.kept))
	}
}

// wantFreed fails the test when a reservation remains. When even the release could not be
// committed, it is released within the hour.
func (f *faultFixture) wantFreed(t *testing.T, later bool) {
	t.Helper()
	d := f.sqlite(t)
	defer d.Close()
	var reserved, files, pending int64
	if err := d.QueryRow("SELECT sum(reserved_storage), sum(reserved_files) FROM quotas").
		Scan(&reserved, &files); err != nil {
		t.Fatal(err)
	}
	if err := d.QueryRow("SELECT COALESCE(sum(reserved_storage), 0) FROM upload_sessions WHERE status = 'pending'").
		Scan(&pending); err != nil {
		t.Fatal(err)
	}
	if reserved != pending || !later && (reserved != 0 || files != 0) {
		t.Errorf("%d bytes and %d files are reserved, %d bytes by uploads under way", reserved, files, pending)
	}
}

// temporary waits for the file to which the body in progress is written.
func (f *faultFixture) temporary(t *testing.T) string {
	t.Helper()
	path := ""
	f.p.await(t, "writing to a temporary file", func() bool {
		names, err := filepath.Glob(filepath.Join(f.root, "tmp", "*-*"))
		if err == nil && len(names) == 1 {
			path = names[0]
		}
		return path != ""
	})
	return path
}

// headers returns the client's headers: its cookies and its token.
func (c *client) headers(t *testing.T) http.Header {
	t.Helper()
	req, err := http.NewRequest("GET", c.bases[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range c.http.Jar.Cookies(req.URL) {
		req.AddCookie(cookie)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	return req.Header
}

// halves sends a request whose body pauses in the middle while between runs.
func (f *faultFixture) halves(t *testing.T, method, path string, header http.Header, body []byte,
	between func()) reply {
	t.Helper()
	half := len(body) / 2
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, path,
		strings.TrimPrefix(f.p.url, "http://"), len(body))
	header.Write(&head) // into memory
	fmt.Fprintf(&head, "\r\n%s", body[:half])
	resp, text := f.p.exchangePaused(t, head.String(), between, string(body[half:]))
	return reply{status: resp.StatusCode, header: resp.Header, body: []byte(text)}
}

var attached = regexp.MustCompile(`Process (\d+) attached`)

// inject makes system calls on some files fail until the returned function is called, which also
// checks that one failed.
func (p *process) inject(t *testing.T, calls, errno string, paths ...string) (end func()) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	args := []string{"-f", "-p", fmt.Sprint(p.cmd.Process.Pid), "-o", log, "-e", "trace=" + calls, "-e",
		"inject=" + calls + ":error=" + errno}
	for _, path := range paths {
		args = append(args, "-P", path)
	}
	cmd, said, exited := exec.Command("strace", args...), newOutput(), make(chan struct{})
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait() // ended by a signal
		close(exited)
	}()
	said.wait(t, exited, attached)
	return func() {
		t.Helper()
		cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended
		<-exited
		if text, _ := os.ReadFile(log); !bytes.Contains(text, []byte("INJECTED")) {
			t.Errorf("no %s on %v failed", calls, paths[0])
		}
	}
}

// fillUp leaves half a MiB free on the small file system.
func fillUp(t *testing.T, a *faultFixture, temp string) (end func()) {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(a.root, &disk); err != nil {
		t.Fatal(err)
	}
	if disk.Blocks*uint64(disk.Bsize) > 16<<20 {
		return a.p.inject(t, "write", "ENOSPC", temp)
	}
	ballast := filepath.Join(filepath.Dir(a.root), "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// the server may still be writing earlier data
	for err = syscall.ENOSPC; errors.Is(err, syscall.ENOSPC); {
		if err := syscall.Statfs(a.root, &disk); err != nil {
			t.Fatal(err)
		}
		room := int64(disk.Bavail) * disk.Bsize
		if room <= 1<<19 {
			break
		}
		err = syscall.Fallocate(int(f.Fd()), 0, 0, room-(1<<19))
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
}

var openFiles = regexp.MustCompile(`(?m)^Max open files\s+(\d+)`)

// limitFiles sets the limit of open files of the process and returns the previous one.
func (p *process) limitFiles(t *testing.T, soft string) (before string) {
	t.Helper()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("prlimit", "--pid", fmt.Sprint(p.cmd.Process.Pid), "--nofile="+soft+":").
		CombinedOutput(); err != nil {
		t.Fatalf("prlimit: %v: %s", err, out)
	}
	return string(openFiles.FindSubmatch(limits)[1])
}
