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

// Put creates or replaces an object with body and returns its size in bytes. It holds at most one
// part in memory. When the body fails or is not as announced, Put leaves nothing and keeps the
// previous object. Errors: ErrDenied, blob.ErrSize, blob.ErrTooLarge, blob.ErrReader,
// blob.ErrUnavailable, and the context's error.
func (b *Bucket) Put(ctx context.Context, key string, body io.Reader, opts blob.PutOptions) (size int64, err error) {
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return 0, fmt.Errorf("put object: %w", err)
	}
	var mimeType *string
	if opts.MimeType != "" {
		mimeType = &opts.MimeType
	}
	part, n, err := b.readFirstPart(counted, opts.Size)
	switch {
	case err == io.EOF:
		err = b.putShort(ctx, key, part[:n], mimeType)
	case err != nil:
		err = fmt.Errorf("put object: %w", err)
	default:
		err = b.putLong(ctx, key, counted, part, mimeType)
	}
	return counted.Count(), err
}

// readFirstPart reads the first part of a body of size bytes, -1 when unknown. part is the buffer,
// of which the first n bytes are filled. It returns io.EOF when that is the whole body, nil when
// part is full and more may follow. A short body uses a small buffer.
func (b *Bucket) readFirstPart(body io.Reader, size int64) (part []byte, n int, err error) {
	length := min(b.partSize, firstBuffer)
	if size >= 0 && size < b.partSize {
		length = size + 1 // one byte more, to see the end of the body
	}
	part = make([]byte, length)
	n, err = blob.ReadFull(body, part)
	if err != nil {
		return part, n, err
	}
	part = append(make([]byte, 0, b.partSize), part...)[:b.partSize]
	m, err := blob.ReadFull(body, part[n:])
	return part, n + m, err
}

// putShort creates or replaces an object by one call with a body from memory. mimeType is nil for
// none. Errors: those of bucketError.
func (b *Bucket) putShort(ctx context.Context, key string, body []byte, mimeType *string) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	_, err := b.client.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &b.name, Key: &key, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
		ContentType: mimeType, ContentMD5: contentMD5(body),
	})
	if err != nil {
		return bucketError(ctx, "put object", err)
	}
	return nil
}

// contentMD5 returns the Content-MD5 header of body, the MD5 in base64, by which the server checks
// what it received.
func contentMD5(body []byte) *string {
	sum := md5.Sum(body)
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// putLong creates or replaces an object by an upload in parts: part first, then rest in parts as
// long as part, whose memory it uses as its buffer. After a failure it aborts the upload. Errors:
// those of bucketError and of rest, blob.ErrTooLarge beyond blob.MaxParts parts.
func (b *Bucket) putLong(ctx context.Context, key string, rest *blob.Body, part []byte, mimeType *string) error {
	created, err := b.client.CreateMultipartUpload(ctx,
		&sdk.CreateMultipartUploadInput{Bucket: &b.name, Key: &key, ContentType: mimeType})
	if err != nil {
		return bucketError(ctx, "begin upload", err)
	}
	done := false
	defer func() { // also when the body panics
		if !done {
			b.abort(ctx, key, created.UploadId)
		}
	}()
	parts, err := b.putParts(ctx, key, created.UploadId, rest, part)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, partTimeout) // some servers assemble the object before they answer
	defer cancel()
	_, err = b.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: &key, UploadId: created.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err != nil {
		return bucketError(ctx, "complete upload", err)
	}
	done = true
	head, err := b.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &b.name, Key: &key})
	if err == nil && aws.ToInt64(head.ContentLength) != rest.Count() {
		return blob.Unavailable("complete upload", errors.New("the object has another size than what was sent"))
	}
	return nil // credentials that may write need not be allowed to read
}

// putParts sends buffer as part 1 of the upload id, and then rest in parts of the same length, read
// into the same memory. It returns the parts with their ETags, as the call that completes the
// upload needs them.
func (b *Bucket) putParts(ctx context.Context, key string, id *string, rest io.Reader,
	buffer []byte) ([]types.CompletedPart, error) {
	var parts []types.CompletedPart
	part, end := buffer, error(nil)
	for number := int32(1); len(part) > 0; number++ {
		if number > blob.MaxParts {
			return nil, fmt.Errorf("put object: %w: more than %d parts of %d bytes", blob.ErrTooLarge, blob.MaxParts,
				len(buffer))
		}
		etag, err := b.putPart(ctx, key, id, number, part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, types.CompletedPart{ETag: etag, PartNumber: aws.Int32(number)})
		if end == io.EOF {
			break
		}
		n := 0
		if n, end = blob.ReadFull(rest, buffer); end != nil && end != io.EOF {
			return nil, fmt.Errorf("put object: %w", end)
		}
		part = buffer[:n]
	}
	return parts, nil
}

// putPart sends a part from memory under its number, from 1, to the upload id, and returns the
// server's ETag.
func (b *Bucket) putPart(ctx context.Context, key string, id *string, number int32,
	part []byte) (etag *string, err error) {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	up, err := b.client.UploadPart(ctx, &sdk.UploadPartInput{
		Bucket: &b.name, Key: &key, UploadId: id, PartNumber: &number, Body: bytes.NewReader(part),
		ContentLength: aws.Int64(int64(len(part))), ContentMD5: contentMD5(part),
	})
	if err != nil {
		return nil, bucketError(ctx, "put part", err)
	}
	return up.ETag, nil
}

// abort aborts the upload in parts id for key, also after ctx has ended. When that fails, the parts
// stay for the bucket's owner to remove, and no error is reported.
func (b *Bucket) abort(ctx context.Context, key string, id *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, _ = b.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &b.name, Key: &key, UploadId: id})
}
