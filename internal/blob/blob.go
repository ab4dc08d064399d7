// Package blob is the contract of an object store: immutable objects under opaque keys, on a disk
// or in a bucket.
//
// What holds for every implementation, and is checked for each by one suite (package blobtest):
//   - an object never changes: Put of a key that exists is refused, whoever wrote it and whenever;
//   - when Put returns nil the object is durable and complete, and Info tells what was counted and hashed on the way;
//   - when Put fails, for whatever reason, nothing is left at the key, and until the whole body was taken nothing can be read there
//     (the whole object may become readable a moment before Put returns);
//   - a fault of the store is never told as "not found": ErrNotFound comes from a healthy store only;
//   - no body is held in memory, whatever its size.
//
// A caller learns what happened by errors.Is with the Err variables, and by errors.As with ErrSize
// and ErrReader. Specification: Providers.
package blob

import (
	"context"
	"io"
	"os"
)

// Info describes a stored object.
type Info struct {
	Size   int64  // bytes
	SHA256 []byte // 32 bytes, nil when the store does not know it: Put counts and hashes, Stat may not
	// what the store itself calls these bytes, compared and never parsed; "" where a store
	// has no such thing
	ETag string
}

// Object is an open object. Closing it is the caller's part; Delete does not disturb a read that
// has begun on a disk.
type Object interface {
	io.ReadSeekCloser
	// Size returns the length in bytes.
	Size() int64
}

// FileBacked is an Object that is a plain file. A transport hands File to net/http, so that the
// bytes go out by sendfile.
type FileBacked interface {
	Object
	// File returns the open file at its present offset; it is closed with the object.
	File() *os.File
}

// PutOptions says what body is expected.
type PutOptions struct {
	// Size is the exact number of bytes announced, -1 when unknown. A shorter or longer body
	// is refused with ErrSize.
	Size int64
	// Max is the most bytes taken; one byte more is refused with ErrTooLarge, and no more than that
	// is read. Negative: no bound. 0 beside an announced Size leaves that size as the bound; beside
	// an unknown one only an empty body passes.
	Max int64
	// MimeType is what a store that serves its objects itself calls this one, ""
	// for nothing in particular.
	MimeType string
}

// Store keeps objects. All methods are safe for concurrent use. A key that ParseKey would refuse
// is answered with ErrKey.
type Store interface {
	PartStore

	// Put takes body until its end and stores it under key. Errors: ErrExists, ErrSize,
	// ErrTooLarge, ErrNoSpace, ErrUnavailable, ErrReader around an error of body, and the context's
	// error when it ends first.
	Put(ctx context.Context, key Key, body io.Reader, opts PutOptions) (Info, error)

	// Open opens an object for reading, at its first byte. Errors: ErrNotFound, ErrUnavailable.
	Open(ctx context.Context, key Key) (Object, error)

	// Stat tells what is stored under key. Errors: ErrNotFound, ErrUnavailable.
	Stat(ctx context.Context, key Key) (Info, error)

	// Delete removes an object, and what came in parts for its key; absent already is success. It
	// works without free space. Error: ErrUnavailable. A power cut may undo it, which leaves an
	// object that nothing refers to and never the reverse.
	Delete(ctx context.Context, key Key) error

	// Check reports whether the store can be reached, is the one it should be, and takes
	// writes. Errors: ErrUnavailable, ErrNoSpace.
	Check(ctx context.Context) error
}
