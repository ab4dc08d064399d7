package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/thumb/thumbtest"
)

// compressedRoutes are the routes that may compress their answers: those that list, describe or are
// the page, and have no secret in them.
var compressedRoutes = []string{
	"GET /api/files", "GET /api/files/timeline", "GET /api/files/timeline/entries", "GET /api/public/files",
	"GET /api/files/recent", "GET /api/files/{id}/versions", "GET /api/trash", "GET /api/users/me/favourites",
	"GET /api/admin/files", "GET /api/admin/users",
	"GET /api/admin/logs", "GET /api/admin/stats/series", "GET /api/admin/announcements", "GET /api/admin/mounts",
	"GET /api/admin/rules", "GET /api/admin/storage/providers", "GET /api/openapi.json",
}

// decompress returns the text of a compressed answer. It fails the test if the answer isn't
// compressed or its length is wrong.
func decompress(t *testing.T, r *apptest.Reply) string {
	t.Helper()
	wantHeader(t, r, "Content-Encoding", "gzip")
	wantHeader(t, r, "Content-Length", strconv.Itoa(len(r.Body)))
	reader, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Abuse case C133. Each route of the table, by its Vary header, which a refusal has as well.
func TestOnlyListedRoutesCompress(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	seen := 0
	for _, row := range api.TableRows() {
		methods := []string{row.Method}
		if row.Method == "GET" {
			methods = append(methods, "HEAD")
		}
		for _, method := range methods {
			path := strings.NewReplacer("{", "", "}", "").Replace(row.Pattern)
			r := visitor.Do(apptest.Request{Method: method, Path: path,
				Header: map[string][]string{"Accept-Encoding": {"gzip"}}})
			want := slices.Contains(compressedRoutes, row.Method+" "+row.Pattern)
			if got := slices.Contains(r.Header.Values("Vary"), "Accept-Encoding"); got != want {
				t.Errorf("%s %s varies with the encoding: %v, want %v", method, row.Pattern, got, want)
			}
			if !want && r.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s %s is compressed", method, row.Pattern)
			}
			if want {
				seen++
			}
		}
	}
	if seen != 2*len(compressedRoutes) {
		t.Errorf("%d requests to routes of the list, want %d", seen, 2*len(compressedRoutes))
	}
}

// Every route of the list, and the page at each of its addresses, has the same answer with and
// without compression.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback, withTrash)
	admin := l.Admin(t)
	store := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
	for i := range 6 {
		mkdir(admin, "/public", fmt.Sprint("folder ", i))
		addRule(admin, M{"pathPattern": fmt.Sprint("/nowhere/", i, "/**"), "effect": "deny", "role": "guest"})
		addMount(admin, store, fmt.Sprint("/mounts/", i))
		addProvider(admin, fmt.Sprint("bucket", i))
	}
	for i := range 3 {
		l.User(t, fmt.Sprint("user", i))
	}
	for i := range 30 { // a month of the timeline each
		id := admin.Upload("/public/folder 0", fmt.Sprint(i, ".png"), thumbtest.PNG(thumbtest.HalfTransparent(3, 2)))
		if err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE entries SET created_at = $1 WHERE id = $2", i*31*86_400_000, id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	admin.Post("/api/admin/announcements", M{"title": "t", "content": strings.Repeat("long ", 300)}).OK(201)
	var replaced string
	for i := range 6 {
		replaced = admin.Upload("/public", "v.txt", fmt.Append(nil, i), M{"conflict": "replace"})
		id := admin.Upload("/public", fmt.Sprint(i, ".txt"), []byte("x"))
		admin.Put("/api/users/me/favourites/"+id, nil).OK(200)
		gone := admin.Upload("/public", fmt.Sprint("gone ", i, ".txt"), []byte("x"))
		admin.Delete("/api/files/" + gone + "?trash=true").OK(200)
		l.Clock.Advance(time.Second)
	}
	l.FlushLog()
	addresses := map[string]string{"GET /": "/", "GET /app": "/app", "GET /app/files": "/app/files/public"}
	for _, route := range compressedRoutes {
		addresses[route] = strings.TrimPrefix(route, "GET ")
	}
	addresses["GET /api/files"] = "/api/files?path=/public"
	addresses["GET /api/files/{id}/versions"] = "/api/files/" + replaced + "/versions"
	addresses["search"] = "/api/files?path=/&search=folder"
	addresses["GET /api/public/files"] = "/api/public/files?path=/public"
	addresses["GET /api/admin/logs"] = "/api/admin/logs?action=folder"
	addresses["GET /api/admin/stats/series"] = "/api/admin/stats/series?metric=logins&step=600"
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			c := admin.In(t)
			plain, zipped := c.Get(address), c.Get(address, "Accept-Encoding", "gzip")
			if plain.Status != 200 || zipped.Status != 200 || len(plain.Body) <= 1024 {
				t.Fatalf("status %d, %d bytes", zipped.Status, len(plain.Body))
			}
			text := decompress(t, zipped)
			if sameBut(text) != sameBut(string(plain.Body)) {
				t.Errorf("compressed %.300s, not compressed %.300s", text, plain.Body)
			}
			if len(zipped.Body) > len(plain.Body)/2 {
				t.Errorf("%d bytes of %d", len(zipped.Body), len(plain.Body))
			}
			for _, r := range []*apptest.Reply{plain, zipped} {
				wantHeader(t, r, "Vary", "Accept-Encoding")
			}
			wantHeader(t, plain, "Content-Encoding", "")
			for _, encoding := range []string{"", "gzip"} {
				head := c.Head(address, "Accept-Encoding", encoding)
				wantHeader(t, head, "Content-Encoding", encoding)
				wantHeader(t, head, "Vary", "Accept-Encoding")
				length, err := strconv.Atoi(head.Header.Get("Content-Length"))
				want := len(plain.Body)
				if encoding == "gzip" {
					want = len(zipped.Body)
				}
				// the time and the nonce in the answer compress to a few bytes more or less
				if err != nil || length < want-40 || length > want+40 || encoding == "" && length != want {
					t.Errorf("HEAD with %q: length %d, want %d", encoding, length, want)
				}
			}
		})
	}
}

