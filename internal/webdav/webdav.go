// Package webdav speaks WebDAV, classes 1 and 2 (RFC 4918), and quota properties (RFC 4331). It
// translates between the protocol and the domain: which method does what, which header means what,
// what an error is called in XML. What is allowed, what is locked and what happens to a file is
// decided below, in the packages of the domain; who asks is settled above, in the API, which serves
// the bytes as well.
//
// Answers of PROPFIND are streamed, so that memory does not grow with a
// folder. Specification: WebDAV.
package webdav

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// Config is what a Handler works with.
type Config struct {
	DB      *db.DB
	Tree    *files.Tree
	Uploads *upload.Service
	BaseURL string // scheme, host, port: what a Destination may name beside the host that was asked
	Now     func() time.Time
}

// Handler carries out WebDAV requests. It is safe for concurrent use.
type Handler struct{ Config }

// New returns a Handler.
func New(cfg Config) *Handler { return &Handler{cfg} }

// Request is a request whose sender is known, or an OPTIONS, which anybody may send.
type Request struct {
	W             http.ResponseWriter
	R             *http.Request
	Path          vpath.Path // see ParsePath
	TrailingSlash bool       // the address ends in one
	Actor         access.Actor
	KeyExpiresAt  *int64                            // ms: when the actor's key expires, nil for never
	Body          io.Reader                         // of a PUT
	Send          func(content files.Content) error // serves the bytes of a file
}

// Prefix is where WebDAV is, seen from the root of the service.
const Prefix = "/" + pathSegment

// ParsePath reads the path of a request below Prefix. Each segment is decoded once. Fault: Invalid.
func ParsePath(r *http.Request) (path vpath.Path, slash bool, err error) {
	segments, slash, err := splitPath(strings.TrimPrefix(r.URL.EscapedPath(), Prefix))
	if err != nil {
		return vpath.Root, false, err
	}
	path, err = vpath.FromSegments(segments)
	return path, slash, err
}

// methods are what a request can ask for, as Allow names them.
var methods = []string{
	"OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK",
}

// singleHeaders are the headers of which a request has one at most: of two that differ, the one
// that is read could be the one that nobody meant.
var singleHeaders = []string{"Content-Range", "Depth", "Destination", "If", "Lock-Token", "Overwrite"}

// Serve answers a request. What it returns has not been answered yet: WriteError does that.
func (h *Handler) Serve(r Request) error {
	q := &request{Handler: h, Request: r}
	if q.R.Method == http.MethodOptions {
		q.options()
		return nil
	}
	for _, name := range singleHeaders {
		if len(q.R.Header.Values(name)) > 1 {
			return fault.Newf(fault.Invalid, "There is one %s header at most.", name)
		}
	}
	if err := q.checkIf(); err != nil {
		return err
	}
	switch q.R.Method {
	case http.MethodGet, http.MethodHead:
		return q.get()
	case http.MethodPut:
		return q.put()
	case http.MethodDelete:
		return q.delete()
	case "MKCOL":
		return q.mkcol()
	case "COPY", "MOVE":
		return q.copyOrMove()
	case "PROPFIND":
		return q.propfind()
	case "PROPPATCH":
		return q.proppatch()
	case "LOCK":
		return q.lock()
	case "UNLOCK":
		return q.unlock()
	}
	return fault.Newf(fault.MethodNotAllowed, "The method %s is not allowed here.", q.R.Method)
}

// request is one request on its way.
type request struct {
	*Handler
	Request
	ifLists []ifList        // of the If header
	target  *files.Resource // what lies at Path, looked up once; see spot
}

func (q *request) ctx() context.Context { return q.R.Context() }

// resource is what lies at the request's path.
func (q *request) resource() (*files.Resource, error) {
	if q.target != nil {
		return q.target, nil
	}
	at, err := q.Tree.ResourceAt(q.ctx(), q.Path)
	if err == nil {
		q.target = at
	}
	return at, err
}

// options tells what can be done here. Windows looks for MS-Author-Via before
// it tries anything else.
func (q *request) options() {
	h := q.W.Header()
	h.Set("DAV", "1,2")
	h.Set("MS-Author-Via", "DAV")
	h.Set("Allow", strings.Join(methods, ", "))
	h.Set("Content-Length", "0")
	q.W.WriteHeader(http.StatusOK)
}

// checkedResource decides about a permission for what lies at the path, refuses what is only the
// way to a mount, and then judges the conditions of HTTP: whether something is there is told to
// nobody who may not know. Faults: those of files.Spot.May, Forbidden, Precondition.
func (q *request) checkedResource(p access.Permission) (*files.Resource, error) {
	at, err := q.resource()
	if err != nil {
		return nil, err
	}
	if err := at.Authorize(q.Actor, p); err != nil {
		return nil, err
	}
	if at.Virtual() {
		return nil, fault.New(fault.Forbidden, "This folder is only the way to what is mounted below it.")
	}
	return at, q.checkConditions(at.ETag(), true, at.UpdatedAt())
}

// writeStatus answers without a body.
func (q *request) writeStatus(status int) {
	if status == http.StatusCreated {
		q.W.Header().Set("Content-Length", "0")
	}
	q.W.WriteHeader(status)
}

// storedStatus is how a request ended that made something or replaced it.
func storedStatus(existed bool) int {
	if existed {
		return http.StatusNoContent
	}
	return http.StatusCreated
}
