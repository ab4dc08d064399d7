package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"larder/internal/blob"
	"larder/internal/files"
)

// contentWriter is both the content that http.ServeContent reads and the ResponseWriter that it
// writes to. It asks the store for nothing until an answer with a body is due: conditions and
// ranges are evaluated with data from the database. Immediately before the body is sent, it opens
// the requested part, or finds the address to redirect to, and uses up a single-use token. For HEAD
// it asks the store whether the object exists; 304, 412 and 416 need no store and use up nothing.
type contentWriter struct {
	*recorder
	call          *call
	content       servedContent
	redirectTerms files.RedirectTerms
	public        bool         // any site may embed it
	beforeBody    func() error // runs immediately before the body, nil for none

	// mu guards offset and object: net/http reads several ranges in a goroutine that may outlast
	// the answer.
	mu     sync.Mutex
	offset int64       // where the next Read reads
	object blob.Object // nil before it is opened, and at the end
	closed bool        // no more content is written: the answer is an error or a redirect
}

// Seek implements io.Seeker. It does not access the store.
func (w *contentWriter) Seek(offset int64, whence int) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += w.offset
	case io.SeekEnd:
		offset += w.content.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek in content: invalid offset %d", offset)
	}
	w.offset = offset
	if w.object == nil {
		return offset, nil
	}
	return w.object.Seek(offset, io.SeekStart)
}

// Read implements io.Reader for the opened part.
func (w *contentWriter) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.object == nil {
		return 0, errors.New("read content: it is not open")
	}
	n, err := w.object.Read(p)
	w.offset += int64(n)
	return n, err
}

// close closes the opened part of the content, if there is one. A goroutine of net/http that still
// reads then gets an error.
func (w *contentWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.object != nil {
		w.object.Close() // opened for reading: the error doesn't matter
		w.object = nil
	}
}

// WriteHeader implements http.ResponseWriter. For an answer with content it opens the content
// first, and writes an error or a redirect instead if opening fails or the client is to fetch the
// bytes from the store.
func (w *contentWriter) WriteHeader(status int) {
	if status == http.StatusOK || status == http.StatusPartialContent {
		address, err := w.openBody()
		if err != nil {
			w.dropContentHeaders()
			w.call.fail(err)
			return
		}
		if address != "" {
			w.dropContentHeaders()
			w.redirect(address)
			return
		}
	}
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		w.Header().Set("Cache-Control", "private, no-store")
	}
	w.recorder.WriteHeader(status)
}

// openBody opens the part of the content that the answer sends, for GET, and calls beforeBody. It
// returns the store's address to redirect the client to instead, "" for none. For HEAD it only asks
// the store whether the bytes exist.
func (w *contentWriter) openBody() (address string, err error) {
	ctx := w.call.ctx()
	if w.call.r.Method != http.MethodGet { // a pre-signed address is for GET alone
		return "", w.content.Check(ctx)
	}
	if !w.call.isWebDAV { // many WebDAV clients don't follow redirects
		if address, err = w.content.RedirectAddress(ctx, w.redirectTerms); err != nil {
			return "", err
		}
	}
	if address == "" {
		length, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
		if err != nil || length > w.content.size-w.offset { // several ranges
			length = w.content.size - w.offset
		}
		if w.object, err = w.content.OpenRange(ctx, w.offset, length); err != nil {
			return "", err
		}
	}
	if w.beforeBody != nil {
		err = w.beforeBody()
	}
	return address, err
}

// dropContentHeaders removes the headers that describe the content, because an error or a redirect
// is the answer instead, and refuses further writes of content.
func (w *contentWriter) dropContentHeaders() {
	w.closed = true
	h := w.Header()
	for _, name := range []string{
		"Content-Type", "Content-Length", "Content-Range", "Content-Disposition", "Content-Security-Policy", "ETag",
		"Last-Modified", "Accept-Ranges", "Vary",
		"Cross-Origin-Resource-Policy", "Access-Control-Allow-Origin",
	} {
		h.Del(name)
	}
}

// redirect sends the client to the store's address of the content. The answer is never cached,
// since the address is a secret in most cases.
func (w *contentWriter) redirect(address string) {
	h := w.Header()
	h.Set("Location", address)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Length", "0")
	if w.public {
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		allowAllOrigins(h)
	}
	w.recorder.WriteHeader(http.StatusFound)
}

// Write implements http.ResponseWriter. It refuses the content once an error or a redirect is the
// answer.
func (w *contentWriter) Write(b []byte) (int, error) {
	if w.closed {
		return 0, http.ErrBodyNotAllowed
	}
	return w.recorder.Write(b)
}

// ReadFrom implements io.ReaderFrom, which http.ServeContent uses. It writes content in memory at
// once, and keeps sendfile possible for the rest: it passes on the file behind the content.
func (w *contentWriter) ReadFrom(r io.Reader) (int64, error) {
	if w.closed {
		return 0, http.ErrBodyNotAllowed
	}
	if part, ok := r.(*io.LimitedReader); ok && part.R == io.Reader(w) {
		if inMemory, ok := w.object.(blob.InMemory); ok {
			n, err := w.recorder.Write(inMemory.Rest()[:part.N])
			return int64(n), err
		}
		part.R = w.object
		if local, ok := w.object.(interface{ File() *os.File }); ok {
			part.R = local.File()
		}
	}
	return w.recorder.ReadFrom(r)
}
