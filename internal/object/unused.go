package object

import (
	"context"
	"errors"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
)

// maxUnusedKeys is how many keys of a provider are looked at one by one.
const maxUnusedKeys = 1000

// UnusedKeys returns the keys of a provider on the garbage list when nothing lies under any of
// them: uploads note keys beforehand, which would keep a provider that is empty in use for hours.
// ForgetKeys takes them off. Fault: Conflict when objects are left, or may be.
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

// ForgetKeys takes keys that UnusedKeys has returned off the garbage list: an upload that holds one
// of them fails, or begins again. The caller holds the tree alone. So it does with keys under which
// an object may only come late. Fault: Conflict when the provider has any other key, or an object.
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

func objectsLeft() *fault.Error {
	return fault.New(fault.Conflict, "Objects of this provider are still in use, or are still being removed.")
}
