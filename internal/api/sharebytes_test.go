package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// checkDownloadCount checks the download count of a share.
func checkDownloadCount(t *testing.T, c *apptest.Client, share string, want int64) {
	t.Helper()
	if got := c.In(t).Get("/api/shares/" + share).OK(200).Int("share.downloadCount"); got != want {
		t.Errorf("%d downloads are counted, want %d", got, want)
	}
}

// Specification: Share endpoints, download; Download gateway.
func TestShareDownload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		const text = "0123456789"
		file := alice.Upload("/home/alice", "data.txt", []byte(text))

		t.Run("answer", func(t *testing.T) {
			share := shareEntry(alice.In(t), file)
			r := visitor.In(t).Get("/api/shares/" + share + "/download").OK(200)
			wantFields(t, "data", r.Object()["data"], "url", "expiresIn")
			if !strings.HasPrefix(r.Text("url"), apptest.BaseURL+"/api/gateway/download/") ||
				r.Int("expiresIn") != 900 {
				t.Errorf("got %s", r.Body)
			}
			wantHeader(t, r, "Cache-Control", "private, no-store")
			address := r.Text("url")
			r = visitor.In(t).Get(address).OK(200)
			wantBody(t, r, text)
			wantHeader(t, r, "Content-Type", "text/plain; charset=utf-8")
			wantHeader(t, r, "Content-Disposition", `attachment; filename="data.txt"`)
			wantHeader(t, r, "Cache-Control", "private, no-store")
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			checkDownloadCount(t, visitor, share, 1)
			for what, c := range map[string]*apptest.Client{"a stale cookie": withCookie(l.Client(t), "auth_token",
				"junk"), "the creator": alice.In(t), "a key": alice.In(t).Key(M{})} {
				wantStatus(t, what, c.Get("/api/shares/"+share+"/download"), 200, "")
			}
			wantBody(t, visitor.In(t).Get(shareDownload(visitor.In(t), share, "?file="+file)).OK(200), text)
		})
		t.Run("HEAD changes nothing", func(t *testing.T) { // abuse case C44
			share, visitor := shareEntry(alice.In(t), file), visitor.In(t)
			before := tablesDigest(t, l)
			for range 1001 { // more than an address may have
				r := visitor.Head("/api/shares/" + share + "/download")
				wantStatus(t, "HEAD", r, 200, "")
				wantHeader(t, r, "Content-Length", "")
			}
			wantStatus(t, "a missing entry", visitor.Head("/api/shares/"+share+"/download?file=none"), 404, "")
			if tablesDigest(t, l) != before {
				t.Error("HEAD changed a row")
			}
			wantBody(t, visitor.Get(shareDownload(visitor, share)).OK(200), text)
			for what, c := range map[string]struct {
				share  M
				status int
			}{"downloads are off": {M{"allowDownload": false}, 403}, "shut": {M{"password": "of the share"}, 401}} {
				wantStatus(t, what, visitor.Head("/api/shares/"+shareEntry(alice.In(t), file, c.share)+"/download"),
					c.status, "")
			}
			once := shareEntry(alice.In(t), file, M{"maxDownloads": 1})
			visitor.Get(shareDownload(visitor, once)).OK(200)
			wantStatus(t, "at the limit", visitor.Head("/api/shares/"+once+"/download"), 410, "")
		})
		t.Run("counted requests", func(t *testing.T) {
			share, visitor := shareEntry(alice.In(t), file, M{"maxDownloads": 2}), visitor.In(t)
			address := shareDownload(visitor, share)
			head := visitor.Head(address).OK(200)
			wantHeader(t, head, "Content-Length", "10")
			etag := head.Header.Get("ETag")
			for what, r := range map[string]struct {
				header []string
				want   int
			}{
				"If-None-Match":   {[]string{"If-None-Match", etag}, 304},
				"a range outside": {[]string{"Range", "bytes=10-"}, 416},
				"If-Match":        {[]string{"If-Match", `"other"`}, 412},
				"a script":        {[]string{"Service-Worker", "script"}, 403},
			} {
				wantStatus(t, what, visitor.Get(address, r.header...), r.want, "")
			}
			checkDownloadCount(t, visitor, share, 0)
			r := visitor.Get(address, "Range", "bytes=2-3")
			wantStatus(t, "a part", r, 206, "")
			wantBody(t, r, "23")
			checkDownloadCount(t, visitor, share, 1)
			visitor.Get(address).Fails(401, "INVALID_TOKEN")

			spare, last := shareDownload(visitor, share), shareDownload(visitor, share)
			visitor.Get(last).OK(200)
			visitor.Get("/api/shares/"+share+"/download").Fails(410, "SHARE_LIMIT_REACHED")
			visitor.Head("/api/shares/" + share + "/download")
			r = visitor.Get(spare).Fails(410, "SHARE_LIMIT_REACHED")
			wantHeader(t, r, "ETag", "")
			wantHeader(t, r, "Content-Disposition", "")
			checkDownloadCount(t, visitor, share, 2)
			alice.In(t).Patch("/api/shares/"+share, M{"maxDownloads": 3}).OK(200)
			wantBody(t, visitor.Get(spare).OK(200), text) // it was not used up
			checkDownloadCount(t, visitor, share, 3)
		})
		t.Run("views do not count", func(t *testing.T) {
			share := shareEntry(alice.In(t), file, M{"maxViews": 1})
			visitor.In(t).Get("/api/shares/" + share).OK(200)
			visitor.In(t).Get("/api/shares/"+share).Fails(410, "SHARE_LIMIT_REACHED")
			wantBody(t, visitor.In(t).Get(shareDownload(visitor.In(t), share)).OK(200), text)
			wantBody(t, visitor.In(t).Get("/api/shares/"+share+"/preview").OK(200), text)
		})
		t.Run("password", func(t *testing.T) {
			share := shareEntry(alice.In(t), file, M{"password": "of the share"})
			guest, other := l.Client(t), shareEntry(alice.In(t), file, M{"password": "of the share"})
			guest.Get("/api/shares/"+share+"/download").Fails(401, "INVALID_PASSWORD")
			verifySharePassword(guest, other, "of the share").OK(200)
			guest.Cookies["share_auth_"+share] = guest.Cookies["share_auth_"+other] // abuse case C46
			guest.Get("/api/shares/"+share+"/download").Fails(401, "INVALID_PASSWORD")
			verifySharePassword(guest, share, "of the share").OK(200)
			address := shareDownload(guest, share)
			wantBody(t, visitor.In(t).Get(address).OK(200), text) // the token contains the proof
			address = shareDownload(guest, share)
			// abuse case C81: a new password, although its text is the same
			alice.In(t).Patch("/api/shares/"+share, M{"password": "of the share"}).OK(200)
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			guest.Get(address).Fails(401, "INVALID_TOKEN")
			guest.Get("/api/shares/"+share+"/download").Fails(401, "INVALID_PASSWORD")
			alice.In(t).Patch("/api/shares/"+share, M{"password": nil}).OK(200)
			wantBody(t, visitor.In(t).Get(address).OK(200), text)
		})
		t.Run("order of refusals", func(t *testing.T) {
			visitor, all := visitor.In(t), M{"allowDownload": false, "password": "of the share", "maxDownloads": 1}
			for _, id := range []string{"none", "abcdefghijkl", "%00", "%ff", strings.Repeat("x", 4000), file} {
				visitor.Get("/api/shares/"+id+"/download").Fails(404, "NOT_FOUND")
			}
			ends := shareEntry(alice.In(t), file, all, M{"expiresIn": 60})
			gone := shareEntry(alice.In(t), file, all)
			alice.In(t).Delete("/api/shares/" + gone).OK(200)
			visitor.Get("/api/shares/"+gone+"/download").Fails(410, "SHARE_REVOKED")
			off := shareEntry(alice.In(t), file, all)
			visitor.Get("/api/shares/"+off+"/download").Fails(403, "FORBIDDEN")
			execAndRaiseVersion(t, l, "UPDATE shares SET allow_download = TRUE, download_count = 1 WHERE id = $1", off)
			visitor.Get("/api/shares/"+off+"/download").Fails(401, "INVALID_PASSWORD")
			guest := l.Client(t)
			verifySharePassword(guest, off, "of the share").OK(200)
			guest.Get("/api/shares/"+off+"/download").Fails(410, "SHARE_LIMIT_REACHED")
			brief := shareEntry(alice.In(t), file, M{"expiresIn": 60})
			address := shareDownload(visitor, brief)
			l.Clock.Advance(time.Minute - time.Millisecond)
			visitor.Head(address).OK(200)
			visitor.Get("/api/shares/" + brief + "/download").OK(200)
			l.Clock.Advance(time.Millisecond)
			visitor.Get("/api/shares/"+ends+"/download").Fails(410, "SHARE_EXPIRED")
			visitor.Get(address).Fails(401, "INVALID_TOKEN") // it ends with the share
		})
		t.Run("fifteen minutes", func(t *testing.T) {
			share := shareEntry(l.SignIn(t, "alice", "password of alice"), file)
			early, late := shareDownload(visitor.In(t), share), shareDownload(visitor.In(t), share)
			l.Clock.Advance(15*time.Minute - time.Millisecond)
			visitor.In(t).Get(early).OK(200)
			l.Clock.Advance(time.Millisecond)
			visitor.In(t).Get(late).Fails(401, "INVALID_TOKEN")
			checkDownloadCount(t, visitor, share, 1)
		})
		t.Run("number of addresses", func(t *testing.T) {
			l.Apps = l.Apps[:1] // the count of one process, without the Redis that replicas share
			share := shareEntry(l.SignIn(t, "alice", "password of alice"), file)
			visitor := visitor.In(t)
			for range 1000 {
				visitor.Get("/api/shares/" + share + "/download").OK(200)
			}
			r := visitor.Get("/api/shares/"+share+"/download").Fails(429, "RATE_LIMIT_EXCEEDED")
			if after := r.Header.Get("Retry-After"); after == "" || after == "0" {
				t.Errorf("Retry-After %q", after)
			}
			visitor.Get("/api/shares/" + shareEntry(l.SignIn(t, "alice", "password of alice"), file) + "/download").
				OK(200)
		})
	})
}

