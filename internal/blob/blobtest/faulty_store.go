package blobtest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"larder/internal/blob"
)

// fixedClock is a clock that stands still.
func fixedClock() time.Time { return time.Unix(1_700_000_000, 0) }

// Op is an operation of a store.
type Op int

// The operations that can be told to fail.
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

// Fault is what happens to one operation.
type Fault struct {
	Err error // what the caller is told; nil lets the operation go through after Until
	// the operation is done first, and the caller is told Err all the same: an answer
	// lost on its way
	AnswerLost bool
	// Put and Open: this many bytes of the body pass before Err; then nothing is left of a Put
	FailAfter int64
	// the operation begins once this is closed, or ends with the context's error: a slow store
	WaitFor <-chan struct{}
}

// FaultyStore is a store that fails on command. Without a command it does what the store inside
// does. Safe for concurrent use.
type FaultyStore struct {
	inner blob.Store

	mu     sync.Mutex
	faults map[Op][]Fault
	down   error
	calls  map[Op]int
}

var _ blob.Store = (*FaultyStore)(nil)

// NewFaultyStore returns inner, ready to fail.
func NewFaultyStore(inner blob.Store) *FaultyStore {
	return &FaultyStore{inner: inner, faults: map[Op][]Fault{}, calls: map[Op]int{}}
}

// QueueFaults makes the coming calls of op suffer these faults, one each, in order, after those
// that are queued already.
func (f *FaultyStore) QueueFaults(op Op, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[op] = append(f.faults[op], faults...)
}

// SetDown makes every operation that has no fault of its own fail as an unavailable store with
// that cause, until Down(nil).
func (f *FaultyStore) SetDown(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = cause
}

// Calls returns how often op was called, failed ones included.
func (f *FaultyStore) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// takeFault takes the fault of one call and waits as long as it says.
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

// Put puts, unless told otherwise.
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

// Open opens, unless told otherwise; a Short fault lets the object be read that far. The object
// is no blob.FileBacked then.
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

// Stat tells, unless told otherwise.
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

// Delete deletes, unless told otherwise.
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

// Check checks, unless told otherwise.
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

// truncatedObject fails after a number of bytes, wherever they were read.
type truncatedObject struct {
	blob.Object
	left int64
	err  error
}

func (o *truncatedObject) Read(p []byte) (int, error) {
	if o.left <= 0 {
		return 0, o.err
	}
	n, err := o.Object.Read(p[:min(int64(len(p)), o.left)])
	o.left -= int64(n)
	return n, err
}

// ClearFaults takes back the faults that no call has met yet.
func (f *FaultyStore) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}
