// Package memory keeps rate limit buckets in the process: the store of a single replica, and the one that takes over while Redis is down.
//
// At most a fixed number of buckets is held. A bucket that is full again is worth nothing and goes first; beyond the bound the one that
// was used least recently goes, full or not, so that an attacker with very many addresses can only win back what is idle, and a bucket
// that is being hammered stays. A bucket takes about 300 bytes, 100,000 of them 30 MB.
// Specification: Rate limits.
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
	now func() time.Time
	max int

	mu      sync.Mutex
	buckets map[string]*list.Element
	recent  *list.List // of *bucket, most recently used first
}

var _ kv.Store = (*Store)(nil)

type bucket struct {
	key  string
	full int64 // µs since 1970 at which it will be full
}

// New returns an empty store on the clock now that holds up to maxKeys buckets, MaxKeys when that is 0 or less.
func New(now func() time.Time, maxKeys int) *Store {
	if maxKeys <= 0 {
		maxKeys = MaxKeys
	}
	return &Store{now: now, max: maxKeys, buckets: map[string]*list.Element{}, recent: list.New()}
}

// Take spends from a bucket. Errors: those of kv.Store.
func (s *Store) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	if err := ctx.Err(); err != nil {
		return kv.Result{}, fmt.Errorf("take: %w", err)
	}
	spend, err := kv.NewSpend(limit, period, cost)
	if err != nil {
		return kv.Result{}, err
	}
	key = kv.Bound(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixMicro()
	element, known := s.buckets[key]
	if !known {
		level, result := spend.Take(0)
		if level > 0 {
			s.add(key, now, now+level)
		}
		return result, nil
	}
	b := element.Value.(*bucket)
	s.recent.MoveToFront(element)
	level, result := spend.Take(spend.Level(b.full, now))
	b.full = now + level
	return result, nil
}

// add makes room and takes a new bucket in.
func (s *Store) add(key string, now, full int64) {
	for range 2 { // twice as fast as they come, so that full ones do not pile up
		if last := s.recent.Back(); last != nil && last.Value.(*bucket).full <= now {
			s.remove(last)
		}
	}
	if s.recent.Len() >= s.max {
		s.remove(s.recent.Back())
	}
	s.buckets[key] = s.recent.PushFront(&bucket{key: key, full: full})
}

func (s *Store) remove(element *list.Element) {
	delete(s.buckets, element.Value.(*bucket).key)
	s.recent.Remove(element)
}

// Len returns the number of buckets held.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent.Len()
}

// Close does nothing: there is nothing to give up.
func (s *Store) Close() error { return nil }
