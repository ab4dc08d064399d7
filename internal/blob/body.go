package blob

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Body wraps the caller's reader for a store: it counts the bytes, enforces PutOptions and wraps
// the reader's own errors in ErrReader. Read returns io.EOF only when the body is complete and as
// announced. Body is not safe for concurrent use.
type Body struct {
	ctx       context.Context
	r         io.Reader
	announced int64 // bytes announced, negative when unknown
	limit     int64 // largest number of bytes accepted
	count     int64
	err       error // the error that ended the body; every later Read returns it again
}

// NewBody returns a Body that reads r under the limits of opts; its Read fails when ctx ends.
// Error: ErrTooLarge when the announced size exceeds opts.Max already; NewBody has not read from r
// then.
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

// Count returns the number of bytes read so far.
func (b *Body) Count() int64 { return b.count }

// Read reads the next bytes. Errors: io.EOF at the end of a body that is as announced, ErrSize,
// ErrTooLarge, ErrReader, the context's error.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if err := b.ctx.Err(); err != nil {
		b.err = fmt.Errorf("take body: %w", err)
		return 0, b.err
	}
	if room := b.limit - b.count; int64(len(p)) > room+1 { // one byte beyond the limit shows that the body is too long
		p = p[:room+1]
	}
	n, err := b.r.Read(p)
	b.count += int64(n)
	switch {
	case b.count > b.limit && b.announced >= 0:
		b.err = ErrSize{Want: b.announced, Got: b.count}
	case b.count > b.limit:
		b.err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.limit)
	case err == io.EOF &&
		b.count < b.announced: // compared with ==, since a wrapped io.EOF is a failure and not the end
		b.err = ErrSize{Want: b.announced, Got: b.count}
	case err == io.EOF:
		b.err = io.EOF
	case err != nil:
		b.err = ErrReader{Err: err}
	}
	return n, b.err
}

// ReadFull reads until p is full and returns nil, or until r fails or ends and returns r's error
// unwrapped, io.EOF included, with the n bytes read before. After 100 reads without a byte it
// returns ErrReader around io.ErrNoProgress.
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
