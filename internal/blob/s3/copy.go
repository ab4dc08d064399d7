package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

var _ blob.Copier = (*Store)(nil)

const (
	copyMax  = 5 << 30   // bytes; the largest object that one call copies. Larger ones are copied in parts
	copyPart = 512 << 20 // bytes of such a part; more when the object would have more than blob.MaxParts

	copiesAtOnce = 4 // parts copied in parallel
)

// copySource is the object to copy.
type copySource struct {
	store *Store
	name  *string
	path  *string // in the form of the CopySource header
	blob.Info
}

// CopyFrom implements blob.Copier. Two buckets are on one server when they have the same endpoint
// and the same credentials. CopyFrom compares the source before and after the copy, since a server
// may ignore the conditions of copies.
func (s *Store) CopyFrom(ctx context.Context, key blob.Key, from blob.Store, source blob.Key, mimeType,
	match string) (blob.Info, error) {
	there, ok := from.(*Store)
	if !ok || there.server != s.server {
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrCopyUnsupported)
	}
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	src := copySource{store: there, path: aws.String(there.bucket + "/" +
		(&url.URL{Path: string(source)}).EscapedPath())}
	if src.name, err = there.checkKey(ctx, source); err != nil {
		return blob.Info{}, err
	}
	if src.Info, _, err = there.statName(ctx, src.name); err != nil {
		return blob.Info{}, err
	}
	if match != "" && !sameETag(src.ETag, match) {
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrChanged)
	}
	switch _, _, err := s.statName(ctx, name); {
	case err == nil:
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrExists)
	case !errors.Is(err, blob.ErrNotFound):
		return blob.Info{}, err
	}
	mark := s.ids.Hex(16)
	var made blob.Info
	if src.Size > s.copyMax {
		made, err = s.copyLong(ctx, *name, src, mimeType, mark)
	} else {
		made, err = s.copySingle(ctx, *name, src, mimeType, mark)
	}
	if err != nil {
		return blob.Info{}, err
	}
	if err := src.checkUnchanged(context.WithoutCancel(ctx)); err != nil {
		// this call has just created it
		return blob.Info{}, errors.Join(err, s.deleteName(context.WithoutCancel(ctx), name))
	}
	return made, nil
}

// checkUnchanged returns blob.ErrChanged when the source's ETag or size differs from those before
// the copy, and the error of Stat when it cannot tell.
func (s copySource) checkUnchanged(ctx context.Context) error {
	now, _, err := s.store.statName(ctx, s.name)
	if err == nil && (!sameETag(now.ETag, s.ETag) || now.Size != s.Size) {
		err = fmt.Errorf("copy object: %w", blob.ErrChanged)
	}
	return err
}

// copySingle copies src to name with one call of the server. mark identifies the new object in its
// metadata (markName). Errors: those of CopyFrom.
func (s *Store) copySingle(ctx context.Context, name string, src copySource, mimeType, mark string) (blob.Info, error) {
	input := &sdk.CopyObjectInput{
		Bucket: &s.bucket, Key: &name, CopySource: src.path, CopySourceIfMatch: &src.ETag,
		ContentType:       contentType(mimeType),
		MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{markName: mark},
	}
	if !s.noIfNoneMatch.Load() {
		input.IfNoneMatch = aws.String("*")
	}
	copied, err := s.client.CopyObject(ctx, input)
	if notImplemented(err) {
		input.IfNoneMatch, input.CopySourceIfMatch = nil, nil // the source and the target are checked before and after
		copied, err = s.client.CopyObject(ctx, input)
	}
	if refusesCopies(err) {
		return blob.Info{}, fmt.Errorf("copy object: %w: %w", blob.ErrCopyUnsupported, err)
	}
	if err == nil && copied.CopyObjectResult == nil {
		err = errors.New("the server's answer has no ETag")
	}
	if err == nil {
		err = errNotCreated // the answer holds no size
	}
	if preconditionFailed(err) { // the source has changed, or the target exists
		if _, _, there := s.statName(context.WithoutCancel(ctx), &name); errors.Is(there, blob.ErrNotFound) {
			return blob.Info{}, src.mapCopyError(storeError(ctx, "copy object", err))
		}
	}
	made, err := s.resolveOutcome(ctx, name, mark, src.Size, "copy object", err)
	return made, src.mapCopyError(err)
}

