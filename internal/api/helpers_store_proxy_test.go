package api_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/blob/s3/s3test"
)

// storeProxy is a proxy in front of the S3 server with its own address. It passes requests on
// unchanged, counts them, and calls the test's hooks.
type storeProxy struct {
	address string

	mu         sync.Mutex
	down       bool
	onResponse func(r *http.Request, status int)                 // called before a response is sent
	instead    func(w http.ResponseWriter, r *http.Request) bool // returns true when it has answered
	sent       int64                                             // bytes of bodies sent to the server
	copies     int                                               // copies that the server was asked for
	inFlight   sync.RWMutex                                      // held for reading by each request under way
}

func newStoreProxy(t *testing.T, bucket s3test.Bucket) *storeProxy {
	t.Helper()
	at, err := url.Parse(bucket.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	f := &storeProxy{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(at)
			r.Out.Host = r.In.Host // the host is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if answered := f.responseHook(); answered != nil {
				answered(r.Request, r.StatusCode)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		down, instead := f.down, f.instead
		f.sent += max(r.ContentLength, 0)
		if r.Header.Get("X-Amz-Copy-Source") != "" {
			f.copies++
		}
		f.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		if instead != nil && instead(w, r) {
			return
		}
		f.inFlight.RLock()
		defer f.inFlight.RUnlock()
		// a request that has reached the server is completed there
		proxy.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	}))
	t.Cleanup(server.Close)
	f.address = server.URL
	return f
}

func (f *storeProxy) responseHook() func(r *http.Request, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.onResponse
}

// set changes the hooks under the lock.
func (f *storeProxy) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// waitIdle waits for the requests that the server still handles, also those of gone clients. An
// object written after a sweep would not be swept.
func (f *storeProxy) waitIdle() {
	f.inFlight.Lock()
	defer f.inFlight.Unlock()
}

// takeCounts returns the counts since the last call.
func (f *storeProxy) takeCounts() (sent int64, copies int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent, copies = f.sent, f.copies
	f.sent, f.copies = 0, 0
	return sent, copies
}

// overwriteOneByteObject replaces the content of an object of one byte, directly in the bucket.
func overwriteOneByteObject(t *testing.T, sdk *s3.Client, b s3test.Bucket, key, content string) {
	head, err := sdk.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Name, Key: &key})
	if err != nil || head.ContentLength == nil || *head.ContentLength != 1 {
		return
	}
	_, err = sdk.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content),
		Metadata: head.Metadata})
	if err != nil {
		t.Errorf("replace an object: %v", err)
	}
}

// putDirectly stores an object directly in a bucket.
func putDirectly(t *testing.T, b s3test.Bucket, key, content string) {
	t.Helper()
	if _, err := b.SDK(t).PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
}

// getDirectly reads an object directly from a bucket.
func getDirectly(t *testing.T, b s3test.Bucket, key string) string {
	t.Helper()
	got, err := b.SDK(t).GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keysBelow lists the keys of a bucket below a prefix, read directly. Keys of a prefix that only
// begins with the same text are left out.
func keysBelow(t *testing.T, b s3test.Bucket, prefix string) (keys []string) {
	t.Helper()
	list, err := b.SDK(t).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.Name, Prefix: &prefix})
	if err != nil || list.IsTruncated != nil && *list.IsTruncated {
		t.Fatalf("list a bucket: %v", err)
	}
	for _, object := range list.Contents {
		key, err := blob.ParseKey(*object.Key)
		if dir, _ := key.Split(); err == nil && path.Dir(dir) == cmp.Or(prefix, ".") {
			keys = append(keys, *object.Key)
		}
	}
	slices.Sort(keys)
	return keys
}
