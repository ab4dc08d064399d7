package s3

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
	"larder/internal/fault"
)

// abortTries is how often Abort checks whether parts in progress have been stored after the abort.
const abortTries = 5

// Begin implements blob.PartStore. A second Begin returns another upload. Parts other than the last
// need at least 5 MiB; otherwise Begin returns blob.ErrPart.
func (s *Store) Begin(ctx context.Context, key blob.Key, size, partSize int64, mimeType string) (blob.Upload, error) {
	u := blob.Upload{Key: key, Size: size, PartSize: partSize}
	name, err := s.upload(ctx, u)
	if err != nil {
		return blob.Upload{}, err
	}
	if u.Parts() > 1 && partSize < minPart {
		return blob.Upload{}, fmt.Errorf("%w: parts of %d bytes, S3 takes %d or more", blob.ErrPart, partSize, minPart)
	}
	switch head, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: name}, s.retry); {
	case err == nil:
		if _, _, err := objectInfo(head.ContentLength, head.ETag, nil); err != nil {
			return blob.Upload{}, err
		}
		return blob.Upload{}, fmt.Errorf("begin upload: %w", blob.ErrExists)
	case status(err) != http.StatusNotFound:
		return blob.Upload{}, storeError(ctx, "begin upload", err)
	}
	id, err := s.begin(ctx, &sdk.CreateMultipartUploadInput{Bucket: &s.bucket, Key: name,
		ContentType: contentType(mimeType)})
	if err != nil {
		return blob.Upload{}, err
	}
	u.ID = *id
	return u, nil
}

// begin begins an upload in parts on the server and returns its id. Error: blob.ErrUnavailable or
// blob.ErrNoSpace.
func (s *Store) begin(ctx context.Context, input *sdk.CreateMultipartUploadInput) (id *string, err error) {
	created, err := s.client.CreateMultipartUpload(ctx, input)
	if err != nil {
		return nil, storeError(ctx, "begin upload", err)
	}
	if aws.ToString(created.UploadId) == "" {
		return nil, blob.Unavailable("begin upload", errNoAnswer)
	}
	return created.UploadId, nil
}

// upload checks u and ctx and returns the key of u in the form of the SDK. Errors: blob.ErrKey,
// blob.ErrPart, the context's.
func (s *Store) upload(ctx context.Context, u blob.Upload) (*string, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	return s.checkKey(ctx, u.Key)
}

