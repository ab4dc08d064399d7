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

// errWrongETag says that an answer does not speak of what was sent, as far as its ETag shows.
var errWrongETag = errors.New("the answer's ETag is not that of what was sent")

// unquotedETag is an ETag without the quotes that some servers leave out.
func unquotedETag(etag string) string { return strings.Trim(etag, `"`) }

// sameETag compares two ETags of one server. None is like no other.
func sameETag(a, b string) bool { return unquotedETag(a) == unquotedETag(b) && unquotedETag(a) != "" }

// etagFits reports whether an ETag can be that of bytes with an MD5. One that does not look like an
// MD5 can (parts of an upload, encrypted objects), one that does must be this one, unless the
// server has shown that it means something else. No ETag is no answer.
func (s *Store) etagFits(etag string, sum []byte) bool {
	plain := strings.ToLower(unquotedETag(etag))
	if raw, err := hex.DecodeString(plain); err != nil || len(raw) != md5.Size {
		return plain != ""
	}
	return plain == hex.EncodeToString(sum) || s.opaqueETags.Load()
}

// listedPart returns a part as the server lists it.
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

// verifyPartETag returns the ETag of a part whose bytes the server could not check, by what it
// answered. An ETag that could be the MD5 of other bytes means that these were garbled on the way,
// or that the server's ETags are no MD5 at all: a part of known bytes tells which.
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

// probeETags finds out whether the ETags of the server's parts are what they look like, by one
// that it can check.
func (s *Store) probeETags(ctx context.Context) error {
	name, body := s.prefix+checkName+s.ids.Hex(16), []byte("larder")
	id, err := s.begin(ctx, &sdk.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &name})
	if err != nil {
		return err
	}
	defer func() { _ = s.abort(context.WithoutCancel(ctx), blob.Key(name), *id) }() // else it is swept
	_, err = s.putPart(ctx, name, id, 1, body)
	return err
}
