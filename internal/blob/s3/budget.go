package s3

import (
	"context"
	"slices"
	"sync"
)

// buffers is what all stores of the process may hold of parts that are read into memory; the first
// bytes of each body (firstBuffer) are not counted.
var buffers = &budget{left: 256 << 20}

// budget is memory that those who take of it share. Who asks for more than is left waits, in turn.
// Nobody who has taken some may ask for more before giving it back: they would wait for each other.
type budget struct {
	mu    sync.Mutex
	left  int64 // bytes; below 0 while one who takes more than there is in all has it
	taken int   // by so many
	queue []*waiter
}

type waiter struct {
	bytes   int64
	granted chan struct{} // closed by whoever gives
}

// take waits for so many bytes, or until ctx is over. More than there is in all is
// had by one alone.
func (b *budget) take(ctx context.Context, bytes int64) error {
	w := &waiter{bytes, make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, w)
	b.grant()
	b.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	} else {
		b.left, b.taken = b.left+bytes, b.taken-1 // granted meanwhile
	}
	b.grant() // whoever stood behind it may ask for less
	return ctx.Err()
}

// give gives back what was taken.
func (b *budget) give(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.taken = b.left+bytes, b.taken-1
	b.grant()
}

// grant lets in who can be, in turn; b.mu is held.
func (b *budget) grant() {
	for len(b.queue) > 0 && (b.queue[0].bytes <= b.left || b.taken == 0) {
		b.left, b.taken = b.left-b.queue[0].bytes, b.taken+1
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}

// wanted reports whether somebody waits.
func (b *budget) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

// buffer holds a part of a body; it belongs to one goroutine.
type buffer struct {
	budget *budget
	bytes  []byte
	taken  int64
}

// reserve takes what a buffer of that length needs, which is more than it has taken.
func (b *buffer) reserve(ctx context.Context, length int64) error {
	if err := b.budget.take(ctx, length); err != nil {
		return err
	}
	b.taken = length
	return nil
}

// pass lets those go first who wait, for as long as that takes, with a buffer whose bytes are
// not needed any more.
func (b *buffer) pass(ctx context.Context) error {
	if b.taken == 0 || !b.budget.wanted() {
		return nil
	}
	length := len(b.bytes)
	b.free()
	if err := b.reserve(ctx, int64(length)); err != nil {
		return err
	}
	b.bytes = make([]byte, length)
	return nil
}

// free gives all of it back.
func (b *buffer) free() {
	b.bytes = nil
	if b.taken > 0 {
		b.budget.give(b.taken)
		b.taken = 0
	}
}
