package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// makeBucketPublic lets everybody read a bucket's objects, like a CDN in front of it, and returns
// their base address.
func makeBucketPublic(t *testing.T, bucket s3test.Bucket) (domain string) {
	t.Helper()
	policy := fmt.Sprintf(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::%s/*"}]}`, bucket.Name)
	if _, err := bucket.SDK(t).PutBucketPolicy(t.Context(),
		&s3.PutBucketPolicyInput{Bucket: &bucket.Name, Policy: &policy}); err != nil {
		t.Fatal(err)
	}
	return bucket.Endpoint + "/" + bucket.Name
}

// A public file without conditions is redirected to its publicDomain. Otherwise a request is
// redirected to the store for some minutes. The key of a file that is not public is never revealed,
// because the domain would answer everybody who knows it, permanently.
func TestPublicDomain(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker", "pathPrefix": "p"})
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		domain := makeBucketPublic(t, bucket)
		admin.Put(providerPath(t, admin, bucket), M{"publicDomain": domain + "/"}).OK(200)

		mkdir(admin, "/public", "dir")
		photo := admin.Upload("/public/dir", "p.png", []byte(onePixel))
		at := domain + "/" + onlyObject(t, bucket)
		link := admin.Post("/api/files/"+photo+"/link", M{}).OK(200).Text("link.url")
		wantPublicDomain := func(what string, r *apptest.Reply) {
			t.Helper()
			wantJSON(t, what, redirectTarget(t, r), at)
		}
		wantPresigned := func(what string, r *apptest.Reply) storeReply {
			t.Helper()
			address := redirectTarget(t, r)
			checkPresigned(t, bucket, address, 300)
			got := fetchAsBrowser(t, address)
			if got.status != 200 {
				t.Errorf("%s: %d %s", what, got.status, got.body)
			}
			return got
		}
		wantPublicDomain("its path", visitor.Get("/public/dir/p.png"))
		wantPublicDomain("its path, for the owner", admin.Get("/public/dir/p.png"))
		wantPublicDomain("its link", visitor.Get(link))
		wantPublicDomain("an embed", alice.Get("/api/files/"+photo+"/download", "Sec-Fetch-Dest", "image"))
		wantPublicDomain("a part", visitor.Get("/public/dir/p.png", "Range", "bytes=0-1"))
		if got := fetchAsBrowser(t, at); got.status != 200 || got.body != onePixel {
			t.Errorf("%d %s, %d bytes", got.status, got.header.Get("Content-Type"), len(got.body))
		}
		if got := wantPresigned("a token", visitor.Get(downloadURL(alice,
			photo))); got.header.Get("Content-Disposition") != `attachment; filename="p.png"` {
			t.Errorf("a token: %v", got.header)
		}
		mode := func(id, want string) {
			t.Helper()
			wantJSON(t, "accessMode", admin.Get("/api/files/"+id).OK(200).Value("accessMode"), want)
		}
		mode(photo, "public_cdn")
		wantJSON(t, "direct", copyLinks(alice, photo, "").OK(200).Value("formats.direct"),
			apptest.BaseURL+"/public/dir/p.png")
		wantJSON(t, "accessMode of the link", copyLinks(alice, photo, "").Value("accessMode"), "public_path")

		// Each condition is tested alone.
		for what, shut := range map[string]func() (open func()){
			"its password": func() func() {
				setAccessPassword(admin, photo, "open sesame")
				return func() { setAccessPassword(admin, photo, nil) }
			},
			"the folder's": func() func() {
				dir := entryIDOf(admin, "/public", "dir")
				setAccessPassword(admin, dir, "open sesame")
				return func() { setAccessPassword(admin, dir, nil) }
			},
			"a rule's": func() func() {
				return addGuestRules(admin, M{"effect": "allow", "requirePassword": true, "password": "open sesame"},
					M{"effect": "deny"})
			},
			"an address": func() func() {
				return addGuestRules(admin, M{"effect": "deny", "allowedIps": []string{"198.51.100.7"}})
			},
			"some allowed": func() func() {
				return addGuestRules(admin, M{"effect": "allow", "allowedIps": []string{"127.0.0.0/8"}},
					M{"effect": "deny"})
			},
			"guests denied": func() func() { return addGuestRules(admin, M{"effect": "deny"}) },
			"no guests": func() func() {
				setAllowGuestAccess(t, l, false)
				return func() { setAllowGuestAccess(t, l, true) }
			},
		} {
			open := shut()
			mode(photo, "signed_redirect")
			for _, r := range []*apptest.Reply{visitor.Get("/public/dir/p.png"), visitor.Get(link),
				alice.Get("/public/dir/p.png"), admin.Get("/public/dir/p.png")} {
				if strings.HasPrefix(r.Header.Get("Location"), at) &&
					!strings.Contains(r.Header.Get("Location"), "X-Amz-Signature=") {
					t.Errorf("%s: redirected to %s", what, r.Header.Get("Location"))
				}
			}
			if r := visitor.Get("/public/dir/p.png"); what != "some allowed" &&
				(r.Status < 401 || r.Header.Get("Location") != "") {
				t.Errorf("%s: %d, %s", what, r.Status, r.Header.Get("Location"))
			}
			open()
			mode(photo, "public_cdn")
			wantPublicDomain("after "+what, visitor.Get("/public/dir/p.png"))
		}

		private := alice.Upload("/home/alice", "a.png", []byte(onePixel))
		mode(private, "signed_redirect")
		wantBody(t, alice.Get("/home/alice/a.png").OK(200), onePixel)
		// the link can be revoked
		wantBody(t, visitor.Get(alice.Post("/api/files/"+private+"/link", M{}).OK(200).Text("link.url")).OK(200),
			onePixel)
		wantBody(t, visitor.Get(downloadURL(alice, private)).OK(200), onePixel)
		if signed := copyLinks(alice, private, "?signed=true").OK(200).
			Text("formats.direct"); !strings.HasPrefix(signed, apptest.BaseURL+"/api/gateway/download/") {
			t.Errorf("a signed link of a private file: %s", signed)
		}
		mode(entryIDOf(admin, "/public", "dir"), "private_gateway")

		admin.Put(providerPath(t, admin, bucket), M{"redirect": false}).OK(200)
		mode(photo, "public_cdn")
		wantBody(t, visitor.Get("/public/dir/p.png").OK(200), onePixel)
	}, apptest.ReachLoopback)
}

// addGuestRules makes rules for guests below /public/dir, the first one first, and returns a
// function that removes them.
func addGuestRules(admin *apptest.Client, rules ...M) (remove func()) {
	var made []string
	for i, rule := range rules {
		rule["pathPattern"], rule["role"], rule["permissions"], rule["priority"] = "/public/dir/**", "guest", []string{
			"download"}, 20-i
		made = append(made, addRule(admin, rule))
	}
	return func() {
		for _, id := range made {
			admin.Delete("/api/admin/rules/" + id).OK(200)
		}
	}
}

// Abuse case C67, from the store: active content is never redirected to a publicDomain and always
// comes as an attachment.
func TestActiveContentFromTheStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"redirect": true, "uploadMode": "worker"})
		admin, visitor := l.Admin(t), l.Client(t)
		domain := makeBucketPublic(t, bucket)
		admin.Put(providerPath(t, admin, bucket), M{"publicDomain": domain}).OK(200)
		for name, kind := range map[string]string{
			"a.html": "text/html", "a.xhtml": "application/xhtml+xml", "a.svg": "image/svg+xml",
			"a.xml": "application/xml", "a.js": "text/javascript", "a.mht": "message/rfc822", "a.css": "text/css",
			"a.png.html": "text/html", "a.rss": "application/rss+xml", "a.mp4": "video/x+xml",
			"utf-7.html": "text/html; charset=utf-7", "a.css.gz": "application/gzip",
		} {
			id := admin.Upload("/public", name, []byte("<script>alert(1)</script>"), M{"mimeType": kind})
			link := admin.Post("/api/files/"+id+"/link", M{}).OK(200).Text("link.url")
			direct := copyLinks(admin, id, "?signed=true").OK(200).Text("formats.direct")
			checkPresigned(t, bucket, direct, 3600)
			addresses := map[string]string{"signed link": direct}
			bare, _, _ := strings.Cut(direct, "?") // reveals the key, which must do no harm at the domain either
			if got := fetchAsBrowser(t, bare); got.status != 200 ||
				got.header.Get("Content-Type") != "application/octet-stream" &&
					got.header.Get("Content-Type") != "binary/octet-stream" {
				t.Errorf("%s at %s: %d, %s", name, bare, got.status, got.header.Get("Content-Type"))
			}
			for route, r := range map[string]*apptest.Reply{
				"path": visitor.Get("/public/" + name), "link": visitor.Get(link),
				"embed":   admin.Get("/api/files/"+id+"/download", "Sec-Fetch-Dest", "image"),
				"gateway": visitor.Get(downloadURL(admin, id)),
			} {
				addresses[route] = redirectTarget(t, r)
				checkPresigned(t, bucket, addresses[route], 300)
			}
			want, _, _ := strings.Cut(kind, ";")
			for route, address := range addresses {
				got := fetchAsBrowser(t, address)
				if got.status != 200 || got.header.Get("Content-Type") != want ||
					got.header.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
					t.Errorf("%s by %s: %d, %s, %s", name, route, got.status, got.header.Get("Content-Type"),
						got.header.Get("Content-Disposition"))
				}
			}
		}
	}, apptest.ReachLoopback)
}

// Specification: copy-links, signed. A signed link is a pre-signed address of the store where
// clients reach the store and no other check protects the file.
func TestSignedLinksOfAStore(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"uploadMode": "worker"})
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := alice.Upload("/home/alice", "a b.png", []byte("first"))
		gateway := func(what string, r *apptest.Reply, needsPassword bool) {
			t.Helper()
			if direct := r.OK(200).Text("formats.direct"); !signedLinkPattern.MatchString(direct) {
				t.Errorf("%s: %s", what, direct)
			}
			wantJSON(t, what+": accessMode", r.Value("accessMode"), "signed")
			wantJSON(t, what+": needsPassword", r.Value("needsPassword"), needsPassword)
		}
		gateway("a store in the service's own network", copyLinks(alice, id, "?signed=true"), false)
		// now the provider says that clients reach it
		admin.Put(providerPath(t, admin, bucket), M{"uploadDomain": bucket.Endpoint}).OK(200)
		wantJSON(t, "accessMode", alice.Get("/api/files/"+id).OK(200).Value("accessMode"), "signed_redirect")

		for query, lasts := range map[string]int{"?signed=true": 3600, "?signed=true&expiresIn=60": 60,
			"?signed=true&expiresIn=604800": 604800} {
			r := copyLinks(alice, id, query).OK(200)
			direct := r.Text("formats.direct")
			checkPresigned(t, bucket, direct, lasts)
			wantJSON(t, "html", r.Value("formats.html"),
				`<img src="`+strings.ReplaceAll(strings.ReplaceAll(direct, "&", "&amp;"), "'", "&#39;")+
					`" alt="a b.png">`)
			wantJSON(t, "accessMode", r.Value("accessMode"), "signed")
			wantJSON(t, "needsPassword", r.Value("needsPassword"), false)
			wantJSON(t, "expiresIn", r.Int("expiresIn"), int64(lasts))
			for range 2 {
				got := fetchAsBrowser(t, direct)
				if got.status != 200 || got.body != "first" || got.header.Get("Content-Type") != "image/png" ||
					got.header.Get("Content-Disposition") != `attachment; filename="a b.png"` {
					t.Errorf("%d %q %v", got.status, got.body, got.header)
				}
			}
			u, err := url.Parse(direct)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query() // abuse case C103
			q.Set("X-Amz-Expires", fmt.Sprint(lasts-1))
			u.RawQuery = q.Encode()
			if got := fetchAsBrowser(t, u.String()); got.status != 403 {
				t.Errorf("another lifetime: %d", got.status)
			}
		}
		for _, bad := range []string{"59", "604801"} {
			copyLinks(alice, id, "?signed=true&expiresIn="+bad).Fails(400, "VALIDATION_ERROR")
		}
		copyLinks(l.User(t, "bob"), id, "?signed=true").Fails(403, "FORBIDDEN")
		if r := alice.Get("/home/alice/a%20b.png"); r.Status != 200 || string(r.Body) != "first" {
			t.Errorf("without redirect: %d", r.Status)
		}

		if tokens := queryInt(t, l, "SELECT COUNT(*) FROM download_tokens"); tokens != 1 {
			t.Errorf("%d tokens: want only that of the gateway's link; the others count towards no limit", tokens)
		}

		// The gateway serves files that need a check for each request.
		setAccessPassword(alice, id, "open sesame")
		gateway("behind a password", copyLinks(alice, id, "?signed=true"), true)
		setAccessPassword(alice, id, nil)
		rule := addRule(admin, M{"pathPattern": "/home/alice/**", "effect": "deny", "role": "guest",
			"allowedIps": []string{"198.51.100.7"}, "permissions": []string{"download"}})
		gateway("under a rule about addresses", copyLinks(alice, id, "?signed=true"), true)
		admin.Delete("/api/admin/rules/" + rule).OK(200)
		many := alice.Post("/api/files/copy-links",
			M{"ids": []string{id, entryIDOf(alice, "/home", "alice")}, "signed": true, "expiresIn": 60}).OK(200)
		checkPresigned(t, bucket, many.Text("items.0.formats.direct"), 60)
		wantJSON(t, "a folder's", many.Value("items.1.formats.direct"), apptest.BaseURL+"/app/files/home/alice")

		// The link ends with the object, which is deleted after the grace period of a replacement.
		direct := copyLinks(alice, id, "?signed=true&expiresIn=604800").OK(200).Text("formats.direct")
		alice.Upload("/home/alice", "a b.png", []byte("second"), M{"conflict": "replace"})
		if got := fetchAsBrowser(t, direct); got.body != "first" {
			t.Errorf("just replaced: %d %q", got.status, got.body)
		}
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		if got := fetchAsBrowser(t, direct); got.status != 404 {
			t.Errorf("after the grace period: %d %q", got.status, got.body)
		}
	}, apptest.ReachLoopback)
}
