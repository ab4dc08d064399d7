package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

func TestFreeModeListing(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		for _, key := range []string{"a.txt", "photos/cat.jpg", "photos/2024/x y+z.png", "a~b", "a..b",
			"photos/語.txt"} {
			putObject(t, bucket, key, "of "+key)
		}
		c := openFreeSession(t, l, bucket)
		name := c.Get("/api/free-mode/session").OK(200).Text("user.username")
		for _, path := range []string{"", "?path=", "?path=/", "?path=//./"} {
			reply := c.Get("/api/free-mode/files" + path).OK(200)
			data := reply.Object()["data"].(map[string]any)
			wantFields(t, "data", data, "items", "mount", "cursor", "hidden")
			wantJSON(t, "mount", data["mount"],
				M{"id": name, "name": bucket.Name, "sortBy": "name", "sortOrder": "asc", "mountPath": "/"})
			wantStrings(t, "names", reply.Names("items"), "photos", "a.txt")
			wantJSON(t, "the folder", data["items"].([]any)[0],
				M{"key": "photos/", "name": "photos", "path": "/", "type": "folder", "size": 0, "etag": ""})
			file := data["items"].([]any)[1].(map[string]any)
			wantFields(t, "the file", file, "key", "name", "path", "type", "size", "etag")
			if file["key"] != "a.txt" || file["path"] != "/" || file["type"] != "file" ||
				fmt.Sprint(file["size"]) != "8" || file["etag"] == "" {
				t.Errorf("%v", file)
			}
			if data["cursor"] != nil || reply.Int("hidden") != 2 { // a~b and a..b cannot be named in a path
				t.Errorf("cursor %v, hidden %v", data["cursor"], data["hidden"])
			}
		}
		for _, path := range []string{"photos", "/photos", "photos/", "//photos/./"} {
			reply := c.Get("/api/free-mode/files?path=" + path).OK(200)
			wantStrings(t, path, reply.Names("items"), "2024", "cat.jpg", "語.txt")
			if reply.Text("items.0.path") != "/photos" || reply.Text("items.0.key") != "photos/2024/" {
				t.Errorf("%s", reply.Body)
			}
		}
		deep := c.Get("/api/free-mode/files?path=/photos/2024").OK(200)
		wantJSON(t, "a name with signs", []any{deep.Text("items.0.key"), deep.Text("items.0.path")},
			[]any{"photos/2024/x y+z.png", "/photos/2024"})
		wantStrings(t, "a missing entry", c.Get("/api/free-mode/files?path=/nowhere").OK(200).Names("items"))
		wantStrings(t, "a file as a folder", c.Get("/api/free-mode/files?path=/a.txt").OK(200).Names("items"))
		for path, want := range map[string]string{
			"..": "FORBIDDEN", "/..": "FORBIDDEN", "../x": "FORBIDDEN", "photos/../..": "FORBIDDEN",
			"photos/..": "FORBIDDEN", "/photos/../../etc": "FORBIDDEN",
			"~": "VALIDATION_ERROR", "a\\b": "VALIDATION_ERROR", "a\x01b": "VALIDATION_ERROR",
			"a\x00b": "VALIDATION_ERROR", "\xff": "VALIDATION_ERROR", "a..b": "VALIDATION_ERROR",
			strings.Repeat("x", 1024): "VALIDATION_ERROR", // 1,025 characters with the slash
		} {
			wanted := 400
			if want == "FORBIDDEN" {
				wanted = 403
			}
			wantStatus(t, fmt.Sprintf("%.20q", path), c.Get("/api/free-mode/files?path="+url.QueryEscape(path)), wanted,
				want)
		}
		c.Get("/api/free-mode/files?cursor="+strings.Repeat("x", 4097)).Fails(400, "VALIDATION_ERROR")
	}, apptest.ReachLoopback)
}

