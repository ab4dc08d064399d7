package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// recordingTransport records the requested ranges.
type recordingTransport struct {
	http.RoundTripper
	asked []string
}

func (t *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.asked = append(t.asked, r.Method+" "+r.Header.Get("Range"))
	return t.RoundTripper.RoundTrip(r)
}

// OpenRange fetches only the range, allows reading beyond it, and never returns bytes of another
// object.
func TestOpenRange(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	watch := &recordingTransport{RoundTripper: opts.Egress.Transport()}
	opts.Client = &http.Client{Transport: watch}
	s := open(t, opts)
	body, key := bytes.Repeat([]byte("0123456789abcdef"), 1000), blobtest.NewKey()
	size := int64(len(body))
	if _, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: size}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, length int64
		asks          string
	}{{0, 1, "GET bytes=0-0"}, {5, 5, "GET bytes=5-9"}, {size - 1, 1, "GET bytes=15999-15999"},
		{0, size, "GET bytes=0-15999"}, {7, size - 7, "GET bytes=7-15999"}} {
		watch.asked = nil
		o, err := s.OpenRange(t.Context(), key, size, c.first, c.length)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got, err := io.ReadAll(io.LimitReader(o, c.length))
		if err != nil || !bytes.Equal(got, body[c.first:c.first+c.length]) || o.Size() != size ||
			!slices.Equal(watch.asked, []string{c.asks}) {
			t.Errorf("%+v: %d bytes, %v, asked %q", c, len(got), err, watch.asked)
		}
		if rest, err := io.ReadAll(o); err != nil || !bytes.Equal(rest, body[c.first+c.length:]) {
			t.Errorf("%+v, the rest: %d bytes, %v", c, len(rest), err)
		}
		if _, err := o.Seek(3, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if all, err := io.ReadAll(o); err != nil || !bytes.Equal(all, body[3:]) {
			t.Errorf("%+v, from 3 on: %d bytes, %v", c, len(all), err)
		}
		o.Close()
	}
	for _, c := range [][3]int64{{size, -1, 1}, {size, 0, 0}, {size, size, 1}, {size, 1, size},
		{size, 1 << 62, 1 << 62}} {
		if _, err := s.OpenRange(t.Context(), key, c[0], c[1], c[2]); err == nil {
			t.Errorf("OpenRange%v succeeded", c)
		}
	}
	for _, other := range []int64{size - 1, size + 1} {
		if _, err := s.OpenRange(t.Context(), key, other, 5, 5); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("of %d bytes: %v", other, err)
		}
		if _, err := s.OpenRange(t.Context(), key, other, 0, other); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("all of %d bytes: %v", other, err)
		}
	}
	if _, err := s.OpenRange(t.Context(), blobtest.NewKey(), size, 5, 5); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("of no object: %v", err)
	}
}

// An answer without an ETag is refused, also for the first range.
func TestRangeWithoutETag(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if err := put(t, s, key); err != nil {
		t.Fatal(err)
	}
	for _, first := range []int64{0, 5} {
		for _, tag := range []string{"", `""`} {
			p.inject("GET", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				resp, err := send()
				if err == nil {
					resp.Header.Set("Etag", tag)
				}
				return resp, err
			})
			if _, err := s.OpenRange(t.Context(), key, int64(len(small)), first, 5); !errors.Is(err,
				blob.ErrUnavailable) {
				t.Errorf("OpenRange at %d, answered with the ETag %q = %v, want ErrUnavailable", first, tag, err)
			}
		}
	}
}
