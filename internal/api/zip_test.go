package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/fault"
)

// unzip reads an answer as an archive: `name=content` and `name/`, sorted.
func unzip(t *testing.T, r *apptest.Reply) []string {
	t.Helper()
	r.OK(200)
	wantHeader(t, r, "Content-Type", "application/zip")
	archive, err := zip.NewReader(bytes.NewReader(r.Body), int64(len(r.Body)))
	if err != nil {
		t.Fatalf("%d bytes: %v", len(r.Body), err)
	}
	found := []string{}
	for _, f := range archive.File {
		if f.FileInfo().IsDir() {
			found = append(found, f.Name)
			continue
		}
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(body)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		found = append(found, f.Name+"="+string(content))
	}
	slices.Sort(found)
	return found
}

func getZip(c *apptest.Client, ids ...string) *apptest.Reply {
	return c.Get("/api/files/zip?ids=" + strings.Join(ids, ","))
}

// album makes a folder of alice's with an entry of every kind.
func album(alice *apptest.Client) (id string, all []string) {
	id = mkdir(alice, "/home/alice", "Urlaub 2026 🦀")
	const dir = "/home/alice/Urlaub 2026 🦀"
	mkdir(alice, dir, "空")
	mkdir(alice, dir, "deep")
	mkdir(alice, dir+"/deep", "deeper")
	alice.Upload(dir, "a.txt", []byte("a"))
	alice.Upload(dir, "empty.txt", nil)
	alice.Upload(dir, "照片.jpg", []byte("photo"))
	alice.Upload(dir+"/deep/deeper", "🦀.txt", []byte("crab"))
	return id, []string{"a.txt=a", "deep/", "deep/deeper/", "deep/deeper/🦀.txt=crab", "empty.txt=", "照片.jpg=photo",
		"空/"}
}

