package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"strings"
	"sync"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/thumb"
	"larder/internal/thumb/thumbtest"
)

// photo is a picture with an EXIF rotation by a quarter turn and a GPS position.
var photo = thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(800, 600)), thumbtest.EXIF(binary.BigEndian, 6))

func thumbnailPath(id, size string) string { return "/api/files/" + id + "/thumbnail?size=" + size }

// thumbnailSize decodes a thumbnail and returns its size.
func thumbnailSize(t *testing.T, r *apptest.Reply) image.Point {
	t.Helper()
	decoded, _, err := thumbtest.Decode(r.OK(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	return decoded.Bounds().Size()
}

// docs/decisions.md, Thumbnails: sizes, headers, validators.
func TestThumbnail(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		id := alice.Upload("/home/alice", "photo.of-it.jpeg", photo)
		t.Run("sizes", func(t *testing.T) {
			for size, want := range map[string]image.Point{
				"160": image.Pt(120, 160), "320": image.Pt(240, 320), "640": image.Pt(480, 640),
				"1280": image.Pt(600, 800), "2048": image.Pt(600, 800),
			} {
				r := alice.In(t).Get(thumbnailPath(id, size))
				if got := thumbnailSize(t, r); got != want {
					t.Errorf("%s: %v, want %v", size, got, want)
				}
				if bytes.Contains(r.Body, []byte(thumbtest.CameraCoordinates)) {
					t.Errorf("%s contains the coordinates where it was taken", size)
				}
			}
			for _, query := range []string{"", "?size=", "?size=0", "?size=161", "?size=0160", "?size=-160",
				"?size=160px", "?size=1e2", "?size=4096", "?Size=160", "?size=160.0"} {
				for _, of := range []string{id, "none"} {
					r := alice.In(t).Get("/api/files/"+of+"/thumbnail"+query).Fails(400, "VALIDATION_ERROR")
					wantHeader(t, r, "ETag", "")
				}
			}
		})
		t.Run("headers", func(t *testing.T) {
			r := alice.In(t).Get(thumbnailPath(id, "160")).OK(200)
			for name, want := range map[string]string{
				"Content-Type": "image/jpeg", "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
				"Content-Disposition":         `inline; filename="photo.of-it.jpg"`,
				"Content-Security-Policy":     "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'",
				"Content-Length":              fmt.Sprint(len(r.Body)),
				"Access-Control-Allow-Origin": "", "Last-Modified": "", "Cross-Origin-Resource-Policy": "",
			} {
				wantHeader(t, r, name, want)
			}
			glass := alice.In(t).Upload("/home/alice", "glass.png", thumbtest.PNG(thumbtest.HalfTransparent(300, 200)))
			wantHeader(t, alice.In(t).Get(thumbnailPath(glass, "160")).OK(200), "Content-Type", "image/png")
			wantStatus(t, "a worker", alice.In(t).Get(thumbnailPath(id, "160"), "Service-Worker", "script"), 403,
				"FORBIDDEN")
			alice.In(t).Post(thumbnailPath(id, "160"), M{}).Fails(405, "METHOD_NOT_ALLOWED")
		})
		t.Run("HEAD", func(t *testing.T) {
			fresh := alice.In(t).Upload("/home/alice", "head.jpeg", photo)
			head := alice.In(t).Head(thumbnailPath(fresh, "160")).OK(200)
			r := alice.In(t).Get(thumbnailPath(fresh, "160")).OK(200)
			for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Cache-Control",
				"Content-Disposition"} {
				wantHeader(t, head, name, r.Header.Get(name))
			}
			alice.In(t).Head(thumbnailPath("none", "160")).Fails(404, "NOT_FOUND")
		})
		t.Run("validators", func(t *testing.T) {
			etag := alice.In(t).Get(thumbnailPath(id, "160")).OK(200).Header.Get("ETag")
			for _, value := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
				r := alice.In(t).Get(thumbnailPath(id, "160"), "If-None-Match", value)
				wantStatus(t, "If-None-Match: "+value, r, 304, "")
				wantHeader(t, r, "Cache-Control", "private, no-cache")
			}
			alice.In(t).Get(thumbnailPath(id, "320"), "If-None-Match", etag).OK(200)
			alice.In(t).Upload("/home/alice", "photo.of-it.jpeg", thumbtest.PNG(thumbtest.Quarters(320, 320)),
				M{"conflict": "replace"})
			if got := thumbnailSize(t, alice.In(t).Get(thumbnailPath(id, "160"), "If-None-Match",
				etag)); got != image.Pt(160, 160) {
				t.Errorf("the thumbnail after a replacement: %v", got)
			}
		})
		t.Run("none", func(t *testing.T) {
			for name, content := range map[string][]byte{
				"text.png": []byte("just words\n"), "empty.png": nil, "half.jpg": photo[:len(photo)/2],
				"huge.png": thumbtest.HugePNG(60000, 60000), "huge.gif": thumbtest.HugeGIF(60000, 60000),
				"drawing.svg": []byte(
					`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>`), "video.mp4": []byte(fileHeads["video/mp4"] + "xxxx"),
				"page.png": []byte("<!DOCTYPE html><script>alert(1)</script>"), "paper.pdf": []byte("%PDF-1.7\n"),
				"noise.jpg": []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01noise"),
			} {
				id := alice.In(t).Upload("/home/alice/none", name, content)
				for _, header := range [][]string{nil, {"If-None-Match", "*"}, {"Range", "bytes=0-3"}} {
					r := alice.In(t).Get(thumbnailPath(id, "160"), header...)
					wantStatus(t, name, r, 404, "NOT_FOUND")
					wantHeader(t, r, "ETag", "")
					wantHeader(t, r, "Content-Disposition", "")
				}
				wantStatus(t, "HEAD of "+name, alice.In(t).Head(thumbnailPath(id, "160")), 404, "")
			}
			folder := mkdir(alice.In(t), "/home/alice", "folder")
			alice.In(t).Get(thumbnailPath(folder, "160")).Fails(404, "NOT_FOUND")
			alice.In(t).Get(thumbnailPath("none", "160")).Fails(404, "NOT_FOUND")
		})
	})
}