func TestFreeModeListsInPagesOfAThousand(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	bucket := s3test.New(t)
	client := bucket.SDK(t)
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			for i := worker; i < 1001; i += 8 {
				key := fmt.Sprintf("f%04d", i)
				if _, err := client.PutObject(t.Context(),
					&s3.PutObjectInput{Bucket: &bucket.Name, Key: &key, Body: strings.NewReader("")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	c := openFreeSession(t, l, bucket)
	first := c.Get("/api/free-mode/files").OK(200)
	names := first.Names("items")
	if len(names) != 1000 {
		t.Fatalf("%d on the first page", len(names))
	}
	second := c.Get("/api/free-mode/files?cursor=" + url.QueryEscape(first.Text("cursor"))).OK(200)
	if names = append(names, second.Names("items")...); len(names) != 1001 || names[0] != "f0000" ||
		names[1000] != "f1000" || second.Value("cursor") != nil || !slices.IsSorted(names) {
		t.Errorf("%d in all, then %v", len(names), second.Value("cursor"))
	}
}

func TestFreeModeUpload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := openFreeSession(t, l, bucket)
		raw := func(path, name string, body any, header ...string) *apptest.Reply {
			return c.Post("/api/free-mode/upload"+path, body, append(header, "X-File-Name", name)...)
		}
		reply := raw("?path=/photos/2024", "cat.png", "meow").OK(201)
		data := reply.Object()["data"]
		wantJSON(t, "data", data, M{"key": "photos/2024/cat.png", "size": 4})
		if getObject(t, bucket, "photos/2024/cat.png") != "meow" {
			t.Error("other bytes")
		}
		raw("?path=/photos/2024", "cat.png", "purr").OK(201) // the key is replaced
		wantStrings(t, "the bucket", bucket.Keys(t), "photos/2024/cat.png")
		if getObject(t, bucket, "photos/2024/cat.png") != "purr" {
			t.Error("the first one is still there")
		}
		big := bytes.Repeat([]byte("0123456789"), 1100<<10) // more than two parts
		body, kind := apptest.Form(map[string]string{"before": "x"}, "file", "form.txt", big)
		if got := c.Post("/api/free-mode/upload", body, "Content-Type", kind).OK(201); got.Text("key") != "form.txt" ||
			got.Int("size") != int64(len(big)) {
			t.Errorf("%s", got.Body)
		}
		if getObject(t, bucket, "form.txt") != string(big) {
			t.Error("other bytes of the form")
		}
		chunked := c.Do(apptest.Request{Method: "POST", Path: "/api/free-mode/upload?path=empty",
			Body: io.MultiReader(), Header: map[string][]string{"X-File-Name": {"none"}}}).OK(201)
		if chunked.Int("size") != 0 || getObject(t, bucket, "empty/none") != "" {
			t.Errorf("%s", chunked.Body)
		}
		for given, want := range map[string]string{ // as in compatible uploads
			`C:\dir\a.txt`: "a.txt", "dir/b.txt": "b.txt", "..%2f..%2fc.txt": "c.txt",
			"=?utf-8?B?6KqeLnR4dA==?=": "語.txt", "d%20e.txt": "d e.txt", "e\u0301.txt": "é.txt",
			"/etc/passwd": "passwd",
		} {
			if key := raw("?path=names", given, "x").OK(201).Text("key"); key != "names/"+want {
				t.Errorf("%q became %q", given, key)
			}
		}
		for _, name := range []string{"", "..", ".", "a~b", "~", "a..b", "a\tb", "%00", "%5c", "a/",
			strings.Repeat("x", 256), "%c0%ae"} {
			wantStatus(t, "the name "+name, raw("", name, "x"), 400, "VALIDATION_ERROR")
		}
		wantStatus(t, "a long key", raw("?path="+strings.Repeat("語/", 255), "long.txt", "x"), 400, "VALIDATION_ERROR")
		wantStatus(t, "the longest key", raw("?path="+strings.Repeat(strings.Repeat("x", 204)+"/", 4),
			strings.Repeat("y", 204), "x"), 201, "")
		wantStatus(t, "one byte more", raw("?path="+strings.Repeat(strings.Repeat("x", 204)+"/", 4),
			strings.Repeat("y", 205), "x"), 400, "VALIDATION_ERROR")
		wantStatus(t, "outside", raw("?path=../x", "a", "x"), 403, "FORBIDDEN")
		wantStatus(t, "outside, deep", raw("?path=/a/../../x", "a", "x"), 403, "FORBIDDEN")
		wantStatus(t, "with ~", raw("?path=/~root", "a", "x"), 400, "VALIDATION_ERROR")
		for name, form := range map[string]struct{ body, kind string }{
			"no boundary": {"x", "multipart/form-data"},
			"no file": {"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n",
				"multipart/form-data; boundary=b"},
			"another": {
				"--b\r\nContent-Disposition: form-data; name=\"other\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n",
				"multipart/form-data; boundary=b"},
			"no name": {"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\r\nx\r\n--b--\r\n",
				"multipart/form-data; boundary=b"},
			"malformed": {"hello", "multipart/form-data; boundary=b"},
		} {
			wantStatus(t, name, c.Post("/api/free-mode/upload", form.body, "Content-Type", form.kind), 400,
				"VALIDATION_ERROR")
		}
		cut := c.Post("/api/free-mode/upload",
			"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"cut\"\r\n\r\n"+strings.Repeat("x", 6<<20),
			"Content-Type", "multipart/form-data; boundary=b")
		wantStatus(t, "a form that is cut", cut, 422, "OPERATION_FAILED")
		if keys := bucket.Keys(t); slices.Contains(keys, "cut") {
			t.Errorf("%v", keys)
		}
	}, apptest.ReachLoopback)
}

