package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
)

// docs/decisions.md, Shares: bytes and folders. A shared folder is listed and downloads as a zip or
// one file at a time. No path leads out of it.
func TestSharedFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		const home = "/home/alice"
		trip := mkdir(alice, home, "trip")
		mkdir(alice, home+"/trip", "day one")
		mkdir(alice, home+"/trip/day one", "deep")
		note := alice.Upload(home+"/trip", "note.txt", []byte("note"))
		pixel := alice.Upload(home+"/trip", "pixel.png", []byte(onePixel))
		deep := alice.Upload(home+"/trip/day one/deep", "deep.txt", []byte("deep"))
		beside := alice.Upload(home, "beside.txt", []byte("beside"))
		near := mkdir(alice, home, "trip two") // a common text prefix of names gives no access
		nearby := alice.Upload(home+"/trip two", "nearby.txt", []byte("nearby"))
		bobs := bob.Upload("/home/bob", "bobs.txt", []byte("of bob"))
		homeID := entryIDOf(alice, "/home", "alice")
		all := []string{"day one/", "day one/deep/", "day one/deep/deep.txt=deep", "note.txt=note",
			"pixel.png=" + onePixel}
		share := shareEntry(alice, trip)

		t.Run("listing", func(t *testing.T) {
			r := listShare(visitor.In(t), share, "/").OK(200)
			wantFields(t, "data", r.Object()["data"], "items", "pagination")
			wantHeader(t, r, "Cache-Control", "private, no-store")
			wantJSON(t, "pagination", r.Value("pagination"), M{"total": 3, "page": 1, "limit": 100, "pages": 1})
			now := l.Clock.Now().UnixMilli()
			wantJSON(t, "a file", r.Value("items.1"),
				M{"id": note, "name": "note.txt", "path": "/", "type": "file", "size": 4, "mimeType": "text/plain",
					"createdAt": now, "updatedAt": now})
			wantFields(t, "a folder", r.Value("items.0"), "id", "name", "path", "type", "size", "createdAt",
				"updatedAt")
			wantJSON(t, "no parameter", visitor.In(t).Get("/api/shares/"+share+"/files").OK(200).Value("items"),
				r.Value("items"))
			if strings.Contains(string(r.Body), "alice") || strings.Contains(string(r.Body), "trip") {
				t.Errorf("the answer reveals the owner or the path: %s", r.Body)
			}
			r = listShare(visitor.In(t), share, "//day one/./deep/").OK(200)
			wantJSON(t, "its path in the share", r.Value("items.0.path"), "/day one/deep")
			wantStrings(t, "further down", shareNames(t, visitor, share, "/day one"), "deep/")
			wantStrings(t, "backwards", shareNames(t, visitor, share, "/", "&sort=name&order=desc"), "day one/",
				"pixel.png", "note.txt")
			wantStrings(t, "the second page", shareNames(t, visitor, share, "/", "&limit=2&page=2"), "pixel.png")
			for _, bad := range []string{"&page=0", "&limit=0", "&limit=1001", "&sort=owner", "&order=up", "&page=x"} {
				listShare(visitor.In(t), share, "/", bad).Fails(400, "VALIDATION_ERROR")
			}
			listShare(visitor.In(t), share, "/", "&limit=1000").OK(200)
			if got := visitor.In(t).Get("/api/shares/" + share).OK(200).Int("share.viewCount"); got != 1 {
				t.Errorf("%d views are counted", got)
			}
		})
		t.Run("paths cannot leave the root", func(t *testing.T) {
			visitor := visitor.In(t)
			for _, path := range []string{"..", "/..", "/day one/../..", "/../alice", "day one", "/\x00", "/a\\b"} {
				listShare(visitor, share, path).Fails(400, "VALIDATION_ERROR")
			}
			for _, path := range []string{"/none", "/note.txt", "/note.txt/x", "/home/alice", "/trip", "/%2e%2e",
				strings.Repeat("/a", 64), "/" + strings.Repeat("b", 200)} {
				listShare(visitor, share, path).Fails(404, "NOT_FOUND")
			}
			for what, id := range map[string]string{
				"a sibling": beside, "a sibling folder": near, "in a folder of a longer name": nearby,
				"the parent": homeID, "somebody else's": bobs, "nothing": "none",
				"a folder in it": entryIDOf(alice, home+"/trip", "day one"), "a NUL's neighbour": "path:/home/alice",
			} {
				visitor.Get("/api/shares/"+share+"/download?file="+id).Fails(404, "NOT_FOUND")
				visitor.Get("/api/shares/"+share+"/preview?file="+id).Fails(404, "NOT_FOUND")
				if t.Failed() {
					t.Fatal(what)
				}
			}
			ofFile := shareEntry(alice.In(t), note)
			for _, id := range []string{pixel, deep, trip, beside} {
				visitor.Get("/api/shares/"+ofFile+"/download?file="+id).Fails(404, "NOT_FOUND")
				visitor.Get("/api/shares/"+ofFile+"/preview?file="+id).Fails(404, "NOT_FOUND")
			}
			listShare(visitor, ofFile, "/").Fails(404, "NOT_FOUND")
			for _, bad := range []string{"%00", "%ff"} {
				visitor.Get("/api/shares/"+share+"/download?file="+bad).Fails(400, "VALIDATION_ERROR")
				visitor.Get("/api/shares/"+share+"/preview?file="+bad).Fails(400, "VALIDATION_ERROR")
			}
		})
		t.Run("bytes", func(t *testing.T) {
			visitor, share := visitor.In(t), shareEntry(alice.In(t), trip, M{"maxDownloads": 3})
			address := shareDownload(visitor, share)
			visitor.Head(address).OK(200)
			checkDownloadCount(t, visitor, share, 0)
			r := visitor.Get(address)
			wantStrings(t, "all of it", unzip(t, r), all...)
			wantHeader(t, r, "Content-Disposition", `attachment; filename="trip.zip"`)
			wantHeader(t, r, "Cache-Control", "private, no-store")
			visitor.Get(address).Fails(401, "INVALID_TOKEN")
			checkDownloadCount(t, visitor, share, 1)
			r = visitor.Get(shareDownload(visitor, share, "?file=", deep)).OK(200)
			wantBody(t, r, "deep")
			wantHeader(t, r, "Content-Disposition", `attachment; filename="deep.txt"`)
			checkDownloadCount(t, visitor, share, 2)
			r = visitor.Get("/api/shares/" + share + "/preview?file=" + pixel).OK(200)
			wantBody(t, r, onePixel)
			visitor.Get("/api/shares/"+share+"/preview").Fails(403, "FORBIDDEN")
			late := shareDownload(visitor, share)
			visitor.Get(shareDownload(visitor, share, "?file=", note)).OK(200)
			visitor.Get(late).Fails(410, "SHARE_LIMIT_REACHED")
			checkDownloadCount(t, visitor, share, 3)
		})
		t.Run("a file moved out", func(t *testing.T) {
			visitor := visitor.In(t)
			leaves := alice.In(t).Upload(home+"/trip", "leaves.txt", []byte("leaves"))
			address := shareDownload(visitor, share, "?file=", leaves)
			alice.In(t).Post("/api/files/"+leaves+"/move", M{"targetPath": home}).OK(200)
			visitor.Get(address).Fails(404, "NOT_FOUND")
			visitor.Get("/api/shares/"+share+"/preview?file="+leaves).Fails(404, "NOT_FOUND")
			alice.In(t).Post("/api/files/"+trip+"/move", M{"targetPath": home, "newName": "journey"}).OK(200)
			wantStrings(t, "moved", shareNames(t, visitor, share, "/"), "day one/", "note.txt", "pixel.png")
			alice.In(t).Post("/api/files/"+trip+"/move", M{"targetPath": home, "newName": "trip"}).OK(200)
		})
		t.Run("password", func(t *testing.T) {
			share, guest := shareEntry(alice.In(t), trip, M{"password": "of the share"}), l.Client(t)
			listShare(guest, share, "/").Fails(401, "INVALID_PASSWORD")
			listShare(guest, share, "/none").Fails(401, "INVALID_PASSWORD")
			guest.Get("/api/shares/"+share+"/preview").Fails(401, "INVALID_PASSWORD")
			guest.Get("/api/shares/"+share+"/preview?file="+beside).Fails(401, "INVALID_PASSWORD")
			verifySharePassword(guest, share, "of the share").OK(200)
			wantStrings(t, "with it", shareNames(t, guest, share, "/"), "day one/", "note.txt", "pixel.png")
			wantStrings(t, "all of it", unzip(t, visitor.In(t).Get(shareDownload(guest, share))), all...)
		})
		t.Run("ended shares", func(t *testing.T) {
			share := shareEntry(alice.In(t), trip)
			alice.In(t).Delete("/api/shares/" + share).OK(200)
			listShare(visitor.In(t), share, "/").Fails(410, "SHARE_REVOKED")
			listShare(visitor.In(t), "none", "/").Fails(404, "NOT_FOUND")
			share = shareEntry(alice.In(t), trip, M{"expiresIn": 60, "allowDownload": false, "allowPreview": false})
			listShare(visitor.In(t), share, "/").OK(200)
			l.Clock.Advance(time.Minute)
			listShare(visitor.In(t), share, "/").Fails(410, "SHARE_EXPIRED")
		})
		t.Run("of the root", func(t *testing.T) { // an administrator's share, with mounts
			top := admin.In(t).Get("/api/files?path=/").OK(200).Text("folder.id")
			store := admin.In(t).Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
			addMount(admin.In(t), store, "/far/away")
			admin.In(t).Upload("/far/away", "x.txt", []byte("far"))
			share := shareEntry(admin.In(t), top)
			wantStrings(t, "the root", shareNames(t, visitor, share, "/"), "far/", "home/", "public/", "uploads/")
			r := listShare(visitor.In(t), share, "/far").OK(200)
			wantStrings(t, "a virtual folder", r.Names("items"), "away")
			x := listShare(visitor.In(t), share, "/far/away").OK(200).Text("items.0.id")
			wantBody(t, visitor.In(t).Get(shareDownload(visitor.In(t), share, "?file=", x)).OK(200), "far")
			if got := unzip(t, visitor.In(t).Get(shareDownload(visitor.In(t), share))); !slices.Contains(got,
				"far/away/x.txt=far") || !slices.Contains(got, "home/bob/bobs.txt=of bob") {
				t.Errorf("the zip contains %q", got)
			}
		})
	})
}

