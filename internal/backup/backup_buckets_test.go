package backup_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// bucketFixture is a fixture with a mount in a bucket.
type bucketFixture struct {
	*fixture
	bucket s3test.Bucket
	admin  *apptest.Client
}

func eachBucketFixture(t *testing.T, test func(t *testing.T, s *bucketFixture)) {
	t.Helper()
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := &bucketFixture{fixture: newFixture(t, engine, apptest.ReachLoopback)}
			_, s.bucket = s.l.S3Mount(t, "/bucket", M{"uploadMode": "worker"})
			s.admin = s.l.Admin(t)
			test(t, s)
		})
	}
}

// inBucket lists the keys in the bucket.
func (f *bucketFixture) inBucket() (keys []string) {
	f.t.Helper()
	list, err := f.bucket.SDK(f.t).ListObjectsV2(f.t.Context(), &s3.ListObjectsV2Input{Bucket: &f.bucket.Name})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, object := range list.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

// elsewhere returns the lines of elsewhere.jsonl in the newest snapshot.
func (f *bucketFixture) elsewhere() (lines []map[string]any) {
	f.t.Helper()
	names := f.snapshots()
	file, err := os.Open(filepath.Join(f.dir, "snapshots", names[len(names)-1], "elsewhere.jsonl"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for text := bufio.NewScanner(file); text.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(text.Bytes(), &line); err != nil {
			f.t.Fatalf("%s: %v", text.Bytes(), err)
		}
		lines = append(lines, line)
	}
	return lines
}

// A service with files on the disk and in a bucket is backed up and restored on both engines. The
// objects in the bucket are listed and stay there. After the restore every link returns the same
// bytes, and a deep check finds nothing.
func TestBackupWithABucket(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		content := map[string]string{
			s.alice.Upload("/home/alice", "a.txt", []byte("on the disk")): "on the disk",
			s.admin.Upload("/bucket", "b.txt", []byte("in the bucket")):   "in the bucket",
			s.admin.Upload("/bucket/sub", "c.txt", nil):                   "",
		}
		links := map[string]string{}
		for id := range content {
			links[id] = s.admin.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		}
		there := s.inBucket()
		sum := s.mustBackUp()
		if sum.Objects != 1 || sum.Elsewhere != 2 || sum.Copied != 1 {
			t.Errorf("backup: %+v", sum)
		}
		lines := s.elsewhere()
		if len(lines) != 2 {
			t.Fatalf("listed: %v", lines)
		}
		for _, line := range lines {
			key, _ := line["Key"].(string)
			hash, _ := line["SHA256"].(string)
			size, _ := line["Size"].(float64)
			etag, _ := line["ETag"].(string)
			if !slices.Contains(there, key) || len(hash) != 64 || size != 13 && size != 0 || etag == "" ||
				line["Provider"] == "" {
				t.Errorf("listed: %v", line)
			}
		}
		text, err := os.ReadFile(filepath.Join(s.dir, "snapshots", s.snapshots()[0], "larder.db"))
		if err != nil || strings.Contains(string(text), s.bucket.SecretKey) {
			t.Errorf("the bucket's secret key is in the backup as it is: %v", err)
		}
		for _, engine := range dbtest.Engines {
			l := s.restored(t, engine)
			for id, link := range links {
				wantContent(t, l.Client(t), link, content[id])
			}
			wantSound(t, l)
			l.Sweep() // which collects nothing from the bucket
			l.Clock.Advance(3 * time.Hour)
			l.Sweep()
		}
		for id, link := range links {
			wantContent(t, s.l.Client(t), link, content[id])
		}
		if now := s.inBucket(); !slices.Equal(now, there) {
			t.Errorf("in the bucket: %q, before %q", now, there)
		}
	})
}

// The collector removes nothing from a bucket during a backup. It removes what is deleted
// afterwards, since the backup does not contain objects of buckets.
func TestHoldKeepsObjectsInBuckets(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		id := s.admin.Upload("/bucket", "b.txt", []byte("in the bucket"))
		s.admin.Delete("/api/files/" + id).OK(200)
		hold, err := s.a.Objects.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tidy := func() {
			s.l.Sweep()
			s.l.Clock.Advance(time.Minute)
			s.l.Sweep()
		}
		tidy()
		if n := len(s.inBucket()); n != 1 {
			t.Errorf("%d objects are left while the collector is held back", n)
		}
		if err := hold.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		tidy()
		if n := len(s.inBucket()); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// A backup succeeds while a bucket is unavailable, since its objects are only listed.
func TestBackupWhileABucketIsAway(t *testing.T) {
	eachBucketFixture(t, func(t *testing.T, s *bucketFixture) {
		s.admin.Upload("/bucket", "b.txt", []byte("in the bucket"))
		for _, key := range s.inBucket() {
			if _, err := s.bucket.SDK(t).DeleteObject(t.Context(),
				&s3.DeleteObjectInput{Bucket: &s.bucket.Name, Key: &key}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.bucket.SDK(t).DeleteBucket(t.Context(),
			&s3.DeleteBucketInput{Bucket: &s.bucket.Name}); err != nil {
			t.Fatal(err)
		}
		if sum := s.mustBackUp(); sum.Elsewhere != 1 {
			t.Errorf("backup: %+v", sum)
		}
	})
}
