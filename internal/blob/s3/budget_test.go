package s3

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// acceptingTransport answers every PUT like a server that has stored it.
func acceptingTransport(r *http.Request) (*http.Response, error) {
	h := md5.New()
	if r.Body != nil {
		io.Copy(h, r.Body)
		r.Body.Close()
	}
	resp, err := answerWith(200, "")(&http.Request{Method: r.Method, URL: r.URL}, nil)
	resp.Header.Set("Etag", fmt.Sprintf(`"%x"`, h.Sum(nil)))
	return resp, err
}

// haltingBody returns a little more than the bytes that do not count, and the rest after resume is
// closed.
type haltingBody struct {
	free, rest int
	resume     chan struct{}
	holds      *atomic.Int32 // number of bodies that were read beyond the bytes that do not count
	counted    bool
}

func (h *haltingBody) Read(p []byte) (int, error) {
	if h.free > 0 {
		n := min(h.free, len(p))
		h.free -= n
		return n, nil
	}
	if !h.counted {
		h.counted = true
		h.holds.Add(1)
	}
	<-h.resume
	if h.rest == 0 {
		return 0, io.EOF
	}
	n := min(h.rest, len(p))
	h.rest -= n
	return n, nil
}

// However many slow bodies there are, those in progress hold at most the budget, and small bodies
// are not delayed.
func TestSlowBodiesShareABudget(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	synctest.Test(t, func(t *testing.T) {
		opts.Client = &http.Client{Transport: roundTrip(acceptingTransport)}
		s := open(t, opts)
		const size, slow, fit = 1 << 20, 50, 3
		s.budget = &memoryBudget{available: fit*(size+1) + 100}
		let, holds, done := make(chan struct{}), new(atomic.Int32), new(atomic.Int32)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		begin := func(ctx context.Context, want error) {
			group.Go(func() {
				body := &haltingBody{free: firstBuffer + 1, rest: size - firstBuffer - 1, resume: let, holds: holds}
				info, err := s.Put(ctx, blobtest.NewKey(), body, blob.PutOptions{Size: size})
				if !errors.Is(err, want) || want == nil && info.Size != size {
					t.Errorf("Put = %+v, %v, want %v", info, err, want)
				}
				done.Add(1)
			})
		}
		for range slow {
			begin(t.Context(), nil)
		}
		synctest.Wait()
		begin(ctx, context.Canceled)
		synctest.Wait()
		if holds.Load() != fit || done.Load() != 0 || len(s.budget.queue) != slow-fit+1 {
			t.Errorf("%d hold a buffer, %d wait, %d are done; want %d, %d, 0", holds.Load(), len(s.budget.queue),
				done.Load(), fit, slow-fit+1)
		}
		for _, size := range []int64{0, 1, firstBuffer - 1, firstBuffer} {
			for _, announced := range []int64{size, -1} {
				body := strings.NewReader(strings.Repeat("x", int(size)))
				if _, err := s.Put(t.Context(), blobtest.NewKey(), body,
					blob.PutOptions{Size: announced, Max: -1}); err != nil {
					t.Errorf("Put of %d bytes beside them = %v", size, err)
				}
			}
		}
		cancel()
		synctest.Wait()
		if done.Load() != 1 || len(s.budget.queue) != slow-fit {
			t.Errorf("cancelled: %d are done, %d wait, want 1, %d", done.Load(), len(s.budget.queue), slow-fit)
		}
		close(let)
		group.Wait()
		if s.budget.available != fit*(size+1)+100 || s.budget.holders != 0 {
			t.Errorf("left %d, taken by %d", s.budget.available, s.budget.holders)
		}
	})
}

// A buffer grows with the bytes that arrive, not with the announced size.
func TestBufferGrowsWithWhatComes(t *testing.T) {
	t.Parallel()
	s := open(t, newBucket(t))
	stop := errors.New("stop")
	for came, most := range map[int]int{0: firstBuffer + 1, 1000: firstBuffer + 1, firstBuffer + 1: 2*firstBuffer + 2,
		1 << 20: 2 << 20} {
		for _, size := range []int64{-1, minPart - 1, minPart, minPart + 1, 1 << 40} {
			part := &partBuffer{budget: &memoryBudget{available: 1 << 30}}
			n, err := s.readFirstPart(t.Context(), io.MultiReader(io.LimitReader(zeros{}, int64(came)), failing{stop}),
				size,
				part)
			if n != came || err != stop || cap(part.bytes) > most {
				t.Errorf("%d bytes of %d: read %d, %v, into %d bytes, want %d at most", came, size, n, err,
					cap(part.bytes), most)
			}
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &memoryBudget{available: 10}
		var order []string
		take := func(ctx context.Context, name string, bytes int64) {
			go func() {
				if b.acquire(ctx, bytes) == nil {
					order = append(order, name)
				}
			}()
			synctest.Wait()
		}
		see := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Join(order, " "); got != want {
				t.Errorf("got in %q, want %q", got, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		take(ctx, "a", 6)
		take(ctx, "b", 5) // more than is available
		take(t.Context(), "c", 4)
		take(t.Context(), "d", 1)
		see("a")
		cancel() // b is removed from the queue, and c waited behind it
		see("a c")
		b.release(6)
		see("a c d")
		take(t.Context(), "e", 11) // more than the whole budget
		take(t.Context(), "f", 1)
		b.release(4)
		see("a c d")
		b.release(1)
		see("a c d e")
		b.release(11)
		see("a c d e f")
		b.release(1)
		if b.available != 10 || b.holders != 0 || b.hasWaiters() {
			t.Errorf("left %d, taken by %d", b.available, b.holders)
		}
	})
}

// Long bodies yield the budget between parts, so that none waits for the end of another.
func TestLongBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	opts := newBucket(t)
	s := open(t, opts)
	s.budget = &memoryBudget{available: minPart}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			key := blobtest.NewKey()
			const size = 2*minPart + 5
			info, err := s.Put(t.Context(), key, io.LimitReader(zeros{}, size), blob.PutOptions{Size: -1, Max: -1})
			if err != nil || info.Size != size {
				t.Errorf("Put = %+v, %v", info, err)
			} else if got := blobtest.Content(t, s, key); len(got) != size || strings.Trim(string(got), "\x00") != "" {
				t.Errorf("%d bytes, or others", len(got))
			}
		})
	}
	group.Wait()
	if s.budget.available != minPart {
		t.Errorf("left: %d", s.budget.available)
	}
	noUploads(t, opts)
}
