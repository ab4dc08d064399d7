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

// Walk implements blob.Walker for what lies right below the store's prefix. A bucket holds other
// people's objects too, those of another service of this kind below a prefix beneath this one for
// example, and whoever walks may be looking for what to remove: what has not the name of one of
// this store's keys is passed over.
func (s *Store) Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error {
	return s.list(ctx, s.prefix, func(name string, o types.Object) error {
		if !s.isKey(name) || o.Size == nil || o.LastModified == nil {
			return nil
		}
		return fn(blob.Key(name), *o.Size, *o.LastModified)
	})
}

// list calls fn for every object whose name begins with prefix. An error of fn ends it and is
// returned as it is.
func (s *Store) list(ctx context.Context, prefix string, fn func(name string, o types.Object) error) error {
	input := &sdk.ListObjectsV2Input{
		// names may hold what XML cannot
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
			return blob.Unavailable("list objects", errors.New("the server's list does not go on"))
		}
		input.ContinuationToken = &next
	}
}

// listedName is a name out of a list: what a server encodes, it says that it did.
func listedName(name *string, encoding types.EncodingType) (string, bool) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(name), name != nil
	}
	plain, err := url.QueryUnescape(aws.ToString(name))
	return plain, err == nil && name != nil
}

// hasProperPrefix compares bytes: to a bucket a prefix is no path, and a server may ignore it.
func hasProperPrefix(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != ""
}
