package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Request bodies as the programs send them.
const (
	finderLock = `<?xml version="1.0" encoding="utf-8"?>
<D:lockinfo xmlns:D="DAV:">
<D:lockscope><D:exclusive/></D:lockscope>
<D:locktype><D:write/></D:locktype>
<D:owner>
<D:href>http://www.apple.com/webdav_fs/</D:href>
</D:owner>
</D:lockinfo>
`
	finderFolder = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:">
<D:prop>
<D:getlastmodified/>
<D:getcontentlength/>
<D:creationdate/>
<D:resourcetype/>
</D:prop>
</D:propfind>
`
	finderSpace = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:">
<D:prop>
<D:quota-available-bytes/>
<D:quota-used-bytes/>
<D:quota/>
<D:quotaused/>
</D:prop>
</D:propfind>
`
	windowsLock = `<?xml version="1.0" encoding="utf-8" ?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>` +
		`<D:locktype><D:write/></D:locktype><D:owner><D:href>DESKTOP\berta</D:href></D:owner></D:lockinfo>`
	windowsTimes = `<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>` +
		`<Z:Win32CreationTime>Sat, 21 Nov 2026 10:00:00 GMT</Z:Win32CreationTime><Z:Win32LastAccessTime>Sat, 21 Nov 2026 10:00:01 GMT</Z:Win32LastAccessTime>` +
		`<Z:Win32LastModifiedTime>Sat, 21 Nov 2026 10:00:02 GMT</Z:Win32LastModifiedTime><Z:Win32FileAttributes>00000020</Z:Win32FileAttributes>` +
		`</D:prop></D:set></D:propertyupdate>`
)

// streamed returns a body of unknown length, which is sent in chunks.
func streamed(content []byte) io.Reader { return io.MultiReader(strings.NewReader(string(content))) }

// lockToken returns the token in the answer to a LOCK.
func (r reply) lockToken(t *testing.T, status int) string {
	t.Helper()
	r.want(t, status)
	token := r.header.Get("Lock-Token")
	inside, opened := strings.CutPrefix(token, "<")
	inside, closed := strings.CutSuffix(inside, ">")
	if !opened || !closed || !strings.Contains(string(r.body),
		"<D:locktoken><D:href>"+inside+"</D:href></D:locktoken>") {
		t.Fatalf("Lock-Token %q, and the body %s", token, r.body)
	}
	return token
}

