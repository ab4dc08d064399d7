package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// PUT stores the whole body and returns the same validator as GET and PROPFIND afterwards (RFC
// 4918, section 9.7; RFC 9110, section 9.3.4).
func TestDAVPut(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		const at = "/home/alice/f.bin"
		tags := map[string]bool{}
		// kept in memory, empty, streamed
		for i, body := range []string{"first", "", strings.Repeat("x", 300_000), "last"} {
			for _, chunked := range []bool{false, true} {
				var sent any = body
				if chunked {
					sent = io.MultiReader(strings.NewReader(body))
				}
				l.Clock.Advance(time.Second)
				r := dav(key, "PUT", at, sent)
				want := 204
				if i == 0 && !chunked {
					want = 201
				}
				wantStatus(t, "PUT", r, want, "")
				wantBody(t, r, "")
				got := dav(key, "GET", at, nil).OK(200)
				wantBody(t, got, body)
				etag := r.Header.Get("ETag")
				wantHeader(t, got, "ETag", etag)
				wantJSON(t, "getetag", parseMultistatus(t, "PROPFIND",
					dav(key, "PROPFIND", at, nil, "Depth", "0"))[0].live(t, "getetag"), etag)
				if len(etag) < 3 || etag[0] != '"' || tags[etag] {
					t.Errorf("ETag %s", etag)
				}
				tags[etag] = true
				wantUsed(t, alice, int64(len(body)), 1)
			}
		}
		entry := entryIDOf(alice, "/home/alice", "f.bin")
		wantDAVStatus(t, "below a file", dav(key, "PUT", at+"/x", "x"), 409)
		wantDAVStatus(t, "below nothing", dav(key, "PUT", "/home/alice/none/x", "x"), 409)
		dav(key, "MKCOL", "/home/alice/folder", nil).OK(201)
		wantDAVStatus(t, "onto a folder", dav(key, "PUT", "/home/alice/folder", "x"), 405)
		dav(key, "DELETE", "/home/alice/folder", nil).OK(204)
		wantDAVStatus(t, "onto the root", dav(key, "PUT", "/", "x"), 405)
		wantDAVStatus(t, "a part", dav(key, "PUT", at, "x", "Content-Range", "bytes 0-0/4"), 400)
		for _, encoding := range []string{"gzip", "deflate", "br", "x"} {
			if r := dav(key, "PUT", at, "x", "Content-Encoding", encoding); r.Status != 400 && r.Status != 415 {
				t.Errorf("Content-Encoding %s: %d", encoding, r.Status)
			}
		}
		dav(key, "PUT", at, "last", "Content-Encoding", "identity").OK(204)
		wantBody(t, dav(key, "GET", at, nil).OK(200), "last")
		wantJSON(t, "its id", entryIDOf(alice, "/home/alice", "f.bin"), entry)
		wantStrings(t, "the home", listNames(alice, "/home/alice"), "f.bin")
		wantUsed(t, alice, 4, 1)
	})
}

