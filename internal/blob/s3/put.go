package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
)

const (
	// the metadata that identifies the object of one Put: 32 hexadecimal digits, called its mark
	markName = "larder-put"

	maxObject   = 5 << 40   // bytes; the largest object on S3
	firstBuffer = 256 << 10 // bytes; a body up to this length needs no more memory and nothing of the budget
)

// Put reads body one part at a time and creates the object. Errors: those of blob.Store.
func (s *Store) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	if _, err := s.checkKey(ctx, key); err != nil {
		return blob.Info{}, err
	}
	return s.putName(ctx, string(key), counted, opts)
}

// putName is Put for any name. counted wraps the body.
func (s *Store) putName(ctx context.Context, name string, counted *blob.Body, opts blob.PutOptions) (blob.Info, error) {
	if opts.Size > maxObject {
		return blob.Info{}, fmt.Errorf("put object: %w: S3 takes %d bytes", blob.ErrTooLarge, int64(maxObject))
	}
	h, mark := sha256.New(), s.ids.Hex(16)
	part := &partBuffer{budget: s.budget}
	defer part.release()
	n, err := s.readFirstPart(ctx, counted, opts.Size, part)
	if err != nil && err != io.EOF {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	h.Write(part.bytes[:n])
	var info blob.Info
	if err == io.EOF {
		info, err = s.putSingle(ctx, name, part.bytes[:n], opts.MimeType, mark)
	} else {
		info, err = s.putLong(ctx, name, counted, io.TeeReader(counted, h), part, opts.MimeType, mark)
	}
	if err != nil {
		return blob.Info{}, err
	}
	info.SHA256 = h.Sum(nil)
	return info, nil
}

// readFirstPart reads the first part of a body of size bytes, -1 when unknown, into part, and
// returns the number of bytes read. The error is nil when the buffer is a full part, and io.EOF
// when the body has ended before. The buffer grows with the bytes that arrive, so that an announced
// size alone allocates nothing; beyond firstBuffer it waits for the memory budget.
func (s *Store) readFirstPart(ctx context.Context, body io.Reader, size int64, part *partBuffer) (n int, err error) {
	length := max(s.partSize, (size-1)/blob.MaxParts+1)
	if size >= 0 && size < length {
		length = size + 1 // one byte more, to see the end of the body
	}
	part.bytes = make([]byte, min(length, firstBuffer+1))
	n, err = blob.ReadFull(body, part.bytes)
	if err != nil || int64(n) == length {
		return n, err
	}
	if err := part.reserve(ctx, length); err != nil {
		return n, err
	}
	for err == nil && int64(n) < length {
		part.bytes = append(make([]byte, 0, min(length, int64(2*n))), part.bytes...)
		part.bytes = part.bytes[:cap(part.bytes)]
		var m int
		m, err = blob.ReadFull(body, part.bytes[n:])
		n += m
	}
	return n, err
}

// putSingle creates an object with one call and returns when the server has it. mark identifies the
// object in its metadata (markName), so that putSingle knows its own object again when the answer
// was lost. Errors: blob.ErrExists, blob.ErrNoSpace, blob.ErrUnavailable, the context's.
func (s *Store) putSingle(ctx context.Context, name string, body []byte, mimeType, mark string) (blob.Info, error) {
	condition, err := s.ifNoneMatch(ctx, name)
	if err != nil {
		return blob.Info{}, err
	}
	sum := md5.Sum(body)
	put, err := s.client.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &s.bucket, Key: &name, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
		ContentMD5:  aws.String(base64.StdEncoding.EncodeToString(sum[:])), // the server checks the body by it
		IfNoneMatch: condition, ContentType: contentType(mimeType), Metadata: map[string]string{markName: mark},
	})
	if err == nil {
		if info := (blob.Info{Size: int64(len(body)), ETag: aws.ToString(put.ETag)}); s.etagFits(info.ETag, sum[:]) {
			return info, nil
		}
		err = errWrongETag
	}
	if condition != nil && notImplemented(err) {
		s.noIfNoneMatch.Store(true)
		return s.putSingle(ctx, name, body, mimeType, mark)
	}
	info, err := s.resolveOutcome(ctx, name, mark, int64(len(body)), "put object", err)
	switch {
	case err != nil || s.etagFits(info.ETag, sum[:]):
		return info, err
	case put != nil && sameETag(info.ETag, aws.ToString(put.ETag)):
		s.opaqueETags.Store(true) // the server reported it twice, for bytes that it has checked
		return info, nil
	}
	return s.verifyStored(context.WithoutCancel(ctx), name, info)
}

// verifyStored decides whether the new object name may stay although its ETag is not the MD5 of the
// content that was sent. The server may have kept a body that was cut, even one of the right
// length. Unless the server's ETags are not MD5s, verifyStored removes the object and returns
// blob.ErrUnavailable.
func (s *Store) verifyStored(ctx context.Context, name string, info blob.Info) (blob.Info, error) {
	err := s.probeETags(ctx)
	if err == nil && s.opaqueETags.Load() {
		return info, nil
	}
	if err == nil {
		err = blob.Unavailable("put object", errWrongETag)
	}
	return blob.Info{}, errors.Join(err, s.deleteName(ctx, &name))
}

// contentType returns the type to record for content of mimeType, in the form of the SDK, nil for
// none. It is blob.StoredType.
func contentType(mimeType string) *string {
	if mimeType = blob.StoredType(mimeType); mimeType == "" {
		return nil
	}
	return &mimeType
}

// ifNoneMatch returns the If-None-Match header that prevents overwriting name. For a server that
// does not support the header, ifNoneMatch checks itself that name is free and returns nil. Errors:
// blob.ErrExists, blob.ErrUnavailable.
func (s *Store) ifNoneMatch(ctx context.Context, name string) (*string, error) {
	if !s.noIfNoneMatch.Load() {
		return aws.String("*"), nil
	}
	switch _, _, err := s.statName(ctx, &name); {
	case err == nil:
		return nil, fmt.Errorf("put object: %w", blob.ErrExists)
	case !errors.Is(err, blob.ErrNotFound):
		return nil, err
	}
	return nil, nil
}

// resolveOutcome finds out, after a call failed with cause, whether it has created the object name
// after all: an object of size bytes with that mark. Its Info is returned then. Errors:
// blob.ErrExists when the object of another call is there, otherwise that of storeError for cause
// and the step doing.
func (s *Store) resolveOutcome(ctx context.Context, name, mark string, size int64, doing string,
	cause error) (blob.Info, error) {
	info, found, err := s.statName(context.WithoutCancel(ctx), &name)
	switch {
	case err == nil && found == mark && info.Size == size:
		return info, nil // only the answer was lost
	case err == nil && found != mark || preconditionFailed(cause):
		return blob.Info{}, fmt.Errorf("%s: %w", doing, blob.ErrExists)
	}
	return blob.Info{}, storeError(ctx, doing, cause)
}