func TestZip(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		folder, all := album(alice)
		foreign := bob.Upload("/home/bob", "b.txt", []byte("b"))
		mkdir(alice, "/home/alice", "other")
		one, two := alice.Upload("/home/alice", "cat.jpg", []byte("1")), alice.Upload("/home/alice/other", "cat.jpg",
			[]byte("2"))

		t.Run("answer", func(t *testing.T) {
			r := getZip(alice.In(t), folder)
			wantStrings(t, "a folder", unzip(t, r), all...)
			wantHeader(t, r, "Content-Disposition",
				`attachment; filename="Urlaub 2026 _.zip"; filename*=UTF-8''Urlaub%202026%20%F0%9F%A6%80.zip`)
			wantHeader(t, r, "Cache-Control", "private, no-store")
			wantHeader(t, r, "X-Content-Type-Options", "nosniff")
			wantHeader(t, r, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
			wantHeader(t, r, "Accept-Ranges", "none")
			wantHeader(t, r, "Access-Control-Allow-Origin", "")
			wantHeader(t, r, "ETag", "")
			if r.Header.Get("RateLimit-Limit") != "200000" { // like other bytes: 20 times the setting
				t.Errorf("RateLimit-Limit: %s", r.Header.Get("RateLimit-Limit"))
			}
			archive, err := zip.NewReader(bytes.NewReader(r.Body), int64(len(r.Body)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.File {
				if f.Method != zip.Store || f.NonUTF8 || !f.Modified.Equal(l.Clock.Now().Truncate(time.Second)) {
					t.Errorf("%+v", f.FileHeader)
				}
			}
			head := alice.In(t).Head("/api/files/zip?ids=" + folder).OK(200)
			for _, name := range []string{"Content-Type", "Content-Disposition", "Cache-Control", "Accept-Ranges",
				"Content-Security-Policy", "X-Content-Type-Options"} {
				wantHeader(t, head, name, r.Header.Get(name))
			}
			wantHeader(t, head, "Content-Length", "")
			if len(head.Body) != 0 {
				t.Error("HEAD with a body")
			}
			part := alice.In(t).Get("/api/files/zip?ids="+folder, "Range", "bytes=0-3")
			wantStrings(t, "no ranges", unzip(t, part), all...)
			wantStrings(t, "a navigation", unzip(t,
				alice.In(t).Get("/api/files/zip?ids="+folder, "Sec-Fetch-Dest", "document", "Accept", "text/html")),
				all...)
		})
		t.Run("several", func(t *testing.T) {
			alice := alice.In(t)
			r := alice.Get("/api/files/zip?ids=" + one + "," + two + "&ids=" + folder + "&ids=" + one)
			want := []string{"cat.jpg=1", "cat (1).jpg=2", "Urlaub 2026 🦀/"}
			for _, e := range all {
				want = append(want, "Urlaub 2026 🦀/"+e)
			}
			slices.Sort(want)
			wantStrings(t, "two files of one name and a folder", unzip(t, r), want...)
			wantHeader(t, r, "Content-Disposition", `attachment; filename="files.zip"`)
			wantHeader(t, getZip(alice, one, folder), "Content-Disposition", `attachment; filename="alice.zip"`)
			r = getZip(alice, one)
			wantStrings(t, "a file", unzip(t, r), "cat.jpg=1")
			wantHeader(t, r, "Content-Disposition", `attachment; filename="cat.jpg.zip"`)
			wantStrings(t, "a foreign one and one that is not there", unzip(t, getZip(alice, foreign, one, "none")),
				"cat.jpg=1")
			wantStrings(t, "an administrator", unzip(t, getZip(admin.In(t), foreign, one)), "b.txt=b", "cat.jpg=1")
		})
		t.Run("nothing left", func(t *testing.T) {
			for _, c := range []*apptest.Client{alice.In(t), alice.In(t).Key(M{})} {
				getZip(c, foreign).Fails(404, "NOT_FOUND")
				getZip(c, "none", foreign).Fails(404, "NOT_FOUND")
				c.Head("/api/files/zip?ids="+foreign).Fails(404, "NOT_FOUND")
			}
		})
		t.Run("number of entries", func(t *testing.T) {
			alice := alice.In(t)
			ids := make([]string, 99)
			for i := range ids {
				ids[i] = fmt.Sprint("none-", i)
			}
			hundred := append(slices.Clone(ids), one)
			wantStrings(t, "100", unzip(t, getZip(alice, hundred...)), "cat.jpg=1")
			wantStrings(t, "100 and duplicates", unzip(t, getZip(alice, append(hundred, hundred...)...)), "cat.jpg=1")
			getZip(alice, append(hundred, two)...).Fails(400, "VALIDATION_ERROR")
			for _, query := range []string{"", "?ids=", "?ids=,", "?ids=&ids=,,", "?id=" + one, "?ids=%ff",
				"?ids=" + one + "%00", "?ids=%zz"} {
				alice.Get("/api/files/zip"+query).Fails(400, "VALIDATION_ERROR")
			}
			alice.Delete("/api/files/zip").Fails(405, "METHOD_NOT_ALLOWED")
		})
		t.Run("who", func(t *testing.T) {
			getZip(l.Client(t), folder).Fails(401, "UNAUTHORIZED")
			wantStrings(t, "a key", unzip(t, getZip(alice.In(t).Key(M{"permissions": []string{"read"}}), folder)),
				all...)
			getZip(alice.In(t).Key(M{"permissions": []string{"write"}}), folder).Fails(403, "FORBIDDEN")
			getZip(alice.In(t).Key(M{"uploadPath": "/uploads", "rootOnly": true}), folder).Fails(404, "NOT_FOUND")
			for _, dest := range []string{"script", "style", "worker"} { // abuse case C68
				alice.In(t).Get("/api/files/zip?ids="+folder, "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "same-origin").
					Fails(403, "FORBIDDEN")
			}
		})
		t.Run("omitted entries", func(t *testing.T) {
			rules := []string{
				addRule(admin.In(t), M{"pathPattern": "/home/alice/*/*.jpg", "effect": "deny", "role": "user",
					"permissions": []string{"download"}}),
				addRule(admin.In(t), M{"pathPattern": "/home/alice/*/空/**", "effect": "deny", "role": "user",
					"permissions": []string{"read", "write"}}),
			}
			wantStrings(t, "by rules", unzip(t, getZip(alice.In(t), folder)), "a.txt=a", "deep/", "deep/deeper/",
				"deep/deeper/🦀.txt=crab", "empty.txt=")
			for _, rule := range rules {
				admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			}
			deep := listFolder(alice.In(t), "/home/alice/Urlaub 2026 🦀/deep").OK(200).Text("folder.id")
			setAccessPassword(admin, deep, "open sesame")
			wantStrings(t, "behind a password", unzip(t, getZip(alice.In(t), folder)), "a.txt=a", "empty.txt=",
				"照片.jpg=photo", "空/")
			getZip(alice.In(t), deep).Fails(404, "NOT_FOUND")
			setAccessPassword(admin, deep, nil)
		})
		t.Run("a mount below", func(t *testing.T) {
			root := mkdir(admin.In(t), "/public", "with a mount")
			store := admin.In(t).Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
			addMount(admin.In(t), store, "/public/with a mount/on the way/there")
			admin.In(t).Upload("/public/with a mount/on the way/there", "m.txt", []byte("mounted"))
			wantStrings(t, "a mount", unzip(t, getZip(alice.In(t), root)), "on the way/", "on the way/there/",
				"on the way/there/m.txt=mounted")
		})
	})
}

// The single-use address of a folder answers a zip of it.
func TestGatewayServesFolderAsZip(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		folder, all := album(alice)

		r := alice.Get("/api/files/" + folder + "/download").OK(200)
		if !strings.HasPrefix(r.Text("url"), apptest.BaseURL+"/api/gateway/download/") ||
			r.Int("expiresAt") != l.Clock.Now().Add(15*time.Minute).UnixMilli() {
			t.Errorf("got %s", r.Body)
		}
		address := r.Text("url")
		for range 2 { // HEAD does not use it up
			head := visitor.Head(address).OK(200)
			wantHeader(t, head, "Content-Type", "application/zip")
			wantHeader(t, head, "Accept-Ranges", "none")
		}
		r = visitor.Get(address, "Range", "bytes=0-3", "If-None-Match", "*")
		wantStrings(t, "the folder", unzip(t, r), all...)
		wantHeader(t, r, "Content-Disposition",
			`attachment; filename="Urlaub 2026 _.zip"; filename*=UTF-8''Urlaub%202026%20%F0%9F%A6%80.zip`)
		wantHeader(t, r, "Cache-Control", "private, no-store")
		visitor.Get(address).Fails(401, "INVALID_TOKEN")
		visitor.Head(address).Fails(401, "INVALID_TOKEN")
		wantStrings(t, "of a key", unzip(t, visitor.Get(downloadURL(alice.Key(M{"permissions": []string{"read"}}),
			folder))), all...)

		bob.Get("/api/files/"+folder+"/download").Fails(403, "FORBIDDEN")
		for _, header := range [][]string{nil, {"Accept", "application/json"}, {"Accept", "*/*"},
			{"Accept", "text/html"}, {"Accept", "image/*"}, {"Sec-Fetch-Dest", "image"}} {
			visitor.Get("/api/files/"+folder+"/download", header...).Fails(401, "UNAUTHORIZED")
		}
		// a folder cannot be embedded
		alice.Get("/api/files/"+folder+"/download", "Sec-Fetch-Dest", "image").Fails(404, "NOT_FOUND")
		setAccessPassword(admin, folder, "open sesame")
		for _, c := range []*apptest.Client{alice, admin, alice.Key(M{})} {
			c.Get("/api/files/"+folder+"/download").Fails(403, "PASSWORD_REQUIRED")
		}
		setAccessPassword(admin, folder, nil)

		t.Run("fifty concurrent requests", func(t *testing.T) { // abuse case C84
			address := downloadURL(alice.In(t), folder)
			replies := runConcurrently(t, visitor.In(t), 50,
				func(c *apptest.Client, _ int) *apptest.Reply { return c.Get(address) })
			bodies := 0
			for _, r := range replies {
				switch {
				case r.Status == 200:
					wantStrings(t, "the winner", unzip(t, r), all...)
					bodies++
				case r.Status == 429: // at most two run at a time
				default:
					r.Fails(401, "INVALID_TOKEN")
					wantHeader(t, r, "Content-Disposition", "")
				}
			}
			if bodies != 1 {
				t.Errorf("%d bodies", bodies)
			}
		})
		t.Run("authorized when it is redeemed", func(t *testing.T) { // abuse cases C31, C86
			address := downloadURL(alice.In(t), folder)
			rule := addRule(admin.In(t), M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			visitor.In(t).Head(address).Fails(401, "INVALID_TOKEN")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			rule = addRule(admin.In(t), M{"pathPattern": "/home/alice/*/*.txt", "effect": "deny", "role": "user",
				"permissions": []string{"download"}})
			wantStrings(t, "denied meanwhile", unzip(t, visitor.In(t).Get(address)), "deep/", "deep/deeper/",
				"deep/deeper/🦀.txt=crab", "照片.jpg=photo", "空/")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)

			key := alice.In(t).Key(M{})
			address = downloadURL(key, folder)
			token, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
			alice.In(t).Delete("/api/keys/" + token).OK(200)
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")

			address = downloadURL(alice.In(t), folder)
			setAccessPassword(admin, folder, "open sesame")
			visitor.In(t).Get(address).Fails(403, "PASSWORD_REQUIRED")
			setAccessPassword(admin, folder, nil)
			execAndRaiseVersion(t, l, "UPDATE users SET status = 'disabled' WHERE username = 'alice'")
			execAndRaiseVersion(t, l, "UPDATE versions SET value = value + 1 WHERE name = 'config'")
			visitor.In(t).Get(address).Fails(401, "INVALID_TOKEN")
			execAndRaiseVersion(t, l, "UPDATE users SET status = 'active' WHERE username = 'alice'")
			execAndRaiseVersion(t, l, "UPDATE versions SET value = value + 1 WHERE name = 'config'")
			wantStrings(t, "it was not used up", unzip(t, visitor.In(t).Get(address)), all...)

			address = downloadURL(alice.In(t), folder)
			alice.In(t).Delete("/api/files/" + folder).OK(200)
			visitor.In(t).Get(address).Fails(404, "NOT_FOUND")
		})
	})
}

