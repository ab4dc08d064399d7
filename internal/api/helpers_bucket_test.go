package api_test

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob"
	"larder/internal/blob/s3/s3test"
)

// rootBehindProxy changes the root mount to a provider with a bucket behind a proxy, with the
// additional fields of extra. The returned bucket is reached without the proxy.
func rootBehindProxy(t *testing.T, l *apptest.Larder, extra ...M) (*s3test.Proxy, s3test.Bucket) {
	t.Helper()
	proxy := s3test.NewProxy(t, s3test.New(t))
	return proxy, l.RootOnS3(t, append(extra, M{"endpoint": proxy.Endpoint})...)
}

// putObject puts an object directly in a bucket.
func putObject(t testing.TB, b s3test.Bucket, key, content string) {
	t.Helper()
	if _, err := b.SDK(t).PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader(content)}); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

// getObject reads an object directly from a bucket.
func getObject(t testing.TB, b s3test.Bucket, key string) string {
	t.Helper()
	got, err := b.SDK(t).GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.Name, Key: &key})
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// onlyObject returns the key of the only object in a bucket.
func onlyObject(t *testing.T, b s3test.Bucket) string {
	t.Helper()
	keys := b.Keys(t)
	if len(keys) != 1 {
		t.Fatalf("%d objects are in the bucket, want 1: %q", len(keys), keys)
	}
	return keys[0]
}

// bucketContents returns the keys of a bucket and the number of unfinished multipart uploads in it.
func bucketContents(t *testing.T, b s3test.Bucket) (keys []string, unfinished int) {
	t.Helper()
	uploads, err := b.SDK(t).ListMultipartUploads(context.WithoutCancel(t.Context()),
		&s3.ListMultipartUploadsInput{Bucket: &b.Name})
	if err != nil {
		t.Fatal(err)
	}
	return b.Keys(t), len(uploads.Uploads)
}

// wantBucketObjects fails the test unless a bucket has that many objects and no unfinished
// multipart upload.
func wantBucketObjects(t *testing.T, what string, b s3test.Bucket, objects int) {
	t.Helper()
	if keys, unfinished := bucketContents(t, b); len(keys) != objects || unfinished != 0 {
		t.Errorf("%s: the bucket has %d objects and %d unfinished uploads, want %d and 0: %v", what, len(keys),
			unfinished, objects, keys)
	}
}

// bucketObjects lists the objects in a bucket of the built-in store by their paths below it.
func bucketObjects(t *testing.T, l *apptest.Larder, bucket string) []string {
	t.Helper()
	root := filepath.Join(l.Apps[0].Config.ObjectDir, bucket)
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != ".larder-store" &&
			!strings.HasPrefix(path, filepath.Join(root, "tmp")) {
			below, _ := filepath.Rel(root, path)
			found = append(found, below)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// keysBelow lists the keys of a bucket below a prefix, sorted. Keys of a prefix that only begins
// with the same text are left out.
func keysBelow(t *testing.T, b s3test.Bucket, prefix string) (keys []string) {
	t.Helper()
	for _, name := range b.Keys(t) {
		key, err := blob.ParseKey(name)
		if dir, _ := key.Split(); err == nil && path.Dir(dir) == cmp.Or(prefix, ".") {
			keys = append(keys, name)
		}
	}
	return keys
}

// collectGarbage lets the grace period pass and collects garbage. It gives c a new CSRF token.
func collectGarbage(l *apptest.Larder, c *apptest.Client) {
	l.Clock.Advance(61 * time.Minute)
	l.Sweep()
	c.CSRF = c.Get("/api/auth/csrf-token").OK(200).Text("token")
}
