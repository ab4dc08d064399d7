package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
)

// object reads from one GET as long as it is read in order, and begins another where it is read after a Seek.
type object struct {
	ctx   context.Context // of Open: the reads are part of that operation
	store *Store
	key   string
	etag  *string
	size  int64

	at   int64         // where the next Read reads
	body io.ReadCloser // of a GET under way, nil when there is none
	next int64         // where body is
}

// Open opens an object; reads go on under ctx. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return nil, err
	}
	got, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: name})
	if err != nil {
		return nil, absent(ctx, "open object", err)
	}
	info, _, err := known(got.ContentLength, got.ETag, nil)
	if err != nil || info.Size < 0 {
		got.Body.Close()
		return nil, blob.Unavailable("open object", errors.New("the server does not tell its size"))
	}
	return &object{ctx: ctx, store: s, key: string(key), etag: got.ETag, size: info.Size, body: got.Body}, nil
}

// Size implements blob.Object.
func (o *object) Size() int64 { return o.size }

// Seek implements io.Seeker; nothing is asked of the server before the next Read.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, fmt.Errorf("seek in object: invalid offset %d, whence %d", offset, whence)
	}
	o.at = offset
	return offset, nil
}

// Read reads on. A body that the server ends early is blob.ErrUnavailable and never the end of the object.
func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if o.body == nil || o.next != o.at {
		if err := o.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p[:min(int64(len(p)), o.size-o.at)])
	o.at += int64(n)
	o.next = o.at
	if err == io.EOF && o.at < o.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		o.Close()
		return n, failed(o.ctx, "read object", err)
	}
	return n, nil
}

// reopen begins a GET of what lies from o.at on.
func (o *object) reopen() error {
	o.Close()
	got, err := o.store.client.GetObject(o.ctx, &sdk.GetObjectInput{
		Bucket: &o.store.bucket, Key: &o.key, Range: aws.String(fmt.Sprintf("bytes=%d-", o.at)), IfMatch: o.etag,
	})
	if err != nil {
		return absent(o.ctx, "read object", err)
	}
	if want := fmt.Sprintf("bytes %d-%d/%d", o.at, o.size-1, o.size); !strings.EqualFold(aws.ToString(got.ContentRange), want) && o.at > 0 {
		got.Body.Close()
		return blob.Unavailable("read object", fmt.Errorf("the server sends %.80q instead of %q", aws.ToString(got.ContentRange), want))
	}
	o.body, o.next = got.Body, o.at
	return nil
}

// Close ends the GET under way. A closed object may be read on.
func (o *object) Close() error {
	if o.body != nil {
		o.body.Close() // opened to read: there is nothing to lose
		o.body = nil
	}
	return nil
}
