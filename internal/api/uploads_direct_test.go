package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

// putToAddress sends a body directly to the store, as a browser would, and returns the status and
// the ETag of the answer.
func putToAddress(t *testing.T, address string, body []byte, header ...string) (status int, etag string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("ETag")
}

// mustPutToAddress sends a body and fails the test unless the store accepts it.
func mustPutToAddress(t *testing.T, address string, body []byte) (etag string) {
	t.Helper()
	status, etag := putToAddress(t, address, body)
	if status != 200 || etag == "" {
		t.Fatalf("the store answers %d, ETag %q", status, etag)
	}
	return etag
}

// keyOfAddress returns the key in a pre-signed address with the bucket in its path.
func keyOfAddress(t *testing.T, bucket s3test.Bucket, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	key, found := strings.CutPrefix(u.Path, "/"+bucket.Name+"/")
	if !found {
		t.Fatalf("no address in the bucket: %s", address)
	}
	return key
}

// addressLifetime returns the lifetime of a pre-signed address in seconds.
func addressLifetime(t *testing.T, address string) int64 {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(u.Query().Get("X-Amz-Expires"), 10, 64)
	if err != nil {
		t.Fatalf("%v in %s", err, address)
	}
	return n
}

// wantReserved fails the test unless all accounts together have exactly that reserved.
func wantReserved(t *testing.T, l *apptest.Larder, bytes, files int64) {
	t.Helper()
	var b, f int64
	if err := l.Apps[0].DB.Read(t.Context()).QueryRow("SELECT SUM(reserved_storage), SUM(reserved_files) FROM quotas").
		Scan(&b, &f); err != nil {
		t.Fatal(err)
	}
	if b != bytes || f != files {
		t.Errorf("reserved: %d bytes and %d files, want %d and %d", b, f, bytes, files)
	}
}

// wantSessionReply fails the test unless the session's answer contains all these texts.
func wantSessionReply(t *testing.T, r *apptest.Reply, want ...string) {
	t.Helper()
	for _, text := range want {
		if !bytes.Contains(r.Body, []byte(text)) {
			t.Errorf("no %s in %s", text, r.Body)
		}
	}
}

// beginAndSend begins a session for content and sends the content directly to the store.
func beginAndSend(t *testing.T, c *apptest.Client, dir, name, content string, extra ...M) (id, address, etag string) {
	t.Helper()
	r := postUploadSession(c, dir, name, len(content), extra...).OK(200)
	if r.Text("uploadMode") != "presigned" {
		t.Fatalf("not presigned: %s", r.Body)
	}
	return r.Text("sessionId"), r.Text("uploadUrl"), mustPutToAddress(t, r.Text("uploadUrl"), []byte(content))
}

