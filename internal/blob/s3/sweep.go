package s3

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

// Sweep drops what crashes left, and counts it: unfinished uploads that began before
// olderThan, which must lie further back than any upload lasts, and objects that Check
// made before it. Only what lies right below the store's prefix, under names that this
// package makes, is touched: the bucket may be other people's too, another service of this
// kind included. Error: blob.ErrUnavailable.
func (s *Store) Sweep(ctx context.Context, olderThan time.Time) (dropped int, err error) {
	n, err := s.sweepUploads(ctx, olderThan)
	if err != nil {
		return n, err
	}
	err = s.list(ctx, s.prefix+checkName, func(name string, o types.Object) error {
		if !s.isCheck(name) || o.LastModified == nil || !o.LastModified.Before(olderThan) {
			return nil
		}
		n++
		return s.deleteName(ctx, &name)
	})
	return n, err
}

// sweepUploads drops old uploads. A server that cannot list them is taken to have none.
func (s *Store) sweepUploads(ctx context.Context, olderThan time.Time) (dropped int, err error) {
	err = s.eachUpload(ctx, s.prefix, func(name string, up types.MultipartUpload) error {
		if !s.isKey(name) && !s.isCheck(name) || up.Initiated == nil || !up.Initiated.Before(olderThan) {
			return nil
		}
		if err := s.abort(ctx, blob.Key(name), aws.ToString(up.UploadId)); err != nil {
			return err
		}
		dropped++
		return nil
	})
	return dropped, err
}

// eachUpload calls fn for every unfinished upload whose name begins with prefix, or more. An error
// of fn ends it and is returned as it is. A server that cannot list them is taken to have none.
func (s *Store) eachUpload(ctx context.Context, prefix string,
	fn func(name string, up types.MultipartUpload) error) error {
	input := &sdk.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &prefix, MaxUploads: s.pageSize,
		EncodingType: types.EncodingTypeUrl}
	for {
		page, err := s.client.ListMultipartUploads(ctx, input, s.retry)
		if notImplemented(err) {
			return nil
		}
		// that upload was dropped meanwhile; the next sweep sees others of its key
		if code(err) == "InvalidArgument" && input.UploadIdMarker != nil {
			input.UploadIdMarker = nil
			continue
		}
		if err != nil {
			return storeError(ctx, "list uploads", err)
		}
		if !isUploadListing(page) {
			return blob.Unavailable("list uploads", errNoAnswer)
		}
		for _, up := range page.Uploads {
			if name, ok := listedName(up.Key, page.EncodingType); ok {
				if err := fn(name, up); err != nil {
					return err
				}
			}
		}
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
		key, _ := listedName(page.NextKeyMarker, page.EncodingType)
		if key == aws.ToString(input.KeyMarker) &&
			aws.ToString(page.NextUploadIdMarker) == aws.ToString(input.UploadIdMarker) {
			return blob.Unavailable("list uploads", errors.New("the server's list does not go on"))
		}
		input.KeyMarker, input.UploadIdMarker = &key, page.NextUploadIdMarker
	}
}

// isUploadListing is listing, for a list of uploads.
func isUploadListing(page *sdk.ListMultipartUploadsOutput) bool {
	return page.Bucket != nil || page.IsTruncated != nil || page.MaxUploads != nil
}

// isKey reports whether a name is a key of this store: one right below its prefix.
func (s *Store) isKey(name string) bool {
	rest, ok := strings.CutPrefix(name, s.prefix)
	if _, err := blob.ParseKey(rest); !ok || err != nil {
		return false
	}
	return strings.Count(rest, "/") == 1
}

// isCheck reports whether a name is one that Check draws.
func (s *Store) isCheck(name string) bool {
	random, ok := strings.CutPrefix(name, s.prefix+checkName)
	return ok && len(random) == 32 && strings.Trim(random, "0123456789abcdef") == ""
}
