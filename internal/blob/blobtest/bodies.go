package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"larder/internal/blob"
)

// sizes are lengths on both sides of the sizes at which the stores change their method.
var sizes = []int{1, 20_000, 256 << 10, 600_000}

// wrongSize checks that Put returns ErrSize with the right counts, and leaves nothing, when a body
// is shorter or longer than announced.
func wrongSize(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		for _, want := range []int64{0, 1, int64(size) - 1, int64(size) + 1, 2 * int64(size)} {
			if want == int64(size) {
				continue
			}
			key := NewKey()
			_, err := s.Put(t.Context(), key, bytes.NewReader(pattern(size)), blob.PutOptions{Size: want})
			var wrong blob.ErrSize
			if !errors.As(err, &wrong) {
				t.Fatalf("%d bytes announced as %d: %v, want ErrSize", size, want, err)
			}
			if got := min(int64(size), want+1); wrong.Want != want || wrong.Got != got {
				t.Errorf("%d bytes announced as %d: %+v, want Got %d", size, want, wrong, got)
			}
			WantAbsent(t, s, key)
		}
	}
}

// tooLarge checks that Put returns ErrTooLarge, and leaves nothing, for a body longer than
// PutOptions.Max, and accepts one of exactly Max bytes.
func tooLarge(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		for _, opts := range []blob.PutOptions{{Size: -1, Max: int64(size) - 1}, {Size: -1},
			{Size: int64(size) + 5, Max: int64(size) + 4}} {
			key := NewKey()
			if _, err := s.Put(t.Context(), key, bytes.NewReader(pattern(size)), opts); !errors.Is(err,
				blob.ErrTooLarge) {
				t.Errorf("%d bytes with %+v: %v, want ErrTooLarge", size, opts, err)
			}
			WantAbsent(t, s, key)
		}
		exactly := NewKey()
		if _, err := s.Put(t.Context(), exactly, bytes.NewReader(pattern(size)),
			blob.PutOptions{Size: -1, Max: int64(size)}); err != nil {
			t.Errorf("%d bytes with room for exactly that: %v", size, err)
		}
	}
	if _, err := s.Put(t.Context(), NewKey(), strings.NewReader(""), blob.PutOptions{Size: -1}); err != nil {
		t.Errorf("empty body with no room: %v", err)
	}
}

// endlessBody is a body without an end; count is the number of bytes read from it.
type endlessBody struct{ count int64 }

// Read fills p and counts its bytes. It never ends.
func (e *endlessBody) Read(p []byte) (int, error) {
	e.count += int64(len(p))
	return len(p), nil
}

// readLimit checks that Put reads exactly one byte beyond the announced size or the maximum.
func readLimit(t *testing.T, s blob.Store) {
	for _, bound := range []int64{0, 1, 20_000, 700_000} {
		for _, opts := range []blob.PutOptions{{Size: bound}, {Size: -1, Max: bound}} {
			var body endlessBody
			if _, err := s.Put(t.Context(), NewKey(), &body, opts); err == nil {
				t.Fatalf("endless body under %+v was stored", opts)
			}
			if body.count != bound+1 {
				t.Errorf("%d bytes read of an endless body under %+v, want %d", body.count, opts, bound+1)
			}
		}
	}
}

var errBody = errors.New("the body fails")

// failingReader checks that Put returns ErrReader around the body's own error, not ErrUnavailable,
// and leaves nothing.
func failingReader(t *testing.T, s blob.Store) {
	for _, size := range append([]int{0}, sizes...) {
		for _, opts := range []blob.PutOptions{unknownSize, {Size: int64(size)}, {Size: int64(size) + 1}} {
			key := NewKey()
			_, err := s.Put(t.Context(), key, io.MultiReader(bytes.NewReader(pattern(size)), iotest.ErrReader(errBody)),
				opts)
			if reader := (blob.ErrReader{}); !errors.As(err, &reader) || !errors.Is(err, errBody) {
				t.Errorf("reader failing after %d bytes, %+v: %v, want ErrReader around its error", size, opts, err)
			}
			if errors.Is(err, blob.ErrUnavailable) {
				t.Errorf("reader failing after %d bytes is told as a failing store: %v", size, err)
			}
			WantAbsent(t, s, key)
		}
	}
}

// wrappedEOF checks that a body which ends with a wrapped io.EOF or with io.ErrUnexpectedEOF counts
// as failed: only a plain io.EOF ends a body.
func wrappedEOF(t *testing.T, s blob.Store) {
	for _, end := range []error{fmt.Errorf("cut: %w", io.EOF), io.ErrUnexpectedEOF} {
		key := NewKey()
		_, err := s.Put(t.Context(), key, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(end)), unknownSize)
		if reader := (blob.ErrReader{}); !errors.As(err, &reader) {
			t.Errorf("body that ends in %q: %v, want ErrReader", end, err)
		}
		WantAbsent(t, s, key)
	}
}

// stuckBody is a body whose Read returns no bytes and no error.
type stuckBody struct{}

func (stuckBody) Read([]byte) (int, error) { return 0, nil }

