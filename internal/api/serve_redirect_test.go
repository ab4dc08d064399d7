package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

// storeReply is the answer of a store to a redirected client.
type storeReply struct {
	status int
	header http.Header
	body   string
}

// fetchAsBrowser requests an address of the store as a browser would.
func fetchAsBrowser(t *testing.T, address string, header ...string) storeReply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := s3test.Egress().Client()
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return storeReply{answer.StatusCode, answer.Header, string(body)}
}

// redirectTarget fails the test unless the answer is only a redirect to a store, and returns the
// target.
func redirectTarget(t *testing.T, r *apptest.Reply) string {
	t.Helper()
	if r.Status != 302 || len(r.Body) != 0 {
		t.Fatalf("status %d, want 302: %s", r.Status, r.Body)
	}
	wantHeader(t, r, "Cache-Control", "no-store")
	wantHeader(t, r, "Referrer-Policy", "no-referrer")
	for _, name := range []string{"ETag", "Last-Modified", "Content-Type", "Content-Disposition", "Content-Range",
		"Accept-Ranges", "Content-Security-Policy"} {
		wantHeader(t, r, name, "")
	}
	return r.Header.Get("Location")
}

// checkPresigned fails the test unless the address is pre-signed for the bucket's server with that
// lifetime.
func checkPresigned(t *testing.T, bucket s3test.Bucket, address string, seconds int) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != bucket.Endpoint || !strings.HasPrefix(u.Path, "/"+bucket.Name+"/") ||
		u.Query().Get("X-Amz-Expires") != fmt.Sprint(seconds) {
		t.Fatalf("%s is not an address of %s with a lifetime of %d seconds", address, bucket.Name, seconds)
	}
}

