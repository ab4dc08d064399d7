package fsck_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/fsck"
)

// bucketFixture is a fixture with a mount in a bucket and another below a prefix in the same
// bucket, each with a file of alice.
type bucketFixture struct {
	*fixture
	bucket s3test.Bucket
	sdk    *s3.Client
	keys   []string // of the objects in the bucket, the one below the prefix last
}

func eachBucketFixture(t *testing.T, test func(t *testing.T, s *bucketFixture)) {
	t.Helper()
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		s := &bucketFixture{fixture: &fixture{t: t, l: l}}
		for _, a := range l.Apps {
			a.Fsck.Pause = time.Millisecond
		}
		_, s.bucket = l.S3Mount(t, "/plain", apptest.M{"uploadMode": "worker"})
		l.S3Mount(t, "/below", apptest.M{"uploadMode": "worker", "bucket": s.bucket.Name, "pathPrefix": "some/where"})
		s.sdk = s.bucket.SDK(t)
		admin := l.Admin(t)
		for _, dir := range []string{"/plain", "/below"} {
			s.photo = admin.Upload(dir, "photo.jpg", []byte("a photograph"))
			s.keys = append(s.keys,
				s.text("SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", s.photo))
		}
		test(t, s)
	}, apptest.ReachLoopback)
}

func (f *bucketFixture) put(key, content string) {
	f.t.Helper()
	_, err := f.sdk.PutObject(f.t.Context(), &s3.PutObjectInput{Bucket: &f.bucket.Name, Key: &key,
		Body: strings.NewReader(content)})
	f.must(err)
}

func (f *bucketFixture) drop(key string) {
	f.t.Helper()
	_, err := f.sdk.DeleteObject(f.t.Context(), &s3.DeleteObjectInput{Bucket: &f.bucket.Name, Key: &key})
	f.must(err)
}

func (f *bucketFixture) has(key string) bool {
	_, err := f.sdk.HeadObject(f.t.Context(), &s3.HeadObjectInput{Bucket: &f.bucket.Name, Key: &key})
	return err == nil
}

// Problems of objects in a bucket are found as on a disk, and no row is deleted because of them
// (abuse case C126).
func TestObjectsInBucketsAreChecked(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		s.wantFindings(deep, "")
		_, sum := s.check(deep)
		if sum.Objects != 2 || sum.Bytes != 2*int64(len("a photograph")) || sum.Unchecked != 0 {
			t.Errorf("looked at %+v", sum)
		}
		for _, key := range s.keys {
			for content, kind := range map[string]fsck.Kind{"a photo graph": fsck.WrongSize,
				"A photograph": fsck.WrongHash} {
				s.put(key, content)
				s.wantFindings(deep, key, kind)
			}
			s.drop(key)
			s.wantFindings(fsck.Options{}, key, fsck.Missing)
			s.put(key, "a photograph")
			s.wantFindings(deep, "")
		}
		if n := s.number("SELECT COUNT(*) FROM entries WHERE name = 'photo.jpg'"); n != 2 {
			t.Errorf("%d photographs are left", n)
		}
	})
}

// An unavailable bucket, or one with invalid credentials, is reported as such, and its objects are
// not reported as missing.
func TestBucketsOutOfReachAreNotCalledEmpty(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		for _, key := range s.keys {
			s.drop(key)
		}
		_, err := s.sdk.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &s.bucket.Name})
		s.must(err)
		lines, sum := s.check(deep)
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "store ") || !strings.HasPrefix(lines[1], "store ") ||
			sum.Unchecked != 2 {
			t.Errorf("%q, %+v", lines, sum)
		}
	})
}

// The daily sweep skips buckets, which have no marker of their owner.
func TestBucketsAreNotSwept(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		strays := []string{fmt.Sprintf("ab/%032x", 1), fmt.Sprintf("some/where/ab/%032x", 2)}
		for _, key := range strays {
			s.put(key, "stray")
		}
		for range 4 {
			s.sweep()
			s.l.Clock.Advance(day + time.Minute)
		}
		if n := s.garbage(); n != 0 {
			t.Errorf("%d keys are on the list", n)
		}
		for _, key := range strays {
			if !s.has(key) {
				t.Errorf("%s is gone", key)
			}
		}
	})
}
