package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	gibibyte        = int64(1) << 30
	largeUpload     = 2 * gibibyte
	maxMemoryGrowth = int64(100) << 20 // allowed growth of the server's memory
)

// pattern is a stream of length bytes from offset at: blocks of the same noise, each beginning with
// its number.
type pattern struct {
	block      []byte
	at, length int64
}

func newPattern(length int64) *pattern {
	random := rand.New(rand.NewPCG(1, 30))
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(random.Uint32())
	}
	return &pattern{block: block, length: length}
}

// newPatternAt returns a range of a pattern.
func newPatternAt(from, length int64) *pattern {
	p := newPattern(from + length)
	p.at = from
	return p
}

// rest returns the rest of the current block.
func (p *pattern) rest() []byte {
	size := int64(len(p.block))
	copy(p.block, fmt.Sprintf("%08d", p.at/size))
	return p.block[p.at%size:]
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.length {
		return 0, io.EOF
	}
	n := copy(b[:min(int64(len(b)), p.length-p.at)], p.rest())
	p.at += int64(n)
	return n, nil
}

// Write compares the bytes with the stream.
func (p *pattern) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		rest := p.rest()
		n := min(len(b)-done, len(rest))
		if p.at+int64(n) > p.length || !bytes.Equal(b[done:done+n], rest[:n]) {
			return done, fmt.Errorf("other bytes than were sent, at %d or soon after", p.at)
		}
		done += n
		p.at += int64(n)
	}
	return len(b), nil
}

// Uploading a large file needs no memory in proportion, and downloading it uses sendfile.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	trace := filepath.Join(t.TempDir(), "trace")
	p := s.start(t, "strace", "-D", "-f", "-q", "--seccomp-bpf", "-e", "trace=sendfile,sendfile64", "-o", trace)
	c := withKey(s.key(t, "admin"), p.url)
	c.mustRaw(t, "warm.bin", "", "application/x-large", []byte("warm"))

	before := p.procStatus(t, "VmRSS")
	u, r, err := c.raw("large.bin", "", "application/x-large", &sized{newPattern(largeUpload), largeUpload})
	if err != nil {
		t.Fatal(err)
	}
	if r.want(t, 200); u.Size != largeUpload {
		t.Fatalf("the upload of %d bytes answers %s", largeUpload, r.body)
	}
	peak := p.procStatus(t, "VmHWM")
	t.Logf("memory: %d MiB before, %d MiB at most", before>>20, peak>>20)
	if peak-before > maxMemoryGrowth {
		t.Errorf("memory grew from %d to %d MiB, want %d MiB more at most", before>>20, peak>>20, maxMemoryGrowth>>20)
	}

	// the first GiB, and a range from the middle to the end
	admin := p.admin(t)
	if n := admin.download(t, "/uploads/large.bin", 0, gibibyte); n != gibibyte {
		t.Errorf("got %d bytes, want %d", n, gibibyte)
	}
	if n := admin.download(t, "/uploads/large.bin", largeUpload-3, 3); n != 3 {
		t.Errorf("got %d bytes of the last 3", n)
	}
	p.stop(t)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var sent int64
	for _, call := range parseTrace(string(text)) {
		if !call.failed() {
			sent += call.result
		}
	}
	t.Logf("%d of %d bytes by sendfile in %d lines of trace", sent, gibibyte, strings.Count(string(text), "\n"))
	if sent < gibibyte/100*99 {
		t.Errorf("%d bytes of %d went out by sendfile, want 99 %%", sent, gibibyte)
	}
}

// sized is a body of known length; net/http recognizes the length of buffers only.
type sized struct {
	io.Reader
	size int64
}

// download reads a range of a file that contains a pattern and returns the number of bytes.
func (c *client) download(t *testing.T, path string, from, length int64) int64 {
	t.Helper()
	req, err := http.NewRequest("GET", c.bases[0]+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+length-1))
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent {
		t.Fatalf("status %s, want 206", resp.Status)
	}
	expected := newPatternAt(from, length)
	n, err := io.CopyBuffer(struct{ io.Writer }{expected}, resp.Body, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