// Each member is authorized by the creator's current rights. Protected members and members that the
// creator may not download are omitted and not counted.
func TestSharedFolderOmitsUnreadableEntries(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		const dir = "/home/alice/f"
		folder := mkdir(alice, "/home/alice", "f")
		ids := map[string]string{}
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			ids[name] = alice.Upload(dir, name, []byte(name))
		}
		for _, name := range []string{"d", "e"} {
			mkdir(alice, dir, name)
			ids[name] = alice.Upload(dir+"/"+name, name+".txt", []byte(name))
		}
		share := shareEntry(alice, folder)
		wantShared := func(t *testing.T, share string, names ...string) {
			t.Helper()
			wantStrings(t, "listed", shareNames(t, visitor, share, "/"), names...)
			if r := listShare(visitor.In(t), share, "/", "&limit=1").
				OK(200); r.Int("pagination.total") != int64(len(names)) {
				t.Errorf("it counts %d, want %d", r.Int("pagination.total"), len(names))
			}
			zipped := unzip(t, visitor.In(t).Get(shareDownload(visitor.In(t), share)))
			for name, id := range ids {
				listed := slices.Contains(names, name) || slices.Contains(names, name+"/")
				inZip := slices.ContainsFunc(zipped,
					func(e string) bool { return strings.HasPrefix(e, name+"=") || strings.HasPrefix(e, name+"/") })
				if inZip != listed {
					t.Errorf("%s: in the zip %v, want %v", name, inZip, listed)
				}
				want, code := 200, ""
				if !listed {
					want, code = 404, "NOT_FOUND"
				}
				wantStatus(t, name, visitor.In(t).Get("/api/shares/"+share+"/download?file="+id), want, code)
				wantStatus(t, "preview of "+name, visitor.In(t).Get("/api/shares/"+share+"/preview?file="+id), want,
					code)
				if len(name) == 1 {
					wantStatus(t, "listing of "+name, listShare(visitor.In(t), share, "/"+name), want, code)
				}
			}
		}
		wantShared(t, share, "d/", "e/", "a.txt", "b.txt", "c.txt")
		t.Run("passwords", func(t *testing.T) {
			alice := alice.In(t)
			token := shareDownload(visitor.In(t), share, "?file=", ids["a.txt"])
			alice.Put("/api/files/"+ids["a.txt"], M{"accessPassword": "open sesame"}).OK(200)
			alice.Put("/api/files/"+entryIDOf(alice, dir, "d"), M{"accessPassword": "open sesame"}).OK(200)
			wantShared(t, share, "e/", "b.txt", "c.txt")
			visitor.In(t).Get(token).Fails(404, "NOT_FOUND") // as if it were requested now
			// the share's password replaces those above the folder, not those below
			other := shareEntry(alice, folder, M{"password": "of the share"})
			guest := l.Client(t)
			verifySharePassword(guest, other, "of the share").OK(200)
			wantStrings(t, "with a password of its own", shareNames(t, guest, other, "/"), "e/", "b.txt", "c.txt")
			alice.Put("/api/files/"+ids["a.txt"], M{"accessPassword": nil}).OK(200)
			alice.Put("/api/files/"+entryIDOf(alice, dir, "d"), M{"accessPassword": nil}).OK(200)
			wantShared(t, share, "d/", "e/", "a.txt", "b.txt", "c.txt")
		})
		t.Run("rules", func(t *testing.T) {
			admin := admin.In(t)
			for _, permission := range []string{"download", "read"} {
				one := addRule(admin, M{"pathPattern": dir + "/b.*", "effect": "deny", "role": "user",
					"permissions": []string{permission}})
				// if no permission is named, all are denied
				two := addRule(admin, M{"pathPattern": dir + "/e/**", "effect": "deny", "role": "user"})
				want := []string{"d/", "a.txt", "c.txt"}
				wantShared(t, share, want...)
				admin.Delete("/api/admin/rules/" + one).OK(200)
				admin.Delete("/api/admin/rules/" + two).OK(200)
			}
			one := addRule(admin, M{"pathPattern": dir + "/c.txt", "effect": "allow", "role": "user",
				"permissions": []string{"download"}, "requirePassword": true, "password": "open sesame",
				"priority": 10})
			two := addRule(admin, M{"pathPattern": dir + "/c.txt", "effect": "deny", "role": "user",
				"permissions": []string{"download"}, "priority": 5})
			wantShared(t, share, "d/", "e/", "a.txt", "b.txt")
			admin.Delete("/api/admin/rules/" + one).OK(200)
			admin.Delete("/api/admin/rules/" + two).OK(200)
			wantShared(t, share, "d/", "e/", "a.txt", "b.txt", "c.txt")
		})
		t.Run("entries of others", func(t *testing.T) { // bob sees and shares only his own entries in /uploads
			alices := alice.In(t).Upload("/uploads", "alices.txt", []byte("of alice"))
			bobs := bob.In(t).Upload("/uploads", "bobs.txt", []byte("of bob"))
			addRule(admin.In(t), M{"pathPattern": "/uploads", "effect": "allow",
				"userId":      callerID(bob.In(t)),
				"permissions": []string{"read", "share", "download"}})
			share := shareEntry(bob.In(t), entryIDOf(admin.In(t), "/", "uploads"))
			wantStrings(t, "listed", shareNames(t, visitor, share, "/"), "bobs.txt")
			wantStrings(t, "zipped", unzip(t, visitor.In(t).Get(shareDownload(visitor.In(t), share))),
				"bobs.txt=of bob")
			visitor.In(t).Get("/api/shares/"+share+"/download?file="+alices).Fails(404, "NOT_FOUND")
			visitor.In(t).Get("/api/shares/" + share + "/download?file=" + bobs).OK(200)
		})
	})
}