// Each request for a thumbnail requires the permission to download the file. A visitor without it
// learns nothing about the file.
func TestThumbnailPermissions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		id := alice.Upload("/home/alice", "photo.jpeg", photo)
		open := admin.Upload("/public", "photo.jpeg", photo)
		etag := alice.Get(thumbnailPath(id, "160")).OK(200).Header.Get("ETag")
		bob.Get(thumbnailPath(id, "160")).Fails(403, "FORBIDDEN")
		bob.Get(thumbnailPath(id, "160"), "If-None-Match", "*").Fails(403, "FORBIDDEN")
		visitor.Get(thumbnailPath(id, "160")).Fails(401, "UNAUTHORIZED")
		visitor.Get(thumbnailPath("none", "160")).Fails(401, "UNAUTHORIZED")
		if got := thumbnailSize(t, visitor.Get(thumbnailPath(open, "160"))); got != image.Pt(120, 160) {
			t.Errorf("%v", got)
		}
		ended := l.Client(t)
		ended.Cookies["auth_token"] = "none"
		thumbnailSize(t, ended.Get(thumbnailPath(open, "160")))
		ended.Get(thumbnailPath(id, "160")).Fails(401, "INVALID_TOKEN")
		thumbnailSize(t, admin.Get(thumbnailPath(id, "160")))
		thumbnailSize(t, alice.Key(M{"permissions": []string{"read"},
			"uploadPath": "/home/alice"}).Get(thumbnailPath(id, "160")))
		alice.Key(M{"permissions": []string{"write"}, "uploadPath": "/home/alice"}).Get(thumbnailPath(id, "160")).
			Fails(403, "FORBIDDEN")
		alice.Key(M{"protocols": []string{"webdav"}}).Get(thumbnailPath(id, "160")).Fails(403, "FORBIDDEN")

		deny := addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "user",
			"permissions": []string{"download"}})
		for range len(l.Apps) {
			alice.Get(thumbnailPath(id, "160"), "If-None-Match", etag).Fails(403, "FORBIDDEN")
		}
		admin.Delete("/api/admin/rules/" + deny).OK(200)
		thumbnailSize(t, alice.Get(thumbnailPath(id, "160")))
		alice.Delete("/api/files/" + id).OK(200)
		alice.Get(thumbnailPath(id, "160"), "If-None-Match", etag).Fails(404, "NOT_FOUND")

		for _, entry := range accessLogs(t, l, admin, "") {
			if entry.Action == "download" || entry.Action == "preview" {
				t.Errorf("in the access log: %v", entry)
			}
		}
	})
}

