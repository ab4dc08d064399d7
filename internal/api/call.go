package api

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/files"
	"larder/internal/freemode"
)

// call is one request on its way through a route. The credential is filled in before the handler
// runs.
type call struct {
	a          *API
	w          *recorder
	r          *http.Request
	route      *route
	htmlErrors bool // errors may be shown as a page to a browser that navigates here
	isWebDAV   bool // errors are written in WebDAV's format

	requestID     string // see requestIDOf
	ip            netip.Addr
	ipText        string            // of ip, for logs and limits
	version       int64             // config version, read once when a credential needs it
	found         *files.FoundEntry // the entry that the route's find returned, nil before
	actor         access.Actor
	proofs        []proof           // from the cookie, see givenPasswords
	user          account.User      // of a session or of a key's owner
	session       *account.Session  // nil unless the cookie is the credential
	key           *apikey.Key       // nil unless an API key is the credential
	free          *freemode.Session // nil unless a free-mode session is the credential
	credentialErr error             // optionalAuth: why the credential is not valid or not sufficient
	auditNotes    []auditNote       // for the access log; see writeAuditNotes
	omitBody      bool              // see omitBodyForHead
	existing      *existingReply    // for the error envelope, see createSession
	received      *countingReader   // of the request's body, nil if there is none or nobody counts
	disconnected  bool              // the request failed because the client disconnected
}

func (c *call) ctx() context.Context { return c.r.Context() }

// statusDisconnected is the status of a request that failed because its client had disconnected, in
// the log and metrics. nginx uses the same number.
const statusDisconnected = 499

// status returns the status of the response for the log and metrics, 0 if there is no response.
func (c *call) status() int {
	if c.disconnected {
		return statusDisconnected
	}
	return c.w.status
}

// url returns the address of a path of this service, which begins with a slash: the base URL
// followed by it.
func (c *call) url(path string) string { return c.a.BaseURL + path }

// recorder is a ResponseWriter that records the status and the number of bytes written. It keeps
// sendfile possible.
type recorder struct {
	http.ResponseWriter
	status  int
	written int64
}

// WriteHeader implements http.ResponseWriter. It records the first status that is final; statuses
// below 200 precede one.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 || w.status < 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.written += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom: it passes an *os.File on to the connection, which sends it by
// sendfile.
func (w *recorder) ReadFrom(r io.Reader) (int64, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := io.Copy(w.ResponseWriter, r)
	w.written += n
	return n, err
}

// Unwrap returns the underlying writer, by which http.ResponseController reaches Flush and
// deadlines.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// loggedPath returns the escaped path of a request as the log may contain it. Tokens and the ids of
// links and shares are secrets; it replaces them by [redacted] in every spelling and position.
func loggedPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain = path
	}
	plain = strings.ToLower(plain)
	for _, secret := range []string{"/api/gateway/download/", "/api/i/", "/api/shares/"} {
		if _, rest, found := strings.Cut(plain, secret); found && rest != "" {
			return secret + "[redacted]"
		}
	}
	if rest, found := strings.CutPrefix(strings.TrimLeft(plain, "/"), "share/"); found && rest != "" {
		return "/share/[redacted]" // only at the beginning: elsewhere "share" is a folder of a user
	}
	return path
}

// stackTrace returns the stack of the calling goroutine, for the log entry of a panic.
func stackTrace() string { return string(debug.Stack()) }

// decodeSegments splits an escaped path at its slashes and percent-decodes each segment once, so
// that an encoded slash stays part of its segment. It returns an error for a malformed escape.
func decodeSegments(escaped string) ([]string, error) {
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return nil, err
		}
		segments[i] = decoded
	}
	return segments, nil
}

// escapePath percent-encodes a virtual path segment by segment, so that the slashes stay.
func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// isNavigation reports whether the request comes from a browser that opens an address as a page, as
// opposed to a client or an embed: by Sec-Fetch-Dest, without it by an Accept that begins with
// text/html. Only a navigation gets errors as a page.
func isNavigation(r *http.Request) bool {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" {
		return dest == "document"
	}
	return acceptBegins(r, "text/html")
}

// acceptBegins reports whether the first entry of Accept, which a browser wants most, is one of
// media. A media that ends in a slash matches all its subtypes.
func acceptBegins(r *http.Request, media ...string) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	first, _, _ = strings.Cut(first, ";")
	first = strings.ToLower(strings.TrimSpace(first))
	for _, m := range media {
		if first == m || strings.HasSuffix(m, "/") && strings.HasPrefix(first, m) {
			return true
		}
	}
	return false
}
