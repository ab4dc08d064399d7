package object_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/object"
)

// failingStore is a store whose deletions are controlled by a test.
type failingStore struct {
	blob.Store
	mu          sync.Mutex
	calls       int
	hook        func(ctx context.Context, call int) error // nil lets deletions succeed
	undeletable map[blob.Key]bool                         // keys that cannot be deleted
}

func (s *failingStore) Delete(ctx context.Context, key blob.Key) error {
	s.mu.Lock()
	s.calls++
	call, hook := s.calls, s.hook
	kept := s.undeletable[key]
	s.mu.Unlock()
	if kept {
		return errors.New("refused")
	}
	if hook != nil {
		if err := hook(ctx, call); err != nil {
			return err
		}
	}
	return s.Store.Delete(ctx, key)
}

// setHook sets the hook of further deletions and returns the number of deletions so far.
func (s *failingStore) setHook(hook func(ctx context.Context, call int) error) (calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, s.calls, s.hook = s.calls, 0, hook
	return calls
}

// setUndeletable sets that the first n keys of addFailingStore cannot be deleted from now on.
func (s *failingStore) setUndeletable(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undeletable = map[blob.Key]bool{}
	for i := range n {
		s.undeletable[numberedKey(i)] = true
	}
}

// numberedKey returns the key of number i.
func numberedKey(i int) blob.Key { return blob.Key(fmt.Sprintf("ab/%032x", i)) }

// addFailingStore wraps the vault's store in a failing store and adds n keys that are due before
// all others.
func addFailingStore(w *fixture, n int) *failingStore {
	w.t.Helper()
	store, err := w.reg.Store(w.t.Context(), "vault")
	w.must(err)
	s := &failingStore{Store: store}
	w.wrapStores(func(id string, store blob.Store) blob.Store {
		if id == "vault" {
			return s
		}
		return store
	})
	w.write(func(tx *db.Tx) error {
		for i := range n {
			if err := object.Discard(tx, "vault", numberedKey(i), 1); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// A store that does not answer delays the other stores by one deletion timeout, however many keys
// are due in it, and is tried once a minute.
func TestCollectorSkipsHangingStore(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 1700)
		gone := w.storeContent("x").Key
		w.objects.SetDeleteTimeout(5 * time.Second) // the other store must delete an object in it
		hangs := func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s.setHook(hangs)
		w.advance(grace)
		w.collect()
		if w.isStored(gone) {
			t.Error("the garbage of the other store was not collected")
		}
		if calls := s.setHook(hangs); calls != 1 || w.countGarbage("vault") != 1700 {
			t.Errorf("the hanging store was called %d times and has %d of 1700 keys left", calls,
				w.countGarbage("vault"))
		}
		w.advance(time.Minute - time.Millisecond)
		w.collect()
		if calls := s.setHook(hangs); calls != 0 {
			t.Errorf("the store was called %d times within the minute", calls)
		}
		w.advance(time.Millisecond)
		w.collect()
		if calls := s.setHook(nil); calls != 1 {
			t.Errorf("the store was called %d times after the minute", calls)
		}
		w.objects.SetDeleteTimeout(time.Minute)
		w.advance(time.Minute)
		w.collect()
		if n := w.countGarbage("vault"); n != 0 {
			t.Errorf("%d keys are left of the recovered store", n)
		}
	})
}

// Two failures count as failures of two objects. After the third, the collector pauses the store
// for a minute.
func TestCollectorPausesStoreAfterThreeFailures(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 20)
		failing := func(n int) func(context.Context, int) error {
			return func(_ context.Context, call int) error {
				if call <= n {
					return errors.New("refused")
				}
				return nil
			}
		}
		s.setHook(failing(3))
		w.collect()
		if calls := s.setHook(failing(2)); calls != 3 || w.countGarbage("vault") != 20 {
			t.Errorf("after three failures: %d calls, %d of 20 keys left", calls, w.countGarbage("vault"))
		}
		w.advance(time.Minute)
		w.collect()
		if calls := s.setHook(nil); calls != 20 || w.countGarbage("vault") != 2 {
			t.Errorf("after two failures: %d calls, %d of 20 keys left", calls, w.countGarbage("vault"))
		}
	})
}

