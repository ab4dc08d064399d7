package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"larder/internal/fault"
)

// envelope is the success envelope (specification: Conventions).
type envelope[T any] struct {
	Success   bool   `json:"success" required:"true"`
	Data      T      `json:"data" required:"true"`
	Message   string `json:"message,omitempty"`
	Timestamp int64  `json:"timestamp" required:"true" description:"Server time in ms."`
}

// failure is the error envelope.
type failure struct {
	Success   bool         `json:"success" required:"true"`
	Error     failureError `json:"error" required:"true"`
	Message   string       `json:"message,omitempty" description:"The message again, for image-hosting clients; compatible uploads only."`
	Timestamp int64        `json:"timestamp" required:"true"`
}

// failureError is the error in the error envelope, and in the results of single entries.
type failureError struct {
	Code    string         `json:"code" required:"true"`
	Message string         `json:"message" required:"true"`
	Field   string         `json:"field,omitempty" description:"The field of the request that is at fault, where that is known."`
	Details map[string]any `json:"details,omitempty" description:"Development environments only."`

	Existing *existingReply `json:"existing,omitempty" description:"An addition, with ALREADY_EXISTS of POST /api/files/upload-session: the entry of that name, if the caller may read it."`

	RequestID string `json:"requestId,omitempty" description:"An addition, of error envelopes. X-Request-Id of this response, by which administrators find the request in the log."`
}

// none is the payload of endpoints whose data is null.
type none struct{}

// codes maps each kind of fault to its code and status (specification: Errors).
var codes = map[fault.Kind]struct {
	code   string
	status int
}{
	fault.Internal:          {"INTERNAL_ERROR", 500},
	fault.Invalid:           {"VALIDATION_ERROR", 400},
	fault.BadCredentials:    {"INVALID_CREDENTIALS", 401},
	fault.Unauthorized:      {"UNAUTHORIZED", 401},
	fault.InvalidToken:      {"INVALID_TOKEN", 401},
	fault.InvalidPassword:   {"INVALID_PASSWORD", 401},
	fault.UserDisabled:      {"USER_DISABLED", 401},
	fault.RoleChanged:       {"ROLE_CHANGED", 401},
	fault.SessionRevoked:    {"SESSION_REVOKED", 401},
	fault.EmailNotVerified:  {"EMAIL_NOT_VERIFIED", 403},
	fault.Forbidden:         {"FORBIDDEN", 403},
	fault.PasswordRequired:  {"PASSWORD_REQUIRED", 403},
	fault.InvalidCSRF:       {"INVALID_CSRF", 403},
	fault.NotFound:          {"NOT_FOUND", 404},
	fault.MethodNotAllowed:  {"METHOD_NOT_ALLOWED", 405},
	fault.AlreadyExists:     {"ALREADY_EXISTS", 409},
	fault.Conflict:          {"OPERATION_FAILED", 409},
	fault.Locked:            {"OPERATION_FAILED", 409},
	fault.Precondition:      {"OPERATION_FAILED", 412},
	fault.Unverified:        {"OPERATION_FAILED", 422},
	fault.ConnectionRefused: {"OPERATION_FAILED", 400},
	fault.ShareExpired:      {"SHARE_EXPIRED", 410},
	fault.ShareRevoked:      {"SHARE_REVOKED", 410},
	fault.ShareLimitReached: {"SHARE_LIMIT_REACHED", 410},
	fault.UploadExpired:     {"UPLOAD_SESSION_EXPIRED", 410},
	fault.QuotaExceeded:     {"QUOTA_EXCEEDED", 413},
	fault.TooLarge:          {"PAYLOAD_TOO_LARGE", 413},
	fault.RateLimited:       {"RATE_LIMIT_EXCEEDED", 429},
	fault.Unavailable:       {"INTERNAL_ERROR", 500},
	fault.Damaged:           {"INTERNAL_ERROR", 500},
	fault.MailFailed:        {"MAIL_ERROR", 500},
}

