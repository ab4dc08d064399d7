package upload_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
)

// assemblingStore is a store that lists neither the parts nor the object while it assembles, as
// some S3 servers do.
type assemblingStore struct {
	blob.Store
	state *assembly
}

// assembly is the state of the store's assembly.
type assembly struct {
	mu      sync.Mutex
	begun   int
	running bool
	release chan struct{} // closed when the store may continue
}

func (a *assembly) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running
}

func (a *assembly) setRunning(under bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = under
}

// calls is how often a store was asked to assemble.
func (a *assembly) calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

func (s assemblingStore) Finish(ctx context.Context, u blob.Upload, parts []blob.Part) (blob.Info, error) {
	s.state.mu.Lock()
	again := s.state.running
	s.state.begun++
	s.state.running = true
	s.state.mu.Unlock()
	if again {
		return blob.Info{}, blob.ErrNotFound
	}
	select {
	case <-s.state.release:
	case <-ctx.Done():
		return blob.Info{}, blob.Unavailable("finish upload", ctx.Err())
	}
	info, err := s.Store.Finish(ctx, u, parts)
	s.state.setRunning(false)
	return info, err
}

func (s assemblingStore) Parts(ctx context.Context, u blob.Upload) ([]blob.Part, error) {
	if s.state.busy() {
		return nil, blob.ErrNotFound
	}
	return s.Store.Parts(ctx, u)
}

func (s assemblingStore) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	if s.state.busy() {
		return blob.Info{}, blob.ErrNotFound
	}
	return s.Store.Stat(ctx, key)
}

// assembleSlowly makes the store assemble until release is called.
func (f *fixture) assembleSlowly() (state *assembly, release func()) {
	state = &assembly{release: make(chan struct{})}
	f.up.WrapStores(func(inner blob.Store) blob.Store { return assemblingStore{inner, state} })
	return state, sync.OnceFunc(func() { close(state.release) })
}

// completeAsync completes a session in the background.
func (f *fixture) completeAsync(ctx context.Context, id string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, _, err := f.up.Complete(ctx, f.ann, id, "")
		done <- err
	}()
	return done
}

// wantRetry fails the test unless err is a Conflict that passes by itself.
func (f *fixture) wantRetry(err error, doing string) {
	f.t.Helper()
	var told *fault.Error
	if !errors.As(err, &told) || told.Kind != fault.Conflict || told.RetryAfter <= 0 {
		f.t.Errorf("%s: got %v, want a conflict with RetryAfter", doing, err)
	}
}

// Abuse case C87: completions that come while another one assembles wait for its commit.
func TestCompletionWaitsForTheOneBeforeIt(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.up.SetLeaseWait(time.Hour) // a busy machine takes its time
		id := w.beginParts("", 1, 2, 3)
		state, release := w.assembleSlowly()
		first := w.completeAsync(ctx, id)
		waitUntil(t, "the store assembles", state.busy)
		entries, started := make(chan string, 19), sync.WaitGroup{}
		started.Add(cap(entries))
		for range cap(entries) {
			go func() {
				started.Done()
				entry, already, err := w.up.Complete(ctx, w.ann, id, "")
				if err != nil || !already {
					t.Errorf("another completion: already %v, %v", already, err)
				}
				entries <- entry.ID
			}()
		}
		started.Wait()
		release()
		if err := <-first; err != nil {
			t.Errorf("the first completion: %v", err)
		}
		ids := map[string]bool{}
		for range cap(entries) {
			ids[<-entries] = true
		}
		if len(ids) != 1 || state.calls() != 1 {
			t.Errorf("%d files, the store was asked %d times", len(ids), state.calls())
		}
		w.wantUsed(w.ann, 2500, 1)
		w.wantReserved(w.ann, 0, 0)
	})
}

// A completion that takes longer than others can wait makes them retry; they never report the parts
// as lost.
func TestLongCompletionMakesOthersRetry(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		state, release := w.assembleSlowly()
		w.up.SetLeaseWait(10 * time.Millisecond)
		w.up.SetLeaseRenewal(time.Millisecond)
		first := w.completeAsync(ctx, id)
		waitUntil(t, "the store assembles", state.busy)
		for range 3 {
			_, _, err := w.up.Complete(ctx, w.ann, id, "")
			w.wantRetry(err, "another completion")
			_, err = w.up.Parts(ctx, w.ann, id)
			w.wantRetry(err, "asking for the parts")
			w.advance(10 * time.Second) // less than the lease, which is renewed meanwhile
			waitUntil(t, "the lease is renewed", func() bool {
				return w.queryInt("SELECT completing_until FROM upload_sessions WHERE id = $1",
					id) == w.clock.Load()+15_000
			})
		}
		if state.calls() != 1 {
			t.Errorf("the store was asked %d times", state.calls())
		}
		release()
		if err := <-first; err != nil {
			t.Errorf("the first completion: %v", err)
		}
		if _, already, err := w.up.Complete(ctx, w.ann, id, ""); err != nil || !already {
			t.Errorf("afterwards: already %v, %v", already, err)
		}
		w.wantUsed(w.ann, 2500, 1)
	})
}

