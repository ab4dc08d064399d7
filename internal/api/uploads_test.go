package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
)

// postUploadSession requests an upload session.
func postUploadSession(c *apptest.Client, dir, name string, size any, extra ...M) *apptest.Reply {
	return c.Post("/api/files/upload-session", M{"path": dir, "fileName": name, "fileSize": size}.With(extra...))
}

// newUploadSession begins an upload session and returns its id.
func newUploadSession(c *apptest.Client, dir, name string, size int, extra ...M) string {
	return postUploadSession(c, dir, name, size, extra...).OK(200).Text("sessionId")
}

func putRaw(c *apptest.Client, id string, body any) *apptest.Reply {
	return c.Put("/api/files/upload/raw/"+id, body)
}

func completeUpload(c *apptest.Client, id string, etag any) *apptest.Reply {
	return c.Post("/api/files/upload-complete", M{"sessionId": id, "etag": etag})
}

func abortUpload(c *apptest.Client, id string) *apptest.Reply {
	return c.Delete("/api/files/upload/multipart/" + id)
}

func TestUploadSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		t.Run("answer", func(t *testing.T) {
			r := postUploadSession(alice.In(t), home, "a.txt", 5).OK(200)
			id := r.Text("sessionId")
			if r.Text("uploadUrl") != apptest.BaseURL+"/api/files/upload/raw/"+id || r.Text("uploadMode") != "worker" ||
				r.Int("expiresIn") != 3600 ||
				r.Int("expiresAt") != l.Clock.Now().Add(time.Hour).UnixMilli() {
				t.Errorf("got %s", r.Body)
			}
			for _, want := range []string{`"uploadId":null`, `"totalParts":null`, `"parts":[]`} {
				if !bytes.Contains(r.Body, []byte(want)) {
					t.Errorf("no %s in %s", want, r.Body)
				}
			}
			r = alice.In(t).Put(r.Text("uploadUrl"), "hello").OK(200)
			if r.Int("size") != 5 || r.Text("etag") == "" {
				t.Errorf("raw answers %s", r.Body)
			}
			r = completeUpload(alice.In(t), id, r.Text("etag")).OK(200)
			wantFieldsOf(t, r, "file", "id", "name", "path", "size", "createdAt")
			if r.Text("file.name") != "a.txt" || r.Text("file.path") != home || r.Int("file.size") != 5 ||
				r.Value("alreadyCompleted") != nil && r.Value("alreadyCompleted") != false {
				t.Errorf("complete answers %s", r.Body)
			}
			wantBody(t, alice.In(t).Get("/home/alice/a.txt").OK(200), "hello")
		})
		t.Run("sizes and fields", func(t *testing.T) { // abuse case C92
			for _, size := range []any{-1, 1.5, "5", nil, "", true, []int{5}, 20<<30 + 1, "9223372036854775808"} {
				postUploadSession(alice.In(t), home, "b.txt", size).Fails(400, "VALIDATION_ERROR")
			}
			for _, size := range []string{"1e3", "1E3", "9223372036854775808", "1.0", "-0.5", "0x10", "+5", "05",
				"21474836481", "NaN", "1e400"} {
				alice.In(t).Post("/api/files/upload-session",
					`{"path":"`+home+`","fileName":"b.txt","fileSize":`+size+`}`, "Content-Type", "application/json").
					Fails(400, "VALIDATION_ERROR")
			}
			for _, extra := range []M{
				{"partCount": 0}, {"partCount": -1}, {"partCount": 2561}, {"partCount": 1.5}, {"partCount": "2"},
				{"conflict": "overwrite"}, {"conflict": 1}, {"idempotencyKey": 7},
				{"mimeType": 7}, {"fileName": nil}, {"fileName": ""}, {"fileName": strings.Repeat("语", 256)},
				{"path": nil}, {"path": home + "/.."}, {"path": 5}, {"idempotencyKey": "a\x00b"},
				{"mimeType": "a\x00b"},
			} {
				postUploadSession(alice.In(t), home, "b.txt", 1, extra).Fails(400, "VALIDATION_ERROR")
			}
			wantUsed(t, alice.In(t), 5, 1)
			// whatever the answer, no crash
			postUploadSession(admin.In(t), "/uploads", "big", int64(20<<30), M{"partCount": 1})
			for _, target := range []struct {
				dir    string
				status int
				code   string
			}{
				{"/home/bob", 403, "FORBIDDEN"}, {"/home", 403, "FORBIDDEN"}, {"/", 403, "FORBIDDEN"},
				{"/public", 403, "FORBIDDEN"}, {"/none/at/all", 403, "FORBIDDEN"},
				{home + "/a.txt", 404, "NOT_FOUND"}, {home + "/a.txt/below", 404, "NOT_FOUND"},
			} {
				postUploadSession(alice.In(t), target.dir, "x", 1).Fails(target.status, target.code)
			}
			postUploadSession(l.Client(t), home, "x", 1).Fails(401, "UNAUTHORIZED")
		})
		t.Run("no bytes", func(t *testing.T) {
			id := newUploadSession(alice.In(t), home, "empty.txt", 0)
			etag := putRaw(alice.In(t), id, []byte{}).OK(200).Text("etag")
			completeUpload(alice.In(t), id, etag).OK(200)
			r := alice.In(t).Get("/home/alice/empty.txt").OK(200)
			wantBody(t, r, "")
			wantHeader(t, r, "Content-Length", "0")
		})
		t.Run("raw bodies of the wrong length", func(t *testing.T) { // abuse case C94
			before, files := usedQuota(alice.In(t))
			id := newUploadSession(alice.In(t), home, "lie.txt", 5)
			for _, body := range []string{"1234", "123456", "", strings.Repeat("x", 100000)} {
				putRaw(alice.In(t), id, body).Fails(422, "OPERATION_FAILED")
				// chunked, without a length
				putRaw(alice.In(t), id, io.MultiReader(strings.NewReader(body))).Fails(422, "OPERATION_FAILED")
			}
			completeUpload(alice.In(t), id, "x").Fails(422, "OPERATION_FAILED") // no bytes were kept
			// chunked is accepted when it fits
			putRaw(alice.In(t), id, io.MultiReader(strings.NewReader("12345"))).OK(200)
			// a body that ends before its Content-Length
			alice.In(t).Do(apptest.Request{Method: "PUT", Path: "/api/files/upload/raw/" + id,
				Body: io.MultiReader(strings.NewReader("123")), Length: 5})
			etag := putRaw(alice.In(t), id, "abcde").OK(200).Text("etag")
			etag2 := putRaw(alice.In(t), id, "54321").OK(200).Text("etag")
			if etag != etag2 {
				completeUpload(alice.In(t), id, etag).Fails(422, "OPERATION_FAILED") // of replaced bytes
			}
			completeUpload(alice.In(t), id, `"`+etag2+`"`).OK(200) // quoted
			wantBody(t, alice.In(t).Get("/home/alice/lie.txt").OK(200), "54321")
			wantUsed(t, alice.In(t), before+5, files+1)
		})
		t.Run("states", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			before, files := usedQuota(alice)
			id := newUploadSession(alice, home, "s.txt", 3)
			completeUpload(alice, id, "abc").Fails(422, "OPERATION_FAILED") // before the bytes have arrived
			etag := putRaw(alice, id, "abc").OK(200).Text("etag")
			completeUpload(alice, id, nil).Fails(400, "VALIDATION_ERROR")
			alice.Post("/api/files/upload-complete", M{"sessionId": id}).Fails(400, "VALIDATION_ERROR")
			alice.Post("/api/files/upload-complete", M{"etag": etag}).Fails(400, "VALIDATION_ERROR")
			completeUpload(alice, id, "").Fails(400, "VALIDATION_ERROR")
			for range 3 { // abuse case C95
				completeUpload(alice, id, "wrong").Fails(422, "OPERATION_FAILED")
				completeUpload(alice, id, strings.Repeat("x", 5000)).Fails(422, "OPERATION_FAILED")
			}
			wantUsed(t, alice, before, files)
			for _, stranger := range []*apptest.Client{bob, admin.In(t)} { // abuse case C36
				putRaw(stranger, id, "abc").Fails(404, "NOT_FOUND")
				completeUpload(stranger, id, etag).Fails(404, "NOT_FOUND")
				abortUpload(stranger, id).Fails(404, "NOT_FOUND")
			}
			for _, missing := range []string{"none", "%00", unknownID} {
				putRaw(alice, missing, "abc").Fails(404, "NOT_FOUND")
				abortUpload(alice, missing).Fails(404, "NOT_FOUND")
			}
			completeUpload(alice, "none", etag).Fails(404, "NOT_FOUND")

			first := completeUpload(alice, id, etag).OK(200)
			again := completeUpload(alice, id, etag).OK(200)
			if again.Value("alreadyCompleted") != true || again.Text("file.id") != first.Text("file.id") {
				t.Errorf("again: %s", again.Body)
			}
			wantUsed(t, alice, before+3, files+1)
			putRaw(alice, id, "abc").Fails(409, "OPERATION_FAILED")
			abortUpload(alice, id).Fails(409, "OPERATION_FAILED")

			id = newUploadSession(alice, home, "gone.txt", 3)
			etag = putRaw(alice, id, "abc").OK(200).Text("etag")
			if r := abortUpload(alice, id).OK(200); !bytes.Contains(r.Body, []byte(`"data":null`)) {
				t.Errorf("abort answers %s", r.Body)
			}
			abortUpload(alice, id).OK(200)
			putRaw(alice, id, "abc").Fails(409, "OPERATION_FAILED")
			completeUpload(alice, id, etag).Fails(409, "OPERATION_FAILED")
			alice.Get("/home/alice/gone.txt").Fails(404, "NOT_FOUND")
		})
		t.Run("conflicts", func(t *testing.T) {
			alice := alice.In(t)
			dir := home + "/conflicts"
			mkdir(alice, home, "conflicts")
			alice.Upload(dir, "cat.tar.gz", []byte("0"))
			alice.Upload(dir, "cat.jpg", []byte("0"))
			mkdir(alice, dir, "box")
			one := alice.Upload(dir, "cat.jpg", []byte("1"))
			alice.Upload(dir, "cat.jpg", []byte("2"), M{"conflict": "rename"})
			alice.Upload(dir, "box", []byte("3"))
			postUploadSession(alice, dir, "cat.jpg", 1, M{"conflict": "fail"}).Fails(409, "ALREADY_EXISTS")
			postUploadSession(alice, dir, "box", 1, M{"conflict": "replace"}).Fails(409, "ALREADY_EXISTS") // a folder
			wantStrings(t, "renamed", listNames(alice, dir, "type", "file"), "box (1)", "cat (1).jpg", "cat (2).jpg",
				"cat.jpg", "cat.tar.gz")
			r := alice.Get("/api/files/" + one).OK(200)
			if r.Text("file.name") != "cat (1).jpg" {
				t.Errorf("named %s", r.Text("file.name"))
			}
			// permission is checked again at completion
			id := newUploadSession(alice, dir, "late.txt", 1, M{"conflict": "fail"})
			etag := putRaw(alice, id, "x").OK(200).Text("etag")
			alice.Upload(dir, "late.txt", []byte("y"))
			completeUpload(alice, id, etag).Fails(409, "ALREADY_EXISTS")
			wantBody(t, alice.Get("/home/alice/conflicts/late.txt").OK(200), "y")
		})
		t.Run("replace", func(t *testing.T) { // abuse case C97
			alice := alice.In(t)
			before, files := usedQuota(alice)
			old := alice.Upload(home, "r.txt", []byte(strings.Repeat("x", 100)))
			tag := alice.Get("/home/alice/r.txt").OK(200).Header.Get("ETag")
			id := newUploadSession(alice, home, "r.txt", 10, M{"conflict": "replace"})
			putRaw(alice, id, "short").Fails(422, "OPERATION_FAILED")
			wantBody(t, alice.Get("/home/alice/r.txt").OK(200), strings.Repeat("x", 100))
			wantUsed(t, alice, before+100, files+1)
			etag := putRaw(alice, id, "0123456789").OK(200).Text("etag")
			if got := completeUpload(alice, id, etag).OK(200).Text("file.id"); got != old {
				t.Errorf("replacing made another id")
			}
			r := alice.Get("/home/alice/r.txt").OK(200)
			wantBody(t, r, "0123456789")
			if r.Header.Get("ETag") == tag {
				t.Error("same ETag for other bytes")
			}
			wantUsed(t, alice, before+10, files+1)
			// requires update, charges the owner
			addRule(admin.In(t), M{"pathPattern": home + "/r.txt", "effect": "allow",
				"userId": callerID(bob.In(t)), "permissions": []string{"write"}})
			postUploadSession(bob.In(t), home, "r.txt", 4, M{"conflict": "replace"}).Fails(403, "FORBIDDEN")
			addRule(admin.In(t), M{"pathPattern": home + "/r.txt", "effect": "allow",
				"userId": callerID(bob.In(t)), "permissions": []string{"update"}})
			if got := bob.In(t).Upload(home, "r.txt", []byte("bob!"), M{"conflict": "replace"}); got != old {
				t.Error("replacing made another id")
			}
			if owner := alice.Get("/api/files/" + old).OK(200).Text("file.ownerId"); owner != alice.Get("/api/auth/me").
				OK(200).Text("user.id") {
				t.Error("replacing changed the owner")
			}
			wantUsed(t, alice, before+4, files+1)
			wantUsed(t, bob.In(t), 0, 0)
		})
		t.Run("missing parents", func(t *testing.T) {
			alice := alice.In(t)
			id := newUploadSession(alice, home+"/new/deep/er", "f.txt", 1)
			listFolder(alice, home+"/new").Fails(404, "NOT_FOUND") // not before it completes
			etag := putRaw(alice, id, "x").OK(200).Text("etag")
			if path := completeUpload(alice, id, etag).OK(200).Text("file.path"); path != home+"/new/deep/er" {
				t.Errorf("path %s", path)
			}
			// the folder is kept by id: a rename meanwhile does not recreate the old folder
			base := mkdir(alice, home, "base")
			id = newUploadSession(alice, home+"/base/more", "f.txt", 1)
			etag = putRaw(alice, id, "x").OK(200).Text("etag")
			alice.Put("/api/files/"+base, M{"name": "renamed"}).OK(200)
			if path := completeUpload(alice, id, etag).OK(200).Text("file.path"); path != home+"/renamed/more" {
				t.Errorf("path %s", path)
			}
			listFolder(alice, home+"/base").Fails(404, "NOT_FOUND")
		})
		t.Run("right lost before completion", func(t *testing.T) { // abuse case C31
			id := newUploadSession(alice.In(t), home+"/lost", "f.txt", 1)
			etag := putRaw(alice.In(t), id, "x").OK(200).Text("etag")
			rule := addRule(admin.In(t), M{"pathPattern": home + "/lost/**", "effect": "deny", "role": "user"})
			completeUpload(alice.In(t), id, etag).Fails(403, "FORBIDDEN")
			admin.In(t).Delete("/api/admin/rules/" + rule).OK(200)
			completeUpload(alice.In(t), id, etag).OK(200)
		})
		t.Run("type", func(t *testing.T) {
			for _, test := range []struct{ name, claimed, header, body, want string }{
				{"a.bin", "image/png", "", "x", "image/png"},
				{"b.png", "", "", "x", "image/png"},
				{"c.png", "application/octet-stream", "", "x", "image/png"},
				{"d", "", "", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00",
					"image/png"},
				{"e.txt", "", "image/gif", "x", "image/gif"},
			} {
				id := newUploadSession(alice.In(t), home+"/types", test.name, len(test.body),
					M{"mimeType": test.claimed})
				header := []string{}
				if test.header != "" {
					header = []string{"Content-Type", test.header}
				}
				etag := alice.In(t).Put("/api/files/upload/raw/"+id, test.body, header...).OK(200).Text("etag")
				file := completeUpload(alice.In(t), id, etag).OK(200).Text("file.id")
				if got := alice.In(t).Get("/api/files/" + file).OK(200).Text("file.mimeType"); got != test.want {
					t.Errorf("%s: %q, want %q", test.name, got, test.want)
				}
			}
		})
		t.Run("concurrent completions", func(t *testing.T) { // abuse case C87
			before, files := usedQuota(alice.In(t))
			id := newUploadSession(alice.In(t), home, "race.txt", 4)
			etag := putRaw(alice.In(t), id, "race").OK(200).Text("etag")
			var wait sync.WaitGroup
			replies := make([]*apptest.Reply, 20)
			for i := range replies {
				c := alice.In(t)
				wait.Go(func() { replies[i] = completeUpload(c, id, etag) })
			}
			wait.Wait()
			fresh := 0
			for _, r := range replies {
				if r.OK(200).Value("alreadyCompleted") != true {
					fresh++
				}
				if r.Text("file.id") != replies[0].Text("file.id") {
					t.Error("the response names another file")
				}
			}
			if fresh != 1 {
				t.Errorf("%d completions made a file", fresh)
			}
			wantUsed(t, alice.In(t), before+4, files+1)
		})
		t.Run("names", func(t *testing.T) { // abuse case C13
			const name = `a?b#c;d%20&+.png`
			id := alice.In(t).Upload(home, name, []byte("round"))
			if got := alice.In(t).Get("/api/files/" + id).OK(200).Text("file.name"); got != name {
				t.Errorf("named %q", got)
			}
			wantBody(t, alice.In(t).Get("/home/alice/"+url.PathEscape(name)).OK(200), "round")
			url := downloadURL(alice.In(t), id)
			wantBody(t, l.Client(t).Get(url).OK(200), "round")
		})
	})
}