// Abuse cases C84 and C85: one token gives one body to any number of concurrent requests, and no
// more downloads are given than the share allows.
func TestShareDownloadRaces(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		const text = "what is shared"
		file := alice.Upload("/home/alice", "data.txt", []byte(text))
		folder := mkdir(alice, "/home/alice", "folder")
		alice.Upload("/home/alice/folder", "data.txt", []byte(text))
		check := func(t *testing.T, replies []*apptest.Reply, bodies, others int) {
			t.Helper()
			count := countStatuses(t, replies)
			if count[200] != bodies || count[others] != len(replies)-bodies {
				t.Errorf("answers %v", count)
			}
			for _, r := range replies {
				if r.Status != 200 && (strings.Contains(string(r.Body), text) || r.Header.Get("ETag") != "" ||
					r.Header.Get("Content-Disposition") != "") {
					t.Errorf("a request that lost gets %v %s", r.Header, r.Body)
				}
			}
		}
		for range 3 {
			share := shareEntry(alice, file)
			address := shareDownload(visitor, share)
			check(t, runConcurrently(t, visitor, 50,
				func(c *apptest.Client, _ int) *apptest.Reply { return c.Get(address) }), 1, 401)
			checkDownloadCount(t, visitor, share, 1)
		}
		for _, limit := range []int{1, 7} {
			share := shareEntry(alice, file, M{"maxDownloads": limit})
			var addresses []string
			for range 50 {
				addresses = append(addresses, shareDownload(visitor, share))
			}
			check(t, runConcurrently(t, visitor, 50,
				func(c *apptest.Client, i int) *apptest.Reply { return c.Get(addresses[i]) }), limit, 410)
			checkDownloadCount(t, visitor, share, int64(limit))
		}
		share := shareEntry(alice, folder, M{"maxDownloads": 1})
		one, two := shareDownload(visitor, share), shareDownload(visitor, share)
		check(t, runConcurrently(t, visitor, 2,
			func(c *apptest.Client, i int) *apptest.Reply { return c.Get([]string{one, two}[i]) }), 1, 410)
		checkDownloadCount(t, visitor, share, 1)
	})
}