// Of two completions that find no lease one takes it.
func TestALeaseIsTakenOnce(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		got := parallel(20, func(int) error { return w.up.TakeLease(ctx, w.ann, id) })
		if got[noFault] != 1 {
			t.Errorf("taken %d times", got[noFault])
		}
	})
}

// leaveDeadLease leaves a session like a process that dies while it holds the lease.
func (f *fixture) leaveDeadLease(id string) {
	f.t.Helper()
	f.setLease(id, f.clock.Load()+15_000)
}

// setLease gives the lease of a session to a process that does not exist.
func (f *fixture) setLease(id string, ms int64) {
	f.t.Helper()
	f.exec("UPDATE upload_sessions SET completing_by = 'dead', completing_until = $1 WHERE id = $2", ms, id)
}

// A process dies between the store's assembly and its commit: the next completion takes over when
// the lease has expired.
func TestCompletionTakesOverALapsedLease(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.up.SetLeaseWait(10 * time.Millisecond)
		for name, finished := range map[string]bool{"before the object": false, "after the object": true} {
			id := w.beginParts("", 1, 2, 3)
			if finished {
				w.store.QueueFaults(blobtest.Finish, storeDown(true))
				_, _, err := w.up.Complete(ctx, w.ann, id, "")
				w.wantFault(err, fault.Unavailable, name)
			}
			w.leaveDeadLease(id)
			_, _, err := w.up.Complete(ctx, w.ann, id, "")
			w.wantRetry(err, name)
			w.advance(30 * time.Second)
			if w.content(w.ann, w.complete(w.ann, id, "").ID) != distinctBytes(2500) {
				t.Errorf("%s: other bytes", name)
			}
		}
		w.wantUsed(w.ann, 5000, 2)
	})
}

// A lease that a clock which went back has left delays nothing.
func TestLeaseFromTheFutureHoldsNothing(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.up.SetLeaseWait(10 * time.Millisecond)
		id := w.beginParts("", 1, 2, 3)
		w.setLease(id, w.clock.Load()+24*3600_000)
		w.complete(w.ann, id, "")
	})
}

// A store continues to assemble when the process that asked it is gone, or did not wait for its
// answer. For a quarter of an hour the parts are not reported as lost; an object that appears is
// used.
func TestPartsAreNotLostWhileTheStoreAssembles(t *testing.T) {
	for name, ended := range map[string]func(w *fixture, id string, state *assembly){
		"the process died": func(w *fixture, id string, state *assembly) {
			state.setRunning(true)
			w.leaveDeadLease(id)
			w.advance(30 * time.Second)
		},
		"no answer came": func(w *fixture, id string, state *assembly) {
			w.store.QueueFaults(blobtest.Finish, storeDown(false))
			_, _, err := w.up.Complete(ctx, w.ann, id, "")
			w.wantFault(err, fault.Unavailable, "no answer")
			state.setRunning(true)
		},
	} {
		eachInPartsNamed(t, name, func(t *testing.T, w *fixture) {
			lost, found := w.beginParts("", 1, 2, 3), w.beginParts("", 1, 2, 3)
			w.store.QueueFaults(blobtest.Finish, storeDown(true))
			_, _, err := w.up.Complete(ctx, w.ann, found, "")
			w.wantFault(err, fault.Unavailable, "the answer was lost")
			state, release := w.assembleSlowly()
			release()
			ended(w, lost, state)
			_, _, err = w.up.Complete(ctx, w.ann, lost, "")
			w.wantRetry(err, "while it may go on")
			_, _, err = w.up.Complete(ctx, w.ann, lost, "")
			w.wantRetry(err, "once more")
			_, _, err = w.up.Complete(ctx, w.ann, found, "")
			w.wantRetry(err, "an object that is not there yet")
			state.setRunning(false)
			w.complete(w.ann, found, "")
			state.setRunning(true)
			w.advance(15 * time.Minute)
			_, _, err = w.up.Complete(ctx, w.ann, lost, "")
			var told *fault.Error
			if !errors.As(err, &told) || told.Kind != fault.Conflict || told.RetryAfter != 0 ||
				!strings.Contains(told.Message, "no longer in the store") {
				t.Errorf("a quarter of an hour later: %v", err)
			}
			state.setRunning(false)
			w.complete(w.ann, lost, "")
		})
	}
}

