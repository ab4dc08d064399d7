package s3

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// When two calls finish one upload, the second finds its own object and succeeds, also on a server
// without conditions. If the object is another one, it returns ErrExists.
func TestFinishMeetsAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own  bool // the other call finishes the same upload
		want error
	}{"the same upload": {true, nil}, "another object": {false, blob.ErrExists}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			opts.Client = nil
			other := open(t, opts) // as in another process
			s.noIfNoneMatch.Store(true)
			u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			part, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
			if err != nil {
				t.Fatal(err)
			}
			p.inject("HEAD", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				var err error
				if c.own {
					_, err = other.Finish(t.Context(), u, []blob.Part{part})
				} else {
					err = put(t, other, u.Key)
				}
				if err != nil {
					t.Error(err)
				}
				return send()
			})
			info, err := s.Finish(t.Context(), u, []blob.Part{part})
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || info.Size != u.Size) {
				t.Errorf("Finish = %+v, %v, want %v", info, err, c.want)
			}
			if err := s.Abort(t.Context(), u); err != nil {
				t.Error(err)
			}
			noUploads(t, opts)
		})
	}
}

// A part that is replaced after the listing, for example by a cut body that the server took for
// complete, is not assembled, since the server compares the ETags.
func TestFinishRefusesAPartReplacedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s, p, opts := newFaultyStore(t)
	opts.Client = nil
	other := open(t, opts) // as in another process
	u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	p.inject("POST upload", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if _, err := other.PutPart(t.Context(), u, 1, strings.NewReader(strings.ToUpper(small))); err != nil {
			t.Error(err)
		}
		return send()
	})
	if _, err := s.Finish(t.Context(), u, []blob.Part{wanted}); !errors.Is(err, blob.ErrPart) {
		t.Errorf("Finish = %v, want ErrPart", err)
	}
	blobtest.WantAbsent(t, s, u.Key)
	again, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), u, []blob.Part{again}); err != nil {
		t.Errorf("Finish once it was sent again = %v", err)
	}
	if got := string(blobtest.Content(t, s, u.Key)); got != small {
		t.Errorf("the object is %q", got)
	}
	noUploads(t, opts)
}
