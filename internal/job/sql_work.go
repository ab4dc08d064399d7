package job

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// Work is a job with its progress in bytes and its payload.
type Work struct {
	Job
	DoneBytes int64 // recorded, see Run.RecordBytes
	Payload   string
}

const workColumns = columns + ", done_bytes, payload"

func scanWork(row interface{ Scan(dest ...any) error }) (w Work, err error) {
	err = row.Scan(&w.ID, &w.Type, &w.OwnerID, &w.Status, &w.Progress, &w.ErrorMessage, &w.CreatedAt, &w.CompletedAt,
		&w.Paused, &w.DoneBytes, &w.Payload)
	return w, err
}

// WorkByID returns a job of a type, whoever its owner is. Fault: NotFound.
func WorkByID(q db.Querier, jobType, id string) (Work, error) {
	w, err := scanWork(q.QueryRow("SELECT "+workColumns+" FROM jobs WHERE id = $1 AND type = $2", id, jobType))
	if errors.Is(err, db.ErrNoRows) {
		return Work{}, fault.New(fault.NotFound, "There is no such job.")
	}
	if err != nil {
		return Work{}, fmt.Errorf("read job: %w", err)
	}
	return w, nil
}

// NewestOfType returns the newest jobs of a type, at most limit, whoever their owners are. It reads
// all jobs, those that ended in the last month included.
func NewestOfType(q db.Querier, jobType string, limit int) ([]Work, error) {
	rows, err := q.Query(`
		SELECT `+workColumns+`
		FROM jobs
		WHERE type = $1
		ORDER BY created_at DESC, id
		LIMIT $2`, jobType, limit)
	if err != nil {
		return nil, fmt.Errorf("list jobs of a type: %w", err)
	}
	defer rows.Close()
	found := []Work{}
	for rows.Next() {
		w, err := scanWork(rows)
		if err != nil {
			return nil, fmt.Errorf("list jobs of a type: %w", err)
		}
		found = append(found, w)
	}
	return found, rows.Err()
}
