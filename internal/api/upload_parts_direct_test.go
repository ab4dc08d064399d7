package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// partURL returns the address of a part in an answer.
func partURL(t *testing.T, r *apptest.Reply, list string, number int64) string {
	t.Helper()
	for i := range r.Value(list).([]any) {
		if r.Int(fmt.Sprintf("%s.%d.partNumber", list, i)) == number {
			return r.Text(fmt.Sprintf("%s.%d.url", list, i))
		}
	}
	t.Fatalf("no address of part %d: %s", number, r.Body)
	return ""
}

func TestDirectUploadInParts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"pathPrefix": "larder"})
		alice := l.User(t, "alice")
		const home = "/home/alice"
		first, last := twoPartContent()[:partLength], twoPartContent()[partLength:]
		r := postUploadSession(alice, home, "a.bin", len(twoPartContent()), M{"partCount": 2, "idempotencyKey": "k"}).
			OK(200)
		id := r.Text("sessionId")
		if r.Text("uploadMode") != "presigned" || r.Text("uploadId") == "" || r.Int("totalParts") != 2 ||
			len(r.Value("parts").([]any)) != 2 ||
			r.Text("uploadUrl") != apptest.BaseURL+multipartPath+id+"/part/" {
			t.Errorf("got %s", r.Body)
		}
		one, two := partURL(t, r, "parts", 1), partURL(t, r, "parts", 2)
		if addressLifetime(t, one) != 3600 || !strings.Contains(one, "uploadId="+r.Text("uploadId")) ||
			keyOfAddress(t, bucket, one) != keyOfAddress(t, bucket, two) {
			t.Errorf("addresses %s and %s", one, two)
		}
		// Abuse cases C100, C103.
		for what, c := range map[string]struct {
			address string
			body    []byte
		}{
			"another number":  {strings.Replace(two, "partNumber=2", "partNumber=1", 1), last},
			"no such number":  {strings.Replace(two, "partNumber=2", "partNumber=3", 1), last},
			"another upload":  {strings.Replace(two, "uploadId=", "uploadId=0", 1), last},
			"another length":  {two, last[1:]},
			"a longer body":   {two, twoPartContent()[partLength-1:]},
			"a shorter first": {one, last},
		} {
			if status, _ := putToAddress(t, c.address, c.body); status != 403 {
				t.Errorf("%s: %d", what, status)
			}
		}
		etag := mustPutToAddress(t, two, last)
		parts := alice.Get(multipartPath + id + "/parts").OK(200)
		if parts.Text("uploadMode") != "presigned" || parts.Int("completedCount") != 1 ||
			len(parts.Value("presignedParts").([]any)) != 1 ||
			strings.Trim(parts.Text("parts.0.etag"), `"`) != strings.Trim(etag, `"`) ||
			parts.Int("parts.0.partNumber") != 2 || parts.Int("missingParts.0") != 1 {
			t.Errorf("parts: %s", parts.Body)
		}
		alice.Post("/api/files/upload-complete", M{"sessionId": id}).Fails(422, "OPERATION_FAILED")
		for _, bad := range []any{"x", 1, M{}, []any{1}, []any{"x"}, []M{{"partNumber": "1", "etag": "x"}},
			[]M{{"partNumber": 1, "etag": 2}}, []M{{"partNumber": 1.5, "etag": "x"}}} {
			alice.Post("/api/files/upload-complete", M{"sessionId": id, "parts": bad}).Fails(400, "VALIDATION_ERROR")
		}

		// A renewal gives another hour, and addresses that last as long.
		l.Clock.Advance(30*time.Minute + time.Second)
		again := alice.Post(multipartPath+id+"/renew", nil).OK(200)
		if addressLifetime(t, partURL(t, again, "parts", 1)) != 3600 || again.Int("expiresIn") != 3600 ||
			again.Text("uploadMode") != "presigned" || again.Text("uploadId") != r.Text("uploadId") {
			t.Errorf("renewed: %s", again.Body)
		}
		l.Clock.Advance(10 * time.Minute)
		parts = alice.Get(multipartPath + id + "/parts").OK(200)
		if one = partURL(t, parts, "presignedParts", 1); addressLifetime(t, one) != 3000 {
			t.Errorf("parts: %s", parts.Body)
		}
		putPart(alice, id, 1, twoPartContent()[1:partLength+1]).OK(200) // through the service, and then directly again
		mustPutToAddress(t, one, first)
		if parts = alice.Get(multipartPath + id + "/parts").
			OK(200); !bytes.Contains(parts.Body,
			[]byte(`"missingParts":[],"presignedParts":[],"uploadMode":"presigned"`)) {
			t.Errorf("parts: %s", parts.Body)
		}

		// The client's list of parts does not matter: forged, repeated, in any order, or too long.
		done := alice.Post("/api/files/upload-complete",
			M{"sessionId": id, "etag": "forged",
				"parts": []M{{"partNumber": 9, "etag": "x"}, {"partNumber": 2, "etag": "x"},
					{"partNumber": 2, "etag": "y"}}}).OK(200)
		if got := alice.Get(home + "/a.bin").OK(200); !bytes.Equal(got.Body, twoPartContent()) {
			t.Errorf("%d other bytes", len(got.Body))
		}
		if status, _ := putToAddress(t, two, []byte("xxxxx")); status != 404 {
			t.Errorf("a part after the end: %d", status)
		}
		if got := alice.Get(home + "/a.bin").OK(200); !bytes.Equal(got.Body, twoPartContent()) {
			t.Error("the file changed")
		}
		waitForChecksum(t, l, string(twoPartContent()))
		wantUsed(t, alice, int64(len(twoPartContent())), 1)
		wantBucketObjects(t, "complete", bucket, 1)
		alice.Delete("/api/files/" + done.Text("file.id")).OK(200)
		l.Clock.Advance(3 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "deleted", bucket, 0)
	}, apptest.ReachLoopback)
}

