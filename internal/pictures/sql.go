package pictures

import (
	"context"
	"fmt"

	"larder/internal/db"
)

// leaseName is the name of the lease's end (ms) in the table versions.
const leaseName = "examine until"

// takeLease takes the lease, or prolongs it if this process holds it, and reports whether this
// process holds it now. With SQLite there is one process, and no lease.
func (e *Examiner) takeLease(ctx context.Context) (mine bool, err error) {
	if e.DB.Dialect().SingleWriter() {
		return true, nil
	}
	now := e.Now().UnixMilli()
	until := now + lease.Milliseconds()
	err = e.DB.Write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`
			INSERT INTO versions (name, value)
			VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value
			WHERE versions.value <= $3 OR versions.value > $4 OR versions.value = $5`,
			leaseName, until, now, until, e.leaseEnd)
		mine = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take the lease on examining pictures: %w", err)
	}
	if mine {
		e.leaseEnd = until
	}
	return mine, nil
}

// endLease ends the lease if this process holds it.
func (e *Examiner) endLease(ctx context.Context) error {
	if e.leaseEnd == 0 {
		return nil
	}
	err := e.DB.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE versions SET value = 0 WHERE name = $1 AND value = $2", leaseName, e.leaseEnd)
		return err
	})
	if err != nil {
		return fmt.Errorf("end the lease on examining pictures: %w", err)
	}
	e.leaseEnd = 0
	return nil
}