// If-Match and If-None-Match apply to methods that change an entry (RFC 9110, section 13.1).
func TestDAVPreconditions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		_, key := davHome(t, l, "alice")
		const there, none = "/home/alice/f.txt", "/home/alice/none.txt"
		etag := ""
		for _, row := range []struct {
			name, value string // ETAG stands for the file's ETag
			there, none int    // statuses of a PUT to an existing file and to a free name
		}{
			{"If-Match", "*", 204, 412},
			{"If-Match", "ETAG", 204, 412},
			{"If-Match", `"x", ETAG`, 204, 412},
			{"If-Match", `"x"`, 412, 412},
			{"If-Match", "W/ETAG", 412, 412}, // strong comparison
			{"If-None-Match", "*", 412, 201},
			{"If-None-Match", "ETAG", 412, 201},
			{"If-None-Match", "W/ETAG", 412, 201}, // weak comparison
			{"If-None-Match", `"x"`, 204, 201},
			{"If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT", 412, 201},
			{"If-Unmodified-Since", "CHANGED", 204, 201},
			{"If-Unmodified-Since", "Fri, 01 Jan 2100 00:00:00 GMT", 204, 201},
			{"If-Unmodified-Since", "yesterday", 204, 201}, // an invalid date is no condition
		} {
			for method, body := range map[string]any{"PUT": "new", "PROPPATCH": patchBody, "DELETE": nil, "MOVE": nil} {
				r := dav(key, "PUT", there, "old")
				etag = r.Header.Get("ETag")
				value := strings.ReplaceAll(row.value, "ETAG", etag)
				value = strings.ReplaceAll(value, "CHANGED", dav(key, "HEAD", there, nil).Header.Get("Last-Modified"))
				what := method + ", " + row.name + ": " + row.value
				header := []string{row.name, value, "Destination", "/webdav/home/alice/moved.txt"}
				want := row.there
				if want == 204 {
					want = map[string]int{"PUT": 204, "PROPPATCH": 207, "DELETE": 204, "MOVE": 201}[method]
				}
				r = dav(key, method, there, body, header...)
				wantStatus(t, what, r, want, "")
				if want == 412 {
					wantDAVStatus(t, what, r, 412)
					wantBody(t, dav(key, "GET", there, nil).OK(200), "old")
				}
				if method == "MOVE" {
					dav(key, "DELETE", "/home/alice/moved.txt", nil)
				}
				if method == "PUT" {
					wantStatus(t, what+", of nothing", dav(key, "PUT", none, "new", row.name, value), row.none, "")
					if dav(key, "DELETE", none, nil).Status == 204 != (row.none == 201) {
						t.Errorf("%s of a free name: the status and the existence of the file do not match", what)
					}
				}
			}
		}
		dav(key, "PUT", there, "old")
		long := []string{"If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT"}
		wantStatus(t, "PUT with If-Match, which takes precedence",
			dav(key, "PUT", there, "old", append(long, "If-Match", "*")...), 204, "")
		wantDAVStatus(t, "MKCOL where something is", dav(key, "MKCOL", there, nil, "If-None-Match", "*"), 412)
		wantDAVStatus(t, "MKCOL where nothing is", dav(key, "MKCOL", none, nil, "If-Match", "*"), 412)

		// a caller without permission is refused first and learns nothing about the entry
		bobs := davKey(l.User(t, "bob"), M{"uploadPath": "/home/bob"})
		for _, path := range []string{there, none} {
			for _, header := range [][]string{{"If-Match", "*"}, {"If-None-Match", "*"}, {"If", `(["x"])`},
				{"If", `(Not ["x"])`}} {
				for _, method := range []string{"PUT", "DELETE", "MKCOL", "PROPPATCH", "LOCK", "GET", "PROPFIND",
					"MOVE", "COPY"} {
					body := map[string]any{"PUT": "x", "PROPPATCH": patchBody, "LOCK": lockBody}[method]
					wantDAVStatus(t, method+" "+path+" of others with "+header[0]+": "+header[1],
						dav(bobs, method, path, body, append(header, "Destination", "/webdav/home/bob/x")...), 403)
				}
			}
		}
	})
}

