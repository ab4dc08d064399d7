package s3

import (
	"context"
	"errors"
	"io"
	"sync"

	"larder/internal/blob"
)

// streamBuffer is how much of a body is held back until more has come, or its end.
const streamBuffer = 64 << 10

var (
	streamBuffers = sync.Pool{New: func() any { b := make([]byte, streamBuffer); return &b }}

	errAnswered = errors.New("the server has answered")
	errStopped  = errors.New("the body has failed")
)

// stream hands body to send, which runs beside it, and returns what the server called it. body is
// read by the caller's goroutine only, and never after stream has returned. Its last bytes are held
// back until it has ended as it must, so that the server never has the whole of one that fails or
// goes on. sent tells that an error is that of send and not of body.
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
		answer, sendErr = send(ctx, struct{ io.Reader }{r}) // bare, the SDK takes a pipe for one of unknown length
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

// feedBody writes body to w, a buffer behind what it reads, and tells whether w was closed before
// the end. Error: that of body.
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
	// a pipe would wait for a reader even with nothing to hand over, and whoever has all
	// bytes reads no more
	if n == 0 {
		return false, nil
	}
	_, err = w.Write((*held)[:n])
	return err != nil, nil
}
