// Package postgres keeps rate limit buckets in PostgreSQL, so that replicas without Redis share
// them and a crash loses none.
//
// It is for wrong passwords, which are rare and must not be forgotten. An allowed Take costs a
// look-up and a durable transaction. A refused Take costs a look-up by the key, so a flood of
// refusals writes nothing. One conditional statement decides between parallel takes (sql.go). The
// buckets follow the clock of the database, since the clocks of replicas may differ. A database
// failure is returned as an error: nothing else works without the database either. Specification:
// Rate limits.
package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"larder/internal/db"
	"larder/internal/kv"
)

// Options holds the settings of a store.
type Options struct {
	// Now is the clock of the buckets, nil for that of the database. It is for tests that move the
	// time.
	Now func() time.Time
}

// Store is a kv.Store in the table guesses of the metadata.
type Store struct {
	db   *db.DB
	opts Options
}

var _ kv.Store = (*Store)(nil)

// New returns a store in d, a PostgreSQL database with the schema of the metadata. The caller
// closes the database.
func New(d *db.DB, opts Options) *Store { return &Store{db: d, opts: opts} }

// Take takes cost units from the bucket key, see kv.Store. Errors: those of kv.Store, and those of
// the database.
func (s *Store) Take(ctx context.Context, key string, limit int, period time.Duration, cost int) (kv.Result, error) {
	if err := ctx.Err(); err != nil {
		return kv.Result{}, fmt.Errorf("take: %w", err)
	}
	gcra, err := kv.NewGCRA(limit, period, cost)
	if err != nil {
		return kv.Result{}, err
	}
	b := bucket{key: storableKey(key), now: s.now(), gcra: gcra}
	if cost < 0 {
		return s.giveBack(ctx, b)
	}
	level, err := s.level(ctx, b)
	if err != nil {
		return kv.Result{}, err
	}
	_, result := gcra.Take(level)
	if cost == 0 || !result.Allowed {
		return result, nil
	}
	var after int64
	var taken bool
	err = s.db.Write(ctx, func(tx *db.Tx) (err error) { after, taken, err = b.take(tx); return err })
	switch {
	case err != nil:
		return kv.Result{}, fmt.Errorf("take: %w", err)
	case taken:
		return gcra.Result(after, true), nil
	}
	if level, err = s.level(ctx, b); err != nil { // parallel takes were faster
		return kv.Result{}, err
	}
	result = gcra.Result(level, false)
	result.RetryAfter = max(result.RetryAfter, time.Microsecond) // by now there may be room again
	return result, nil
}

// level returns the level of a bucket in µs: the time until it is full, 0 for a full one (see
// kv.GCRA). It corrects a bucket that seems emptier than empty because the clock was put back.
func (s *Store) level(ctx context.Context, b bucket) (int64, error) {
	level, err := b.level(s.db.Read(ctx))
	if err == nil && level > b.gcra.Burst { // the clock was put back
		err = s.db.Write(ctx, b.clamp)
	}
	if err != nil {
		return 0, fmt.Errorf("look at a bucket: %w", err)
	}
	return min(max(level, 0), b.gcra.Burst), nil
}

// giveBack is Take for a bucket with a negative cost, which returns units and is always allowed.
func (s *Store) giveBack(ctx context.Context, b bucket) (kv.Result, error) {
	var after int64
	if err := s.db.Write(ctx, func(tx *db.Tx) (err error) { after, err = b.giveBack(tx); return err }); err != nil {
		return kv.Result{}, fmt.Errorf("give back: %w", err)
	}
	return b.gcra.Result(after, true), nil
}

// Sweep deletes the rows of buckets that are full again: an unknown bucket counts as full.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return sweep(tx, s.now()) }); err != nil {
		return fmt.Errorf("sweep the counts of wrong passwords: %w", err)
	}
	return nil
}

// Close does nothing. The caller closes the database.
func (s *Store) Close() error { return nil }

// now returns the time in µs since 1970; nil lets the statements read the clock of the database.
func (s *Store) now() *int64 {
	if s.opts.Now == nil {
		return nil
	}
	now := s.opts.Now().UnixMicro()
	return &now
}

// storableKey returns a key as the TEXT column can hold it: kv.HashLongKey, or the hash of a key
// that contains a NUL or is not valid UTF-8.
func storableKey(key string) string {
	if strings.ContainsRune(key, 0) || !utf8.ValidString(key) {
		sum := sha256.Sum256([]byte(key))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return kv.HashLongKey(key)
}
