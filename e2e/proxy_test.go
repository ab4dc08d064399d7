package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// proxyBytes is the length of a large upload through a proxy: 64 MiB, or 2 GiB in a soak. The other
// tests wait for the same disk.
func proxyBytes() int64 {
	if soaking() {
		return largeUpload
	}
	return 64 << 20
}

// The configurations of deploy/proxy work: the service behind a proxy answers as it does without
// one, to clients that speak HTTP/1.1 and HTTP/2, and knows their addresses (abuse cases C2, C12,
// C14, C55).
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, command := range proxyCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newProxied(t, command)
			admin := f.client(2)
			admin.header.Set("X-Forwarded-Proto", "http") // the proxy replaces it, or this sign-in would be refused
			f.signsIn(t, admin)
			key := f.davKey(t, "admin", "--path", "/")
			small := admin.createUser(t, "small", "a long password", "user")
			admin.do(t, "PUT", "/api/admin/users/"+small, object{"maxStorage": 1 << 20}).want(t, 200)
			smallKey := f.davKey(t, "small")
			for _, version := range []int{1, 2} {
				t.Run(fmt.Sprintf("HTTP %d", version), func(t *testing.T) {
					f.redirectsToHTTPS(t, version)
					f.movesByDestination(t, key.client(), version)
					f.longestPath(t, key.client(), version)
					f.pathsArriveUnchanged(t, key.client(), version)
					f.clientAddressIsRight(t, version)
					f.errorsPass(t, admin, version)
					f.refusesEarly(t, smallKey.client(), version)
				})
			}
			f.largeFiles(t, admin, key.client())
			f.logsNoAddress(t)
		})
	}
}

// as returns a client of the proxy with the headers of another one.
func (f *proxied) as(c *client, version int) *client {
	through := f.client(version)
	through.header = c.header
	return through
}

// direct returns a client that goes past the proxy, with the headers of another one.
func (f *proxied) direct(c *client) *client {
	direct := newClient(f.server.url)
	direct.header = c.header
	return direct
}

// signsIn signs the administrator in. The cookie is secure, and HSTS is announced once.
func (f *proxied) signsIn(t *testing.T, admin *client) {
	t.Helper()
	r := admin.signIn(t, "admin", adminPassword)
	cookies := (&http.Response{Header: r.header}).Cookies()
	if len(cookies) == 0 || slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return !c.Secure }) {
		t.Errorf("the sign-in sets the cookies %v, want secure ones", cookies)
	}
	if got := r.header.Values("Strict-Transport-Security"); len(got) != 1 {
		t.Errorf("HSTS %q, want one", got)
	}
	admin.do(t, "GET", "/api/auth/me", nil).want(t, 200)
}

// redirectsToHTTPS sends requests over plain http.
func (f *proxied) redirectsToHTTPS(t *testing.T, version int) {
	t.Helper()
	if version == 2 {
		return // plain http is HTTP/1.1
	}
	const path = "/uploads/a%2Fb//c%20%25?q=%252e&r=/"
	for _, method := range []string{"GET", "POST"} {
		r := f.client(1).do(t, method, "http://"+publicHost+path, nil)
		if got := r.header.Get("Location"); r.status != http.StatusPermanentRedirect || got != publicURL+path {
			t.Errorf("%s of http: %d to %q, want 308 to %s", method, r.status, got, publicURL+path)
		}
	}
}

