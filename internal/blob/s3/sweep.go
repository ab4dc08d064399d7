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

// Sweep removes the rest of crashed processes: unfinished uploads in parts that began before
// olderThan, and objects of Check from before it. It returns their number. olderThan must be
// further in the past than the longest upload. Sweep touches only names of this package directly
// below the store's prefix, since the bucket may also hold objects of others, such as another
// installation. Error: blob.ErrUnavailable.
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

// sweepUploads aborts the uploads in parts of Puts and Checks of this store that began before
// olderThan, and returns their number. A server that cannot list uploads is assumed to have none.
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

// eachUpload calls fn for every unfinished upload whose name begins with prefix; a server may
// return others too. An error of fn ends the listing and is returned unchanged. A server that
// cannot list uploads is assumed to have none.
func (s *Store) eachUpload(ctx context.Context, prefix string,
	fn func(name string, up types.MultipartUpload) error) error {
	input := &sdk.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &prefix, MaxUploads: s.pageSize,
		EncodingType: types.EncodingTypeUrl}
	for {
		page, err := s.client.ListMultipartUploads(ctx, input, s.retry)
		if notImplemented(err) {
			return nil
		}
		// the upload at the marker was aborted; the next sweep sees the others of its key
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
			return blob.Unavailable("list uploads", errors.New("the server's list has no usable continuation"))
		}
		input.KeyMarker, input.UploadIdMarker = &key, page.NextUploadIdMarker
	}
}

// isUploadListing reports whether an answer is a list of uploads: the SDK decodes any other XML
// document as an empty one.
func isUploadListing(page *sdk.ListMultipartUploadsOutput) bool {
	return page.Bucket != nil || page.IsTruncated != nil || page.MaxUploads != nil
}

// isKey reports whether a name in the bucket is a key that this store builds, directly below its
// prefix.
func (s *Store) isKey(name string) bool {
	rest, ok := strings.CutPrefix(name, s.prefix)
	if _, err := blob.ParseKey(rest); !ok || err != nil {
		return false
	}
	return strings.Count(rest, "/") == 1
}

// isCheck reports whether a name in the bucket is one of the test objects that Check creates.
func (s *Store) isCheck(name string) bool {
	random, ok := strings.CutPrefix(name, s.prefix+checkName)
	return ok && len(random) == 32 && strings.Trim(random, "0123456789abcdef") == ""
}
