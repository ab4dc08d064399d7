package e2e

import (
	"os"
	"path"
	"path/filepath"
	"testing"
)

// traced is the calls that the tests of durability look at.
const traced = "trace=read,openat,write,writev,pwrite64,pwritev,fsync,fdatasync,rename,renameat,renameat2,sendto,sendmsg"

// SIGKILL leaves the page cache alone, so the order of system calls is what proves that an upload
// outlives a loss of power. abuse case C123
func TestUploadIsDurableBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	trace := filepath.Join(t.TempDir(), "trace")
	// -D: the server, not strace, is the child that signals reach
	p := s.start(t, "strace", "-D", "-f", "-q", "-y", "-s", "64", "-e", traced, "-o", trace)
	token := s.key(t, "admin")
	// Another address for each kind, so that it can be found in the trace; a connection for each,
	// since on one that is kept the server waits for the next request with a read of a single byte.
	withKey(token, p.url).mustRaw(t, "first.jpg", "", "image/jpeg", photograph(t))
	body, kind := form(t, file("file", "second.jpg", "image/jpeg", string(photograph(t))))
	withKey(token, p.url).do(t, "POST", "/api/compat/upload", body, "Content-Type", kind).want(t, 200)
	p.stop(t)

	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	calls := parseTrace(string(text))
	for _, request := range []string{"POST /api/upload ", "POST /api/compat/upload "} {
		exchange, err := exchangeOf(calls, request)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		// The first object of a directory makes that directory durable as well; there are 256
		// of them in all.
		syncs, above := syncsOf(exchange)
		t.Logf("%s: syncs %s; of new directories %s", request, syncs, above)
		if len(syncs) > 4 || len(above) > 1 {
			t.Errorf("%s: %d syncs for one upload and %d of new directories, want 4 and 1 at most", request, len(syncs),
				len(above))
		}
		if err := durable(exchange); err != nil {
			t.Errorf("%s: %v", request, err)
			for _, c := range exchange {
				t.Logf("%d-%d %s(%s) = %d", c.begin, c.end, c.name, tail(c.args, 200), c.result)
			}
		}
	}
}

// accessLog is the file that the access log is written to, at times of its own: who uploads does
// not wait for it.
const accessLog = "audit.db-wal"

// syncsOf lists the files that were synced for an upload, those apart in which
// the object's directory lies.
func syncsOf(calls []call) (syncs, above []string) {
	grandparent, besides := "", ""
	for _, c := range calls {
		if path.Base(c.file()) == accessLog {
			besides = path.Dir(c.file()) // where it is new, its directory is synced as well
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
