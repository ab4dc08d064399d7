package upload

import (
	"errors"
	"io"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/provider"
)

// headSize is the number of first bytes that the type of a file is detected from.
const headSize = 4096

// headReader remembers the first bytes that pass.
type headReader struct {
	r    io.Reader
	head []byte
}

// Read implements io.Reader, and remembers the first headSize bytes in h.head.
func (h *headReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if room := headSize - len(h.head); room > 0 {
		h.head = append(h.head, p[:min(n, room)]...)
	}
	return n, err
}

// guardedReader calls guard before each read, and ends with its error.
type guardedReader struct {
	r     io.Reader
	guard func() error
}

// Read implements io.Reader. Error: that of guard, before anything is read.
func (g *guardedReader) Read(p []byte) (int, error) {
	if err := g.guard(); err != nil {
		return 0, fault.AsFault(err)
	}
	return g.r.Read(p)
}

// fill reads from r until buf is full or the body ends. It returns the number of bytes, and whether
// the body ended before buf was full. Unlike io.ReadFull it distinguishes the end of a body from a
// body that broke off, which a transport reports as io.ErrUnexpectedEOF. Error: blob.ErrReader.
func fill(r io.Reader, buf []byte) (n int, ended bool, err error) {
	for idle := 0; n < len(buf); {
		m, err := r.Read(buf[n:])
		n += m
		switch {
		case err == io.EOF: // compared: a wrapped io.EOF is a failure
			return n, true, nil
		case err != nil:
			return n, false, blob.ErrReader{Err: err}
		case m > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return n, false, blob.ErrReader{Err: io.ErrNoProgress}
			}
		}
	}
	return n, false, nil
}

// storeFault translates an error of a store's Put to a fault. A body that broke off is Unverified,
// since it is not the announced one; a fault of the body's reader stays; the rest is that of
// provider.Fault.
func storeFault(err error) error {
	var broken blob.ErrReader
	var known *fault.Error
	if errors.As(err, &broken) && !errors.As(err, &known) {
		return fault.New(fault.Unverified, "The body ended before it was complete.").WithCause(err)
	}
	return provider.Fault(err)
}
