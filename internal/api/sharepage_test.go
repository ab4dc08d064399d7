package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func sharePage(c *apptest.Client, id string) *apptest.Reply { return c.Get("/share/" + id) }

// wantSharePage compares the status of a share's page, and the code that it shows.
func wantSharePage(t *testing.T, what string, r *apptest.Reply, status int, code string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("%s: status %d, want %d", what, r.Status, status)
	}
	if mark := `data-failure="` + code + `"`; !strings.Contains(string(r.Body), mark) {
		t.Errorf("%s: the page lacks %s: %s", what, mark, r.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control":          map[bool]string{true: "no-cache", false: "private, no-store"}[status == 200],
	} {
		wantHeader(t, r, name, want)
	}
	policy, nonce := shellPolicy(t, r)
	wantJSON(t, what+": frame-ancestors", policy["frame-ancestors"], "'none'")
	if !strings.Contains(string(r.Body), `nonce="`+nonce+`"`) {
		t.Errorf("%s: the page lacks the nonce", what)
	}
}

// The page of a share has the status of the share for a visitor without its password, and shows
// none of its views as used. Specification: Share, Share status.
func TestSharePage(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		file := alice.Upload("/home/alice", "cat.png", []byte(onePixel))
		open := shareEntry(alice, file)
		wantSharePage(t, "open", sharePage(visitor, open), 200, "")
		wantSharePage(t, "with a query", visitor.Get("/share/"+open+"?path=%2Fa&view=x"), 200, "")
		head := visitor.Head("/share/" + open).OK(200)
		wantHeader(t, head, "Referrer-Policy", "no-referrer")
		wantStatus(t, "another method", visitor.Post("/share/"+open, nil), 405, "METHOD_NOT_ALLOWED")
		wantJSON(t, "views", visitShare(visitor, open).OK(200).Value("share.viewCount"), 1)

		locked := shareEntry(alice, file, M{"password": "open sesame", "maxViews": 1})
		wantSharePage(t, "with a password", sharePage(visitor, locked), 200, "")

		revoked := shareEntry(alice, file)
		alice.Delete("/api/shares/" + revoked).OK(200)
		wantSharePage(t, "revoked", sharePage(visitor, revoked), 410, "SHARE_REVOKED")

		viewed := shareEntry(alice, file, M{"maxViews": 1})
		wantSharePage(t, "before its last view", sharePage(visitor, viewed), 200, "")
		visitShare(visitor, viewed).OK(200)
		wantSharePage(t, "after its last view", sharePage(visitor, viewed), 410, "SHARE_LIMIT_REACHED")

		expired := shareEntry(alice, file, M{"expiresIn": 60})
		l.Clock.Advance(61 * time.Second)
		wantSharePage(t, "expired", sharePage(visitor, expired), 410, "SHARE_EXPIRED")
		wantStatus(t, "HEAD of an expired one", visitor.Head("/share/"+expired), 410, "")

		for _, path := range []string{
			"abcdefghijkl", "", strings.Repeat("a", 5000), open + "/", open + "/x", "..%2f" + open, "a%00b", "%ff",
		} {
			wantSharePage(t, "/share/"+path, sharePage(visitor, path), 404, "NOT_FOUND")
		}
		gone := shareEntry(alice, alice.Upload("/home/alice", "gone.png", []byte(onePixel)))
		fileOfGone := visitShare(visitor, gone).OK(200).Text("share.file.id")
		alice.Delete("/api/files/" + fileOfGone).OK(200)
		wantSharePage(t, "of a deleted file", sharePage(visitor, gone), 404, "NOT_FOUND")
	})
}

// A program that shows an address with a preview learns title, creator and picture of a share
// without password and limit of views, and nothing of any other. Texts of users are escaped (abuse
// case C73).
func TestSharePageDescribesOpenShares(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		folder := mkdir(alice, "/home/alice", "trip")
		alice.Upload("/home/alice/trip", "a.txt", []byte("text"))
		first := alice.Upload("/home/alice/trip", "b.png", []byte(onePixel))
		secret := alice.Upload("/home/alice", "secret name.png", []byte(onePixel))
		title := `"><script>alert(1)</script><!-- head --> LARDER-NONCE`
		open := shareEntry(alice, secret, M{"title": title})
		page := string(sharePage(visitor, open).OK(200).Body)
		escaped := `&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- head --&gt; LARDER-NONCE`
		for _, part := range []string{
			`<meta property="og:title" content="` + escaped + `">`, "<title>" + escaped + "</title>",
			`<meta property="og:url" content="http://larder.test/share/` + open + `">`,
			`<meta name="author" content="alice">`, `<meta property="og:site_name" content="Larder">`,
			`<meta property="og:image" content="http://larder.test/api/shares/` + open + `/thumbnail?size=1280">`,
			`type="application/json+oembed"`,
		} {
			if !strings.Contains(page, part) {
				t.Errorf("the page lacks %s: %s", part, page)
			}
		}
		album := string(sharePage(visitor, shareEntry(alice, folder)).OK(200).Body)
		if want := "/thumbnail?size=1280&amp;file=" + first + `">`; !strings.Contains(album, want) {
			t.Errorf("the page of a folder lacks %s: %s", want, album)
		}
		if page := string(sharePage(visitor, shareEntry(alice, secret, M{"allowPreview": false})).Body); !strings.Contains(
			page, "og:title") || strings.Contains(page, "og:image") {
			t.Errorf("the page of a share without previews: %s", page)
		}
		for what, share := range map[string]M{
			"a password": {"password": "open sesame", "title": "a title"}, "a limit of views": {"maxViews": 3},
		} {
			page := string(sharePage(visitor, shareEntry(alice, secret, share)).OK(200).Body)
			for _, part := range []string{"og:", "oembed", "secret name", "a title", "alice"} {
				if strings.Contains(page, part) {
					t.Errorf("the page of a share with %s contains %q: %s", what, part, page)
				}
			}
		}
		wantJSON(t, "views", visitShare(visitor, open).OK(200).Value("share.viewCount"), 1)
	})
}