// A completion continues when its client disconnects: the store may take longer than the client
// waits.
func TestCompletionGoesOnWithoutItsClient(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		state, release := w.assembleSlowly()
		client, leaves := context.WithCancel(ctx)
		first := w.completeAsync(client, id)
		waitUntil(t, "the store assembles", state.busy)
		leaves()
		second := w.completeAsync(ctx, id)
		release()
		if err := errors.Join(<-first, <-second); err != nil {
			t.Errorf("the completions: %v", err)
		}
		if state.calls() != 1 {
			t.Errorf("the store was asked %d times", state.calls())
		}
		w.wantUsed(w.ann, 2500, 1)
	})
}

// At most 64 completions of a user wait at a time, and each of them ends with its client.
func TestWaitingCompletionsAreLimited(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		w.up.SetLeaseWait(time.Hour) // a busy machine takes its time
		id := w.beginParts("", 1, 2, 3)
		state, release := w.assembleSlowly()
		first := w.completeAsync(ctx, id)
		waitUntil(t, "the store assembles", state.busy)
		client, leave := context.WithCancel(ctx)
		var waiting []<-chan error
		for range 64 {
			waiting = append(waiting, w.completeAsync(client, id))
		}
		waitUntil(t, "all wait", func() bool { return w.up.CompletionsWaiting() == len(waiting) })
		_, _, err := w.up.Complete(ctx, w.ann, id, "")
		w.wantFault(err, fault.RateLimited, "one more")
		leave()
		for _, one := range waiting {
			if err := <-one; !errors.Is(err, context.Canceled) {
				t.Errorf("a completion whose client is gone: %v", err)
			}
		}
		release()
		if err := <-first; err != nil {
			t.Error(err)
		}
		if _, already, err := w.up.Complete(ctx, w.ann, id, ""); err != nil || !already {
			t.Errorf("afterwards: already %v, %v", already, err)
		}
	})
}

// An abort ends a session whose completion is running; no file is made, and nothing is left of it.
func TestAbortWhileACompletionIsUnderWay(t *testing.T) {
	eachInParts(t, func(t *testing.T, w *fixture) {
		id := w.beginParts("", 1, 2, 3)
		state, release := w.assembleSlowly()
		first := w.completeAsync(ctx, id)
		waitUntil(t, "the store assembles", state.busy)
		waiting := w.completeAsync(ctx, id)
		if err := w.up.Abort(ctx, w.ann, id); err != nil {
			t.Fatal(err)
		}
		w.wantFault(<-waiting, fault.Conflict, "a completion that waits")
		release()
		w.wantFault(<-first, fault.Conflict, "the completion under way")
		w.wantReserved(w.ann, 0, 0)
		w.wantUsed(w.ann, 0, 0)
		w.advance(3 * time.Hour)
		w.wantOnlyFileObjects("in the end")
		// nothing is written late to a disk
		if n := w.queryInt("SELECT COUNT(*) FROM garbage WHERE late_from IS NOT NULL"); n != 0 {
			t.Errorf("%d keys are checked again", n)
		}
	})
}

// A session whose time ends while its completion waits for the store does not expire: neither its
// parts nor the object are dropped, and the completion makes the file.
func TestSessionThatIsBeingCompletedDoesNotExpire(t *testing.T) {
	for _, key := range []string{"", "again"} {
		eachInPartsNamed(t, "idempotency key "+key, func(t *testing.T, w *fixture) {
			id := w.beginParts(key, 1, 2, 3)
			w.up.SetLeaseRenewal(time.Millisecond)
			state, release := w.assembleSlowly()
			w.advance(59 * time.Minute)
			first := w.completeAsync(ctx, id)
			waitUntil(t, "the store assembles", state.busy)
			w.advance(3 * time.Minute)
			w.sweep()
			w.wantReserved(w.ann, 2500, 1)
			if key != "" {
				_, err := w.up.Create(ctx, w.ann, inParts("f", 2500, key))
				w.wantRetry(err, "a new session with the key")
			}
			release()
			if err := <-first; err != nil {
				t.Fatalf("the completion: %v", err)
			}
			w.wantUsed(w.ann, 2500, 1)
			w.wantReserved(w.ann, 0, 0)
		})
	}
}
