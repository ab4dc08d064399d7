package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// A form whose path may still follow waits on the service's disk, up to the quota of the account.
func TestWaitingFormStopsAtQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		key := l.User(t, "alice", M{"maxStorage": 3 << 20}).Key(M{"permissions": []string{"write"}})
		head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n"
		send := func(key *apptest.Client, size int64) (*apptest.Reply, int64) {
			body := &countingBody{Reader: io.MultiReader(strings.NewReader(head),
				io.LimitReader(endlessBody(' '), size), strings.NewReader("\r\n--b--\r\n"))}
			r := key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: body,
				Header: http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}})
			return r, body.read.Load()
		}
		r, taken := send(key, 64<<20)
		if taken > 24<<20 { // the buffers of the connection come on top
			t.Errorf("%d bytes were read before the answer %d", taken, r.Status)
		}
		if r.Err == nil {
			r.Fails(413, "QUOTA_EXCEEDED")
		}
		r, _ = send(key, 2<<20)
		r.OK(200)

		none := l.User(t, "bob", M{"maxFiles": 0}).Key(M{"permissions": []string{"write"}})
		if r, taken = send(none, 64<<20); taken > 24<<20 {
			t.Errorf("%d bytes were read before the answer %d", taken, r.Status)
		}
		if r.Err == nil {
			r.Fails(413, "QUOTA_EXCEEDED")
		}
	})
}

// Abuse case C114: the address of a token or link is never in the log, however the request writes
// it.
func TestSecretAddressesAreNotLogged(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c := l.Client(t)
		for _, path := range []string{
			"/api/gateway/download/s3cretTokenOrLink", "/api/gateway/%64ownload/s3cretTokenOrLink",
			"/api/gateway/download/s3cretTokenOrLink/", "//api/gateway/download/s3cretTokenOrLink",
			"/api/i/s3cretTokenOrLink.png", "/api/%69/s3cretTokenOrLink.png", "/api/i/s3cretTokenOrLink.png/",
			"/API/i/s3cretTokenOrLink",
			"/api/shares/s3cretTokenOrLink", "/api/shares/s3cretTokenOrLink/download", "/share/s3cretTokenOrLink",
			"/share/s3cretTokenOrLink/", "/share/x/s3cretTokenOrLink",
			"//share/s3cretTokenOrLink", "/Share/s3cretTokenOrLink", "/%73hare/s3cretTokenOrLink",
			"/share%2fs3cretTokenOrLink",
		} {
			c.Get(path)
		}
		for _, path := range []string{"/public/share/aFileOfSomebodys", "/share", "/shares/aFile"} {
			c.Get(path)
			if !strings.Contains(l.Log.String(), "path="+path+" ") &&
				!strings.Contains(l.Log.String(), `"path":"`+path+`"`) {
				t.Errorf("the log has no record of %s: %s", path, l.Log)
			}
		}
		if strings.Contains(l.Log.String(), "s3cretTokenOrLink") {
			t.Errorf("the log reveals: %s", l.Log)
		}
	})
}

// A signed-in user sees at least as much as a visitor: an embed that the account may not download
// is redirected to the public address.
func TestEmbedOfPublicFile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		id := alice.Upload("/home/alice", "a.png", []byte("\x89PNG\r\n\x1a\n"))
		address := "/api/files/" + id + "/download"
		bob.Get(address, "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
		link := alice.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		r := bob.Get(address, "Sec-Fetch-Dest", "image").OK(302)
		wantHeader(t, r, "Location", link)
		wantHeader(t, r, "Cache-Control", "no-store")
		wantHeader(t, r, "Vary", "Accept, Sec-Fetch-Dest, Cookie, Authorization")
		// single-use addresses require the permission to download
		bob.Get(address).Fails(403, "FORBIDDEN")
		// a key is judged alone
		bob.Key(M{"permissions": []string{"read"}}).Get(address, "Accept", "image/*").Fails(403, "FORBIDDEN")
		wantHeader(t, alice.Get(address, "Sec-Fetch-Dest", "image").OK(200), "Cache-Control", "private, no-store")
		alice.Delete("/api/files/" + id + "/link").OK(200)
		bob.Get(address, "Sec-Fetch-Dest", "image").Fails(403, "FORBIDDEN")
	})
}

// Abuse case C77: the page of a refused navigation is not cached, like the envelope in its place.
func TestRefusalPagesAreNotCached(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	for path, status := range map[string]int{"/home/alice/x": 401, "/public/absent": 404, "/api": 404} {
		r := l.Client(t).Get(path, "Accept", "text/html")
		if r.Status != status {
			t.Errorf("%s: %d", path, r.Status)
		}
		wantHeader(t, r, "Cache-Control", "private, no-store")
	}
}

// Thousands of one-byte ranges are not answered one by one.
func TestManyRangesAreNotServedOneByOne(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	content := strings.Repeat("0123456789", 1000)
	l.Admin(t).Upload("/public", "a.txt", []byte(content))
	c := l.Client(t)
	for _, n := range []int{33, 5000} {
		r := c.Get("/public/a.txt", "Range", "bytes="+strings.Repeat("0-0,", n-1)+"1-1").OK(200)
		wantBody(t, r, content)
		wantHeader(t, r, "Content-Range", "")
	}
	r := c.Get("/public/a.txt", "Range", "bytes="+strings.Repeat("0-0,", 31)+"1-1").OK(206)
	if got := strings.Count(string(r.Body), "Content-Range: "); got != 32 {
		t.Errorf("%d ranges, want 32", got)
	}
}

// Abuse case C68: no page of the site can run a stored file, from any route that answers bytes.
func TestStoredFilesAreNotRunAsTheSite(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, c := l.Admin(t), l.Client(t)
		id := admin.Upload("/public", "a.js", []byte("alert(1)"))
		link := admin.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		token := downloadURL(admin, id)
		for _, address := range []string{"/public/a.js", link, token} {
			for _, dest := range []string{"script", "worker", "sharedworker", "serviceworker", "audioworklet",
				"paintworklet", "style", "xslt"} {
				c.Get(address, "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "same-origin").Fails(403, "FORBIDDEN")
			}
			c.Get(address, "Service-Worker", "script").Fails(403, "FORBIDDEN")
		}
		for _, address := range []string{"/public/a.js", link, token} { // the token has not been used up
			r := c.Get(address, "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "same-origin").OK(200)
			wantBody(t, r, "alert(1)")
			// otherwise the copy in the browser's cache would run
			wantHeader(t, r, "Vary", "Sec-Fetch-Dest, Sec-Fetch-Site")
		}
		wantBody(t, c.Get("/public/a.js", "Sec-Fetch-Dest", "script", "Sec-Fetch-Site", "cross-site").OK(200),
			"alert(1)")
		admin.Upload("/public", "a.png", []byte("\x89PNG\r\n\x1a\n"))
		wantHeader(t, c.Get("/public/a.png").OK(200), "Vary", "")
	})
}
