package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
)

// A client that sends bytes straight to a store may begin in the last second of its address and
// take its time: the object appears after the collector has been there. A store that was asked to
// assemble parts may do the same after their session was aborted. So the row of such a key stays on
// the garbage list after the object was deleted, and the collector looks again, at growing
// intervals, until lateWriteWindow after the address has expired. A later look asks for the object
// first: in a bucket with versions each deletion would leave a marker.
const (
	lateWriteWindow = 72 * time.Hour // the 100 MiB of the largest body in one piece need 400 bytes a second
	firstRecheck    = time.Hour      // between the first two looks at least
)

// ExpectLateWrites has the collector look for the object of a key on the garbage list again after
// it has deleted it, for lateWriteWindow from that time (ms) on: a client may still be sending it.
// It does nothing to a key that the collector has begun with.
func ExpectLateWrites(tx *db.Tx, providerID string, key blob.Key, from int64) error {
	if err := markLateWrites(tx, providerID, string(key), from); err != nil {
		return fmt.Errorf("note a key on the garbage list as written to by clients: %w", err)
	}
	return nil
}

// nextCheck is when the collector looks for a deleted object again (ms), 0 for never.
func (g garbage) nextCheck(now int64) int64 {
	end := g.lateFrom.Int64 + lateWriteWindow.Milliseconds()
	if !g.lateFrom.Valid || now >= end {
		return 0
	}
	return min(now+max(firstRecheck.Milliseconds(), now-g.lateFrom.Int64), end)
}

// acceptsDirectWrites reports whether a provider's store takes bytes from others than this process.
func (r *Registry) acceptsDirectWrites(ctx context.Context, provider string) bool {
	store, err := r.Store(ctx, provider)
	if err != nil {
		return false // what is wrong shows when it is used
	}
	_, signs := store.(blob.Presigner)
	return signs
}

// objectExists reports whether there is an object under a key whose object was deleted before.
func objectExists(ctx context.Context, store blob.Store, g garbage) (bool, error) {
	_, err := store.Stat(ctx, blob.Key(g.key))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
