// Package blob defines the contract of an object store, which keeps immutable objects under opaque
// keys on a disk or in a bucket.
//
// These rules hold for every implementation. Package blobtest checks them with one suite:
//   - An object never changes. Put refuses a key that exists.
//   - When Put returns nil, the object is complete and durable. Info holds the size and the hash
//     that Put counted and computed.
//   - When Put fails, nothing is left at the key. Nothing can be read at the key before Put has
//     read the whole body. The whole object may become readable a moment before Put returns.
//   - A store reports its own failure as ErrUnavailable, never as ErrNotFound. Only a healthy store
//     returns ErrNotFound.
//   - No implementation holds a whole body in memory, whatever its size.
//
// Callers examine errors with errors.Is and the Err variables, and with errors.As and the types
// ErrSize and ErrReader. Specification: Providers.
package blob

import (
	"context"
	"io"
	"os"
)

// Info describes a stored object.
type Info struct {
	Size   int64  // bytes
	SHA256 []byte // 32 bytes; nil when the store does not know it. Put computes it, Stat may leave it nil
	// the store's own tag of these bytes, compared and never parsed; "" for a store without tags
	ETag string
}

// Object is an open object. The caller closes it. On a disk, Delete does not disturb a read that
// has begun.
type Object interface {
	io.ReadSeekCloser
	// Size returns the length in bytes.
	Size() int64
}

// FileBacked is an Object that is a plain file. A transport passes File to net/http, which then
// sends the bytes with sendfile.
type FileBacked interface {
	Object
	// File returns the open file at its current offset. Closing the object closes the file.
	File() *os.File
}

// Cached is an Object whose bytes the system may keep in memory after they were written or read.
type Cached interface {
	Object
	// DropCache makes the system forget the bytes that it keeps, so that the next read comes from
	// the disk. It does nothing where the system can't do that.
	DropCache()
}

// InMemory is an Object whose bytes are in memory. A transport writes Rest at once.
type InMemory interface {
	Object
	// Rest returns the bytes from the current offset to the end. The caller does not change them.
	Rest() []byte
}

// PutOptions describes the expected body.
type PutOptions struct {
	// Size is the exact number of bytes announced, -1 when unknown. Put refuses a shorter or longer
	// body with ErrSize.
	Size int64
	// Max is the largest accepted body in bytes. Put refuses a longer one with ErrTooLarge, after
	// reading one byte beyond Max. A negative Max sets no limit. With an announced Size, a Max of 0
	// makes Size the limit; without one, it allows only an empty body.
	Max int64
	// MimeType is the type under which a store that serves its objects itself announces this one;
	// "" for none.
	MimeType string
}

// Opener opens objects for reading.
type Opener interface {
	// Open opens an object for reading, positioned at its first byte. Errors: ErrNotFound,
	// ErrUnavailable.
	Open(ctx context.Context, key Key) (Object, error)
}

// Store keeps objects. All methods are safe for concurrent use. They return ErrKey for a key that
// ParseKey would refuse.
type Store interface {
	Opener
	PartStore

	// Put reads body to its end and stores it under key. Errors: ErrExists, ErrSize, ErrTooLarge,
	// ErrNoSpace, ErrUnavailable, ErrReader around an error of body, and the context's error when
	// the context ends first.
	Put(ctx context.Context, key Key, body io.Reader, opts PutOptions) (Info, error)

	// Stat describes the object stored under key. Errors: ErrNotFound, ErrUnavailable.
	Stat(ctx context.Context, key Key) (Info, error)

	// Delete removes an object and the unfinished uploads in parts for its key. Deleting an absent
	// object succeeds. Delete needs no free space. Error: ErrUnavailable. A power failure may undo
	// a deletion, which leaves an object without references; it never removes an object that was
	// not deleted.
	Delete(ctx context.Context, key Key) error

	// Check reports whether the store can be reached, is the expected one, and accepts writes.
	// Errors: ErrUnavailable, ErrNoSpace.
	Check(ctx context.Context) error
}

// Verifier is a Store that can disappear and be replaced while it is open, as a disk that is
// unmounted.
type Verifier interface {
	// Verify reports whether the store is there and the expected one. It costs much less than
	// opening an object. Error: ErrUnavailable.
	Verify() error
}
