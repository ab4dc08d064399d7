package blob

import (
	"errors"
	"fmt"

	"larder/internal/fault"
)

// The errors of a store, for errors.Is.
var (
	// ErrNotFound: a healthy store has no such object.
	ErrNotFound = errors.New("object not found")
	// ErrExists: the key has an object, which is never overwritten.
	ErrExists = errors.New("object exists")
	// ErrKey: the key is not one that NewKey builds.
	ErrKey = errors.New("invalid object key")
	// ErrPart: the part number is out of range, or parts are missing.
	ErrPart = errors.New("parts missing or out of range")
	// ErrBusy: another caller is writing the object; try again.
	ErrBusy = errors.New("object is being written")
	// ErrCopyUnsupported: the store cannot copy the object by itself.
	ErrCopyUnsupported = errors.New("stores do not copy from each other")
	// ErrChanged: the object differs from the expected one.
	ErrChanged = errors.New("object has changed")
	// ErrTooLarge: the body is longer than PutOptions.Max.
	ErrTooLarge = errors.New("object too large")
	// ErrUnavailable: the store is missing, is not the expected one, or fails. It is wrapped in a
	// fault.Unavailable.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrNoSpace: the store is full, or has less free space than its minimum. It is wrapped in a
	// fault.Unavailable.
	ErrNoSpace = errors.New("no space in object store")
)

// ErrSize reports a body whose length differs from the announced one. Use errors.As.
type ErrSize struct {
	Want int64 // bytes announced
	Got  int64 // bytes read; of a longer body Put reads only Want+1
}

func (e ErrSize) Error() string {
	if e.Got > e.Want {
		return fmt.Sprintf("body is longer than the %d bytes announced", e.Want)
	}
	return fmt.Sprintf("body has %d bytes, %d were announced", e.Got, e.Want)
}

// ErrReader wraps an error of the body that Put was reading, so that callers can tell a failed
// client connection from a failed store. Use errors.As.
type ErrReader struct{ Err error }

func (e ErrReader) Error() string { return "read body: " + e.Err.Error() }

// Unwrap returns the body's own error.
func (e ErrReader) Unwrap() error { return e.Err }

// Unavailable returns a fault.Unavailable, which tells a person that the storage is not available,
// around ErrUnavailable and cause. doing names the failed step for the log, such as "sync object".
func Unavailable(doing string, cause error) error {
	return fault.New(fault.Unavailable, "The storage is not available at the moment.").
		WithCause(fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, cause))
}

// NoSpace returns a fault.Unavailable, which tells a person that the storage is nearly full, around
// ErrNoSpace and cause. doing names the failed step for the log.
func NoSpace(doing string, cause error) error {
	return fault.New(fault.Unavailable, "The storage is nearly full and refuses new files.").
		WithCause(fmt.Errorf("%s: %w: %w", doing, ErrNoSpace, cause))
}
