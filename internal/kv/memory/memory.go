// Package memory keeps rate limit buckets in the process: the store of a single replica, and the
// one that takes over while Redis is down.
//
// At most a fixed number of buckets is held. A bucket that is full again is worth nothing and goes
// first. Beyond the bound the largest class (see kv.Store) loses the bucket that was used least
// recently, full or not. So a class that holds no more than its equal part of the bound loses none,
// whatever happens in the others, and within a class a bucket that is being hammered stays. A
// bucket takes about 300 bytes, 100,000 of them 30 MB. Specification: Rate limits.
package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/kv"
)

// MaxKeys is the number of buckets held when New is given none.
const MaxKeys = 100_000

// Store is a kv.Store in memory.
type Store struct {
	now        func() time.Time
	maxBuckets int

	mu      sync.Mutex
	buckets map[string]*list.Element
	classes map[string]*list.List // by class, of *bucket, most recently used first
}

var _ kv.Store = (*Store)(nil)

type bucket struct {
	key    string
	class  *list.List
	fullAt int64 // µs since 1970 at which it will be full
}

// New returns an empty store on the clock now that holds up to maxKeys buckets, MaxKeys when that
// is 0 or less.
func New(now func() time.Time, maxKeys int) *Store {
	if maxKeys <= 0 {
		maxKeys = MaxKeys
	}
	return &Store{now: now, maxBuckets: maxKeys, buckets: map[string]*list.Element{}, classes: map[string]*list.List{}}
}

// Take spends from a bucket. Errors: those of kv.Store.
func (s *Store) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	if err := ctx.Err(); err != nil {
		return kv.Result{}, fmt.Errorf("take: %w", err)
	}
	gcra, err := kv.NewGCRA(limit, period, cost)
	if err != nil {
		return kv.Result{}, err
	}
	class := kv.Class(key)
	key = kv.HashLongKey(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixMicro()
	element, known := s.buckets[key]
	if !known {
		level, result := gcra.Take(0)
		if level > 0 {
			s.add(class, key, now, now+level)
		}
		return result, nil
	}
	b := element.Value.(*bucket)
	b.class.MoveToFront(element)
	level, result := gcra.Take(gcra.Level(b.fullAt, now))
	if b.fullAt = now + level; level == 0 { // full: a clock that is put back would make it look empty
		s.remove(element)
	}
	return result, nil
}

// add makes room and takes a new bucket in.
func (s *Store) add(class, key string, now, full int64) {
	own := s.classes[class]
	if own == nil {
		own = list.New()
		s.classes[class] = own
	}
	for range 2 { // twice as fast as they come, so that full ones do not pile up
		s.dropFull(own, now)
	}
	if len(s.buckets) >= s.maxBuckets {
		s.evict(own, now)
	}
	s.buckets[key] = own.PushFront(&bucket{key: key, class: own, fullAt: full})
}

// evict drops full buckets at the end of each class, or else the last bucket of the largest class,
// which is own among equals.
func (s *Store) evict(own *list.List, now int64) {
	largest := own
	for _, class := range s.classes {
		s.dropFull(class, now)
		if class.Len() > largest.Len() {
			largest = class
		}
	}
	if len(s.buckets) >= s.maxBuckets {
		s.remove(largest.Back())
	}
}

// dropFull drops the least recently used bucket of a class if it is full.
func (s *Store) dropFull(class *list.List, now int64) {
	if last := class.Back(); last != nil && last.Value.(*bucket).fullAt <= now {
		s.remove(last)
	}
}

func (s *Store) remove(element *list.Element) {
	b := element.Value.(*bucket)
	delete(s.buckets, b.key)
	b.class.Remove(element)
}

// Len returns the number of buckets held.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buckets)
}

// Close does nothing: there is nothing to give up.
func (s *Store) Close() error { return nil }