// Bytes in one piece go to a staging key. Completion checks them and makes the file of a copy.
func TestDirectUpload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"pathPrefix": "larder"})
		alice := l.User(t, "alice")
		const home, text, other = "/home/alice", "straight to the store", "STRAIGHT TO THE STORE"
		r := postUploadSession(alice, home, "a.txt", len(text)).OK(200)
		id, address := r.Text("sessionId"), r.Text("uploadUrl")
		wantSessionReply(t, r, `"uploadMode":"presigned"`, `"uploadId":null`, `"totalParts":null`, `"parts":[]`,
			`"expiresIn":3600`)
		staging := keyOfAddress(t, bucket, address)
		if addressLifetime(t, address) != 3600 || !regexp.MustCompile(`^larder/[0-9a-f]{2}/[0-9a-f]{32}$`).
			MatchString(staging) || !strings.HasPrefix(address, bucket.Endpoint+"/") {
			t.Errorf("address %s", address)
		}
		completeUpload(alice, id, nil).Fails(400, "VALIDATION_ERROR")
		completeUpload(alice, id, "x").Fails(422, "OPERATION_FAILED")

		// Abuse case C103.
		for what, edited := range map[string]string{
			"another key":      strings.Replace(address, staging, "larder/00/"+strings.Repeat("0", 32), 1),
			"a longer life":    strings.Replace(address, "X-Amz-Expires=3600", "X-Amz-Expires=7200", 1),
			"another length":   address,
			"another query":    address + "&tagging",
			"another bucket":   strings.Replace(address, bucket.Name, bucket.Name+"x", 1),
			"no content named": strings.Replace(address, "content-length%3B", "", 1),
		} {
			body := text
			if what == "another length" {
				body += "."
			}
			if status, _ := putToAddress(t, edited, []byte(body)); status < 400 || status >= 500 || status != 403 &&
				what != "another bucket" {
				t.Errorf("an address with %s: %d", what, status)
			}
		}
		wantBucketObjects(t, "after edited addresses", bucket, 0)

		etag := mustPutToAddress(t, address, []byte(text))
		for i := range 100 { // abuse case C95
			completeUpload(alice, id, strings.Repeat("0", i%33+1)).Fails(422, "OPERATION_FAILED")
		}
		// the ETag is opaque
		completeUpload(alice, id, strings.ToUpper(strings.Trim(etag, `"`))).Fails(422, "OPERATION_FAILED")
		wantReserved(t, l, int64(len(text)), 1)
		wantUsed(t, alice, 0, 0)
		wantBucketObjects(t, "after wrong etags", bucket, 1)

		done := completeUpload(alice, id, etag).OK(200)
		wantFieldsOf(t, done, "file", "id", "name", "path", "size", "createdAt")
		wantBody(t, alice.Get(home+"/a.txt").OK(200), text)
		wantReserved(t, l, 0, 0)
		wantUsed(t, alice, int64(len(text)), 1)
		again := completeUpload(alice, id, "whatever").OK(200)
		if again.Value("alreadyCompleted") != true || again.Text("file.id") != done.Text("file.id") {
			t.Errorf("again: %s", again.Body)
		}

		// The address still works and reaches no file.
		mustPutToAddress(t, address, []byte(other))
		wantBody(t, alice.Get(home+"/a.txt").OK(200), text)
		keys, _ := bucketContents(t, bucket)
		if len(keys) != 2 || !slices.Contains(keys, staging) {
			t.Fatalf("keys: %v", keys)
		}
		final := keys[0]
		if final == staging {
			final = keys[1]
		}
		head, err := bucket.SDK(t).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &final})
		if err != nil || *head.ContentType != "text/plain; charset=utf-8" {
			t.Errorf("the store has the type %v, %v", head.ContentType, err)
		}
		waitForChecksum(t, l, text)

		// Bytes sent to the address later are swept within an hour of its expiry.
		l.Clock.Advance(time.Hour + 50*time.Minute - time.Millisecond)
		l.Sweep()
		wantBucketObjects(t, "before the sweep", bucket, 2)
		l.Clock.Advance(time.Millisecond)
		l.Sweep()
		wantBucketObjects(t, "after the sweep", bucket, 1)
		alice = l.SignIn(t, "alice", "password of alice")
		wantBody(t, alice.Get(home+"/a.txt").OK(200), text)
		alice.Delete("/api/files/" + done.Text("file.id")).OK(200)
		l.Clock.Advance(3 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "in the end", bucket, 0)
		wantUsed(t, l.SignIn(t, "alice", "password of alice"), 0, 0)
	}, apptest.ReachLoopback)
}

// The ETag may come back without quotes. The type is detected from the first bytes when no name or
// header gives it. A replaced file keeps its id.
func TestDirectUploadDetails(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		id, address, etag := beginAndSend(t, alice, home, "picture", string(onePixel),
			M{"mimeType": "application/octet-stream"})
		done := completeUpload(alice, id, " W/"+strings.Trim(etag, `"`)+" ").OK(200)
		wantHeader(t, alice.Get(home+"/picture").OK(200), "Content-Type", "image/png")
		keys, _ := bucketContents(t, bucket)
		for _, key := range keys {
			if key == keyOfAddress(t, bucket, address) {
				continue
			}
			head, err := bucket.SDK(t).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &key})
			if err != nil || *head.ContentType != "image/png" {
				t.Errorf("the store has the type %v, %v", head.ContentType, err)
			}
		}
		id, _, etag = beginAndSend(t, alice, home, "picture", "a new one",
			M{"conflict": "replace", "mimeType": "text/x-mine"})
		if r := completeUpload(alice, id, etag).OK(200); r.Text("file.id") != done.Text("file.id") {
			t.Errorf("replaced: %s", r.Body)
		}
		wantBody(t, alice.Get(home+"/picture").OK(200), "a new one")
		wantUsed(t, alice, 9, 1)
		id, _, etag = beginAndSend(t, alice, home, "picture", "second", M{"conflict": "fail", "fileName": "other"})
		mkdir(alice, home, "other")
		completeUpload(alice, id, etag).Fails(409, "ALREADY_EXISTS")
		wantReserved(t, l, 6, 1)

		// Keys with the protocol api get the same answers; other credentials get none.
		key := alice.Key(M{"uploadPath": home})
		id, _, etag = beginAndSend(t, key, home, "keyed", "by a key")
		completeUpload(l.User(t, "bob"), id, etag).Fails(404, "NOT_FOUND")
		if r := completeUpload(key, id, etag).OK(200); r.Text("file.name") != "keyed" {
			t.Errorf("with a key: %s", r.Body)
		}
	}, apptest.ReachLoopback)
}

