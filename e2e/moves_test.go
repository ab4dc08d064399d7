package e2e

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"larder/internal/blob/s3/s3test"
)

// moved waits for the job of a move while a client reads by a link, which must return the same
// bytes each time.
func (s *setup) moved(t *testing.T, by *client, id, target, link string, content []byte) {
	t.Helper()
	visitor, want := s.visitor(), hash(content)
	var over atomic.Bool
	reading := make(chan error, 1)
	go func() {
		for {
			last := over.Load()
			r, err := visitor.send("GET", link, nil)
			if err != nil || r.status != 200 || hash(r.body) != want {
				reading <- errors.Join(err, fmt.Errorf("by the link: %d, %d bytes", r.status, len(r.body)))
				return
			}
			if last {
				reading <- nil
				return
			}
		}
	}()
	s.move(t, by, id, target)
	over.Store(true)
	if err := <-reading; err != nil {
		t.Error(err)
	}
}

// move moves an entry and waits for the end.
func (s *setup) move(t *testing.T, by *client, id, target string) {
	t.Helper()
	var ordered struct{ JobID, Status string }
	by.do(t, "POST", "/api/files/"+id+"/move", object{"targetPath": target}).data(t, 200, &ordered)
	if ordered.Status != "pending" {
		t.Errorf("a move is %s at first", ordered.Status)
	}
	var told struct {
		Job struct {
			Status       string
			Progress     int
			ErrorMessage *string
		}
	}
	s.processes[0].await(t, "done with a move to "+target, func() bool {
		by.do(t, "GET", "/api/files/jobs/"+ordered.JobID, nil).data(t, 200, &told)
		return told.Job.Status == "completed" || told.Job.Status == "failed"
	})
	if told.Job.Status != "completed" || told.Job.Progress != 100 {
		t.Fatalf("the move to %s ended %+v", target, told.Job)
	}
}

// Folders move between the disk, buckets, and two prefixes of one bucket, with every set-up. Names,
// ids and links stay the same, all files can be read during the moves, the quota does not change,
// and nothing is left at the old place.
func TestMovesEverywhere(t *testing.T) {
	t.Parallel()
	eachSetup(t, func(t *testing.T, s *setup) {
		bucket := s3test.New(t)
		s.admin.mount(t, "/one", s.provider(t, bucket, object{"pathPrefix": "one"}))
		s.admin.mount(t, "/two", s.provider(t, bucket, object{"pathPrefix": "two/deeper"}))
		s.admin.mount(t, "/cellar",
			s.admin.createProvider(t, object{"name": "cellar", "type": "store_a", "bucket": "cellar"}))

		id := s.admin.mkdir(t, "/uploads", "travels")
		inner := s.admin.mkdir(t, "/uploads/travels", "in")
		contents := map[string][]byte{"/first.txt": contentOf("first", 100_000), "/" + oddName: contentOf("odd", 2000),
			"/empty": nil, "/in/last.bin": contentOf("in parts", partSize+5)}
		first := s.admin.upload(t, "/uploads/travels", "first.txt", contents["/first.txt"], nil)
		s.admin.upload(t, "/uploads/travels", oddName, contents["/"+oddName], nil)
		s.admin.upload(t, "/uploads/travels", "empty", nil, nil)
		s.admin.upload(t, "/uploads/travels/in", "last.bin", contents["/in/last.bin"], object{"partCount": 2})
		used, files := s.admin.usage(t)
		link := at(t, s.admin.permanentLink(t, first.ID))
		etag := s.visitor().do(t, "HEAD", link, nil).want(t, 200).header.Get("ETag")

		from := "/uploads"
		for _, target := range []string{"/one", "/two", "/cellar", "/one", "/uploads"} {
			s.moved(t, s.admin, id, target, link, contents["/first.txt"])
			for name, content := range contents {
				s.admin.reads(t, escaped(target+"/travels"+name), content)
				s.admin.do(t, "GET", escaped(from+"/travels"+name), nil).fails(t, 404, "NOT_FOUND")
			}
			var details struct{ File entry }
			s.admin.do(t, "GET", "/api/files/"+inner, nil).data(t, 200, &details)
			if details.File.full() != target+"/travels/in" {
				t.Errorf("the folder within lies at %s", details.File.full())
			}
			if now := s.visitor().do(t, "HEAD", link, nil).want(t, 200).header.Get("ETag"); now != etag {
				t.Errorf("moved to %s its ETag is %s, and was %s", target, now, etag)
			}
			if bytes, n := s.admin.usage(t); bytes != used || n != files {
				t.Errorf("moved to %s the quota says %d bytes in %d files, and said %d in %d", target, bytes, n, used,
					files)
			}
			from = target
		}
		s.awaitEmpty(t, bucket)
	})
}
