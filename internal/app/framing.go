package app

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// lineLimit is the number of bytes of a line that are kept. The names and values that framing
	// reads are shorter.
	lineLimit = 64
	// lingerTime and lingerBytes bound how long a refused connection is read after the answer.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// invalidLine is a line that neither a head nor a chunked body may contain: net/http answers 400
// and closes the connection.
const invalidLine = "\x00\n"

// framedListener accepts connections that refuse requests with ambiguous framing (RFC 9112,
// sections 5.2, 6.1 and 6.3; abuse case C121): requests with both Transfer-Encoding and
// Content-Length, with Transfer-Encoding in HTTP/1.0, or with a folded header line. A proxy in
// front may see another end of such a request than this server, and take the bytes after it for a
// part of its body. net/http chooses one of the two lengths, removes both headers before a handler
// sees them, and keeps the connection. So the check is in the connection itself.
type framedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l framedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		return &framedConn{TCPConn: tcp}, nil
	}
	return conn, err
}

// framedConn is a connection of the public listener. It embeds the TCP connection, so that files
// are still sent with sendfile. It must not be hijacked, because it parses everything that it reads
// as HTTP.
type framedConn struct {
	*net.TCPConn
	framing framing
	rest    string      // unread rest of invalidLine, once faulty
	faulty  atomic.Bool // the server receives nothing more from the client
	closing atomic.Bool
	cork    cork
}

// Read implements net.Conn. It replaces the last line of a faulty head with invalidLine, so that
// net/http answers 400. Only that request is lost: requests before it on the connection are
// answered as usual, even if the server has not begun them yet.
func (c *framedConn) Read(p []byte) (int, error) {
	if c.faulty.Load() {
		return c.refuse(p)
	}
	n, err := c.TCPConn.Read(p)
	good, ok := c.framing.scan(p[:n])
	if ok {
		return n, err
	}
	c.rest = invalidLine
	c.faulty.Store(true)
	if good > 0 {
		return good, nil
	}
	return c.refuse(p)
}

// refuse is Read for a connection with a faulty request: it returns the rest of invalidLine, and
// then io.EOF.
func (c *framedConn) refuse(p []byte) (int, error) {
	if c.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Close implements net.Conn. A refused client may still be sending, and unread bytes would make the
// kernel reset the connection, so that the client would lose the answer. So Close reads them for a
// moment. It does so in the background, since a server that stops closes one connection after
// another. A second Close ends it.
func (c *framedConn) Close() error {
	if !c.faulty.Load() || c.closing.Swap(true) {
		return c.TCPConn.Close()
	}
	err := errors.Join(c.CloseWrite(), c.SetReadDeadline(time.Now().Add(lingerTime)))
	go func() { // for at most lingerTime
		_, _ = io.CopyN(io.Discard, c.TCPConn, lingerBytes)
		_ = c.TCPConn.Close()
	}()
	return err
}

// closeHTTP10 closes the connection after each response to an HTTP/1.0 client, which has no chunked
// bodies and keeps connections only by an extension.
func closeHTTP10(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// linePart is the part of a request that the current line belongs to.
type linePart int

const (
	requestLine linePart = iota
	headerLine
	chunkSize
	chunkEnd
	trailerLine
)

// framing follows the requests on a connection, to find the end of each head and body. It is at
// least as strict as net/http. Where the two could disagree, it refuses the request.
type framing struct {
	part   linePart
	buffer [lineLimit]byte
	line   []byte // the first bytes of the current line; the last bytes of a request line
	skip   int64  // remaining bytes of a body or chunk

	http10           bool  // the request is HTTP/1.0
	transferEncoding bool  // it has Transfer-Encoding
	length           int64 // its Content-Length, -1 if it has none
}

// scan follows p, the next bytes from the client. It returns how many of them the server may
// receive, and whether these are all. If not, the next byte ends a line that makes the framing
// ambiguous.
func (f *framing) scan(p []byte) (good int, ok bool) {
	for i := 0; i < len(p); {
		if f.skip > 0 {
			step := int(min(f.skip, int64(len(p)-i)))
			f.skip -= int64(step)
			i += step
			continue
		}
		end := bytes.IndexByte(p[i:], '\n')
		if end < 0 {
			f.gather(p[i:])
			break
		}
		f.gather(p[i : i+end])
		i += end
		if !f.endLine() {
			return i, false
		}
		i++
	}
	return len(p), true
}

// gather adds p to the current line, of which it keeps the bytes that framing needs: the first
// lineLimit bytes, or the last ones of a request line.
func (f *framing) gather(p []byte) {
	if f.line == nil {
		f.line = f.buffer[:0]
	}
	if f.part == requestLine { // the end of the line contains the version
		p = p[max(0, len(p)-lineLimit):]
		over := max(0, len(f.line)+len(p)-lineLimit)
		f.line = f.line[:copy(f.line, f.line[over:])]
	}
	f.line = append(f.line, p[:min(len(p), lineLimit-len(f.line))]...)
}

// endLine interprets the line that has just ended, and reports whether the request may go on: false
// for a line that makes its framing ambiguous.
func (f *framing) endLine() bool {
	line, long := bytes.TrimSuffix(f.line, []byte("\r")), len(f.line) == lineLimit
	f.line = f.line[:0]
	switch {
	case f.part == requestLine && len(line) > 0 &&
		len(bytes.Trim(line, "\r")) == 0: // net/http treats it as an empty line
		return false
	case f.part == requestLine && len(line) > 0: // net/http skips a few empty lines before one
		f.part, f.transferEncoding, f.length = headerLine, false, -1
		f.http10 = bytes.HasSuffix(line, []byte("HTTP/1.0"))
	case f.part == headerLine && len(line) > 0:
		return f.header(line, long)
	case f.part == headerLine:
		return f.endHead()
	case f.part == chunkSize:
		return f.chunkHeader(line)
	case f.part == chunkEnd:
		f.part = chunkSize
		return len(line) == 0
	case f.part == trailerLine && len(line) == 0:
		f.part = requestLine
	}
	return true
}

// header notes Transfer-Encoding and Content-Length from a header line; long means that the line
// was cut. It reports false for a folded line, and for a Content-Length that is no number or
// contradicts an earlier one.
func (f *framing) header(line []byte, long bool) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case line[0] == ' ' || line[0] == '\t': // a folded line continues the value before it; some servers ignore it
		return false
	case bytes.EqualFold(bytes.TrimSpace(name), []byte("Transfer-Encoding")):
		f.transferEncoding = true
	case bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")):
		length, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 63)
		if err != nil || long || f.length >= 0 && f.length != int64(length) {
			return false
		}
		f.length = int64(length)
	}
	return true
}

// endHead decides at the end of a head where the request's body ends. It reports false for
// Transfer-Encoding together with Content-Length, or in HTTP/1.0.
func (f *framing) endHead() bool {
	if f.transferEncoding && (f.length >= 0 || f.http10) {
		return false
	}
	if f.part = requestLine; f.transferEncoding {
		f.part = chunkSize
	} else if f.length > 0 {
		f.skip = f.length
	}
	return true
}

// chunkHeader reads the size of a chunk, in hexadecimal, from its first line. It reports false when
// that is no number.
func (f *framing) chunkHeader(line []byte) bool {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 63)
	if err != nil {
		return false
	}
	if f.part = trailerLine; size > 0 {
		f.part, f.skip = chunkEnd, int64(size)
	}
	return true
}