// finder saves a picture like macOS: it creates an empty file, locks it, sends the content in
// chunks, and repeats this for the file beside it.
func (f *davFixture) finder(t *testing.T) {
	c := f.bertaKey.client(f.url)
	c.header.Set("User-Agent", "WebDAVFS/3.0.0 (03008000) Darwin/23.6.0 (x86_64)")
	const folder = "/webdav/home/berta/"
	if dav := c.do(t, "OPTIONS", folder, nil).want(t, 200).
		header.Get("DAV"); !slices.Contains(strings.Split(strings.ReplaceAll(dav, " ", ""), ","), "2") {
		t.Errorf("DAV: %q, and without class 2 a volume of macOS is read-only", dav)
	}
	space := c.do(t, "PROPFIND", folder, []byte(finderSpace), "Content-Type", "text/xml", "Depth", "0").multi(t)
	if len(space.Responses) != 1 || !strings.Contains(space.Responses[0].Propstats[0].Prop.Inner, "quota-used-bytes>") {
		t.Errorf("the space that is left: %+v", space)
	}
	c.do(t, "MKCOL", folder+"Finder%20album", nil).want(t, 201)
	album := folder + "Finder%20album/"
	c.do(t, "PROPFIND", album, []byte(finderFolder), "Content-Type", "text/xml", "Depth", "1").multi(t)
	for name, content := range map[string][]byte{"a%CC%88.jpg": photograph(t),
		"._a%CC%88.jpg": contentOf("\x00\x05\x16\x07", 4096), ".DS_Store": contentOf("Bud1", 6148)} {
		path := album + name // macOS decomposes names
		c.do(t, "PROPFIND", path, []byte(finderFolder), "Content-Type", "text/xml", "Depth", "0").want(t, 404)
		c.do(t, "PUT", path, []byte{}).want(t, 201)
		token := c.do(t, "LOCK", path, []byte(finderLock), "Content-Type", "text/xml; charset=utf-8", "Depth", "0",
			"Timeout", "Second-600").lockToken(t, 200)
		held := "(" + token + ")"
		c.do(t, "PROPFIND", path, []byte(finderFolder), "Content-Type", "text/xml", "Depth", "0").multi(t)
		etag := c.do(t, "PUT", path, streamed(content), "If", held, "X-Expected-Entity-Length",
			fmt.Sprint(len(content))).want(t, 204).header.Get("ETag")
		f.admin.do(t, "PUT", f.stored(t, "/home/berta/Finder album", len(content)), object{"name": "taken.jpg"}).
			fails(t, 409, "OPERATION_FAILED")
		// repeated every few minutes while the file is open
		c.do(t, "LOCK", path, nil, "If", held, "Timeout", "Second-600").want(t, 200)
		done := c.do(t, "PROPPATCH", path, []byte(
			`<?xml version="1.0" encoding="utf-8"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>`+
				`<A:com.apple.FinderInfo xmlns:A="http://www.apple.com/webdav_fs/props/">AAAA</A:com.apple.FinderInfo></D:prop></D:set></D:propertyupdate>`), "If", held).multi(t)
		if propstats := done.Responses[0].Propstats; len(propstats) != 1 || propstats[0].Status != "HTTP/1.1 200 OK" {
			t.Errorf("PROPPATCH %s: %+v", name, done)
		}
		c.do(t, "UNLOCK", path, nil, "Lock-Token", token).want(t, 204)
		if got := c.do(t, "GET", path, nil).want(t, 200); hash(got.body) != hash(content) ||
			got.header.Get("ETag") != etag {
			t.Errorf("%s has %d bytes and the ETag %s, want %d and %s", name, len(got.body), got.header.Get("ETag"),
				len(content), etag)
		}
	}
	listed := c.do(t, "PROPFIND", album, []byte(finderFolder), "Content-Type", "text/xml", "Depth", "1").multi(t).
		hrefs()
	slices.Sort(listed)
	if want := []string{album, album + ".DS_Store", album + "._%C3%A4.jpg", album + "%C3%A4.jpg"}; !slices.Equal(listed,
		sorted(want)) {
		t.Errorf("the folder lists %q, want %q", listed, want)
	}
	c.do(t, "MOVE", album+"a%CC%88.jpg", nil, "Destination", f.url+album+"b.jpg", "Overwrite", "F").want(t, 201)
	c.do(t, "DELETE", album, nil).want(t, 204)
}

// sorted sorts names.
func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// stored returns the address of the only file of this size in a folder.
func (f *davFixture) stored(t *testing.T, folder string, size int) string {
	t.Helper()
	for _, e := range f.admin.list(t, folder) {
		if e.Size == int64(size) {
			return "/api/files/" + e.ID
		}
	}
	t.Fatalf("%s holds no file of %d bytes", folder, size)
	return ""
}

// windows saves a document like Explorer, which first asks for the options of the host's root.
func (f *davFixture) windows(t *testing.T) {
	nobody, c := newClient(f.url), f.bertaKey.client(f.url)
	for _, one := range []*client{nobody, c} {
		one.header.Set("User-Agent", "Microsoft-WebDAV-MiniRedir/10.0.22631")
		one.header.Set("Translate", "f")
	}
	for _, path := range []string{"/", "/webdav"} {
		if told := nobody.do(t, "OPTIONS", path, nil).want(t, 200).header; told.Get("MS-Author-Via") != "DAV" ||
			!strings.Contains(told.Get("Allow"), "PROPFIND") {
			t.Errorf("OPTIONS %s: %v", path, told)
		}
	}
	if refused := nobody.do(t, "PROPFIND", "/webdav", nil, "Depth", "0").
		want(t, 401); !strings.HasPrefix(refused.header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("WWW-Authenticate: %q", refused.header.Get("WWW-Authenticate"))
	}
	c.do(t, "PROPFIND", "/webdav", nil, "Depth", "0").multi(t)
	const path = "/webdav/home/berta/M%C3%A4rz%20%2325.docx"
	content := contentOf("a document", 23_456)
	c.do(t, "PROPFIND", path, nil, "Depth", "0").want(t, 404)
	c.do(t, "PUT", path, []byte{}).want(t, 201)
	token := c.do(t, "LOCK", path, []byte(windowsLock), "Content-Type", "text/xml; charset=\"utf-8\"", "Timeout",
		"Second-3600").lockToken(t, 200)
	held := "(" + token + ")"
	patch := func() {
		t.Helper()
		done := c.do(t, "PROPPATCH", path, []byte(windowsTimes), "Content-Type", "text/xml; charset=\"utf-8\"", "If",
			held).multi(t)
		for _, p := range done.Responses[0].Propstats {
			if p.Status != "HTTP/1.1 200 OK" || !strings.Contains(p.Prop.Inner, "Win32") {
				t.Errorf("PROPPATCH: %+v", p)
			}
		}
	}
	patch()
	if head := c.do(t, "HEAD", path, nil).want(t, 200); head.header.Get("Content-Length") != "0" {
		t.Errorf("HEAD of the empty file: %v", head.header)
	}
	c.do(t, "PUT", path, content, "If", held).want(t, 204)
	patch()
	c.do(t, "UNLOCK", path, nil, "Lock-Token", token).want(t, 204)
	if got := c.do(t, "GET", path, nil).want(t, 200); hash(got.body) != hash(content) {
		t.Errorf("GET: %d bytes, want %d", len(got.body), len(content))
	}
	told := c.do(t, "PROPFIND", path, nil, "Depth", "0").multi(t)
	if inner := told.Responses[0].Propstats[0].Prop.Inner; !strings.Contains(inner,
		">Sat, 21 Nov 2026 10:00:02 GMT</Win32LastModifiedTime>") || strings.Contains(inner, "activelock") {
		t.Errorf("the properties afterwards: %s", inner)
	}
	c.do(t, "DELETE", path, nil).want(t, 204)
}

