package app

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// connPair returns the two ends of a TCP connection, the first as the public listener accepts it.
func connPair(t *testing.T) (accepted *framedConn, peer net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	if peer, err = net.Dial("tcp", inner.Addr().String()); err != nil {
		t.Fatal(err)
	}
	conn, err := framedListener{inner}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); peer.Close() })
	return conn.(*framedConn), peer
}

// A corked connection holds back one write of up to 4 KiB until the next one, or until it is
// uncorked. Nothing is lost or changes its place.
func TestCorkedConnHoldsOneWrite(t *testing.T) {
	t.Parallel()
	short, longest, long := "head", strings.Repeat("h", heldBytes), strings.Repeat("l", heldBytes+1)
	for name, c := range map[string]struct {
		writes []string
		held   string // after each write: 1 or 0
	}{
		"head and body":    {[]string{short, long}, "10"},
		"a full buffer":    {[]string{longest, long, short}, "101"},
		"head alone":       {[]string{short}, "1"},
		"a long write":     {[]string{long, short, short}, "010"},
		"two short writes": {[]string{short, short, short, short}, "1010"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, peer := connPair(t)
			held := ""
			n, err := conn.writeCorked(func() (int, error) {
				for _, text := range c.writes {
					buffer := []byte(text)
					if n, err := conn.Write(buffer); n != len(text) || err != nil {
						t.Errorf("wrote %d bytes of %d: %v", n, len(text), err)
					}
					clear(buffer) // its owner uses it again
					held += strconv.Itoa(map[bool]int{true: 1}[conn.cork.buffer != nil])
				}
				return 7, nil
			})
			if n != 7 || err != nil || held != c.held || conn.cork.buffer != nil {
				t.Errorf("%d, %v; held %s, want %s, and nothing at the end", n, err, held, c.held)
			}
			if _, err := conn.Write([]byte("after")); err != nil || conn.cork.buffer != nil {
				t.Errorf("a later write is held back (%v)", err)
			}
			conn.Close()
			got, err := io.ReadAll(peer)
			if want := strings.Join(c.writes, "") + "after"; err != nil || string(got) != want {
				t.Errorf("the peer has got %d bytes of %d (%v)", len(got), len(want), err)
			}
		})
	}
}

// A write to a closed connection fails, and so does the end of a corked one that holds something.
func TestCorkedConnReportsErrors(t *testing.T) {
	t.Parallel()
	conn, _ := connPair(t)
	conn.Close()
	if _, err := conn.writeCorked(func() (int, error) { return conn.Write([]byte("head")) }); err == nil {
		t.Error("a held write to a closed connection succeeded")
	}
	if conn.cork.buffer != nil {
		t.Error("it is still held")
	}
}

// Bodies of every size around the buffers arrive whole, one after another on a connection.
func TestBodiesThroughCorkedConn(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(slowClientHandler{grace: time.Minute, rate: 1 << 10,
		next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if connOf(r) == nil {
				t.Error("the handler does not know its connection")
			}
			size, err := strconv.Atoi(r.URL.Query().Get("size"))
			if err != nil {
				t.Error(err)
			}
			if r.URL.Query().Has("length") {
				w.Header().Set("Content-Length", strconv.Itoa(size))
			}
			body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
			if n, err := w.Write(body); n != size || err != nil {
				t.Errorf("wrote %d bytes of %d: %v", n, size, err)
			}
		})})
	server.Listener = framedListener{server.Listener}
	server.Config.ConnContext = withConn
	server.Start()
	t.Cleanup(server.Close)
	for _, size := range []int{0, 1, 2047, 2048, 2049, 3900, 4095, 4096, 4097, 8191, 8192, 20480, 65536, 600_000} {
		for _, length := range []string{"", "&length"} {
			response, err := server.Client().Get(fmt.Sprintf("%s/?size=%d%s", server.URL, size, length))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			response.Body.Close()
			if want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes%s: got %d (%v)", size, length, len(got), err)
			}
		}
	}
}
