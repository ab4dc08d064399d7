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

// storeProxy stands before the S3 server at an address of its own. It passes requests on as they
// are, counts what goes through, and does to some of them what the test says.
type storeProxy struct {
	address string

	mu         sync.Mutex
	down       bool
	onResponse func(r *http.Request, status int)                 // called before an answer goes back
	instead    func(w http.ResponseWriter, r *http.Request) bool // true when it has answered
	sent       int64                                             // bytes of bodies that went to the server
	copies     int                                               // objects that the server was told to copy
	inFlight   sync.RWMutex                                      // read by each request that is under way
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
			r.Out.Host = r.In.Host // which is part of what was signed
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
		// what has reached the server ends there as well
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

// setHook changes what the front does.
func (f *storeProxy) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// waitIdle waits for what the server is still at, whoever has gone meanwhile: what is written after
// a sweep is swept by none.
func (f *storeProxy) waitIdle() {
	f.inFlight.Lock()
	defer f.inFlight.Unlock()
}

// takeCounts returns what went through since the last call.
func (f *storeProxy) takeCounts() (sent int64, copies int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent, copies = f.sent, f.copies
	f.sent, f.copies = 0, 0
	return sent, copies
}

// overwriteOneByteObject puts other content in the place of an object of one
// byte, past the service.
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

// putDirectly stores something past the service.
func putDirectly(t *testing.T, b s3test.Bucket, key, content string) {
	t.Helper()
	if _, err := b.SDK(t).PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
}

// getDirectly reads something past the service.
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

// keysBelow lists the keys in a bucket that are of a prefix, and not of one that begins with
// it, past the service.
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