// curl uploads like users by hand.
func (f *davFixture) curl(t *testing.T) {
	dir, base := t.TempDir(), f.processes[0].url // a proxy in between would answer by itself
	folder := base + "/webdav/home/berta/curl/"
	large := contentOf("two mebibytes and one", 2<<20+1)
	writeFile(t, large, dir, "large.bin")
	curl := func(stdin string, args ...string) string {
		t.Helper()
		out, code := program(t, dir, stdin, "curl",
			append([]string{"-sS", "--fail-with-body", "-v", "-u", f.bertaKey.user + ":" + f.bertaKey.password},
				args...)...)
		if code != 0 {
			t.Fatalf("curl %q: exit code %d\n%s", args, code, out)
		}
		return out
	}
	expect := func(out string, words ...string) {
		t.Helper()
		for _, one := range words {
			if !strings.Contains(out, one) {
				t.Errorf("curl did not print %q:\n%s", one, out)
			}
		}
	}
	expect(curl("", "-X", "MKCOL", folder), "< HTTP/1.1 201 ")
	expect(curl("", "-T", "large.bin", "-H", "Expect: 100-continue", "--expect100-timeout", "60", folder),
		"< HTTP/1.1 100 Continue", "< HTTP/1.1 201 ")
	curl("", "-o", "back.bin", folder+"large.bin")
	wantSameFile(t, large, dir, "back.bin")
	expect(curl(string(large[:1<<20]), "-T", "-", folder+"large.bin"), "> Transfer-Encoding: chunked",
		"< HTTP/1.1 204 ")
	curl("", "-H", "Translate: f", "-o", "back.bin", folder+"large.bin")
	wantSameFile(t, large[:1<<20], dir, "back.bin")
	expect(curl("", "-T", "/dev/null", folder+"empty"), "< HTTP/1.1 201 ")
	curl("", "-o", "empty", folder+"empty")
	wantSameFile(t, nil, dir, "empty")
	// without a Depth header
	expect(curl("", "-X", "PROPFIND", folder), "< HTTP/1.1 207 ", "/webdav/home/berta/curl/</D:href>",
		"/webdav/home/berta/curl/large.bin<", "/webdav/home/berta/curl/empty<")
	// A refusal is sent before the body when the client waits for it.
	out, code := program(t, dir, "", "curl", "-sS", "-v", "-u", f.bertaKey.user+":"+f.bertaKey.password,
		"-T", "large.bin", "-H", "Expect: 100-continue", "--expect100-timeout", "60",
		base+"/webdav/home/berta/nowhere/")
	if code != 0 || !strings.Contains(out, "< HTTP/1.1 409 ") || strings.Contains(out, "100 Continue") {
		t.Errorf("curl into a folder that is missing: exit code %d\n%s", code, out)
	}
	expect(curl("", "-X", "DELETE", folder), "< HTTP/1.1 204 ")
}

