package blob

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Body is what a store reads instead of the caller's reader: it counts, keeps PutOptions and wraps
// the reader's own errors. io.EOF from Read means that the body is whole and as announced. Not
// safe for concurrent use.
type Body struct {
	ctx       context.Context
	r         io.Reader
	announced int64 // bytes announced, negative when unknown
	limit     int64 // bytes taken at most
	count     int64
	err       error // what ended the body, told again by every later Read
}

// NewBody returns r under opts. Error: ErrTooLarge when the size announced is over the bound
// already; r is then untouched.
func NewBody(ctx context.Context, r io.Reader, opts PutOptions) (*Body, error) {
	b := &Body{ctx: ctx, r: r, announced: opts.Size, limit: opts.Max}
	switch {
	case opts.Max > 0 && opts.Size > opts.Max:
		return nil, fmt.Errorf("%w: %d bytes announced, at most %d taken", ErrTooLarge, opts.Size, opts.Max)
	case opts.Size >= 0:
		b.limit = opts.Size
	case opts.Max < 0:
		b.limit = math.MaxInt64 - 1
	}
	return b, nil
}

// Count returns the bytes read so far.
func (b *Body) Count() int64 { return b.count }

// Read reads on. Errors: io.EOF at the end of a body that is as announced, ErrSize, ErrTooLarge,
// ErrReader, the context's error.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if err := b.ctx.Err(); err != nil {
		b.err = fmt.Errorf("take body: %w", err)
		return 0, b.err
	}
	if room := b.limit - b.count; int64(len(p)) > room+1 { // one byte beyond the bound tells that the body goes on
		p = p[:room+1]
	}
	n, err := b.r.Read(p)
	b.count += int64(n)
	switch {
	case b.count > b.limit && b.announced >= 0:
		b.err = ErrSize{Want: b.announced, Got: b.count}
	case b.count > b.limit:
		b.err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.limit)
	case err == io.EOF && b.count < b.announced: // compared, since a wrapped io.EOF is a failure and no end
		b.err = ErrSize{Want: b.announced, Got: b.count}
	case err == io.EOF:
		b.err = io.EOF
	case err != nil:
		b.err = ErrReader{Err: err}
	}
	return n, b.err
}

// ReadFull reads until p is full (nil) or r ends, with r's own error, io.EOF included.
func ReadFull(r io.Reader, p []byte) (n int, err error) {
	idle := 0
	for n < len(p) {
		m, err := r.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
		if m > 0 {
			idle = 0
		} else if idle++; idle == 100 {
			return n, ErrReader{Err: io.ErrNoProgress}
		}
	}
	return n, nil
}