// A store that fails before the body causes an error answer. One that fails in the middle breaks
// the connection, so that no client takes a part for the whole.
func TestZipOfADamagedStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		folder := mkdir(alice, "/home/alice", "f")
		damage := func(name string, fn func(file string) error) {
			t.Helper()
			before := bucketObjects(t, l, "default")
			alice.Upload("/home/alice/f", name, []byte("content of "+name))
			for _, object := range bucketObjects(t, l, "default") {
				if !slices.Contains(before, object) {
					if err := fn(filepath.Join(l.Apps[0].Config.ObjectDir, "default", object)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		damage("b", os.Remove)
		alone := alice.Upload("/home/alice", "alone", []byte("x"))
		address := downloadURL(alice, folder)
		getZip(alice, folder).Fails(500, "INTERNAL_ERROR")
		l.Client(t).Get(address).Fails(500, "INTERNAL_ERROR")
		l.Client(t).Head(address).OK(200) // a failing store uses up no token

		alice.Upload("/home/alice/f", "a", bytes.Repeat([]byte("x"), 100_000))
		for _, r := range []*apptest.Reply{getZip(alice, folder), l.Client(t).Get(address),
			getZip(alice, alone, folder)} {
			if r.Status != 200 || r.Err == nil {
				t.Errorf("status %d and %d bytes, %v", r.Status, len(r.Body), r.Err)
			}
			if _, err := zip.NewReader(bytes.NewReader(r.Body), int64(len(r.Body))); err == nil {
				t.Error("the answer is an archive")
			}
		}
		l.Client(t).Get(address).Fails(401, "INVALID_TOKEN") // its body had begun
		if log := l.Log.String(); !strings.Contains(log, "a zip was interrupted") ||
			strings.Contains(log, strings.TrimPrefix(address, apptest.BaseURL+"/api/gateway/download/")) {
			t.Error("the log has no record of it, or reveals the token")
		}
		wantStrings(t, "the next zip after it", unzip(t, getZip(alice, alone)), "alone=x")

		damaged := mkdir(alice, "/home/alice", "g")
		alice.Upload("/home/alice/g", "a", []byte("x"))
		id := alice.Upload("/home/alice/g", "b", []byte("right"))
		execAndRaiseVersion(t, l,
			"UPDATE objects SET sha256 = $1 WHERE id = (SELECT object_id FROM entries WHERE id = $2)",
			strings.Repeat("0", 64), id)
		if r := getZip(alice, damaged); r.Status != 200 || r.Err == nil {
			t.Errorf("a zip of damaged content was complete: %d, %v", r.Status, r.Err)
		}
	})
}

// startDownload requests a large body and returns when the body has begun.
func startDownload(t *testing.T, l *apptest.Larder, c *apptest.Client, path string) (status int, stop func()) {
	t.Helper()
	response := openStream(t, l, c, path)
	return response.StatusCode, func() { _ = response.Body.Close() }
}

// openStream sends a request and returns its response with the body unread.
func openStream(t *testing.T, l *apptest.Larder, c *apptest.Client, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+l.Apps[0].Addr().String()+strings.TrimPrefix(path, apptest.BaseURL), nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(apptest.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = u.Host
	for name, values := range c.Header {
		r.Header[name] = values
	}
	for name, value := range c.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// An account may have two zips at a time, however they are requested. A client that disconnects
// frees its slot.
func TestZipLimitPerAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		l.Apps = l.Apps[:1] // the limit is that of one process
		folder := mkdir(alice, "/home/alice", "big")
		for i := range 8 { // more bytes than the system buffers for a client that does not read
			alice.Upload("/home/alice/big", fmt.Sprint(i), make([]byte, 4<<20))
		}
		small, other := alice.Upload("/home/alice", "small", []byte("x")), bob.Upload("/home/bob", "small", []byte("x"))
		path, key := "/api/files/zip?ids="+folder, alice.Key(M{})
		third, redeem := downloadURL(alice, small), downloadURL(alice, folder)
		thirdFolder := downloadURL(alice, folder)

		status, stop := startDownload(t, l, alice, path)
		if status != 200 {
			t.Fatal(status)
		}
		if status, _ := startDownload(t, l, l.Client(t), redeem); status != 200 { // with a token of alice's
			t.Fatal(status)
		}
		for _, c := range []*apptest.Client{alice, key} {
			r := getZip(c, small).Fails(429, "RATE_LIMIT_EXCEEDED")
			if after := r.Header.Get("Retry-After"); after == "" || after == "0" {
				t.Errorf("Retry-After %q", after)
			}
			c.Head(path).OK(200) // sends nothing
		}
		alice.Get("/api/users/me/storage").Fails(429, "RATE_LIMIT_EXCEEDED") // takes the slot of a zip
		l.Client(t).Get(thirdFolder).Fails(429, "RATE_LIMIT_EXCEEDED")       // which does not use up the token
		wantBody(t, l.Client(t).Get(third).OK(200), "x")                     // not a zip
		wantStrings(t, "somebody else", unzip(t, getZip(bob, other)), "small=x")

		stop()
		waitUntil(t, "the slot is free", func() bool {
			r := getZip(alice, small)
			if r.Status != 200 {
				r.Fails(429, "RATE_LIMIT_EXCEEDED")
			}
			return r.Status == 200
		})
		l.Client(t).Head(thirdFolder).OK(200)
		if r := l.Client(t).Get(thirdFolder); r.Status != 200 || r.Err != nil {
			t.Errorf("%d %v", r.Status, r.Err)
		}
		if strings.Contains(l.Log.String(), "a zip was interrupted") {
			t.Error("a disconnected client was logged as a server error")
		}
	})
}

