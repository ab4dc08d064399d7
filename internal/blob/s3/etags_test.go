package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
)

// etagTransport changes the ETags in the answers of a server.
type etagTransport struct {
	inner  http.RoundTripper
	change func(etag string) string // without its quotes
}

var tagElement = regexp.MustCompile(`<ETag>(?:&#34;|&quot;|")?([^<&"]*)(?:&#34;|&quot;|")?</ETag>`)

func (t etagTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if etag := resp.Header.Get("Etag"); etag != "" {
		resp.Header.Set("Etag", t.change(unquotedETag(etag)))
	}
	if !strings.Contains(resp.Header.Get("Content-Type"), "xml") {
		return resp, nil
	}
	content, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	content = tagElement.ReplaceAllFunc(content, func(element []byte) []byte {
		return []byte("<ETag>" + t.change(string(tagElement.FindSubmatch(element)[1])) + "</ETag>")
	})
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	resp.Header.Del("Content-Length")
	return resp, err
}

func newStoreWithETags(t *testing.T, change func(string) string) (*Store, Options) {
	t.Helper()
	opts := newBucket(t)
	client := s3test.Egress().Client()
	opts.Client = &http.Client{Transport: etagTransport{client.Transport, change}}
	t.Cleanup(client.CloseIdleConnections)
	return open(t, opts), opts
}

// Some servers omit the quotes, and some use upper case. These ETags are equal.
func TestETagsInOtherForms(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"without quotes": func(tag string) string { return tag },
		"upper case":     func(tag string) string { return `"` + strings.ToUpper(tag) + `"` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, opts := newStoreWithETags(t, change)
			withSmallCopyParts(s)
			for _, size := range []int{len(small), minPart + 1} { // the longer one's ETag ends in -2
				if name == "upper case" && size > minPart {
					continue // the real server would not recognize its own parts
				}
				body, key, again := variedContent(size), blobtest.NewKey(), blobtest.NewKey()
				info, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: int64(size)})
				if err != nil {
					t.Fatalf("Put of %d bytes: %v", size, err)
				}
				if st, err := s.Stat(t.Context(), key); err != nil || !sameETag(st.ETag, info.ETag) {
					t.Errorf("Stat = %+v, %v, Put said %+v", st, err, info)
				}
				if !bytes.Equal(blobtest.Content(t, s, key), body) {
					t.Error("read other bytes")
				}
				if name == "upper case" {
					continue // the real server would not accept it in a condition
				}
				o, err := s.Open(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				if _, err := o.Seek(7, io.SeekStart); err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, body[7:]) {
					t.Errorf("read from the middle: %v", err)
				}
				if _, err := s.CopyFrom(t.Context(), again, s, key, "", info.ETag); err != nil {
					t.Errorf("CopyFrom: %v", err)
				}
			}
			noUploads(t, opts)
		})
	}
}

// backwards returns an ETag in the form of an MD5 that is not the MD5 of the bytes, as for
// encrypted objects.
func backwards(tag string) string {
	b := []byte(tag)
	if len(b) == 32 {
		slices.Reverse(b)
	}
	return `"` + string(b) + `"`
}

func TestETagsThatAreNoMD5(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"object first": "Put", "part first": "PutPart"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, opts := newStoreWithETags(t, backwards)
			put := func() {
				key := blobtest.NewKey()
				info, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1})
				if err != nil || !sameETag(info.ETag, backwards(unquotedETag(smallTag))) {
					t.Fatalf("Put = %+v, %v", info, err)
				}
			}
			if first == "Put" {
				put()
			}
			u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			part, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
			if err != nil {
				t.Fatalf("PutPart: %v", err)
			}
			if parts, err := s.Parts(t.Context(), u); err != nil || !slices.Equal(parts, []blob.Part{part}) {
				t.Errorf("Parts = %+v, %v, PutPart said %+v", parts, err, part)
			}
			put()
			if err := s.Abort(t.Context(), u); err != nil {
				t.Error(err)
			}
			noUploads(t, opts)
		})
	}
}

// garbleBody changes one byte of the body.
func garbleBody(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	content[len(content)/2] ^= 1
	r.Body = io.NopCloser(bytes.NewReader(content))
	return send()
}

