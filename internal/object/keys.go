package object

import (
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// A small upload must be durable like any other, but a commit of its own to put its key on the
// garbage list beforehand would double its cost; the same holds for the copies of a move. So keys
// are put on the garbage list a batch at a time, due later, and handed out one by one. The
// collector deletes unused keys, whose objects do not exist.
//
// A key is put on the list under the lock of the tree and before its store is looked up. Moving a
// provider to another bucket needs the tree alone and a provider without any key. So it either
// finds the key, or is done before the bytes go to the store.
const (
	keyBatch      = 64
	keysUsableFor = 30 * time.Minute // a key is handed out for so long after it was put on the list
	KeyLifetime   = 2 * time.Hour    // an unused key is collected so long after it was put on the list
)

// KeySource draws object keys, for each provider from a shard of its own. Safe for concurrent use.
type KeySource struct {
	registry *Registry

	mu         sync.Mutex
	byProvider map[string]*providerKeys
}

// providerKeys are the keys of one provider.
type providerKeys struct {
	mu          sync.Mutex
	prefix      string // of the shard's keys
	shard       *blob.Shard
	discarded   []blob.Key
	discardedAt time.Time
}

// keysFor returns the keys of a provider that this process has at hand, none at first.
func (k *KeySource) keysFor(providerID string) *providerKeys {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byProvider[providerID] == nil {
		k.byProvider[providerID] = &providerKeys{}
	}
	return k.byProvider[providerID]
}

// shardFor returns the shard, a prefix that keys share, for new keys of a provider; a new one when
// the provider's path prefix has changed. The caller holds r.mu.
func (k *KeySource) shardFor(ctx context.Context, r *providerKeys, providerID string) (*blob.Shard, error) {
	p, err := k.registry.Providers.ByID(ctx, providerID)
	if err != nil {
		return nil, fmt.Errorf("find the provider of an object: %w", err)
	}
	if r.shard == nil || r.prefix != p.PathPrefix {
		if r.shard, err = blob.NewShard(p.PathPrefix, k.registry.Now); err != nil {
			return nil, err
		}
		r.prefix = p.PathPrefix
	}
	return r.shard, nil
}

// NewKey returns a new random key for an object of a provider. It is not on the garbage list: the
// caller puts it there before it stores bytes. DiscardedKey returns a key that is there already.
func (k *KeySource) NewKey(ctx context.Context, providerID string) (blob.Key, error) {
	r := k.keysFor(providerID)
	r.mu.Lock()
	defer r.mu.Unlock()
	shard, err := k.shardFor(ctx, r, providerID)
	if err != nil {
		return "", err
	}
	return blob.NewKey(k.registry.IDs, shard, ""), nil
}

// DiscardedKey returns a new key for an object of a provider that is on the garbage list already,
// and when it is due there (ms). The caller stores the bytes and takes the key off the list
// (Undiscard) when it refers to them; otherwise the collector deletes them.
func (k *KeySource) DiscardedKey(ctx context.Context, providerID string) (key blob.Key, due int64, err error) {
	r := k.keysFor(providerID)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := k.registry.Now()
	if age := now.Sub(r.discardedAt); len(r.discarded) == 0 || age >= keysUsableFor || age < 0 {
		shard, err := k.shardFor(ctx, r, providerID)
		if err != nil {
			return "", 0, err
		}
		fresh := make([]blob.Key, keyBatch)
		for i := range fresh {
			fresh[i] = blob.NewKey(k.registry.IDs, shard, "")
		}
		err = k.registry.DB.Write(ctx, func(tx *db.Tx) error {
			if err := tx.LockTree(false); err != nil {
				return err
			}
			for _, key := range fresh {
				if err := Discard(tx, providerID, key, now.Add(KeyLifetime).UnixMilli()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return "", 0, fmt.Errorf("record keys: %w", err)
		}
		r.discarded, r.discardedAt = fresh, now
	}
	key = r.discarded[len(r.discarded)-1]
	r.discarded = r.discarded[:len(r.discarded)-1]
	return key, r.discardedAt.Add(KeyLifetime).UnixMilli(), nil
}

// ForgetKeys forgets the keys of a provider that this process has at hand, since the collector has
// claimed one of them too early; the next call of DiscardedKey draws others. The collector deletes
// the forgotten keys.
func (k *KeySource) ForgetKeys(providerID string) {
	k.mu.Lock()
	r := k.byProvider[providerID]
	k.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		r.discarded = nil
		r.mu.Unlock()
	}
}