// An abort leaves nothing, and the session's addresses stop working. New sessions continue with the
// parts kept from an expired one.
func TestDirectUploadInPartsEnds(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		const home = "/home/alice"
		size, key := len(twoPartContent()), M{"partCount": 2, "idempotencyKey": "k"}
		r := postUploadSession(alice, home, "a", size, M{"partCount": 2}).OK(200)
		two := partURL(t, r, "parts", 2)
		mustPutToAddress(t, two, twoPartContent()[partLength:])
		wantReserved(t, l, int64(size), 1)
		abortUpload(alice, r.Text("sessionId")).OK(200)
		wantReserved(t, l, 0, 0)
		l.Sweep()
		wantBucketObjects(t, "aborted", bucket, 0)
		if status, _ := putToAddress(t, two, twoPartContent()[partLength:]); status != 404 {
			t.Errorf("a part after the abort: %d", status)
		}
		alice.Get(multipartPath+r.Text("sessionId")+"/parts").Fails(409, "OPERATION_FAILED")

		r = postUploadSession(alice, home, "b", size, key).OK(200)
		mustPutToAddress(t, partURL(t, r, "parts", 1), twoPartContent()[:partLength])
		l.Clock.Advance(time.Hour)
		alice.Get(multipartPath+r.Text("sessionId")+"/parts").Fails(410, "UPLOAD_SESSION_EXPIRED")
		alice.Post("/api/files/upload-complete", M{"sessionId": r.Text("sessionId")}).
			Fails(410, "UPLOAD_SESSION_EXPIRED")
		l.Sweep()
		wantReserved(t, l, partLength, 0)
		l.Clock.Advance(23 * time.Hour)
		l.Sweep()
		alice = l.SignIn(t, "alice", "password of alice")
		next := postUploadSession(alice, home, "b", size, key).OK(200)
		if next.Text("sessionId") == r.Text("sessionId") || next.Text("uploadMode") != "presigned" ||
			next.Text("uploadId") != r.Text("uploadId") {
			t.Errorf("the next day: %s", next.Body)
		}
		parts := alice.Get(multipartPath + next.Text("sessionId") + "/parts").OK(200)
		if len(parts.Value("presignedParts").([]any)) != 1 {
			t.Errorf("parts: %s", parts.Body)
		}
		mustPutToAddress(t, partURL(t, parts, "presignedParts", 2), twoPartContent()[partLength:])
		alice.Post("/api/files/upload-complete", M{"sessionId": next.Text("sessionId")}).OK(200)
		if got := alice.Get(home + "/b").OK(200); !bytes.Equal(got.Body, twoPartContent()) {
			t.Errorf("%d other bytes", len(got.Body))
		}

		// No client continues.
		r = postUploadSession(alice, home, "c", size, M{"partCount": 2, "idempotencyKey": "c"}).OK(200)
		mustPutToAddress(t, partURL(t, r, "parts", 2), twoPartContent()[partLength:])
		wantReserved(t, l, int64(size), 1)
		l.Clock.Advance(time.Hour)
		l.Sweep()
		wantReserved(t, l, 5, 0)
		l.Clock.Advance(24 * time.Hour)
		l.Sweep()
		wantReserved(t, l, 0, 0)
		wantBucketObjects(t, "the end", bucket, 1)
		wantUsed(t, l.SignIn(t, "alice", "password of alice"), int64(size), 1)
	}, apptest.ReachLoopback)
}
