package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	readsPerSecond = 100 // rate at which all readers together send reads
	soakReads      = 500 // rate in a soak
	readWorkers    = 16
	// leastReads is the minimal number of answered reads a second in a soak while a server is up.
	// It is below soakReads because a busy machine pauses the readers at times.
	leastReads = 450
)

// readers read files by their links at a fixed rate, however fast the answers are. They send a
// request to another replica when one does not answer because it was killed, as a balancer does.
type readers struct {
	t        *testing.T
	links    []string
	want     map[string]string // hashes by link
	setup    *setup
	replicas []*readReplica
	rate     int         // reads a second
	due      chan string // links
	over     chan struct{}
	end      func()
	busy     sync.WaitGroup
	begun    time.Time
	down     time.Duration // for which no server was up
	lasted   time.Duration

	reads, unanswered, late atomic.Int64
	longest                 atomic.Int64 // ns, of an answered read
}

// readReplica is a replica as the readers see it.
type readReplica struct {
	client        *client
	kills, starts atomic.Int64 // begun kills, and completed starts after them
}

// readAll reads all files again and again until stop, rate reads a second. An answer with another
// status or content fails the test, and so does a request without an answer, unless its server was
// down meanwhile.
func (s *setup) readAll(t *testing.T, hashes map[string]string, rate int) *readers {
	t.Helper()
	r := &readers{t: t, want: hashes, setup: s, rate: rate, due: make(chan string, rate), over: make(chan struct{}),
		begun: time.Now()}
	r.end = sync.OnceFunc(func() {
		close(r.over)
		r.busy.Wait()
		r.lasted = time.Since(r.begun)
	})
	for link := range hashes {
		r.links = append(r.links, link)
	}
	slices.Sort(r.links)
	for _, p := range s.processes {
		r.replicas = append(r.replicas, &readReplica{client: newClient(p.url)})
	}
	r.busy.Go(r.offer)
	for i := range readWorkers {
		r.busy.Go(func() {
			for link := range r.due {
				r.read(link, i)
			}
		})
	}
	t.Cleanup(r.end) // of a test that has failed before it stops them
	return r
}

// offer gives the workers rate links a second, until the end. When the workers are more than a
// second behind, offer skips reads and counts them as late.
func (r *readers) offer() {
	defer close(r.due)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-r.over:
			return
		case <-tick.C:
		}
		for ; n < int(time.Since(r.begun).Seconds()*float64(r.rate)); n++ {
			select {
			case r.due <- r.links[n%len(r.links)]:
			default:
				r.late.Add(1)
			}
		}
	}
}

// read reads a file from one replica, first of them that with that number, or from another one.
func (r *readers) read(link string, first int) {
	for i := range r.replicas {
		replica := r.replicas[(first+i)%len(r.replicas)]
		starts, begun := replica.starts.Load(), time.Now()
		answer, err := replica.client.send("GET", link, nil)
		killed := replica.kills.Load() > starts
		if killed && (err != nil || strings.Contains(string(answer.body), "The service is starting.")) {
			continue
		}
		if err != nil || answer.status != http.StatusOK || hash(answer.body) != r.want[link] {
			r.t.Errorf("%s: status %d, %d bytes, %v, %.200s", link, answer.status, len(answer.body), err, answer.body)
			return
		}
		r.reads.Add(1)
		took := int64(time.Since(begun))
		for longest := r.longest.Load(); took > longest; longest = r.longest.Load() {
			r.longest.CompareAndSwap(longest, took)
		}
		return
	}
	r.unanswered.Add(1)
}

// killAndStart kills a replica and starts it again.
func (r *readers) killAndStart(t *testing.T, i int) {
	t.Helper()
	begun := time.Now()
	p := r.setup.processes[i]
	r.replicas[i].kills.Add(1)
	p.kill()
	r.setup.processes[i] = p.site.start(t)
	r.replicas[i].starts.Add(1)
	if len(r.replicas) == 1 {
		r.down += time.Since(begun)
	}
}

// stop ends the readers. Each file must have been read twice.
func (r *readers) stop(t *testing.T) {
	t.Helper()
	r.end()
	if n := r.reads.Load(); n < int64(2*len(r.links)) {
		t.Errorf("only %d reads of %d files", n, len(r.links))
	}
}

// report logs how many reads were answered. With enforce it fails if they were fewer than
// leastReads a second.
func (r *readers) report(t *testing.T, enforce bool) {
	t.Helper()
	rate := float64(r.reads.Load()) / (r.lasted - r.down).Seconds()
	text := fmt.Sprintf("%d reads answered in %v, %.0f a second while a server was up; %d sent while none was, %d not "+
		"sent in time; the longest took %v", r.reads.Load(), (r.lasted - r.down).Round(time.Second), rate,
		r.unanswered.Load(), r.late.Load(), time.Duration(r.longest.Load()).Round(time.Millisecond))
	if enforce && rate < leastReads {
		t.Errorf("%s; want %d a second", text, leastReads)
		return
	}
	t.Log(text)
}
