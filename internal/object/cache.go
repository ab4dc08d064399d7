package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"

	"larder/internal/blob"
	"larder/internal/db"
)

const (
	// MaxCachedSize is the size in bytes of the largest object that the cache keeps.
	MaxCachedSize = 64 << 10
	// cacheOverhead is the number of bytes that an entry of the cache takes beside its object.
	cacheOverhead = 320
)

// Cache keeps small objects in memory. An object never changes and its key is never used again, so
// an entry is never wrong; it is dropped when the collector deletes the object. When the cache is
// full, the objects that are read most often stay (W-TinyLFU). All methods are safe for concurrent
// use; those of nil find and keep nothing.
type Cache struct {
	entries *otter.Cache[Location, []byte]
}

// NewCache returns a cache that takes up to limit bytes of memory; nil, a cache that keeps nothing,
// for 0.
func NewCache(limit int64) *Cache {
	if limit <= 0 {
		return nil
	}
	return &Cache{otter.Must(&otter.Options[Location, []byte]{
		MaximumWeight: uint64(limit),
		Weigher:       func(_ Location, content []byte) uint32 { return uint32(len(content) + cacheOverhead) },
		StatsRecorder: stats.NewCounter(),
		// the caller evicts, so that the bound holds when it returns
		Executor: func(evict func()) { evict() },
	})}
}

// CacheStats describes the use of a cache since the start of the process.
type CacheStats struct {
	Hits, Misses, Evictions uint64
	Bytes                   uint64 // that the cache takes now
}

// Stats returns hits, misses, evictions and size of the cache for the metrics; zeros for a nil
// cache.
func (c *Cache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	s := c.entries.Stats()
	return CacheStats{Hits: s.Hits, Misses: s.Misses, Evictions: s.Evictions, Bytes: c.entries.WeightedSize()}
}

// find returns the whole content of the object at a location, if the cache has it. The caller must
// not change it.
func (c *Cache) find(at Location) (content []byte, found bool) {
	if c == nil {
		return nil, false
	}
	return c.entries.GetIfPresent(at)
}

// drop removes an object from the cache, before the collector deletes it from its store.
func (c *Cache) drop(at Location) {
	if c != nil {
		c.entries.Invalidate(at)
	}
}

// Caches reports whether the registry keeps objects of size bytes in memory: there is a cache, and
// the object is at most MaxCachedSize.
func (r *Registry) Caches(size int64) bool { return r.Cache != nil && size <= MaxCachedSize }

// OpenCached opens an object that Caches accepts and whose size is known, to send it to a client:
// from memory, or else from the store. It keeps an object from the store in memory if the SHA-256
// is the recorded one. A store that is a disk gives nothing while another disk, or none, is mounted
// in its place. Errors: those of store.Open; the fault Damaged for another SHA-256.
func (r *Registry) OpenCached(ctx context.Context, store blob.Store, at Location, size int64) (blob.Object, error) {
	content, found := r.Cache.find(at)
	if !found {
		return r.openAndKeep(ctx, store, at, size)
	}
	if verifier, ok := store.(blob.Verifier); ok {
		if err := verifier.Verify(); err != nil {
			return nil, err
		}
	}
	return blob.NewInMemory(content), nil
}

// openAndKeep opens the object at a location, reads it whole (size bytes, as recorded), and keeps
// it in the cache if the database has a row for it. It returns the store's own object, unread, if
// that has another size, for the caller to refuse. Errors: those of store.Open,
// blob.ErrUnavailable; the fault Damaged when the recorded SHA-256 is another one.
func (r *Registry) openAndKeep(ctx context.Context, store blob.Store, at Location, size int64) (blob.Object, error) {
	object, err := store.Open(ctx, at.Key)
	if err != nil || object.Size() != size {
		return object, err
	}
	defer object.Close() // opened for reading: the error doesn't matter
	content := make([]byte, size)
	if _, err := io.ReadFull(object, content); err != nil {
		return nil, blob.Unavailable("read object", err)
	}
	known, err := recordedHash(r.DB.Read(ctx), at)
	switch sum := sha256.Sum256(content); {
	case err == nil && known != "" && known != hex.EncodeToString(sum[:]):
		r.Log.Error("an object has changed in its store", "provider", at.Provider, "key", at.Key)
		return nil, Damaged(fmt.Errorf("object %s of provider %s has another SHA-256 than recorded", at.Key,
			at.Provider))
	case err == nil:
		r.Cache.entries.Set(at, content)
	case !errors.Is(err, db.ErrNoRows) && ctx.Err() == nil: // not deleted meanwhile, and the client waits for it
		r.Log.Warn("read the hash of an object", "provider", at.Provider, "key", at.Key, "error", err)
	}
	return blob.NewInMemory(content), nil
}