// Abuse cases C93, C94, C97, C124: an interrupted body leaves the old content, or no file, an
// unchanged quota, and no bytes.
func TestDAVPutCutShort(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		const at = "/home/alice/f.bin"
		dav(key, "PUT", at, "old content").OK(201)
		before := bucketObjects(t, l, "default")
		for _, size := range []int64{100, 600_000} {
			for _, path := range []string{at, "/home/alice/new.bin"} {
				for _, cut := range []int64{0, size / 2, size - 1} {
					key.Do(apptest.Request{Method: "PUT", Path: "/webdav" + path,
						Body: io.MultiReader(strings.NewReader(strings.Repeat("x", int(cut)))), Length: size})
				}
				broken, writer := io.Pipe() // chunked and interrupted
				go func() {
					_, _ = io.WriteString(writer, strings.Repeat("x", int(size)))
					_ = writer.CloseWithError(io.ErrUnexpectedEOF)
				}()
				if r := dav(key, "PUT", path, broken); r.Err == nil && r.Status < 400 {
					t.Errorf("a broken body of %d: %d", size, r.Status)
				}
			}
		}
		// the client goes on before the server has noticed
		waitUntil(t, "nothing stays reserved", func() bool {
			return queryInt(t, l, "SELECT COUNT(*) FROM upload_sessions")+
				queryInt(t, l, "SELECT COUNT(*) FROM quotas WHERE reserved_storage <> 0") == 0
		})
		wantBody(t, dav(key, "GET", at, nil).OK(200), "old content")
		wantStrings(t, "the home", listNames(alice, "/home/alice"), "f.bin")
		wantUsed(t, alice, 11, 1)
		checkOwnershipAndCharges(t, l, "after bodies that broke off")
		collectGarbage(l, alice)
		wantStrings(t, "objects", bucketObjects(t, l, "default"), before...)
	})
}

// Abuse cases C97 and C99: a body beyond the quota gets 507, with a known or unknown length, and is
// read about as far as the quota. The old content stays. A replacement counts by its difference in
// size.
func TestDAVQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const quota = 1 << 20
		alice, key := davHome(t, l, "alice", M{"maxStorage": quota})
		const at = "/home/alice/f.bin"
		dav(key, "PUT", at, strings.Repeat("a", 700_000)).OK(201)
		over := func(what string, r *apptest.Reply) {
			t.Helper()
			wantDAVStatus(t, what, r, 507)
			if r.Err == nil && !strings.Contains(string(r.Body), "quota-not-exceeded") { // RFC 4331, section 6
				t.Errorf("%s: %s", what, r.Body)
			}
		}
		for what, path := range map[string]string{"new": "/home/alice/new.bin", "over another": at} {
			over("announced, "+what, dav(key, "PUT", path, strings.Repeat("b", quota+1)))
			over("chunked, "+what, dav(key, "PUT", path,
				io.MultiReader(strings.NewReader(strings.Repeat("b", quota+1)))))
			endless := &countingBody{Reader: io.LimitReader(endlessBody(' '), 1<<30)}
			if r := dav(key, "PUT", path, endless); r.Err == nil {
				over("without end, "+what, r)
			}
			if read := endless.read.Load(); read > 64<<20 {
				t.Errorf("endless body, %s: %d bytes were read for a quota of %d", what, read, quota)
			}
		}
		over("small", dav(key, "PUT", "/home/alice/new.bin", strings.Repeat("b", quota-700_000+1)))
		over("small, chunked", dav(key, "PUT", "/home/alice/new.bin",
			io.MultiReader(strings.NewReader(strings.Repeat("b", quota-700_000+1)))))
		over("a copy", dav(key, "COPY", at, nil, "Destination", "/webdav/home/alice/copy"))
		wantBody(t, dav(key, "GET", at, nil).OK(200), strings.Repeat("a", 700_000))
		wantStrings(t, "the home", listNames(alice, "/home/alice"), "f.bin")
		wantUsed(t, alice, 700_000, 1)
		wantStatus(t, "more in its place, announced", dav(key, "PUT", at, strings.Repeat("c", quota)), 204, "")
		wantUsed(t, alice, quota, 1)
		wantStatus(t, "as much in its place, chunked",
			dav(key, "PUT", at, io.MultiReader(strings.NewReader(strings.Repeat("d", quota)))), 204, "")
		wantStatus(t, "less in its place", dav(key, "PUT", at, "d"), 204, "")
		wantUsed(t, alice, 1, 1)

		announce := func(path string, size int64) *apptest.Reply { // sends no byte of the body
			body, writer := io.Pipe()
			defer writer.Close()
			return key.Do(apptest.Request{Method: "PUT", Path: "/webdav" + path, Body: body, Length: size})
		}
		over("announced, before a byte came", announce("/home/alice/new.bin", quota+1))
		wantDAVStatus(t, "over 20 GiB", announce("/home/alice/new.bin", 20<<30+1), 413)
		wantDAVStatus(t, "over 20 GiB, in the place of another", announce(at, 20<<30+1), 413)
		checkOwnershipAndCharges(t, l, "in the end")
	})
}

