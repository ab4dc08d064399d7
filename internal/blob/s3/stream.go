package s3

import (
	"context"
	"errors"
	"io"
	"sync"

	"larder/internal/blob"
)

// streamBuffer is how many bytes of a body are held back until more bytes or its end arrive.
const streamBuffer = 64 << 10

var (
	streamBuffers = sync.Pool{New: func() any { b := make([]byte, streamBuffer); return &b }}

	errAnswered = errors.New("the server has answered")
	errStopped  = errors.New("the body has failed")
)

// stream passes body to send, which runs in a goroutine of its own, and returns the ETag that send
// returned. It lets the SDK, which reads from another goroutine, send a body that only the caller's
// goroutine may read, and never after stream has returned. The last bytes are held back until body
// has ended correctly, so that the server never receives the whole of a body that fails or is too
// long. sent reports whether err is an error of send rather than of body.
func stream(ctx context.Context, body io.Reader,
	send func(context.Context, io.Reader) (string, error)) (etag string, sent bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	var (
		done    = make(chan struct{})
		answer  string
		sendErr error
	)
	go func() {
		defer close(done)
		// wrapped, since the SDK treats a pipe as a body of unknown length
		answer, sendErr = send(ctx, struct{ io.Reader }{r})
		r.CloseWithError(errAnswered)
	}()
	defer func() { // also when body panics
		w.CloseWithError(errStopped)
		cancel()
		<-done
	}()
	early, err := feedBody(w, body)
	if err != nil {
		return "", false, err
	}
	_ = w.Close() // a pipe: this never fails
	<-done
	if sendErr == nil && early {
		sendErr = errors.New("the server did not wait for the end of the body")
	}
	return answer, true, sendErr
}

// feedBody copies body to w. Each buffer is written only when the next one was read, so that the
// last bytes are written only after body has ended correctly. early reports that w was closed
// before the end; this is no error. Error: that of body.
func feedBody(w io.Writer, body io.Reader) (early bool, err error) {
	held, next := streamBuffers.Get().(*[]byte), streamBuffers.Get().(*[]byte)
	defer func() {
		streamBuffers.Put(held)
		streamBuffers.Put(next)
	}()
	n, m, end := 0, 0, error(nil)
	for end == nil {
		if m, end = blob.ReadFull(body, *next); end != nil && end != io.EOF {
			return false, end
		}
		if n > 0 {
			if _, err := w.Write((*held)[:n]); err != nil {
				return true, nil
			}
		}
		held, next, n = next, held, m
	}
	// a write to the pipe would wait for a reader even with no bytes, and send reads no more after
	// the last byte
	if n == 0 {
		return false, nil
	}
	_, err = w.Write((*held)[:n])
	return err != nil, nil
}
