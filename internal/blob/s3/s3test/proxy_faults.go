package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// answer is a complete answer of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP forwards a call, or applies the injected fault.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := operation(r)
	fault, released := p.takeFault(op, r.ContentLength)
	switch fault {
	case "":
		p.forward(w, r)
	case Refused:
		closeConnection(w, true)
	case Reset:
		p.reset(w, r)
	case Slow:
		p.slow(w, r, released)
	case Internal:
		replyError(w, r, http.StatusInternalServerError, "InternalError")
	case SlowDown:
		replyError(w, r, http.StatusServiceUnavailable, "SlowDown")
	case ErrorIn200:
		replyError(w, r, http.StatusOK, "InternalError")
	case Skewed:
		replyError(w, r, http.StatusForbidden, "RequestTimeTooSkewed")
	case NotFoundAtHead:
		if op == Head {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		p.mu.Lock()
		p.pending = append([]pendingFault{{NotFoundAtHead, Head, 1}}, p.pending...)
		p.mu.Unlock()
		p.forward(w, r)
	default: // the server carries out the call
		got, err := p.fetchAnswer(r, r.Body)
		if err != nil {
			closeConnection(w, false)
			return
		}
		p.spoilAnswer(w, r, fault, got, released)
	}
}

// spoilAnswer answers r with got, the answer of the server that has carried out the call, changed
// as the fault says: withheld, replaced by 404, cut, or with other ETags.
func (p *Proxy) spoilAnswer(w http.ResponseWriter, r *http.Request, fault Fault, got answer, released <-chan struct{}) {
	switch fault {
	case TimedOut:
		var patience <-chan time.Time
		if p.HoldTime >= 0 {
			patience = time.After(p.HoldTime)
		}
		select {
		case <-patience:
		case <-released:
		case <-r.Context().Done():
		}
		closeConnection(w, false)
	case NoSuchUpload:
		replyError(w, r, http.StatusNotFound, "NoSuchUpload")
	case Truncated:
		head := got.head()
		writeAndClose(w, false, append(head, got.body...)[:cutOffset(r, head, got.body)])
	case WrongTag:
		if got.header.Get("Etag") != "" {
			got.header.Set("Etag", wrongETag)
		}
		if r.Method != http.MethodGet || operation(r) == List { // otherwise the body holds the object's own bytes
			got.body = etagElement.ReplaceAll(got.body, []byte("<ETag>"+wrongETag+"</ETag>"))
		}
		got.reply(w)
	}
}

const wrongETag = `"0123456789abcdef0123456789abcdef"`

var etagElement = regexp.MustCompile(`<ETag>[^<]*</ETag>`)

// cutOffset returns the offset, in bytes from the status line, at which Truncated and Reset cut an
// answer: half of its body, or half of its head when no body is sent.
func cutOffset(r *http.Request, head, body []byte) int {
	if len(body) == 0 || r.Method == http.MethodHead {
		return len(head) / 2
	}
	return len(head) + len(body)/2
}

// forward forwards a call and its answer unchanged, except for what the hooks change.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	if before, _ := p.hooks(); before != nil && before(w, r) {
		return
	}
	p.forwarding.RLock()
	defer p.forwarding.RUnlock()
	// the server completes a call that has reached it, also when the client disconnects
	out := p.outgoingRequest(r.WithContext(context.WithoutCancel(r.Context())), r.Body)
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		closeConnection(w, false)
		return
	}
	defer resp.Body.Close()
	if _, after := p.hooks(); after != nil {
		after(resp)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		closeConnection(w, true)
	}
}

// outgoingRequest returns the request to the server that forwards r with body. It keeps the Host
// header, which the signature covers.
func (p *Proxy) outgoingRequest(r *http.Request, body io.Reader) *http.Request {
	out := r.Clone(r.Context())
	out.RequestURI, out.Close = "", false
	out.URL.Scheme, out.URL.Host = p.backend.Scheme, p.backend.Host // out.Host stays as it was signed
	out.Header.Del("Expect")
	out.Body = http.NoBody
	if r.ContentLength != 0 {
		out.Body = io.NopCloser(body)
	}
	return out
}

