package e2e

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"larder/internal/blob/s3/s3test"
)

// directMount is a folder with direct uploads to a bucket.
const directMount = "/uploads/straight"

// inBucket creates directMount unless it exists.
func (w *crashFixture) inBucket(t *testing.T) {
	t.Helper()
	w.mount(t, directMount, func() object {
		bucket := s3test.New(t)
		return object{
			"name": "straight", "type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name,
			"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey,
		}
	})
}

// putDirect sends content directly to the store and returns the ETag of its answer.
func putDirect(t *testing.T, address, content string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, bytes.NewReader([]byte(content)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the store answers %d: %s, %v", response.StatusCode, body, err)
	}
	return response.Header.Get("ETag")
}

// directCopied loses the copy from the staging key. The content at the staging key stays.
func directCopied(t *testing.T, w *crashFixture) crashAttempt {
	w.inBucket(t)
	name, content := w.fresh(), w.content(small(w))
	var session struct{ SessionID, UploadURL, UploadMode string }
	w.admin.do(t, "POST", "/api/files/upload-session",
		object{"path": directMount, "fileName": name, "fileSize": len(content), "conflict": "fail"}).
		data(t, 200, &session)
	if session.UploadMode != "presigned" {
		t.Fatalf("the bytes are to come by mode %s", session.UploadMode)
	}
	etag := putDirect(t, session.UploadURL, content)
	return crashAttempt{
		run: func() (reply, error) { return w.complete(session.SessionID, etag) },
		may: map[string][]string{directMount + "/" + name: {""}},
		again: func(t *testing.T) {
			r, err := w.complete(session.SessionID, etag)
			if err != nil {
				t.Fatal(err)
			}
			r.want(t, 200)
			w.kept[directMount+"/"+name] = content
		},
	}
}
