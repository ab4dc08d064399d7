package api_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestGateway(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		const text = "0123456789"
		id := alice.Upload("/home/alice", "data.txt", []byte(text))

		t.Run("answer", func(t *testing.T) {
			r := alice.In(t).Get("/api/files/" + id + "/download").OK(200)
			if !strings.HasPrefix(r.Text("url"), apptest.BaseURL+"/api/gateway/download/") ||
				r.Int("expiresAt") != l.Clock.Now().Add(15*time.Minute).UnixMilli() {
				t.Errorf("got %s", r.Body)
			}
			wantHeader(t, r, "Cache-Control", "private, no-store")
			r = visitor.In(t).Get(r.Text("url")).OK(200)
			wantBody(t, r, text)
			wantHeader(t, r, "Content-Type", "text/plain; charset=utf-8")
			wantHeader(t, r, "Content-Disposition", `attachment; filename="data.txt"`)
			wantHeader(t, r, "Cache-Control", "private, no-store")
			wantHeader(t, r, "X-Content-Type-Options", "nosniff")
			wantHeader(t, r, "Content-Length", "10")
			wantHeader(t, r, "Accept-Ranges", "bytes")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
			if r.Header.Get("ETag") == "" || r.Header.Get("Last-Modified") == "" {
				t.Errorf("validators: %v", r.Header)
			}
		})
		t.Run("once", func(t *testing.T) {
			address := downloadURL(alice.In(t), id)
			visitor.In(t).Get(address).OK(200)
			r := visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			wantHeader(t, r, "ETag", "")
			wantHeader(t, r, "Content-Disposition", "")
			visitor.In(t).Head(address).Fails(401, "INVALID_TOKEN")
			for _, junk := range []string{"x", strings.Repeat("a", 43), "%00", "%ff", strings.Repeat("x", 4000)} {
				visitor.In(t).Get("/api/gateway/download/"+junk).Fails(401, "INVALID_TOKEN")
			}
			visitor.In(t).Get(strings.Replace(downloadURL(alice.In(t), id), "download/", "download/x", 1)).
				Fails(401, "INVALID_TOKEN")
		})
		t.Run("requests that do not consume the token", func(t *testing.T) {
			visitor := visitor.In(t)
			address := downloadURL(alice.In(t), id)
			head := visitor.Head(address).OK(200)
			wantHeader(t, head, "Content-Length", "10")
			etag, modified := head.Header.Get("ETag"), head.Header.Get("Last-Modified")
			r := visitor.Get(address, "If-None-Match", etag)
			if r.Status != 304 || len(r.Body) != 0 {
				t.Fatalf("If-None-Match: %d", r.Status)
			}
			if r = visitor.Get(address, "If-None-Match", `"other", W/`+etag); r.Status != 304 {
				t.Fatalf("a list of tags: %d", r.Status)
			}
			if r = visitor.Get(address, "If-Modified-Since", modified); r.Status != 304 {
				t.Fatalf("If-Modified-Since: %d", r.Status)
			}
			r = visitor.Get(address, "Range", "bytes=10-")
			if r.Status != 416 {
				t.Fatalf("range outside: %d", r.Status)
			}
			wantHeader(t, r, "Content-Range", "bytes */10")
			if r = visitor.Get(address, "If-Match", `"other"`); r.Status != 412 {
				t.Fatalf("If-Match: %d", r.Status)
			}
			visitor.Head(address, "Range", "bytes=0-1")
			wantBody(t, visitor.Get(address, "If-None-Match", `"other"`).OK(200), text)
			visitor.Get(address).Fails(401, "INVALID_TOKEN")
		})
		t.Run("ranges", func(t *testing.T) {
			for _, test := range []struct {
				header, value, ifRange string
				status                 int
				body, contentRange     string
			}{
				{"Range", "bytes=0-3", "", 206, "0123", "bytes 0-3/10"},
				{"Range", "bytes=8-", "", 206, "89", "bytes 8-9/10"},
				{"Range", "bytes=-3", "", 206, "789", "bytes 7-9/10"},
				{"Range", "bytes=5-1000", "", 206, "56789", "bytes 5-9/10"},
				{"Range", "bytes=0-0", "", 206, "0", "bytes 0-0/10"},
				{"Range", "bytes=0-3", "same", 206, "0123", "bytes 0-3/10"},
				{"Range", "bytes=0-3", `"other"`, 200, text, ""},
				{"Range", "lines=1-2", "", 200, text, ""},
			} {
				address := downloadURL(alice.In(t), id)
				header := []string{test.header, test.value}
				if test.ifRange == "same" {
					test.ifRange = visitor.In(t).Head(address).OK(200).Header.Get("ETag")
				}
				if test.ifRange != "" {
					header = append(header, "If-Range", test.ifRange)
				}
				r := visitor.In(t).Get(address, header...)
				if test.value == "lines=1-2" && r.Status == 416 { // an unknown unit may be refused or ignored
					continue
				}
				if r.Status != test.status {
					t.Errorf("%s: %d", test.value, r.Status)
				}
				wantBody(t, r, test.body)
				wantHeader(t, r, "Content-Range", test.contentRange)
				visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN") // a part counts as a download, too
			}
			r := visitor.In(t).Get(downloadURL(alice.In(t), id), "Range", "bytes=0-1,8-9")
			if r.Status != 206 || !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/byteranges; boundary=") ||
				!strings.Contains(string(r.Body), "bytes 8-9/10") {
				t.Errorf("two ranges: %d %s %s", r.Status, r.Header.Get("Content-Type"), r.Body)
			}
			wantHeader(t, r, "X-Content-Type-Options", "nosniff")
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
			bodies := 0
			for _, r := range replies {
				if r.Status == 200 {
					bodies++
					wantBody(t, r, text)
					continue
				}
				r.Fails(401, "INVALID_TOKEN")
				if r.Header.Get("ETag") != "" || r.Header.Get("Content-Disposition") != "" ||
					strings.Contains(string(r.Body), text) {
					t.Errorf("a request that lost learns of the file: %v", r.Header)
				}
			}
			if bodies != 1 {
				t.Errorf("%d bodies", bodies)
			}
		})
		t.Run("ends with its session, file and rights", func(t *testing.T) { // abuse cases C31, C86
			carol := l.User(t, "carol")
			file := carol.Upload("/home/carol", "f.txt", []byte("carol"))
			address := downloadURL(carol, file)
			rule := addRule(admin.In(t), M{"pathPattern": "/home/carol/**", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			visitor.In(t).Get(address).OK(200) // it was not used up

			address = downloadURL(carol, file)
			carol.Put("/api/files/"+file, M{"name": "renamed.txt"}).OK(200)
			wantHeader(t, visitor.In(t).Get(address).OK(200), "Content-Disposition",
				`attachment; filename="renamed.txt"`)

			key := carol.Key(M{})
			address = downloadURL(key, file)
			token, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
			carol.Delete("/api/keys/" + token).OK(200)
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")

			address = downloadURL(carol, file)
			carol.Delete("/api/files/" + file).OK(200)
			if r := visitor.In(t).Get(address); r.Status != 404 && r.Status != 401 {
				t.Errorf("of a deleted file: %d", r.Status)
			}
		})
		t.Run("fifteen minutes", func(t *testing.T) {
			alice := l.SignIn(t, "alice", "password of alice")
			early, late := downloadURL(alice, id), downloadURL(alice, id)
			l.Clock.Advance(15*time.Minute - time.Millisecond)
			visitor.In(t).Get(early).OK(200)
			l.Clock.Advance(time.Millisecond)
			visitor.In(t).Get(late).Fails(401, "INVALID_TOKEN")
			visitor.In(t).Head(late).Fails(401, "INVALID_TOKEN")
		})
		t.Run("required permission", func(t *testing.T) {
			bob := l.User(t, "bob")
			bob.Get("/api/files/"+id+"/download").Fails(403, "FORBIDDEN")
			bob.Get("/api/files/none/download").Fails(404, "NOT_FOUND")
			visitor.In(t).Get("/api/files/"+id+"/download").Fails(401, "UNAUTHORIZED")
			visitor.In(t).Get("/api/files/none/download").Fails(401, "UNAUTHORIZED")
		})
	})
}

