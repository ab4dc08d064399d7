package api_test

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob"
	"larder/internal/blob/s3/s3test"
)

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

// rootBehindProxy changes the root mount to a provider with a bucket behind a proxy, with the
// additional fields of extra. The bucket has the address of the server itself.
func rootBehindProxy(t *testing.T, l *apptest.Larder, extra ...M) (*s3test.Proxy, s3test.Bucket) {
	t.Helper()
	proxy := s3test.NewProxy(t, s3test.New(t))
	return proxy, l.RootOnS3(t, append(extra, M{"endpoint": proxy.Endpoint})...)
}
