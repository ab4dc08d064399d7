package app

import (
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// slowClientHandler hangs up on clients that keep a connection without using it (abuse case C105).
// A body, in whichever direction, may take its time for as long as it moves: 20 GiB over a slow
// line are fine, a byte a minute is not. Only the time that is spent waiting for the client counts,
// so that a store or database that is slow is nobody's fault.
type slowClientHandler struct {
	next  http.Handler
	grace time.Duration // what one read or write may wait, and what a body may wait beyond what its length is worth
	rate  int64         // bytes a second that a body has to bring on average
}

// writeStepBytes is how many bytes have to go out within one grace.
const writeStepBytes = 512 << 10

// copyBuffers hold what passes from a store to a client.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// ServeHTTP implements http.Handler.
func (p slowClientHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Time{}) // of the connection's last request; what can't have deadlines goes without
	if r.Body != nil && r.Body != http.NoBody {
		_ = conn.SetReadDeadline(time.Now().Add(p.grace)) // for a body that nobody reads but the server, at the end
		body := &timedBody{ReadCloser: r.Body, slowClientHandler: p, conn: conn}
		// a copy: by the body of its own request the server sees how much was left unread, and
		// answers before it comes
		r = r.WithContext(r.Context())
		r.Body = body
	}
	reply := &timedWriter{ResponseWriter: w, slowClientHandler: p, conn: conn}
	p.next.ServeHTTP(reply, r)
	reply.extendDeadline() // for what the server sends by itself at the end
}

// timedBody is a request's body.
type timedBody struct {
	io.ReadCloser
	slowClientHandler
	conn   *http.ResponseController
	waited time.Duration
	read   int64
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	began := time.Now()
	earned := time.Duration(b.read/b.rate) * time.Second
	_ = b.conn.SetReadDeadline(began.Add(min(b.grace, b.grace+earned-b.waited)))
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(began)
	b.read += int64(n)
	if err == io.EOF { // what the server waits for now is the end of the connection, which must not be made up
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// timedWriter is a reply.
type timedWriter struct {
	http.ResponseWriter
	slowClientHandler
	conn   *http.ResponseController
	waited time.Duration // for the client, beyond what the bytes that went out are worth
}

// Unwrap serves http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *timedWriter) extendDeadline() {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.grace - w.waited))
}

// writeTimed has send send up to writeStepBytes bytes. An answer may consist of many small pieces
// (an archive does), so that it is the average that counts; what was taken fast gains nothing for
// later. What passes between two pieces is the server's own: the deadline of the one before may be
// long over, and must not cut whoever has taken everything in time.
func (w *timedWriter) writeTimed(send func() (int64, error)) (n int64, err error) {
	began := time.Now()
	w.extendDeadline()
	n, err = send()
	earned := time.Duration(n) * w.grace / writeStepBytes
	w.waited = max(0, w.waited+time.Since(began)-earned)
	return n, err
}

// FlushError serves http.ResponseController: it waits for the client as a write does.
func (w *timedWriter) FlushError() error {
	_, err := w.writeTimed(func() (int64, error) { return 0, w.conn.Flush() })
	return err
}

// Write implements io.Writer.
func (w *timedWriter) Write(p []byte) (written int, err error) {
	for {
		step := p[:min(len(p), writeStepBytes)]
		n, err := w.writeTimed(func() (int64, error) {
			n, err := w.ResponseWriter.Write(step)
			return int64(n), err
		})
		written += int(n)
		if p = p[len(step):]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// ReadFrom hands files on step by step, so that they still go out by sendfile. What comes from
// elsewhere is read here, in large pieces: each read and write costs a system call, and the wait
// for a store is not one for the client.
func (w *timedWriter) ReadFrom(r io.Reader) (written int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if ok {
		_, ok = limited.R.(*os.File)
	}
	if !ok {
		buffer := copyBuffers.Get().(*[]byte)
		defer copyBuffers.Put(buffer)
		return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, *buffer)
	}
	for limited.N > 0 {
		step := &io.LimitedReader{R: limited.R, N: min(limited.N, writeStepBytes)}
		n, err := w.writeTimed(func() (int64, error) { return io.Copy(w.ResponseWriter, step) })
		written += n
		limited.N -= n
		if err != nil || step.N > 0 {
			return written, err
		}
	}
	return written, nil
}
