package blobtest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"larder/internal/blob"
)

// fixedClock is a clock that never advances.
func fixedClock() time.Time { return time.Unix(1_700_000_000, 0) }

// Op is an operation of a store.
type Op int

// The operations for which faults can be injected.
const (
	Put Op = iota
	Open
	Stat
	Delete
	Check
	Begin
	PutPart
	Parts
	Finish
	Abort
)

// Fault is the injected behaviour of one call.
type Fault struct {
	Err error // returned to the caller; with nil the operation proceeds after WaitFor
	// the operation is carried out, and the caller still receives Err: a lost answer
	AnswerLost bool
	// Put and Open: number of bytes of the body that pass before Err; a Put leaves nothing then
	FailAfter int64
	// the operation begins when this is closed, or returns the context's error: a slow store
	WaitFor <-chan struct{}
}

// FaultyStore is a store with injected faults. Without a fault it does the same as the inner store.
// It is safe for concurrent use.
type FaultyStore struct {
	inner blob.Store

	mu     sync.Mutex
	faults map[Op][]Fault
	down   error
	calls  map[Op]int
}

var _ blob.Store = (*FaultyStore)(nil)

// NewFaultyStore returns a FaultyStore around inner, without faults.
func NewFaultyStore(inner blob.Store) *FaultyStore {
	return &FaultyStore{inner: inner, faults: map[Op][]Fault{}, calls: map[Op]int{}}
}

// QueueFaults adds faults to the queue of op. Each call of op uses up the oldest fault of its
// queue; a call without one works normally.
func (f *FaultyStore) QueueFaults(op Op, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[op] = append(f.faults[op], faults...)
}

// SetDown makes every call without a queued fault fail with blob.ErrUnavailable around cause, as a
// store that cannot be reached. SetDown(nil) ends it.
func (f *FaultyStore) SetDown(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = cause
}

// Calls returns the number of calls of op, including failed ones.
func (f *FaultyStore) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// takeFault counts a call of op, removes its fault from the queue and waits for Fault.WaitFor. It
// returns an error when the call must fail at once: the fault's Err, or the context's error. With a
// nil error the caller still applies Fault.Err, after part of a body (FailAfter) or after the inner
// operation (AnswerLost).
func (f *FaultyStore) takeFault(ctx context.Context, op Op) (Fault, error) {
	f.mu.Lock()
	f.calls[op]++
	var fault Fault
	switch queue := f.faults[op]; {
	case len(queue) > 0:
		fault, f.faults[op] = queue[0], queue[1:]
	case f.down != nil:
		fault.Err = blob.Unavailable("use store", f.down)
	}
	f.mu.Unlock()
	if fault.WaitFor != nil {
		select {
		case <-fault.WaitFor:
		case <-ctx.Done():
			return fault, fmt.Errorf("wait for store: %w", ctx.Err())
		}
	}
	if fault.Err != nil && !fault.AnswerLost && fault.FailAfter == 0 {
		return fault, fault.Err
	}
	return fault, nil
}

// Put stores an object, or applies the queued fault.
func (f *FaultyStore) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	fault, err := f.takeFault(ctx, Put)
	if err != nil {
		return blob.Info{}, err
	}
	if fault.Err != nil && fault.FailAfter > 0 {
		counted, err := blob.NewBody(ctx, body, opts)
		if err == nil {
			_, err = io.CopyN(io.Discard, counted, fault.FailAfter)
		}
		if err != nil && err != io.EOF {
			return blob.Info{}, err
		}
		return blob.Info{}, fault.Err
	}
	info, err := f.inner.Put(ctx, key, body, opts)
	if err == nil && fault.Err != nil {
		return blob.Info{}, fault.Err
	}
	return info, err
}

// Open opens an object, or applies the queued fault. With FailAfter the object can be read that
// far, and it is not a blob.FileBacked.
func (f *FaultyStore) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	fault, err := f.takeFault(ctx, Open)
	if err != nil {
		return nil, err
	}
	o, err := f.inner.Open(ctx, key)
	if err != nil || fault.Err == nil {
		return o, err
	}
	if fault.FailAfter == 0 {
		o.Close()
		return nil, fault.Err
	}
	return &truncatedObject{Object: o, left: fault.FailAfter, err: fault.Err}, nil
}

// Stat describes an object, or applies the queued fault.
func (f *FaultyStore) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	fault, err := f.takeFault(ctx, Stat)
	if err != nil {
		return blob.Info{}, err
	}
	info, err := f.inner.Stat(ctx, key)
	if err == nil && fault.Err != nil {
		return blob.Info{}, fault.Err
	}
	return info, err
}

// Delete deletes an object, or applies the queued fault.
func (f *FaultyStore) Delete(ctx context.Context, key blob.Key) error {
	fault, err := f.takeFault(ctx, Delete)
	if err == nil {
		err = f.inner.Delete(ctx, key)
	}
	if err == nil {
		err = fault.Err
	}
	return err
}

// Check checks the store, or applies the queued fault.
func (f *FaultyStore) Check(ctx context.Context) error {
	fault, err := f.takeFault(ctx, Check)
	if err == nil {
		err = f.inner.Check(ctx)
	}
	if err == nil {
		err = fault.Err
	}
	return err
}

// truncatedObject is an object whose Read returns err after left bytes, counted over all reads and
// whatever their offsets.
type truncatedObject struct {
	blob.Object
	left int64
	err  error
}

// Read implements io.Reader. It returns err once left bytes were read.
func (o *truncatedObject) Read(p []byte) (int, error) {
	if o.left <= 0 {
		return 0, o.err
	}
	n, err := o.Object.Read(p[:min(int64(len(p)), o.left)])
	o.left -= int64(n)
	return n, err
}

// ClearFaults empties the queues of all operations. It does not end SetDown.
func (f *FaultyStore) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}