// A body of one GiB is accepted and one more byte is refused: immediately when the length is known,
// otherwise while counting.
func TestFreeModeUploadOfMoreThanAGiB(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	bucket := s3test.New(t)
	c := openFreeSession(t, l, bucket)
	const limit = 1 << 30
	told := func(length int64, header, body string) string { // the body is cut after `body`
		conn, err := net.Dial("tcp", l.Apps[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn,
			"POST /api/free-mode/upload HTTP/1.1\r\nHost: larder.test\r\nCookie: fm_token=%s\r\nX-CSRF-Token: %s\r\n"+
				"Content-Length: %d\r\n%s\r\n\r\n%s",
			c.Cookies["fm_token"], c.CSRF, length, header, body)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		return fmt.Sprint(reply.StatusCode, " ", apptest.ParseObject(t, text)["error"].(map[string]any)["code"])
	}
	if got := told(limit, "X-File-Name: cut", "x"); got != "422 OPERATION_FAILED" {
		t.Errorf("a GiB: %s", got)
	}
	if got := told(limit+1, "X-File-Name: long", "x"); got != "413 PAYLOAD_TOO_LARGE" {
		t.Errorf("a GiB and a byte: %s", got)
	}
	const form, kind = "--b\r\nContent-Disposition: form-data; name=\"file\"; " +
		"filename=\"form\"\r\n\r\n", "multipart/form-data; boundary=b"
	if got := told(limit+2<<20, "Content-Type: "+kind, form); got != "413 PAYLOAD_TOO_LARGE" {
		t.Errorf("a form: %s", got)
	}
	long := io.MultiReader(strings.NewReader(form), io.LimitReader(endlessBody(0), limit+1),
		strings.NewReader("\r\n--b--\r\n"))
	reply := c.Do(apptest.Request{Method: "POST", Path: "/api/free-mode/upload", Body: long,
		Header: map[string][]string{"Content-Type": {kind}}})
	if reply.Err == nil { // otherwise the answer was lost, because the form continues after it
		reply.Fails(413, "PAYLOAD_TOO_LARGE")
	}
	wantBucketObjects(t, "in the end", bucket, 0)
}

func TestFreeModeDownloadAndDelete(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := openFreeSession(t, l, bucket)
		const page = "<script>alert(1)</script>"
		c.Post("/api/free-mode/upload?path=/d", page, "X-File-Name", "x y.html").OK(201)
		const address = "/api/free-mode/download?key=d%2Fx%20y.html"
		got := c.Get(address)
		wantBody(t, got, page)
		for name, want := range map[string]string{
			"Content-Type": "text/html", "X-Content-Type-Options": "nosniff",
			"Content-Disposition": `attachment; filename="x y.html"`, "Cache-Control": "private, no-store",
			"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
			"Accept-Ranges":           "bytes", "Access-Control-Allow-Origin": "",
		} {
			if have := got.Header.Get(name); have != want &&
				!(name == "Content-Type" && strings.HasPrefix(have, want)) {
				t.Errorf("%s: %q, want %q", name, have, want)
			}
		}
		tag := got.Header.Get("ETag")
		if len(tag) < 3 || tag[0] != '"' || got.Header.Get("Last-Modified") == "" {
			t.Errorf("ETag %s", tag)
		}
		if part := c.Get(address, "Range", "bytes=1-6"); part.Status != 206 || string(part.Body) != "script" ||
			part.Header.Get("Content-Range") != "bytes 1-6/25" {
			t.Errorf("%d %s %v", part.Status, part.Body, part.Header)
		}
		if last := c.Get(address, "Range", "bytes=-9"); last.Status != 206 || string(last.Body) != "</script>" {
			t.Errorf("%d %s", last.Status, last.Body)
		}
		if r := c.Get(address, "Range", "bytes=25-"); r.Status != 416 {
			t.Errorf("beyond the end: %d", r.Status)
		}
		if r := c.Get(address, "If-None-Match", tag); r.Status != 304 {
			t.Errorf("unchanged: %d", r.Status)
		}
		if head := c.Head(address); head.Status != 200 || head.Header.Get("Content-Length") != "25" ||
			len(head.Body) != 0 {
			t.Errorf("HEAD: %d %v", head.Status, head.Header)
		}
		putObject(t, bucket, "cat.png", "no picture")
		if r := c.Get("/api/free-mode/download?key=cat.png"); r.Status != 200 ||
			!strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a picture: %d %s", r.Status, r.Header.Get("Content-Disposition"))
		}
		c.Get(address, "Sec-Fetch-Dest", "script", "Sec-Fetch-Site", "same-origin").Fails(403, "FORBIDDEN")
		c.Get("/api/free-mode/download?key=nothing").Fails(404, "NOT_FOUND")
		for _, method := range []string{"GET", "DELETE"} {
			for query, want := range map[string]int{
				"": 400, "?key=": 400, "?key=a..b": 400, "?key=../x": 400, "?key=~": 400, "?key=a%5Cb": 400,
				"?key=a%00b": 400, "?key=a%01b": 400, "?key=%FF": 400, "?key=a%E2%80%AEb": 400, "?key=a//b": 400,
				"?key=./a": 400, "?key=" + strings.Repeat("x", 1025): 400, "?key=%2Fetc%2Fpasswd": 403,
			} {
				path := "/api/free-mode/download" + query
				if method == "DELETE" {
					path = "/api/free-mode/object" + query
				}
				code := map[int]string{400: "VALIDATION_ERROR", 403: "FORBIDDEN"}[want]
				wantStatus(t, method+" "+query, c.Do(apptest.Request{Method: method, Path: path}), want, code)
			}
		}
		reply := c.Delete("/api/free-mode/object?key=d%2Fx%20y.html").OK(200)
		if reply.Object()["data"] != nil {
			t.Errorf("%s", reply.Body)
		}
		c.Delete("/api/free-mode/object?key=d%2Fx%20y.html").OK(200) // deleting an absent key succeeds
		c.Get(address).Fails(404, "NOT_FOUND")
		wantStrings(t, "the bucket", bucket.Keys(t), "cat.png")

		// a failure of the store is never reported as "not found"
		if _, err := bucket.SDK(t).DeleteObject(t.Context(),
			&s3.DeleteObjectInput{Bucket: &bucket.Name, Key: aws.String("cat.png")}); err != nil {
			t.Fatal(err)
		}
		if _, err := bucket.SDK(t).DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket.Name}); err != nil {
			t.Fatal(err)
		}
		for what, r := range map[string]*apptest.Reply{
			"list": c.Get("/api/free-mode/files"), "download": c.Get("/api/free-mode/download?key=a"),
			"delete": c.Delete("/api/free-mode/object?key=a"),
			"upload": c.Post("/api/free-mode/upload", "x", "X-File-Name", "a"),
		} {
			wantStatus(t, what+" without a bucket", r, 500, "INTERNAL_ERROR")
			if !strings.Contains(string(r.Body), "The store of this session failed or did not answer.") {
				t.Errorf("%s: %s", what, r.Body)
			}
		}
	}, apptest.ReachLoopback)
}

