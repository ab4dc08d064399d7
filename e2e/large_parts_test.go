package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
)

const partBytes = int64(8) << 20

// sender sends the parts of one upload, four in parallel, and records them.
type sender struct {
	client *client
	id     string // of the session

	mu           sync.Mutex
	sent         map[int]int  // how often the sending of each part began
	acknowledged map[int]bool // answered with 200
}

// partBody returns a part of a pattern of largeUpload bytes.
func partBody(number int) *pattern {
	from := int64(number-1) * partBytes
	return newPatternAt(from, min(partBytes, largeUpload-from))
}

func partSum(t testing.TB, number int) string {
	t.Helper()
	h := sha256.New()
	if _, err := io.Copy(h, partBody(number)); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// send sends parts until all are acknowledged. After atMost more, it calls enough once during the
// others.
func (s *sender) send(t *testing.T, numbers []int, atMost int, enough func()) {
	t.Helper()
	todo := make(chan int, len(numbers))
	for _, number := range numbers {
		todo <- number
	}
	close(todo)
	var workers sync.WaitGroup
	var once sync.Once
	done := 0
	for range 4 {
		workers.Go(func() {
			for number := range todo {
				s.mu.Lock()
				s.sent[number]++
				s.mu.Unlock()
				r, err := s.client.send("PUT", fmt.Sprintf("/api/files/upload/multipart/%s/part/%d", s.id, number),
					&sized{partBody(number), partBytes})
				if err != nil {
					return // the server has ended
				}
				if r.status != http.StatusOK {
					t.Errorf("part %d: status %d: %s", number, r.status, r.body)
					return
				}
				s.mu.Lock()
				s.acknowledged[number] = true
				done++
				last := done == atMost
				s.mu.Unlock()
				if last {
					once.Do(enough)
				}
			}
		})
	}
	workers.Wait()
}

// A large upload in parts, out of order, four in parallel, to a server that is killed twice.
// Acknowledged parts are not sent again, the file has the right bytes, and the upload needs no
// memory in proportion.
func TestLargeUploadInParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	c := p.admin(t)
	session := c.announce(t, "/uploads", "parts.bin", largeUpload, object{"idempotencyKey": "two GiB"})
	if session.TotalParts == nil || *session.TotalParts != 256 || session.UploadMode != "worker" {
		t.Fatalf("the session is %+v, want 256 parts by worker", session)
	}
	u := &sender{client: c, id: session.SessionID, sent: map[int]int{}, acknowledged: map[int]bool{}}
	before := p.procStatus(t, "VmRSS")
	missing := rand.New(rand.NewPCG(30, 4)).Perm(256)
	for i := range missing {
		missing[i]++
	}
	for round := range 3 {
		switch round {
		case 2:
			u.send(t, missing, -1, nil)
		default:
			u.send(t, missing, 85, p.kill)
			u.frugal(t, p, before)
			p = s.start(t)
			before = p.procStatus(t, "VmRSS")
		}
		missing = u.check(t)
	}
	if len(missing) != 0 {
		t.Fatalf("parts %v are missing in the end", missing)
	}
	again := 0
	for number, times := range u.sent {
		again += times - 1
		if times > 3 {
			t.Errorf("part %d was sent %d times", number, times)
		}
	}
	if again > 2*4 { // the parts in flight at each of the two crashes
		t.Errorf("%d parts were sent again", again)
	}
	var done struct{ File struct{ Size int64 } }
	c.do(t, "POST", "/api/files/upload-complete", object{"sessionId": u.id}).data(t, 200, &done)
	u.frugal(t, p, before)
	if done.File.Size != largeUpload {
		t.Errorf("the file has %d bytes", done.File.Size)
	}
	if n := c.download(t, "/uploads/parts.bin", 0, largeUpload); n != largeUpload {
		t.Errorf("got %d bytes, want %d", n, largeUpload)
	}
	p.stop(t)
}

// frugal checks the memory used so far.
func (s *sender) frugal(t *testing.T, p *process, before int64) {
	t.Helper()
	select {
	case <-p.exited:
		return
	default:
	}
	peak := p.procStatus(t, "VmHWM")
	t.Logf("memory: %d MiB before, %d MiB at most", before>>20, peak>>20)
	if peak-before > maxMemoryGrowth {
		t.Errorf("memory grew from %d to %d MiB, want %d MiB more at most", before>>20, peak>>20, maxMemoryGrowth>>20)
	}
}

// check compares the server's list of parts with the acknowledged ones and their checksums. It
// returns the missing parts.
func (s *sender) check(t *testing.T) (missing []int) {
	t.Helper()
	var have struct {
		CompletedCount int
		MissingParts   []int
		Parts          []struct {
			PartNumber int
			ETag       string
		}
	}
	s.client.do(t, "GET", "/api/files/upload/multipart/"+s.id+"/parts", nil).data(t, 200, &have)
	there := map[int]bool{}
	for _, part := range have.Parts {
		there[part.PartNumber] = true
		if part.PartNumber%16 == 1 && part.ETag != partSum(t, part.PartNumber) {
			t.Errorf("part %d: etag %q is not of its bytes", part.PartNumber, part.ETag)
		}
	}
	for number := range s.acknowledged {
		if !there[number] {
			t.Errorf("part %d was acknowledged and is lost", number)
		}
	}
	if have.CompletedCount != len(have.Parts) || len(have.Parts)+len(have.MissingParts) != 256 {
		t.Errorf("%d completed, %d listed, %d missing", have.CompletedCount, len(have.Parts), len(have.MissingParts))
	}
	return have.MissingParts
}
