package disk

import (
	"crypto/sha256"
	"io"
	"os"
	"sync"

	"larder/internal/blob"
)

const (
	largeBuffer     = 256 << 10
	smallBuffer     = 32 << 10 // for bodies announced as shorter than this
	hashQueueLength = 2        // buffers that may wait for the hash
)

var (
	largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}
	smallBuffers = sync.Pool{New: func() any { b := make([]byte, smallBuffer); return &b }}
)

// hashAndWrite passes body to write, one buffer at a time and in order, and returns its SHA-256.
// announced is the size in bytes, negative when unknown. A body that fits into one buffer is hashed
// in the calling goroutine, a longer one in a goroutine of its own, in parallel to the writing.
// Errors: those of body and write, unchanged.
func hashAndWrite(body io.Reader, announced int64, write func([]byte) error) ([]byte, error) {
	pool := &largeBuffers
	if announced >= 0 && announced < smallBuffer {
		pool = &smallBuffers
	}
	buf := pool.Get().(*[]byte)
	n, err := blob.ReadFull(body, *buf)
	if err != nil {
		defer pool.Put(buf)
		if err != io.EOF {
			return nil, err
		}
		sum := sha256.Sum256((*buf)[:n])
		return sum[:], write((*buf)[:n])
	}
	return hashInParallel(body, pool, buf, write)
}

// hashInParallel is hashAndWrite for a body whose first buffer is full already. It holds at most
// hashQueueLength+2 buffers of pool: one is being filled, one is being hashed, and the others wait.
func hashInParallel(body io.Reader, pool *sync.Pool, first *[]byte, write func([]byte) error) (sum []byte, err error) {
	type chunk struct {
		buf *[]byte
		n   int
	}
	chunks, free, hashed := make(chan chunk, hashQueueLength), make(chan *[]byte, hashQueueLength+2), make(chan []byte,
		1)
	go func() {
		h := sha256.New()
		for c := range chunks {
			h.Write((*c.buf)[:c.n])
			free <- c.buf
		}
		hashed <- h.Sum(nil)
	}()
	defer func() { // also when body panics
		close(chunks)
		sum = <-hashed
		close(free)
		for buf := range free {
			pool.Put(buf)
		}
	}()
	taken := 1
	buffer := func() *[]byte {
		select {
		case buf := <-free:
			return buf
		default:
		}
		if taken == hashQueueLength+2 {
			return <-free
		}
		taken++
		return pool.Get().(*[]byte)
	}
	buf, n, end := first, len(*first), error(nil)
	for {
		if err := write((*buf)[:n]); err != nil {
			return nil, err
		}
		chunks <- chunk{buf, n}
		if end == io.EOF {
			return nil, nil // the deferred function sets the sum
		}
		buf = buffer()
		if n, end = blob.ReadFull(body, *buf); end != nil && end != io.EOF {
			return nil, end
		}
	}
}

// write appends p to the file. Errors: blob.ErrNoSpace when less than the store's minimum of free
// space would remain, blob.ErrUnavailable.
func (v *volume) write(file *os.File, p []byte) error {
	if err := v.space.reserve(v.root, int64(len(p))); err != nil {
		return err
	}
	if _, err := file.Write(p); err != nil {
		return storeError("write object", err)
	}
	return nil
}
