package concurrency_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/concurrency"
)

// isLimitError reports whether err says that source has reached its limit.
func isLimitError(err error, source string) bool {
	var f *concurrency.LimitError
	return errors.As(err, &f) && f.Source == source
}

func TestLimitOfAllAndOfEachSource(t *testing.T) {
	t.Parallel()
	l := concurrency.NewLimit(3)
	alice, bob := concurrency.Source{Name: "alice", Max: 2}, concurrency.Source{Name: "bob", Max: 2}
	office := concurrency.Source{Name: "office", Max: 2}
	release, err := l.TryAcquire(alice, office)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.TryAcquire(alice); err != nil {
		t.Errorf("the second of alice: %v", err)
	}
	if _, err := l.TryAcquire(alice); !isLimitError(err, "alice") {
		t.Errorf("the third of alice: %v", err)
	}
	if _, err := l.TryAcquire(office, bob); err != nil {
		t.Errorf("bob: %v", err)
	}
	if _, err := l.TryAcquire(bob); !isLimitError(err, "") {
		t.Errorf("the fourth of all: %v", err)
	}
	release()
	if _, err := l.TryAcquire(office, bob); err != nil {
		t.Errorf("bob after a release, a refusal having taken no slot: %v", err)
	}
}

func TestAcquireWaitsForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := concurrency.NewLimit(2)
		alice, bob := concurrency.Source{Name: "alice", Max: 1}, concurrency.Source{Name: "bob", Max: 1}
		release, err := l.Acquire(t.Context(), time.Second, alice)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := l.Acquire(t.Context(), time.Second, alice); !isLimitError(err, "alice") ||
			time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := l.Acquire(t.Context(), time.Second, bob); err != nil {
			t.Errorf("another source: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, time.Minute, alice); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller whose context ends: %v", err)
		}
		time.AfterFunc(3*time.Second, release)
		began = time.Now()
		if _, err := l.Acquire(t.Context(), time.Minute, alice); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v, want a slot when it is released", err, time.Since(began))
		}
	})
}

func TestLimitHoldsForManyAtOnce(t *testing.T) {
	t.Parallel()
	l := concurrency.NewLimit(3)
	var running, most atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			release, err := l.Acquire(t.Context(), time.Minute, concurrency.Source{Name: fmt.Sprint(i % 10), Max: 1})
			if err != nil {
				t.Error(err)
				return
			}
			now := running.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			running.Add(-1)
			release()
		})
	}
	all.Wait()
	if most.Load() > 3 {
		t.Errorf("%d ran at once, want 3 at most", most.Load())
	}
}