// Abuse case C79: without the password of a protected file no request gets a thumbnail, a validator
// or a size, by any route, method or condition; with the password given, each does.
func TestThumbnailsAskForThePassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, ann := l.Admin(t), l.User(t, "ann")
		addRule(admin, M{"pathPattern": "/home/ann/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read", "download"}})
		addRule(admin, M{"pathPattern": "/home/ann/**", "effect": "allow", "role": "user",
			"permissions": []string{"read", "download"}})
		clients := map[string]*apptest.Client{"ann": ann, "bob": l.User(t, "bob"), "admin": admin,
			"visitor": l.Client(t), "key": ann.Key(M{"uploadPath": "/home/ann"})}
		id := ann.Upload("/home/ann/a/b", "photo.jpeg", photo)
		link := ann.Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url") + "/thumbnail?size=160"
		share := shareEntry(ann, id)
		routes := map[string]struct {
			address string
			status  int
			code    string
		}{
			"file": {thumbnailPath(id, "160"), 403, "PASSWORD_REQUIRED"}, "link": {link, 404, "NOT_FOUND"},
			"share": {"/api/shares/" + share + "/thumbnail?size=160", 401, "INVALID_PASSWORD"},
		}
		etags := []string{"*"}
		for name, d := range routes {
			for range len(l.Apps) {
				r := clients["visitor"].Get(d.address)
				if got := thumbnailSize(t, r); got != image.Pt(120, 160) {
					t.Errorf("%s: %v", name, got)
				}
				etags = append(etags, r.Header.Get("ETag"))
			}
		}
		for protected, at := range map[string]string{"file": id, "folder": entryIDOf(ann, "/home/ann/a", "b"),
			"two above": entryIDOf(ann, "/home/ann", "a")} {
			ann.Put("/api/files/"+at, M{"accessPassword": "open sesame"}).OK(200)
			for name, d := range routes {
				for who, client := range clients {
					for _, etag := range etags {
						for _, header := range [][]string{nil, {"If-None-Match", etag}, {"If-None-Match", "W/" + etag},
							{"Range", "bytes=0-3"}, {"If-Range", etag, "Range", "bytes=0-3"}, {"If-Match", etag}} {
							what := fmt.Sprintf("password on %s: %s for %s with %v", protected, name, who, header)
							for _, method := range []string{"GET", "HEAD"} {
								r := client.In(t).Get(d.address, header...)
								code := d.code
								if method == "HEAD" {
									r, code = client.In(t).Head(d.address, header...), ""
								}
								wantStatus(t, method+": "+what, r, d.status, code)
								for _, told := range []string{"ETag", "Last-Modified", "Content-Range", "Accept-Ranges",
									"Content-Disposition"} {
									wantHeader(t, r, told, "")
								}
							}
						}
					}
				}
			}
			ann.Put("/api/files/"+at, M{"accessPassword": nil}).OK(200)
		}
		ann.Put("/api/files/"+entryIDOf(ann, "/home/ann/a", "b"), M{"accessPassword": "open sesame"}).OK(200)
		bob := clients["bob"]
		bob.Get(thumbnailPath(id, "160")).Fails(403, "PASSWORD_REQUIRED")
		bob.Post("/api/public/unlock", M{"path": "/home/ann/a/b", "password": "open sesame"}).OK(200)
		thumbnailSize(t, bob.Get(thumbnailPath(id, "160")))
	})
}

