// Package fault defines the errors that a client is told about. It does not depend on HTTP.
//
// A domain package returns a *Error with a sentence for a person. The transport converts its Kind
// into a code and a status with one table. Every other error is unexpected: it is logged with its
// cause, and the client gets INTERNAL_ERROR. Specification: Errors.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of an error, one value for each cause that a client can distinguish.
type Kind int

// The kinds, each with its code and status in the specification.
const (
	Internal          Kind = iota // INTERNAL_ERROR 500: unexpected, or a stated failure of the server (see Unavailable)
	Invalid                       // VALIDATION_ERROR 400
	BadCredentials                // INVALID_CREDENTIALS 401
	Unauthorized                  // UNAUTHORIZED 401
	InvalidToken                  // INVALID_TOKEN 401
	InvalidPassword               // INVALID_PASSWORD 401
	UserDisabled                  // USER_DISABLED 401
	RoleChanged                   // ROLE_CHANGED 401
	SessionRevoked                // SESSION_REVOKED 401
	EmailNotVerified              // EMAIL_NOT_VERIFIED 403
	Forbidden                     // FORBIDDEN 403
	PasswordRequired              // PASSWORD_REQUIRED 403
	InvalidCSRF                   // INVALID_CSRF 403
	NotFound                      // NOT_FOUND 404
	MethodNotAllowed              // METHOD_NOT_ALLOWED 405
	AlreadyExists                 // ALREADY_EXISTS 409
	Conflict                      // OPERATION_FAILED 409: the state forbids it
	Locked                        // OPERATION_FAILED 409: locked by a WebDAV client
	Precondition                  // OPERATION_FAILED 412: a precondition of the request is not met; WebDAV only
	Unverified                    // OPERATION_FAILED 422: the received content differs from the announced one
	ConnectionRefused             // OPERATION_FAILED 400: a free-mode connection test failed
	ShareExpired                  // SHARE_EXPIRED 410
	ShareRevoked                  // SHARE_REVOKED 410
	ShareLimitReached             // SHARE_LIMIT_REACHED 410
	UploadExpired                 // UPLOAD_SESSION_EXPIRED 410
	QuotaExceeded                 // QUOTA_EXCEEDED 413
	TooLarge                      // PAYLOAD_TOO_LARGE 413
	RateLimited                   // RATE_LIMIT_EXCEEDED 429, with RetryAfter
	// INTERNAL_ERROR 500 with a message for the client: disk nearly full, store not mounted
	Unavailable
	Damaged    // INTERNAL_ERROR 500 with a message for the client: the stored bytes are not those that were stored
	MailFailed // MAIL_ERROR 500
)

// Error is an error that a client may be told about.
type Error struct {
	Kind    Kind
	Message string // a sentence for a person
	Field   string // of the request, which is at fault; "" when that is not known
	// when the next try can succeed: always set for RateLimited, for Conflict if it resolves by
	// itself, else 0
	RetryAfter time.Duration
	Cause      error // for the log and, in development, for error.details
}

// Error returns the message and, in the form of a wrapped error, its cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return strings.TrimSuffix(e.Message, ".") + ": " + e.Cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// New returns an error of kind; message is a sentence for a person.
func New(kind Kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// Newf is New with a format string.
func Newf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// WithCause sets the cause, which is shown only in the log and by a development server, and returns
// e.
func (e *Error) WithCause(cause error) *Error {
	e.Cause = cause
	return e
}

// InvalidField returns an Invalid fault about one field of the request; format and args give the
// sentence for a person.
func InvalidField(field, format string, args ...any) *Error {
	e := Newf(Invalid, format, args...)
	e.Field = field
	return e
}

// InField names the field of the request that is at fault, if err is a fault. It returns err.
func InField(err error, field string) error {
	var e *Error
	if errors.As(err, &e) {
		e.Field = field
	}
	return err
}

// KindOf returns the kind of the first *Error in err's chain, Internal if there is none.
func KindOf(err error) Kind {
	if err == nil {
		return Internal
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// AsFault returns err itself if it is nil or has a fault in its chain, else the fault Internal with
// the cause err. A reader of a request's body returns a failure of the service in this form, so
// that its callers do not take it for a body that the client broke off.
func AsFault(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return New(Internal, "").WithCause(err)
}

// Is reports whether err is a fault of that kind.
func Is(err error, kind Kind) bool {
	if err == nil { // the usual case: errors.As would cost an allocation
		return false
	}
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
