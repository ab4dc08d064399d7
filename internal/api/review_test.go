package api_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"larder/internal/apptest"
)

// counted is a form's body that notes how much of it was taken.
type counted struct {
	io.Reader
	taken atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.taken.Add(int64(n))
	return n, err
}

// A form whose path may still come waits on the disk of the service, where nobody puts more than their quota has room for.
func TestAWaitingFormStopsAtTheQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		key := l.User(t, "alice", m{"maxStorage": 3 << 20}).Key(m{"permissions": []string{"write"}})
		head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n"
		send := func(key *apptest.Client, size int64) (*apptest.Reply, int64) {
			body := &counted{Reader: io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\r\n--b--\r\n"))}
			r := key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: body, Header: http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}})
			return r, body.taken.Load()
		}
		r, taken := send(key, 64<<20)
		if taken > 24<<20 { // what lies in the buffers of the connection comes on top
			t.Errorf("%d bytes were taken in before the answer %d", taken, r.Status)
		}
		if r.Err == nil {
			r.Fails(413, "QUOTA_EXCEEDED")
		}
		r, _ = send(key, 2<<20)
		r.OK(200)

		none := l.User(t, "bob", m{"maxFiles": 0}).Key(m{"permissions": []string{"write"}})
		if r, taken = send(none, 64<<20); taken > 24<<20 {
			t.Errorf("%d bytes were taken in before the answer %d", taken, r.Status)
		}
		if r.Err == nil {
			r.Fails(413, "QUOTA_EXCEEDED")
		}
	})
}

// Abuse case C114: however it is written, the address of a token or link never stands in the log.
func TestAddressesThatAreSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c := l.Client(t)
		for _, path := range []string{
			"/api/gateway/download/s3cretTokenOrLink", "/api/gateway/%64ownload/s3cretTokenOrLink", "/api/gateway/download/s3cretTokenOrLink/", "//api/gateway/download/s3cretTokenOrLink",
			"/api/i/s3cretTokenOrLink.png", "/api/%69/s3cretTokenOrLink.png", "/api/i/s3cretTokenOrLink.png/", "/API/i/s3cretTokenOrLink",
		} {
			c.Get(path)
		}
		if strings.Contains(l.Log.String(), "s3cretTokenOrLink") {
			t.Errorf("the log tells: %s", l.Log)
		}
	})
}
