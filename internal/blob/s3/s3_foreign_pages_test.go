package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// pages are answers with status 200 from something in front of a server. The last one is
// well-formed XML, too.
var pages = map[string]string{
	"nothing": "",
	"a page": "<!DOCTYPE html><html><head><meta charset=utf-8><title>Back soon</title></head><p>Back " +
		"soon<br></html>",
	"a page of XML": `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>Back soon</p></body></html>`,
}

// page answers 200 with content instead of the server.
func page(content string) faultFunc {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		resp, err := answerWith(200, "")(r, nil)
		resp.Header.Set("Content-Type", "text/html")
		resp.ContentLength, resp.Body = int64(len(content)), io.NopCloser(strings.NewReader(content))
		return resp, err
	}
}

// A page in place of an S3 answer is an error, not an empty list or another success.
func TestPagesInTheServersPlace(t *testing.T) {
	t.Parallel()
	for name, content := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			key := blobtest.NewKey()
			if err := put(t, s, key); err != nil {
				t.Fatal(err)
			}
			u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			part, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
			if err != nil {
				t.Fatal(err)
			}
			never := func(blob.Key, int64, time.Time) error { return errors.New("called") }
			for what, c := range map[string]struct {
				call string
				do   func() error
			}{
				"Parts": {"GET upload", func() error { _, err := s.Parts(t.Context(), u); return err }},
				"Finish": {"GET upload",
					func() error { _, err := s.Finish(t.Context(), u, []blob.Part{part}); return err }},
				"Finish, completed": {"POST upload",
					func() error { _, err := s.Finish(t.Context(), u, []blob.Part{part}); return err }},
				"Walk": {"GET list", func() error { return s.Walk(t.Context(), never) }},
				"Sweep, uploads": {"GET uploads",
					func() error { _, err := s.Sweep(t.Context(), time.Now()); return err }},
				"Sweep, objects": {"GET list",
					func() error { _, err := s.Sweep(t.Context(), time.Unix(0, 0)); return err }},
				"Delete, uploads": {"GET uploads", func() error { return s.Delete(t.Context(), key) }},
				"Begin": {"POST uploads",
					func() error { _, err := s.Begin(t.Context(), key[:3]+u.Key[3:], 3, 3, ""); return err }},
				"Begin, asking": {"HEAD",
					func() error { _, err := s.Begin(t.Context(), u.Key, 3, 3, ""); return err }},
			} {
				p.inject(c.call, page(content))
				if err := c.do(); !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) ||
					errors.Is(err, blob.ErrPart) {
					t.Errorf("%s = %v, want ErrUnavailable", what, err)
				}
			}
			if content != "" { // some servers answer an empty 200 for a finished deletion
				p.inject("DELETE", slices.Repeat([]faultFunc{page(content)}, maxAttempts)...)
				if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) {
					t.Errorf("Delete = %v, want ErrUnavailable", err)
				}
				p.inject("DELETE upload", slices.Repeat([]faultFunc{page(content)}, maxAttempts)...)
				if err := s.Abort(t.Context(), u); !errors.Is(err, blob.ErrUnavailable) {
					t.Errorf("Abort = %v, want ErrUnavailable", err)
				}
			}
			if got := blobtest.Content(t, s, key); !bytes.Equal(got, []byte(small)) {
				t.Errorf("the object is %q", got)
			}
			if parts, err := s.Parts(t.Context(), u); err != nil || !slices.Equal(parts, []blob.Part{part}) {
				t.Errorf("Parts = %v, %v", parts, err)
			}
			if err := s.Abort(t.Context(), u); err != nil {
				t.Error(err)
			}
			noUploads(t, opts)
		})
	}
}

func TestWhatAnswersADeletion(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{
		"": true, " \r\n": true, "<DeleteResult/>": true,
		`<?xml version="1.0"?>` + "\n<Result><Deleted>x</Deleted></Result>": true,
		"OK": false, "<HTML></HTML>": false, pages["a page"]: false, pages["a page of XML"]: false, "<Error/>": false,
		`{"ok":true}`: false,
	} {
		for _, status := range []int{200, 202} {
			resp := &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(content)),
				Request: &http.Request{Method: "DELETE"}}
			if err := readWholeAnswer(resp); err != nil || want != (resp.StatusCode == status) {
				t.Errorf("%d %q: status %d, %v, want success: %t", status, content, resp.StatusCode, err, want)
			}
		}
	}
}

// A listing that returns the same page again ends with an error.
func TestListsThatDoNotGoOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		do       func(*Store, blob.Upload) error
		calls    int
	}{
		"parts, the same marker": {
			"<ListPartsResult><UploadId>x</UploadId><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker></ListPartsResult>",
			func(s *Store, u blob.Upload) error { _, err := s.Parts(t.Context(), u); return err }, 2,
		},
		"parts, no marker": {
			"<ListPartsResult><UploadId>x</UploadId><IsTruncated>true</IsTruncated></ListPartsResult>",
			func(s *Store, u blob.Upload) error { _, err := s.Parts(t.Context(), u); return err }, 1,
		},
		"parts, a marker of no part": {
			"<ListPartsResult><UploadId>x</UploadId><IsTruncated>true</IsTruncated><NextPartNumberMarker>10001</NextPartNumberMarker></ListPartsResult>",
			func(s *Store, u blob.Upload) error { _, err := s.Parts(t.Context(), u); return err }, 1,
		},
		"uploads, the same marker": {
			"<R><Bucket>b</Bucket><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker></R>",
			func(s *Store, u blob.Upload) error { return s.Delete(t.Context(), u.Key) }, 2,
		},
		"uploads, no marker": {
			"<R><Bucket>b</Bucket><IsTruncated>true</IsTruncated></R>",
			func(s *Store, u blob.Upload) error { return s.Delete(t.Context(), u.Key) }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, calls := newBucket(t), 0
			opts.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				calls++
				return page(c.document)(r, nil)
			})}
			u := blob.Upload{Key: blobtest.NewKey(), ID: "x", Size: 3, PartSize: 3}
			if err := c.do(open(t, opts), u); !errors.Is(err, blob.ErrUnavailable) || calls != c.calls {
				t.Errorf("%v after %d calls, want ErrUnavailable after %d", err, calls, c.calls)
			}
		})
	}
}

// Delete finds all uploads for its key on any number of pages, and none for a longer key with the
// same beginning.
func TestDeleteDropsUploadsOfManyPages(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	s := open(t, opts)
	s.pageSize = aws.Int32(2)
	key, longer := blob.Key("ab/"+hex32), blob.Key("ab/"+hex32+".png")
	for _, k := range []blob.Key{key, key, key, key, key, longer, longer} {
		if _, err := s.Begin(t.Context(), k, 3, 3, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := uploads(t, opts); !slices.Equal(got, []string{string(longer), string(longer)}) {
		t.Errorf("left: %q", got)
	}
}
