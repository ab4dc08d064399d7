package app

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// framedServer serves on a loopback port like the public listener. The response to every request
// contains its path and body.
func framedServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(closeHTTP10(handler))
	server.Listener = framedListener{server.Listener}
	server.Config.MaxHeaderBytes = 60 << 10
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
	}
	fmt.Fprintf(w, "%s=%s", r.URL.Path, body)
}

// answers reads the responses until the server closes the connection: the statuses, and the bodies
// of successful ones.
func answers(t *testing.T, conn net.Conn) string {
	t.Helper()
	var all []string
	for reader := bufio.NewReader(conn); ; {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return strings.Join(all, " ")
		}
		body, err := io.ReadAll(response.Body)
		// net/http closes the connection at once after a refusal of its own: a client that is still
		// sending sees a reset at the end of the body
		if err != nil && response.StatusCode == http.StatusOK {
			t.Fatal(err)
		}
		if all = append(all, fmt.Sprint(response.StatusCode)); response.StatusCode == 200 {
			all[len(all)-1] = string(body)
		} else if !response.Close {
			t.Errorf("a refusal does not say that the connection ends")
		}
	}
}

// Abuse case C121, RFC 9112 section 6.1: a request with two lengths, or with Transfer-Encoding in
// HTTP/1.0, gets the status 400 and ends the connection. The bytes after it, which may be its body
// or another request, are never answered. Each row is followed by a request for /last.
func TestAmbiguousRequestFramingIsRefused(t *testing.T) {
	t.Parallel()
	const (
		post    = "POST /a HTTP/1.1\r\nHost: x\r\n"
		chunked = "Transfer-Encoding: chunked\r\n"
		abc     = "3\r\nabc\r\n0\r\n\r\n"
		last    = "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		hidden  = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	)
	long := "X-Long: " + strings.Repeat("a", 50<<10) + "\r\n"
	server := framedServer(t, echo)
	for name, row := range map[string]struct{ request, want string }{
		"both":                     {post + "Content-Length: 3\r\n" + chunked + "\r\n" + abc, "400"},
		"both, in the other order": {post + chunked + "Content-Length: 3\r\n\r\n" + abc, "400"},
		"both, with length 0":      {post + chunked + "Content-Length: 0\r\n\r\n" + abc, "400"},
		"both, with a GET": {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" + chunked +
			"\r\n" + abc, "400"},
		"both, in OPTIONS *": {"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" + chunked +
			"\r\n" + abc, "400"},
		"hidden by the length": {post + chunked + fmt.Sprintf("Content-Length: %d\r\n\r\n0\r\n\r\n%s",
			5+len(hidden), hidden), "400"},
		"hidden by the chunks": {
			post + chunked + fmt.Sprintf("Content-Length: 4\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden), "400"},
		"in other case": {post + "content-LENGTH: 3\r\ntransfer-ENCODING: Chunked\r\n\r\n" + abc,
			"400"},
		"with another coding": {post +
			"Content-Length: 3\r\nTransfer-Encoding: CHUNKED, identity\r\n\r\nabc", "400"},
		"identity beside": {post + "Content-Length: 3\r\nTransfer-Encoding: identity\r\n\r\nabc",
			"400"},
		"with an empty Transfer-Encoding": {post + "Content-Length: 3\r\nTransfer-Encoding:\r\n\r\nabc", "400"},
		"Transfer-Encoding twice and a length": {post + "Content-Length: 3\r\n" + chunked + chunked + "\r\n" + abc,
			"400"},
		"a space before the colon": {post + "Content-Length: 3\r\nTransfer-Encoding : chunked\r\n\r\n" + abc,
			"400"},
		"a tab before the colon": {post + "Content-Length: 3\r\nTransfer-Encoding\t: chunked\r\n\r\n" +
			abc, "400"},
		"a space before the length": {post + chunked + "Content-Length : 3\r\n\r\n" + abc, "400"},
		"a folded Transfer-Encoding": {post + "Content-Length: 3\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" +
			abc, "400"},
		"a folded Content-Length": {post + "Content-Length:\r\n 3\r\n\r\nabc", "400"},
		"Transfer-Encoding folded into another": {post +
			"Content-Length: 3\r\nX-Other: a\r\n Transfer-Encoding: chunked\r\n\r\nabc", "400"},
		"Transfer-Encoding folded into another, no length": {post +
			"X-Other: a\r\n Transfer-Encoding: chunked\r\n\r\n" + abc,
			"400"},
		"a folded line": {post + "X-Other: a\r\n\tb\r\nContent-Length: 3\r\n\r\nabc", "400"},
		"lines that end in LF alone": {
			"POST /a HTTP/1.1\nHost: x\nContent-Length: 3\nTransfer-Encoding: chunked\n\n" + abc, "400"},
		"at the end of a long head": {post + "Content-Length: 3\r\n" + long + chunked + "\r\n" + abc, "400"},
		"in a long request line": {"POST /a?" + strings.Repeat("a", 9<<10) +
			" HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" + chunked + "\r\n" + abc, "400"},
		"two lengths":             {post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"},
		"a length that is a list": {post + "Content-Length: 3, 3\r\n\r\nabc", "400"},
		"a length far from its name": {post + "Content-Length: " + strings.Repeat(" ", 80) + "3\r\n\r\nabc",
			"400"},
		"HTTP/1.0, chunked": {"POST /a HTTP/1.0\r\nConnection: keep-alive\r\n" + chunked + "\r\n" +
			abc, "400"},
		"HTTP/1.0, chunked, with a length": {"POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n" +
			chunked + "\r\n" + abc, "400"},
		"HTTP/1.0, chunked, LF alone": {
			"POST /a HTTP/1.0\nConnection: keep-alive\nTransfer-Encoding: chunked\n\n" + abc, "400"},
		"HTTP/1.0 in a long request line": {"POST /a?" + strings.Repeat("a", 9<<10) + " HTTP/1.0\r\n" + chunked +
			"\r\n" + abc, "400"},
		"HTTP/1.0 after HTTP/1.1": {post + "Content-Length: 3\r\n\r\nabc" + "POST /b HTTP/1.0\r\n" +
			chunked + "\r\n" + abc, "/a=abc 400"},
		"after a body with a length": {post + "Content-Length: 3\r\n\r\nabc" + post + "Content-Length: 3\r\n" +
			chunked + "\r\n" + abc, "/a=abc 400"},
		"after a chunked body": {post + chunked + "\r\n" + abc + post + "Content-Length: 3\r\n" +
			chunked + "\r\n" + abc, "/a=abc 400"},
		"after a chunked body, trailers": {post + chunked + "\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n" + post +
			"Content-Length: 3\r\n" + chunked + "\r\n" + abc, "/a=abc 400"},
		"after no body": {hidden + hidden + post + chunked + "Content-Length: 3\r\n\r\n" + abc,
			"/hidden= /hidden= 400"},
		"after an answer that is early": {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" + post + chunked +
			"Content-Length: 3\r\n\r\n" + abc, " 400"},

		"HTTP/1.0": {"POST /a HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "/a=abc"},
		"HTTP/1.0 that would stay": {
			"POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", "/a=abc"},
		"chunked": {post + chunked + "\r\n" + abc, "/a=abc /last="},
		"chunked, many": {post + chunked + "\r\n1\r\na\r\n0002 \r\nbc\r\n0\r\n\r\n" +
			post + chunked + "\r\n" + abc, "/a=abc /a=abc /last="},
		"chunked, with a body like a head": {post + chunked + fmt.Sprintf("\r\n%X\r\n%s\r\n0\r\n\r\n", len(hidden),
			hidden), "/a=" + hidden + " /last="},
		"chunked, a coding as a trailer": {post + chunked +
			"\r\n3\r\nabc\r\n0\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n", "/a=abc /last="},
		"a length": {post + "Content-Length: 3\r\n\r\nabc", "/a=abc /last="},
		"the same length twice": {post + "Content-Length: 3\r\nContent-Length:3 \r\n\r\nabc",
			"/a=abc /last="},
		"a body like a head": {post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden),
			"/a=" + hidden + " /last="},
		"no length":                  {post + "\r\n", "/a= /last="},
		"an empty line after a body": {post + "Content-Length: 3\r\n\r\nabc\r\n", "/a=abc /last="},
		"a long head":                {post + long + "Content-Length: 3\r\n\r\nabc", "/a=abc /last="},
	} {
		for way, step := range map[string]int{"at once": 1 << 20, "byte by byte": 1, "in pieces": 7} {
			if step < 100 && len(row.request) > 1<<10 {
				step = 1001
			}
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				conn := dial(t, server)
				go func() {
					for rest := row.request + last; rest != ""; {
						n, err := io.WriteString(conn, rest[:min(step, len(rest))])
						if rest = rest[n:]; err != nil {
							return // refused before everything was sent
						}
					}
				}()
				if got := answers(t, conn); got != row.want {
					t.Errorf("%q, want %q", got, row.want)
				}
			})
		}
	}
}

// A client that is still sending a body gets the answer: the connection is not reset, which makes
// some systems discard received data.
func TestARefusedClientGetsItsAnswer(t *testing.T) {
	t.Parallel()
	server := framedServer(t, echo)
	conn := dial(t, server)
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\nTransfer-Encoding: chunked\r\n\r\n")
	_, _ = io.WriteString(conn, strings.Repeat("a", 200000))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") ||
		strings.Count(string(answer), "HTTP/1.1") != 1 {
		t.Errorf("%q, %v", answer, err)
	}
}

// A faulty request does not affect requests before it that are still being served.
func TestRequestsBeforeAFaultyOneAreAnswered(t *testing.T) {
	t.Parallel()
	reached, gone := make(chan struct{}), make(chan struct{})
	server := framedServer(t, func(w http.ResponseWriter, r *http.Request) {
		close(reached)
		<-gone
		fmt.Fprint(w, r.Context().Err())
	})
	conn := dial(t, server)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-reached
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	close(gone)
	if got := answers(t, conn); got != "<nil> 400" {
		t.Errorf("%q", got)
	}
}

// The connection keeps the abilities of a TCP connection: sending files with sendfile, and closing
// one direction.
func TestAFramedConnectionIsATCPConnection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var conn net.Conn = &framedConn{}
	if _, ok := conn.(io.ReaderFrom); !ok {
		t.Error("files are not sent with sendfile")
	}
	if _, ok := conn.(interface{ CloseWrite() error }); !ok {
		t.Error("one direction can't be closed alone")
	}
	server := framedServer(t, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// requestHeads returns the offsets at which net/http ends the heads of the requests in a stream,
// and for each whether it has both Transfer-Encoding and Content-Length.
func requestHeads(stream []byte) (ends []int, both []bool) {
	source := bytes.NewReader(stream)
	reader := bufio.NewReader(source)
	at := func() int { return len(stream) - source.Len() - reader.Buffered() }
	coding, length := regexp.MustCompile(`(?im)^transfer-encoding[ \t]*:`), regexp.MustCompile(
		`(?im)^content-length[ \t]*:`)
	for {
		began := at()
		request, err := http.ReadRequest(reader)
		if err != nil {
			return ends, both
		}
		head := stream[began:at()]
		ends, both = append(ends, at()), append(both, coding.Match(head) && length.Match(head))
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return ends, both
		}
	}
}

// For any bytes in any pieces: the bytes that pass are split into requests as net/http splits them,
// and no request has both a coding and a length.
func TestFramingSplitsRequestsAsTheServerDoes(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"GET / HTTP/1.1\r\n", "POST /a HTTP/1.1\r\n", "POST /b HTTP/1.0\n", "Host: x\r\n", "Content-Length: 5\r\n",
		"Content-Length: 0\r\n", "content-length:5\n", "Content-Length:\r\n 5\r\n",
		"Transfer-Encoding: chunked\r\n", "transfer-encoding: CHUNKED\n", "Transfer-Encoding : chunked\r\n",
		" chunked\r\n", "X: y\r\n", "\r\n", "\n", "abcde", "5\r\nabcde\r\n", "5;x\r\nabcde\r\n", "0\r\n",
		"0\r\n\r\n", "5 ;x=\"\n\"\r\n", "A\n", "00000000000000005\r\n", ":", " ", "\r", "\x00", "X: \r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), ""))
		step := rapid.IntRange(1, 60).Draw(t, "step")
		var f framing
		var ends []int
		passed := len(stream)
		// byte by byte to find the ends of heads, with Read calls of the pieces' sizes
		for i := 0; i < len(stream) && passed == len(stream); i += step {
			piece := stream[i:min(i+step, len(stream))]
			twin := f
			twin.line = append([]byte{}, f.line...)
			if good, ok := f.scan(piece); !ok {
				passed = i + good
			}
			for at := range piece {
				before := twin.part
				if _, ok := twin.scan(piece[at : at+1]); !ok {
					break
				}
				if before == headerLine && twin.part != headerLine {
					ends = append(ends, i+at+1)
				}
			}
		}
		wanted, both := requestHeads(stream[:passed])
		for i, end := range wanted {
			if i >= len(ends) || ends[i] != end {
				t.Fatalf("%q: heads end at %v, those of the server at %v", stream, ends, wanted)
			}
			if both[i] {
				t.Fatalf("%q: request %d has a coding and a length", stream, i)
			}
		}
	})
}
