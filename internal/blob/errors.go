package blob

import (
	"errors"
	"fmt"

	"larder/internal/fault"
)

// What can go wrong, for errors.Is.
var (
	// ErrNotFound: a healthy store has no such object.
	ErrNotFound = errors.New("object not found")
	// ErrExists: an object is never overwritten.
	ErrExists = errors.New("object exists")
	// ErrKey: not a key that NewKey could have built.
	ErrKey = errors.New("invalid object key")
	// ErrPart: no such part, or parts are missing.
	ErrPart = errors.New("parts missing or out of range")
	// ErrBusy: somebody else is at it at this moment; try again.
	ErrBusy = errors.New("object is being written")
	// ErrCopyUnsupported: the store cannot take the object over by itself.
	ErrCopyUnsupported = errors.New("stores do not copy from each other")
	// ErrChanged: the object is another one than was asked for.
	ErrChanged = errors.New("object has changed")
	// ErrTooLarge: the body goes on after PutOptions.Max.
	ErrTooLarge = errors.New("object too large")
	// ErrUnavailable: the store is missing, is another one than expected, or fails.
	// Comes inside a fault.Unavailable.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrNoSpace: the store is full or below its floor of free space. Comes
	// inside a fault.Unavailable.
	ErrNoSpace = errors.New("no space in object store")
)

// ErrSize says that a body was not as long as announced. For errors.As.
type ErrSize struct {
	Want int64 // bytes announced
	Got  int64 // bytes that came; of a longer body only Want+1 are read
}

func (e ErrSize) Error() string {
	if e.Got > e.Want {
		return fmt.Sprintf("body is longer than the %d bytes announced", e.Want)
	}
	return fmt.Sprintf("body has %d bytes, %d were announced", e.Got, e.Want)
}

// ErrReader wraps an error of the body that Put was reading, so that a client that went away is not
// taken for a failing store. For errors.As.
type ErrReader struct{ Err error }

func (e ErrReader) Error() string { return "read body: " + e.Err.Error() }

// Unwrap returns the body's own error.
func (e ErrReader) Unwrap() error { return e.Err }

// Unavailable reports that the store failed while doing something ("sync object"): a
// fault.Unavailable around ErrUnavailable and cause.
func Unavailable(doing string, cause error) error {
	return fault.New(fault.Unavailable, "The storage is not available at the moment.").
		WithCause(fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, cause))
}

// NoSpace reports that the store cannot take more: a fault.Unavailable around ErrNoSpace and cause.
func NoSpace(doing string, cause error) error {
	return fault.New(fault.Unavailable, "The storage is nearly full and takes nothing more in.").
		WithCause(fmt.Errorf("%s: %w: %w", doing, ErrNoSpace, cause))
}
