package s3

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
)

// The methods of this file are for a caller that owns everything below the store's prefix and
// chooses names that are no keys, such as a backup. A name is what follows the prefix and its
// slash.

// PutNamed is Put for a name. Errors: those of Put, except blob.ErrKey.
func (s *Store) PutNamed(ctx context.Context, name string, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	return s.putName(ctx, s.prefix+name, counted, opts)
}

// OpenNamed is Open for a name. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) OpenNamed(ctx context.Context, name string) (blob.Object, error) {
	return s.openName(ctx, aws.String(s.prefix+name))
}

// StatNamed is Stat for a name. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) StatNamed(ctx context.Context, name string) (blob.Info, error) {
	info, _, err := s.statName(ctx, aws.String(s.prefix+name))
	return info, err
}

// DeleteNamed deletes an object. Unlike Delete, it leaves unfinished uploads for its name. Deleting
// an absent object succeeds. Error: blob.ErrUnavailable.
func (s *Store) DeleteNamed(ctx context.Context, name string) error {
	return s.deleteName(ctx, aws.String(s.prefix+name))
}

// WalkNamed calls fn for every object whose name begins with under, in no particular order, with
// its size in bytes and the time it was written by the server's clock. An error of fn ends the walk
// and is returned unchanged. Error: blob.ErrUnavailable.
func (s *Store) WalkNamed(ctx context.Context, under string,
	fn func(name string, size int64, written time.Time) error) error {
	return s.list(ctx, s.prefix+under, func(name string, o types.Object) error {
		return fn(strings.TrimPrefix(name, s.prefix), aws.ToInt64(o.Size), aws.ToTime(o.LastModified))
	})
}

// AbortUploads aborts every unfinished upload below the prefix, whatever its name and age. The
// caller makes sure that no upload is under way. Error: blob.ErrUnavailable.
func (s *Store) AbortUploads(ctx context.Context) error {
	return s.eachUpload(ctx, s.prefix, func(name string, up types.MultipartUpload) error {
		if !hasProperPrefix(name, s.prefix) { // a server may list others too
			return nil
		}
		return s.abort(ctx, blob.Key(name), aws.ToString(up.UploadId))
	})
}
