package disk

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestGroupSync(t *testing.T) {
	t.Parallel()
	t.Run("waiting_calls_share_the_next_sync_and_never_the_running_one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun, goOn, syncs := make(chan struct{}), make(chan struct{}), 0
			g := newGroupSync(func() error {
				syncs++
				begun <- struct{}{}
				<-goOn
				return nil
			})
			var first, others sync.WaitGroup
			first.Go(func() { g.wait() })
			<-begun
			returned := 0
			var mu sync.Mutex
			for range 31 {
				others.Go(func() {
					if err := g.wait(); err != nil {
						t.Error(err)
					}
					mu.Lock()
					returned++
					mu.Unlock()
				})
			}
			synctest.Wait()
			goOn <- struct{}{}
			first.Wait()
			<-begun
			synctest.Wait()
			mu.Lock()
			if returned != 0 {
				t.Errorf("%d callers returned after a sync that began before their call", returned)
			}
			mu.Unlock()
			goOn <- struct{}{}
			others.Wait()
			if syncs != 2 {
				t.Errorf("%d syncs for 32 callers, want 2", syncs)
			}
		})
	})
	t.Run("after_a_failure_no_other_sync_is_tried", func(t *testing.T) {
		t.Parallel()
		eio, syncs := errors.New("input/output error"), 0
		g := newGroupSync(func() error {
			syncs++
			if syncs == 1 {
				return eio
			}
			return nil
		})
		for range 3 {
			if err := g.wait(); err != eio {
				t.Errorf("wait = %v, want the first failure", err)
			}
		}
		if syncs != 1 {
			t.Errorf("%d syncs after a failure, want 1", syncs)
		}
	})
}
