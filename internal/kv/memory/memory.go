// Package memory keeps rate limit buckets in the process. It is the store of a single replica, and
// takes over while Redis is down.
//
// The number of buckets is bounded. A bucket that is full again carries no information and is
// dropped first. At the bound, the largest class (see kv.Store) loses its least recently used
// bucket, full or not. So a class with no more than its equal share of the bound loses none,
// whatever happens in the others, and within a class a bucket in frequent use stays. A bucket takes
// about 300 bytes, so 100,000 of them take 30 MB. Specification: Rate limits.
package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/kv"
)

// MaxKeys is the default bound of the number of buckets.
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

// New returns an empty store on the clock now that holds up to maxKeys buckets, or MaxKeys if
// maxKeys is 0 or less.
func New(now func() time.Time, maxKeys int) *Store {
	if maxKeys <= 0 {
		maxKeys = MaxKeys
	}
	return &Store{now: now, maxBuckets: maxKeys, buckets: map[string]*list.Element{}, classes: map[string]*list.List{}}
}

// Take takes cost units from the bucket key, see kv.Store. Errors: those of kv.Store.
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
	if b.fullAt = now + level; level == 0 { // a full bucket would look empty after the clock is put back
		s.remove(element)
	}
	return result, nil
}

// add adds a new bucket of the class at the time now, and makes room for it. full is when it will
// be full. Times are in µs since 1970. The caller holds mu.
func (s *Store) add(class, key string, now, full int64) {
	own := s.classes[class]
	if own == nil {
		own = list.New()
		s.classes[class] = own
	}
	for range 2 { // two for each new bucket, so that full ones do not pile up
		s.dropFull(own, now)
	}
	if len(s.buckets) >= s.maxBuckets {
		s.evict(own, now)
	}
	s.buckets[key] = own.PushFront(&bucket{key: key, class: own, fullAt: full})
}

// evict makes room for one bucket at the time now (µs): it drops full buckets at the end of each
// class. If there were none, it drops the last bucket of the largest class, which is own among
// equals.
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

// dropFull drops the least recently used bucket of a class if it is full at the time now (µs).
func (s *Store) dropFull(class *list.List, now int64) {
	if last := class.Back(); last != nil && last.Value.(*bucket).fullAt <= now {
		s.remove(last)
	}
}

// remove removes a bucket.
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

// Close does nothing, since the store holds no resources.
func (s *Store) Close() error { return nil }
