package blob

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Upload identifies an object that is uploaded in parts.
type Upload struct {
	Key      Key
	ID       string // the store's own name for the upload; opaque
	Size     int64  // bytes of the whole object, at least 1
	PartSize int64  // bytes of every part but the last, which holds the remainder
}

// MaxParts is the largest number of parts of an object, as on S3.
const MaxParts = 10_000

// Check returns ErrKey for an invalid key, and ErrPart for sizes below 1 or more than MaxParts
// parts: Begin cannot have returned such an upload.
func (u Upload) Check() error {
	if _, err := ParseKey(string(u.Key)); err != nil {
		return err
	}
	if u.Size < 1 || u.PartSize < 1 || u.Parts() > MaxParts {
		return fmt.Errorf("%w: %d bytes in parts of %d", ErrPart, u.Size, u.PartSize)
	}
	return nil
}

// Parts returns the number of parts of the object, the last, shorter one included. Size and
// PartSize must be at least 1.
func (u Upload) Parts() int { return int((u.Size-1)/u.PartSize + 1) }

// PartLength returns the length of a part in bytes, 0 for a number out of range.
func (u Upload) PartLength(number int) int64 {
	switch {
	case number < 1 || number > u.Parts():
		return 0
	case number == u.Parts():
		return u.Size - int64(number-1)*u.PartSize
	}
	return u.PartSize
}

// CheckParts returns ErrPart unless wanted lists all parts of u in order with their lengths, and
// equals listed. wanted is what a caller wants to assemble, listed what the store has.
func (u Upload) CheckParts(wanted, listed []Part) error {
	for i, p := range wanted {
		if p.Number != i+1 || p.Size != u.PartLength(p.Number) {
			return fmt.Errorf("%w: part %d has %d bytes", ErrPart, p.Number, p.Size)
		}
	}
	if len(wanted) != u.Parts() {
		return fmt.Errorf("%w: %d of %d are stored", ErrPart, len(wanted), u.Parts())
	}
	if !slices.Equal(wanted, listed) {
		return fmt.Errorf("%w: the stored parts differ from the requested ones", ErrPart)
	}
	return nil
}

// Part is a part that is durable in the store.
type Part struct {
	Number int    // from 1
	Size   int64  // bytes
	ETag   string // the store's own tag of the part's bytes; opaque
}

// PartStore accepts objects in parts, in any order, in parallel, and repeatedly. These rules hold
// for every implementation:
//   - The store itself records which parts it has. After any crash, Parts lists exactly the parts
//     whose bytes are complete and durable.
//   - Of several bodies for one part, in parallel or in sequence, exactly one becomes the part as a
//     whole, and Parts reports its ETag.
//   - A body that fails or is refused leaves the part unchanged or missing, never partly written.
//   - Nothing can be read at the key before Finish, and nothing changes the object afterwards, not
//     even a late PutPart.
type PartStore interface {
	// Begin announces an object of size bytes in parts of partSize bytes (both at least 1), with a
	// type as in PutOptions, and returns the upload. A second Begin with the same key returns the
	// same upload or another one, depending on the store. Errors: ErrPart (sizes below 1, more than
	// MaxParts), ErrExists, ErrNoSpace, ErrUnavailable.
	Begin(ctx context.Context, key Key, size, partSize int64, mimeType string) (Upload, error)

	// PutPart stores body, which must have exactly PartLength(number) bytes, as that part. Errors:
	// ErrPart (number out of range), ErrNotFound (the upload is finished or aborted), ErrSize,
	// ErrNoSpace, ErrUnavailable, ErrReader, the context's error.
	PutPart(ctx context.Context, u Upload, number int, body io.Reader) (Part, error)

	// Parts lists the stored parts by number. Errors: ErrNotFound (the upload is finished, aborted,
	// or was never begun), ErrUnavailable.
	Parts(ctx context.Context, u Upload) ([]Part, error)

	// Finish assembles the object from parts, which must be all of its parts, ordered by number and
	// as Parts lists them. When Finish returns nil, the object is complete and durable at u.Key.
	// SHA256 is nil. Finishing a finished upload again succeeds, whatever parts are given. Errors:
	// ErrPart (parts are missing, have the wrong length, or were replaced), ErrBusy (a part is
	// being written; it takes precedence over ErrPart), ErrNotFound (the upload was aborted or
	// never begun), ErrUnavailable.
	Finish(ctx context.Context, u Upload, parts []Part) (Info, error)

	// Abort deletes the parts. Aborting an absent upload succeeds, and so does aborting a finished
	// one, whose object stays. A PutPart in progress fails or its part is deleted as well. Error:
	// ErrUnavailable.
	Abort(ctx context.Context, u Upload) error
}
