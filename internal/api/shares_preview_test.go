package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// fileHeads are the first bytes of files by type. The bytes after them do not matter.
var fileHeads = map[string]string{
	"image/png": onePixel, "image/jpeg": "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "image/gif": "GIF89a\x01\x00\x01\x00",
	"image/webp": "RIFF\x1a\x00\x00\x00WEBPVP8L",
	"image/avif": "\x00\x00\x00\x20ftypavif\x00\x00\x00\x00avifmif1",
	"image/bmp":  "BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00",
	"video/mp4":  "\x00\x00\x00\x20ftypmp42\x00\x00\x00\x00mp42isom",
	"video/webm": "\x1a\x45\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1f\x42\x86\x81\x01\x42\x82\x84webm",
	"audio/mpeg": "\xff\xfb\x90\x64\x00\x00",
	"audio/ogg":  "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead",
	"audio/flac": "fLaC\x00\x00\x00\x22", "application/pdf": "%PDF-1.7\n", "text/plain": "just words\n",
}

// Specification: Share endpoints, preview; docs/decisions.md, Shares: bytes and folders.
func TestSharePreview(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		preview := func(t *testing.T, id string, header ...string) *apptest.Reply {
			t.Helper()
			return visitor.In(t).Get("/api/shares/"+shareEntry(alice.In(t), id)+"/preview", header...)
		}
		t.Run("previewed types", func(t *testing.T) {
			for media, head := range fileHeads {
				for _, claim := range []string{media, "application/octet-stream"} {
					id := alice.In(t).Upload("/home/alice/shown", "file", []byte(head+strings.Repeat("x", 9000)),
						M{"mimeType": claim, "conflict": "rename"})
					r := preview(t, id)
					wantStatus(t, media+" as "+claim, r, 200, "")
					if got, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); got != media {
						t.Errorf("%s as %s is shown as %s", media, claim, got)
					}
					policy := r.Header.Get("Content-Security-Policy")
					if !strings.HasPrefix(r.Header.Get("Content-Disposition"), "inline;") ||
						!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") {
						t.Errorf("%s: %v", media, r.Header)
					}
					wantHeader(t, r, "X-Content-Type-Options", "nosniff")
					wantHeader(t, r, "Cache-Control", "private, no-store")
					wantHeader(t, r, "Access-Control-Allow-Origin", "")
				}
			}
			r := preview(t, alice.In(t).Upload("/home/alice/shown", "wrong.jpg", []byte(onePixel)))
			wantBody(t, r.OK(200), onePixel)
			wantHeader(t, r, "Content-Type", "image/png")
			wantHeader(t, r, "Content-Disposition", `inline; filename="wrong.jpg"`)
			preview(t, alice.In(t).Upload("/home/alice/shown", "empty.txt", nil)).OK(200)
		})
		t.Run("types without preview", func(t *testing.T) { // abuse cases C67, C70
			page := "<!DOCTYPE html><script>alert(1)</script>"
			for what, c := range map[string][2]string{
				"a page": {page, "text/html"}, "a page as a picture": {page, "image/png"},
				"a page as text": {page, "text/plain"}, "a page as a video": {page, "video/mp4"},
				"a page as nothing": {page, "application/octet-stream"},
				"xhtml": {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`,
					"image/gif"},
				"a drawing":              {`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`, "image/svg+xml"},
				"a drawing as a picture": {`<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/png"},
				"a drawing as text":      {`<svg xmlns="http://www.w3.org/2000/svg"/>`, "text/plain"},
				"xml":                    {`<?xml version="1.0"?><a/>`, "text/plain"},
				"a script":               {"alert(1)", "text/javascript"},
				"words as a picture":     {"just words", "image/png"},
				"words as a video":       {"just words", "video/mp4"},
				"style":                  {"a{}", "text/css"}, "a picture as a page": {onePixel, "text/html"},
				"a gif that is a script":  {"GIF89a=1;alert(1)", "text/javascript"},
				"an archive":              {"PK\x03\x04\x14\x00", "application/zip"},
				"an archive as a picture": {"PK\x03\x04\x14\x00", "image/png"},
				"a program":               {"\x7fELF\x02\x01\x01", "image/png"},
				"noise":                   {"\x00\x01\x02\x03\xff\xfe", "image/png"},
				"noise as a video":        {"\x00\x01\x02\x03\xff\xfe", "video/mp4"},
				"noise as nothing":        {"\x00\x01\x02\x03", "application/octet-stream"},
			} {
				id := alice.In(t).Upload("/home/alice/hidden", "x.png", []byte(c[0]),
					M{"mimeType": c[1], "conflict": "rename"})
				share := shareEntry(alice.In(t), id)
				for _, header := range [][]string{nil, {"Range", "bytes=0-3"}, {"If-None-Match", "*"}} {
					r := visitor.In(t).Get("/api/shares/"+share+"/preview", header...)
					wantStatus(t, what, r, 403, "FORBIDDEN")
					wantHeader(t, r, "ETag", "")
					wantHeader(t, r, "Content-Disposition", "")
					wantStatus(t, "HEAD of "+what, visitor.In(t).Head("/api/shares/"+share+"/preview", header...), 403,
						"")
				}
			}
		})
		t.Run("in a sandbox", func(t *testing.T) { // abuse cases C67, C68, C70
			drawing, page := `<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`,
				"<!DOCTYPE html><script>alert(1)</script>"
			upload := func(t *testing.T, body, claim string) string {
				t.Helper()
				id := alice.In(t).Upload("/home/alice/boxed", "x", []byte(body),
					M{"mimeType": claim, "conflict": "rename"})
				return "/api/shares/" + shareEntry(alice.In(t), id) + "/preview?sandbox=true"
			}
			for what, c := range map[string]struct{ body, claim, media string }{
				"a drawing":           {drawing, "image/svg+xml", "image/svg+xml"},
				"Markdown":            {"# Read\n", "text/markdown", "text/markdown"},
				"Markdown with HTML":  {`<h1 align="center">Read</h1>`, "text/markdown", "text/markdown"},
				"a page":              {page, "text/html", "text/html"},
				"a page as text":      {page, "text/plain", "application/octet-stream"},
				"a page as a picture": {page, "image/png", "application/octet-stream"},
				"a page as nothing":   {page, "application/octet-stream", "text/html"},
				"a script":            {"alert(1)", "text/javascript", "text/javascript"},
			} {
				at := upload(t, c.body, c.claim)
				r := visitor.In(t).Get(at)
				wantStatus(t, what, r, 200, "")
				wantBody(t, r, c.body)
				wantHeader(t, r, "Content-Type", c.media)
				wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				wantHeader(t, r, "Cache-Control", "private, no-store")
				if policy := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") ||
					!strings.HasSuffix(policy, "; sandbox") || strings.Contains(policy, "script-src") {
					t.Errorf("%s: policy %q", what, policy)
				}
				if !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment;") {
					t.Errorf("%s: %v", what, r.Header)
				}
				visitor.In(t).Get(at, "Sec-Fetch-Dest", "script", "Sec-Fetch-Site", "same-origin").
					Fails(403, "FORBIDDEN")
				visitor.In(t).Get(strings.TrimSuffix(at, "true")+"false").Fails(403, "FORBIDDEN")
			}
			for what, c := range map[string][2]string{"an archive": {"PK\x03\x04\x14\x00", "application/zip"},
				"noise": {"\x00\x01\x02\x03\xff\xfe", "text/markdown"}, "a picture as a page": {onePixel, "text/html"}} {
				wantStatus(t, what, visitor.In(t).Get(upload(t, c[0], c[1])), 403, "FORBIDDEN")
			}
			r := visitor.In(t).Get(upload(t, onePixel, "image/png")) // shown without the parameter
			if got := r.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "inline;") {
				t.Errorf("a picture: Content-Disposition %q", got)
			}
		})
		t.Run("ranges and conditions", func(t *testing.T) {
			video := fileHeads["video/mp4"] + strings.Repeat("0123456789", 1000)
			at := "/api/shares/" + shareEntry(alice.In(t), alice.In(t).Upload("/home/alice", "v.mp4", []byte(video)),
				M{"maxViews": 1, "maxDownloads": 1}) + "/preview"
			visitor := visitor.In(t)
			head := visitor.Head(at).OK(200)
			wantHeader(t, head, "Content-Length", "10024")
			wantHeader(t, head, "Accept-Ranges", "bytes")
			etag := head.Header.Get("ETag")
			for range 3 { // any number of times
				wantBody(t, visitor.Get(at).OK(200), video)
			}
			r := visitor.Get(at, "Range", "bytes=10014-")
			wantStatus(t, "a range", r, 206, "")
			wantBody(t, r, "0123456789")
			wantHeader(t, r, "Content-Range", "bytes 10014-10023/10024")
			wantStatus(t, "a range outside", visitor.Get(at, "Range", "bytes=10024-"), 416, "")
			wantStatus(t, "If-None-Match", visitor.Get(at, "If-None-Match", etag), 304, "")
			wantStatus(t, "If-Match", visitor.Get(at, "If-Match", `"other"`), 412, "")
			wantStatus(t, "a script", visitor.Get(at, "Service-Worker", "script"), 403, "FORBIDDEN")
			share := visitor.Get(strings.TrimSuffix(at, "/preview")).OK(200)
			if share.Int("share.viewCount") != 1 || share.Int("share.downloadCount") != 0 {
				t.Errorf("previews count: %s", share.Body)
			}
			wantBody(t, visitor.Get(at).OK(200), video) // a visitor who saw the page still sees the picture
		})
		t.Run("replaced", func(t *testing.T) {
			id := alice.In(t).Upload("/home/alice", "r.png", []byte(onePixel))
			at := "/api/shares/" + shareEntry(alice.In(t), id) + "/preview"
			etag := visitor.In(t).Get(at).OK(200).Header.Get("ETag")
			alice.In(t).Upload("/home/alice", "r.png", []byte("<html>"), M{"conflict": "replace"})
			visitor.In(t).Get(at).Fails(403, "FORBIDDEN")
			visitor.In(t).Get(at, "If-None-Match", etag).Fails(403, "FORBIDDEN")
		})
		t.Run("order of refusals", func(t *testing.T) {
			visitor, id := visitor.In(t), alice.In(t).Upload("/home/alice", "p.png", []byte(onePixel))
			at := func(share string) string { return "/api/shares/" + share + "/preview" }
			for _, share := range []string{"none", "abcdefghijkl", "%00", "%ff", id} {
				visitor.Get(at(share)).Fails(404, "NOT_FOUND")
			}
			all := M{"allowPreview": false, "password": "of the share"}
			revoked := shareEntry(alice.In(t), id, all)
			alice.In(t).Delete("/api/shares/" + revoked).OK(200)
			visitor.Get(at(revoked)).Fails(410, "SHARE_EXPIRED")
			visitor.Get(at(shareEntry(alice.In(t), id, all))).Fails(403, "FORBIDDEN")
			shut, guest := shareEntry(alice.In(t), id,
				M{"password": "of the share", "allowDownload": false}), l.Client(t)
			guest.Get(at(shut)).Fails(401, "INVALID_PASSWORD")
			verifySharePassword(guest, shut, "of the share").OK(200)
			wantBody(t, guest.Get(at(shut)).OK(200), onePixel)
			lost := shareEntry(alice.In(t), id)
			deny := addRule(l.Admin(t), M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "user",
				"permissions": []string{"share"}})
			visitor.Get(at(lost)).Fails(410, "SHARE_EXPIRED")
			l.Admin(t).Delete("/api/admin/rules/" + deny).OK(200)
			deny = addRule(l.Admin(t), M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			visitor.Get(at(lost)).Fails(403, "FORBIDDEN")
			l.Admin(t).Delete("/api/admin/rules/" + deny).OK(200)
			brief := shareEntry(alice.In(t), id, M{"expiresIn": 60})
			l.Clock.Advance(time.Minute - time.Millisecond)
			visitor.Get(at(brief)).OK(200)
			l.Clock.Advance(time.Millisecond)
			visitor.Get(at(brief)).Fails(410, "SHARE_EXPIRED")
			owner := l.SignIn(t, "alice", "password of alice")
			owner.Put("/api/files/"+id, M{"accessPassword": "open sesame"}).OK(200)
			visitor.Get(at(lost)).Fails(401, "INVALID_PASSWORD")
			verifySharePassword(guest, lost, "open sesame").OK(200)
			wantBody(t, guest.Get(at(lost)).OK(200), onePixel)
			owner.Delete("/api/files/" + id).OK(200)
			visitor.Get(at(lost)).Fails(404, "NOT_FOUND")
		})
	})
}