// Content types are determined as for every upload, and no stored content runs as the site (abuse
// case C67 by WebDAV).
func TestDAVContentTypes(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		key := davKey(admin, M{"uploadPath": "/public"})
		const script = "<script>alert(1)</script>"
		for _, row := range []struct{ name, sent, body, want string }{
			{"a.txt", "", "x", "text/plain"},
			{"a.png", "application/octet-stream", onePixel, "image/png"},
			{"picture", "", onePixel, "image/png"},
			{"a.html", "", script, "text/html"},
			{"b", "text/html", script, "text/html"},
			{"c.svg", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'>" + script + "</svg>", "image/svg+xml"},
			{"d.js", "", "alert(1)", "text/javascript"},
			{"e.xhtml", "", script, "application/xhtml+xml"},
			{"f.bin", "text/html;x", script, ""},
			{"g.unknown", "", "\x00\x01\x02", "application/octet-stream"},
		} {
			dav(key, "PUT", "/public/"+row.name, row.body, "Content-Type", row.sent).OK(201)
			r := dav(key, "GET", "/public/"+row.name, nil).OK(200)
			wantBody(t, r, row.body)
			media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
			if row.want != "" && media != row.want {
				t.Errorf("%s: %s, want %s", row.name, media, row.want)
			}
			shown, _, _ := strings.Cut(parseMultistatus(t, row.name,
				dav(key, "PROPFIND", "/public/"+row.name, nil, "Depth", "0"))[0].live(t, "getcontenttype"), ";")
			if row.want != "" && shown != row.want {
				t.Errorf("%s: getcontenttype %s, want %s", row.name, shown, row.want)
			}
			wantHeader(t, r, "X-Content-Type-Options", "nosniff")
			wantHeader(t, r, "Cache-Control", "private, no-store")
			policy, kind := r.Header.Get("Content-Security-Policy"), r.Header.Get("Content-Disposition")
			harmless := media == "image/png" || media == "text/plain"
			if !strings.Contains(policy, "default-src 'none'") || !harmless &&
				(!strings.Contains(policy, "sandbox") || !strings.HasPrefix(kind, "attachment;")) {
				t.Errorf("%s: %s, %s", row.name, policy, kind)
			}
			// C68
			wantDAVStatus(t, "run as a worker", dav(key, "GET", "/public/"+row.name, nil, "Service-Worker", "script"),
				403)
		}
	})
}