// davAddress returns the path of an entry in WebDAV.
func davAddress(segments ...string) string {
	path := "/webdav"
	for _, segment := range segments {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// movesByDestination moves and copies a file to addresses below the base URL.
func (f *proxied) movesByDestination(t *testing.T, dav *client, version int) {
	t.Helper()
	c := f.as(dav, version)
	content := []byte("moved through a proxy")
	source, target := davAddress("uploads", "a b%20#ü猫?&+;.txt"), davAddress("uploads", "100 % # é→猫 %2F.txt")
	c.do(t, "PUT", source, content).want(t, 201)
	c.do(t, "MOVE", source, nil, "Destination", publicURL+target).want(t, 201)
	c.do(t, "GET", source, nil).want(t, 404)
	c.do(t, "COPY", target, nil, "Destination", publicURL+source, "Depth", "0").want(t, 201)
	for _, address := range []string{source, target} {
		if r := f.direct(dav).do(t, "GET", address, nil); !bytes.Equal(r.body, content) {
			t.Errorf("GET %s: %d %s, want the file", address, r.status, r.body)
		}
		c.do(t, "DELETE", address, nil).want(t, 204)
	}
}

// longestPath moves a file whose address is about as long as one can be, almost 12 KiB.
func (f *proxied) longestPath(t *testing.T, dav *client, version int) {
	t.Helper()
	c := f.as(dav, version)
	folder := []string{"uploads"}
	for range 4 { // a path has at most 4,096 bytes, a name 255 characters
		folder = append(folder, strings.Repeat("猫", 255))
		c.do(t, "MKCOL", davAddress(folder...), nil).want(t, 201)
	}
	source := davAddress(append(folder, strings.Repeat("猫", 255))...)
	target := davAddress(append(folder, strings.Repeat("犬", 255))...)
	c.do(t, "PUT", source, []byte("deep")).want(t, 201)
	c.do(t, "MOVE", source, nil, "Destination", publicURL+target).want(t, 201)
	r := c.do(t, "GET", target, nil).want(t, 200)
	plain := f.direct(dav).do(t, "GET", target, nil).want(t, 200)
	if got, want := r.header.Get("Content-Disposition"), plain.header.Get("Content-Disposition"); got != want {
		t.Errorf("Content-Disposition %q, want %q", got, want)
	}
	c.do(t, "PROPFIND", davAddress(folder...), nil, "Depth", "1").want(t, 207)
	c.do(t, "DELETE", davAddress(folder[:2]...), nil).want(t, 204)
}

// pathsArriveUnchanged sends paths that a proxy might decode or clean.
func (f *proxied) pathsArriveUnchanged(t *testing.T, dav *client, version int) {
	t.Helper()
	through, direct := f.as(dav, version), f.direct(dav)
	var sent []string
	for _, path := range []string{"/uploads/a%2Fb-", "/uploads/a%2fb-", "/uploads//x-", "//uploads/x-", "/uploads/./x-",
		"/uploads/%2e%2e/x-", "/uploads/../uploads/x-", "/uploads/%252e%252e/x-", "/uploads/%252F-", "/uploads/%25-",
		"/uploads/a%5Cb-", "/uploads/a;b=c-", "/uploads/%41-", "/uploads/a+b%20c-",
		"/webdav/uploads//x-", "/webdav//uploads/a%2Fb-", "/webdav/uploads/%2e%2e/x-", "/webdav/uploads/%252e%252e/x-",
		"/api/files//x-", "/api%2Ffiles/x-"} {
		path += fmt.Sprintf("%d", version)
		want, got := direct.do(t, "GET", path, nil), through.do(t, "GET", path, nil)
		if got.status != want.status || !sameBody(got, want) {
			t.Errorf("GET %s: %d %.200s\nwant %d %.200s", path, got.status, got.body, want.status, want.body)
			continue
		}
		sent = append(sent, path)
	}
	f.server.await(t, "logged twice: one of "+fmt.Sprint(sent), func() bool {
		return !slices.ContainsFunc(sent, func(path string) bool { return len(f.logged(path)) != 2 })
	})
}

var timeOrID = regexp.MustCompile(`"timestamp":\d+|"requestId":"[0-9a-f]{16}"`)

// sameBody reports whether two answers have the same body, except for the time and the request id.
func sameBody(a, b reply) bool {
	return bytes.Equal(timeOrID.ReplaceAll(a.body, nil), timeOrID.ReplaceAll(b.body, nil))
}

// logged returns the client addresses in the log of the requests with a path.
func (f *proxied) logged(path string) (addresses []string) {
	for line := range strings.Lines(f.server.stderr.String()) {
		var request struct{ Msg, Path, IP string }
		if json.Unmarshal([]byte(line), &request) == nil && request.Msg == "request" && request.Path == path {
			addresses = append(addresses, request.IP)
		}
	}
	return addresses
}

// clientAddressIsRight sends requests that claim another address and an id of their own.
func (f *proxied) clientAddressIsRight(t *testing.T, version int) {
	t.Helper()
	for i, claim := range []string{"", "203.0.113.9", "127.0.0.1", "203.0.113.9, 127.0.0.3", "garbage"} {
		path := fmt.Sprintf("/uploads/forged-%d-%d", i, version)
		headers := []string{"X-Real-IP", "203.0.113.9", "Forwarded", "for=203.0.113.9",
			"X-Request-Id", "claimed"}
		if claim != "" {
			headers = append(headers, "X-Forwarded-For", claim)
		}
		r := f.client(version).do(t, "GET", path, nil, headers...)
		if got := r.header.Values("X-Request-Id"); len(got) != 1 || len(got[0]) != 16 {
			t.Errorf("the request has the id %q, want one that the service made", got)
		}
		f.server.await(t, "logged: "+path, func() bool { return len(f.logged(path)) > 0 })
		if got := f.logged(path); !slices.Equal(got, []string{clientAddress}) {
			t.Errorf("a client that claims to be %q is %q in the log, want %s", claim, got, clientAddress)
		}
	}
}

// errorsPass compares errors with those that clients get without the proxy.
func (f *proxied) errorsPass(t *testing.T, admin *client, version int) {
	t.Helper()
	through := f.as(admin, version)
	through.http.Jar = admin.http.Jar
	large := object{"path": "/", "name": strings.Repeat("x", 1<<20)}
	through.do(t, "POST", "/api/files/folder", large).fails(t, 413, "PAYLOAD_TOO_LARGE")
	through.do(t, "DELETE", "/api/auth/me", nil).fails(t, 405, "METHOD_NOT_ALLOWED")
	visitor := f.client(version)
	direct := f.direct(visitor)
	for _, c := range []*client{visitor, direct} {
		c.http.Transport.(*http.Transport).DisableCompression = true // without Accept-Encoding of its own
	}
	names := []string{"Content-Type", "Content-Encoding", "Content-Length", "Cache-Control", "ETag", "Vary"}
	for _, path := range []string{"/api/none", "/api/auth/me", "/api/openapi.json", "/none", "/"} {
		for _, headers := range [][]string{{"Accept", "text/html"}, {"Accept-Encoding", "gzip"}, {}} {
			want, got := direct.do(t, "GET", path, nil, headers...), visitor.do(t, "GET", path, nil, headers...)
			isPage := strings.HasPrefix(want.header.Get("Content-Type"), "text/html") // each has another nonce
			for _, name := range names {
				if isPage && name == "Content-Length" && want.header.Get("Content-Encoding") != "" {
					continue // the nonce changes the length of the compressed page
				}
				if got, want := got.header.Values(name), want.header.Values(name); !slices.Equal(got, want) {
					t.Errorf("GET %s %q: %s is %q, want %q", path, headers, name, got, want)
				}
			}
			if got.status != want.status || !isPage && !sameBody(got, want) {
				t.Errorf("GET %s %q: %d %.200s\nwant %d %.200s", path, headers, got.status, got.body, want.status,
					want.body)
			}
		}
	}
}

// refusesEarly uploads files beyond a quota of 1 MiB. The client gets the answer before it has sent
// all.
func (f *proxied) refusesEarly(t *testing.T, dav *client, version int) {
	t.Helper()
	const size = int64(256) << 20
	for _, isAnnounced := range []bool{true, false} {
		content := &metered{Reader: newPattern(size)}
		var body any = content
		if isAnnounced {
			body = sizedBody(content, size)
		}
		r, err := f.as(dav, version).send("PUT", davAddress("home", "small", "large.bin"), body)
		sent := content.read.Load()
		if err != nil || r.status != http.StatusInsufficientStorage ||
			!bytes.Contains(r.body, []byte("quota-not-exceeded")) || sent == size {
			t.Errorf("upload beyond the quota, announced %t: %d %s, %v after %d of %d bytes, want 507 before the end",
				isAnnounced, r.status, r.body, err, sent, size)
		}
		t.Logf("upload beyond the quota, announced %t: %d MiB were sent", isAnnounced, sent>>20)
	}
}

// metered counts the bytes that are read from it.
type metered struct {
	io.Reader
	read atomic.Int64
}

func (m *metered) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	m.read.Add(int64(n))
	return n, err
}

// largeFiles uploads by WebDAV and in the parts of an upload session, and reads ranges. The proxy
// passes the bytes on as they arrive, and writes none to its disk.
func (f *proxied) largeFiles(t *testing.T, admin, dav *client) {
	t.Helper()
	const slack = 32 << 20 // what buffers of sockets and of the proxy may hold
	size, address := proxyBytes(), davAddress("uploads", "large.bin")
	before := f.server.counted(t, "rchar")
	body := &gated{pattern: newPattern(size), ctx: t.Context(), gate: size / 2, open: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		r, err := f.as(dav, 1).send("PUT", address, sizedBody(body, size))
		if err == nil && r.status != http.StatusCreated {
			err = fmt.Errorf("status %d: %s", r.status, r.body)
		}
		done <- err
	}()
	until(t, "half of the upload at the server", func() bool {
		return f.server.counted(t, "rchar")-before >= size/2-slack
	})
	close(body.open)
	if err := <-done; err != nil {
		t.Fatalf("PUT %s: %v", address, err)
	}

	stalled := f.stalledDownload(t, dav, address)
	session := admin.announce(t, "/uploads", "parts.bin", size, nil)
	file, _ := admin.complete(t, admin.deliver(t, session, size,
		func(from, length int64) io.Reader { return newPatternAt(from, length) }, 4))
	if file.Size != size {
		t.Errorf("the file has %d bytes, want %d", file.Size, size)
	}
	stalled.Close()

	for version, path := range map[int]string{1: "/uploads/parts.bin", 2: "/uploads/large.bin"} {
		c := f.client(version)
		c.http.Jar = admin.http.Jar
		r := c.do(t, "HEAD", path, nil).want(t, 200)
		if got := r.header.Get("Content-Length"); got != fmt.Sprint(size) || r.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("HEAD: length %q, ranges %q", got, r.header.Get("Accept-Ranges"))
		}
		for _, part := range [][2]int64{{0, size}, {size/2 - 5, 10}, {size - 3, 3}} {
			if n := c.download(t, path, part[0], part[1]); n != part[1] {
				t.Errorf("%s: got %d bytes from %d, want %d", path, n, part[0], part[1])
			}
		}
	}
	if n := f.proxy.counted(t, "write_bytes"); n > 4<<20 {
		t.Errorf("the proxy wrote %d bytes to its disk", n)
	}
}

// gated is a pattern whose reader waits at the byte gate until open is closed or ctx ends.
type gated struct {
	*pattern
	ctx  context.Context
	gate int64
	open chan struct{}
}

func (g *gated) Read(b []byte) (int, error) {
	if g.at >= g.gate {
		select {
		case <-g.open:
		case <-g.ctx.Done():
			return 0, g.ctx.Err()
		}
	}
	return g.pattern.Read(b)
}

// stalledDownload begins a download and reads only its first byte.
func (f *proxied) stalledDownload(t *testing.T, dav *client, address string) io.Closer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", publicURL+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = dav.header
	resp, err := f.client(1).http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", address, resp.Status, err)
	}
	return resp.Body
}

// logsNoAddress checks that the proxy keeps no addresses of requests, since those of links and
// tokens are secrets.
func (f *proxied) logsNoAddress(t *testing.T) {
	t.Helper()
	said := f.proxy.stdout.String() + f.proxy.stderr.String()
	err := filepath.WalkDir(f.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		said += string(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/uploads/parts.bin", "/uploads/forged-0"} {
		if at := strings.Index(said, path); at >= 0 {
			t.Errorf("the proxy recorded an address: %s", tail(said[:min(at+100, len(said))], 300))
		}
	}
}
