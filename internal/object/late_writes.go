package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// A client that sends bytes directly to a store may begin in the last second of its address and be
// slow: the object appears after the collector was there. A store that was asked to assemble parts
// may do the same after their session was aborted. So the row of such a key stays on the garbage
// list after the object was deleted, and the collector checks it again, at growing intervals, until
// lateWriteWindow after the address has expired. A later check asks for the object first: in a
// bucket with versions each deletion would leave a marker.
const (
	lateWriteWindow = 72 * time.Hour // the 100 MiB of the largest body in one piece need 400 bytes a second
	firstRecheck    = time.Hour      // minimum between the first two checks
)

// ExpectLateWrites makes the collector check a key on the garbage list again after it has deleted
// the object, for lateWriteWindow after from (ms): a client may still be sending it. It does
// nothing for a key that the collector has claimed.
func ExpectLateWrites(tx *db.Tx, providerID string, key blob.Key, from int64) error {
	if err := markLateWrites(tx, providerID, string(key), from); err != nil {
		return fmt.Errorf("record that clients may write to a key: %w", err)
	}
	return nil
}

// nextCheck is when the collector checks a key again whose object it has just deleted, in ms; 0 for
// never. Only keys for which late writes are expected are checked again.
func (g garbage) nextCheck(now int64) int64 {
	end := g.lateFrom.Int64 + lateWriteWindow.Milliseconds()
	if !g.lateFrom.Valid || now >= end {
		return 0
	}
	return min(now+max(firstRecheck.Milliseconds(), now-g.lateFrom.Int64), end)
}

// acceptsDirectWrites reports whether clients may send bytes directly to a provider's store: it
// signs addresses.
func (r *Registry) acceptsDirectWrites(ctx context.Context, provider string) bool {
	store, err := r.Store(ctx, provider)
	if err != nil {
		return false // an error shows when the store is used
	}
	_, signs := store.(blob.Presigner)
	return signs
}

// objectExists reports whether there is an object under the key g, whose object was deleted before:
// a late write has made it.
func objectExists(ctx context.Context, store blob.Store, g garbage) (bool, error) {
	_, err := store.Stat(ctx, blob.Key(g.key))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