// GET /api/files/{id}/download: a session gets JSON, an embed gets bytes, and a visitor is
// redirected to the public address.
func TestDownloadResponseByCaller(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		linked := alice.Upload("/home/alice", "linked.png", []byte(onePixel))
		link := alice.Post("/api/files/"+linked+"/link", M{}).OK(200).Text("link.url")
		public := admin.Upload("/public", "open é.png", []byte(onePixel))
		private := alice.Upload("/home/alice", "private.png", []byte(onePixel))
		publicURL := apptest.BaseURL + "/public/open%20%C3%A9.png"

		shows := [][]string{
			{"Accept", "*/*"}, {"Accept", "text/html,application/xhtml+xml"}, {"Accept", "image/avif,image/webp,*/*"},
			{"Accept", "video/*"}, {"Accept", "audio/mp3;q=0.9"},
			{"Sec-Fetch-Dest", "image", "Accept", "image/*"},
		}
		for _, header := range shows {
			t.Run("visitor "+strings.Join(header, " "), func(t *testing.T) {
				for id, want := range map[string]string{linked: link, public: publicURL} {
					r := visitor.In(t).Get("/api/files/"+id+"/download", header...)
					if r.Status != 302 {
						t.Fatalf("status %d: %s", r.Status, r.Body)
					}
					wantHeader(t, r, "Location", want)
					wantHeader(t, r, "Cache-Control", "no-store")
					wantHeader(t, r, "Vary", "Accept, Sec-Fetch-Dest, Cookie, Authorization")
					wantBody(t, visitor.In(t).Get(want).OK(200), onePixel)
				}
				visitor.In(t).Get("/api/files/"+private+"/download", header...).Fails(401, "UNAUTHORIZED")
				visitor.In(t).Get("/api/files/none/download", header...).Fails(401, "UNAUTHORIZED")
			})
		}
		for _, header := range [][]string{nil, {"Accept", "application/json"}, {"Accept", "application/json, */*"}} {
			for _, id := range []string{linked, public, private} {
				visitor.Get("/api/files/"+id+"/download", header...).Fails(401, "UNAUTHORIZED")
			}
		}
		key := alice.Key(M{})
		for _, c := range []*apptest.Client{alice, key} {
			for _, header := range [][]string{nil, {"Accept", "*/*"}, {"Accept", "application/json"},
				{"Accept", "text/html"}, {"Sec-Fetch-Dest", "document"}, {"Sec-Fetch-Dest", "empty", "Accept", "*/*"}} {
				r := c.Get("/api/files/"+private+"/download", header...).OK(200)
				if !strings.HasPrefix(r.Text("url"), apptest.BaseURL+"/api/gateway/download/") {
					t.Errorf("%v: %s", header, r.Body)
				}
			}
			for _, header := range [][]string{{"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "video"},
				{"Sec-Fetch-Dest", "audio"}, {"Accept", "image/webp,*/*"}} {
				r := c.Get("/api/files/"+private+"/download", header...).OK(200)
				wantBody(t, r, onePixel)
				wantHeader(t, r, "Content-Type", "image/png")
				wantHeader(t, r, "Content-Disposition", `inline; filename="private.png"`)
				wantHeader(t, r, "Cache-Control", "private, no-store")
			}
		}
		stale := l.Client(t)
		stale.Cookies["auth_token"] = "stale"
		wantHeader(t, stale.Get("/api/files/"+linked+"/download", "Accept", "image/*"), "Location", link)
		wantHeader(t, stale.Get("/api/files/"+linked+"/download", "Sec-Fetch-Dest", "image", "Accept", "*/*"),
			"Location", link)
		stale.Get("/api/files/"+linked+"/download", "Accept", "application/json").Fails(401, "INVALID_TOKEN")
		l.Client(t).Get("/api/files/"+linked+"/download", "Authorization", "Bearer junk", "Accept", "image/*").
			Fails(401, "INVALID_TOKEN")

		bob := l.User(t, "bob")
		bob.Get("/api/files/"+private+"/download", "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
	})
}