// oEmbed 1.0, section 2.3; failures are the specification's envelope.
func TestOEmbed(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		ask := func(address string, more ...string) *apptest.Reply {
			return visitor.Get("/api/public/oembed?url=" + url.QueryEscape(address) + strings.Join(more, ""))
		}
		page := func(entry string, more ...M) string {
			return "http://larder.test/share/" + shareEntry(alice, entry, more...)
		}
		picture := alice.Upload("/home/alice", "photo.jpeg", photo) // 600 × 800 when it is upright
		text := alice.Upload("/home/alice", "a.txt", []byte("text"))

		open := page(picture, M{"title": `<b>"Cat"</b>`})
		describe := func(address, more string) map[string]any {
			r := ask(address, more)
			wantStatus(t, address+more, r, 200, "")
			return r.Object()
		}
		wantHeader(t, ask(open), "Content-Type", "application/json; charset=utf-8")
		id := strings.TrimPrefix(open, "http://larder.test/share/")
		wantJSON(t, "a photo", describe(open, ""), M{
			"version": "1.0", "type": "photo", "title": `<b>"Cat"</b>`, "author_name": "alice",
			"provider_name": "Larder", "provider_url": "http://larder.test/", "cache_age": 3600,
			"url":   "http://larder.test/api/shares/" + id + "/thumbnail?size=1280",
			"width": 600, "height": 800,
		})
		small := describe(open+"?view=x#y", "&maxwidth=400&format=json")
		wantJSON(t, "width of the small photo", small["width"], 240)
		wantJSON(t, "height of the small photo", small["height"], 320)
		for what, address := range map[string]string{
			"too little room": open, "a text": page(text), "no preview": page(picture, M{"allowPreview": false}),
		} {
			wantJSON(t, what, describe(address, "&maxheight=159")["type"], "link")
		}
		wantJSON(t, "views", visitShare(visitor, id).OK(200).Value("share.viewCount"), 1)

		revoked := page(picture)
		alice.Delete("/api/shares/" + strings.TrimPrefix(revoked, "http://larder.test/share/")).OK(200)
		expired := page(picture, M{"expiresIn": 60})
		l.Clock.Advance(61 * time.Second)
		for _, row := range []struct {
			what, address, more string
			status              int
			code                string
		}{
			{"a password", page(picture, M{"password": "open sesame"}), "", 401, "INVALID_PASSWORD"},
			{"a limit of views", page(picture, M{"maxViews": 2}), "", 403, "FORBIDDEN"},
			{"revoked", revoked, "", 410, "SHARE_REVOKED"},
			{"expired", expired, "", 410, "SHARE_EXPIRED"},
			{"an unknown share", "http://larder.test/share/abcdefghijkl", "", 404, "NOT_FOUND"},
			{"another site", "http://evil.test/share/" + id, "", 404, "NOT_FOUND"},
			{"a host that begins like ours", "http://larder.test.evil.test/share/" + id, "", 404, "NOT_FOUND"},
			{"no share", "http://larder.test/app/files", "", 404, "NOT_FOUND"},
			{"XML", open, "&format=xml", 400, "VALIDATION_ERROR"},
			{"no width", open, "&maxwidth=0", 400, "VALIDATION_ERROR"},
			{"no number", open, "&maxheight=a", 400, "VALIDATION_ERROR"},
		} {
			wantStatus(t, row.what, ask(row.address, row.more), row.status, row.code)
		}
		wantStatus(t, "no address", visitor.Get("/api/public/oembed"), 400, "VALIDATION_ERROR")
	})
}

// The size of a share is that of what its download contains: without protected files, and with the
// folders in it. Visitors who may download the share can read it.
func TestShareSize(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		folder := mkdir(alice, "/home/alice", "trip")
		mkdir(alice, "/home/alice/trip", "below")
		file := alice.Upload("/home/alice/trip", "a.txt", []byte("12345"))
		alice.Upload("/home/alice/trip/below", "b.txt", []byte("678"))
		alice.Put("/api/files/"+alice.Upload("/home/alice/trip", "locked.txt", []byte("x")),
			M{"accessPassword": "open sesame"}).OK(200)
		size := func(entry string, more ...M) *apptest.Reply {
			return visitor.Get("/api/shares/" + shareEntry(alice, entry, more...) + "/size")
		}
		wantJSON(t, "a folder", size(folder).OK(200).Object()["data"], M{"files": 2, "size": 8})
		wantJSON(t, "a file", size(file).OK(200).Object()["data"], M{"files": 1, "size": 5})
		wantStatus(t, "no downloads", size(folder, M{"allowDownload": false}), 403, "FORBIDDEN")
		wantStatus(t, "a password", size(folder, M{"password": "open sesame"}), 401, "INVALID_PASSWORD")
		wantStatus(t, "an unknown share", visitor.Get("/api/shares/abcdefghijkl/size"), 404, "NOT_FOUND")
	})
}