// With the provider's flag redirect, the store sends the bytes of every route, with the same type
// and disposition as the service.
func TestBytesAreRedirectedToStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker", "pathPrefix": "larder/files"})
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		id := alice.Upload("/home/alice", "grün.png", []byte("0123456789"))
		link := alice.Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url")
		public := admin.Upload("/public", "p.txt", []byte("public"))
		const shown, saved = `inline; filename="gr_n.png"; filename*=UTF-8''gr%C3%BCn.png`, `attachment; filename="gr_n.png"; filename*=UTF-8''gr%C3%BCn.png`

		t.Run("routes", func(t *testing.T) {
			alice, visitor := alice.In(t), visitor.In(t)
			setAccessPassword(alice, id, "open sesame")
			preview := alice.Post("/api/files/"+id+"/verify-password",
				M{"password": "open sesame", "purpose": "preview"}).OK(200).Text("url")
			setAccessPassword(alice, id, nil)
			for name, route := range map[string]struct {
				ask         func(header ...string) *apptest.Reply
				kind, shown string
				open        bool
			}{
				"path": {func(h ...string) *apptest.Reply { return alice.Get("/home/alice/gr%C3%BCn.png", h...) },
					"image/png", shown, false},
				"embed": {func(h ...string) *apptest.Reply {
					return alice.Get("/api/files/"+id+"/download", append(h, "Sec-Fetch-Dest", "image")...)
				}, "image/png", shown, false},
				"link": {func(h ...string) *apptest.Reply { return visitor.Get(link, h...) }, "image/png", shown,
					true},
				"gateway": {func(h ...string) *apptest.Reply { return visitor.Get(downloadURL(alice, id), h...) },
					"image/png", saved, false},
				"preview": {func(h ...string) *apptest.Reply { return visitor.Get(preview, h...) }, "image/png", shown,
					false},
				"public": {func(h ...string) *apptest.Reply { return visitor.Get("/public/p.txt", h...) },
					"text/plain; charset=utf-8", `inline; filename="p.txt"`, true},
			} {
				want := "0123456789"
				if name == "public" {
					want = "public"
				}
				r := route.ask()
				address := redirectTarget(t, r)
				checkPresigned(t, bucket, address, 300)
				cors, resource := "", ""
				if route.open { // a page that reads such bytes gets the CORS headers at each step
					cors, resource = "*", "cross-origin"
				}
				wantHeader(t, r, "Access-Control-Allow-Origin", cors)
				wantHeader(t, r, "Cross-Origin-Resource-Policy", resource)
				got := fetchAsBrowser(t, address)
				if got.status != 200 || got.body != want || got.header.Get("Content-Type") != route.kind ||
					got.header.Get("Content-Disposition") != route.shown {
					t.Errorf("%s: %d %q, %s, %s", name, got.status, got.body, got.header.Get("Content-Type"),
						got.header.Get("Content-Disposition"))
				}
				part := fetchAsBrowser(t, redirectTarget(t, route.ask("Range", "bytes=2-4")), "Range", "bytes=2-4")
				if part.status != 206 || part.body != want[2:5] {
					t.Errorf("%s, a range: %d %q", name, part.status, part.body)
				}
			}
		})
		t.Run("answers without bytes are not redirected", func(t *testing.T) {
			visitor := visitor.In(t)
			address := downloadURL(alice.In(t), id)
			head := visitor.Head(address).OK(200)
			wantHeader(t, head, "Content-Length", "10")
			wantHeader(t, head, "Content-Disposition", saved)
			wantHeader(t, head, "Location", "")
			wantHeader(t, visitor.Head(address, "Range", "bytes=0-1"), "Content-Length", "2")
			for header, want := range map[[2]string]int{
				{"If-None-Match", head.Header.Get("ETag")}:              304,
				{"If-Modified-Since", head.Header.Get("Last-Modified")}: 304, {"If-Match", `"x"`}: 412,
				{"Range", "bytes=10-"}: 416, {"Range", "bytes=-0"}: 416,
			} {
				if r := visitor.Get(address, header[0], header[1]); r.Status != want || r.Header.Get("Location") != "" {
					t.Errorf("%v: %d, want %d", header, r.Status, want)
				}
			}
			redirectTarget(t, visitor.Get(address, "Range", "bytes=9-")) // none of the requests has used up the token
			visitor.Get(address).Fails(401, "INVALID_TOKEN")
			visitor.Head(address).Fails(401, "INVALID_TOKEN")
			visitor.Get("/public/p.txt", "Service-Worker", "script").Fails(403, "FORBIDDEN")
			zip := admin.In(t).Get("/api/files/zip?ids=" + public).OK(200)
			wantHeader(t, zip, "Content-Type", "application/zip")
		})
		t.Run("WebDAV is not redirected", func(t *testing.T) {
			drive := davKey(admin.In(t), M{"uploadPath": "/"})
			wantBody(t, dav(drive, "GET", "/public/p.txt", nil).OK(200), "public")
			wantBody(t, dav(drive, "GET", "/public/p.txt", nil, "Range", "bytes=2-4").OK(206), "bli")
		})
		t.Run("fifty concurrent requests", func(t *testing.T) { // abuse case C84
			address := downloadURL(alice.In(t), id)
			var wait sync.WaitGroup
			replies := make([]*apptest.Reply, 50)
			for i := range replies {
				c := visitor.In(t)
				wait.Go(func() { replies[i] = c.Get(address) })
			}
			wait.Wait()
			sent := 0
			for _, r := range replies {
				if r.Status == 302 {
					sent++
					continue
				}
				r.Fails(401, "INVALID_TOKEN")
				wantHeader(t, r, "Location", "")
			}
			if sent != 1 {
				t.Errorf("%d were redirected", sent)
			}
		})
		t.Run("an address is for one object", func(t *testing.T) { // abuse case C103
			address := redirectTarget(t, visitor.In(t).Get(link))
			other := redirectTarget(t, visitor.In(t).Get("/public/p.txt"))
			mine, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := url.Parse(other)
			if err != nil {
				t.Fatal(err)
			}
			withParameter := func(name, value string) string {
				u, query := *mine, mine.Query()
				query.Set(name, value)
				u.RawQuery = query.Encode()
				return u.String()
			}
			moved := *mine
			moved.Path = theirs.Path
			for _, forged := range []string{
				moved.String(), withParameter("response-content-type", "text/html"),
				withParameter("response-content-disposition", "inline"), withParameter("X-Amz-Expires", "604800"),
				withParameter("partNumber", "1"), withParameter("versionId", "null"),
			} {
				if got := fetchAsBrowser(t, forged); got.status != 403 {
					t.Errorf("%s: %d", forged, got.status)
				}
			}
			if got := fetchAsBrowser(t, address); got.status != 200 {
				t.Errorf("%d", got.status)
			}
		})
		t.Run("names", func(t *testing.T) { // abuse case C71
			admin := admin.In(t)
			long := strings.Repeat("🦀", 251) + ".txt"
			for name, want := range map[string]string{
				`q"uo'te+&=%41.txt`: `inline; filename="q_uo'te+&=_41.txt"; filename*=UTF-8''q%22uo%27te%2B%26%3D%2541.txt`,
				"שלום.txt":          `inline; filename="____.txt"; filename*=UTF-8''%D7%A9%D7%9C%D7%95%D7%9D.txt`,
				long: `inline; filename="` + strings.Repeat("_", 251) + `.txt"; filename*=UTF-8''` +
					strings.Repeat("%F0%9F%A6%80", 251) + ".txt",
			} {
				admin.Upload("/public/n", name, []byte("x"))
				got := fetchAsBrowser(t, redirectTarget(t, visitor.In(t).Get("/public/n/"+url.PathEscape(name))))
				if got.status != 200 || got.header.Get("Content-Disposition") != want {
					t.Errorf("%.20q: %d %s %.300s", name, got.status, got.header.Get("Content-Disposition"), got.body)
				}
			}
		})
		t.Run("the log", func(t *testing.T) {
			l.Clock.Advance(time.Millisecond) // entries of one moment have no order in the log over replicas
			redirectTarget(t, alice.In(t).Get("/home/alice/gr%C3%BCn.png"))
			l.FlushLog()
			log := admin.In(t).Get("/api/admin/logs?action=download").OK(200)
			wantJSON(t, "path", log.Value("logs.0.path"), "/home/alice/grün.png")
			wantJSON(t, "statusCode", log.Int("logs.0.statusCode"), int64(302))
			wantJSON(t, "bytesTransferred", log.Int("logs.0.bytesTransferred"), int64(0))
		})
		t.Run("only while the flag is set", func(t *testing.T) {
			admin, visitor := admin.In(t), visitor.In(t)
			path := providerPath(t, admin, bucket)
			admin.Put(path, M{"redirect": false}).OK(200)
			wantBody(t, visitor.Get("/public/p.txt").OK(200), "public")
			wantBody(t, visitor.Get(link).OK(200), "0123456789")
			admin.Put(path, M{"redirect": true}).OK(200)
			redirectTarget(t, visitor.Get("/public/p.txt"))
		})
	}, apptest.ReachLoopback)
}

