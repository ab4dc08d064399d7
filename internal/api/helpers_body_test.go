package api_test

import (
	"io"
	"sync/atomic"
)

// endlessBody is a body without end that repeats one byte.
type endlessBody byte

func (b endlessBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// countingBody counts the bytes read from a body.
type countingBody struct {
	io.Reader
	read atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

// pausingBody is a body that pauses before its last piece until it is resumed.
type pausingBody struct {
	pieces []string
	resume chan struct{}
}

func (p *pausingBody) Read(b []byte) (int, error) {
	if len(p.pieces) == 1 {
		<-p.resume
	}
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}
