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

// abortTries is how often Abort asks whether parts that were under way have come after it.
const abortTries = 5

// Begin implements blob.PartStore. Beginning again is another upload. Parts that are not the last
// need 5 MiB (blob.ErrPart).
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

// begin has the server begin an upload and returns its id.
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

// upload checks an upload and returns its key as the protocol wants it.
func (s *Store) upload(ctx context.Context, u blob.Upload) (*string, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	return s.checkKey(ctx, u.Key)
}

// PutPart implements blob.PartStore. Of several bodies for one part that come through this process
// each waits for the one before it.
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
			v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)) // it cannot be hashed before it is sent
		if err != nil {
			return "", err
		}
		return aws.ToString(up.ETag), nil
	})
	if s.locks.isAborted(u) { // the server may have kept the part, and with it the upload
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
	case ctx.Err() == nil && s.isEnded(ctx, u): // servers tell it in several ways when that came while the body did
		return blob.Part{}, fmt.Errorf("put part: %w", blob.ErrNotFound)
	}
	return blob.Part{}, storeError(ctx, "put part", err)
}

// isEnded reports whether the server says that the upload was finished or aborted.
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
			return nil, blob.Unavailable("list parts", errors.New("the server's list does not go on"))
		}
		last, input.PartNumberMarker = next, page.NextPartNumberMarker
	}
}

// Finish implements blob.PartStore. It also answers blob.ErrExists, when another object
// has taken the key.
//
// What the server lists may have changed by the time it makes the object: a body that was cut in
// its middle and answered by nobody may be kept as a whole part, by servers that take the end of a
// connection for that of a body, in the place of one that came whole meanwhile. So the server is
// told the ETags of the parts that the caller wants, and refuses others.
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
		u): // whatever it answered: the upload is over, and the object tells how
		return s.finishedInfo(context.WithoutCancel(ctx), u)
	case preconditionFailed(err), errors.Is(err, blob.ErrExists):
		return blob.Info{}, fmt.Errorf("finish upload: %w", blob.ErrExists)
	case code(err) == "InvalidPart":
		return blob.Info{}, fmt.Errorf("finish upload: %w: one was replaced meanwhile", blob.ErrPart)
	}
	return blob.Info{}, storeError(ctx, "finish upload", err)
}

// finishedInfo answers for an upload that the server has no more. An object of its size is the one
// that was made of it.
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

// Abort implements blob.PartStore.
func (s *Store) Abort(ctx context.Context, u blob.Upload) error {
	if _, err := s.upload(ctx, u); err != nil {
		return err
	}
	return s.abort(ctx, u.Key, u.ID)
}

// markAborted drops an upload until the server knows nothing of it any more: a part that was under
// way may be kept after the first time. One that comes through this process later drops itself;
// one through another process may bring the upload back, until the bucket's own rule for
// incomplete uploads removes it.
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

// abortAll drops all uploads for a key, of which there are few. A server that cannot list them is
// taken to have none.
func (s *Store) abortAll(ctx context.Context, key blob.Key) error {
	dropped := map[string]bool{}
	for {
		// all of a list, and then it is asked for anew: servers don't find the page behind an
		// upload that is gone, or any
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
