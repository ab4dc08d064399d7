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
func (g *contentWriter) Seek(offset int64, whence int) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += g.offset
	case io.SeekEnd:
		offset += g.content.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek in content: invalid offset %d", offset)
	}
	g.offset = offset
	if g.object == nil {
		return offset, nil
	}
	return g.object.Seek(offset, io.SeekStart)
}

// Read implements io.Reader for the opened part.
func (g *contentWriter) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.object == nil {
		return 0, errors.New("read content: it is not open")
	}
	n, err := g.object.Read(p)
	g.offset += int64(n)
	return n, err
}

func (g *contentWriter) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.object != nil {
		g.object.Close() // opened for reading: the error doesn't matter
		g.object = nil
	}
}

func (g *contentWriter) WriteHeader(status int) {
	if status == http.StatusOK || status == http.StatusPartialContent {
		address, err := g.openBody()
		if err != nil {
			g.dropContentHeaders()
			g.call.fail(err)
			return
		}
		if address != "" {
			g.dropContentHeaders()
			g.redirect(address)
			return
		}
	}
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		g.Header().Set("Cache-Control", "private, no-store")
	}
	g.recorder.WriteHeader(status)
}

// openBody opens the part that the answer needs. It returns the address to redirect the client to
// instead, "" for none.
func (g *contentWriter) openBody() (address string, err error) {
	ctx := g.call.ctx()
	if g.call.r.Method != http.MethodGet { // a pre-signed address is for GET alone
		return "", g.content.Check(ctx)
	}
	if !g.call.isWebDAV { // many WebDAV clients don't follow redirects
		if address, err = g.content.RedirectAddress(ctx, g.redirectTerms); err != nil {
			return "", err
		}
	}
	if address == "" {
		length, err := strconv.ParseInt(g.Header().Get("Content-Length"), 10, 64)
		if err != nil || length > g.content.size-g.offset { // several ranges
			length = g.content.size - g.offset
		}
		if g.object, err = g.content.OpenRange(ctx, g.offset, length); err != nil {
			return "", err
		}
	}
	if g.beforeBody != nil {
		err = g.beforeBody()
	}
	return address, err
}

// dropContentHeaders removes the headers that describe the content, and refuses further writes of
// it.
func (g *contentWriter) dropContentHeaders() {
	g.closed = true
	h := g.Header()
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
func (g *contentWriter) redirect(address string) {
	h := g.Header()
	h.Set("Location", address)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Length", "0")
	if g.public {
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		allowAllOrigins(h)
	}
	g.recorder.WriteHeader(http.StatusFound)
}

func (g *contentWriter) Write(b []byte) (int, error) {
	if g.closed {
		return 0, http.ErrBodyNotAllowed
	}
	return g.recorder.Write(b)
}

// ReadFrom keeps sendfile possible: it passes on the file behind the content.
func (g *contentWriter) ReadFrom(r io.Reader) (int64, error) {
	if g.closed {
		return 0, http.ErrBodyNotAllowed
	}
	if part, ok := r.(*io.LimitedReader); ok && part.R == io.Reader(g) {
		part.R = g.object
		if local, ok := g.object.(interface{ File() *os.File }); ok {
			part.R = local.File()
		}
	}
	return g.recorder.ReadFrom(r)
}
