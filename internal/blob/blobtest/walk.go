package blobtest

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"larder/internal/blob"
)

// walkedObjects checks that Walk reports every object with size and time, but no deleted object,
// unfinished upload or file of Check. It passes for a store without blob.Walker.
func walkedObjects(t *testing.T, s blob.Store) {
	walker, ok := s.(blob.Walker)
	if !ok {
		return
	}
	want := map[blob.Key]int64{}
	for _, size := range []int{0, 1, 20_000} {
		want[put(t, s, pattern(size))] = int64(size)
	}
	gone := put(t, s, []byte("gone"))
	if err := s.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	u := beginUpload(t, s, 1, lastSize)
	mustPutPart(t, s, u, 1, 100)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[blob.Key]int64{}
	err := walker.Walk(t.Context(), func(key blob.Key, size int64, written time.Time) error {
		got[key] = size
		if written.IsZero() {
			t.Errorf("nobody knows when %s was written", key)
		}
		return nil
	})
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Walk = %v, saw %v, want %v", err, got, want)
	}
	if err := walker.Walk(t.Context(), func(blob.Key, int64, time.Time) error { return errBody }); err != errBody {
		t.Errorf("Walk whose caller fails = %v, want its error as it is", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := walker.Walk(ctx, func(blob.Key, int64, time.Time) error { return nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled Walk = %v", err)
	}
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}