// Abuse case C31: a key that is revoked or loses its permission while a body arrives stores
// nothing.
func TestDAVPutWithKeyRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, kept := davHome(t, l, "alice")
		const at = "/home/alice/f.bin"
		dav(kept, "PUT", at, "old").OK(201)
		admin := l.Admin(t)
		id := userIDOf(t, admin, "alice")
		for what, row := range map[string]struct {
			meanwhile func(key string)
			want      int
		}{
			"revoked": {func(key string) { alice.Delete("/api/keys/" + key).OK(200) }, 401},
			"read-only": {func(key string) {
				alice.Patch("/api/keys/"+key,
					M{"permissions": []string{"read"}}).OK(200)
			}, 403},
			"barred": {func(key string) {
				addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "deny", "apiKeyId": key,
					"permissions": []string{"update"}})
			}, 403},
			"banned": {func(string) { updateUser(admin, id, M{"status": "banned"}).OK(200) }, 401},
		} {
			if what == "banned" {
				continue // this case comes last, below
			}
			davSlowPut(t, l, alice, what, at, row.meanwhile, row.want)
			wantBody(t, dav(kept, "GET", at, nil).OK(200), "old")
		}
		davSlowPut(t, l, alice, "not checked", at, func(string) {
			execDDL(t, l, "ALTER TABLE versions RENAME TO away")
		}, 500)
		execDDL(t, l, "ALTER TABLE away RENAME TO versions")
		davSlowPut(t, l, alice, "banned", at, func(string) { updateUser(admin, id, M{"status": "banned"}).OK(200) },
			401)
		updateUser(admin, id, M{"status": "active"}).OK(200)
		wantBody(t, dav(kept, "GET", at, nil).OK(200), "old")
		alice = l.SignIn(t, "alice", "password of alice")
		wantUsed(t, alice, 3, 1)
		davSlowPut(t, l, alice, "kept", at, func(string) { mkdir(alice, "/home/alice", "something else") }, 204)
		wantUsed(t, alice, 300_007, 1)
	})
}