// A zip has at most 10,000 files and 20 GiB, checked before anything is sent; a refused one does
// not count. An address may have two zips at a time.
func TestSharedFolderLimits(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		folder := mkdir(alice, "/home/alice", "many")
		first := alice.Upload("/home/alice/many", "first.txt", []byte("x"))
		write := func(statement string, args ...any) {
			t.Helper()
			if err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(statement, args...)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		write(`
			WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
			INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
			SELECT 'many' || n.i, CAST($1 AS TEXT), 'Photo ' || n.i, 'photo ' || n.i, 1, 1, 'text/plain', e.owner_id, e.object_id, 0, 0, 'photo ' || length(CAST(n.i AS TEXT)) || n.i
			FROM n CROSS JOIN entries e
			WHERE e.id = $2`, folder, first)
		share := shareEntry(alice, folder)
		address := shareDownload(visitor, share)
		visitor.Get(address).Fails(413, "PAYLOAD_TOO_LARGE")
		checkDownloadCount(t, visitor, share, 0)
		write("DELETE FROM entries WHERE id = 'many10001'")
		if got := unzip(t, visitor.Get(address)); len(got) != 10000 { // it was not used up
			t.Errorf("%d files", len(got))
		}
		checkDownloadCount(t, visitor, share, 1)

		write("DELETE FROM entries WHERE parent_id = $1 AND id <> $2", folder, first)
		address = shareDownload(visitor, share)
		write("UPDATE entries SET size = $1 WHERE id = $2", int64(20<<30)+1, first)
		visitor.Get(address).Fails(413, "PAYLOAD_TOO_LARGE")
		checkDownloadCount(t, visitor, share, 1)
		write("UPDATE entries SET size = $1 WHERE id = $2", int64(20<<30), first)
		visitor.Get(address)                     // it begins and breaks off, because the store has fewer bytes
		checkDownloadCount(t, visitor, share, 2) // which shows that it was used up
	})
}

