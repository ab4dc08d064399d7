package api_test

import (
	"net/url"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Abuse case C67: no stored content runs as the site. Types, dispositions and policies are those of
// docs/decisions.md, Serving files.
func TestActiveContentDoesNotRun(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		key := admin.Key(M{"uploadPath": "/public/c", "publicLinks": "all"})
		inline := map[string]string{ // type → sources that the policy must allow in addition to default-src 'none'
			"image/png": "img-src 'self'", "image/jpeg": "img-src 'self'", "image/gif": "img-src 'self'",
			"image/webp": "img-src 'self'", "image/avif": "img-src 'self'",
			"audio/mpeg": "media-src 'self'", "audio/ogg": "media-src 'self'", "video/mp4": "media-src 'self'",
			"video/webm":      "media-src 'self'",
			"application/pdf": "", "text/plain": "",
		}
		attached := []string{
			"text/html", "application/xhtml+xml", "image/svg+xml", "application/xml", "text/xml", "text/javascript",
			"application/javascript", "text/css", "text/csv", "text/markdown",
			"application/json", "multipart/related", "message/rfc822", "application/x-shockwave-flash",
			"application/zip", "application/wasm", "text/vtt", "application/xslt+xml",
			"application/rss+xml", "image/unknown", "text/x-html", "font/woff2", "application/octet-stream",
			"text/calendar", "video/x+xml", "TEXT/HTML", "text/html; charset=utf-7",
		}
		fetchEveryWay := func(t *testing.T, mimeType string) map[string]*apptest.Reply {
			r := key.In(t).Post("/api/upload", "<script>alert(1)</script>", "X-File-Name", "x.dat", "Content-Type",
				mimeType).OK(200)
			id := r.Text("fileId")
			replies := map[string]*apptest.Reply{
				"path":    visitor.In(t).Get(r.Text("path") + "/" + url.PathEscape(r.Text("filename"))),
				"link":    visitor.In(t).Get(r.Text("directUrl")),
				"embed":   admin.In(t).Get("/api/files/"+id+"/download", "Sec-Fetch-Dest", "image"),
				"gateway": visitor.In(t).Get(downloadURL(admin.In(t), id)),
				"share":   visitor.In(t).Get(shareDownload(visitor.In(t), shareEntry(admin.In(t), id))),
			}
			for way, r := range replies {
				if r.Status != 200 {
					t.Fatalf("%s: %d", way, r.Status)
				}
				wantBody(t, r, "<script>alert(1)</script>")
			}
			return replies
		}
		for mimeType, allows := range inline {
			t.Run(mimeType, func(t *testing.T) {
				for way, r := range fetchEveryWay(t, mimeType) {
					policy := r.Header.Get("Content-Security-Policy")
					want := "inline;"
					if way == "gateway" || way == "share" {
						want = "attachment;"
					}
					if !strings.HasPrefix(r.Header.Get("Content-Disposition"), want) ||
						!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, allows) ||
						strings.Contains(policy, "sandbox") || strings.Contains(policy, "script-src") {
						t.Errorf("%s: %s, %s", way, r.Header.Get("Content-Disposition"), policy)
					}
					if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); media != mimeType {
						t.Errorf("%s: served as %s", way, media)
					}
					wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				}
			})
		}
		for _, mimeType := range attached {
			t.Run(mimeType, func(t *testing.T) {
				for way, r := range fetchEveryWay(t, mimeType) {
					policy := r.Header.Get("Content-Security-Policy")
					if !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment;") ||
						!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") ||
						strings.Contains(policy, "allow-") {
						t.Errorf("%s: %s, %s", way, r.Header.Get("Content-Disposition"), policy)
					}
					wantHeader(t, r, "X-Content-Type-Options", "nosniff")
				}
			})
		}
		t.Run("invalid types", func(t *testing.T) { // abuse case C69
			for _, mimeType := range []string{"text/html;x", "nonsense", "text", "/", "text/", "*/*", "image/*",
				strings.Repeat("a", 600) + "/" + strings.Repeat("b", 600), "text/html,image/png", "image/png; a=\"\r",
				"text/plain; charset=utf-7", "text/html\r\nSet-Cookie: a=b", "text/html\n\n<p>", "text/html\x00",
				"image/png; " + strings.Repeat("x", 1024)} {
				r := postUploadSession(admin.In(t), "/public/d", "x.unknown", 4,
					M{"mimeType": mimeType, "conflict": "rename"})
				if r.Status == 400 {
					continue
				}
				id := r.OK(200).Text("sessionId")
				etag := putRaw(admin.In(t), id, "\x00\x01\x02\x03").OK(200).Text("etag")
				file := completeUpload(admin.In(t), id, etag).OK(200)
				got := visitor.In(t).Get("/public/d/" + url.PathEscape(file.Text("file.name"))).OK(200)
				served := got.Header.Get("Content-Type")
				if len(served) > 255 || strings.ContainsAny(served, "\r\n") || !strings.Contains(served, "/") ||
					strings.Contains(served, "*") || strings.Contains(served, ",") {
					t.Errorf("%.40q: served as %q", mimeType, served)
				}
				wantHeader(t, got, "X-Content-Type-Options", "nosniff")
				if !strings.HasPrefix(served, "text/plain") &&
					!strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
					t.Errorf("%.40q: %s", mimeType, got.Header.Get("Content-Disposition"))
				}
			}
		})
		t.Run("length of a type", func(t *testing.T) { // abuse case C69
			long := "x-type/" + strings.Repeat("a", 255-len("x-type/"))
			postUploadSession(admin.In(t), "/public/d", "long", 4, M{"mimeType": long + "a"}).
				Fails(400, "VALIDATION_ERROR")
			admin.In(t).Upload("/public/d", "long", []byte("\x00\x01\x02\x03"), M{"mimeType": long})
			wantHeader(t, visitor.In(t).Get("/public/d/long").OK(200), "Content-Type", long)
			for what, claim := range map[string]string{"one too long": long + "a",
				"a kilobyte": "text/html; charset=" + strings.Repeat("x", 1024)} {
				body, kind := form(part{disposition: `form-data; name="file"; filename="claim.unknown"`,
					mimeType: claim, body: "\x00\x01\x02\x03"})
				for way, r := range map[string]*apptest.Reply{
					"form": key.In(t).Post("/api/upload", body, "Content-Type", kind),
					"raw": key.In(t).Post("/api/upload", "\x00\x01\x02\x03", "X-File-Name", "claim.unknown",
						"Content-Type", claim),
				} {
					got := visitor.In(t).Get(r.OK(200).Text("directUrl")).OK(200)
					if served := got.Header.Get("Content-Type"); served != "application/octet-stream" {
						t.Errorf("%s, %s: served as %q", what, way, served)
					}
				}
			}
		})
		t.Run("no service worker", func(t *testing.T) { // abuse case C68
			id := admin.In(t).Upload("/public", "sw.js", []byte("self"))
			link := admin.In(t).Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url")
			for _, path := range []string{"/public/sw.js", link, downloadURL(admin.In(t), id)} {
				visitor.In(t).Get(path, "Service-Worker", "script").Fails(403, "FORBIDDEN")
				visitor.In(t).Get(path, "Service-Worker", "script", "Sec-Fetch-Dest", "serviceworker").
					Fails(403, "FORBIDDEN")
				visitor.In(t).Head(path, "Service-Worker", "script").Fails(403, "FORBIDDEN")
				visitor.In(t).Get(path, "Service-Worker", "script", "Range", "bytes=0-1").Fails(403, "FORBIDDEN")
			}
			private := admin.In(t).Upload("/uploads", "sw.js", []byte("self"))
			for path, header := range map[string][]string{"/uploads/sw.js": nil,
				"/api/files/" + private + "/download": {"Accept", "image/*"}} {
				r := admin.In(t).Get(path, append(header, "Service-Worker", "script")...).Fails(403, "FORBIDDEN")
				wantHeader(t, r, "ETag", "")
				if admin.In(t).Get(path, header...).OK(200); strings.Contains(string(r.Body), "self") {
					t.Errorf("%s: %s", path, r.Body)
				}
			}
		})
		t.Run("names in the header", func(t *testing.T) { // abuse case C71
			for name, want := range map[string]string{
				"plain.txt":       `inline; filename="plain.txt"`,
				"grün.txt":        `inline; filename="gr_n.txt"; filename*=UTF-8''gr%C3%BCn.txt`,
				`q"uo'te.txt`:     `inline; filename="q_uo'te.txt"; filename*=UTF-8''q%22uo%27te.txt`,
				"semi;colon.txt":  `inline; filename="semi;colon.txt"`,
				"per%41cent.txt":  `inline; filename="per_41cent.txt"; filename*=UTF-8''per%2541cent.txt`,
				"🦀.txt":           `inline; filename="_.txt"; filename*=UTF-8''%F0%9F%A6%80.txt`,
				"שלום.txt":        `inline; filename="____.txt"; filename*=UTF-8''%D7%A9%D7%9C%D7%95%D7%9D.txt`,
				"sp ace.txt":      `inline; filename="sp ace.txt"`,
				"plus+sp ace.txt": `inline; filename="plus+sp ace.txt"`,
				"a b+ü.txt":       `inline; filename="a b+_.txt"; filename*=UTF-8''a%20b%2B%C3%BC.txt`,
				"a'*=,b.txt":      `inline; filename="a'*=,b.txt"`,
				"👩‍🚀é.txt":        `inline; filename="____.txt"; filename*=UTF-8''%F0%9F%91%A9%E2%80%8D%F0%9F%9A%80%C3%A9.txt`,
			} {
				id := admin.In(t).Upload("/public/n", name, []byte("x"))
				link := admin.In(t).Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url")
				wantHeader(t, visitor.In(t).Get("/public/n/"+url.PathEscape(name)).OK(200), "Content-Disposition", want)
				wantHeader(t, visitor.In(t).Get(link).OK(200), "Content-Disposition", want)
				wantHeader(t, visitor.In(t).Get(downloadURL(admin.In(t), id)).OK(200), "Content-Disposition",
					strings.Replace(want, "inline", "attachment", 1))
			}
			// abuse case C5
			for _, name := range []string{"line\r\nSet-Cookie: a=b.txt", "line\nbreak.txt", "nul\x00.txt",
				"back\\slash.txt", "right\u202eto-left.txt"} {
				postUploadSession(admin.In(t), "/public/n", name, 1).Fails(400, "VALIDATION_ERROR")
			}
		})
	})
}
