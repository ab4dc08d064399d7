// Package kv defines the interface of the short-lived counters that replicas share, and computes
// their rate limit.
//
// Permissions and content never depend on these counters: tokens, sessions and quota have tables of
// their own. There are three implementations, checked by one suite (package kvtest): memory for a
// single process, redis for several replicas, and postgres for the wrong passwords of several
// replicas without Redis. Specification: Rate limits; abuse case C58.
package kv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Result is the result of a Take, in the terms of the RateLimit header fields.
type Result struct {
	Allowed    bool
	Limit      int           // units in a full bucket
	Remaining  int           // whole units left
	Reset      time.Duration // until the bucket is full again, if nothing more is taken
	RetryAfter time.Duration // if not allowed: until the same Take can succeed; at least a microsecond
}

// Store stores buckets by key. It is safe for concurrent use.
//
// A key begins with its class, which ends at the first colon: the class of `auth:192.0.2.1` is
// `auth`. There are few classes. They are constants in the code, and never chosen by a client. A
// store that must evict buckets takes them from the largest class, so that a flood in one class
// evicts nothing from the others.
type Store interface {
	// Take takes cost units from the bucket key. The bucket holds limit units and refills evenly
	// within period. An unknown bucket is full. A Take that is not allowed takes nothing. Cost 0
	// never takes anything, and reports whether cost 1 would be allowed. A cost over the limit is
	// never allowed. A negative cost returns units that were taken in vain: it is always allowed,
	// and fills a bucket up to its limit at most. Keys may have any length. A key must always be
	// used with the same limit and period. When settings change them, the units taken before count
	// as the time that they needed to come back. Errors: that of a context that has ended, and
	// ErrArguments.
	Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (Result, error)

	// Close releases the resources of the store, which must not be used afterwards.
	Close() error
}

// Class returns the class of a key, its part before the first colon; "" for a key without a colon.
func Class(key string) string {
	class, _, found := strings.Cut(key, ":")
	if !found {
		return ""
	}
	return class
}

// maxKey is the length in bytes up to which a key is stored as it is.
const maxKey = 64

// HashLongKey returns key, or its SHA-256 if it is longer than maxKey bytes, so that clients cannot
// choose how much memory a bucket takes.
func HashLongKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
