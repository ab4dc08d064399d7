package pictures

import (
	"context"
	"fmt"

	"larder/internal/db"
)

// leaseName is the name of the lease's end (ms) in the table versions.
const leaseName = "examine until"

// takeLease takes the lease, or prolongs it if held, and reports whether this process holds it now.
// With SQLite there is one process, and no lease.
func (e *Examiner) takeLease(ctx context.Context, held bool) (mine bool, err error) {
	if e.DB.Dialect().SingleWriter() {
		return true, nil
	}
	now := e.Now().UnixMilli()
	until, ends := now+lease.Milliseconds(), now
	if held {
		ends = until
	}
	err = e.DB.Write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`
			INSERT INTO versions (name, value)
			VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE versions.value <= $3 OR versions.value > $4`,
			leaseName, until, ends, until)
		mine = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take the lease on examining pictures: %w", err)
	}
	return mine, nil
}

// endLease ends the lease if it is held.
func (e *Examiner) endLease(ctx context.Context, held bool) error {
	if !held || e.DB.Dialect().SingleWriter() {
		return nil
	}
	err := e.DB.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE versions SET value = 0 WHERE name = $1", leaseName)
		return err
	})
	if err != nil {
		return fmt.Errorf("end the lease on examining pictures: %w", err)
	}
	return nil
}
