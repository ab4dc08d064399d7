package api_test

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/vpath"
)

// startFuzzed starts a service that a fuzz target uses repeatedly.
func startFuzzed(f *testing.F) *apptest.Larder {
	return apptest.Start(f, "sqlite", func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}

// headerValue reports whether an HTTP client can send s as the value of a header.
func headerValue(s string) bool {
	return httpguts.ValidHeaderFieldValue(s) && strings.TrimSpace(s) == s && len(s) < 8<<10
}

// uploadNumbersFile uploads a public file of 1,000 bytes without repetitions.
func uploadNumbersFile(f *testing.F, l *apptest.Larder) []byte {
	var content []byte
	for i := range 250 {
		content = fmt.Appendf(content, "%04d", i)
	}
	l.Admin(f).Upload("/public", "numbers.bin", content)
	return content
}

// FuzzRange checks that for any Range and If-Range the answer is the whole file, exactly the
// announced bytes, or 416 (RFC 9110, section 14).
func FuzzRange(f *testing.F) {
	for _, seed := range []string{
		"", "bytes=0-0", "bytes=0-", "bytes=-1", "bytes=999-", "bytes=1000-", "bytes=5-2", "bytes=0-99999",
		"bytes=1-2,5-8", "bytes=-0", "bytes= 1-2", "bytes=1-2, ,7-",
		"bytes=18446744073709551616-", "bytes=-9223372036854775808", "lines=1-2", "bytes", "bytes=", "bytes=a-b",
		"bytes=" + strings.Repeat("0-0,", 40) + "0-0",
	} {
		f.Add(seed, "")
	}
	f.Add("bytes=0-0", `"another"`)
	f.Add("bytes=0-0", "Mon, 02 Jan 2006 15:04:05 GMT")
	l := startFuzzed(f)
	content := uploadNumbersFile(f, l)
	var clients sync.Pool
	clients.New = func() any { return l.Client(f) }
	f.Fuzz(func(t *testing.T, asked, condition string) {
		if !headerValue(asked) || !headerValue(condition) {
			return
		}
		header := http.Header{}
		if asked != "" {
			header.Set("Range", asked)
		}
		if condition != "" {
			header.Set("If-Range", condition)
		}
		c := clients.Get().(*apptest.Client)
		defer clients.Put(c)
		r := c.In(t).Do(apptest.Request{Method: "GET", Path: "/public/numbers.bin", Header: header})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		switch r.Status {
		case 200:
			if !bytes.Equal(r.Body, content) {
				t.Fatalf("Range %q: 200 with %d bytes", asked, len(r.Body))
			}
		case 206:
			checkByteRanges(t, r, content)
		case 416:
			if got := r.Header.Get("Content-Range"); got != "bytes */1000" && got != "" {
				t.Fatalf("Range %q: 416 with Content-Range %q", asked, got)
			}
		default:
			t.Fatalf("Range %q: status %d: %s", asked, r.Status, r.Body)
		}
		if first, last, ok := parsePlainRange(asked); ok && condition == "" {
			if r.Status != 206 || !bytes.Equal(r.Body, content[first:last+1]) {
				t.Fatalf("Range %q: status %d, %d bytes, want bytes %d to %d", asked, r.Status, len(r.Body), first,
					last)
			}
		}
	})
}

// parsePlainRange parses `bytes=A-B` with up to three digits each that lies in 1,000 bytes.
func parsePlainRange(s string) (first, last int, ok bool) {
	rest, found := strings.CutPrefix(s, "bytes=")
	from, to, dash := strings.Cut(rest, "-")
	if !found || !dash || len(from) == 0 || len(from) > 3 || len(to) == 0 || len(to) > 3 ||
		strings.Trim(from+to, "0123456789") != "" {
		return 0, 0, false
	}
	first, _ = strconv.Atoi(from)
	last, _ = strconv.Atoi(to)
	return first, last, first <= last
}

// checkByteRanges checks that every piece of a 206 has the bytes of its Content-Range.
func checkByteRanges(t *testing.T, r *apptest.Reply, content []byte) {
	t.Helper()
	piece := func(contentRange string, body []byte) {
		var first, last, size int
		if n, err := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &first, &last, &size); n != 3 || err != nil ||
			size != len(content) || first > last || last >= size {
			t.Fatalf("Content-Range %q", contentRange)
		}
		if !bytes.Equal(body, content[first:last+1]) {
			t.Fatalf("Content-Range %q with other bytes: %q", contentRange, body)
		}
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if media != "multipart/byteranges" {
		piece(r.Header.Get("Content-Range"), r.Body)
		return
	}
	parts := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"])
	for count := 0; ; count++ {
		part, err := parts.NextRawPart()
		if err == io.EOF && count > 0 && count <= 32 {
			return
		}
		if err != nil {
			t.Fatalf("after %d pieces: %v", count, err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		piece(part.Header.Get("Content-Range"), body)
	}
}

// FuzzMultipart checks that the answer to any form is a file inside the key's upload root or a
// refusal.
func FuzzMultipart(f *testing.F) {
	whole, contentType := form(part{name: "path", body: "sub"}, filePart("a.txt", "hello"))
	boundary := strings.TrimPrefix(contentType, "multipart/form-data; boundary=")
	f.Add(whole, boundary, "")
	f.Add(whole[:len(whole)-10], boundary, "")
	f.Add("--b\r\nContent-Disposition: form-data; name=file; filename=\"..\\\\..\\\\x\"\r\n\r\nx\r\n--b--\r\n", "b",
		"../x")
	f.Add("--b\r\nContent-Disposition: form-data; name=file; filename*=UTF-8''%2e%2e%2fx\r\n\r\nx\r\n--b--\r\n", "b",
		"")
	f.Add("--b\r\nContent-Disposition: form-data; name=path\r\n\r\n/elsewhere\r\n--b\r\n"+
		"Content-Disposition: form-data; name=f; filename=g\r\n\r\n\r\n--b--", "b", "")
	f.Add("", "", "")
	l := startFuzzed(f)
	key := l.Admin(f).Key(M{"uploadPath": "/uploads/root"})
	f.Fuzz(func(t *testing.T, body, boundary, path string) {
		if !headerValue(boundary) || !headerValue(path) || len(body) > 64<<10 {
			return
		}
		header := http.Header{"Content-Type": {"multipart/form-data; boundary=" + boundary}}
		if path != "" {
			header.Set("X-Path", path)
		}
		r := key.In(t).Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: body, Header: header})
		switch {
		case r.Err != nil || r.Status >= 500:
			t.Fatalf("status %d, %v: %s", r.Status, r.Err, r.Body)
		case r.Status >= 400:
			return
		}
		dir, err := vpath.Parse(r.OK(200).Text("path"))
		root, _ := vpath.Parse("/uploads/root")
		if err != nil || !dir.Within(root) {
			t.Fatalf("stored in %q, %v", r.Text("path"), err)
		}
		if name, err := vpath.ParseName(r.Text("filename")); err != nil || string(name) != r.Text("filename") {
			t.Fatalf("stored as %q, %v", r.Text("filename"), err)
		}
	})
}

// FuzzKeyToken checks that only the key's own Authorization header gives access, and that no header
// causes a server error.
func FuzzKeyToken(f *testing.F) {
	l := startFuzzed(f)
	key := l.Admin(f).Key(M{})
	good := key.Header.Get("Authorization")
	token := strings.TrimPrefix(good, "Bearer ")
	id, secret, _ := strings.Cut(token, ".")
	for _, seed := range []string{
		good, token, "bearer " + token, "Bearer  " + token, "Bearer " + id + ".", "Bearer ." + secret, "Bearer " + id,
		"Bearer " + id + "." + secret[:len(secret)-1],
		"Bearer " + id + "." + secret + "x", "Bearer " + strings.ToUpper(token), "Basic " + token, "Bearer null",
		"Bearer\t" + token, "Bearer " + token + ", Bearer " + token,
	} {
		f.Add(seed)
	}
	visitor := l.Client(f)
	f.Fuzz(func(t *testing.T, authorization string) {
		if !headerValue(authorization) {
			return
		}
		r := visitor.In(t).Do(apptest.Request{Method: "GET", Path: "/api/files?path=/",
			Header: http.Header{"Authorization": {authorization}}})
		fields := strings.Fields(authorization)
		own := len(fields) > 0 && fields[len(fields)-1] == token
		switch {
		case r.Err != nil || r.Status >= 500:
			t.Fatalf("status %d, %v: %s", r.Status, r.Err, r.Body)
		case authorization == good && r.Status != 200:
			t.Fatalf("the key itself: status %d: %s", r.Status, r.Body)
		case r.Status == 200 && !own:
			t.Fatalf("%q opens the root", authorization)
		case r.Status != 200 && r.Status != 401 && r.Status != 429:
			t.Fatalf("status %d: %s", r.Status, r.Body)
		}
	})
}

// FuzzDisposition checks that a storable name makes one header of printable ASCII that decodes to
// the same name (RFC 6266, RFC 8187).
func FuzzDisposition(f *testing.F) {
	for _, seed := range []string{"cat.jpg", `a"b.txt`, "a;b=c.png", "猫.jpg", "100%.txt", "a%22b",
		"x\r\nSet-Cookie: a=b", "\u202egpj.exe", "a'b''c", "=?utf-8?q?x?=", "😀", "~"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, inline bool) {
		name, err := vpath.ParseName(text)
		if err != nil {
			return
		}
		header := api.Disposition(inline, string(name))
		if strings.ContainsFunc(header, func(r rune) bool { return r < 0x20 || r > 0x7e }) ||
			!utf8.ValidString(header) {
			t.Fatalf("%q: %q", name, header)
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || (kind == "inline") != inline || kind != "inline" && kind != "attachment" || len(params) != 1 ||
			params["filename"] != string(name) {
			t.Fatalf("%q: %q is read as %s %q, %v", name, header, kind, params, err)
		}
	})
}
