package object

import (
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// Small uploads are as durable as others, yet a commit of their own to note the key beforehand
// would double what they cost, and so it is with the copies of a move. So keys are noted as
// garbage a batch at a time, for later, and handed out one by one. What is never used is
// collected, an absent object.
//
// A key is noted under the tree's lock and before its store is asked for. So whoever moves a
// provider to another bucket, which takes the tree alone and a provider without any key, either
// meets the key or is done before the bytes go to the store.
const (
	keyBatch      = 64
	keysUsableFor = 30 * time.Minute // a key is handed out this long after it was noted
	KeyLifetime   = 2 * time.Hour    // a key that nothing has been made of is collected this long after it was noted
)

// KeySource draws object keys, for each provider from a shard of its own. Safe for concurrent use.
type KeySource struct {
	registry *Registry

	mu         sync.Mutex
	byProvider map[string]*providerKeys
}

// keysFor holds the keys of one provider.
type providerKeys struct {
	mu          sync.Mutex
	prefix      string // of the shard's keys
	shard       *blob.Shard
	discarded   []blob.Key
	discardedAt time.Time
}

func (k *KeySource) keysFor(providerID string) *providerKeys {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byProvider[providerID] == nil {
		k.byProvider[providerID] = &providerKeys{}
	}
	return k.byProvider[providerID]
}

// shardFor returns the shard for new keys, under the prefix that the provider has
// now; r.mu is held.
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

// NewKey returns a new key that nothing knows yet.
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

// DiscardedKey returns a key that is on the garbage list, and when it is due there (ms).
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
			return "", 0, fmt.Errorf("note keys: %w", err)
		}
		r.discarded, r.discardedAt = fresh, now
	}
	key = r.discarded[len(r.discarded)-1]
	r.discarded = r.discarded[:len(r.discarded)-1]
	return key, r.discardedAt.Add(KeyLifetime).UnixMilli(), nil
}

// ForgetKeys forgets the keys at hand; what was noted is collected.
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
