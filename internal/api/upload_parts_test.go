package api_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
)

const partLength = 8 << 20

// twoPartContent is 8 MiB and 5 bytes without repetitions: two parts. Tests share it, because
// making it takes time.
var twoPartContent = sync.OnceValue(func() []byte {
	b := make([]byte, partLength+5)
	state := uint64(1)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = byte(state >> 56)
	}
	return b
})

const multipartPath = "/api/files/upload/multipart/"

func putPart(c *apptest.Client, id string, number, body any) *apptest.Reply {
	return c.Put(fmt.Sprint(multipartPath, id, "/part/", number), body)
}

// newTwoPartSession begins a session for content.
func newTwoPartSession(c *apptest.Client, dir, name string, extra ...M) string {
	return newUploadSession(c, dir, name, len(twoPartContent()), append(extra, M{"partCount": 2})...)
}

func TestMultipartSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		t.Run("answers", func(t *testing.T) {
			alice := alice.In(t)
			r := postUploadSession(alice, home, "a.bin", len(twoPartContent()), M{"partCount": 2000}).OK(200)
			id := r.Text("sessionId")
			if r.Text("uploadUrl") != apptest.BaseURL+multipartPath+id+"/part/" || r.Text("uploadMode") != "worker" ||
				r.Int("totalParts") != 2 || r.Int("expiresIn") != 3600 {
				t.Errorf("got %s", r.Body)
			}
			for _, want := range []string{`"uploadId":null`, `"parts":[]`} {
				if !bytes.Contains(r.Body, []byte(want)) {
					t.Errorf("no %s in %s", want, r.Body)
				}
			}
			last := alice.Put(r.Text("uploadUrl")+"2", twoPartContent()[partLength:]).OK(200)
			if last.Int("partNumber") != 2 || last.Text("etag") == "" {
				t.Errorf("part answers %s", last.Body)
			}
			parts := alice.Get(multipartPath + id + "/parts").OK(200)
			want := fmt.Sprintf(
				`"data":{"sessionId":%q,"totalParts":2,"completedCount":1,"parts":[{"partNumber":2,"etag":%q}],"missingParts":[1],"presignedParts":[],"uploadMode":"worker"}`, id, last.Text("etag"))
			if !bytes.Contains(parts.Body, []byte(want)) {
				t.Errorf("parts answers %s\nwant %s", parts.Body, want)
			}
			alice.Post("/api/files/upload-complete", M{"sessionId": id}).Fails(422, "OPERATION_FAILED")
			putPart(alice, id, 1, twoPartContent()[:partLength]).OK(200)
			parts = alice.Get(multipartPath + id + "/parts").OK(200)
			if parts.Int("completedCount") != 2 || !bytes.Contains(parts.Body, []byte(`"missingParts":[]`)) {
				t.Errorf("parts answers %s", parts.Body)
			}
			// The client's list of parts does not matter.
			done := alice.Post("/api/files/upload-complete",
				M{"sessionId": id, "etag": "forged",
					"parts": []M{{"partNumber": 2, "etag": "x"}, {"partNumber": 2, "etag": "y"}}}).OK(200)
			wantFieldsOf(t, done, "file", "id", "name", "path", "size", "createdAt")
			if got := alice.Get(home + "/a.bin").OK(200); !bytes.Equal(got.Body, twoPartContent()) {
				t.Errorf("%d other bytes", len(got.Body))
			}
			again := alice.Post("/api/files/upload-complete", M{"sessionId": id}).OK(200)
			if again.Value("alreadyCompleted") != true || again.Text("file.id") != done.Text("file.id") {
				t.Errorf("again: %s", again.Body)
			}
			wantUsed(t, alice, int64(len(twoPartContent())), 1)
		})
		t.Run("conditions for parts", func(t *testing.T) {
			alice := alice.In(t)
			for _, c := range []struct {
				size  int
				count any
				parts string
			}{{100 << 20, nil, "null"}, {100<<20 + 1, nil, "13"}, {10, 2, "1"}, {10, 1, "null"}, {0, 2, "null"},
				{partLength, 7, "1"}, {partLength + 1, 2, "2"}} {
				r := postUploadSession(alice, home, "s", c.size, M{"partCount": c.count}).OK(200)
				if !bytes.Contains(r.Body, []byte(`"totalParts":`+c.parts+`,`)) {
					t.Errorf("%d bytes, partCount %v: %s", c.size, c.count, r.Body)
				}
				abortUpload(alice, r.Text("sessionId")).OK(200)
			}
		})
		t.Run("numbers and lengths", func(t *testing.T) { // abuse cases C94, C100
			alice := alice.In(t)
			id := newTwoPartSession(alice, home, "n")
			for _, number := range []string{"0", "-1", "3", "10001", "01", "1e0", "+1", "%2B1", "%201", "1.0", "0x1",
				"one", "99999999999999999999", "1%00"} {
				putPart(alice, id, number, "12345").Fails(400, "VALIDATION_ERROR")
			}
			for _, body := range []string{"", "1234", "123456", strings.Repeat("x", 100_000)} {
				putPart(alice, id, 2, body).Fails(422, "OPERATION_FAILED")
				putPart(alice, id, 2, io.MultiReader(strings.NewReader(body))).Fails(422, "OPERATION_FAILED") // chunked
			}
			putPart(alice, id, 1, twoPartContent()[:partLength-1]).Fails(422, "OPERATION_FAILED")
			putPart(alice, id, 1, io.MultiReader(bytes.NewReader(twoPartContent()[:partLength-1]))).
				Fails(422, "OPERATION_FAILED")
			putPart(alice, id, 1, io.MultiReader(bytes.NewReader(twoPartContent()[:partLength+1]))).
				Fails(422, "OPERATION_FAILED")
			// interrupted
			alice.Do(apptest.Request{Method: "PUT", Path: multipartPath + id + "/part/2",
				Body: io.MultiReader(strings.NewReader("123")), Length: 5})
			if parts := alice.Get(multipartPath + id + "/parts").OK(200); parts.Int("completedCount") != 0 {
				t.Errorf("kept: %s", parts.Body)
			}
			putPart(alice, id, 2, io.MultiReader(strings.NewReader("12345"))).OK(200)
			abortUpload(alice, id).OK(200)
		})
		t.Run("states", func(t *testing.T) {
			alice := alice.In(t)
			id := newUploadSession(alice, home, "f", 5, M{"partCount": 2})
			putRaw(alice, id, "12345").Fails(409, "OPERATION_FAILED")
			for _, c := range []*apptest.Client{bob.In(t), l.Admin(t)} { // abuse case C36
				putPart(c, id, 1, "12345").Fails(404, "NOT_FOUND")
				c.Get(multipartPath+id+"/parts").Fails(404, "NOT_FOUND")
				c.Post(multipartPath+id+"/renew", nil).Fails(404, "NOT_FOUND")
				abortUpload(c, id).Fails(404, "NOT_FOUND")
			}
			putPart(alice, id, 1, "12345").OK(200)
			abortUpload(alice, id).OK(200)
			abortUpload(alice, id).OK(200)
			putPart(alice, id, 1, "12345").Fails(409, "OPERATION_FAILED")
			alice.Get(multipartPath+id+"/parts").Fails(409, "OPERATION_FAILED")
			alice.Post(multipartPath+id+"/renew", nil).Fails(409, "OPERATION_FAILED")
			single := newUploadSession(alice, home, "f", 5)
			putPart(alice, single, 1, "12345").Fails(409, "OPERATION_FAILED")
			alice.Get(multipartPath+single+"/parts").Fails(409, "OPERATION_FAILED")
			alice.Post(multipartPath+single+"/renew", nil).Fails(409, "OPERATION_FAILED")
			abortUpload(alice, single).OK(200)
		})
		t.Run("lists", func(t *testing.T) {
			carol := l.User(t, "carol")
			key, reader := carol.Key(M{"uploadPath": "/home/carol"}), carol.Key(M{"permissions": []string{"read"},
				"name": "reader"})
			mine := newUploadSession(carol, "/home/carol", "mine", 5, M{"partCount": 2, "idempotencyKey": "k"})
			theirs := newUploadSession(key, "/home/carol", "the key's", 7)
			putPart(carol, mine, 1, "12345").OK(200)
			item := func(id, name string, size int, more string) string {
				now := l.Clock.Now().UnixMilli()
				return fmt.Sprintf(
					`{"sessionId":%q,"status":"pending","path":"/home/carol","fileName":%q,"fileSize":%d,"uploadMode":"worker",%s,"createdAt":%d,"expiresAt":%d,"keptUntil":null}`,
					id, name, size, more, now, now+3600_000)
			}
			list := func(c *apptest.Client, query string, want ...string) {
				t.Helper()
				r := c.Get("/api/files/upload-sessions" + query).OK(200)
				for _, w := range want {
					if !bytes.Contains(r.Body, []byte(w)) {
						t.Errorf("%s: no %s in %s", query, w, r.Body)
					}
				}
				if n := len(r.Value("sessions").([]any)); n != len(want) {
					t.Errorf("%s: %d sessions, want %d: %s", query, n, len(want), r.Body)
				}
			}
			one := item(mine, "mine", 5, `"totalParts":1,"receivedBytes":5,"idempotencyKey":"k"`)
			other := item(theirs, "the key's", 7, `"totalParts":null,"receivedBytes":0,"idempotencyKey":null`)
			list(carol, "", one, other)
			list(carol, "?status=pending", one, other)
			list(carol, "?status=expired")
			list(key, "", other) // a key sees the sessions that it began
			list(bob.In(t), "")
			reader.Get("/api/files/upload-sessions").Fails(403, "FORBIDDEN")
			for _, status := range []string{"completed", "aborted", "Pending", "x"} {
				carol.Get("/api/files/upload-sessions?status="+status).Fails(400, "VALIDATION_ERROR")
			}
		})
	})
}

