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
	maxResumes       = 3       // GETs that may break off and be resumed without resumeResetBytes bytes between them
	resumeResetBytes = 1 << 20 // bytes
)

// object reads from one GET while the reads are sequential. It begins another after a Seek, and
// when the server broke off.
type object struct {
	ctx   context.Context // of Open: the reads are part of that operation
	store *Store
	key   string
	etag  string // "" before the first GET
	size  int64

	offset          int64         // of the next Read
	body            io.ReadCloser // of the current GET, nil when there is none
	bodyOffset      int64         // offset of the next byte of body
	bodyEnd         int64         // offset at which body ends
	rangeEnd        int64         // end of the range that the caller of OpenRange announced
	interruptions   int           // GETs that broke off since the last resumeResetBytes bytes
	readSinceResume int64         // bytes read since the last GET that broke off
}

var _ blob.RangeOpener = (*Store)(nil)

// Open opens an object. Its reads use ctx. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.openName(ctx, name)
}

// openName is Open for any name.
func (s *Store) openName(ctx context.Context, name *string) (blob.Object, error) {
	got, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: name}, s.retry)
	if err != nil {
		return nil, notFoundOr(ctx, "open object", err)
	}
	info, _, err := objectInfo(got.ContentLength, got.ETag, nil)
	if err != nil {
		got.Body.Close()
		return nil, err
	}
	return &object{ctx: ctx, store: s, key: *name, etag: info.ETag, size: info.Size, body: got.Body,
		bodyEnd: info.Size}, nil
}

// OpenRange implements blob.RangeOpener by a GET of just that range.
func (s *Store) OpenRange(ctx context.Context, key blob.Key, size, first, length int64) (blob.Object, error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return nil, err
	}
	if first < 0 || length < 1 || first > size-length {
		return nil, fmt.Errorf("open object: no %d bytes at %d of %d", length, first, size)
	}
	o := &object{ctx: ctx, store: s, key: *name, size: size, offset: first, rangeEnd: first + length}
	if err := o.reopen(); err != nil {
		return nil, err
	}
	return o, nil
}

// Size implements blob.Object.
func (o *object) Size() int64 { return o.size }

// Seek implements io.Seeker. It sends no request; the next Read does.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.offset
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, fmt.Errorf("seek in object: invalid offset %d, whence %d", offset, whence)
	}
	o.offset = offset
	return offset, nil
}

// Read implements io.Reader. When the server ends a body early, Read resumes at that offset, up to
// maxResumes times, and then returns blob.ErrUnavailable.
func (o *object) Read(p []byte) (int, error) {
	if o.offset >= o.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if o.body == nil || o.bodyOffset != o.offset || o.offset >= o.bodyEnd {
			if err := o.reopen(); err != nil {
				return 0, err
			}
		}
		n, err := o.body.Read(p[:min(int64(len(p)), o.bodyEnd-o.offset)])
		o.offset += int64(n)
		o.bodyOffset = o.offset
		if o.readSinceResume += int64(n); o.readSinceResume >= resumeResetBytes {
			o.interruptions = 0
		}
		if err == io.EOF && o.offset < o.bodyEnd {
			err = io.ErrUnexpectedEOF
		}
		if err == nil || err == io.EOF {
			return n, nil
		}
		o.Close()
		if o.interruptions++; o.interruptions > maxResumes || errors.Is(err, errTooSlow) || o.ctx.Err() != nil {
			return n, storeError(o.ctx, "read object", err)
		}
		o.readSinceResume = 0
		if n > 0 {
			return n, nil // the next Read resumes
		}
	}
}

// reopen begins a GET of the same object from the current offset on, to the end of the announced
// range or of the object. Errors: blob.ErrNotFound; blob.ErrUnavailable, also when ETag, range or
// length of the answer differ from what the object had before.
func (o *object) reopen() error {
	o.Close()
	end := o.size
	if o.offset < o.rangeEnd {
		end = o.rangeEnd
	}
	input := &sdk.GetObjectInput{Bucket: &o.store.bucket, Key: &o.key,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", o.offset, end-1))}
	if o.etag != "" {
		input.IfMatch = &o.etag
	}
	got, err := o.store.client.GetObject(o.ctx, input, o.store.retry)
	if err != nil {
		return notFoundOr(o.ctx, "read object", err)
	}
	want, length := fmt.Sprintf("bytes %d-%d/%d", o.offset, end-1, o.size), end-o.offset
	if o.offset == 0 && got.ContentRange == nil { // a server may answer a Range with the whole object
		want, length = "", o.size
	}
	switch sent := aws.ToString(got.ContentRange); {
	case unquotedETag(
		aws.ToString(got.ETag)) == "": // without an ETag a later GET could not be compared, see objectInfo
		err = errWrongETag
	case o.etag != "" && !sameETag(aws.ToString(got.ETag), o.etag):
		err = errWrongETag
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
	o.body, o.bodyOffset, o.bodyEnd = got.Body, o.offset, end
	return nil
}

// Close ends the current GET. A closed object may be read again.
func (o *object) Close() error {
	if o.body != nil {
		o.body.Close() // opened for reading: there is nothing to lose
		o.body = nil
	}
	return nil
}
