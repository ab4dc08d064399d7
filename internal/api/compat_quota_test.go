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
