package blob

import (
	"context"
	"time"
)

// Presigner is a Store that hands out addresses by which clients reach its objects without
// the service in between. Making one asks nobody: whether the object is there shows when
// the address is used.
type Presigner interface {
	// PresignGet returns an address for GET and HEAD of an object.
	PresignGet(ctx context.Context, key Key, how GetOptions) (string, error)
	// PresignPut returns an address for one PUT of exactly size bytes at key; the length is part of
	// what is signed. The address can be used as long as it lasts, also over what it made: key is a
	// place to wait in, from which CopyFrom takes the bytes to where nobody can write.
	PresignPut(ctx context.Context, key Key, size int64, lasts time.Duration) (string, error)
	// PresignPart returns an address for a PUT of part number of an upload that Begin
	// returned, exactly PartLength(number) bytes long. It is dead once the upload is finished
	// or aborted. Error: ErrPart.
	PresignPart(ctx context.Context, u Upload, number int, lasts time.Duration) (string, error)
}

// GetOptions say how the answer to a pre-signed GET looks.
type GetOptions struct {
	TTL         time.Duration // at most 7 days
	ContentType string        // the Content-Type of the answer, "" for what the store has
	Disposition string        // its Content-Disposition, "" for none
}

// Copier is a Store that can take an object over from another one without the bytes
// passing through the service.
type Copier interface {
	// CopyFrom makes the object key of what lies at source in from, of any size, as Put would make
	// it: nothing is overwritten, and when it fails nothing is left. Info.SHA256 is nil unless the
	// store tells. mimeType is as in PutOptions. match is the ETag that the source must have, ""
	// for any. Errors: ErrCopyUnsupported (the two do not lie on one server, or that does not copy:
	// nothing was made, the caller streams), ErrNotFound (no such source), ErrChanged (the source
	// has another ETag than match), ErrExists, ErrNoSpace, ErrUnavailable.
	CopyFrom(ctx context.Context, key Key, from Store, source Key, mimeType, match string) (Info, error)
}
