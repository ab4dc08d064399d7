package object

import (
	"context"
	"errors"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
)

// maxUnusedKeys is the maximal number of keys of a provider that are checked one by one.
const maxUnusedKeys = 1000

// UnusedKeys returns the keys of a provider on the garbage list if no object exists under any of
// them, and the provider has no object either: it may then be deleted or changed. Uploads put keys
// on the list beforehand, which would keep an empty provider in use for hours. ForgetKeys removes
// them. Fault: Conflict when objects exist, or may exist.
func (r *Registry) UnusedKeys(ctx context.Context, providerID string) ([]blob.Key, error) {
	q := r.DB.Read(ctx)
	has, err := ExistsIn(q, providerID)
	if err != nil {
		return nil, err
	}
	keys, parts, err := discardedKeys(q, providerID, maxUnusedKeys+1)
	if err != nil {
		return nil, err
	}
	if has || parts || len(keys) > maxUnusedKeys {
		return nil, objectsLeft()
	}
	if len(keys) == 0 {
		return nil, nil
	}
	store, err := r.Providers.Store(ctx, providerID)
	if err != nil {
		return nil, objectsLeft().WithCause(err)
	}
	for _, key := range keys {
		if _, err := store.Stat(ctx, key); !errors.Is(err, blob.ErrNotFound) {
			return nil, objectsLeft().WithCause(err)
		}
	}
	return keys, nil
}

// ForgetKeys removes keys that UnusedKeys has returned from the garbage list; an upload that has
// one of them fails, or begins again. It also removes keys under which only late writes are
// possible. The caller holds the tree exclusively, so that no process draws another key. Fault:
// Conflict when the provider has any other key, or an object.
func ForgetKeys(tx *db.Tx, providerID string, keys []blob.Key) error {
	if err := deleteKeys(tx, providerID, keys); err != nil {
		return err
	}
	has, err := ExistsIn(tx, providerID)
	if err != nil {
		return err
	}
	left, parts, err := discardedKeys(tx, providerID, 1)
	if err != nil {
		return err
	}
	if has || parts || len(left) > 0 {
		return objectsLeft()
	}
	return forgetDeletedKeys(tx, providerID)
}

// objectsLeft is the fault Conflict for a provider that cannot be deleted or changed because it
// has, or may have, objects.
func objectsLeft() *fault.Error {
	return fault.New(fault.Conflict, "Objects of this provider are still in use, or are still being removed.")
}