// Two transfers run at a time. The end of one frees its slot.
func TestFreeModeTransferLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	bucket := s3test.New(t)
	putObject(t, bucket, "a", "x")
	c, other := openFreeSession(t, l, bucket), openFreeSession(t, l, bucket)
	type running struct {
		pipe *io.PipeWriter
		done chan *apptest.Reply
	}
	begin := func(name string) running {
		r, w := io.Pipe()
		up := running{w, make(chan *apptest.Reply, 1)}
		client := c.Fork()
		go func() {
			header := map[string][]string{"X-File-Name": {name}, "Expect": {"100-continue"}}
			up.done <- client.Do(apptest.Request{Method: "POST", Path: "/api/free-mode/upload", Body: r,
				Header: header})
		}()
		// the client reads this when the service asks for it, inside its own request
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		return up
	}
	end := func(up running) {
		up.pipe.Close()
		(<-up.done).OK(201)
	}
	first, second := begin("1"), begin("2")
	third := c.Get("/api/free-mode/download?key=a").Fails(429, "RATE_LIMIT_EXCEEDED")
	if third.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.Post("/api/free-mode/upload", "x", "X-File-Name", "3").Fails(429, "RATE_LIMIT_EXCEEDED")
	wantBody(t, other.Get("/api/free-mode/download?key=a"), "x")
	c.Get("/api/free-mode/files").OK(200)
	end(first)
	wantBody(t, c.Get("/api/free-mode/download?key=a"), "x")
	end(second)
	wantStrings(t, "the bucket", bucket.Keys(t), "1", "2", "a")
}

