package app

import (
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// slowClientHandler closes the connections of clients that do not use them (abuse case C105). A
// body in either direction may take long, as long as it makes progress: 20 GiB over a slow line are
// fine, a byte a minute is not. Only the time spent waiting for the client counts, and not that of
// a slow store or database.
type slowClientHandler struct {
	next http.Handler
	// longest wait of one read or write; a request body may be late by this much against rate
	grace time.Duration
	rate  int64 // bytes a second that a request body must bring on average
}

// writeStepBytes is the number of bytes that must be sent within one grace.
const writeStepBytes = 512 << 10

// copyBuffers holds the buffers for bytes that pass from a store to a client.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// ServeHTTP implements http.Handler.
func (h slowClientHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		// The server may write "100 Continue" before the handler writes. The deadline of the
		// previous request must not end that write. Some writers have no deadlines.
		_ = conn.SetWriteDeadline(time.Time{})
		_ = conn.SetReadDeadline(time.Now().Add(h.grace)) // for an unread body, which the server reads at the end
		body := &timedBody{ReadCloser: r.Body, slowClientHandler: h, conn: conn}
		// a copy: the server looks at the body of its own request to see how much was left unread,
		// and answers before the rest arrives
		r = r.WithContext(r.Context())
		r.Body = body
	}
	reply := &timedWriter{ResponseWriter: w, slowClientHandler: h, conn: conn, corkable: connOf(r)}
	h.next.ServeHTTP(reply, r)
	reply.extendDeadline() // for what the server sends after the handler
}

// timedBody is the body of a request.
type timedBody struct {
	io.ReadCloser
	slowClientHandler
	conn   *http.ResponseController
	waited time.Duration
	read   int64
}

// Read implements io.Reader. It fails when the client has sent nothing for grace, or fell further
// behind rate than that.
func (b *timedBody) Read(p []byte) (int, error) {
	began := time.Now()
	earned := time.Duration(b.read/b.rate) * time.Second
	_ = b.conn.SetReadDeadline(began.Add(min(b.grace, b.grace+earned-b.waited)))
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(began)
	b.read += int64(n)
	if err == io.EOF { // from here on the server waits for the connection to end; a deadline would look like it
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// timedWriter writes a response.
type timedWriter struct {
	http.ResponseWriter
	slowClientHandler
	conn *http.ResponseController
	// corkable is the connection, nil if it cannot be corked
	corkable *framedConn
	waited   time.Duration // time spent waiting for the client, beyond the time that the sent bytes are worth
}

// Unwrap returns the inner writer, as http.ResponseController needs it.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extendDeadline gives the next write its time: grace, less the time for which the client is
// behind.
func (w *timedWriter) extendDeadline() {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.grace - w.waited))
}

// writeTimed calls send, which sends up to writeStepBytes bytes, under a deadline, and returns its
// result. A response may consist of many small pieces, like an archive, so the average speed
// counts; fast pieces earn no credit for later. The time between two pieces is the server's: the
// deadline of the previous piece may have passed, and must not end the connection of a client that
// has read everything in time.
func (w *timedWriter) writeTimed(send func() (int64, error)) (n int64, err error) {
	began := time.Now()
	w.extendDeadline()
	n, err = send()
	earned := time.Duration(n) * w.grace / writeStepBytes
	w.waited = max(0, w.waited+time.Since(began)-earned)
	return n, err
}

// FlushError implements the flush of http.ResponseController. It waits for the client like a write.
func (w *timedWriter) FlushError() error {
	_, err := w.writeTimed(func() (int64, error) { return 0, w.conn.Flush() })
	return err
}

// Write implements io.Writer.
func (w *timedWriter) Write(p []byte) (written int, err error) {
	for {
		step := p[:min(len(p), writeStepBytes)]
		n, err := w.writeTimed(func() (int64, error) {
			n, err := w.write(step)
			return int64(n), err
		})
		written += int(n)
		if p = p[len(step):]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// write writes p. If the head of the answer has not been sent yet, both leave in one system call:
// net/http does this for a short p, and the corked connection for a longer one.
func (w *timedWriter) write(p []byte) (int, error) {
	if w.corkable == nil || len(p) < heldBytes/2 {
		return w.ResponseWriter.Write(p)
	}
	return w.corkable.writeCorked(func() (int, error) { return w.ResponseWriter.Write(p) })
}

// ReadFrom sends files in steps, so that they are still sent with sendfile. It copies other readers
// in large pieces, since each read and write costs a system call, and since waiting for a store
// does not count as waiting for the client.
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