// Shares show thumbnails of the files that they preview, by the same rules.
func TestShareThumbnail(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		at := func(share, file string) string { return "/api/shares/" + share + "/thumbnail?size=320" + file }
		id := alice.Upload("/home/alice/album", "photo.jpeg", photo)
		other := alice.Upload("/home/alice", "other.jpeg", photo)
		share := shareEntry(alice, id, M{"maxViews": 1, "maxDownloads": 1})
		for range 3 {
			r := visitor.Get(at(share, ""))
			if got := thumbnailSize(t, r); got != image.Pt(240, 320) {
				t.Errorf("%v", got)
			}
			wantHeader(t, r, "Cache-Control", "private, no-cache")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
		}
		if seen := visitor.Get("/api/shares/" + share).OK(200); seen.Int("share.viewCount") != 1 ||
			seen.Int("share.downloadCount") != 0 {
			t.Errorf("thumbnails count: %s", seen.Body)
		}
		visitor.Get("/api/shares/"+share+"/thumbnail").Fails(400, "VALIDATION_ERROR")
		album := shareEntry(alice, entryIDOf(alice, "/home/alice", "album"))
		thumbnailSize(t, visitor.Get(at(album, "&file="+id)))
		visitor.Get(at(album, "")).Fails(403, "FORBIDDEN")
		visitor.Get(at(album, "&file="+other)).Fails(404, "NOT_FOUND")
		visitor.Get(at(share, "&file="+other)).Fails(404, "NOT_FOUND")
		visitor.Get(at(shareEntry(alice, id, M{"allowPreview": false}), "")).Fails(403, "FORBIDDEN")
		shut := shareEntry(alice, id, M{"password": "of the share"})
		visitor.Get(at(shut, "")).Fails(401, "INVALID_PASSWORD")
		verifySharePassword(visitor, shut, "of the share").OK(200)
		thumbnailSize(t, visitor.Get(at(shut, "")))
		for what, content := range map[string]string{"text": "words\n", "a page": "<!DOCTYPE html><p>"} {
			file := alice.Upload("/home/alice", "x.png", []byte(content), M{"conflict": "rename"})
			wantStatus(t, what, visitor.Get(at(shareEntry(alice, file), "")), 404, "NOT_FOUND")
		}
		// it has no preview either
		said := alice.Upload("/home/alice", "says.html", photo, M{"mimeType": "text/html"})
		wantStatus(t, "a picture that says it is a page", visitor.Get(at(shareEntry(alice, said), "")), 404,
			"NOT_FOUND")
		gone := shareEntry(alice, id)
		alice.Delete("/api/shares/" + gone).OK(200)
		visitor.Get(at(gone, "")).Fails(410, "SHARE_EXPIRED")
		visitor.Get(at("none", "")).Fails(404, "NOT_FOUND")
	})
}

// A permanent link has a thumbnail as long as the link works, and other sites may show it, too.
func TestLinkThumbnail(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		id := alice.Upload("/home/alice", "photo.jpeg", photo)
		link := alice.Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url")
		for _, address := range []string{link, strings.TrimSuffix(link, ".jpeg"),
			strings.TrimSuffix(link, ".jpeg") + ".webp"} {
			r := visitor.Get(address + "/thumbnail?size=640")
			if got := thumbnailSize(t, r); got != image.Pt(480, 640) {
				t.Errorf("%s: %v", address, got)
			}
			wantHeader(t, r, "Cache-Control", "private, no-cache")
			wantHeader(t, r, "Cross-Origin-Resource-Policy", "cross-origin")
			wantHeader(t, r, "Access-Control-Allow-Origin", "*")
		}
		visitor.Get(link+"/thumbnail").Fails(400, "VALIDATION_ERROR")
		visitor.Get("/api/i/none/thumbnail?size=640").Fails(404, "NOT_FOUND")
		alice.Delete("/api/files/" + id + "/link").OK(200)
		visitor.Get(link+"/thumbnail?size=640").Fails(404, "NOT_FOUND")
		if logs := l.Log.String(); strings.Contains(logs, strings.TrimPrefix(link, apptest.BaseURL+"/api/i/")) {
			t.Error("the log contains the link")
		}
	})
}