// PutPart implements blob.PartStore. Within this process, bodies for the same part wait for each
// other.
func (s *Store) PutPart(ctx context.Context, u blob.Upload, number int, body io.Reader) (blob.Part, error) {
	name, err := s.upload(ctx, u)
	if err != nil {
		return blob.Part{}, err
	}
	length := u.PartLength(number)
	if length == 0 {
		return blob.Part{}, fmt.Errorf("%w: part %d of %d", blob.ErrPart, number, u.Parts())
	}
	counted, err := blob.NewBody(ctx, body, blob.PutOptions{Size: length})
	if err != nil {
		return blob.Part{}, fmt.Errorf("put part: %w", err)
	}
	leave, err := s.locks.lockPart(ctx, u, number)
	if err != nil {
		return blob.Part{}, err
	}
	defer leave()
	h := md5.New()
	etag, sent, err := stream(ctx, io.TeeReader(counted, h), func(ctx context.Context, body io.Reader) (string, error) {
		up, err := s.client.UploadPart(ctx, &sdk.UploadPartInput{
			Bucket: &s.bucket, Key: name, UploadId: &u.ID, PartNumber: aws.Int32(int32(number)), Body: body,
			ContentLength: &length,
		}, sdk.WithAPIOptions(
			// the body is streamed and cannot be hashed before
			v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
		if err != nil {
			return "", err
		}
		return aws.ToString(up.ETag), nil
	})
	if s.locks.isAborted(u) { // the server may have kept the part and with it the upload
		_ = s.abort(context.WithoutCancel(ctx), u.Key, u.ID)
		return blob.Part{}, fmt.Errorf("put part: %w", blob.ErrNotFound)
	}
	switch {
	case err == nil:
		if etag, err = s.verifyPartETag(ctx, u, number, etag, h.Sum(nil)); err != nil {
			return blob.Part{}, fmt.Errorf("put part: %w", err)
		}
		return blob.Part{Number: number, Size: length, ETag: etag}, nil
	case !sent:
		return blob.Part{}, fmt.Errorf("put part: %w", err)
	case ctx.Err() == nil && s.isEnded(ctx, u): // servers report it in several ways when it happened during the body
		return blob.Part{}, fmt.Errorf("put part: %w", blob.ErrNotFound)
	}
	return blob.Part{}, storeError(ctx, "put part", err)
}

// isEnded reports whether the server says that the upload is finished or aborted; false also when
// it gives no answer.
func (s *Store) isEnded(ctx context.Context, u blob.Upload) bool {
	_, err := s.Parts(ctx, u)
	return errors.Is(err, blob.ErrNotFound)
}

// Parts implements blob.PartStore.
func (s *Store) Parts(ctx context.Context, u blob.Upload) ([]blob.Part, error) {
	name, err := s.upload(ctx, u)
	if err != nil {
		return nil, err
	}
	var parts []blob.Part
	input := &sdk.ListPartsInput{Bucket: &s.bucket, Key: name, UploadId: &u.ID, MaxParts: s.pageSize}
	for last := 0; ; {
		page, err := s.client.ListParts(ctx, input, s.retry)
		if isNoSuchUpload(err) {
			return nil, fmt.Errorf("list parts: %w", blob.ErrNotFound)
		}
		if err != nil {
			return nil, storeError(ctx, "list parts", err)
		}
		if page.UploadId == nil && page.Key == nil {
			return nil, blob.Unavailable("list parts", errNoAnswer)
		}
		for _, p := range page.Parts {
			parts = append(parts, blob.Part{Number: int(aws.ToInt32(p.PartNumber)), Size: aws.ToInt64(p.Size),
				ETag: aws.ToString(p.ETag)})
		}
		if !aws.ToBool(page.IsTruncated) {
			slices.SortFunc(parts, func(a, b blob.Part) int { return a.Number - b.Number })
			return parts, nil
		}
		next, err := strconv.Atoi(aws.ToString(page.NextPartNumberMarker))
		if err != nil || next <= last || next > blob.MaxParts {
			return nil, blob.Unavailable("list parts", errors.New("the server's list has no usable continuation"))
		}
		last, input.PartNumberMarker = next, page.NextPartNumberMarker
	}
}

// Finish implements blob.PartStore. It also returns blob.ErrExists, when another object has the
// key.
//
// A stored part may change after Finish has compared parts with the list: a server that takes the
// end of a connection for the end of a body may replace a right part with a body that was cut.
// Therefore Finish sends the ETags of parts, and the server refuses parts with others.
func (s *Store) Finish(ctx context.Context, u blob.Upload, parts []blob.Part) (blob.Info, error) {
	name, err := s.upload(ctx, u)
	if err != nil {
		return blob.Info{}, err
	}
	leave, ok := s.locks.tryLockAll(u)
	if !ok {
		return blob.Info{}, fmt.Errorf("finish upload: %w", blob.ErrBusy)
	}
	defer leave()
	listed, err := s.Parts(ctx, u)
	if errors.Is(err, blob.ErrNotFound) {
		return s.finishedInfo(ctx, u)
	}
	if err != nil {
		return blob.Info{}, err
	}
	if err := u.CheckParts(parts, listed); err != nil {
		return blob.Info{}, fmt.Errorf("finish upload: %w", err)
	}
	var list []types.CompletedPart
	for _, p := range parts {
		list = append(list, types.CompletedPart{ETag: &p.ETag, PartNumber: aws.Int32(int32(p.Number))})
	}
	err = s.complete(ctx, name, &u.ID, list)
	switch {
	case fault.Is(err, fault.Unavailable):
		return blob.Info{}, err
	case err == nil, s.isEnded(context.WithoutCancel(ctx),
		u): // whatever the answer was, the upload is over, and the object shows how it ended
		return s.finishedInfo(context.WithoutCancel(ctx), u)
	case preconditionFailed(err), errors.Is(err, blob.ErrExists):
		return blob.Info{}, fmt.Errorf("finish upload: %w", blob.ErrExists)
	case code(err) == "InvalidPart":
		return blob.Info{}, fmt.Errorf("finish upload: %w: one was replaced meanwhile", blob.ErrPart)
	}
	return blob.Info{}, storeError(ctx, "finish upload", err)
}

// finishedInfo answers Finish for an upload that no longer exists on the server. An object of the
// upload's size is the result of an earlier Finish. Error: blob.ErrNotFound when there is none or
// it has another size.
func (s *Store) finishedInfo(ctx context.Context, u blob.Upload) (blob.Info, error) {
	info, err := s.Stat(ctx, u.Key)
	if err == nil && info.Size != u.Size {
		err = fmt.Errorf("object has %d bytes, not %d: %w", info.Size, u.Size, blob.ErrNotFound)
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("finish upload: %w", err)
	}
	return info, nil
}

// Abort implements blob.PartStore. Finished or unknown uploads are no error.
func (s *Store) Abort(ctx context.Context, u blob.Upload) error {
	if _, err := s.upload(ctx, u); err != nil {
		return err
	}
	return s.abort(ctx, u.Key, u.ID)
}

// abort aborts an upload until the server does not know it any more, since the server may keep a
// part that was in progress during the first attempt. A part that arrives later through this
// process aborts the upload again. One through another process may revive the upload until the
// bucket's lifecycle rule for incomplete uploads removes it.
func (s *Store) abort(ctx context.Context, key blob.Key, id string) error {
	s.locks.markAborted(key, id)
	name := aws.String(string(key))
	for range abortTries {
		_, err := s.client.AbortMultipartUpload(ctx,
			&sdk.AbortMultipartUploadInput{Bucket: &s.bucket, Key: name, UploadId: &id}, s.retry)
		if err != nil && !isNoSuchUpload(err) {
			return storeError(ctx, "abort upload", err)
		}
		_, err = s.client.ListParts(ctx, &sdk.ListPartsInput{Bucket: &s.bucket, Key: name, UploadId: &id,
			MaxParts: s.pageSize}, s.retry)
		if isNoSuchUpload(err) {
			return nil
		}
		if err != nil {
			return storeError(ctx, "abort upload", err)
		}
	}
	return blob.Unavailable("abort upload", fmt.Errorf("the server still lists its parts after %d times", abortTries))
}

// abortAll aborts all uploads in parts for a key; there are few. A server that cannot list uploads
// is assumed to have none.
func (s *Store) abortAll(ctx context.Context, key blob.Key) error {
	dropped := map[string]bool{}
	for {
		// a whole listing, then another: servers do not find the next page when the upload at its
		// marker is gone
		var ids []string
		err := s.eachUpload(ctx, string(key), func(name string, up types.MultipartUpload) error {
			if id := aws.ToString(up.UploadId); name == string(key) && !dropped[id] {
				ids = append(ids, id)
			}
			return nil
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := s.abort(ctx, key, id); err != nil {
				return err
			}
			dropped[id] = true
		}
	}
}
