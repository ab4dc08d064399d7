package disk

import (
	"errors"
	"time"

	"larder/internal/blob"
)

// Operation is an operation of a Store that an Observer measures.
type Operation string

const (
	OpenOperation   Operation = "open"   // Open
	PutOperation    Operation = "put"    // Put, from the end of the body on
	PartOperation   Operation = "part"   // PutPart, from the end of the body on
	FinishOperation Operation = "finish" // Finish
	DeleteOperation Operation = "delete" // Delete
)

// Operations are all operations that an Observer measures.
var Operations = []Operation{OpenOperation, PutOperation, PartOperation, FinishOperation, DeleteOperation}

// Observer is called after an operation that took that long, or that failed because the disk is not
// there, is full, or can't be read or written. Operations that end with another error, such as
// blob.ErrNotFound, are not reported. An Observer is safe for concurrent use.
type Observer func(op Operation, took time.Duration, failed bool)

// begin returns the time at which an operation begins; the zero value without an Observer.
func (s *Store) begin() time.Time {
	if s.watch == nil {
		return time.Time{}
	}
	return s.now()
}

// observe reports an operation that began at a time of begin and ended with err.
func (s *Store) observe(op Operation, began time.Time, err error) {
	if s.watch == nil {
		return
	}
	if failed := isFailure(err); failed || err == nil {
		s.watch(op, s.now().Sub(began), failed)
	}
}

// isFailure reports whether the disk caused an error, and not the body that it was to store.
func isFailure(err error) bool {
	if !errors.Is(err, blob.ErrUnavailable) && !errors.Is(err, blob.ErrNoSpace) {
		return false
	}
	var body blob.ErrReader // its cause may be another store
	return !errors.As(err, &body)
}
