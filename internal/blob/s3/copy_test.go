package s3

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// withSmallCopyParts makes a store copy everything longer than one part in parts.
func withSmallCopyParts(s *Store) *Store {
	s.copyMax, s.copyPart = minPart, minPart
	return s
}

// head returns the description of a key, bypassing the store.
func head(t *testing.T, opts Options, key blob.Key) *sdk.HeadObjectOutput {
	t.Helper()
	opts.Client = nil
	got, err := open(t, opts).client.HeadObject(t.Context(),
		&sdk.HeadObjectInput{Bucket: &opts.Bucket, Key: aws.String(string(key))})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// variedContent returns n bytes in which no two parts are equal.
func variedContent(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16 ^ i>>20)
	}
	return b
}

func TestCopyBetweenBucketsOfOneServer(t *testing.T) {
	t.Parallel()
	from, to := newBucket(t), newBucket(t)
	source, target := open(t, from), withSmallCopyParts(open(t, to))
	for _, size := range []int{0, 1, minPart - 1, minPart, minPart + 1, 2 * minPart, 3*minPart + 7} {
		body, key, original := variedContent(size), blobtest.NewKey(), blobtest.NewKey()
		if _, err := source.Put(t.Context(), original, bytes.NewReader(body),
			blob.PutOptions{Size: int64(size)}); err != nil {
			t.Fatal(err)
		}
		was, err := source.Stat(t.Context(), original)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := target.CopyFrom(t.Context(), key, source, original, "image/png",
			`"0123456789abcdef0123456789abcdef"`); !errors.Is(err, blob.ErrChanged) {
			t.Errorf("%d bytes: copy of other bytes: %v, want ErrChanged", size, err)
		}
		blobtest.WantAbsent(t, target, key)
		// with or without quotes
		info, err := target.CopyFrom(t.Context(), key, source, original, "image/png", unquotedETag(was.ETag))
		if err != nil || info.Size != int64(size) || info.ETag == "" {
			t.Fatalf("%d bytes: CopyFrom = %+v, %v", size, info, err)
		}
		if !bytes.Equal(blobtest.Content(t, target, key), body) {
			t.Errorf("%d bytes: read others", size)
		}
		if got := head(t, to, key); aws.ToString(got.ContentType) != "image/png" ||
			!sameETag(info.ETag, aws.ToString(got.ETag)) {
			t.Errorf("%d bytes: type %q, ETag %q, told %q", size, aws.ToString(got.ContentType), aws.ToString(got.ETag),
				info.ETag)
		}
		if _, err := target.CopyFrom(t.Context(), key, source, original, "", ""); !errors.Is(err, blob.ErrExists) {
			t.Errorf("%d bytes: copy over an object: %v, want ErrExists", size, err)
		}
		missing := blobtest.NewKey()
		if _, err := target.CopyFrom(t.Context(), missing, source, blobtest.NewKey(), "", ""); !errors.Is(err,
			blob.ErrNotFound) {
			t.Errorf("copy of a missing object: %v, want ErrNotFound", err)
		}
	}
	noUploads(t, to)
}

func TestCopyOnlyWithinOneServer(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	s := open(t, opts)
	source := blobtest.NewKey()
	if err := put(t, s, source); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"other secret":   func(o *Options) { o.SecretKey += "x" },
		"other user":     func(o *Options) { o.AccessKey += "x" },
		"other endpoint": func(o *Options) { o.Endpoint = strings.Replace(o.Endpoint, "127.0.0.1", "s3.test", 1) },
	} {
		other := opts
		change(&other)
		if _, err := open(t, other).CopyFrom(t.Context(), blobtest.NewKey(), s, source, "", ""); !errors.Is(err,
			blob.ErrCopyUnsupported) {
			t.Errorf("%s: %v, want ErrNoCopy", name, err)
		}
	}
	if _, err := s.CopyFrom(t.Context(), blobtest.NewKey(), blobtest.NewFaultyStore(s), source, "", ""); !errors.Is(err,
		blob.ErrCopyUnsupported) {
		t.Errorf("another kind of store: %v, want ErrNoCopy", err)
	}
	if _, err := s.CopyFrom(t.Context(), "x", s, source, "", ""); !errors.Is(err, blob.ErrKey) {
		t.Errorf("to no key: %v", err)
	}
	if _, err := s.CopyFrom(t.Context(), blobtest.NewKey(), s, "x", "", ""); !errors.Is(err, blob.ErrKey) {
		t.Errorf("from no key: %v", err)
	}
}

func TestCopyDuringFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		long  bool
		call  string
		fault faultFunc
		times int
		want  error // nil: copied
	}{
		"done, answer lost":             {false, "PUT", loseAnswer, 1, nil},
		"not done":                      {false, "PUT", loseRequest, 1, blob.ErrUnavailable},
		"200 with an error":             {false, "PUT", answerWith(200, "InternalError"), 1, blob.ErrUnavailable},
		"200 with nothing":              {false, "PUT", answerWith(200, ""), 1, blob.ErrUnavailable},
		"source has gone":               {false, "PUT", answerWith(404, "NoSuchKey"), 1, blob.ErrNotFound},
		"bucket of the source has gone": {false, "PUT", answerWith(404, "NoSuchBucket"), 1, blob.ErrUnavailable},
		"404 of a proxy":                {false, "PUT", answerWith(404, ""), 1, blob.ErrUnavailable},
		"source has changed":            {false, "PUT", answerWith(412, "PreconditionFailed"), 1, blob.ErrChanged},
		"no conditions known":           {false, "PUT", answerWith(501, "NotImplemented"), 1, nil},
		"part: lost once":               {true, "PUT part", loseRequest, 1, nil},
		"part: 503 twice":               {true, "PUT part", answerWith(503, "SlowDown"), 2, nil},
		"part: 503 always": {true, "PUT part", answerWith(503, "SlowDown"), 3 * maxAttempts,
			blob.ErrUnavailable},
		"part: 200 with an error, always": {true, "PUT part", answerWith(200, "InternalError"), 3 * maxAttempts,
			blob.ErrUnavailable},
		"part: 200 with nothing":       {true, "PUT part", answerWith(200, ""), 3, blob.ErrUnavailable},
		"part: source has gone":        {true, "PUT part", answerWith(404, "NoSuchKey"), 3, blob.ErrNotFound},
		"part: source has changed":     {true, "PUT part", answerWith(412, "PreconditionFailed"), 3, blob.ErrChanged},
		"part: no conditions known":    {true, "PUT part", answerWith(501, "NotImplemented"), 1, nil},
		"long: completed, answer lost": {true, "POST upload", loseAnswer, 1, nil},
		"long: not completed":          {true, "POST upload", loseRequest, 1, blob.ErrUnavailable},
		"long: 200 with an error": {true, "POST upload", answerWith(200, "InternalError"), 1,
			blob.ErrUnavailable},
		"long: NoSuchUpload once completed": {true, "POST upload", twice("NoSuchUpload"), 1, nil},
		"long: not begun":                   {true, "POST uploads", loseRequest, 1, blob.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			withSmallCopyParts(s)
			body := []byte(small)
			if c.long {
				body = variedContent(2*minPart + 1)
			}
			source, key := blobtest.NewKey(), blobtest.NewKey()
			if _, err := s.Put(t.Context(), source, bytes.NewReader(body),
				blob.PutOptions{Size: int64(len(body))}); err != nil {
				t.Fatal(err)
			}
			p.inject(c.call, slices.Repeat([]faultFunc{c.fault}, c.times)...)
			info, err := s.CopyFrom(t.Context(), key, s, source, "", "")
			p.clear()
			if !errors.Is(err, c.want) || c.want == nil && err != nil || c.want != blob.ErrNotFound &&
				errors.Is(err, blob.ErrNotFound) {
				t.Fatalf("CopyFrom = %v, want %v", err, c.want)
			}
			noUploads(t, opts)
			if err != nil {
				blobtest.WantAbsent(t, s, key)
				return
			}
			if !bytes.Equal(blobtest.Content(t, s, key), body) || info.Size != int64(len(body)) {
				t.Errorf("the copy is another, or %+v is wrong", info)
			}
		})
	}
}

// On a server that ignores conditions, the copied object may differ from the one that was checked.
func TestSourceThatChangesWhileItIsCopied(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"at once": len(small), "in parts": minPart + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			withSmallCopyParts(s)
			source, key := blobtest.NewKey(), blobtest.NewKey()
			if _, err := s.Put(t.Context(), source, bytes.NewReader(variedContent(size)),
				blob.PutOptions{Size: int64(size)}); err != nil {
				t.Fatal(err)
			}
			past := opts
			past.Client = nil
			sound := open(t, past)
			call := map[bool]string{true: "PUT", false: "PUT part"}[size < minPart]
			p.inject(call, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				_, err := sound.client.PutObject(context.WithoutCancel(r.Context()), &sdk.PutObjectInput{
					Bucket: &opts.Bucket, Key: aws.String(string(source)), Body: bytes.NewReader(make([]byte, size)),
				})
				if err != nil {
					t.Error(err)
				}
				return answerWith(501, "NotImplemented")(r, send)
			})
			if _, err := s.CopyFrom(t.Context(), key, s, source, "", ""); !errors.Is(err, blob.ErrChanged) {
				t.Errorf("CopyFrom = %v, want ErrChanged", err)
			}
			blobtest.WantAbsent(t, s, key)
			noUploads(t, opts)
		})
	}
}

// Of two copies to one key the second returns ErrExists, also when it began before the first ended,
// on a server that supports conditions.
func TestCopiesToOneKey(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	source, key := blobtest.NewKey(), blobtest.NewKey()
	if err := put(t, s, source); err != nil {
		t.Fatal(err)
	}
	p.inject("PUT", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if _, err := s.Put(context.WithoutCancel(r.Context()), key, strings.NewReader("first"),
			blob.PutOptions{Size: 5}); err != nil {
			t.Error(err)
		}
		if r.Header.Get("If-None-Match") != "*" {
			t.Error("the copy has no condition")
		}
		return answerWith(412, "PreconditionFailed")(r, send)
	})
	if _, err := s.CopyFrom(t.Context(), key, s, source, "", ""); !errors.Is(err, blob.ErrExists) {
		t.Errorf("CopyFrom = %v, want ErrExists", err)
	}
	if got := string(blobtest.Content(t, s, key)); got != "first" {
		t.Errorf("the object is %q", got)
	}
}
