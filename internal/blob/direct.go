package blob

import (
	"context"
	"time"
)

// Presigner is a Store that issues pre-signed addresses, by which clients reach its objects
// directly. Issuing an address sends no request: only the use of the address shows whether the
// object exists.
type Presigner interface {
	// PresignGet returns an address for GET and HEAD of an object.
	PresignGet(ctx context.Context, key Key, how GetOptions) (string, error)
	// PresignPut returns an address for one PUT of exactly size bytes to key; the signature covers
	// the length. The address works until it expires, so a client can overwrite what it has stored
	// there. Therefore key is a staging key: CopyFrom copies its bytes to a key that clients cannot
	// write.
	PresignPut(ctx context.Context, key Key, size int64, lasts time.Duration) (string, error)
	// PresignPart returns an address for a PUT of the numbered part of an upload that Begin
	// returned, exactly PartLength(number) bytes long. The address stops working when the upload is
	// finished or aborted. Error: ErrPart.
	PresignPart(ctx context.Context, u Upload, number int, lasts time.Duration) (string, error)
}

// GetOptions describe the response to a pre-signed GET.
type GetOptions struct {
	TTL         time.Duration // how long the address works, at most 7 days
	ContentType string        // the Content-Type of the response, "" for the stored type
	Disposition string        // its Content-Disposition, "" for none
}

// Copier is a Store that can copy an object from another store without passing the bytes through
// the service.
type Copier interface {
	// CopyFrom copies the object source of store from to key. The size is not limited. As with Put,
	// nothing is overwritten, and nothing is left after a failure. Info.SHA256 is nil unless the
	// store knows it. mimeType is as in PutOptions. match is the ETag that the source must have, ""
	// for any. Errors: ErrCopyUnsupported (the stores are not on one server, or the server does not
	// copy; nothing was created, and the caller has to stream the bytes), ErrNotFound (no such
	// source), ErrChanged (the source's ETag is not match), ErrExists, ErrNoSpace, ErrUnavailable.
	CopyFrom(ctx context.Context, key Key, from Store, source Key, mimeType, match string) (Info, error)
}
