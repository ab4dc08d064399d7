package app

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// net/http sends an answer in two writes: the head with the first bytes of the body, and the rest
// of the body. A corked connection holds back the first write and sends both in one system call.

// heldBytes is the size of the buffer of net/http, and so of the longest write that is held back.
const heldBytes = 4 << 10

var heldBuffers = sync.Pool{New: func() any { return new([heldBytes]byte) }}

// cork is the state of a connection's held write. Only the goroutine of the handler uses it.
type cork struct {
	on     bool
	buffer *[heldBytes]byte // nil while nothing is held
	length int
	pieces [2][]byte // for net.Buffers
}

// Write implements net.Conn. While the connection is corked, it holds back one short write.
func (c *framedConn) Write(p []byte) (int, error) {
	held := &c.cork
	if held.buffer != nil {
		return c.writeHeld(p)
	}
	if !held.on || len(p) > heldBytes {
		return c.TCPConn.Write(p)
	}
	held.buffer = heldBuffers.Get().(*[heldBytes]byte)
	held.length = copy(held.buffer[:], p)
	return len(p), nil
}

// writeHeld writes the held bytes and p in one system call. It returns how many bytes of p it has
// written.
func (c *framedConn) writeHeld(p []byte) (int, error) {
	held := &c.cork
	held.pieces = [2][]byte{held.buffer[:held.length], p}
	buffers := net.Buffers(held.pieces[:])
	n, err := buffers.WriteTo(c.TCPConn)
	held.pieces = [2][]byte{}
	heldBuffers.Put(held.buffer)
	held.buffer = nil
	return max(0, int(n)-held.length), err
}

// writeCorked calls write, which writes an answer to this connection, while the connection is
// corked, and returns its result. Afterwards it sends the bytes that the connection still holds
// back.
func (c *framedConn) writeCorked(write func() (int, error)) (n int, err error) {
	c.cork.on = true
	n, err = write()
	c.cork.on = false
	if c.cork.buffer != nil {
		if _, flushErr := c.writeHeld(nil); err == nil {
			err = flushErr
		}
	}
	return n, err
}

type connKey struct{}

// withConn is the ConnContext of the public server. It lets connOf find the connection.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf returns the connection of a request, nil if the connection does not come from a
// framedListener.
func connOf(r *http.Request) *framedConn {
	conn, _ := r.Context().Value(connKey{}).(*framedConn)
	return conn
}
