package s3

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

var _ blob.Walker = (*Store)(nil)

// Walk implements blob.Walker for the objects directly below the store's prefix. The bucket may
// hold other objects, for example those of another installation below a longer prefix, and the
// caller may delete what it finds. Therefore Walk skips names that this store does not build.
func (s *Store) Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error {
	return s.list(ctx, s.prefix, func(name string, o types.Object) error {
		if !s.isKey(name) || o.Size == nil || o.LastModified == nil {
			return nil
		}
		return fn(blob.Key(name), *o.Size, *o.LastModified)
	})
}

// list calls fn for every object whose name is prefix followed by more, page by page. An error of
// fn ends the listing and is returned unchanged. Other errors: blob.ErrUnavailable, the context's.
func (s *Store) list(ctx context.Context, prefix string, fn func(name string, o types.Object) error) error {
	input := &sdk.ListObjectsV2Input{
		// XML cannot represent every name
		Bucket: &s.bucket, Prefix: &prefix, MaxKeys: s.pageSize, EncodingType: types.EncodingTypeUrl,
	}
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		page, err := s.client.ListObjectsV2(ctx, input, s.retry)
		if err != nil {
			return storeError(ctx, "list objects", err)
		}
		if !isListing(page) {
			return blob.Unavailable("list objects", errNoAnswer)
		}
		for _, o := range page.Contents {
			name, ok := listedName(o.Key, page.EncodingType)
			if !ok || !hasProperPrefix(name, prefix) {
				continue
			}
			if err := fn(name, o); err != nil {
				return err
			}
		}
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
		next := aws.ToString(page.NextContinuationToken)
		if next == "" || next == aws.ToString(input.ContinuationToken) {
			return blob.Unavailable("list objects", errors.New("the server's list has no usable continuation"))
		}
		input.ContinuationToken = &next
	}
}

// listedName decodes a name of a listing, which is URL-encoded if the listing says so in encoding.
// ok is false for a missing name or one that cannot be decoded.
func listedName(name *string, encoding types.EncodingType) (string, bool) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(name), name != nil
	}
	plain, err := url.QueryUnescape(aws.ToString(name))
	return plain, err == nil && name != nil
}

// hasProperPrefix reports whether name begins with prefix and is longer. list checks this because a
// server may ignore the prefix that was asked for.
func hasProperPrefix(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != ""
}
