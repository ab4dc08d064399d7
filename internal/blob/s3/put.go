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
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

const (
	markName = "larder-put" // the metadata that tells the object of one Put from that of any other: 32 hex

	maxObject   = 5 << 40   // bytes; what S3 takes
	firstBuffer = 256 << 10 // bytes; a body of unknown length that is no longer takes no more memory
)

// Put takes body, a part at a time, and makes the object of it. Errors: those of blob.Store.
func (s *Store) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	if _, err := s.name(ctx, key); err != nil {
		return blob.Info{}, err
	}
	if opts.Size > maxObject {
		return blob.Info{}, fmt.Errorf("put object: %w: S3 takes %d bytes", blob.ErrTooLarge, int64(maxObject))
	}
	h, mark := sha256.New(), s.ids.Hex(16)
	part, n, err := s.first(counted, opts.Size)
	if err != nil && err != io.EOF {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	h.Write(part[:n])
	var info blob.Info
	if err == io.EOF {
		info, err = s.put(ctx, key, part[:n], mark)
	} else {
		info, err = s.putLong(ctx, key, counted, io.TeeReader(counted, h), part, mark)
	}
	if err != nil {
		return blob.Info{}, err
	}
	info.SHA256 = h.Sum(nil)
	return info, nil
}

// first reads the first part of a body of size bytes, -1 when unknown, and returns a buffer as long as every part but the last, or as the
// whole body when that ends within it, which io.EOF tells.
func (s *Store) first(body io.Reader, size int64) (part []byte, n int, err error) {
	length := max(s.partSize, (size-1)/blob.MaxParts+1)
	part = make([]byte, min(length, firstBuffer))
	if size >= 0 && size < length {
		part = make([]byte, size+1) // its end shows within it
	}
	n, err = blob.ReadFull(body, part)
	if err != nil || size >= 0 && size < length {
		return part, n, err
	}
	part = append(make([]byte, 0, length), part...)[:length]
	m, err := blob.ReadFull(body, part[n:])
	return part, n + m, err
}

// put makes an object of body and returns when the server has it.
func (s *Store) put(ctx context.Context, key blob.Key, body []byte, mark string) (blob.Info, error) {
	condition, err := s.condition(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	sum := md5.Sum(body)
	put, err := s.client.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String(string(key)), Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
		ContentMD5:  aws.String(base64.StdEncoding.EncodeToString(sum[:])), // the server checks what came
		IfNoneMatch: condition, Metadata: map[string]string{markName: mark},
	})
	if err == nil {
		return blob.Info{Size: int64(len(body)), ETag: aws.ToString(put.ETag)}, nil
	}
	if condition != nil && status(err) == http.StatusNotImplemented {
		s.unconditional.Store(true)
		return s.put(ctx, key, body, mark)
	}
	return s.settle(ctx, key, mark, int64(len(body)), "put object", err)
}

// condition returns the header that keeps an object from being overwritten; nil, once it has looked itself, for a server that knows none.
func (s *Store) condition(ctx context.Context, key blob.Key) (*string, error) {
	if !s.unconditional.Load() {
		return aws.String("*"), nil
	}
	switch _, err := s.Stat(ctx, key); {
	case err == nil:
		return nil, fmt.Errorf("put object: %w", blob.ErrExists)
	case !errors.Is(err, blob.ErrNotFound):
		return nil, err
	}
	return nil, nil
}

// settle finds out what came of a call that was to make an object of size bytes with that mark and failed with cause.
func (s *Store) settle(ctx context.Context, key blob.Key, mark string, size int64, doing string, cause error) (blob.Info, error) {
	info, found, err := s.head(context.WithoutCancel(ctx), key)
	switch {
	case err == nil && found == mark && info.Size == size:
		return info, nil // only the answer was lost
	case err == nil && found != mark || taken(cause):
		return blob.Info{}, fmt.Errorf("%s: %w", doing, blob.ErrExists)
	}
	return blob.Info{}, failed(ctx, doing, cause)
}

// putLong makes an object of first and what follows in rest, in parts as long as first, which it uses as its buffer.
func (s *Store) putLong(ctx context.Context, key blob.Key, counted *blob.Body, rest io.Reader, first []byte, mark string) (info blob.Info, err error) {
	condition, err := s.condition(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	name := aws.String(string(key))
	created, err := s.client.CreateMultipartUpload(ctx, &sdk.CreateMultipartUploadInput{Bucket: &s.bucket, Key: name, Metadata: map[string]string{markName: mark}})
	if err != nil {
		return blob.Info{}, failed(ctx, "begin upload", err)
	}
	done := false
	defer func() { // also when body panics
		if !done {
			_ = s.abort(context.WithoutCancel(ctx), key, aws.ToString(created.UploadId)) // what stays is told by nobody
		}
	}()
	var parts []types.CompletedPart
	part, end := first, error(nil)
	for number := int32(1); len(part) > 0; number++ {
		if number > blob.MaxParts {
			return blob.Info{}, fmt.Errorf("put object: %w: more than %d parts of %d bytes", blob.ErrTooLarge, blob.MaxParts, len(first))
		}
		sum := md5.Sum(part)
		up, err := s.client.UploadPart(ctx, &sdk.UploadPartInput{
			Bucket: &s.bucket, Key: name, UploadId: created.UploadId, PartNumber: aws.Int32(number), Body: bytes.NewReader(part),
			ContentLength: aws.Int64(int64(len(part))), ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
		})
		if err != nil {
			return blob.Info{}, failed(ctx, "put part", err)
		}
		parts = append(parts, types.CompletedPart{ETag: up.ETag, PartNumber: aws.Int32(number)})
		if end == io.EOF {
			break
		}
		n := 0
		if n, end = blob.ReadFull(rest, first); end != nil && end != io.EOF {
			return blob.Info{}, fmt.Errorf("put object: %w", end)
		}
		part = first[:n]
	}
	_, err = s.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: name, UploadId: created.UploadId, IfNoneMatch: condition, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err != nil {
		info, err = s.settle(ctx, key, mark, counted.Count(), "complete upload", err)
		done = err == nil
		return info, err
	}
	done = true
	info, _, err = s.head(context.WithoutCancel(ctx), key)
	if err == nil && info.Size != counted.Count() {
		err = blob.Unavailable("complete upload", fmt.Errorf("the object has %d bytes of %d", info.Size, counted.Count()))
	}
	return info, err
}
