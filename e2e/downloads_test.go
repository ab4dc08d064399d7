package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Downloads in every way with every set-up: the public path, the gateway, the permanent link, a
// key, an archive; complete, in ranges, and with preconditions.
func TestDownloadsEverywhere(t *testing.T) {
	t.Parallel()
	eachSetup(t, func(t *testing.T, s *setup) {
		content := contentOf("download", 3<<20+17) // larger than any buffer
		private := s.admin.upload(t, "/uploads", "a b.txt", content, nil)
		s.admin.upload(t, "/public", oddName, content, nil)
		empty := s.admin.upload(t, "/uploads", "empty.txt", nil, nil)
		link := at(t, s.admin.permanentLink(t, private.ID))

		visitor := s.visitor()
		for _, request := range []struct {
			by   *client
			path string
		}{
			{s.admin, "/uploads/a%20b.txt"}, {visitor, escaped("/public/" + oddName)}, {visitor, link},
			{s.keyed, "/uploads/a%20b.txt"},
		} {
			ranges(t, request.by, request.path, content)
		}
		s.admin.reads(t, "/uploads/empty.txt", nil)
		visitor.do(t, "GET", "/uploads/a%20b.txt", nil).fails(t, 401, "UNAUTHORIZED")
		s.gateway(t, private, content)
		s.gateway(t, empty, nil)
		s.archive(t, private, empty, content)

		// after a replacement an old ETag no longer matches
		etag := visitor.do(t, "HEAD", link, nil).want(t, 200).header.Get("ETag")
		after := contentOf("replaced", 5000)
		s.admin.upload(t, "/uploads", "a b.txt", after, object{"conflict": "replace"})
		visitor.reads(t, link, after)
		if r := visitor.do(t, "GET", link, nil, "Range", "bytes=10-19", "If-Range", etag); r.status != 200 ||
			len(r.body) != len(after) {
			t.Errorf("a range of the replaced content: %d, %d bytes", r.status, len(r.body))
		}
		s.admin.do(t, "DELETE", "/api/files/"+private.ID, nil).want(t, 200)
		visitor.do(t, "GET", link, nil).fails(t, 404, "NOT_FOUND")
	})
}

// ranges requests an address with all forms of ranges in RFC 9110.
func ranges(t *testing.T, c *client, path string, content []byte) {
	t.Helper()
	c.reads(t, path, content)
	size := len(content)
	head := c.do(t, "HEAD", path, nil).want(t, 200)
	etag := head.header.Get("ETag")
	if head.header.Get("Content-Length") != fmt.Sprint(size) || head.header.Get("Accept-Ranges") != "bytes" ||
		!strings.HasPrefix(etag, `"`) || len(head.body) > 0 {
		t.Errorf("HEAD %s: %v", path, head.header)
	}
	for asked, want := range map[string][2]int{"bytes=0-0": {0, 1}, "bytes=1000000-2000000": {1000000, 2000001},
		"bytes=-17": {size - 17, size}, fmt.Sprintf("bytes=%d-", size-3): {size - 3, size}} {
		r := c.do(t, "GET", path, nil, "Range", asked, "If-Range", etag).want(t, 206)
		told := fmt.Sprintf("bytes %d-%d/%d", want[0], want[1]-1, size)
		if !bytes.Equal(r.body, content[want[0]:want[1]]) || r.header.Get("Content-Range") != told {
			t.Errorf("%s of %s: %d bytes, %s; want %s", asked, path, len(r.body), r.header.Get("Content-Range"), told)
		}
	}
	c.do(t, "GET", path, nil, "Range", fmt.Sprintf("bytes=%d-", size)).want(t, 416)
	c.do(t, "GET", path, nil, "If-None-Match", etag).want(t, 304)
	c.do(t, "GET", path, nil, "If-Match", `"another"`).want(t, 412)
}

// gateway uses up a download address: a HEAD and answers without bytes do not, the first bytes do.
func (s *setup) gateway(t *testing.T, file entry, content []byte) {
	t.Helper()
	address, visitor := at(t, s.admin.downloadAddress(t, "/api/files/"+file.ID+"/download")), s.visitor()
	head := visitor.do(t, "HEAD", address, nil).want(t, 200)
	visitor.do(t, "GET", address, nil, "If-None-Match", head.header.Get("ETag")).want(t, 304)
	r := visitor.do(t, "GET", address, nil).want(t, 200)
	if !bytes.Equal(r.body, content) || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the gateway gave %d bytes of %d, %s", len(r.body), len(content), r.header.Get("Content-Disposition"))
	}
	visitor.do(t, "GET", address, nil).fails(t, 401, "INVALID_TOKEN")
}

// archive downloads two files as one.
func (s *setup) archive(t *testing.T, first, second entry, content []byte) {
	t.Helper()
	r := s.admin.do(t, "GET", "/api/files/zip?ids="+first.ID+","+second.ID, nil).want(t, 200)
	got, want := unzip(t, r.body), map[string]string{first.Name: hash(content), second.Name: hash(nil)}
	if !maps.Equal(got, want) {
		t.Errorf("the archive holds %v, want %v", got, want)
	}
}
