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

const (
	resumes     = 3       // times that a read goes on in another GET, without resumeAfter bytes between
	resumeAfter = 1 << 20 // bytes
)

// object reads from one GET as long as it is read in order, and begins another where it is read
// after a Seek, or where the server broke off.
type object struct {
	ctx   context.Context // of Open: the reads are part of that operation
	store *Store
	key   string
	etag  string // "" before the first GET
	size  int64

	at     int64         // where the next Read reads
	body   io.ReadCloser // of a GET under way, nil when there is none
	next   int64         // where body is
	end    int64         // where body ends
	until  int64         // how far a reader who begins before it was said to read
	broken int           // GETs that broke off, since the last resumeAfter bytes
	since  int64         // bytes read since the last one that did
}

var _ blob.Ranger = (*Store)(nil)

// Open opens an object; reads go on under ctx. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return nil, err
	}
	got, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: name}, s.again)
	if err != nil {
		return nil, absent(ctx, "open object", err)
	}
	info, _, err := known(got.ContentLength, got.ETag, nil)
	if err != nil {
		got.Body.Close()
		return nil, err
	}
	return &object{ctx: ctx, store: s, key: string(key), etag: info.ETag, size: info.Size, body: got.Body,
		end: info.Size}, nil
}

// OpenRange implements blob.Ranger.
func (s *Store) OpenRange(ctx context.Context, key blob.Key, size, first, length int64) (blob.Object, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return nil, err
	}
	if first < 0 || length < 1 || first > size-length {
		return nil, fmt.Errorf("open object: no %d bytes at %d of %d", length, first, size)
	}
	o := &object{ctx: ctx, store: s, key: *name, size: size, at: first, until: first + length}
	if err := o.reopen(); err != nil {
		return nil, err
	}
	return o, nil
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

// Read reads on. A body that the server ends early is no end of the object: reading goes on from
// there, a few times, and is blob.ErrUnavailable then.
func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if o.body == nil || o.next != o.at || o.at >= o.end {
			if err := o.reopen(); err != nil {
				return 0, err
			}
		}
		n, err := o.body.Read(p[:min(int64(len(p)), o.end-o.at)])
		o.at += int64(n)
		o.next = o.at
		if o.since += int64(n); o.since >= resumeAfter {
			o.broken = 0
		}
		if err == io.EOF && o.at < o.end {
			err = io.ErrUnexpectedEOF
		}
		if err == nil || err == io.EOF {
			return n, nil
		}
		o.Close()
		if o.broken++; o.broken > resumes || errors.Is(err, errSlow) || o.ctx.Err() != nil {
			return n, failed(o.ctx, "read object", err)
		}
		o.since = 0
		if n > 0 {
			return n, nil // the next Read goes on
		}
	}
}

// reopen begins a GET of what lies from o.at on, as far as it was said that it will be read, of the
// same object as before.
func (o *object) reopen() error {
	o.Close()
	end := o.size
	if o.at < o.until {
		end = o.until
	}
	input := &sdk.GetObjectInput{Bucket: &o.store.bucket, Key: &o.key,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", o.at, end-1))}
	if o.etag != "" {
		input.IfMatch = &o.etag
	}
	got, err := o.store.client.GetObject(o.ctx, input, o.store.again)
	if err != nil {
		return absent(o.ctx, "read object", err)
	}
	want, length := fmt.Sprintf("bytes %d-%d/%d", o.at, end-1, o.size), end-o.at
	if o.at == 0 && got.ContentRange == nil { // the whole, as an answer to a Range may be
		want, length = "", o.size
	}
	switch sent := aws.ToString(got.ContentRange); {
	case plainTag(aws.ToString(got.ETag)) == "": // nothing could be told to be the same object, see known
		err = errTag
	case o.etag != "" && !sameTag(aws.ToString(got.ETag), o.etag):
		err = errTag
	case !strings.EqualFold(sent, want):
		err = fmt.Errorf("the server sends %.80q instead of %q", sent, want)
	case aws.ToInt64(got.ContentLength) != length:
		err = fmt.Errorf("the server sends %d bytes instead of %d", aws.ToInt64(got.ContentLength), length)
	}
	if err != nil {
		got.Body.Close()
		return blob.Unavailable("read object", err)
	}
	if o.etag == "" {
		o.etag = aws.ToString(got.ETag)
	}
	o.body, o.next, o.end = got.Body, o.at, end
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
