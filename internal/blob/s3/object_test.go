package s3

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

func TestReadGoesOnWhereTheServerBrokeOff(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatal(err)
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, errTimeout} {
		short := func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			resp, err := send()
			if err == nil {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.MultiReader(io.LimitReader(resp.Body, 5), failing{end}), resp.Body}
			}
			return resp, err
		}
		p.inject("GET", short, short, short)
		if got := string(blobtest.Content(t, s, key)); got != small {
			t.Errorf("body that breaks off three times with %q: %q", end, got)
		}
		p.inject("GET", short, short, short, short)
		o, err := s.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(o)
		if string(got) != small[:20] || !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("body that breaks off four times with %q: read %q, %v, want ErrUnavailable", end, got, err)
		}
		rest, err := io.ReadAll(o) // another GET resumes there
		if err != nil || string(got)+string(rest) != small {
			t.Errorf("read on: %q, %v", rest, err)
		}
		o.Close()
	}
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	// the server ignores the range
	p.inject("GET", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		r.Header.Del("Range")
		resp, err := send()
		// the changed request has no valid signature, which serves as well
		if err == nil && resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			return answerWith(200, "")(&http.Request{Method: "GET", URL: r.URL}, nil)
		}
		return resp, err
	})
	if got, err := io.ReadAll(o); !errors.Is(err, blob.ErrUnavailable) || len(got) > 0 {
		t.Errorf("server that ignores the range: %q, %v, want ErrUnavailable", got, err)
	}
}

// A resumed read must continue the same object and have the right length.
func TestReadGoesOnInTheSameObjectOnly(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if err := put(t, s, key); err != nil {
		t.Fatal(err)
	}
	spoil := func(change func(*http.Response)) faultFunc {
		return func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			resp, err := send()
			if err == nil {
				change(resp)
			}
			return resp, err
		}
	}
	short := spoil(func(resp *http.Response) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, 5), resp.Body}
	})
	for name, change := range map[string]func(*http.Response){
		"another ETag":   func(resp *http.Response) { resp.Header.Set("Etag", `"0123456789abcdef0123456789abcdef"`) },
		"another range":  func(resp *http.Response) { resp.Header.Set("Content-Range", "bytes 0-29/30") },
		"another length": func(resp *http.Response) { resp.Header.Set("Content-Length", "30") },
	} {
		p.inject("GET", short, spoil(change))
		o, err := s.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(o); string(got) != small[:5] || !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%s: read %q, %v, want ErrUnavailable", name, got, err)
		}
		o.Close()
	}
	p.inject("GET", short, answerWith(404, ""), answerWith(200, ""))
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for range 2 { // a proxy's 404, and an answer without an object
		if got, err := io.ReadAll(o); !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("read %q, %v, want ErrUnavailable", got, err)
		}
	}
}