// fetchAnswer forwards a call with body and returns the complete answer, with a Content-Length.
func (p *Proxy) fetchAnswer(r *http.Request, body io.Reader) (answer, error) {
	resp, err := p.transport.RoundTrip(p.outgoingRequest(r, body))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if resp.Header.Get("Content-Length") == "" {
		resp.Header.Set("Content-Length", strconv.Itoa(len(content)))
	}
	return answer{resp.StatusCode, resp.Header, content}, err
}

// reset forwards half of the request's body, or half of the answer's when the request has none, and
// resets the connection.
func (p *Proxy) reset(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_, _ = p.fetchAnswer(r, io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), brokenBody{}))
		closeConnection(w, true)
		return
	}
	if r.Method == http.MethodHead || r.Method == http.MethodDelete {
		closeConnection(w, true)
		return
	}
	got, err := p.fetchAnswer(r, r.Body)
	if err != nil {
		closeConnection(w, true)
		return
	}
	head := got.head()
	writeAndClose(w, true, append(head, got.body...)[:cutOffset(r, head, got.body)])
}

// brokenBody is a body that fails at once.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("the connection was reset") }

// slow forwards one byte of the request's body every p.ByteInterval, or of the answer when the
// request has no body. released ends it.
func (p *Proxy) slow(w http.ResponseWriter, r *http.Request, released <-chan struct{}) {
	wait := func() error {
		select {
		case <-released:
		case <-r.Context().Done():
		case <-time.After(p.ByteInterval):
			return nil
		}
		return errors.New("nobody waits any more")
	}
	if r.ContentLength != 0 {
		got, err := p.fetchAnswer(r, throttledBody{r.Body, wait})
		if err != nil {
			closeConnection(w, true)
			return
		}
		got.reply(w)
		return
	}
	got, err := p.fetchAnswer(r, r.Body)
	if err != nil {
		closeConnection(w, true)
		return
	}
	head, slowly := got.head(), got.body
	if len(got.body) == 0 || r.Method == http.MethodHead {
		head, slowly = nil, head
	}
	conn := hijack(w)
	defer conn.Close()
	if _, err := conn.Write(head); err != nil {
		return
	}
	for i := range slowly {
		if wait() != nil {
			return
		}
		if _, err := conn.Write(slowly[i : i+1]); err != nil {
			return
		}
	}
}

// throttledBody returns one byte per read, after a wait.
type throttledBody struct {
	io.Reader
	wait func() error
}

// Read implements io.Reader: it waits, and then returns one byte at most. Error: that of wait.
func (t throttledBody) Read(p []byte) (int, error) {
	if err := t.wait(); err != nil {
		return 0, err
	}
	return t.Reader.Read(p[:min(1, len(p))])
}

// replyError answers r with that status and an S3 error document with that code, after discarding
// the body of the request.
func replyError(w http.ResponseWriter, r *http.Request, status int, code string) {
	_, _ = io.Copy(io.Discard, r.Body)
	document := `<?xml version="1.0" encoding="UTF-8"?>` + "\n<Error><Code>" + code +
		"</Code><Message>no</Message></Error>"
	answer{status, http.Header{"Content-Type": {"application/xml"}, "Content-Length": {strconv.Itoa(len(document))}},
		[]byte(document)}.reply(w)
}

// reply sends an answer unchanged. The server drops the body of an answer to HEAD.
func (a answer) reply(w http.ResponseWriter) {
	if len(a.body) > 0 {
		a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// head returns the status line and the headers of an answer.
func (a answer) head() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	_ = a.header.Write(&b)
	b.WriteString("\r\n")
	return b.Bytes()
}

// hijack takes the connection of an answer over from the HTTP server, so that the caller can write
// bytes of its own and reset it.
func hijack(w http.ResponseWriter) *net.TCPConn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn.(*net.TCPConn)
}

// closeConnection ends the connection of an answer, by a TCP reset or cleanly.
func closeConnection(w http.ResponseWriter, reset bool) { writeAndClose(w, reset, nil) }

// writeAndClose writes content to the connection of an answer as it is, and then ends the
// connection, by a TCP reset or cleanly.
func writeAndClose(w http.ResponseWriter, reset bool, content []byte) {
	conn := hijack(w)
	defer conn.Close()
	_, _ = conn.Write(content)
	if reset {
		_ = conn.SetLinger(0)
	}
}
