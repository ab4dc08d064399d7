package webdav

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/files"
)

// protocolError is an error that is specific to WebDAV. It holds the status and the precondition of
// RFC 4918, section 16, that was not met, "" for none.
type protocolError struct {
	status    int
	message   string
	condition string
}

func (e protocolError) Error() string { return e.message }

// statuses maps kinds of faults to HTTP statuses. A kind that is missing here is 500.
var statuses = map[fault.Kind]int{
	fault.Invalid:          http.StatusBadRequest,
	fault.Unauthorized:     http.StatusUnauthorized,
	fault.InvalidToken:     http.StatusUnauthorized,
	fault.UserDisabled:     http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.PasswordRequired: http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.MethodNotAllowed: http.StatusMethodNotAllowed,
	fault.AlreadyExists:    http.StatusMethodNotAllowed, // MKCOL and PUT where a folder or a mount is
	fault.Conflict:         http.StatusConflict,
	fault.Locked:           http.StatusLocked,
	fault.Precondition:     http.StatusPreconditionFailed,
	fault.Unverified:       http.StatusBadRequest,
	fault.UploadExpired:    http.StatusRequestTimeout,
	fault.QuotaExceeded:    http.StatusInsufficientStorage,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.RateLimited:      http.StatusTooManyRequests,
	fault.Unavailable:      http.StatusServiceUnavailable,
}

// IsProtocolError reports whether err is an error of the WebDAV protocol, which has a status of its
// own, rather than a fault of the domain. Such errors need no log entry.
func IsProtocolError(err error) bool {
	var r protocolError
	return errors.As(err, &r)
}

// WriteError sends the status of an error and a body. The body is XML that names the violated
// precondition of the protocol when there is one, else message as plain text. message is the
// sentence of a fault; a protocol error has its own.
func WriteError(w http.ResponseWriter, r *http.Request, err error, message string) {
	status, condition := statuses[fault.KindOf(err)], ""
	if status == 0 {
		status = http.StatusInternalServerError
	}
	var own protocolError
	if errors.As(err, &own) {
		status, message, condition = own.status, own.message, own.condition
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges",
		"Lock-Token"} {
		h.Del(name)
	}
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Basic realm="Larder"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", strings.Join(methods, ", "))
	case http.StatusTooManyRequests:
		var f *fault.Error
		if errors.As(err, &f) {
			h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.RetryAfter.Seconds())))))
		}
	case http.StatusServiceUnavailable:
		if errors.Is(err, blob.ErrNoSpace) {
			status, condition = http.StatusInsufficientStorage, "sufficient-disk-space"
		}
	case http.StatusInsufficientStorage:
		condition = "quota-not-exceeded" // RFC 4331, section 6
	case http.StatusLocked:
		condition = lockCondition(r, err)
	}
	setSandboxHeaders(h)
	body := message + "\n"
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if condition != "" {
		h.Set("Content-Type", "application/xml; charset=utf-8")
		if condition[0] != '<' {
			condition = "<D:" + condition + "/>"
		}
		body = xmlHead + `<D:error xmlns:D="DAV:">` + condition + "</D:error>\n"
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

const xmlHead = `<?xml version="1.0" encoding="utf-8"?>` + "\n"

// lockCondition returns the XML element that names the locked resource that made a request fail. It
// tells neither the owner of the lock nor its token.
func lockCondition(r *http.Request, err error) string {
	path, known := files.LockedAt(err)
	if !known {
		path, _, _ = ParsePath(r) // cannot fail: it was parsed before
	}
	name := "lock-token-submitted"
	if r.Method == "LOCK" {
		name = "no-conflicting-lock"
	}
	return fmt.Sprintf("<D:%s><D:href>%s</D:href></D:%s>", name, href(path, false), name)
}

// faultMessage returns the sentence of a fault, or the text of any other error.
func faultMessage(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}