func TestUploadExpiry(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.User(t, "alice", M{"maxStorage": 10})
		alice := func() *apptest.Client { return l.SignIn(t, "alice", "password of alice") }
		c := alice()
		in, out, bare := newUploadSession(c, "/home/alice", "in", 2), newUploadSession(c, "/home/alice", "out",
			2), newUploadSession(c, "/home/alice", "bare", 6)
		tagIn, tagOut := putRaw(c, in, "in").OK(200).Text("etag"), putRaw(c, out, "ou").OK(200).Text("etag")
		l.Clock.Advance(time.Hour - time.Millisecond)
		completeUpload(c, in, tagIn).OK(200)
		putRaw(c, bare, "123456").OK(200)
		postUploadSession(c, "/home/alice", "full", 1).Fails(413, "QUOTA_EXCEEDED")
		l.Clock.Advance(time.Millisecond)
		completeUpload(c, out, tagOut).Fails(410, "UPLOAD_SESSION_EXPIRED")
		putRaw(c, bare, "123456").Fails(410, "UPLOAD_SESSION_EXPIRED")
		completeUpload(c, bare, "x").Fails(410, "UPLOAD_SESSION_EXPIRED")
		l.Sweep()
		completeUpload(c, out, tagOut).Fails(410, "UPLOAD_SESSION_EXPIRED")
		abortUpload(c, bare).OK(200)
		abortUpload(c, out).OK(200)
		wantUsed(t, c, 2, 1)
		c.Upload("/home/alice", "again", []byte("12345678")) // the reservation is released
		wantUsed(t, c, 10, 2)
		postUploadSession(c, "/home/alice", "full", 1).Fails(413, "QUOTA_EXCEEDED")
	})
}