// A hundred concurrent requests make one thumbnail, and all get it.
func TestConcurrentThumbnailRequests(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	id := alice.Upload("/home/alice", "photo.jpeg", photo)
	replies := make([]*apptest.Reply, 100)
	var group sync.WaitGroup
	for i := range replies {
		c := alice.Fork()
		group.Go(func() { replies[i] = c.Get(thumbnailPath(id, "320")) })
	}
	group.Wait()
	for _, r := range replies {
		if r.OK(200); !bytes.Equal(r.Body, replies[0].Body) {
			t.Error("the requests got different ones")
		}
	}
}

// Deleting a file deletes its thumbnails. Copies of the file keep theirs.
func TestThumbnailsAreDeletedWithFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		id := alice.Upload("/home/alice", "photo.jpeg", photo)
		kept := alice.Upload("/home/alice", "kept.jpeg", photo)
		for range 2 * len(l.Apps) {
			thumbnailSize(t, alice.Get(thumbnailPath(id, "160")))
			thumbnailSize(t, alice.Get(thumbnailPath(kept, "160")))
		}
		contents := func() int { return len(l.Thumbnails(t)) }
		if got := contents(); got != 2 {
			t.Fatalf("%d thumbnails", got)
		}
		alice.Delete("/api/files/" + id).OK(200)
		l.Sweep()
		l.Sweep()
		if got := contents(); got != 1 {
			t.Errorf("%d thumbnails are left", got)
		}
		thumbnailSize(t, alice.Get(thumbnailPath(kept, "160")))
	})
}

// With libvips installed, thumbnails are WebP, also of HEIC and AVIF. With thumbnails switched off
// there are none.
func TestThumbnailSetting(t *testing.T) {
	t.Parallel()
	if path, err := thumb.FindVips(t.Context()); path == "" {
		t.Fatalf("there is no vipsthumbnail here; scripts/install-test-tools installs it: %v", err)
	}
	for setting, want := range map[config.Thumbnails]string{config.ThumbnailsAuto: "image/webp",
		config.ThumbnailsBuiltIn: "", config.ThumbnailsOff: ""} {
		t.Run(string(setting), func(t *testing.T) {
			l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.Thumbnails = setting })
			alice := l.User(t, "alice")
			for name, content := range map[string][]byte{"a.heic": thumbtest.HEIC, "a.avif": thumbtest.AVIF} {
				r := alice.In(t).Get(thumbnailPath(alice.In(t).Upload("/home/alice", name, content), "160"))
				if want == "" {
					wantStatus(t, name, r, 404, "NOT_FOUND")
					continue
				}
				if got := thumbnailSize(t, r); got != image.Pt(64, 48) {
					t.Errorf("%s: %v", name, got)
				}
				wantHeader(t, r, "Content-Type", want)
				wantHeader(t, r, "Content-Disposition", `inline; filename="a.webp"`)
			}
			r := alice.In(t).Get(thumbnailPath(alice.In(t).Upload("/home/alice", "photo.jpeg", photo), "160"))
			if setting == config.ThumbnailsOff {
				r.Fails(404, "NOT_FOUND")
			} else if got := thumbnailSize(t, r); got != image.Pt(120, 160) {
				t.Errorf("%v", got)
			}
		})
	}
}