// davSlowPut puts a body with a new key of alice's and calls meanwhile when part of the body has
// arrived.
func davSlowPut(t *testing.T, l *apptest.Larder, alice *apptest.Client, what, path string, meanwhile func(keyID string),
	want int) {
	t.Helper()
	made := alice.Post("/api/keys/", newKey(M{"name": what, "permissions": []string{"write"},
		"protocols": []string{"webdav"}, "uploadPath": "/home/alice"})).OK(201)
	key := l.Client(t)
	key.Header.Set("Authorization", basicAuth(made.Text("key.fullToken")))
	reader, writer := io.Pipe()
	done := make(chan *apptest.Reply, 1)
	go func() { done <- dav(key, "PUT", path, reader) }()
	_, _ = io.WriteString(writer, strings.Repeat("x", 300_000))
	for queryInt(t, l, "SELECT COUNT(*) FROM upload_sessions WHERE one_shot") == 0 {
		select {
		case r := <-done:
			t.Errorf("%s: ended immediately: %d %s", what, r.Status, r.Body)
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	meanwhile(made.Text("key.id"))
	_, _ = io.WriteString(writer, "the end")
	writer.Close()
	wantStatus(t, what, <-done, want, "")
}

// The test covers creation and removal of folders, and reading (RFC 4918, sections 9.3, 9.4 and
// 9.6).
func TestDAVFoldersAndReads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		davAll := davKey(l.Admin(t), M{"uploadPath": "/"})
		const home = "/home/alice"
		wantStatus(t, "MKCOL", dav(key, "MKCOL", home+"/dir", nil), 201, "")
		wantStatus(t, "MKCOL with an empty body", dav(key, "MKCOL", home+"/dir2", ""), 201, "")
		for what, body := range map[string]any{"text": "x", "XML": `<mkcol xmlns="DAV:"/>`,
			"chunked": io.MultiReader(strings.NewReader("x"))} {
			wantDAVStatus(t, "MKCOL with a body, "+what, dav(key, "MKCOL", home+"/other", body), 415)
		}
		dav(key, "PUT", home+"/dir/f.txt", "0123456789").OK(201)
		wantDAVStatus(t, "MKCOL of an existing entry", dav(key, "MKCOL", home+"/dir", nil), 405)
		wantDAVStatus(t, "MKCOL where a file is", dav(key, "MKCOL", home+"/dir/f.txt", nil), 405)
		wantDAVStatus(t, "MKCOL of the root", dav(key, "MKCOL", "/", nil), 405)
		wantDAVStatus(t, "MKCOL below nothing", dav(key, "MKCOL", home+"/none/x", nil), 409)
		wantDAVStatus(t, "MKCOL below a file", dav(key, "MKCOL", home+"/dir/f.txt/x", nil), 409)
		wantStrings(t, "the home", davMembers(t, key, home), "dir", "dir2")

		for _, method := range []string{"GET", "HEAD"} {
			wantDAVStatus(t, method+" of a folder", dav(key, method, home+"/dir", nil), 405)
			wantDAVStatus(t, method+" of the root", dav(davAll, method, "/", nil), 405)
			wantDAVStatus(t, method+" of nothing", dav(key, method, home+"/none", nil), 404)
			wantDAVStatus(t, method+" below a file", dav(key, method, home+"/dir/f.txt/x", nil), 404)
		}
		got := dav(key, "GET", home+"/dir/f.txt", nil).OK(200)
		wantBody(t, got, "0123456789")
		head := dav(key, "HEAD", home+"/dir/f.txt", nil).OK(200)
		wantBody(t, head, "")
		for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Last-Modified", "Accept-Ranges",
			"Cache-Control", "Content-Disposition", "Content-Security-Policy"} {
			wantHeader(t, head, name, got.Header.Get(name))
		}
		wantHeader(t, head, "Content-Length", "10")
		wantHeader(t, head, "Accept-Ranges", "bytes")
		for _, row := range []struct {
			name, value string
			want        int
			body        string
		}{
			{"Range", "bytes=2-4", 206, "234"},
			{"Range", "bytes=-2", 206, "89"},
			{"Range", "bytes=8-", 206, "89"},
			{"Range", "bytes=10-", 416, ""},
			{"If-None-Match", got.Header.Get("ETag"), 304, ""},
			{"If-None-Match", `"x"`, 200, "0123456789"},
			{"If-Modified-Since", got.Header.Get("Last-Modified"), 304, ""},
			{"If-Match", `"x"`, 412, ""},
			{"If-Match", got.Header.Get("ETag"), 200, "0123456789"},
		} {
			r := dav(key, "GET", home+"/dir/f.txt", nil, row.name, row.value)
			wantStatus(t, row.name+": "+row.value, r, row.want, "")
			if row.want < 300 {
				wantBody(t, r, row.body)
			}
		}
		for _, row := range []struct {
			ifRange string
			want    int
		}{{got.Header.Get("ETag"), 206}, {`"x"`, 200}} {
			wantStatus(t, "If-Range", dav(key, "GET", home+"/dir/f.txt", nil, "Range", "bytes=0-0", "If-Range",
				row.ifRange), row.want, "")
		}

		for _, depth := range []string{"0", "1", "x"} {
			wantDAVStatus(t, "DELETE of a folder, Depth "+depth, dav(key, "DELETE", home+"/dir", nil, "Depth", depth),
				400)
		}
		wantDAVStatus(t, "DELETE of nothing", dav(key, "DELETE", home+"/none", nil), 404)
		wantDAVStatus(t, "DELETE below a file", dav(key, "DELETE", home+"/dir/f.txt/x", nil), 404)
		wantStatus(t, "DELETE of a file, Depth 0", dav(key, "DELETE", home+"/dir/f.txt", nil, "Depth", "0"), 204, "")
		dav(key, "PUT", home+"/dir/f.txt", "0123456789").OK(201)
		wantStatus(t, "DELETE of a folder, Depth infinity", dav(key, "DELETE", home+"/dir/", nil, "Depth", "infinity"),
			204, "")
		wantStatus(t, "DELETE of a folder", dav(key, "DELETE", home+"/dir2", nil), 204, "")
		wantStatus(t, "a file of the deleted folder", dav(key, "GET", home+"/dir/f.txt", nil), 404, "")
		wantStrings(t, "the home", davMembers(t, key, home))
		wantUsed(t, alice, 0, 0)
		if r := dav(key, "PUT", home+"/f.txt", "x", "Expect", "100-continue"); r.Status != http.StatusCreated {
			t.Errorf("Expect: 100-continue: %d", r.Status)
		}
	})
}
