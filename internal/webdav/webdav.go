// Package webdav implements WebDAV, classes 1 and 2 (RFC 4918), with the quota properties of RFC
// 4331. It translates between the protocol and the domain: it reads methods, headers and XML
// bodies, calls the domain, and writes its answers and faults as WebDAV does. The domain packages
// decide about permissions, locks and changes of files. The API authenticates the actor before it
// calls this package, and serves the bytes of files.
//
// PROPFIND responses are streamed, so that memory does not grow with the size of a folder.
// Specification: WebDAV.
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

// Config holds the dependencies of a Handler.
type Config struct {
	DB      *db.DB
	Tree    *files.Tree
	Uploads *upload.Service
	BaseURL string // scheme, host, port; a Destination may name it or the host of the request
	Now     func() time.Time
}

// Handler carries out WebDAV requests. It is safe for concurrent use.
type Handler struct{ Config }

// New returns a Handler for the paths below Prefix.
func New(cfg Config) *Handler { return &Handler{cfg} }

// Request is an authenticated request, or an OPTIONS request, which needs no authentication.
type Request struct {
	W             http.ResponseWriter
	R             *http.Request
	Path          vpath.Path // see ParsePath
	TrailingSlash bool       // the address ends in a slash
	Actor         access.Actor
	KeyExpiresAt  *int64                            // ms: when the actor's key expires, nil for never
	Body          io.Reader                         // of a PUT
	Send          func(content files.Content) error // serves the bytes of a file
}

// Prefix is the path of WebDAV below the root of the service.
const Prefix = "/" + pathSegment

// ParsePath reads the path of a request below Prefix and reports whether a slash ends it. It
// decodes each segment once. Fault: Invalid.
func ParsePath(r *http.Request) (path vpath.Path, slash bool, err error) {
	segments, slash, err := splitPath(strings.TrimPrefix(r.URL.EscapedPath(), Prefix))
	if err != nil {
		return vpath.Root, false, err
	}
	path, err = vpath.FromSegments(segments)
	return path, slash, err
}

// methods are the supported methods, in the order in which the Allow header lists them.
var methods = []string{
	"OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK",
}

// singleHeaders are the headers that a request may have only once. Of two different values, Serve
// might read the wrong one.
var singleHeaders = []string{"Content-Range", "Depth", "Destination", "If", "Lock-Token", "Overwrite"}

// Serve answers a request. When it returns an error, it has written nothing: the caller passes the
// error to WriteError.
func (h *Handler) Serve(r Request) error {
	q := &request{Handler: h, Request: r}
	if q.R.Method == http.MethodOptions {
		q.options()
		return nil
	}
	for _, name := range singleHeaders {
		if len(q.R.Header.Values(name)) > 1 {
			return fault.Newf(fault.Invalid, "A request can have only one %s header.", name)
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

// request is a request that is being served.
type request struct {
	*Handler
	Request
	ifLists []ifList        // of the If header
	target  *files.Resource // resource at Path, looked up once; see resource
}

func (req *request) ctx() context.Context { return req.R.Context() }

// resource returns what is at the request's path, which may be nothing. It is looked up at the
// first call.
func (req *request) resource() (*files.Resource, error) {
	if req.target != nil {
		return req.target, nil
	}
	at, err := req.Tree.ResourceAt(req.ctx(), req.Path)
	if err == nil {
		req.target = at
	}
	return at, err
}

// options answers OPTIONS. Windows looks for MS-Author-Via before it tries anything else.
func (req *request) options() {
	h := req.W.Header()
	h.Set("DAV", "1,2")
	h.Set("MS-Author-Via", "DAV")
	h.Set("Allow", strings.Join(methods, ", "))
	h.Set("Content-Length", "0")
	req.W.WriteHeader(http.StatusOK)
}

// checkedResource returns the resource at the path after three checks: the actor has the permission
// p; the resource is not virtual, that is, not merely a folder on the way to a mount; the HTTP
// conditions hold. The permission comes first, so that the conditions tell nothing to an actor who
// may not know whether the resource exists. Faults: those of files.Resource.Authorize, Forbidden,
// Precondition.
func (req *request) checkedResource(p access.Permission) (*files.Resource, error) {
	at, err := req.resource()
	if err != nil {
		return nil, err
	}
	if err := at.Authorize(req.Actor, p); err != nil {
		return nil, err
	}
	if at.Virtual() {
		return nil, fault.New(fault.Forbidden,
			"This folder only leads to the mounts below it: it cannot be changed or copied.")
	}
	return at, req.checkConditions(at.ETag(), true, at.UpdatedAt())
}

// writeStatus sends a status as an answer without a body.
func (req *request) writeStatus(status int) {
	if status == http.StatusCreated {
		req.W.Header().Set("Content-Length", "0")
	}
	req.W.WriteHeader(status)
}

// storedStatus returns the status of a successful request that created a resource (201) or replaced
// one that existed (204).
func storedStatus(existed bool) int {
	if existed {
		return http.StatusNoContent
	}
	return http.StatusCreated
}