// noProgress checks that Put returns io.ErrNoProgress for a stuckBody instead of reading for ever.
func noProgress(t *testing.T, s blob.Store) {
	key := NewKey()
	if _, err := s.Put(t.Context(), key, stuckBody{}, unknownSize); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("reader that gives nothing: %v, want io.ErrNoProgress", err)
	}
	WantAbsent(t, s, key)
}

// bodyWithHook returns a reader of body that calls then once, after the first n bytes were read and
// before the next.
func bodyWithHook(body []byte, n int, then func()) io.Reader {
	return io.MultiReader(bytes.NewReader(body[:n]), &hookReader{hook: then}, bytes.NewReader(body[n:]))
}

// hookReader is an empty reader that calls hook when it is read.
type hookReader struct{ hook func() }

// Read calls the hook and ends.
func (r *hookReader) Read([]byte) (int, error) {
	r.hook()
	return 0, io.EOF
}

// cancelledPut checks that Put returns the context's error and leaves nothing when the context ends
// before, during or at the end of the body.
func cancelledPut(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		for _, at := range []int{0, size / 2, size} {
			key := NewKey()
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.Put(ctx, key, bodyWithHook(pattern(size), at, cancel), unknownSize)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled after %d of %d bytes: %v", at, size, err)
			}
			WantAbsent(t, s, key)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	key := NewKey()
	var body endlessBody
	if _, err := s.Put(ctx, key, &body, unknownSize); !errors.Is(err, context.Canceled) || body.count != 0 {
		t.Errorf("cancelled before: %v, %d bytes read", err, body.count)
	}
	WantAbsent(t, s, key)
}

// invisibleUntilComplete checks that the key is absent while Put still reads the body.
func invisibleUntilComplete(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		for _, at := range []int{0, size / 2, size} {
			key, looked := NewKey(), false
			_, err := s.Put(t.Context(), key, bodyWithHook(pattern(size), at, func() {
				WantAbsent(t, s, key)
				looked = true
			}), blob.PutOptions{Size: int64(size)})
			if err != nil || !looked {
				t.Fatalf("Put of %d bytes: %v, looked: %t", size, err, looked)
			}
			if got := Content(t, s, key); !bytes.Equal(got, pattern(size)) {
				t.Errorf("%d bytes: read other bytes", size)
			}
		}
	}
}

// panickingBody checks that a panic of the body reaches the caller of Put and that nothing is left.
func panickingBody(t *testing.T, s blob.Store) {
	for _, size := range sizes {
		key := NewKey()
		func() {
			defer func() {
				if recover() != "body" {
					t.Error("the panic of the body did not come through")
				}
			}()
			s.Put(t.Context(), key, bodyWithHook(pattern(size), size, func() { panic("body") }), unknownSize)
		}()
		WantAbsent(t, s, key)
	}
}

// repeatedPut checks that a key can be used again after failed Puts.
func repeatedPut(t *testing.T, s blob.Store) {
	key := NewKey()
	for range 3 {
		if _, err := s.Put(t.Context(), key, strings.NewReader("shor"), blob.PutOptions{Size: 5}); err == nil {
			t.Fatal("short body was stored")
		}
	}
	if _, err := s.Put(t.Context(), key, strings.NewReader("whole"), blob.PutOptions{Size: 5}); err != nil {
		t.Fatalf("Put after failed ones: %v", err)
	}
	if got := string(Content(t, s, key)); got != "whole" {
		t.Errorf("object is %q", got)
	}
}

// parallelSameKey checks that one of eight parallel Puts to a key succeeds, that the others return
// ErrExists, and that the object has the winner's bytes.
func parallelSameKey(t *testing.T, s blob.Store) {
	key := NewKey()
	bodies := [8][]byte{}
	errs := [8]error{}
	var wg sync.WaitGroup
	for i := range bodies {
		bodies[i] = bytes.Repeat([]byte{byte('a' + i)}, 300_000)
		wg.Go(func() { _, errs[i] = s.Put(t.Context(), key, bytes.NewReader(bodies[i]), unknownSize) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("Put %d and Put %d of one key both succeeded", winner, i)
		case !errors.Is(err, blob.ErrExists):
			t.Errorf("losing Put %d = %v, want ErrExists", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("no Put succeeded")
	}
	if !bytes.Equal(Content(t, s, key), bodies[winner]) {
		t.Error("the object is not the winner's")
	}
}

// parallelKeys checks that parallel Puts into one shard directory do not mix their bytes.
func parallelKeys(t *testing.T, s blob.Store) {
	shard, err := blob.NewShard("", fixedClock)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 24 {
		key := blob.NewKey(ids, shard, "")
		body := append(pattern(1000*i*i), byte(i))
		wg.Go(func() {
			if _, err := s.Put(t.Context(), key, bytes.NewReader(body),
				blob.PutOptions{Size: int64(len(body))}); err != nil {
				t.Errorf("Put %d: %v", i, err)
				return
			}
			o, err := s.Open(t.Context(), key)
			if err != nil {
				t.Errorf("Open %d: %v", i, err)
				return
			}
			defer o.Close()
			if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, body) {
				t.Errorf("object %d: other bytes, %v", i, err)
			}
		})
	}
	wg.Wait()
}
