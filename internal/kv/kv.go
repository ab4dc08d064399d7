// Package kv is the contract of the short-lived counters that replicas share, and the arithmetic of
// the rate limit they keep.
//
// Rights and content never depend on it: tokens, sessions and quota have tables of their own. Three
// implementations, checked by one suite (package kvtest): memory for a single process, redis for
// several, and postgres for the wrong passwords of several that have no Redis. Specification: Rate
// limits; abuse case C58.
package kv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Result says what became of a Take, in the words of the RateLimit header fields.
type Result struct {
	Allowed    bool
	Limit      int           // units the bucket holds when full
	Remaining  int           // whole units left
	Reset      time.Duration // until the bucket is full again, if nothing else is taken
	RetryAfter time.Duration // when not allowed: until the same Take can succeed; at least a microsecond
}

// Store keeps buckets by key. Safe for concurrent use.
//
// A key begins with its class, which ends at the first colon: the class of `auth:192.0.2.1`
// is `auth`. There are few classes, named in the source and never by a client. A store that
// has to forget buckets takes them from the largest class, so that a flood in one class costs
// no other class any.
type Store interface {
	// Take spends cost units from the bucket key, which holds limit units and refills evenly within
	// period; a bucket never heard of is full. Nothing is spent when it is not allowed. Cost 0
	// spends nothing in any case and tells whether 1 would be allowed. A cost over the limit is
	// never allowed. A negative cost gives back what was taken for nothing: it is always allowed,
	// and fills no bucket beyond its limit. Keys may have any length. One key must always come with
	// the same limit and period, save for a change of settings: what was spent before it then
	// counts as time. Error: the context's when it has ended, and ErrArguments.
	Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (Result, error)

	// Close gives up what the store holds. It is not used afterwards.
	Close() error
}

// Class returns the class of a key, "" for a key without a colon.
func Class(key string) string {
	class, _, found := strings.Cut(key, ":")
	if !found {
		return ""
	}
	return class
}

// maxKey is the longest key in bytes that is stored as it is.
const maxKey = 64

// HashLongKey returns key, or its hash where it is long, so that clients cannot choose how much
// memory a bucket takes.
func HashLongKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
