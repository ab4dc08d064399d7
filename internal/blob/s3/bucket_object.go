package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
)

// ForeignObject is an object of a Bucket. It requests its content when it is read, from the current
// offset on. A read fails when the object was changed after Open.
type ForeignObject struct {
	Key      string
	MimeType string // as the server returned it
	ETag     string // without quotes, "" for none
	Modified time.Time

	ctx    context.Context // of Open: the reads are part of that operation
	bucket *Bucket
	match  *string
	size   int64

	offset     int64         // of the next Read
	body       io.ReadCloser // of the current GET, nil when there is none
	bodyOffset int64         // offset of the next byte of body
	cancel     context.CancelFunc
}

var _ blob.Object = (*ForeignObject)(nil)

// Open asks for the properties of an object; its content is requested by the first Read. The reads
// use ctx. Errors: blob.ErrNotFound, blob.ErrKey, ErrDenied, blob.ErrUnavailable.
func (b *Bucket) Open(ctx context.Context, key string) (*ForeignObject, error) {
	asked, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	head, err := b.client.HeadObject(asked, &sdk.HeadObjectInput{Bucket: &b.name, Key: &key})
	switch {
	case status(err) == http.StatusNotFound, status(
		err) == http.StatusBadRequest: // an answer to HEAD has no error document
		return nil, b.explainMissing(asked, key)
	case err != nil:
		return nil, bucketError(asked, "ask for object", err)
	case head.ContentLength == nil || *head.ContentLength < 0:
		return nil, blob.Unavailable("ask for object", errors.New("the server's answer has no size"))
	}
	return &ForeignObject{
		Key: key, MimeType: aws.ToString(head.ContentType), ETag: unquotedETag(aws.ToString(head.ETag)),
		Modified: aws.ToTime(head.LastModified),
		ctx:      ctx, bucket: b, match: head.ETag, size: *head.ContentLength,
	}, nil
}

// explainMissing returns the error for an object whose HEAD was answered with 404 or 400. A GET,
// whose answer has an error document, tells whether the object is missing (blob.ErrNotFound), the
// server refuses the key (blob.ErrKey), or the bucket is missing (blob.ErrUnavailable).
func (b *Bucket) explainMissing(ctx context.Context, key string) error {
	got, err := b.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &b.name, Key: &key}, withClient(b.contents))
	switch {
	case err == nil:
		got.Body.Close()
		return blob.Unavailable("ask for object", errors.New("the server's answer has neither size nor ETag"))
	case status(err) == http.StatusNotFound && code(err) == "NoSuchKey":
		return fmt.Errorf("ask for object: %w", blob.ErrNotFound)
	}
	return bucketError(ctx, "ask for object", err)
}

// Size implements blob.Object.
func (o *ForeignObject) Size() int64 { return o.size }

// Seek implements io.Seeker. It sends no request; the next Read does.
func (o *ForeignObject) Seek(offset int64, whence int) (int64, error) {
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

// Read implements io.Reader. It returns blob.ErrUnavailable, and never io.EOF, for a body that ends
// early or sends nothing for a minute.
func (o *ForeignObject) Read(p []byte) (int, error) {
	if o.offset >= o.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if o.body == nil || o.bodyOffset != o.offset {
		if err := o.reopen(); err != nil {
			return 0, err
		}
	}
	watch := time.AfterFunc(readTimeout, o.cancel)
	n, err := o.body.Read(p[:min(int64(len(p)), o.size-o.offset)])
	watch.Stop()
	o.offset += int64(n)
	o.bodyOffset = o.offset
	if err == io.EOF && o.offset < o.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		o.Close()
		return n, cmp.Or(o.ctx.Err(), error(blob.Unavailable("read object", errNoAnswer)))
	}
	return n, nil
}

// reopen begins a GET from the current offset on, for the ETag that Open saw. Errors:
// blob.ErrNotFound, ErrDenied, blob.ErrUnavailable, also when the server sends other bytes.
func (o *ForeignObject) reopen() error {
	o.Close()
	ctx, stop := context.WithCancel(o.ctx)
	got, err := o.bucket.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &o.bucket.name, Key: &o.Key, Range: aws.String(fmt.Sprintf("bytes=%d-", o.offset)), IfMatch: o.match,
	}, withClient(o.bucket.contents))
	if err != nil {
		stop()
		if status(err) == http.StatusNotFound && code(err) == "NoSuchKey" {
			return fmt.Errorf("read object: %w", blob.ErrNotFound)
		}
		return bucketError(o.ctx, "read object", err)
	}
	if want := fmt.Sprintf("bytes %d-%d/%d", o.offset, o.size-1,
		o.size); !strings.EqualFold(aws.ToString(got.ContentRange),
		want) && o.offset > 0 {
		stop()
		got.Body.Close()
		return blob.Unavailable("read object", errors.New("the server sends other bytes than requested"))
	}
	o.body, o.bodyOffset, o.cancel = got.Body, o.offset, stop
	return nil
}

// Close ends the current GET. A closed object may be read again.
func (o *ForeignObject) Close() error {
	if o.body != nil {
		o.cancel()
		o.body.Close() // opened for reading: there is nothing to lose
		o.body = nil
	}
	return nil
}
