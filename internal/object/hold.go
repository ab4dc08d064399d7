package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
)

const (
	// holdFor is how long a hold is valid unless it is renewed, and holdMargin how much of that
	// must be left when it is: the clocks of replicas differ.
	holdFor    = 10 * time.Minute
	holdMargin = 5 * time.Minute
	// maxHold bounds how far in the future a hold may end: one further away is of a clock that went
	// back, and holds nothing.
	maxHold = 2 * time.Hour
)

// ErrHoldLost says that a hold was not renewed in time: what it should have kept may be gone.
var ErrHoldLost = errors.New("the collector was not held back all the time")

// Hold keeps the collector from beginning with any garbage, so that whoever copies objects finds
// all that the database named at some moment after the hold was taken. Everything else goes on. Any
// number of holds may be there at a time. One that is not renewed ends by itself.
type Hold struct {
	registry *Registry
	name     string // of its row
}

// Hold takes a hold. What the collector has begun with before is named by nothing,
// and never will be.
func (r *Registry) Hold(ctx context.Context) (*Hold, error) {
	h := &Hold{registry: r, name: holdPrefix + r.IDs.UUID()}
	err := r.DB.Write(ctx, func(tx *db.Tx) error {
		if err := dropHolds(tx, r.nowMs(), r.nowMs()+maxHold.Milliseconds()); err != nil {
			return err
		}
		return insertHold(tx, h.name, r.nowMs()+holdFor.Milliseconds())
	})
	if err != nil {
		return nil, fmt.Errorf("hold the collector back: %w", err)
	}
	return h, nil
}

// Renew makes a hold last; to be called once a minute. Error: ErrHoldLost when it came too
// late, and then always.
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
		return fmt.Errorf("hold the collector back: %w", err)
	}
	return nil
}

// Release lets the collector go on.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.registry.DB.Write(ctx, func(tx *db.Tx) error { return dropHold(tx, h.name) }); err != nil {
		return fmt.Errorf("let the collector go on: %w", err)
	}
	return nil
}

// AfterRestore takes out of a database that comes from a backup what speaks of objects that are not
// in it: the garbage list, and the hold under which it was made.
func AfterRestore(tx *db.Tx) error {
	if err := dropGarbage(tx); err != nil {
		return fmt.Errorf("empty the garbage list: %w", err)
	}
	if err := dropAllHolds(tx); err != nil {
		return fmt.Errorf("drop holds: %w", err)
	}
	return nil
}
