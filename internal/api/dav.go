package api

import (
	"io"
	"net/http"

	"larder/internal/audit"
	"larder/internal/files"
	"larder/internal/webdav"
)

// davRoute is everything below /webdav, which package webdav answers (specification: WebDAV). What is refused before that, as a key that is not valid, is
// told in the words of WebDAV as well.
var davRoute = route{who: byDAVKey, bucket: forBytes, handle: (*call).webdav}

func (c *call) webdav() error {
	c.dav = true
	path, slash, err := webdav.ParsePath(c.r)
	if err != nil {
		return err
	}
	body := &counted{Reader: &stillAllowed{Reader: c.r.Body, call: c}}
	switch c.r.Method {
	case "GET", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK":
		c.audit(audit.WebDAV, path)
		sent := &c.notes[len(c.notes)-1]
		sent.sends = c.r.Method == http.MethodGet
		defer func() { sent.size = body.n }()
	}
	r := webdav.Request{
		W: c.w, R: c.r, Path: path, Slash: slash, Actor: c.actor, Body: body,
		Send: func(content files.Content) error { return c.serveContent(content, manner{}) },
	}
	if c.key != nil { // without one there is OPTIONS
		r.Ends = c.key.ExpiresAt
	}
	return c.a.dav.Serve(r)
}

// failDAV writes an error in the words of WebDAV.
func (c *call) failDAV(err error) {
	if webdav.Known(err) {
		webdav.WriteError(c.w, c.r, err, "")
		return
	}
	webdav.WriteError(c.w, c.r, err, c.told(err).message)
}

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}
