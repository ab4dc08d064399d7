package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// soaking reports whether this is the long run of `make soak`.
func soaking() bool { return os.Getenv("LARDER_TEST_TRIALS") != "" }

// Abuse case C111: clients that disconnect during a request leave neither goroutines nor open
// files. There are 400 of them, and 10,000 in a soak.
func TestAbortedRequestsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	count := 400
	if soaking() {
		count = 10_000
	}
	s := newSite(t)
	s.env["LARDER_RATE_LIMIT_ENABLED"] = "false"
	s.env["LARDER_OPS_LISTEN"] = freeAddress(t)
	p := s.start(t)
	token := s.key(t, "admin")
	keyed := withKey(token, p.url)
	keyed.mustRaw(t, "large.bin", "", "application/x-test", make([]byte, 8<<20))
	admin := p.admin(t).headers(t)
	address := strings.TrimPrefix(p.url, "http://")
	abort := func(i int) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		switch i % 5 {
		case 0: // during the head
			fmt.Fprintf(conn, "GET /api/files HTTP/1.1\r\nHost: %s\r\nX-", address)
		case 1: // during a small body
			fmt.Fprintf(conn,
				"POST /api/upload HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-File-Name: small\r\n"+
					"Content-Length: 1000\r\n\r\nhalf", address, token)
		case 2: // during a body that is being written
			fmt.Fprintf(conn,
				"POST /api/upload HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-File-Name: large\r\n"+
					"Content-Length: 1000000\r\n\r\n", address, token)
			io.WriteString(conn, strings.Repeat("x", 400_000)) // fails when the request was refused
		case 3: // during an answer
			fmt.Fprintf(conn, "GET /uploads/large.bin HTTP/1.1\r\nHost: %s\r\n", address)
			admin.Write(conn)
			io.WriteString(conn, "\r\n")
			bufio.NewReader(conn).ReadString('\n')
		case 4: // before the answer
			fmt.Fprintf(conn,
				"POST /api/auth/login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
					"Content-Length: 40\r\n\r\n%40s", address, `{"username": "nobody", "password": "no"}`)
		}
	}
	run := func(n int) {
		var all sync.WaitGroup
		for lane := range 8 {
			all.Go(func() {
				for i := lane; i < n; i += 8 {
					abort(i)
				}
			})
		}
		all.Wait()
	}
	run(40) // creates what is kept after the first use: connections to the database, buffers
	settled := func() (goroutines, files int) {
		files = p.openFiles(t)
		goroutines = p.goroutines(t)
		return goroutines, files
	}
	var goroutines, files int
	p.await(t, "at rest", func() bool {
		g, f := settled()
		rest := g == goroutines && f == files
		goroutines, files = g, f
		return rest
	})
	run(count)
	p.await(t, "back to the former state", func() bool {
		g, f := settled()
		return g <= goroutines+5 && f <= files+5
	})
	p.await(t, "free of reservations", func() bool {
		return strings.Contains(s.mustRun(t, "fsck"), "No problems found")
	})
	p.stop(t)
}

// openFiles returns the number of descriptors of the process.
func (p *process) openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

var goroutineCount = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

func (p *process) goroutines(t *testing.T) int {
	t.Helper()
	resp, err := http.Get("http://" + p.site.env["LARDER_OPS_LISTEN"] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	m := goroutineCount.FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("no number of goroutines in the metrics: %v", err)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Abuse case C131: SIGTERM during 20 uploads. Uploads that continue are completed and durable.
// Uploads whose clients disconnected can be sent again within their sessions. In a soak half of the
// uploads stall, and are cut after 30 seconds.
func TestStopInTheMiddleOfUploads(t *testing.T) {
	t.Parallel()
	const uploads = 20
	s := newSite(t)
	p := s.start(t)
	admin := p.admin(t)
	content := []byte(strings.Repeat("half of it ", 60_000))
	address := strings.TrimPrefix(p.url, "http://")
	sessions, conns := make([]string, uploads), make([]net.Conn, uploads)
	for i := range uploads {
		sessions[i] = admin.announce(t, "/uploads", fmt.Sprintf("f%d", i), int64(len(content)), nil).SessionID
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns[i] = conn
		fmt.Fprintf(conn, "PUT /api/files/upload/raw/%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", sessions[i],
			address, len(content))
		admin.headers(t).Write(conn)
		io.WriteString(conn, "\r\n")
		if _, err := conn.Write(content[:len(content)/2]); err != nil {
			t.Fatal(err)
		}
	}
	p.await(t, "writing all of them", func() bool {
		names, err := os.ReadDir(s.dir + "/objects/default/tmp")
		return err == nil && len(names) == uploads
	})
	began := time.Now()
	p.terminate(t)
	for i, conn := range conns {
		switch {
		case i%2 == 0:
			if _, err := conn.Write(content[len(content)/2:]); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("upload %d was not finished: %v, %v", i, resp, err)
			}
			resp.Body.Close()
		case !soaking():
			conn.Close()
		}
	}
	if code := p.ended(t); code != 0 && !soaking() {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took > 35*time.Second { // 30 s for the stalled uploads, and the cleanup
		t.Errorf("the stop took %v", took)
	}

	again := s.start(t)
	admin.bases = []string{again.url}
	for i, session := range sessions {
		if i%2 == 1 {
			admin.do(t, "PUT", "/api/files/upload/raw/"+session, content).want(t, 200)
		}
		admin.do(t, "POST", "/api/files/upload-complete", object{"sessionId": session, "etag": hash(content)}).
			want(t, 200)
		if got := admin.do(t, "GET", fmt.Sprintf("/uploads/f%d", i), nil).want(t, 200).
			body; hash(got) != hash(content) {
			t.Errorf("f%d has other bytes after the restart", i)
		}
	}
	s.fsck(t)
	again.stop(t)
}
