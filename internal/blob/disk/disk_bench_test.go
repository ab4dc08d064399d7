package disk

import (
	"bytes"
	"crypto/rand"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/ident"
)

// BenchmarkPut stores bodies of 20 KB one after another and 32 in parallel, and one large body.
func BenchmarkPut(b *testing.B) {
	setup := func(b *testing.B) (*Store, func() blob.Key) {
		dir := b.TempDir()
		if err := Create(dir, storeID); err != nil {
			b.Fatal(err)
		}
		s, err := Open(dir, storeID, Options{MinFree: 1 << 20, Now: fixedClock})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		shard, err := blob.NewShard("", fixedClock)
		if err != nil {
			b.Fatal(err)
		}
		ids := ident.New(rand.Reader)
		return s, func() blob.Key { return blob.NewKey(ids, shard, "bin") }
	}
	small := make([]byte, 20_000)
	put := func(b *testing.B, s *Store, key blob.Key, body io.Reader, size int64) {
		if _, err := s.Put(b.Context(), key, body, blob.PutOptions{Size: size}); err != nil {
			b.Error(err)
		}
	}
	b.Run("20KB", func(b *testing.B) {
		s, key := setup(b)
		b.SetBytes(20_000)
		b.ReportAllocs()
		for b.Loop() {
			put(b, s, key(), bytes.NewReader(small), 20_000)
		}
	})
	b.Run("20KB_by_32", func(b *testing.B) {
		s, key := setup(b)
		b.SetBytes(20_000)
		b.SetParallelism(16) // times GOMAXPROCS
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				put(b, s, key(), bytes.NewReader(small), 20_000)
			}
		})
	})
	b.Run("256MiB", func(b *testing.B) {
		s, key := setup(b)
		b.SetBytes(256 << 20)
		b.ReportAllocs()
		for b.Loop() {
			k := key()
			put(b, s, k, io.LimitReader(zeros{}, 256<<20), 256<<20)
			if err := s.Delete(b.Context(), k); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen measures opening an object, also with an Observer and the clock of the machine.
func BenchmarkOpen(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkOpen(b, Options{Now: time.Now}) })
	b.Run("observed", func(b *testing.B) {
		var n atomic.Int64
		observe := func(_ Operation, took time.Duration, _ bool) { n.Add(int64(took)) }
		benchmarkOpen(b, Options{Now: time.Now, Observe: observe})
	})
}

func benchmarkOpen(b *testing.B, opts Options) {
	dir := b.TempDir()
	if err := Create(dir, storeID); err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir, storeID, opts)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(b.Context(), traceKey, bytes.NewReader(nil), blob.PutOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o, err := s.Open(b.Context(), traceKey)
		if err != nil {
			b.Fatal(err)
		}
		o.Close()
	}
}
