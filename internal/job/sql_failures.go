package job

import (
	"fmt"
	"time"

	"larder/internal/db"
)

// FailureTime is how long Failures counts a job after it has failed.
const FailureTime = 48 * time.Hour

// Failures are the failed jobs of a type.
type Failures struct {
	Type  string
	Jobs  int64
	Since int64 // when the first of them failed, ms
}

// CountFailures counts, by type, the jobs that the service could not complete within FailureTime
// before now (ms): jobs that failed in all of their attempts, and jobs that found bytes in a store
// that differ from the recorded ones. It does not count jobs that failed because of a request, for
// example for want of a permission. It counts the first jobs of that time, up to most.
func CountFailures(q db.Querier, now, most int64) ([]Failures, error) {
	rows, err := q.Query(`
		SELECT type, COUNT(*), MIN(completed_at)
		FROM (
			SELECT type, completed_at
			FROM jobs
			WHERE status = 'failed' AND completed_at > $1 AND attempts >= $2
			ORDER BY completed_at
			LIMIT $3
		) failed
		GROUP BY type
		ORDER BY type`, now-FailureTime.Milliseconds(), maxAttempts, most)
	if err != nil {
		return nil, fmt.Errorf("count failed jobs: %w", err)
	}
	defer rows.Close()
	var all []Failures
	for rows.Next() {
		var one Failures
		if err := rows.Scan(&one.Type, &one.Jobs, &one.Since); err != nil {
			return nil, fmt.Errorf("count failed jobs: %w", err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
