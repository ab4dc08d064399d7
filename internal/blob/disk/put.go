package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"larder/internal/blob"
)

const (
	largeBuffer = 256 << 10
	smallBuffer = 32 << 10 // for bodies announced as shorter
	inFlight    = 2        // buffers that wait for the hash
	tempTries   = 100
)

var (
	largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}
	smallBuffers = sync.Pool{New: func() any { b := make([]byte, smallBuffer); return &b }}
)

// Put takes body into a temporary file and gives it its key once it is durable. Errors: those of blob.Store.
func (s *Store) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	counted, err := blob.NewBody(ctx, body, opts)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	v, dir, name, err := s.at(key)
	if err != nil {
		return blob.Info{}, err
	}
	defer v.release()
	if err := s.space.room(v.root, max(opts.Size, 0)); err != nil {
		return blob.Info{}, err
	}
	t, err := newTemp(v, name)
	if err != nil {
		return blob.Info{}, err
	}
	defer t.discard()
	sum, err := t.fill(counted, opts.Size)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	if err := t.file.Sync(); err != nil {
		return blob.Info{}, failed("sync object", err)
	}
	if err := ctx.Err(); err != nil { // the last moment: from here on it is stored
		return blob.Info{}, fmt.Errorf("put object: %w", err)
	}
	if err := t.publish(dir, name); err != nil {
		return blob.Info{}, err
	}
	return blob.Info{Size: counted.Count(), SHA256: sum}, nil
}

// temp is a file below tmp/ that becomes an object or is removed.
type temp struct {
	volume *volume
	file   *os.File
	name   string // in tmp/, "" once it has moved away
}

// newTemp makes an empty file named after the object. Another replica may be taking the same key in, hence the number.
func newTemp(v *volume, object string) (*temp, error) {
	for i := range tempTries {
		name := object + "-" + strconv.Itoa(i)
		f, err := openAt(v.tmp, name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
		if err == nil {
			return &temp{volume: v, file: f, name: name}, nil
		}
		if !errors.Is(err, syscall.EEXIST) {
			return nil, failed("make temporary file", err)
		}
	}
	return nil, failed("make temporary file", fmt.Errorf("%d of them for %s lie in %s", tempTries, object, v.tmp.Name()))
}

// discard closes the file and removes it unless it has become an object. What cannot be removed is left for SweepTemp.
func (t *temp) discard() {
	t.file.Close() // synced before it counts
	if t.name != "" {
		_ = removeAt(t.volume.tmp, t.name)
	}
}

// publish gives the file, whose content is durable, its name in dir, and returns when that is durable too.
func (t *temp) publish(dirPath, name string) error {
	v := t.volume
	dir, err := v.enter(dirPath)
	if err != nil {
		return failed("open directory of object", err)
	}
	defer v.leave(dir)
	switch err := moveNew(v.tmp, t.name, dir.file, name); {
	case errors.Is(err, syscall.EEXIST):
		return fmt.Errorf("put object: %w", blob.ErrExists)
	case err != nil:
		return failed("give object its name", err)
	}
	t.name = ""
	if err := dir.sync.wait(); err != nil {
		v.abandon(dir)
		_ = removeAt(dir.file, name) // never acknowledged: at worst an object that nothing refers to
		return failed("sync directory of object", err)
	}
	return nil
}

// fill writes body to the file and returns its SHA-256. announced is the size in bytes, negative when unknown. A body of one buffer is
// hashed in place, a longer one beside the writing.
func (t *temp) fill(body io.Reader, announced int64) ([]byte, error) {
	pool := &largeBuffers
	if announced >= 0 && announced < smallBuffer {
		pool = &smallBuffers
	}
	buf := pool.Get().(*[]byte)
	n, err := readFull(body, *buf)
	if err != nil {
		defer pool.Put(buf)
		if err != io.EOF {
			return nil, err
		}
		sum := sha256.Sum256((*buf)[:n])
		return sum[:], t.write((*buf)[:n])
	}
	return t.stream(body, pool, buf)
}

// stream goes on after a first buffer that body filled to the brim. It never holds more than inFlight+2 buffers, whatever the pool does:
// one is filled, one is hashed, the others wait.
func (t *temp) stream(body io.Reader, pool *sync.Pool, first *[]byte) (sum []byte, err error) {
	type chunk struct {
		buf *[]byte
		n   int
	}
	chunks, free, hashed := make(chan chunk, inFlight), make(chan *[]byte, inFlight+2), make(chan []byte, 1)
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
		if taken == inFlight+2 {
			return <-free
		}
		taken++
		return pool.Get().(*[]byte)
	}
	buf, n, end := first, len(*first), error(nil)
	for {
		if err := t.write((*buf)[:n]); err != nil {
			return nil, err
		}
		chunks <- chunk{buf, n}
		if end == io.EOF {
			return nil, nil // the sum is set on the way out
		}
		buf = buffer()
		if n, end = readFull(body, *buf); end != nil && end != io.EOF {
			return nil, end
		}
	}
}

// write appends p, within the floor of free space.
func (t *temp) write(p []byte) error {
	if err := t.volume.space.take(t.volume.root, int64(len(p))); err != nil {
		return err
	}
	if _, err := t.file.Write(p); err != nil {
		return failed("write object", err)
	}
	return nil
}

// readFull reads until p is full (nil) or r ends, with r's own error, io.EOF included.
func readFull(r io.Reader, p []byte) (n int, err error) {
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
			return n, blob.ErrReader{Err: io.ErrNoProgress}
		}
	}
	return n, nil
}
