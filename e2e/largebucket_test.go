package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
)

const (
	throughMemory = int64(100) << 20 // what the server may take for a large upload that goes through it to a bucket
	besideMemory  = int64(20) << 20  // and for one that goes there without it
)

// largeBytes is the length of the large uploads: 2 GiB, or as many GiB as LARDER_TEST_LARGE says,
// which is what a soak sets.
func largeBytes(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("LARDER_TEST_LARGE")
	if text == "" {
		return largeUpload
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > 20 {
		t.Fatalf("LARDER_TEST_LARGE: %q is no number of GiB from 1 to 20", text)
	}
	return n * gibibyte
}

// A large upload in parts into a bucket costs the server little memory when it goes through it, and
// nearly none when it goes past it.
func TestLargeUploadToABucket(t *testing.T) {
	t.Parallel()
	size := largeBytes(t)
	for _, mode := range []string{"worker", "auto"} {
		t.Run(mode, func(t *testing.T) { // one after another: that is enough for the disk
			s := newSetup(t, "sqlite", onBucket)
			s.admin.do(t, "PUT", "/api/admin/storage/providers/"+s.root, object{"uploadMode": mode}).want(t, 200)
			t.Cleanup(func() { empty(t, *s.bucket) })
			s.processes[0].stop(t)
			p := s.start(t) // one that holds no memory of hashing a password
			s.admin.bases = []string{p.url}
			begin, before := time.Now(), p.resetPeak(t)
			session := s.admin.announce(t, "/uploads", "large.bin", size, nil)
			file := s.admin.complete(t, s.admin.deliver(t, session, size, patternRange, 4))
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

// patternRange is a part of a pattern.
func patternRange(from, length int64) io.Reader {
	p := newPattern(from + length)
	p.at = from
	return p
}

// resetPeak makes VmHWM begin anew from the memory that there is, which it returns.
func (p *process) resetPeak(t testing.TB) (rss int64) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return p.procStatus(t, "VmRSS")
}

// empty gives the space of a bucket back.
func empty(t *testing.T, bucket s3test.Bucket) {
	client := bucket.SDK(t)
	ctx := context.Background() // the test's own has ended
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	if err != nil {
		return // it is a test's, and goes with the server
	}
	for _, o := range list.Contents {
		_, _ = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket.Name, Key: o.Key})
	}
}
