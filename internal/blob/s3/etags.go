package s3

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
)

// errWrongETag: by its ETag, an answer is about other bytes than those sent.
var errWrongETag = errors.New("the answer's ETag is not that of what was sent")

// unquotedETag removes the quotes of an ETag, which some servers omit.
func unquotedETag(etag string) string { return strings.Trim(etag, `"`) }

// sameETag reports whether two ETags of one server are equal. An empty ETag equals no other.
func sameETag(a, b string) bool { return unquotedETag(a) == unquotedETag(b) && unquotedETag(a) != "" }

// etagFits reports whether an object with that ETag can have content with the MD5 sum; false means
// other bytes arrived. An ETag in the form of an MD5 must equal sum, unless the server has shown
// that its ETags are not MD5s. An ETag in another form (multipart uploads, encrypted objects)
// always fits, an empty one never.
func (s *Store) etagFits(etag string, sum []byte) bool {
	plain := strings.ToLower(unquotedETag(etag))
	if raw, err := hex.DecodeString(plain); err != nil || len(raw) != md5.Size {
		return plain != ""
	}
	return plain == hex.EncodeToString(sum) || s.opaqueETags.Load()
}

// listedPart returns the part number of the upload id to the key name, as the server lists it.
// Errors: blob.ErrNotFound for an unknown upload, blob.ErrUnavailable, also when the server does
// not list the part.
func (s *Store) listedPart(ctx context.Context, name string, id *string, number int32) (blob.Part, error) {
	list, err := s.client.ListParts(ctx, &sdk.ListPartsInput{
		Bucket: &s.bucket, Key: &name, UploadId: id, PartNumberMarker: aws.String(strconv.Itoa(int(number) - 1)),
		MaxParts: aws.Int32(1),
	}, s.retry)
	if isNoSuchUpload(err) {
		return blob.Part{}, fmt.Errorf("list parts: %w", blob.ErrNotFound)
	}
	if err != nil {
		return blob.Part{}, storeError(ctx, "list parts", err)
	}
	for _, p := range list.Parts {
		if aws.ToInt32(p.PartNumber) == number && aws.ToString(p.ETag) != "" {
			return blob.Part{Number: int(number), Size: aws.ToInt64(p.Size), ETag: *p.ETag}, nil
		}
	}
	return blob.Part{}, blob.Unavailable("list parts", fmt.Errorf("the server does not list part %d", number))
}

// verifyPartETag returns the ETag of a streamed part. answered is the ETag in the server's answer,
// sum the MD5 of the bytes sent. When answered looks like the MD5 of other bytes, either the bytes
// were corrupted in transit or the server's ETags are not MD5s; a test part with known content
// tells which. Error: blob.ErrUnavailable for corrupted bytes.
func (s *Store) verifyPartETag(ctx context.Context, u blob.Upload, number int, answered string,
	sum []byte) (string, error) {
	if s.etagFits(answered, sum) {
		return answered, nil
	}
	part, err := s.listedPart(ctx, string(u.Key), &u.ID, int32(number))
	switch {
	case err != nil:
		return "", err
	case s.etagFits(part.ETag, sum):
		return part.ETag, nil // only the answer was wrong
	case !sameETag(part.ETag, answered):
		return "", blob.Unavailable("put part", errWrongETag)
	}
	if err := s.probeETags(ctx); err != nil {
		return "", err
	}
	if !s.opaqueETags.Load() {
		return "", blob.Unavailable("put part", errWrongETag)
	}
	return answered, nil
}

// probeETags uploads a test part with known content, to find out whether the server's ETags are
// MD5s. If they are not, it sets s.opaqueETags. It leaves nothing in the bucket.
func (s *Store) probeETags(ctx context.Context) error {
	name, body := s.prefix+checkName+s.ids.Hex(16), []byte("larder")
	id, err := s.begin(ctx, &sdk.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &name})
	if err != nil {
		return err
	}
	// when this fails, the sweep removes the upload
	defer func() { _ = s.abort(context.WithoutCancel(ctx), blob.Key(name), *id) }()
	_, err = s.putPart(ctx, name, id, 1, body)
	return err
}