// The test covers which uploads go directly to the store.
func TestDirectUploadMode(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, mode := range []string{"auto", "presigned", "worker"} {
			l.S3Mount(t, "/"+mode, M{"uploadMode": mode})
		}
		admin := l.Admin(t)
		for _, c := range []struct {
			dir   string
			size  int
			extra M
			mode  string
		}{
			{"/auto", 1, nil, "presigned"}, {"/presigned", 1, nil, "presigned"}, {"/worker", 1, nil, "worker"},
			{"/uploads", 1, nil, "worker"},
			{"/auto", 0, nil, "worker"}, {"/presigned", 0, nil, "worker"},
			{"/presigned", 0, M{"partCount": 2}, "worker"},
			{"/auto", 1, M{"uploadMode": "worker"}, "worker"}, {"/presigned", 1, M{"uploadMode": "worker"}, "worker"},
			{"/auto", 1, M{"uploadMode": "auto"}, "presigned"}, {"/worker", 1, M{"uploadMode": "auto"}, "worker"},
			{"/auto", 1, M{"uploadMode": nil}, "presigned"},
			{"/auto", 1, M{"partCount": 2}, "presigned"},
			{"/auto", 1, M{"partCount": 2, "uploadMode": "worker"}, "worker"},
			{"/worker", 1, M{"partCount": 2}, "worker"},
			{"/auto", 100 << 20, nil, "presigned"}, {"/auto", 100<<20 + 1, nil, "presigned"},
		} {
			r := postUploadSession(admin, c.dir, "f", c.size, c.extra).OK(200)
			if r.Text("uploadMode") != c.mode {
				t.Errorf("%+v: %s", c, r.Body)
			}
			service := apptest.BaseURL + "/api/files/upload/raw/" + r.Text("sessionId")
			if r.Value("totalParts") != nil {
				service = apptest.BaseURL + multipartPath + r.Text("sessionId") + "/part/"
			}
			if through := r.Text("uploadUrl") == service; through != (c.mode == "worker" ||
				r.Value("totalParts") != nil) {
				t.Errorf("%+v: uploadUrl %s", c, r.Text("uploadUrl"))
			}
			if n := len(r.Value("parts").([]any)); c.mode == "worker" && n != 0 || c.mode == "presigned" &&
				r.Value("totalParts") != nil && int64(n) != r.Int("totalParts") {
				t.Errorf("%+v: %d addresses for parts", c, n)
			}
			if given := r.Value("uploadId") != nil; given != (c.mode == "presigned" && r.Value("totalParts") != nil) {
				t.Errorf("%+v: uploadId %v", c, r.Value("uploadId"))
			}
			abortUpload(admin, r.Text("sessionId")).OK(200)
		}
		for _, mode := range []any{"presigned", "Worker", "", "direct", 1, true, []string{"worker"}} {
			postUploadSession(admin, "/auto", "f", 1, M{"uploadMode": mode}).Fails(400, "VALIDATION_ERROR")
		}
	}, apptest.ReachLoopback)
}

// A page loaded by https may not send anything by http. In mode auto, such uploads go through the
// service.
func TestDirectUploadsDoNotMixContent(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Client(t)
		admin.Header.Set("X-Forwarded-Proto", "https")
		postLogin(admin, "admin", apptest.AdminPassword).OK(200)
		admin.CSRF = admin.Get("/api/auth/csrf-token").OK(200).Text("token")
		for i, c := range []struct{ mode, domain, want string }{
			{"auto", "", "worker"}, {"auto", "http://127.0.0.1:1", "worker"}, {"auto", "HTTP://127.0.0.1:1", "worker"},
			{"presigned", "", "presigned"},
			{"auto", "https://store.example.org", "presigned"}, {"auto", "store.example.org", "presigned"},
		} {
			dir := fmt.Sprint("/m", i)
			id := addBucketProvider(admin, s3test.New(t), M{"uploadMode": c.mode, "uploadDomain": c.domain})
			addMount(admin, id, dir)
			r := postUploadSession(admin, dir, "f", 1).OK(200)
			if r.Text("uploadMode") != c.want {
				t.Errorf("%+v: %s", c, r.Body)
			}
			if strings.Contains(c.domain, "store.example.org") &&
				!strings.HasPrefix(r.Text("uploadUrl"), "https://store.example.org/") {
				t.Errorf("%+v: address %s", c, r.Text("uploadUrl"))
			}
		}
	}, apptest.ReachLoopback, apptest.TrustLoopback, func(cfg *config.Config) { cfg.BaseURL = "https://larder.test" })
}

