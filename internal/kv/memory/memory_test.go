package memory_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"larder/internal/kv"
	"larder/internal/kv/kvtest"
	"larder/internal/kv/memory"
)

func TestContract(t *testing.T) {
	t.Parallel()
	kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Store { return memory.New(now, 0) })
}

func take(t testing.TB, s *memory.Store, key string) bool {
	t.Helper()
	r, err := s.Take(t.Context(), key, 1, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r.Allowed
}

func TestBoundDropsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	s := memory.New(kvtest.NewClock().Now, 3)
	for _, key := range []string{"a", "b", "c"} {
		take(t, s, key)
	}
	if take(t, s, "a") { // refused, but used by that
		t.Error("a was allowed twice")
	}
	take(t, s, "d") // b is dropped
	for key, held := range map[string]bool{"a": true, "c": true, "d": true} {
		if take(t, s, key) == held {
			t.Errorf("bucket %s is held: %t, want %t", key, !held, held)
		}
	}
	if s.Len() != 3 {
		t.Errorf("%d buckets are held, the bound is 3", s.Len())
	}
	if !take(t, s, "b") {
		t.Error("bucket b was not dropped beyond the bound")
	}
}

// A flood in one class costs no other class a bucket, as long as that class keeps to its equal
// share of the store.
func TestFloodStaysInItsClass(t *testing.T) {
	t.Parallel()
	s := memory.New(kvtest.NewClock().Now, 300)
	for i := range 100 {
		take(t, s, "auth:"+strconv.Itoa(i))
	}
	for i := range 1000 {
		take(t, s, "all:"+strconv.Itoa(i))
		take(t, s, "wrong:"+strconv.Itoa(i))
	}
	for i := range 100 {
		if take(t, s, "auth:"+strconv.Itoa(i)) {
			t.Errorf("bucket auth:%d was evicted by other classes", i)
		}
	}
	if s.Len() != 300 {
		t.Errorf("%d buckets are held, the bound is 300", s.Len())
	}
	for i := range 1000 { // beyond its share the class loses its own buckets, the least recently used first
		take(t, s, "auth:more"+strconv.Itoa(i))
	}
	if !take(t, s, "auth:0") || take(t, s, "auth:more999") {
		t.Error("a class beyond its share keeps its least recently used bucket")
	}
	if s.Len() != 300 {
		t.Errorf("%d buckets are held, the bound is 300", s.Len())
	}
}

// Buckets that are full again are dropped to make room for those of other classes.
func TestFullBucketsOfOtherClassesAreDroppedFirst(t *testing.T) {
	t.Parallel()
	clock := kvtest.NewClock()
	s := memory.New(clock.Now, 100)
	for i := range 60 {
		take(t, s, "old:"+strconv.Itoa(i))
	}
	clock.Advance(time.Minute)
	for i := range 90 {
		take(t, s, "new:"+strconv.Itoa(i))
	}
	for i := range 90 {
		if take(t, s, "new:"+strconv.Itoa(i)) {
			t.Errorf("bucket new:%d was dropped while full ones of another class were held", i)
		}
	}
}

func TestFullBucketsAreDropped(t *testing.T) {
	t.Parallel()
	clock := kvtest.NewClock()
	s := memory.New(clock.Now, 0)
	for i := range 10 {
		take(t, s, "old"+strconv.Itoa(i))
	}
	clock.Advance(time.Minute)
	for i := range 10 {
		take(t, s, "new"+strconv.Itoa(i))
	}
	if s.Len() != 10 {
		t.Errorf("%d buckets are held, want the 10 that are not full", s.Len())
	}
	for i := range 10 {
		if take(t, s, "new"+strconv.Itoa(i)) {
			t.Errorf("bucket new%d was dropped before it was full", i)
		}
	}
	if _, err := s.Take(t.Context(), "looked at", 1, time.Minute, 0); err != nil || s.Len() != 10 {
		t.Errorf("a take with cost 0 leaves a bucket: %d, %v", s.Len(), err)
	}
}

// Not parallel: it measures the heap of the whole process.
func TestMemoryIsBoundedWhateverTheKeys(t *testing.T) {
	const most = 10_000
	s := memory.New(kvtest.NewClock().Now, most)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	pad := make([]byte, 1000)
	for i := range 3 * most {
		take(t, s, strconv.Itoa(i)+string(pad))
	}
	if grown := int64(heap()) - int64(before); grown > 500*most {
		t.Errorf("%d buckets after 30,000 long keys hold %d bytes, want at most 500 each", most, grown)
	}
	if take(t, s, strconv.Itoa(3*most-1)+string(pad)) {
		t.Error("the newest bucket was dropped")
	}
}

func BenchmarkTake(b *testing.B) {
	s := memory.New(kvtest.NewClock().Now, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Take(b.Context(), strconv.Itoa(i%1000), 600, time.Minute, 1); err != nil {
			b.Fatal(err)
		}
	}
}
