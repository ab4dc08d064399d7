package s3

import (
	"context"
	"slices"
	"sync"
)

// partBuffers is what all stores of the process may hold of parts that are read into memory; the
// first bytes of each body (firstBuffer) are not counted.
var partBuffers = &memoryBudget{available: 256 << 20}

// memoryBudget is memory that those who take of it share. Who asks for more than is left
// waits, in turn. Nobody who has taken some may ask for more before giving it back: they would
// wait for each other.
type memoryBudget struct {
	mu        sync.Mutex
	available int64 // bytes; below 0 while one who takes more than there is in all has it
	holders   int   // by so many
	queue     []*waiter
}

type waiter struct {
	bytes   int64
	granted chan struct{} // closed by whoever gives
}

// acquire waits for so many bytes, or until ctx is over. More than there is in all is
// had by one alone.
func (b *memoryBudget) acquire(ctx context.Context, bytes int64) error {
	w := &waiter{bytes, make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, w)
	b.grantWaiting()
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
		b.available, b.holders = b.available+bytes, b.holders-1 // granted meanwhile
	}
	b.grantWaiting() // whoever stood behind it may ask for less
	return ctx.Err()
}

// release gives back what was taken.
func (b *memoryBudget) release(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.available, b.holders = b.available+bytes, b.holders-1
	b.grantWaiting()
}

// grantWaiting lets in who can be, in turn; b.mu is held.
func (b *memoryBudget) grantWaiting() {
	for len(b.queue) > 0 && (b.queue[0].bytes <= b.available || b.holders == 0) {
		b.available, b.holders = b.available-b.queue[0].bytes, b.holders+1
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}

// hasWaiters reports whether somebody waits.
func (b *memoryBudget) hasWaiters() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

// partBuffer holds a part of a body; it belongs to one goroutine.
type partBuffer struct {
	budget   *memoryBudget
	bytes    []byte
	reserved int64
}

// reserve takes what a buffer of that length needs, which is more than it has taken.
func (b *partBuffer) reserve(ctx context.Context, length int64) error {
	if err := b.budget.acquire(ctx, length); err != nil {
		return err
	}
	b.reserved = length
	return nil
}

// yield lets those go first who wait, for as long as that takes, with a buffer whose bytes are
// not needed any more.
func (b *partBuffer) yield(ctx context.Context) error {
	if b.reserved == 0 || !b.budget.hasWaiters() {
		return nil
	}
	length := len(b.bytes)
	b.release()
	if err := b.reserve(ctx, int64(length)); err != nil {
		return err
	}
	b.bytes = make([]byte, length)
	return nil
}

// release gives all of it back.
func (b *partBuffer) release() {
	b.bytes = nil
	if b.reserved > 0 {
		b.budget.release(b.reserved)
		b.reserved = 0
	}
}