// Previews and downloads of a share are redirected to the store where its provider says so, like
// all bytes, and count in the same way.
func TestShareBytesComeFromTheStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		var bucket s3test.Bucket = l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker"})
		alice, visitor := l.User(t, "alice"), l.Client(t)
		share := shareEntry(alice, alice.Upload("/home/alice", "p.png", []byte(onePixel)), M{"maxDownloads": 1})
		address, spare := shareDownload(visitor, share), shareDownload(visitor, share)
		for _, from := range []string{address, "/api/shares/" + share + "/preview"} {
			to := redirectTarget(t, visitor.Get(from))
			checkPresigned(t, bucket, to, 300)
			if got := fetchAsBrowser(t, to); got.status != 200 || got.body != onePixel {
				t.Errorf("%s leads to status %d", from, got.status)
			}
		}
		checkDownloadCount(t, visitor, share, 1)
		visitor.Get(spare).Fails(410, "SHARE_LIMIT_REACHED")
		page := alice.Upload("/home/alice", "page.png", []byte("<html><script>alert(1)</script>"))
		visitor.Get("/api/shares/"+shareEntry(alice, page)+"/preview").Fails(403, "FORBIDDEN")
	}, apptest.ReachLoopback)
}

// Each download by a visitor of a share is logged, without a user.
func TestShareBytesAreLogged(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		folder := mkdir(alice, "/home/alice", "f")
		id := alice.Upload("/home/alice/f", "a.txt", []byte("0123456789"))
		share := shareEntry(alice, folder)
		address := shareDownload(alice, share, "?file=", id)
		visitor.Head(address).OK(200)
		alice.Get(address).OK(200) // the session is ignored
		visitor.Get(address).Fails(401, "INVALID_TOKEN")
		visitor.Get("/api/shares/"+share+"/preview?file="+id, "Range", "bytes=0-3")
		listShare(visitor, share, "/").OK(200)
		zipped := visitor.Get(shareDownload(visitor, share)).OK(200)
		var got []string
		for _, e := range accessLogs(t, l, admin, "") {
			if e.Action == "share_download" || e.Action == "preview" || e.Action == "download" {
				got = append(got, strings.TrimSuffix(e.String(), " 1"))
			}
		}
		slices.Sort(got) // each replica writes its own
		wantStrings(t, "logged", got, "visitor preview /home/alice/f/a.txt 4 206",
			fmt.Sprintf("visitor share_download /home/alice/f %d 200", len(zipped.Body)),
			"visitor share_download /home/alice/f/a.txt 10 200")
	})
}
