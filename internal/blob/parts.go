package blob

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Upload names an object that comes in parts.
type Upload struct {
	Key      Key
	ID       string // what the store calls it; opaque
	Size     int64  // bytes of the whole object, at least 1
	PartSize int64  // bytes of every part but the last, which has what remains
}

// MaxParts is how many parts an object may have at most, as on S3.
const MaxParts = 10_000

// Check answers ErrKey or ErrPart for an upload that Begin cannot have returned.
func (u Upload) Check() error {
	if _, err := ParseKey(string(u.Key)); err != nil {
		return err
	}
	if u.Size < 1 || u.PartSize < 1 || u.Parts() > MaxParts {
		return fmt.Errorf("%w: %d bytes in parts of %d", ErrPart, u.Size, u.PartSize)
	}
	return nil
}

// Parts returns how many parts the object has.
func (u Upload) Parts() int { return int((u.Size-1)/u.PartSize + 1) }

// PartLength returns the bytes of part number, 0 for a number out of range.
func (u Upload) PartLength(number int) int64 {
	switch {
	case number < 1 || number > u.Parts():
		return 0
	case number == u.Parts():
		return u.Size - int64(number-1)*u.PartSize
	}
	return u.PartSize
}

// CheckParts answers ErrPart unless wanted are all parts of u, by number and as long as they must
// be, and just what is listed.
func (u Upload) CheckParts(wanted, listed []Part) error {
	for i, p := range wanted {
		if p.Number != i+1 || p.Size != u.PartLength(p.Number) {
			return fmt.Errorf("%w: part %d has %d bytes", ErrPart, p.Number, p.Size)
		}
	}
	if len(wanted) != u.Parts() {
		return fmt.Errorf("%w: %d of %d are there", ErrPart, len(wanted), u.Parts())
	}
	if !slices.Equal(wanted, listed) {
		return fmt.Errorf("%w: others are there than those wanted", ErrPart)
	}
	return nil
}

// Part is a part that lies durable in the store.
type Part struct {
	Number int   // from 1
	Size   int64 // bytes
	ETag   string
}

// PartStore takes objects in parts: any order, several at once, as often as the caller likes. What
// holds for every implementation:
//   - the store itself remembers which parts it has: Parts tells after any crash exactly those whose bytes are whole and durable;
//   - of several bodies for one part, at once or one after the other, one counts as a whole, and its ETag is the one told;
//   - a body that fails or is refused leaves the part as it was, or missing, never torn;
//   - nothing can be read at the key before Finish, and nothing changes it afterwards, a late PutPart included.
type PartStore interface {
	// Begin announces an object of size bytes in parts of partSize (both at least 1), of a type as
	// in PutOptions, and returns its name in the store. Beginning again with the same key is
	// another upload or the same one, as the store likes. Errors: ErrPart (sizes below 1, more than
	// MaxParts), ErrExists, ErrNoSpace, ErrUnavailable.
	Begin(ctx context.Context, key Key, size, partSize int64, mimeType string) (Upload, error)

	// PutPart takes body, which must have exactly PartLength(number) bytes, as that part. Errors:
	// ErrPart (number out of range), ErrNotFound (finished or aborted), ErrSize, ErrNoSpace,
	// ErrUnavailable, ErrReader, the context's error.
	PutPart(ctx context.Context, u Upload, number int, body io.Reader) (Part, error)

	// Parts lists the parts that are there, by number. Errors: ErrNotFound (finished, aborted,
	// or never begun), ErrUnavailable.
	Parts(ctx context.Context, u Upload) ([]Part, error)

	// Finish makes the object of parts, which are all that it has, by number and as Parts lists
	// them; when it returns nil, the object is durable and complete at u.Key. SHA256 is nil. Doing
	// it again is success, whatever parts are named then. Errors: ErrPart (some are missing, not as
	// long as they must be, or others are there by now), ErrBusy (a part is being written at this
	// moment; it is told before ErrPart), ErrNotFound (aborted, or never begun), ErrUnavailable.
	Finish(ctx context.Context, u Upload, parts []Part) (Info, error)

	// Abort drops the parts; what is absent already is success, and so is an upload
	// that was finished, whose object stays. A PutPart under way fails or is dropped
	// as well. Error: ErrUnavailable.
	Abort(ctx context.Context, u Upload) error
}
