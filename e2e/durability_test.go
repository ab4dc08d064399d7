package e2e

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// traced are the system calls that the durability tests examine.
const traced = "trace=read,openat,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat,renameat2,sendto,sendmsg"

// SIGKILL does not affect the page cache, so only the order of system calls proves that an upload
// survives a power failure. Abuse case C123
func TestUploadIsDurableBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_SCRUB_RATE"] = "0" // its transactions would be counted as those of an upload
	trace := filepath.Join(t.TempDir(), "trace")
	// -D: the server, not strace, is the child that receives signals
	p := s.start(t, "strace", "-D", "-f", "-q", "-y", "-s", "64", "-e", traced, "-o", trace)
	token := s.key(t, "admin")
	// A different path for each request, to find it in the trace. A connection for each, since on a
	// kept one the server waits for the next request with a read of a single byte.
	const times = 3
	for n := range times {
		name := fmt.Sprintf("%d.jpg", n)
		withKey(token, p.url).do(t, "POST", fmt.Sprintf("/api/upload?n=%d", n), photograph(t),
			"X-File-Name", name, "Content-Type", "image/jpeg").want(t, 200)
		body, kind := form(t, file("file", "form-"+name, "image/jpeg", string(photograph(t))))
		withKey(token, p.url).do(t, "POST", fmt.Sprintf("/api/compat/upload?n=%d", n), body,
			"Content-Type", kind).want(t, 200)
	}
	p.stop(t)

	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	calls := parseTrace(string(text))
	for _, path := range []string{"/api/upload", "/api/compat/upload"} {
		// Work in the background, such as the heartbeat of the replica, can add a sync of the
		// database's log to one upload, so the upload with the fewest counts.
		fewest := math.MaxInt
		for n := range times {
			request := fmt.Sprintf("POST %s?n=%d ", path, n)
			exchange, err := exchangeOf(calls, request)
			if err != nil {
				t.Fatalf("%s: %v", request, err)
			}
			// The first object in one of the 256 directories also makes the directory durable.
			syncs, above := syncsOf(exchange)
			t.Logf("%s: syncs %s; of new directories %s", request, syncs, above)
			fewest = min(fewest, len(syncs))
			if len(above) > 1 {
				t.Errorf("%s: %d syncs of new directories, want 1 at most", request, len(above))
			}
			if err := durable(exchange); err != nil {
				t.Errorf("%s: %v", request, err)
				for _, c := range exchange {
					t.Logf("%d-%d %s(%s) = %d", c.begin, c.end, c.name, tail(c.args, 200), c.result)
				}
			}
		}
		if fewest > 4 {
			t.Errorf("POST %s: %d syncs for one upload, want 4 at most", path, fewest)
		}
	}
}

// accessLog is the file of the access log. It is written independently, and uploads do not wait for
// it.
const accessLog = "audit.db-wal"

// syncsOf lists the files synced for an upload, and separately the directories above the object.
func syncsOf(calls []call) (syncs, above []string) {
	grandparent, besides := "", ""
	for _, c := range calls {
		if path.Base(c.file()) == accessLog {
			besides = path.Dir(c.file()) // the parent of a new directory is synced as well
		}
		if _, to, ok := c.renamed(); ok {
			grandparent = path.Dir(path.Dir(to))
		}
	}
	for _, c := range calls {
		switch {
		case !c.isSync(), path.Base(c.file()) == accessLog, c.file() == besides:
		case c.file() == grandparent:
			above = append(above, c.file())
		default:
			syncs = append(syncs, c.file())
		}
	}
	return syncs, above
}
