package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
)

const (
	throughMemory = int64(100) << 20 // allowed memory of the server for a large upload through it to a bucket
	besideMemory  = int64(20) << 20  // and for a direct upload
)

// largeBytes returns the length of the large uploads in bytes: 2 GiB, or LARDER_TEST_LARGE GiB,
// which a soak sets.
func largeBytes(t *testing.T) int64 {
	t.Helper()
	return int64(envNumber(t, "LARDER_TEST_LARGE", int(largeUpload/gibibyte), 20)) * gibibyte
}

// A large upload in parts to a bucket needs little memory of the server when it passes through it,
// and almost none when it is direct.
func TestLargeUploadToABucket(t *testing.T) {
	t.Parallel()
	size := largeBytes(t)
	for _, mode := range []string{"worker", "auto"} {
		t.Run(mode, func(t *testing.T) { // in sequence, to spare the disk
			s := newSetup(t, "sqlite", onBucket)
			s.admin.do(t, "PUT", "/api/admin/storage/providers/"+s.root, object{"uploadMode": mode}).want(t, 200)
			t.Cleanup(func() { empty(t, *s.bucket) })
			s.processes[0].stop(t)
			p := s.start(t) // a new process, without memory from password hashing
			s.admin.bases = []string{p.url}
			begin, before := time.Now(), p.resetPeak(t)
			session := s.admin.announce(t, "/uploads", "large.bin", size, nil)
			file, _ := s.admin.complete(t, s.admin.deliver(t, session, size,
				func(from, length int64) io.Reader { return newPatternAt(from, length) }, 4))
			most, allowed := p.procStatus(t, "VmHWM"), throughMemory
			if session.UploadMode == "presigned" {
				allowed = besideMemory
			}
			t.Logf("%d GiB, %s: memory %d MiB before, %d MiB at most; %.0f s", size>>30, session.UploadMode, before>>20,
				most>>20, time.Since(begin).Seconds())
			if file.Size != size {
				t.Errorf("the file has %d bytes, want %d", file.Size, size)
			}
			if most-before > allowed {
				t.Errorf("memory grew from %d to %d MiB, want %d MiB more at most", before>>20, most>>20, allowed>>20)
			}

			before = p.resetPeak(t)
			for _, part := range [][2]int64{{0, gibibyte / 4}, {size/2 - 5, 2*partSize + 10}, {size - 3, 3}} {
				if n := s.admin.download(t, "/uploads/large.bin", part[0], part[1]); n != part[1] {
					t.Errorf("got %d bytes from %d on, want %d", n, part[0], part[1])
				}
			}
			if most := p.procStatus(t, "VmHWM"); most-before > besideMemory {
				t.Errorf("memory grew from %d to %d MiB for a download, want %d MiB more at most", before>>20, most>>20,
					besideMemory>>20)
			}
		})
	}
}

// resetPeak resets VmHWM to the current memory, which it returns.
func (p *process) resetPeak(t testing.TB) (rss int64) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return p.procStatus(t, "VmRSS")
}

// empty deletes the objects of a bucket to free their space.
func empty(t *testing.T, bucket s3test.Bucket) {
	client := bucket.SDK(t)
	ctx := context.Background() // the test's own context has ended
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	if err != nil {
		return // the bucket belongs to a test and ends with the server
	}
	for _, o := range list.Contents {
		_, _ = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: o.Key})
	}
}