// cutShort replaces a file with a body whose sender disconnects, with a length and in chunks. The
// old content stays, and nothing is charged.
func (f *davFixture) cutShort(t *testing.T) {
	t.Helper()
	p := f.processes[0]
	c, me := f.bertaKey.client(p.url), login(t, "berta", "a long password", p.url)
	content := contentOf("what was there before", 100_000)
	for i, send := range []func(path string){
		func(path string) {
			address := strings.TrimPrefix(p.url, "http://")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Length: 1000000\r\n\r\n%s",
				path, address, c.header.Get("Authorization"), strings.Repeat("x", 400_000))
		},
		func(path string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, "curl", "-sS", "-v", "-u", f.bertaKey.user+":"+f.bertaKey.password, "-H",
				"Expect:", "-T", "-", p.url+path)
			cmd.Dir = filepath.Dir(f.dir)
			said := newOutput()
			cmd.Stderr = said
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			exited := make(chan struct{})
			go func() {
				defer close(exited)
				_ = cmd.Wait() // it is killed
			}()
			said.wait(t, exited, regexp.MustCompile(`(Connected) to`))
			if _, err := io.WriteString(in, strings.Repeat("x", 400_000)); err != nil {
				t.Fatal(err)
			}
			cancel()
			<-exited
		},
	} {
		path := fmt.Sprintf("/webdav/home/berta/cut-%d.bin", i)
		c.do(t, "PUT", path, content).want(t, 201)
		etag := c.do(t, "HEAD", path, nil).want(t, 200).header.Get("ETag")
		storage, files := me.usage(t)
		seen := len(p.stderr.String())
		send(path)
		logged := regexp.MustCompile(`"method":"PUT","path":"` + path + `","status":(\d+)`)
		p.await(t, "done with the upload that was cut short",
			func() bool { return logged.MatchString(p.stderr.String()[seen:]) })
		if got := c.do(t, "GET", path, nil).want(t, 200); hash(got.body) != hash(content) ||
			got.header.Get("ETag") != etag {
			t.Errorf("%s has %d bytes and the ETag %s, want what was there", path, len(got.body),
				got.header.Get("ETag"))
		}
		if s, n := me.usage(t); s != storage || n != files {
			t.Errorf("%d bytes in %d files are charged, before it were %d in %d", s, n, storage, files)
		}
	}
}

// locksLast checks that a lock of one replica is enforced by all replicas and survives a crash of
// all of them.
func (f *davFixture) locksLast(t *testing.T) {
	t.Helper()
	const path = "/webdav/shared/locked%20file"
	content := contentOf("locked", 1000)
	first, last := 0, len(f.processes)-1
	mine := func(replica int) *client { return f.adminKey.client(f.processes[replica].url) }
	theirs := func(replica int) *client { return f.sharedKey.client(f.processes[replica].url) }
	mine(first).do(t, "PUT", path, content).want(t, 201)
	token := mine(first).do(t, "LOCK", path, []byte(finderLock), "Timeout", "Second-3000").lockToken(t, 200)
	held := "(" + token + ")"
	shut := func(replica int) {
		t.Helper()
		theirs(replica).do(t, "PUT", path, []byte("x")).want(t, 423)
		// RFC 4918, section 6.4
		if r := theirs(replica).do(t, "PUT", path, []byte("x"), "If", held); !slices.Contains([]int{403, 412, 423},
			r.status) {
			t.Errorf("a token in other hands answers %d", r.status)
		}
		theirs(replica).do(t, "DELETE", path, nil).want(t, 423)
		mine(replica).do(t, "PUT", path, []byte("x")).want(t, 423)
		told := string(theirs(replica).do(t, "PROPFIND", path, nil, "Depth", "0").want(t, 207).body)
		if !strings.Contains(told, "<D:activelock>") || strings.Contains(told, strings.Trim(token, "<>")) {
			t.Errorf("the lock as other keys see it: %s", told)
		}
		if told := string(mine(replica).do(t, "PROPFIND", path, nil, "Depth", "0").want(t,
			207).body); !strings.Contains(told, strings.Trim(token, "<>")) {
			t.Errorf("the lock as its key sees it: %s", told)
		}
	}
	shut(last)
	for i, p := range f.processes {
		p.kill()
		f.processes[i] = p.site.start(t)
	}
	shut(first)
	mine(last).do(t, "LOCK", path, nil, "If", held).want(t, 200)
	content = contentOf("by whom it locked", 2000)
	mine(last).do(t, "PUT", path, content, "If", held).want(t, 204)
	mine(first).do(t, "UNLOCK", path, nil, "Lock-Token", token).want(t, 204)
	if got := theirs(last).do(t, "GET", path, nil).want(t, 200); hash(got.body) != hash(content) {
		t.Errorf("the file has %d bytes, want %d", len(got.body), len(content))
	}
	theirs(last).do(t, "PUT", path, []byte("free again")).want(t, 204)
	theirs(first).do(t, "DELETE", path, nil).want(t, 204)
}
