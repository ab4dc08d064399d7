package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// docs/decisions.md, Shares: bytes and folders. Some files of a shared folder are sent as one zip,
// which counts as one download. No id leads out of the folder.
func TestSharedSelection(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		const dir = "/home/alice/f"
		folder := mkdir(alice, "/home/alice", "f")
		inner := mkdir(alice, dir, "d")
		a, b, c := alice.Upload(dir, "a.txt", []byte("a")), alice.Upload(dir, "b.txt", []byte("b")),
			alice.Upload(dir, "c.txt", []byte("c"))
		deep := alice.Upload(dir+"/d", "a.txt", []byte("deep"))
		beside := alice.Upload("/home/alice", "beside.txt", []byte("beside"))
		bobs := bob.Upload("/home/bob", "bobs.txt", []byte("of bob"))
		share := shareEntry(alice, folder)
		ask := func(share string, ids ...string) *apptest.Reply {
			return visitor.In(t).Get("/api/shares/" + share + "/download?files=" + strings.Join(ids, ","))
		}
		zipped := func(ids ...string) []string {
			return unzip(t, visitor.In(t).Get(ask(share, ids...).OK(200).Text("url")))
		}

		wantStrings(t, "two", zipped(a, c, a), "a.txt=a", "c.txt=c")
		checkDownloadCount(t, alice, share, 1)
		wantStrings(t, "equal names", zipped(a, deep), "a (1).txt=deep", "a.txt=a")
		wantStrings(t, "one", zipped(b), "b.txt=b")
		wantStrings(t, "with others", zipped(beside, bobs, "none", inner, folder, b), "b.txt=b")
		for what, id := range map[string]string{"a sibling": beside, "somebody else's": bobs, "nothing": "none",
			"a folder in it": inner, "the folder itself": folder} {
			wantStatus(t, what, ask(share, id), 404, "NOT_FOUND")
		}
		wantStatus(t, "a shared file", ask(shareEntry(alice, a), a), 404, "NOT_FOUND")

		many := []string{a}
		for len(many) < 100 {
			many = append(many, strings.Repeat("x", len(many)%30+1)+"-"+string(rune('a'+len(many)%26)))
		}
		ask(share, many...).OK(200)
		for what, query := range map[string]string{"101 ids": strings.Join(append(many, "more"), ","),
			"commas": ",,", "NUL": "a%00", "too long": strings.Repeat("x", 4001), "with file": a + "&file=" + a} {
			r := visitor.Get("/api/shares/" + share + "/download?files=" + query)
			wantStatus(t, what, r, 400, "VALIDATION_ERROR")
			wantJSON(t, "field of "+what, r.Object()["error"].(map[string]any)["field"], "files")
		}

		t.Run("rights at the download", func(t *testing.T) {
			alice, admin, visitor := alice.In(t), admin.In(t), visitor.In(t)
			address := ask(share, a, b, c).OK(200).Text("url")
			alice.Post("/api/files/"+a+"/move", M{"targetPath": "/home/alice"}).OK(200)
			alice.Put("/api/files/"+b, M{"accessPassword": "open sesame"}).OK(200)
			wantStrings(t, "the remaining file", unzip(t, visitor.Get(address)), "c.txt=c")
			rule := addRule(admin, M{"pathPattern": dir + "/c.txt", "effect": "deny", "role": "user",
				"permissions": []string{"read"}})
			wantStatus(t, "no remaining file", ask(share, a, b, c), 404, "NOT_FOUND")
			admin.Delete("/api/admin/rules/" + rule).OK(200)
			address = ask(share, c).OK(200).Text("url")
			alice.Delete("/api/files/" + c).OK(200)
			before := alice.Get("/api/shares/" + share).OK(200).Int("share.downloadCount")
			visitor.Get(address).Fails(404, "NOT_FOUND")
			checkDownloadCount(t, alice, share, before)
		})
		t.Run("limits of the share", func(t *testing.T) {
			alice := alice.In(t)
			last := shareEntry(alice, folder, M{"maxDownloads": 1})
			first, second := ask(last, deep).OK(200).Text("url"), ask(last, deep).OK(200).Text("url")
			visitor.In(t).Get(first).OK(200)
			visitor.In(t).Get(first).Fails(401, "INVALID_TOKEN")
			visitor.In(t).Get(second).Fails(410, "SHARE_LIMIT_REACHED")
			ask(last, deep).Fails(410, "SHARE_LIMIT_REACHED")
			ask(shareEntry(alice, folder, M{"allowDownload": false}), deep).Fails(403, "FORBIDDEN")
			ask(shareEntry(alice, folder, M{"password": "open sesame"}), deep).Fails(401, "INVALID_PASSWORD")
		})
	})
}
