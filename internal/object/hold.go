package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
)

const (
	// holdFor is the validity of a hold that is not renewed, holdMargin the time that must be left
	// at a renewal, since the clocks of replicas differ.
	holdFor    = 10 * time.Minute
	holdMargin = 5 * time.Minute
	// maxHold bounds how far in the future a hold may end. A hold that ends later was left by a
	// clock that went back, and is not valid.
	maxHold = 2 * time.Hour
)

// ErrHoldLost says that a hold was not renewed in time: objects that it should have kept may be
// gone.
var ErrHoldLost = errors.New("the hold of the collector was interrupted")

// Hold keeps the collector from claiming garbage. So a process that copies objects finds all those
// that the database named at some moment after the hold was taken. Everything else goes on. Any
// number of holds may exist at a time. A hold that is not renewed expires.
type Hold struct {
	registry *Registry
	name     string // of its row
}

// Hold takes a hold, so that the collector deletes no more garbage until Release. Garbage that the
// collector has claimed before may still be deleted, but no row of the database refers to it, and
// none ever will.
func (r *Registry) Hold(ctx context.Context) (*Hold, error) {
	h := &Hold{registry: r, name: holdPrefix + r.IDs.UUID()}
	err := r.DB.Write(ctx, func(tx *db.Tx) error {
		if err := dropHolds(tx, r.nowMs(), r.nowMs()+maxHold.Milliseconds()); err != nil {
			return err
		}
		return insertHold(tx, h.name, r.nowMs()+holdFor.Milliseconds())
	})
	if err != nil {
		return nil, fmt.Errorf("hold the collector: %w", err)
	}
	return h, nil
}

// Renew extends a hold to ten minutes from now; call it once a minute. Error: ErrHoldLost when less
// than half of its time was left or it has ended, and from then on: objects may have been deleted.
func (h *Hold) Renew(ctx context.Context) error {
	var renewed bool
	err := h.registry.DB.Write(ctx, func(tx *db.Tx) (err error) {
		now := h.registry.nowMs()
		renewed, err = renewHold(tx, h.name, now+holdFor.Milliseconds(), now+holdMargin.Milliseconds())
		return err
	})
	if err == nil && !renewed {
		err = ErrHoldLost
	}
	if err != nil {
		return fmt.Errorf("hold the collector: %w", err)
	}
	return nil
}

// Release ends the hold, so that the collector goes on.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.registry.DB.Write(ctx, func(tx *db.Tx) error { return dropHold(tx, h.name) }); err != nil {
		return fmt.Errorf("release the collector: %w", err)
	}
	return nil
}

// AfterRestore deletes, in a database restored from a backup, what refers to objects that are not
// in the backup: the garbage list, and the hold under which the backup was made. It also removes
// the marks of damage on local disks, whose objects the restore verifies.
func AfterRestore(tx *db.Tx) error {
	if err := dropGarbage(tx); err != nil {
		return fmt.Errorf("empty the garbage list: %w", err)
	}
	if err := dropAllHolds(tx); err != nil {
		return fmt.Errorf("drop holds: %w", err)
	}
	return clearLocalDamage(tx)
}