// sameBut returns an answer without the time and the nonce, which differ in each.
func sameBut(text string) string {
	if at := strings.LastIndex(text, `"timestamp":`); at >= 0 {
		return text[:at]
	}
	if _, rest, found := strings.Cut(text, `nonce="`); found {
		_, rest, _ = strings.Cut(rest, `"`)
		return rest
	}
	return text
}

// Answers of more than 1 KiB are compressed, where the client accepts gzip.
func TestCompressionBegins(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	const path = "/api/admin/announcements"
	id := admin.Post(path, M{"title": "t", "content": "x"}).OK(201).Text("announcement.id")
	padding := 1025 - len(admin.Get(path).OK(200).Body)
	for size, encoding := range map[int]string{1023: "", 1024: "", 1025: "gzip"} {
		admin.Put(path+"/"+id, M{"content": strings.Repeat("x", padding+size-1024)}).OK(200)
		if plain := admin.Get(path).OK(200); len(plain.Body) != size {
			t.Fatalf("%d bytes, want %d", len(plain.Body), size)
		}
		r := admin.Get(path, "Accept-Encoding", "gzip")
		wantHeader(t, r, "Content-Encoding", encoding)
		if encoding != "" && len(decompress(t, r)) != size {
			t.Errorf("%d bytes after decompression, want %d", len(decompress(t, r)), size)
		}
	}
}

// RFC 9110, section 12.5.3.
func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	for accept, want := range map[string]string{
		"": "", "identity": "", "br": "", "deflate, br;q=1.0": "",
		"gzip": "gzip", "GZip": "gzip", "x-gzip": "gzip", "br, gzip, deflate": "gzip", "br,\t gzip ;\tQ=0.5": "gzip",
		"*": "gzip", "*;q=0.1": "gzip", "gzip;q=0.001": "gzip", "gzip;q=1.000, *;q=0": "gzip",
		"gzip;q=0": "", "gzip;q=0.000": "", "*;q=0": "", "gzip;q=0, *": "", "*, gzip;q=0": "", "gzip;q=0, gzip": "",
		"gzip;q=0.5, identity;q=0.5": "gzip", "gzip;q=0.5, identity": "", "identity;q=0, gzip;q=0.1": "gzip",
		// no weights
		"gzip;q=1.001": "", "gzip;q=2": "", "gzip;q=-1": "", "gzip;q=": "", "gzip;q=NaN": "", "gzip;q=0.1234": "",
		"gzip;level=1": "", "gzip;": "", "gzipped": "", "not gzip": "",
	} {
		r := visitor.Get("/api/openapi.json", "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding"); r.Status != 200 || got != want {
			t.Errorf("Accept-Encoding %q: status %d, encoding %q, want %q", accept, r.Status, got, want)
		}
	}
	r := visitor.Get("/api/openapi.json", "Accept-Encoding", "br", "Accept-Encoding", "gzip")
	wantHeader(t, r, "Content-Encoding", "gzip")
}

// The tag of the OpenAPI document is weak, since it stands for all encodings.
func TestDocumentTag(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	visitor := l.Client(t)
	plain := visitor.Get("/api/openapi.json")
	tag := plain.Header.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || len(tag) < 10 {
		t.Fatalf("tag %q", tag)
	}
	wantHeader(t, plain, "Cache-Control", "no-cache")
	wantHeader(t, visitor.Get("/api/openapi.json", "Accept-Encoding", "gzip"), "ETag", tag)
	for _, condition := range []string{tag, strings.TrimPrefix(tag, "W/"), `"a", ` + tag, "*"} {
		for _, encoding := range []string{"", "gzip"} {
			r := visitor.Get("/api/openapi.json", "If-None-Match", condition, "Accept-Encoding", encoding)
			if r.Status != 304 || len(r.Body) > 0 {
				t.Errorf("%s: status %d, %d bytes", condition, r.Status, len(r.Body))
			}
			wantHeader(t, r, "ETag", tag)
			wantHeader(t, r, "Vary", "Accept-Encoding")
			wantHeader(t, r, "Content-Encoding", "")
		}
	}
	for _, condition := range []string{`"a"`, `W/"a", "b"`, tag[:len(tag)-2] + `"`} {
		if r := visitor.Get("/api/openapi.json", "If-None-Match", condition); r.Status != 200 {
			t.Errorf("%s: status %d", condition, r.Status)
		}
	}
}