func TestUploadIdempotency(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice", M{"maxStorage": 10}), l.User(t, "bob")
		const home = "/home/alice"
		key := M{"idempotencyKey": "k1"}
		first := newUploadSession(alice, home, "a", 6, key)
		if again := newUploadSession(alice, home, "a", 6, key); again != first { // and nothing is reserved twice
			t.Fatal("the pending session was not resumed")
		}
		postUploadSession(alice, home, "a", 7, key).Fails(400, "VALIDATION_ERROR")
		postUploadSession(alice, home, "b", 6, key).Fails(400, "VALIDATION_ERROR")
		postUploadSession(alice, home+"/x", "a", 6, key).Fails(400, "VALIDATION_ERROR")
		if other := newUploadSession(bob, "/home/bob", "a", 6, key); other == first { // abuse case C37
			t.Fatal("another user's session")
		}
		etag := putRaw(alice, first, "123456").OK(200).Text("etag")
		file := completeUpload(alice, first, etag).OK(200).Text("file.id")
		r := postUploadSession(alice, home, "a", 6, key).OK(200)
		if r.Value("alreadyCompleted") != true || r.Text("file.id") != file || r.Text("sessionId") != first {
			t.Errorf("completed: %s", r.Body)
		}
		wantUsed(t, alice, 6, 1)
		postUploadSession(alice, home, "a", 7, key).Fails(400, "VALIDATION_ERROR")
		aborted := newUploadSession(alice, home, "c", 4, M{"idempotencyKey": "k2"})
		abortUpload(alice, aborted).OK(200)
		if fresh := newUploadSession(alice, home, "c", 4, M{"idempotencyKey": "k2"}); fresh == aborted {
			t.Error("an aborted session was resumed")
		} else {
			abortUpload(alice, fresh).OK(200)
		}
		alice.Delete("/api/files/" + file).OK(200)
		r = postUploadSession(alice, home, "a", 6, key).OK(200) // the file is gone, so a new session begins
		if r.Value("alreadyCompleted") == true {
			t.Errorf("of a deleted file: %s", r.Body)
		}
	})
}

