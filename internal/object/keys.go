package object

import (
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// Small uploads are as durable as others, yet a commit of their own to note the key beforehand would double what they cost, and so it is with
// the copies of a move. So keys are noted as garbage a batch at a time, for later, and handed out one by one. What is never used is collected,
// an absent object.
//
// A key is noted under the tree's lock and before its store is asked for. So whoever moves a provider to another bucket, which takes the tree
// alone and a provider without any key, either meets the key or is done before the bytes go to the store.
const (
	keyBatch    = 64
	freshFor    = 30 * time.Minute // a key is handed out this long after it was noted
	KeyLifetime = 2 * time.Hour    // a key that nothing has been made of is collected this long after it was noted
)

// Keyring draws object keys, for each provider from a shard of its own. Safe for concurrent use.
type Keyring struct {
	registry *Registry

	mu    sync.Mutex
	rings map[string]*ring
}

// ring holds the keys of one provider.
type ring struct {
	mu     sync.Mutex
	prefix string // of the shard's keys
	shard  *blob.Shard
	noted  []blob.Key
	since  time.Time
}

func (k *Keyring) ring(providerID string) *ring {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rings[providerID] == nil {
		k.rings[providerID] = &ring{}
	}
	return k.rings[providerID]
}

// fresh returns the shard for new keys, under the prefix that the provider has now; r.mu is held.
func (k *Keyring) fresh(ctx context.Context, r *ring, providerID string) (*blob.Shard, error) {
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

// Draw returns a new key that nothing knows yet.
func (k *Keyring) Draw(ctx context.Context, providerID string) (blob.Key, error) {
	r := k.ring(providerID)
	r.mu.Lock()
	defer r.mu.Unlock()
	shard, err := k.fresh(ctx, r, providerID)
	if err != nil {
		return "", err
	}
	return blob.NewKey(k.registry.IDs, shard, ""), nil
}

// Take returns a key that is on the garbage list, and when it is due there (ms).
func (k *Keyring) Take(ctx context.Context, providerID string) (key blob.Key, due int64, err error) {
	r := k.ring(providerID)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := k.registry.Now()
	if age := now.Sub(r.since); len(r.noted) == 0 || age >= freshFor || age < 0 {
		shard, err := k.fresh(ctx, r, providerID)
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
		r.noted, r.since = fresh, now
	}
	key = r.noted[len(r.noted)-1]
	r.noted = r.noted[:len(r.noted)-1]
	return key, r.since.Add(KeyLifetime).UnixMilli(), nil
}

// Drop forgets the keys at hand; what was noted is collected.
func (k *Keyring) Drop(providerID string) {
	k.mu.Lock()
	r := k.rings[providerID]
	k.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		r.noted = nil
		r.mu.Unlock()
	}
}
