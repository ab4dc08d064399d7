package s3

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

var _ blob.Copier = (*Store)(nil)

// copyMax is the largest object that one call copies, in bytes. Larger ones are copied in parts.
const copyMax = 5 << 30

// CopyFrom implements blob.Copier. Buckets at one endpoint that are used with the same credentials lie on one server.
func (s *Store) CopyFrom(ctx context.Context, key blob.Key, from blob.Store, source blob.Key, mimeType, match string) (blob.Info, error) {
	there, ok := from.(*Store)
	if !ok || there.server != s.server {
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrNoCopy)
	}
	name, err := s.name(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	info, err := there.Stat(ctx, source)
	if err != nil {
		return blob.Info{}, err
	}
	if match != "" && plainTag(info.ETag) != plainTag(match) {
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrChanged)
	}
	if info.Size > copyMax {
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrNoCopy)
	}
	switch _, err := s.Stat(ctx, key); {
	case err == nil:
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrExists)
	case !errors.Is(err, blob.ErrNotFound):
		return blob.Info{}, err
	}
	mark := s.ids.Hex(16)
	input := &sdk.CopyObjectInput{
		Bucket: &s.bucket, Key: name, CopySource: aws.String(there.bucket + "/" + (&url.URL{Path: string(source)}).EscapedPath()),
		CopySourceIfMatch: &info.ETag, MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{markName: mark},
	}
	if mimeType != "" {
		input.ContentType = &mimeType
	}
	copied, err := s.client.CopyObject(ctx, input)
	switch {
	case err != nil && taken(err):
		return blob.Info{}, fmt.Errorf("copy object: %w", blob.ErrChanged)
	case err != nil:
		return s.settle(ctx, key, mark, info.Size, "copy object", err)
	case copied.CopyObjectResult == nil:
		return blob.Info{}, blob.Unavailable("copy object", errors.New("the server does not tell what it made"))
	}
	return blob.Info{Size: info.Size, ETag: aws.ToString(copied.CopyObjectResult.ETag)}, nil
}

// plainTag is an ETag without the quotes that some servers leave out.
func plainTag(etag string) string { return strings.Trim(etag, `"`) }