// Abuse case C86: issued tokens end when their share ends, and when its creator loses the
// permission.
func TestShareTokensEndWithShare(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		const text = "what is shared"
		serial := 0
		for name, c := range map[string]struct {
			act    func(t *testing.T, owner *apptest.Client, name, file, share string)
			status int
			code   string
			undo   func(t *testing.T, owner *apptest.Client, name, file, share string)
		}{
			"revoked": {func(t *testing.T, owner *apptest.Client, _, _, share string) {
				owner.Delete("/api/shares/" + share).OK(200)
			}, 401, "INVALID_TOKEN", nil},
			"revoked by an administrator": {func(t *testing.T, _ *apptest.Client, _, _, share string) {
				admin.In(t).Delete("/api/admin/shares/" + share).OK(200)
			}, 401, "INVALID_TOKEN", nil},
			"the creator disabled": {func(t *testing.T, _ *apptest.Client, name, _, _ string) {
				setUserStatus(t, l, name, "disabled")
			}, 401, "INVALID_TOKEN", func(t *testing.T, _ *apptest.Client, name, _, _ string) {
				setUserStatus(t, l, name, "active")
			}},
			"the file deleted": {func(t *testing.T, owner *apptest.Client, _, file, _ string) {
				owner.Delete("/api/files/" + file).OK(200)
			}, 404, "NOT_FOUND", nil},
			"downloads switched off": {func(t *testing.T, owner *apptest.Client, _, _, share string) {
				owner.Patch("/api/shares/"+share, M{"allowDownload": false}).OK(200)
			}, 401, "INVALID_TOKEN", func(t *testing.T, owner *apptest.Client, _, _, share string) {
				owner.Patch("/api/shares/"+share, M{"allowDownload": true}).OK(200)
			}},
			"no right to share": {func(t *testing.T, _ *apptest.Client, name, _, _ string) {
				addRule(admin.In(t), M{"pathPattern": "/home/" + name + "/**", "effect": "deny", "role": "user",
					"permissions": []string{"share"}})
			}, 401, "INVALID_TOKEN", nil},
			"no right to download": {func(t *testing.T, _ *apptest.Client, name, _, _ string) {
				addRule(admin.In(t), M{"pathPattern": "/home/" + name + "/**", "effect": "deny", "role": "user",
					"permissions": []string{"download"}})
			}, 401, "INVALID_TOKEN", nil},
			"a password on the file": {func(t *testing.T, owner *apptest.Client, _, file, _ string) {
				owner.Put("/api/files/"+file, M{"accessPassword": "open sesame"}).OK(200)
			}, 403, "PASSWORD_REQUIRED", func(t *testing.T, owner *apptest.Client, _, file, _ string) {
				owner.Put("/api/files/"+file, M{"accessPassword": nil}).OK(200)
			}},
			"a password on the share": {func(t *testing.T, owner *apptest.Client, _, _, share string) {
				owner.Patch("/api/shares/"+share, M{"password": "of the share"}).OK(200)
			}, 401, "INVALID_TOKEN", nil},
		} {
			serial++
			who := "owner" + string(rune('a'+serial))
			t.Run(name, func(t *testing.T) {
				owner := l.User(t, who)
				file := owner.Upload("/home/"+who, "data.txt", []byte(text))
				share := shareEntry(owner, file)
				address := shareDownload(visitor.In(t), share)
				etag := visitor.In(t).Head(address).OK(200).Header.Get("ETag")
				c.act(t, owner, who, file, share)
				for _, header := range [][]string{nil, {"Range", "bytes=0-3"}, {"If-None-Match", etag}} {
					r := visitor.In(t).Get(address, header...).Fails(c.status, c.code)
					wantHeader(t, r, "ETag", "")
					wantHeader(t, r, "Content-Disposition", "")
					wantStatus(t, "HEAD", visitor.In(t).Head(address, header...), c.status, "")
				}
				if c.undo != nil {
					c.undo(t, owner, who, file, share)
					wantBody(t, visitor.In(t).Get(address).OK(200), text)
				}
			})
		}
		// proofs in the unlock cookie do not count for shares
		t.Run("a password given outside the share", func(t *testing.T) {
			folder := mkdir(admin.In(t), "/public", "given")
			file := admin.In(t).Upload("/public/given", "a.txt", []byte(text))
			address := shareDownload(visitor.In(t), shareEntry(admin.In(t), file))
			setAccessPassword(admin.In(t), folder, "open sesame")
			guest := l.Client(t)
			unlock(guest, "/public/given", "open sesame").OK(200)
			wantBody(t, guest.Get("/public/given/a.txt").OK(200), text)
			guest.Get(address).Fails(403, "PASSWORD_REQUIRED")
			wantStatus(t, "HEAD", guest.Head(address), 403, "")
		})
		t.Run("renamed and moved", func(t *testing.T) { // the share follows the file
			owner := l.User(t, "mover")
			file := owner.Upload("/home/mover", "data.txt", []byte(text))
			address := shareDownload(visitor.In(t), shareEntry(owner, file))
			mkdir(owner, "/home/mover", "there")
			owner.Post("/api/files/"+file+"/move", M{"targetPath": "/home/mover/there", "newName": "other.txt"}).OK(200)
			wantHeader(t, visitor.In(t).Get(address).OK(200), "Content-Disposition", `attachment; filename="other.txt"`)
		})
	})
}