// A session sends its store two requests at a time, of any kind. Others wait.
func TestFreeModeConcurrentCallLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
	var inside, seen atomic.Int64
	release := make(chan struct{})
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("max-keys") != "1" { // the connection test
			inside.Add(1)
			seen.Add(1)
			<-release
			inside.Add(-1)
		}
		_, _ = io.WriteString(w, "<ListBucketResult><Name>bucket</Name></ListBucketResult>")
	}))
	t.Cleanup(store.Close)
	c := openFreeSession(t, l, s3test.Bucket{Endpoint: store.URL, Name: "bucket", AccessKey: "a", SecretKey: "s"})
	var running sync.WaitGroup
	for _, call := range []func(c *apptest.Client){
		func(c *apptest.Client) { c.Get("/api/free-mode/files").OK(200) },
		func(c *apptest.Client) { c.Get("/api/free-mode/files").OK(200) },
		func(c *apptest.Client) { c.Delete("/api/free-mode/object?key=a").OK(200) },
		func(c *apptest.Client) { c.Head("/api/free-mode/download?key=a").OK(200) },
	} {
		for range 2 {
			client := c.Fork()
			running.Go(func() { call(client) })
		}
	}
	waitUntil(t, "two requests reach the store", func() bool { return inside.Load() >= 2 })
	for range 50 { // gives the other requests time
		c.Get("/api/free-mode/session").OK(200)
		if n := inside.Load(); n != 2 {
			t.Errorf("%d requests to the store run at a time, want 2", n)
		}
	}
	close(release)
	running.Wait()
	if n := seen.Load(); n != 8 {
		t.Errorf("the store was asked %d times", n)
	}
}