// A store that has lost an object, or is down, causes a server error and uses up no token. Clients
// are not redirected to it.
func TestNoRedirectToFailingStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		proxy := s3test.NewProxy(t, s3test.New(t))
		for _, redirect := range []bool{true, false} {
			bucket := l.RootOnS3(t, M{"redirect": redirect, "uploadMode": "worker", "endpoint": proxy.Endpoint})
			alice := l.User(t, fmt.Sprint("alice_", redirect))
			dir := "/home/" + fmt.Sprint("alice_", redirect)
			id := alice.Upload(dir, "a.txt", []byte("hello"))
			token := downloadURL(alice, id)
			wantServerError := func(what string) {
				t.Helper()
				for _, r := range []*apptest.Reply{
					alice.Get(dir + "/a.txt"), alice.Head(dir + "/a.txt"),
					alice.Get(dir+"/a.txt", "Range", "bytes=0-1"), alice.Get(token), alice.Head(token),
					alice.Get(token, "Range", "bytes=1-2,4-"),
				} {
					wantStatus(t, what, r, 500, "INTERNAL_ERROR")
					for _, name := range []string{"Location", "ETag", "Content-Range", "Content-Disposition",
						"Access-Control-Allow-Origin"} {
						wantHeader(t, r, name, "")
					}
				}
			}
			key, sdk := onlyObject(t, bucket), bucket.SDK(t)
			if _, err := sdk.DeleteObject(t.Context(),
				&s3.DeleteObjectInput{Bucket: &bucket.Name, Key: &key}); err != nil {
				t.Fatal(err)
			}
			wantServerError("an object that is lost")
			// each replaces the one before
			for text, want := range map[string]int{"hell": 500, "hello!": 500, "hello": 200} {
				putObject(t, bucket, key, text)
				if r := alice.Head(dir + "/a.txt"); r.Status != want {
					t.Errorf("an object with the content %q: %d, want %d", text, r.Status, want)
				}
				if r := alice.Get(dir+"/a.txt", "Range", "bytes=0-1"); (r.Status < 400) != (want == 200) {
					t.Errorf("a part of an object with the content %q: %d", text, r.Status)
				}
			}
			putObject(t, bucket, key, "hello")
			if redirect {
				if got := fetchAsBrowser(t, redirectTarget(t, alice.Get(token))); got.body != "hello" {
					t.Errorf("%d %q", got.status, got.body)
				}
			} else {
				wantBody(t, alice.Get(token).OK(200), "hello")
			}
			token = downloadURL(alice, id)
			proxy.Down()
			wantServerError("a store that is down")
			if r := alice.Get(dir+"/a.txt", "If-None-Match", "*"); r.Status != 304 {
				t.Errorf("a request that needs no store: %d", r.Status)
			}
			proxy.Restore()
			if r := alice.Get(token); r.Status >= 400 {
				t.Errorf("after the store is back: %d", r.Status)
			}
		}
	}, apptest.ReachLoopback, apptest.WithoutObjectCache)
}

