package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

// putLong creates an object by a multipart upload: first, then rest in parts as long as first,
// whose memory it uses as its buffer. counted is the Body below rest, which knows the total length.
// Between two parts waiting bodies may use that memory. mark identifies the object. Errors: those
// of blob.Store.Put.
func (s *Store) putLong(ctx context.Context, name string, counted *blob.Body, rest io.Reader, first *partBuffer,
	mimeType,
	mark string) (blob.Info, error) {
	return s.makeMultipart(ctx, name, mimeType, mark,
		func(id *string) (parts []types.CompletedPart, size int64, err error) {
			length, end := len(first.bytes), error(nil)
			part := first.bytes
			for number := int32(1); len(part) > 0; number++ {
				if number > blob.MaxParts {
					return nil, 0, fmt.Errorf("put object: %w: more than %d parts of %d bytes", blob.ErrTooLarge,
						blob.MaxParts, length)
				}
				etag, err := s.putPart(ctx, name, id, number, part)
				if err != nil {
					return nil, 0, err
				}
				parts = append(parts, types.CompletedPart{ETag: &etag, PartNumber: aws.Int32(number)})
				if end == io.EOF {
					break
				}
				part = nil
				if err := first.yield(ctx); err != nil {
					return nil, 0, fmt.Errorf("put object: %w", err)
				}
				n := 0
				if n, end = blob.ReadFull(rest, first.bytes); end != nil && end != io.EOF {
					return nil, 0, fmt.Errorf("put object: %w", end)
				}
				part = first.bytes[:n]
			}
			return parts, counted.Count(), nil
		})
}

// makeMultipart creates the object name by a multipart upload. fill uploads the parts to the upload
// id and returns them with their total length in bytes. mark identifies the object in its metadata.
// After a failure it aborts the upload. Errors: fill's, blob.ErrExists, blob.ErrUnavailable.
func (s *Store) makeMultipart(ctx context.Context, name, mimeType, mark string,
	fill func(id *string) ([]types.CompletedPart, int64, error)) (info blob.Info, err error) {
	if _, err := s.ifNoneMatch(ctx, name); err != nil { // before the bytes are sent
		return blob.Info{}, err
	}
	id, err := s.begin(ctx, &sdk.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: &name, ContentType: contentType(mimeType), Metadata: map[string]string{markName: mark},
	})
	if err != nil {
		return blob.Info{}, err
	}
	done := false
	defer func() { // also when a body panics
		if !done {
			// a failure is not reported; the sweep removes the upload
			_ = s.abort(context.WithoutCancel(ctx), blob.Key(name), *id)
		}
	}()
	parts, size, err := fill(id)
	if err != nil {
		return blob.Info{}, err
	}
	if err = s.complete(ctx, &name, id, parts); errors.Is(err, blob.ErrExists) {
		return blob.Info{}, err
	}
	if err != nil {
		info, err = s.resolveOutcome(ctx, name, mark, size, "complete upload", err)
		done = err == nil
		return info, err
	}
	done = true
	info, _, err = s.statName(context.WithoutCancel(ctx), &name)
	if err == nil && info.Size != size {
		err = blob.Unavailable("complete upload", fmt.Errorf("the object has %d bytes of %d", info.Size, size))
	}
	return info, err
}

// complete makes the server assemble the object name from the parts of the upload id. Nothing is
// overwritten, see ifNoneMatch. Errors: blob.ErrExists, errNoAnswer, or the SDK's, which the caller
// interprets: the object may exist after all.
func (s *Store) complete(ctx context.Context, name, id *string, parts []types.CompletedPart) error {
	condition, err := s.ifNoneMatch(ctx, *name)
	if err != nil {
		return err
	}
	done, err := s.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: name, UploadId: id, IfNoneMatch: condition,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if condition != nil && notImplemented(err) {
		s.noIfNoneMatch.Store(true)
		return s.complete(ctx, name, id, parts)
	}
	if err == nil && done.ETag == nil && done.Key == nil && done.Bucket == nil && done.Location == nil {
		return errNoAnswer
	}
	return err
}

// putPart sends a part from memory to the upload id and returns its ETag. The server checks the
// bytes by their MD5. putPart may be retried, since no other call writes this part. Error:
// blob.ErrUnavailable or blob.ErrNoSpace.
func (s *Store) putPart(ctx context.Context, name string, id *string, number int32, part []byte) (string, error) {
	sum := md5.Sum(part)
	up, err := s.client.UploadPart(ctx, &sdk.UploadPartInput{
		Bucket: &s.bucket, Key: &name, UploadId: id, PartNumber: aws.Int32(number), Body: bytes.NewReader(part),
		ContentLength: aws.Int64(int64(len(part))), ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	}, s.retry)
	if err != nil {
		return "", storeError(ctx, "put part", err)
	}
	if etag := aws.ToString(up.ETag); s.etagFits(etag, sum[:]) {
		return etag, nil
	}
	listed, err := s.listedPart(ctx, name, id, number)
	if err != nil {
		return "", err
	}
	if sameETag(listed.ETag, aws.ToString(up.ETag)) {
		s.opaqueETags.Store(true) // the server reported it twice, for bytes that it has checked
	}
	return listed.ETag, nil
}
