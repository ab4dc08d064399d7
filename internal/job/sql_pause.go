package job

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// Pause takes a job of that owner from its holder, if it has one, and keeps all Runners from
// claiming it until Resume. The holder notices it like a lost lease, within seconds. A job that is
// paused already stays so. Faults: NotFound, Conflict for a job that has ended or is not of the
// type.
func Pause(tx *db.Tx, ownerID, id, jobType string) (Job, error) {
	return setPaused(tx, ownerID, id, jobType, "status = 'pending', holder = NULL, paused = TRUE")
}

// Resume makes a paused job due now (ms). A job that is not paused stays as it is. Faults: those of
// Pause.
func Resume(tx *db.Tx, ownerID, id, jobType string, now int64) (Job, error) {
	return setPaused(tx, ownerID, id, jobType,
		"due = CASE WHEN paused THEN CAST($4 AS BIGINT) ELSE due END, paused = FALSE", now)
}

// setPaused changes an open job of that owner and type by set, the text after SET, whose args begin
// at $4. Faults: those of Pause.
func setPaused(tx *db.Tx, ownerID, id, jobType, set string, args ...any) (Job, error) {
	j, err := scan(tx.QueryRow("UPDATE jobs SET "+set+
		" WHERE id = $1 AND owner_id = $2 AND type = $3 AND status IN ('pending', 'running') RETURNING "+columns,
		append([]any{id, ownerID, jobType}, args...)...))
	if err == nil {
		return j, nil
	}
	if !errors.Is(err, db.ErrNoRows) {
		return Job{}, fmt.Errorf("pause or resume a job: %w", err)
	}
	if j, err = ByID(tx, ownerID, id); err != nil {
		return Job{}, err
	}
	if j.Status == Completed || j.Status == Failed {
		return Job{}, fault.New(fault.Conflict, "This job has ended already.")
	}
	return Job{}, fault.New(fault.Conflict, "Only evacuations can be paused and resumed.")
}
