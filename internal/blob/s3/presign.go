package s3

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	transport "github.com/aws/smithy-go/endpoints"

	"larder/internal/blob"
)

var _ blob.Presigner = (*Store)(nil)

// fixedEndpoint resolves every call to one address, which is that of the bucket.
type fixedEndpoint url.URL

// ResolveEndpoint implements the SDK's resolver: it returns e for every bucket and region.
func (e fixedEndpoint) ResolveEndpoint(context.Context, sdk.EndpointParameters) (transport.Endpoint, error) {
	return transport.Endpoint{URI: url.URL(e)}, nil
}

// presigner returns the signer of addresses that clients use. base are the settings of the store's
// own client. uploadDomain is the host or http(s) address by which clients reach the bucket, "" for
// the endpoint. It replaces the endpoint with path-style addresses, and the bucket's own host
// otherwise. Error: uploadDomain is no address.
func presigner(base sdk.Options, uploadDomain string) (*sdk.PresignClient, error) {
	if uploadDomain != "" {
		if !strings.Contains(uploadDomain, "://") {
			uploadDomain = "https://" + uploadDomain
		}
		address, err := url.Parse(strings.TrimSuffix(uploadDomain, "/"))
		if err != nil {
			return nil, fmt.Errorf("open bucket: the upload domain: %w", err)
		}
		if base.UsePathStyle {
			base.BaseEndpoint = aws.String(address.String())
		} else {
			base.BaseEndpoint, base.EndpointResolverV2 = nil, fixedEndpoint(*address)
		}
	}
	return sdk.NewPresignClient(sdk.New(base)), nil
}

// PresignGet implements blob.Presigner.
func (s *Store) PresignGet(ctx context.Context, key blob.Key, how blob.GetOptions) (string, error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return "", err
	}
	input := &sdk.GetObjectInput{Bucket: &s.bucket, Key: name}
	if how.ContentType != "" {
		input.ResponseContentType = &how.ContentType
	}
	if how.Disposition != "" {
		input.ResponseContentDisposition = &how.Disposition
	}
	signed, err := s.presign.PresignGetObject(ctx, input, sdk.WithPresignExpires(how.TTL))
	if err != nil {
		return "", storeError(ctx, "sign an address", err)
	}
	return signed.URL, nil
}

// PresignPut implements blob.Presigner. The signature covers the size.
func (s *Store) PresignPut(ctx context.Context, key blob.Key, size int64, lasts time.Duration) (string, error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return "", err
	}
	signed, err := s.presign.PresignPutObject(ctx,
		&sdk.PutObjectInput{Bucket: &s.bucket, Key: name, ContentLength: &size}, sdk.WithPresignExpires(lasts))
	if err != nil {
		return "", storeError(ctx, "sign an address", err)
	}
	return signed.URL, nil
}

// PresignPart implements blob.Presigner.
func (s *Store) PresignPart(ctx context.Context, u blob.Upload, number int, lasts time.Duration) (string, error) {
	name, err := s.upload(ctx, u)
	if err != nil {
		return "", err
	}
	length := u.PartLength(number)
	if length == 0 {
		return "", fmt.Errorf("%w: part %d of %d", blob.ErrPart, number, u.Parts())
	}
	signed, err := s.presign.PresignUploadPart(ctx, &sdk.UploadPartInput{
		Bucket: &s.bucket, Key: name, UploadId: &u.ID, PartNumber: aws.Int32(int32(number)), ContentLength: &length,
	}, sdk.WithPresignExpires(lasts))
	if err != nil {
		return "", storeError(ctx, "sign an address", err)
	}
	return signed.URL, nil
}