func TestSharedZipLimit(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		l.Apps = l.Apps[:1] // the limit is that of one process
		folder := mkdir(alice, "/home/alice", "big")
		small := alice.Upload("/home/alice/big", "small", []byte("x"))
		for i := range 8 { // more bytes than the system buffers for a client that does not read
			alice.Upload("/home/alice/big", fmt.Sprint(i), make([]byte, 4<<20))
		}
		share := shareEntry(alice, folder)
		selection := "/api/shares/" + share + "/download?files=" + small
		visitor.Get(selection).OK(200)
		third := shareDownload(visitor, share)
		for range 2 {
			if status, _ := startDownload(t, l, visitor, shareDownload(visitor, share)); status != 200 {
				t.Fatal(status)
			}
		}
		visitor.Get(third).Fails(429, "RATE_LIMIT_EXCEEDED")
		visitor.Head(third).OK(200)
		visitor.Get(selection).Fails(429, "RATE_LIMIT_EXCEEDED") // looks up as many files as a zip
		visitor.Head(selection).Fails(429, "RATE_LIMIT_EXCEEDED")
		checkDownloadCount(t, visitor, share, 2)
		getZip(alice, folder).OK(200) // an account has its own slots
	})
}

// docs/decisions.md, Shares: bytes and folders. A listing states the size of a picture, as a viewer
// shows it, where the share allows previews or downloads.
func TestSharedFolderPictureSizes(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		trip := mkdir(alice, "/home/alice", "trip")
		alice.Upload("/home/alice/trip", "a.jpeg", photo) // 600 × 800 when it is upright
		alice.Upload("/home/alice/trip", "b.txt", []byte("text"))
		if _, err := l.Apps[0].Pictures.Examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what  string
			share M
			sized bool
		}{
			{"allowed", M{}, true},
			{"previews alone", M{"allowDownload": false}, true},
			{"downloads alone", M{"allowPreview": false}, true},
			{"names alone", M{"allowPreview": false, "allowDownload": false}, false},
		} {
			items := listShare(visitor, shareEntry(alice, trip, c.share), "/").OK(200).Value("items").([]any)
			file, text := items[0].(map[string]any), items[1].(map[string]any)
			size := []any{file["width"], file["height"], text["width"], text["height"]}
			want := []any{nil, nil, nil, nil}
			if c.sized {
				want[0], want[1] = 600, 800
			}
			wantJSON(t, c.what, size, want)
		}
	})
}
