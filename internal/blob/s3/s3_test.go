package s3

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/egress"
	"larder/internal/ident"
)

var ids = ident.New(rand.Reader)

// newBucket creates a bucket on the server that scripts/services started, and returns the options
// for it.
func newBucket(t testing.TB) Options {
	t.Helper()
	b := s3test.New(t)
	return Options{
		Endpoint: b.Endpoint, Bucket: b.Name, AccessKey: b.AccessKey, SecretKey: b.SecretKey, PathStyle: true,
		PartSize: minPart, IDs: ids,
		Egress: s3test.Egress(),
	}
}

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// noUploads fails the test when an unfinished upload is left.
func noUploads(t *testing.T, opts Options) {
	t.Helper()
	opts.Client = nil
	list, err := open(t, opts).client.ListMultipartUploads(t.Context(),
		&sdk.ListMultipartUploadsInput{Bucket: &opts.Bucket})
	if err != nil || len(list.Uploads) > 0 {
		t.Errorf("uploads left: %+v, %v", list, err)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, newBucket(t)) })
}

func TestUploadsGoOnInAStoreOpenedAnew(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	again := open(t, opts)
	again.pageSize = aws.Int32(1) // one part per page of the listing
	blobtest.RunResumedUpload(t, open(t, opts), again)
	noUploads(t, opts)
}

func TestPutInParts(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	s := open(t, opts)
	for _, size := range []int{minPart - 1, minPart, minPart + 1, 2 * minPart, 2*minPart + 7} {
		body := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		for _, announced := range []int64{-1, int64(size)} {
			key := blobtest.NewKey()
			info, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: announced, Max: -1})
			if err != nil || info.Size != int64(size) || info.ETag == "" {
				t.Fatalf("Put of %d bytes = %+v, %v", size, info, err)
			}
			if !bytes.Equal(blobtest.Content(t, s, key), body) {
				t.Errorf("%d bytes: read others", size)
			}
			if st, err := s.Stat(t.Context(), key); err != nil || st.ETag != info.ETag || st.Size != info.Size {
				t.Errorf("%d bytes: Stat = %+v, %v, Put said %+v", size, st, err, info)
			}
			if _, err := s.Put(t.Context(), key, bytes.NewReader(body),
				blob.PutOptions{Size: announced, Max: -1}); !errors.Is(err, blob.ErrExists) {
				t.Errorf("%d bytes: second Put = %v, want ErrExists", size, err)
			}
		}
		key, cut := blobtest.NewKey(), errors.New("the client went away")
		broken := io.MultiReader(bytes.NewReader(body), failing{cut})
		if _, err := s.Put(t.Context(), key, broken, blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, cut) {
			t.Errorf("%d bytes and a failure: %v", size, err)
		}
		blobtest.WantAbsent(t, s, key)
	}
	noUploads(t, opts)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestReadsAtAnyOffsetOfALargeObject(t *testing.T) {
	t.Parallel()
	s := open(t, newBucket(t))
	body := bytes.Repeat([]byte("0123456789abcde"), 1_000_000)
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, at := range []int64{14_999_990, 0, 1, 7_000_003, 7_000_010, 15_000_000, 14_999_999, 3} {
		if _, err := o.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		want := body[at:min(at+7, int64(len(body)))]
		if got, err := io.ReadAll(io.LimitReader(o, 7)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("at %d: %q, %v, want %q", at, got, err, want)
		}
	}
	if _, err := o.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek before the beginning succeeded")
	}
}

func TestMissingBucketIsNoMissingObject(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	opts.Bucket = "larder-none-" + ids.Hex(8)
	faults(t, open(t, opts))
}

func TestWrongCredentialsAreAFault(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	opts.SecretKey += "x"
	faults(t, open(t, opts))
}

func TestUnreachableServerIsAFault(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	opts.Endpoint = "http://127.0.0.1:1"
	faults(t, open(t, opts))
}

// faults fails the test unless every operation returns ErrUnavailable and none ErrNotFound.
func faults(t *testing.T, s *Store) {
	t.Helper()
	u := blob.Upload{Key: blobtest.NewKey(), ID: "x", Size: 3, PartSize: 3}
	_, put := s.Put(t.Context(), u.Key, strings.NewReader("abc"), blob.PutOptions{Size: 3})
	_, long := s.Put(t.Context(), u.Key, bytes.NewReader(make([]byte, minPart+1)), blob.PutOptions{Size: -1, Max: -1})
	_, opened := s.Open(t.Context(), u.Key)
	_, stat := s.Stat(t.Context(), u.Key)
	_, begun := s.Begin(t.Context(), u.Key, 3, 3, "")
	_, part := s.PutPart(t.Context(), u, 1, strings.NewReader("abc"))
	_, parts := s.Parts(t.Context(), u)
	_, finish := s.Finish(t.Context(), u, nil)
	for name, err := range map[string]error{
		"Put": put, "Put of parts": long, "Open": opened, "Stat": stat, "Begin": begun, "PutPart": part, "Parts": parts,
		"Finish": finish,
		"Abort":  s.Abort(t.Context(), u), "Delete": s.Delete(t.Context(), u.Key), "Check": s.Check(t.Context()),
	} {
		if !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s = %v, want ErrUnavailable", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Endpoint: "https://s3.example.com", Bucket: "bucket", IDs: ids, Egress: &egress.Policy{}}
	if _, err := Open(good); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Options){
		"no endpoint":           func(o *Options) { o.Endpoint = "" },
		"endpoint of no scheme": func(o *Options) { o.Endpoint = "s3.example.com" },
		"endpoint for files":    func(o *Options) { o.Endpoint = "file:///etc" },
		"endpoint with a user":  func(o *Options) { o.Endpoint = "https://user:secret@s3.example.com" },
		"no bucket":             func(o *Options) { o.Bucket = "" },
		"parts too small":       func(o *Options) { o.PartSize = minPart - 1 },
		"no ids":                func(o *Options) { o.IDs = nil },
		"no policy":             func(o *Options) { o.Egress = nil },
	} {
		opts := good
		change(&opts)
		if _, err := Open(opts); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Open = %v", name, err)
		}
	}
}

func TestBucketGoesIntoTheHostNameOrThePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[bool]string{false: "https://photos.s3.example.com/",
		true: "https://s3.example.com/photos/"} {
		var asked string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.Scheme + "://" + r.URL.Host + r.URL.Path
			return nil, errors.New("no network here")
		})}
		s, err := Open(Options{Endpoint: "https://s3.example.com", Bucket: "photos", AccessKey: "a", SecretKey: "b",
			PathStyle: path, Client: client, IDs: ids, Egress: &egress.Policy{}})
		if err != nil {
			t.Fatal(err)
		}
		key := blobtest.NewKey()
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) || asked != want+string(key) {
			t.Errorf("path style %t: asked for %s, %v, want it below %s", path, asked, err, want)
		}
	}
}

func TestPartStaysOutOfMemory(t *testing.T) { // not parallel, since it counts the allocations of this process
	opts := newBucket(t)
	s := open(t, opts)
	const size, most = 64 << 20, 8 << 20
	u, err := s.Begin(t.Context(), blobtest.NewKey(), size, size, "")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.PutPart(t.Context(), u, 1, io.LimitReader(zeros{}, size)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated for a part of %d, at most %d are allowed", n, size, most)
	}
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