// The test covers a day: renewals, an expiry, kept parts, and a session that takes them over.
func TestMultipartSessionExpiryAndResume(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice", M{"maxStorage": len(twoPartContent()) + 10})
		const home = "/home/alice"
		key := M{"idempotencyKey": "big"}
		id := newTwoPartSession(alice, home, "big", key)
		putPart(alice, id, 1, twoPartContent()[:partLength]).OK(200)
		l.Clock.Advance(30 * time.Minute)
		r := alice.Post(multipartPath+id+"/renew", nil).OK(200)
		if r.Text("sessionId") != id || r.Int("expiresAt") != l.Clock.Now().Add(time.Hour).UnixMilli() ||
			r.Int("expiresIn") != 3600 || r.Int("totalParts") != 2 ||
			r.Text("uploadUrl") != apptest.BaseURL+multipartPath+id+"/part/" {
			t.Errorf("renewal answers %s", r.Body)
		}
		l.Clock.Advance(time.Hour - time.Millisecond)
		l.Sweep()
		if newTwoPartSession(alice, home, "big", key) != id {
			t.Error("the pending session was not resumed")
		}
		l.Clock.Advance(time.Millisecond)
		for range 2 {
			putPart(alice, id, 2, twoPartContent()[partLength:]).Fails(410, "UPLOAD_SESSION_EXPIRED")
			alice.Get(multipartPath+id+"/parts").Fails(410, "UPLOAD_SESSION_EXPIRED")
			alice.Post(multipartPath+id+"/renew", nil).Fails(410, "UPLOAD_SESSION_EXPIRED")
			alice.Post("/api/files/upload-complete", M{"sessionId": id}).Fails(410, "UPLOAD_SESSION_EXPIRED")
			l.Sweep()
		}
		kept := alice.Get("/api/files/upload-sessions?status=expired").OK(200)
		if !bytes.Contains(kept.Body, []byte(fmt.Sprintf(`"receivedBytes":%d`, partLength))) ||
			!bytes.Contains(kept.Body, []byte(fmt.Sprintf(`"keptUntil":%d`,
				l.Clock.Now().Add(24*time.Hour).UnixMilli()))) {
			t.Errorf("kept: %s", kept.Body)
		}
		postUploadSession(alice, home, "other", 16).Fails(413, "QUOTA_EXCEEDED") // the kept parts use all but 15 bytes
		l.Clock.Advance(20 * time.Hour)
		l.Sweep()
		alice = l.SignIn(t, "alice", "password of alice")
		postUploadSession(alice, home, "big", 6, key).Fails(400, "VALIDATION_ERROR")
		next := newTwoPartSession(alice, home, "big", key)
		if next == id {
			t.Error("the session of yesterday was resumed")
		}
		if parts := alice.Get(multipartPath + next + "/parts").
			OK(200); !bytes.Contains(parts.Body, []byte(`"missingParts":[2]`)) {
			t.Errorf("parts: %s", parts.Body)
		}
		putPart(alice, next, 2, twoPartContent()[partLength:]).OK(200)
		alice.Post("/api/files/upload-complete", M{"sessionId": next}).OK(200)
		if got := alice.Get(home + "/big").OK(200); !bytes.Equal(got.Body, twoPartContent()) {
			t.Errorf("%d other bytes", len(got.Body))
		}
		wantUsed(t, alice, int64(len(twoPartContent())), 1)
	})
}