// All zips of a process together are limited, too.
func TestZipLimitPerProcess(t *testing.T) {
	t.Parallel()
	enter := api.NewZipLimit()
	var leave []func()
	for i := range 32 {
		l, err := enter(fmt.Sprint("user:", i/2))
		if err != nil {
			t.Fatalf("number %d: %v", i+1, err)
		}
		leave = append(leave, l)
	}
	if _, err := enter("user:new"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("number 33: %v", err)
	}
	leave[0]()
	if _, err := enter("user:1"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a third of one account: %v", err)
	}
	if _, err := enter("user:new"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// Visitors have at most half of the slots, so that accounts always have the other half.
func TestZipLimitForVisitors(t *testing.T) {
	t.Parallel()
	enter := api.NewZipLimit()
	wantAcquire := func(who string, in bool) (leave func()) {
		t.Helper()
		leave, err := enter(who)
		if in != (err == nil) || !in && !fault.Is(err, fault.RateLimited) {
			t.Fatalf("%s: %v", who, err)
		}
		return leave
	}
	var leave []func()
	for i := range 16 {
		leave = append(leave, wantAcquire(fmt.Sprint("ip:", i), true))
	}
	wantAcquire("ip:the seventeenth", false)
	for i := range 16 {
		wantAcquire(fmt.Sprint("user:", i), true)
	}
	wantAcquire("user:the seventeenth", false)
	wantAcquire("ip:new", false)
	leave[0]()
	wantAcquire("ip:new", true)
	wantAcquire("ip:newer", false)
	leave[1]()
	wantAcquire("user:new", true) // the first one
	leave[2]()
	wantAcquire("ip:newer", true)

	enter = api.NewZipLimit() // accounts may have all of them
	for i := range 32 {
		wantAcquire(fmt.Sprint("user:", i), true)
	}
	wantAcquire("ip:new", false)
}
