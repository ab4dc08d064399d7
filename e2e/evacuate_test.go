package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

const (
	evacuatedFiles = 150 // unless LARDER_TEST_EVACUATION sets another number
	soakKills      = 20  // when it does
)

// The objects of the disk are moved to a bucket while clients read all files, without a failed
// read, and SIGKILL ends servers in between. The content is the same afterwards, nothing is left on
// the disk, and the old provider can be deleted. LARDER_TEST_EVACUATION is the number of files in a
// soak, which kills 20 servers under 500 reads a second.
func TestEvacuationWithCrashes(t *testing.T) {
	t.Parallel()
	soak := envNumber(t, "LARDER_TEST_EVACUATION", 0, 1_000_000)
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			files, kills, rate, limit := evacuatedFiles, 3, readsPerSecond, 3*patience
			if engine == "postgres" {
				kills = 1 // the other replica waits for the lease each time
			}
			if soak > 0 {
				files, kills, rate, limit = soak, soakKills, soakReads, 20*patience
			}
			s := newSetup(t, engine, onDisk, "LARDER_GARBAGE_GRACE", "2s")
			hashes := map[string]string{} // by path of the permanent link
			for i := range files {
				content := contentOf(fmt.Sprint("file ", i), evacuatedSize(i))
				made := s.keyed.mustRaw(t, fmt.Sprintf("f%06d.txt", i), "/uploads", "text/plain", content)
				hashes[at(t, s.admin.permanentLink(t, made.FileID))] = hash(content)
			}
			bucket := s3test.New(t)
			target := s.provider(t, bucket, nil)
			readers := s.readAll(t, hashes, rate)
			var started struct{ JobID string }
			s.admin.do(t, "POST", "/api/admin/storage/providers/"+s.root+"/evacuate", object{"targetProviderId": target}).
				data(t, 202, &started)
			e := &runningEvacuation{setup: s, id: started.JobID}
			for i := range kills {
				e.awaitMoved(t, limit, int64(files)*int64(i+1)/int64(kills+1))
				readers.killAndStart(t, i%len(s.processes))
			}
			// The collector repeats the deletions that a dead process began after a minute.
			e.awaitEnd(t, limit)
			readers.stop(t)
			readers.report(t, soak > 0)
			if n := len(keysIn(t, bucket)); n < files {
				t.Errorf("%d objects in the bucket, want %d", n, files)
			}
			if left := leftBelow(t, s.objectDir()); len(left) > 0 {
				t.Errorf("%d files are left on the disk: %.300q", len(left), left)
			}
			s.admin.do(t, "DELETE", "/api/admin/storage/providers/"+s.root, nil).want(t, 200)
			visitor := s.visitor()
			for link, want := range hashes {
				if r := visitor.do(t, "GET", link, nil).want(t, 200); hash(r.body) != want {
					t.Errorf("%s has %d other bytes", link, len(r.body))
				}
			}
			s.fsck(t)
		})
	}
}

// evacuatedSize returns the size of the file i in bytes: most have less than 32 KiB, and every
// hundredth has some MiB.
func evacuatedSize(i int) int {
	if i%100 == 99 {
		return 1<<20 + i*4001%(3<<20)
	}
	return 500 + i*7919%(32<<10)
}

// runningEvacuation is the job of an evacuation.
type runningEvacuation struct {
	*setup
	id string
}

// evacuationView is the answer about an evacuation.
type evacuationView struct {
	Evacuation struct {
		Status                    string
		TotalObjects, LeftObjects *int64
		ErrorMessage              *string
	}
}

// look returns the present state of the job. All processes must be up.
func (e *runningEvacuation) look(t *testing.T) (v evacuationView) {
	t.Helper()
	e.admin.do(t, "GET", "/api/admin/evacuations/"+e.id, nil).data(t, 200, &v)
	return v
}

// awaitMoved waits until that many objects are moved, or the job has ended.
func (e *runningEvacuation) awaitMoved(t *testing.T, limit time.Duration, objects int64) {
	t.Helper()
	poll(t, nil, limit, fmt.Sprint("done with ", objects, " objects"), func() bool {
		v := e.look(t).Evacuation
		if v.LeftObjects == nil {
			t.Fatalf("the evacuation ended early: %+v", v)
		}
		return v.TotalObjects != nil && *v.TotalObjects-*v.LeftObjects >= objects
	})
}

// awaitEnd waits for the end of the job, which must have moved everything.
func (e *runningEvacuation) awaitEnd(t *testing.T, limit time.Duration) {
	t.Helper()
	var last evacuationView
	poll(t, nil, limit, "done with the evacuation", func() bool {
		last = e.look(t)
		return slices.Contains([]string{"completed", "failed"}, last.Evacuation.Status)
	})
	if last.Evacuation.Status != "completed" {
		t.Fatalf("the evacuation ended %+v", last)
	}
}

// objectDir returns the directory of the objects of the seeded provider.
func (s *site) objectDir() string {
	if dir := s.env["LARDER_OBJECT_DIR"]; dir != "" {
		return dir
	}
	return filepath.Join(s.dir, "objects")
}

// leftBelow returns the paths of all regular files in a directory and below it, without the marker
// of a store.
func leftBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && entry.Name() != ".larder-store" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
