package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// evacuatedFiles is the number of files that TestEvacuationWithCrashes evacuates.
const evacuatedFiles = 150

// The objects of the disk are moved to a bucket while a client reads all files, without a failed
// read, and SIGKILL ends servers in between. The content is the same afterwards, nothing is left on
// the disk, and the old provider can be deleted.
func TestEvacuationWithCrashes(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, engine, onDisk, "LARDER_GARBAGE_GRACE", "2s")
			contents := map[string][]byte{} // by path of the permanent link
			for i := range evacuatedFiles {
				content := contentOf(fmt.Sprint("file ", i), 500+i*7)
				made := s.keyed.mustRaw(t, fmt.Sprintf("f%03d.txt", i), "/uploads", "text/plain", content)
				contents[at(t, s.admin.permanentLink(t, made.FileID))] = content
			}
			bucket := s3test.New(t)
			target := s.provider(t, bucket, nil)
			stop := s.readAll(t, contents)
			var started struct{ JobID string }
			s.admin.do(t, "POST", "/api/admin/storage/providers/"+s.root+"/evacuate", object{"targetProviderId": target}).
				data(t, 202, &started)
			kills := []int{20, 60, 100} // numbers of moved objects
			if engine == "postgres" {
				kills = kills[1:2] // the other replica waits for the lease each time
			}
			for i, moved := range kills {
				p := s.processes[i%len(s.processes)]
				until(t, "that far", func() bool { return len(keysIn(t, bucket)) >= moved })
				p.kill()
				s.processes[i%len(s.processes)] = p.site.start(t)
			}
			var told struct {
				Job struct {
					Status       string
					ErrorMessage *string
				}
			}
			// The collector repeats the deletions that a dead process began after a minute.
			poll(t, nil, 3*patience, "done with the evacuation", func() bool {
				s.admin.do(t, "GET", "/api/files/jobs/"+started.JobID, nil).data(t, 200, &told)
				return told.Job.Status == "completed" || told.Job.Status == "failed"
			})
			if told.Job.Status != "completed" {
				t.Fatalf("the evacuation ended %+v", told.Job)
			}
			if n := len(keysIn(t, bucket)); n < evacuatedFiles {
				t.Errorf("%d objects in the bucket, want %d", n, evacuatedFiles)
			}
			stop()
			s.admin.do(t, "DELETE", "/api/admin/storage/providers/"+s.root, nil).want(t, 200)
			for link, content := range contents {
				if r := s.visitor().do(t, "GET", link, nil).want(t, 200); hash(r.body) != hash(content) {
					t.Errorf("%s has %d other bytes", link, len(r.body))
				}
			}
			s.fsck(t)
		})
	}
}

// readAll reads all files again and again by their links. A request that a dying or starting server
// does not answer is no read. stop ends that and waits.
func (s *setup) readAll(t *testing.T, contents map[string][]byte) (stop func()) {
	t.Helper()
	var links []string
	want := map[string]string{}
	for link, content := range contents {
		links, want[link] = append(links, link), hash(content)
	}
	slices.Sort(links)
	var over atomic.Bool
	var reads atomic.Int64
	var busy sync.WaitGroup
	visitor := s.visitor()
	busy.Go(func() {
		for i := 0; !over.Load(); i++ {
			link := links[i%len(links)]
			r, err := visitor.send("GET", link, nil)
			if err != nil || strings.Contains(string(r.body), "The service is starting.") {
				continue // as for a balancer
			}
			reads.Add(1)
			if r.status != 200 || hash(r.body) != want[link] {
				t.Errorf("%s: status %d, %.200s", link, r.status, r.body)
			}
		}
	})
	t.Cleanup(func() { // of a test that has failed before it stops the reader
		over.Store(true)
		busy.Wait()
	})
	return func() {
		over.Store(true)
		busy.Wait()
		if n := reads.Load(); n < 2*evacuatedFiles {
			t.Errorf("only %d reads", n)
		}
	}
}
