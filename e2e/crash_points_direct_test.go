package e2e

import (
	"strings"
	"testing"

	"larder/internal/blob/s3/s3test"
)

// directMount is a folder with direct uploads to a bucket.
const directMount = "/uploads/straight"

// inBucket creates directMount unless it exists.
func (f *crashFixture) inBucket(t *testing.T) {
	t.Helper()
	f.mount(t, directMount, func() object {
		return bucketProvider(s3test.New(t), object{"name": "straight"})
	})
}

// directCopied loses the copy from the staging key. The content at the staging key stays.
func directCopied(t *testing.T, w *crashFixture) crashAttempt {
	w.inBucket(t)
	name, content := w.fresh(), w.content(small(w))
	session := w.admin.announce(t, directMount, name, int64(len(content)), object{"conflict": "fail"})
	if session.UploadMode != "presigned" {
		t.Fatalf("the bytes are to come by mode %s", session.UploadMode)
	}
	etag, err := w.admin.put(session, 0, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
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