// The quota is exact to the byte and to the file. Reservations count, and released ones are
// available immediately.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		t.Run("bytes", func(t *testing.T) {
			c := l.User(t, "bytes", M{"maxStorage": 10})
			dir := "/home/bytes"
			postUploadSession(c, dir, "a", 11).Fails(413, "QUOTA_EXCEEDED")
			id := newUploadSession(c, dir, "a", 10)
			wantUsed(t, c, 0, 0) // reservations are not shown
			postUploadSession(c, dir, "b", 1).Fails(413, "QUOTA_EXCEEDED")
			newUploadSession(c, dir, "b", 0)
			abortUpload(c, id).OK(200)
			id = c.Upload(dir, "a", []byte("1234567890"))
			postUploadSession(c, dir, "b", 1).Fails(413, "QUOTA_EXCEEDED")
			postUploadSession(c, dir, "a", 11, M{"conflict": "replace"}).Fails(413, "QUOTA_EXCEEDED")
			c.Delete("/api/files/" + id).OK(200)
			c.Upload(dir, "b", []byte("1234567890"))
			wantUsed(t, c, 10, 1)
		})
		t.Run("files", func(t *testing.T) {
			c := l.User(t, "counts", M{"maxFiles": 2})
			dir := "/home/counts"
			for i := range 5 {
				mkdir(c, dir, fmt.Sprint(i)) // folders are not counted
			}
			c.Upload(dir, "a", []byte("x"))
			id := newUploadSession(c, dir, "b", 1)
			postUploadSession(c, dir, "c", 1).Fails(413, "QUOTA_EXCEEDED")
			postUploadSession(c, dir, "c", 0).Fails(413, "QUOTA_EXCEEDED")
			completeUpload(c, id, putRaw(c, id, "x").OK(200).Text("etag")).OK(200)
			postUploadSession(c, dir, "c", 1).Fails(413, "QUOTA_EXCEEDED")
			c.Upload(dir, "b", []byte("y"), M{"conflict": "replace"}) // no additional file
			wantUsed(t, c, 2, 2)
		})
		t.Run("unlimited and zero quota", func(t *testing.T) {
			c := l.User(t, "much", M{"maxStorage": -1, "maxFiles": -1})
			id := newUploadSession(c, "/home/much", "a", 100<<20)
			abortUpload(c, id).OK(200)
			c.Upload("/home/much", "a", []byte("x"))
			c = l.User(t, "nothing", M{"maxStorage": 0})
			postUploadSession(c, "/home/nothing", "a", 1).Fails(413, "QUOTA_EXCEEDED")
			c = l.User(t, "nofiles", M{"maxFiles": 0})
			postUploadSession(c, "/home/nofiles", "a", 0).Fails(413, "QUOTA_EXCEEDED")
		})
		t.Run("concurrent sessions", func(t *testing.T) { // abuse case C88
			c := l.User(t, "racer", M{"maxStorage": 100})
			var wait sync.WaitGroup
			replies := make([]*apptest.Reply, 20)
			for i := range replies {
				f := c.In(t)
				wait.Go(func() { replies[i] = postUploadSession(f, "/home/racer", "a", 60) })
			}
			wait.Wait()
			granted := 0
			for _, r := range replies {
				if r.Status == 200 {
					granted++
				} else {
					r.Fails(413, "QUOTA_EXCEEDED")
				}
			}
			if granted != 1 {
				t.Errorf("%d sessions of 60 %% of the quota", granted)
			}
		})
		t.Run("open sessions", func(t *testing.T) { // abuse case C102
			c := l.User(t, "opener")
			for i := range 100 {
				newUploadSession(c, "/home/opener", fmt.Sprint(i), 1)
			}
			postUploadSession(c, "/home/opener", "more", 1).Fails(409, "OPERATION_FAILED")
		})
	})
}