// internalMessage returns the sentence for a client about an unexpected failure. Image-hosting
// clients show nothing else, so it contains the request id.
func (c *call) internalMessage() string {
	return "Something went wrong on the server. Administrators find the cause in the log, by the request id " +
		c.requestID + "."
}

// omitBodyForHead makes the answer to a HEAD go without a body, and reports whether the request is
// one. The handler makes nothing that a GET makes, such as a token, since no page shows it (abuse
// case C44). The answer has no Content-Length, since the length of the answer to a GET isn't known
// (RFC 9110, section 8.6).
func (c *call) omitBodyForHead() bool {
	c.omitBody = c.r.Method == http.MethodHead
	return c.omitBody
}

// answer writes the success envelope, a JSON object with data in it. data of type none becomes
// null.
func (c *call) answer(status int, data any) {
	if c.omitBody {
		jsonHeaders(c.w.Header())
		c.w.WriteHeader(status)
		return
	}
	if _, null := data.(none); null {
		data = nil
	}
	c.writeJSON(status, envelope[any]{Success: true, Data: data, Timestamp: c.a.Now().UnixMilli()})
}

// clientError is an error in the form that a client sees.
type clientError struct {
	code    string
	status  int
	message string
	fault   *fault.Error
}

// describeError decides the code, status and message of an error for the client, and logs the error
// if its status is 500 or higher. An error that is no fault is an internal error, whose text the
// client does not get. No other code turns an error into a code.
func (c *call) describeError(err error) clientError {
	var f *fault.Error
	errors.As(fault.AsFault(err), &f)
	known := codes[f.Kind]
	if known.status >= 500 {
		if c.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
			c.disconnected = true // a disconnected client is no failure of the service
		} else {
			c.a.Log.Error("request failed", "method", c.r.Method, "path", loggedPath(c.r),
				"request_id", c.requestID, "error", err)
		}
	}
	message := f.Message
	if f.Kind == fault.Internal {
		message = c.internalMessage()
	}
	return clientError{code: known.code, status: known.status, message: message, fault: f}
}

// fail writes an error as the answer: in WebDAV's format, as a page for a browser that navigates to
// a page or a file, otherwise as the JSON error envelope.
func (c *call) fail(err error) {
	if c.isWebDAV {
		c.failDAV(err)
		return
	}
	answer := c.describeError(err)
	h := c.w.Header()
	if answer.fault.Kind == fault.RateLimited || answer.fault.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(answer.fault.RetryAfter.Seconds())))))
	}
	if c.htmlErrors && isNavigation(c.r) {
		c.writeErrorPage(answer)
		return
	}
	body := failure{Error: failureError{Code: answer.code, Message: answer.message, Field: answer.fault.Field,
		Existing: c.existing, RequestID: c.requestID}, Timestamp: c.a.Now().UnixMilli()}
	if c.a.Development && answer.fault.Cause != nil {
		body.Error.Details = map[string]any{"cause": answer.fault.Cause.Error()}
	}
	if c.route != nil && c.route.auth == uploadKeyAuth {
		body.Message = body.Error.Message
	}
	c.writeJSON(answer.status, body)
}

// jsonHeaders sets the headers of JSON answers: their type, and that no cache may store them.
func jsonHeaders(h http.Header) {
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// writeJSON writes body as JSON, without an envelope, and removes headers that a handler may have
// set for a file before it failed. A body that can't be encoded is logged and answered with 500.
func (c *call) writeJSON(status int, body any) {
	h := c.w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "ETag", "Last-Modified", "Accept-Ranges"} {
		h.Del(name)
	}
	jsonHeaders(h)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // links hold & and <; nosniff keeps browsers from reading JSON as anything else
	err := encoder.Encode(body)
	text := b.Bytes()
	if err != nil {
		c.a.Log.Error("encode a reply", "path", loggedPath(c.r), "request_id", c.requestID, "error", err)
		status, text = http.StatusInternalServerError, []byte(
			`{"success":false,"error":{"code":"INTERNAL_ERROR","message":"Something went wrong on the server."}}`)
	}
	c.send(status, text)
}