// A publicDomain shows the bucket to everybody, with the content type that the sender gave. Uploads
// in one piece go through the service then (abuse case C67). For uploads in parts the service sets
// the type.
func TestDirectUploadAvoidsPublicDomain(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.S3Mount(t, "/shown", M{"uploadMode": "presigned", "publicDomain": "cdn.example.org"})
		admin := l.Admin(t)
		if r := postUploadSession(admin, "/shown", "f.html", 5).OK(200); r.Text("uploadMode") != "worker" {
			t.Errorf("in one piece: %s", r.Body)
		}
		if r := postUploadSession(admin, "/shown", "g.html", 9<<20, M{"partCount": 2}).
			OK(200); r.Text("uploadMode") != "presigned" {
			t.Errorf("in parts: %s", r.Body)
		}
	}, apptest.ReachLoopback)
}

// A user has at most 100 usable addresses for bytes that are charged to no account, whatever became
// of the sessions (abuse case C96).
func TestDirectUploadsHaveABound(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.S3Mount(t, "/bucket")
		admin := l.Admin(t)
		for i := range 100 {
			id, _, etag := beginAndSend(t, admin, "/bucket", fmt.Sprint("f", i), "12345")
			completeUpload(admin, id, etag).OK(200)
		}
		if r := postUploadSession(admin, "/bucket", "one more", 5).OK(200); r.Text("uploadMode") != "worker" {
			t.Errorf("the 101st: %s", r.Body)
		}
		l.Clock.Advance(time.Hour)
		if r := postUploadSession(admin, "/bucket", "an hour later", 5).OK(200); r.Text("uploadMode") != "presigned" {
			t.Errorf("an hour later: %s", r.Body)
		}
	}, apptest.ReachLoopback)
}

// A client that does not reach the store sends the bytes through the service, even if it got an
// address of the store first. The last bytes count.
func TestDirectUploadFallsBackToTheService(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		id, address, direct := beginAndSend(t, alice, home, "f", "12345")
		received := func(mode string, n int64) {
			t.Helper()
			list := alice.Get("/api/files/upload-sessions").OK(200)
			if list.Int("sessions.0.receivedBytes") != n || list.Text("sessions.0.uploadMode") != mode {
				t.Errorf("listed as %s, want %s with %d bytes", list.Body, mode, n)
			}
		}
		received("presigned", 5)
		raw := putRaw(alice, id, "abcde").OK(200).Text("etag")
		received("worker", 5)
		l.Sweep() // the object at the address stays garbage for later
		completeUpload(alice, id, direct).Fails(422, "OPERATION_FAILED")
		mustPutToAddress(t, address, []byte("67890"))
		completeUpload(alice, id, raw).OK(200)
		wantBody(t, alice.Get(home+"/f").OK(200), "abcde")
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "the end", bucket, 1)

		// A repeated request with the same idempotency key and the mode of the service returns the
		// same session with the service's address.
		alice = l.SignIn(t, "alice", "password of alice")
		again := M{"idempotencyKey": "k"}
		r := postUploadSession(alice, home, "g", 5, again).OK(200)
		through := postUploadSession(alice, home, "g", 5, again, M{"uploadMode": "worker"}).OK(200)
		if r.Text("uploadMode") != "presigned" || through.Text("sessionId") != r.Text("sessionId") ||
			through.Text("uploadMode") != "worker" ||
			through.Text("uploadUrl") != apptest.BaseURL+"/api/files/upload/raw/"+r.Text("sessionId") {
			t.Errorf("first %s\nthen %s", r.Body, through.Body)
		}
		received("presigned", 0)
		// Without the mode it returns new addresses that end with the session.
		l.Clock.Advance(20*time.Minute + 500*time.Millisecond)
		r = postUploadSession(alice, home, "g", 5, again).OK(200)
		if r.Text("uploadMode") != "presigned" || addressLifetime(t, r.Text("uploadUrl")) != 40*60-1 ||
			r.Int("expiresIn") != 40*60 {
			t.Errorf("resumed: %s", r.Body)
		}
		etag := mustPutToAddress(t, r.Text("uploadUrl"), []byte("12345"))
		l.Clock.Advance(40*time.Minute - time.Second) // half a second is left
		r = postUploadSession(alice, home, "g", 5, again).OK(200)
		if r.Text("uploadMode") != "worker" {
			t.Errorf("an address for less than a second: %s", r.Body)
		}
		completeUpload(alice, r.Text("sessionId"), etag).OK(200)
		if r := postUploadSession(alice, home, "g", 5, again).OK(200); r.Value("alreadyCompleted") != true ||
			r.Text("uploadMode") != "worker" || len(r.Value("parts").([]any)) != 0 {
			t.Errorf("completed: %s", r.Body)
		}
	}, apptest.ReachLoopback)
}