// Abuse case C133. Long answers with contents of files or with secrets are sent as they are.
func TestContentsAndSecretsAreNotCompressed(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, visitor := l.Admin(t), l.Client(t)
	text := []byte(strings.Repeat("the same line\n", 300))
	id := admin.Upload("/public", "long.txt", text)
	folder := mkdir(admin, "/public", "album")
	var ids []string
	for i := range 12 {
		ids = append(ids, admin.Upload("/public/album", fmt.Sprint(i, ".txt"), []byte("x")))
		admin.Post("/api/admin/invites", M{}).OK(201)
		shareEntry(admin, ids[i])
	}
	for i := range 10 {
		admin.Key(M{"name": fmt.Sprint(i)})
	}
	drive := davKey(admin, M{"uploadPath": "/public"})
	link := admin.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
	share := shareEntry(admin, folder)
	admin.Put("/api/files/"+id, M{"customTitle": strings.Repeat("t", 200)}).OK(200)
	for what, ask := range map[string]func() *apptest.Reply{
		"public path":    func() *apptest.Reply { return visitor.Get("/public/long.txt", "Accept-Encoding", "gzip") },
		"permanent link": func() *apptest.Reply { return visitor.Get(link, "Accept-Encoding", "gzip") },
		"gateway":        func() *apptest.Reply { return visitor.Get(downloadURL(admin, id), "Accept-Encoding", "gzip") },
		"embed": func() *apptest.Reply {
			return admin.Get("/api/files/"+id+"/download", "Accept-Encoding", "gzip", "Sec-Fetch-Dest", "image")
		},
		"WebDAV": func() *apptest.Reply { return drive.Get("/webdav/public/long.txt", "Accept-Encoding", "gzip") },
		"WebDAV listing": func() *apptest.Reply {
			return dav(drive, "PROPFIND", "/public/album", nil, "Depth", "1", "Accept-Encoding", "gzip")
		},
		"share listing": func() *apptest.Reply {
			return visitor.Get("/api/shares/"+share+"/files", "Accept-Encoding", "gzip")
		},
		"shares":     func() *apptest.Reply { return admin.Get("/api/shares/", "Accept-Encoding", "gzip") },
		"all shares": func() *apptest.Reply { return admin.Get("/api/admin/shares", "Accept-Encoding", "gzip") },
		"keys":       func() *apptest.Reply { return admin.Get("/api/keys/", "Accept-Encoding", "gzip") },
		"invites":    func() *apptest.Reply { return admin.Get("/api/admin/invites", "Accept-Encoding", "gzip") },
		"signed links": func() *apptest.Reply {
			return admin.Post("/api/files/copy-links", M{"ids": ids, "signed": true}, "Accept-Encoding", "gzip")
		},
		"page of a refusal": func() *apptest.Reply {
			return visitor.Get("/home/x", "Accept", "text/html", "Accept-Encoding", "gzip")
		},
	} {
		r := ask()
		if r.Status >= 500 || len(r.Body) <= 1024 {
			t.Errorf("%s: status %d, %d bytes", what, r.Status, len(r.Body))
		}
		if got := r.Header.Get("Content-Encoding"); got != "" || slices.Contains(r.Header.Values("Vary"), "Accept-Encoding") {
			t.Errorf("%s: encoding %q, Vary %q", what, got, r.Header.Values("Vary"))
		}
	}
	// too short for a compression here; a page that is compressed names the encoding in any case
	page := visitor.Get("/share/"+share, "Accept", "text/html", "Accept-Encoding", "gzip").OK(200)
	if vary := page.Header.Values("Vary"); slices.Contains(vary, "Accept-Encoding") {
		t.Errorf("page of a share: Vary %q", vary)
	}
}

// BenchmarkCompression compresses the answer of a listing of 200 files at the levels of gzip.
func BenchmarkCompression(b *testing.B) {
	l := apptest.Start(b, "sqlite")
	admin := l.Admin(b)
	for i := range 200 {
		admin.Upload("/public", fmt.Sprintf("IMG_%04d photograph of the lake.jpg", i*7), []byte("x"))
	}
	text := admin.Get("/api/files?path=/public&limit=200").OK(200).Body
	for _, level := range []int{1, 2, 4, 6, 9} {
		b.Run(fmt.Sprint("level ", level), func(b *testing.B) {
			compress := api.CompressAt(level)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				compress(text)
			}
			b.ReportMetric(float64(len(compress(text))), "bytes/answer")
		})
	}
}
