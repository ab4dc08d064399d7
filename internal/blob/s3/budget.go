package s3

import (
	"context"
	"slices"
	"sync"
)

// partBuffers is the memory for parts that all stores of the process share. The first bytes of each
// body (firstBuffer) do not count.
var partBuffers = &memoryBudget{available: 256 << 20}

// memoryBudget is an amount of memory that several bodies share. A body that asks for more than is
// available waits, first come, first served. A holder must release its memory before it asks for
// more; otherwise holders could wait for each other.
type memoryBudget struct {
	mu        sync.Mutex
	available int64 // bytes; negative while the only holder has more than the whole budget
	holders   int   // number of acquisitions that are not released
	queue     []*waiter
}

type waiter struct {
	bytes   int64         // asked for
	granted chan struct{} // closed when the memory is granted
}

// acquire waits until bytes are available and no earlier request waits, or ctx ends; the caller
// then has them until release. A request for more than the whole budget is granted when there is no
// other holder. Error: the context's.
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
		b.available, b.holders = b.available+bytes, b.holders-1 // granted at the same moment
	}
	b.grantWaiting() // the next waiter may ask for less
	return ctx.Err()
}

// release returns bytes, the number that one acquire was granted.
func (b *memoryBudget) release(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.available, b.holders = b.available+bytes, b.holders-1
	b.grantWaiting()
}

// grantWaiting grants the available memory to waiters in the order in which they came. The caller
// holds b.mu.
func (b *memoryBudget) grantWaiting() {
	for len(b.queue) > 0 && (b.queue[0].bytes <= b.available || b.holders == 0) {
		b.available, b.holders = b.available-b.queue[0].bytes, b.holders+1
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}

// hasWaiters reports whether a body waits for memory, so that a holder should yield.
func (b *memoryBudget) hasWaiters() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

// partBuffer holds a part of a body. It belongs to one goroutine.
type partBuffer struct {
	budget   *memoryBudget
	bytes    []byte
	reserved int64
}

// reserve acquires length bytes of the budget for the buffer, which must hold none. It allocates
// nothing. Error: the context's.
func (b *partBuffer) reserve(ctx context.Context, length int64) error {
	if err := b.budget.acquire(ctx, length); err != nil {
		return err
	}
	b.reserved = length
	return nil
}

// yield releases the buffer's memory to the bodies that wait for it and acquires as much again
// after them. Without waiting bodies it does nothing; otherwise the content of the buffer is lost.
// Error: the context's.
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

// release drops the buffer and returns its bytes to the budget.
func (b *partBuffer) release() {
	b.bytes = nil
	if b.reserved > 0 {
		b.budget.release(b.reserved)
		b.reserved = 0
	}
}
