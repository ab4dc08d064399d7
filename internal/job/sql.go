package job

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// InsertCompleted records a job that was done in the transaction that asks for it: j's status, progress and time of completion are set here,
// the last to j.CreatedAt.
func InsertCompleted(tx *db.Tx, j Job) error {
	_, err := tx.Exec(`
		INSERT INTO jobs (id, type, owner_id, status, progress, error_message, created_at, completed_at)
		VALUES ($1, $2, $3, 'completed', 100, NULL, $4, $5)`,
		j.ID, j.Type, j.OwnerID, j.CreatedAt, j.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	return nil
}

// New is a job to be done.
type New struct {
	ID, Type, OwnerID string
	Payload           string // for whoever runs jobs of this type
	TotalBytes        int64  // how much there is to do, as far as is known
	CreatedAt         int64  // milliseconds
}

// Insert records a job that is to be run as soon as tx is committed.
func Insert(tx *db.Tx, n New) error {
	_, err := tx.Exec(`
		INSERT INTO jobs (id, type, owner_id, status, progress, error_message, created_at, payload, total_bytes, due)
		VALUES ($1, $2, $3, 'pending', 0, NULL, $4, $5, $6, $7)`,
		n.ID, n.Type, n.OwnerID, n.CreatedAt, n.Payload, n.TotalBytes, n.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	return nil
}

// ByID returns a job of that owner. Fault: NotFound, also for another user's.
func ByID(q db.Querier, ownerID, id string) (Job, error) {
	var j Job
	err := q.QueryRow(`
		SELECT id, type, owner_id, status, progress, error_message, created_at, completed_at
		FROM jobs
		WHERE id = $1 AND owner_id = $2`, id, ownerID).
		Scan(&j.ID, &j.Type, &j.OwnerID, &j.Status, &j.Progress, &j.ErrorMessage, &j.CreatedAt, &j.CompletedAt)
	if errors.Is(err, db.ErrNoRows) {
		return Job{}, fault.New(fault.NotFound, "There is no such job.")
	}
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}
