package provider

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/blob"
)

// A bucket that hangs delays checkStores until the timeout for buckets, and a disk that hangs until
// the context of the caller ends. CheckStore then waits for StatusTimeout. None of these calls asks
// a store again.
func TestHangingStoresDelayCallersUntilTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Now: time.Now})
		bucket, disk := Provider{ID: "bucket", Type: PathStyle}, Provider{ID: "disk", Type: BuiltIn}
		for _, p := range []Provider{bucket, disk} {
			r.statusChecks[p.ID] = &statusCheck{provider: p, done: make(chan struct{})} // its store hangs
		}
		const forBuckets, forAll = 800 * time.Millisecond, 3 * time.Second
		for what, c := range map[string]struct {
			of   []Provider
			want time.Duration
		}{"the bucket": {[]Provider{bucket}, forBuckets}, "both": {[]Provider{bucket, disk}, forAll}} {
			ctx, cancel := context.WithTimeout(t.Context(), forAll)
			began := time.Now()
			list := r.checkStores(ctx, c.of, forBuckets)
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: took %v, want %v", what, took, c.want)
			}
			cancel()
			for _, s := range list {
				if !errors.Is(s.Err, errNoAnswer) || s.Free != -1 {
					t.Errorf("%s: %s: %v, %d bytes free", what, s.Provider.ID, s.Err, s.Free)
				}
			}
		}
		began := time.Now()
		err := r.CheckStore(t.Context(), bucket)
		if took := time.Since(began); !errors.Is(err, blob.ErrUnavailable) || took != StatusTimeout {
			t.Errorf("one check: %v after %v, want %v", err, took, StatusTimeout)
		}
	})
}