// Corrupted bodies are detected by the server or by the store.
func TestGarbledBodies(t *testing.T) {
	t.Parallel()
	for call, size := range map[string]int{"PUT": len(small), "PUT part": minPart + 1} {
		s, p, opts := newFaultyStore(t)
		key := blobtest.NewKey()
		p.inject(call, garbleBody)
		if _, err := s.Put(t.Context(), key, bytes.NewReader(variedContent(size)),
			blob.PutOptions{Size: int64(size)}); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("Put of %d bytes = %v, want ErrUnavailable", size, err)
		}
		blobtest.WantAbsent(t, s, key)
		noUploads(t, opts)
	}
	s, p, _ := newFaultyStore(t)
	u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
	if err != nil {
		t.Fatal(err)
	}
	p.inject("PUT part", garbleBody)
	if _, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("PutPart = %v, want ErrUnavailable", err)
	}
	if _, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small)); err != nil {
		t.Errorf("PutPart again = %v", err)
	}
	if _, err := blobtest.FinishListed(t.Context(), s, u); err != nil {
		t.Errorf("Finish = %v", err)
	}
	if got := string(blobtest.Content(t, s, u.Key)); got != small {
		t.Errorf("the object is %q", got)
	}
}

func TestAnswersWithoutAnETag(t *testing.T) {
	t.Parallel()
	s, _ := newStoreWithETags(t, func(string) string { return "" })
	faultless := blobtest.NewKey()
	if _, err := s.Put(t.Context(), faultless, strings.NewReader(small),
		blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Put = %v", err)
	}
	if _, err := s.Stat(t.Context(), faultless); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Stat = %v", err)
	}
	if _, err := s.Open(t.Context(), faultless); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Open = %v", err)
	}
}

// An object has the type given at its creation, for each way of creating it.
func TestTypes(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	s := withSmallCopyParts(open(t, opts))
	for _, mimeType := range []string{"image/webp", "text/plain; charset=utf-8", ""} {
		var keys []blob.Key
		key := func() blob.Key {
			keys = append(keys, blobtest.NewKey())
			return keys[len(keys)-1]
		}
		for _, size := range []int{len(small), minPart + 1} {
			source := key()
			if _, err := s.Put(t.Context(), source, bytes.NewReader(variedContent(size)),
				blob.PutOptions{Size: int64(size), MimeType: mimeType}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CopyFrom(t.Context(), key(), s, source, mimeType, ""); err != nil {
				t.Fatal(err)
			}
		}
		u, err := s.Begin(t.Context(), key(), int64(len(small)), minPart, mimeType)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small)); err != nil {
			t.Fatal(err)
		}
		if _, err := blobtest.FinishListed(t.Context(), s, u); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			got := aws.ToString(head(t, opts, key).ContentType)
			if got != mimeType && (mimeType != "" || !strings.HasSuffix(got, "/octet-stream")) {
				t.Errorf("object %d is %q, want %q", i, got, mimeType)
			}
		}
	}
}

// A cut body that the server stored as an object of the expected size, with the mark, is not a
// success of Put.
func TestPutOfATornBodyIsNoSuccess(t *testing.T) {
	t.Parallel()
	s, p, opts := newFaultyStore(t)
	opts.Client = nil
	past, key := open(t, opts), blobtest.NewKey()
	p.inject("PUT", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		_, err := past.client.PutObject(t.Context(), &sdk.PutObjectInput{
			Bucket: &opts.Bucket, Key: aws.String(string(key)),
			Body:     strings.NewReader(small[:len(small)/2] + strings.Repeat("\x00", len(small)-len(small)/2)),
			Metadata: map[string]string{markName: r.Header.Get("X-Amz-Meta-" + markName)},
		})
		return nil, errors.Join(err, errTimeout)
	})
	if info, err := s.Put(t.Context(), key, strings.NewReader(small),
		blob.PutOptions{Size: int64(len(small))}); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Put = %+v, %v, want ErrUnavailable", info, err)
	}
	blobtest.WantAbsent(t, s, key)
	if err := put(t, s, key); err != nil {
		t.Errorf("Put again = %v", err)
	}
	noUploads(t, opts)
}