// A cancellation by the service's shutdown does not count as a failure of the store.
func TestCollectorStopsWithTheService(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 20)
		ctx, stop := context.WithCancel(t.Context())
		s.setHook(func(ctx context.Context, call int) error {
			if call == 5 {
				stop()
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		if _, err := w.objects.Collect(ctx); err != nil {
			t.Error(err)
		}
		if n := w.countGarbage("vault"); n != 16 {
			t.Errorf("%d of 20 keys are left, four were deleted", n)
		}
		s.setHook(nil)
		w.advance(time.Minute)
		w.collect()
		if n := w.countGarbage("vault"); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

// Three objects that cannot be deleted, anywhere in a batch, delay the other objects of their store
// by a few minutes at most.
func TestCollectorSkipsUndeletableObjects(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 40)
		s.setUndeletable(3)
		for range 10 {
			w.collect()
			w.advance(time.Minute)
		}
		if n := w.countGarbage("vault"); n != 3 {
			t.Errorf("%d keys are left, want the three that can't be deleted", n)
		}
		s.setUndeletable(0)
		w.advance(time.Minute)
		w.collect()
		if n := w.countGarbage("vault"); n != 0 {
			t.Errorf("%d keys are left although they can be deleted", n)
		}
	})
}

// Keys that failed before come after new keys, even when there are more of them than fit in a
// batch.
func TestCollectorTriesNewKeysBeforeFailedKeys(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 600)
		s.setUndeletable(600)
		w.collect()
		w.advance(time.Minute)
		w.collect()
		w.write(func(tx *db.Tx) error {
			return object.Discard(tx, "vault", blob.Key(fmt.Sprintf("cd/%032x", 1)), w.clock().UnixMilli())
		})
		w.advance(time.Minute)
		w.collect()
		if n := w.countGarbage("vault"); n != 600 {
			t.Errorf("%d keys are left, want the 600 that can't be deleted", n)
		}
	})
}

// The collector leaves a slow store when its time budget is spent. It retries the remaining keys
// after the same time, and continues with other stores immediately.
func TestCollectorLeavesSlowStoreAfterTimeBudget(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 1000)
		gone := w.storeContent("x").Key
		w.advance(grace)
		const budget = 300 * time.Millisecond
		w.objects.SetStoreBudget(budget)
		var spend context.CancelFunc // the budget of the vault
		w.objects.SetStartBudget(func(ctx context.Context, provider string, d time.Duration) (context.Context,
			context.CancelFunc) {
			ctx, end := context.WithCancel(ctx)
			if provider == "vault" {
				spend = end
			}
			if d != budget {
				t.Errorf("the budget of %s is %v, want %v", provider, d, budget)
			}
			return ctx, end
		})
		s.setHook(func(_ context.Context, call int) error {
			if call == 5 { // uses the whole time budget and succeeds
				spend()
			}
			return nil
		})
		w.collect()
		if n := w.countGarbage("vault"); n != 995 {
			t.Errorf("%d of 1000 keys are left, five were deleted", n)
		}
		if w.isStored(gone) {
			t.Error("the garbage of the other store was not collected")
		}
		s.setHook(nil)
		w.advance(budget - time.Millisecond)
		w.collect()
		if n := w.countGarbage("vault"); n != 995 {
			t.Errorf("%d keys are left of a paused store", n)
		}
		w.advance(time.Millisecond)
		w.collect()
		if n := w.countGarbage("vault"); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

// The collector runs eight deletions at a time in a store that is reached over a network.
func TestCollectorDeletesConcurrentlyFromBucket(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		s := addFailingStore(w, 100)
		w.wrapStores(func(id string, store blob.Store) blob.Store {
			return struct {
				blob.Store
				blob.Presigner
			}{Store: store}
		})
		all := make(chan struct{})
		s.setHook(func(ctx context.Context, call int) error {
			if call == 8 {
				close(all)
			}
			select {
			case <-all:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		w.collect()
		if n := w.countGarbage("vault"); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}
