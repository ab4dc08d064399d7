package api

import (
	"io"
	"net/http"

	"larder/internal/audit"
	"larder/internal/files"
	"larder/internal/webdav"
)

// davRoute serves everything below /webdav by package webdav (specification: WebDAV). Errors that
// occur before that, such as an invalid key, are WebDAV errors too.
var davRoute = route{name: "/webdav/", auth: webdavKeyAuth, limit: transferLimit, handler: (*call).webdav}

// webdav handles every method below /webdav: it hands the request with the caller and the decoded
// path to package webdav, and notes changes and downloads for the access log.
func (c *call) webdav() error {
	c.isWebDAV = true
	path, slash, err := webdav.ParsePath(c.r)
	if err != nil {
		return err
	}
	body := &countingReader{Reader: &recheckedBody{Reader: c.r.Body, call: c}}
	switch c.r.Method {
	case "GET", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK":
		c.audit(audit.WebDAV, path)
		sent := &c.auditNotes[len(c.auditNotes)-1]
		sent.countsSent = c.r.Method == http.MethodGet
		defer func() { sent.size = body.bytes }()
	}
	r := webdav.Request{
		W: c.w, R: c.r, Path: path, TrailingSlash: slash, Actor: c.actor, Body: body,
		Send: func(content files.Content) error { return c.serveContent(content, serveOptions{}) },
	}
	if c.key != nil { // only OPTIONS comes without a key
		r.KeyExpiresAt = c.key.ExpiresAt
	}
	return c.a.webdav.Serve(r)
}

// failDAV writes an error as the answer to a WebDAV request: a status with a text, or with XML that
// names a broken condition of the protocol. The text of a fault is the one that the JSON interface
// would have.
func (c *call) failDAV(err error) {
	if webdav.IsProtocolError(err) {
		webdav.WriteError(c.w, c.r, err, "")
		return
	}
	webdav.WriteError(c.w, c.r, err, c.describeError(err).message)
}

// countingReader counts the bytes read.
type countingReader struct {
	io.Reader
	bytes int64
}

// Read implements io.Reader and counts the bytes.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.bytes += int64(n)
	return n, err
}
