package files

import (
	"context"

	"larder/internal/blob"
)

// DeleteFolders is the last step of the collector.
var DeleteFolders = deleteFolders

// WrapStores puts wrap around every store that t copies from or to from now on.
func (t *Tree) WrapStores(wrap func(providerID string, store blob.Store) blob.Store) {
	inner := t.store
	t.store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(providerID, store), nil
	}
}