// The service fetches only the requested range from the store, and nothing for HEAD, 304 and 416.
func TestOnlyRequestedRangeIsFetched(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		proxy, _ := rootBehindProxy(t, l, M{"uploadMode": "worker"})
		var mu sync.Mutex
		var asked []string
		proxy.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, strings.TrimSpace(r.Method+" "+r.Header.Get("Range")))
			return false
		})
		admin, visitor := l.Admin(t), l.Client(t)
		content := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
		admin.Upload("/public", "f.txt", []byte(content))
		etag := visitor.Head("/public/f.txt").OK(200).Header.Get("ETag")
		for _, c := range []struct {
			method string
			header []string
			status int
			body   string
			asks   []string
		}{
			{"GET", nil, 200, content, []string{"GET"}},
			{"HEAD", nil, 200, "", []string{"HEAD"}},
			{"HEAD", []string{"Range", "bytes=5-9"}, 206, "", []string{"HEAD"}},
			{"GET", []string{"Range", "bytes=5-9"}, 206, "56789", []string{"GET bytes=5-9"}},
			{"GET", []string{"Range", "bytes=0-0"}, 206, "0", []string{"GET bytes=0-0"}},
			{"GET", []string{"Range", "bytes=-16"}, 206, content[:16], []string{"GET bytes=1048560-1048575"}},
			{"GET", []string{"Range", "bytes=1048575-"}, 206, "f", []string{"GET bytes=1048575-1048575"}},
			{"GET", []string{"Range", "bytes=0-1048575"}, 206, content, []string{"GET"}},
			{"GET", []string{"Range", "bytes=5-9", "If-Range", etag}, 206, "56789", []string{"GET bytes=5-9"}},
			{"GET", []string{"Range", "bytes=5-9", "If-Range", `"x"`}, 200, content, []string{"GET"}},
			{"GET", []string{"Range", "bytes=1048576-"}, 416, "", nil},
			{"GET", []string{"If-None-Match", etag}, 304, "", nil},
			{"HEAD", []string{"If-None-Match", etag}, 304, "", nil},
			{"GET", []string{"If-Match", `"x"`}, 412, "", nil},
		} {
			mu.Lock()
			asked = nil
			mu.Unlock()
			header := http.Header{}
			for i := 0; i+1 < len(c.header); i += 2 {
				header.Set(c.header[i], c.header[i+1])
			}
			r := visitor.Do(apptest.Request{Method: c.method, Path: "/public/f.txt", Header: header})
			if r.Status != c.status || c.body != "" && string(r.Body) != c.body {
				t.Errorf("%s %v: %d, %d bytes", c.method, c.header, r.Status, len(r.Body))
			}
			mu.Lock()
			if !slices.Equal(asked, c.asks) {
				t.Errorf("%s %v: the store was asked %q, want %q", c.method, c.header, asked, c.asks)
			}
			mu.Unlock()
		}
		several := visitor.Get("/public/f.txt", "Range", "bytes=0-1,20-21")
		if several.Status != 206 || !strings.Contains(string(several.Body), "\r\n\r\n45\r\n") {
			t.Errorf("two ranges: %d %s", several.Status, several.Body)
		}
	}, apptest.ReachLoopback)
}

// A page loaded by https shows no content loaded by http. The service sends the bytes itself then.
func TestHTTPSPagesAreNotRedirectedToHTTP(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker", "publicDomain": "http://cdn.example"})
		admin, visitor := l.Admin(t), l.Client(t)
		id := admin.Upload("/public", "p.png", []byte(onePixel))
		wantBody(t, visitor.Get("/public/p.png").OK(200), onePixel)
		direct := copyLinks(admin, id, "?signed=true").OK(200).Text("formats.direct")
		if !strings.HasPrefix(direct, "https://larder.test/api/gateway/download/") {
			t.Errorf("a signed link: %s", direct)
		}
		provider := providerPath(t, admin, bucket)
		admin.Put(provider, M{"publicDomain": "cdn.example/"}).Fails(400, "VALIDATION_ERROR")
		admin.Put(provider, M{"publicDomain": "cdn.example"}).OK(200)
		wantJSON(t, "a host alone", redirectTarget(t, visitor.Get("/public/p.png")),
			"https://cdn.example/"+onlyObject(t, bucket))
	}, apptest.ReachLoopback, apptest.TrustLoopback, func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" })
}