// refusesCopies reports whether the server does not copy at all, or not with these credentials. It
// has created nothing then.
func refusesCopies(err error) bool {
	return notImplemented(err) || status(err) == http.StatusMethodNotAllowed || status(err) == http.StatusForbidden &&
		code(err) == "AccessDenied"
}

// errNotCreated is the cause when the server reported success and the object does not exist.
var errNotCreated = errors.New("the object that the server says it made is not there")

// mapCopyError maps the error of a copy to blob.ErrNotFound when the server says that the source
// does not exist, and to blob.ErrChanged when it says that the source has changed.
func (s copySource) mapCopyError(err error) error {
	switch {
	case err == nil:
		return nil
	case code(err) == "NoSuchKey":
		return fmt.Errorf("copy object: %w", blob.ErrNotFound)
	case preconditionFailed(err):
		return fmt.Errorf("copy object: %w", blob.ErrChanged)
	}
	return err
}

// copyLong copies src to name in parts, copiesAtOnce of them in parallel; it is for objects larger
// than copyMax. mark identifies the new object in its metadata. Errors: those of CopyFrom.
func (s *Store) copyLong(ctx context.Context, name string, src copySource, mimeType, mark string) (blob.Info, error) {
	part := max(s.copyPart, (src.Size-1)/blob.MaxParts+1)
	return s.makeMultipart(ctx, name, mimeType, mark, func(id *string) ([]types.CompletedPart, int64, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		parts := make([]types.CompletedPart, (src.Size-1)/part+1)
		numbers := make(chan int)
		var group sync.WaitGroup
		for range min(copiesAtOnce, len(parts)) {
			group.Go(func() {
				for i := range numbers {
					etag, err := s.copyRange(ctx, name, id, int32(i+1), src, int64(i)*part,
						min(part, src.Size-int64(i)*part))
					if err != nil {
						cancel(err) // the first error is the cause
					}
					parts[i] = types.CompletedPart{ETag: &etag, PartNumber: aws.Int32(int32(i + 1))}
				}
			})
		}
		for i := range parts {
			if ctx.Err() == nil {
				numbers <- i
			}
		}
		close(numbers)
		group.Wait()
		return parts, src.Size, context.Cause(ctx)
	})
}

// copyRange makes the server copy length bytes of src from offset at as one part of the upload id,
// and returns the part's ETag. It may be retried, since no other call writes this part.
func (s *Store) copyRange(ctx context.Context, name string, id *string, number int32, src copySource, at,
	length int64) (string, error) {
	input := &sdk.UploadPartCopyInput{
		Bucket: &s.bucket, Key: &name, UploadId: id, PartNumber: &number, CopySource: src.path,
		CopySourceIfMatch: &src.ETag,
		CopySourceRange:   aws.String(fmt.Sprintf("bytes=%d-%d", at, at+length-1)),
	}
	copied, err := s.client.UploadPartCopy(ctx, input, s.retry)
	if notImplemented(err) {
		input.CopySourceIfMatch = nil
		copied, err = s.client.UploadPartCopy(ctx, input, s.retry)
	}
	if refusesCopies(err) {
		return "", fmt.Errorf("copy part: %w: %w", blob.ErrCopyUnsupported, err)
	}
	if err != nil {
		return "", src.mapCopyError(storeError(ctx, "copy part", err))
	}
	if copied.CopyPartResult == nil || aws.ToString(copied.CopyPartResult.ETag) == "" {
		return "", blob.Unavailable("copy part", errors.New("the server's answer has no ETag"))
	}
	return *copied.CopyPartResult.ETag, nil
}
