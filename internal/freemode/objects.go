package freemode

import (
	"context"
	"errors"
	"io"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/fault"
)

// PageSize is the largest number of items in a page of a listing.
const PageSize = 1000

const (
	unavailableMessage = "The store of this session failed or did not answer. Please try again."
	deniedMessage      = "The store of this session refused the request. Its access keys lack the permission or are " +
		"no longer valid."
)

// Item is an object or folder in a listing.
type Item struct {
	Key    Key
	Folder bool
	Size   int64 // bytes
	ETag   string
}

// Page is a page of a listing.
type Page struct {
	Items   []Item
	Skipped int    // number of listed keys that ParseKey refuses
	Cursor  string // of the next page, "" after the last one
}

// List lists one page of a folder of the visitor's bucket, one level deep. cursor is that of the
// page before, "" for the first. A folder that does not exist is empty, since stores have no
// folders. Faults: Forbidden when the store denies it, Unavailable, RateLimited.
func (s *Service) List(ctx context.Context, session Session, dir Dir, cursor string) (Page, error) {
	bucket, leave, err := s.acquireBucket(ctx, session)
	if err != nil {
		return Page{}, err
	}
	defer leave()
	listing, err := bucket.List(ctx, string(dir), cursor, PageSize)
	if err != nil {
		return Page{}, visitorFault(err)
	}
	page := Page{Cursor: listing.Cursor}
	for _, i := range listing.Items {
		key, err := ParseKey(i.Key)
		if err != nil {
			page.Skipped++
			continue
		}
		page.Items = append(page.Items, Item{key, i.Folder, i.Size, i.ETag})
	}
	return page, nil
}

// Put creates or replaces an object with the content of body, which has size bytes, or -1 if
// unknown. If body fails or has more than MaxUpload bytes, nothing of it is stored. It returns the
// number of bytes stored. Faults: TooLarge, Unverified for a body that ended early, Forbidden when
// the store denies it, Unavailable, RateLimited.
func (s *Service) Put(ctx context.Context, session Session, key Key, body io.Reader, size int64,
	mimeType string) (stored int64, err error) {
	if size > MaxUpload {
		return 0, TooLarge()
	}
	leave, err := s.transferLimit.tryAcquire(session.hash, session.Address)
	if err != nil {
		return 0, err
	}
	defer leave()
	bucket, err := s.bucket(session.Connection)
	if err != nil {
		return 0, err
	}
	ctx, cancel := s.untilExpiry(ctx, session)
	defer cancel()
	stored, err = bucket.Put(ctx, string(key), body, blob.PutOptions{Size: size, Max: MaxUpload, MimeType: mimeType})
	return stored, visitorFault(err)
}

// TooLarge returns the fault of an upload over MaxUpload.
func TooLarge() error {
	return fault.New(fault.TooLarge, "A file has at most 1 GiB in free mode.")
}

// Open opens an object for reading. ctx also covers the reads. The caller counts the download with
// Transfer. Faults: NotFound, Forbidden when the store denies it, Unavailable, RateLimited.
func (s *Service) Open(ctx context.Context, session Session, key Key) (*s3.ForeignObject, error) {
	bucket, leave, err := s.acquireBucket(ctx, session)
	if err != nil {
		return nil, err
	}
	defer leave()
	object, err := bucket.Open(ctx, string(key))
	if err != nil {
		return nil, visitorFault(err)
	}
	return object, nil
}

// Transfer counts a download as one of the few transfers that a session and its address may run at
// a time, until leave is called. The returned context ends with the session. Fault: RateLimited.
func (s *Service) Transfer(ctx context.Context,
	session Session) (transferCtx context.Context, leave func(), err error) {
	release, err := s.transferLimit.tryAcquire(session.hash, session.Address)
	if err != nil {
		return nil, nil, err
	}
	transferCtx, cancel := s.untilExpiry(ctx, session)
	return transferCtx, func() { cancel(); release() }, nil
}

// untilExpiry returns ctx with the end of the session as its timeout, so that no transfer outlasts
// the session.
func (s *Service) untilExpiry(ctx context.Context, session Session) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.UnixMilli(session.ExpiresAt).Sub(s.Now()))
}

// Delete deletes an object; a missing object is no error. Faults: Forbidden when the store denies
// it, Unavailable, RateLimited.
func (s *Service) Delete(ctx context.Context, session Session, key Key) error {
	bucket, leave, err := s.acquireBucket(ctx, session)
	if err != nil {
		return err
	}
	defer leave()
	return visitorFault(bucket.Delete(ctx, string(key)))
}

// visitorFault turns an error of the visitor's store into the fault that the visitor sees, without
// any text of the store; nil stays nil.
func visitorFault(err error) error {
	var size blob.ErrSize
	var reader blob.ErrReader
	var refusal s3.Refusal
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reader) && errors.As(reader.Err, &known):
		return known
	case errors.As(err, &reader), errors.As(err, &size):
		return fault.New(fault.Unverified, "The body ended before it was complete.").WithCause(err)
	case errors.Is(err, blob.ErrTooLarge):
		return TooLarge()
	case errors.Is(err, blob.ErrNotFound):
		return fault.New(fault.NotFound, "There is no such object in the bucket.")
	case errors.Is(err, blob.ErrKey):
		return fault.New(fault.Invalid, "The store of this session does not accept this object name.")
	case errors.Is(err, s3.ErrDenied):
		errors.As(err, &refusal)
		return fault.New(fault.Forbidden, deniedMessage).WithCause(refusal)
	case errors.Is(err, blob.ErrUnavailable):
		return fault.New(fault.Unavailable, unavailableMessage).WithCause(err)
	}
	return err
}
