package job

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// InsertCompleted records a job that was done in the transaction that asks for it. It sets status,
// progress and time of completion, the last to j.CreatedAt.
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

// Spec is a job to be done.
type Spec struct {
	ID, Type, OwnerID string
	Payload           string // for the handler of this type
	TotalBytes        int64  // as far as known
	CreatedAt         int64  // milliseconds
}

// Insert records a job that runs as soon as tx is committed.
func Insert(tx *db.Tx, n Spec) error {
	_, err := tx.Exec(`
		INSERT INTO jobs (id, type, owner_id, status, progress, error_message, created_at, payload, total_bytes, due)
		VALUES ($1, $2, $3, 'pending', 0, NULL, $4, $5, $6, $7)`,
		n.ID, n.Type, n.OwnerID, n.CreatedAt, n.Payload, n.TotalBytes, n.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	return nil
}

const columns = "id, type, owner_id, status, progress, error_message, created_at, completed_at, paused"

// scan reads a row of the columns.
func scan(row interface{ Scan(dest ...any) error }) (j Job, err error) {
	err = row.Scan(&j.ID, &j.Type, &j.OwnerID, &j.Status, &j.Progress, &j.ErrorMessage, &j.CreatedAt, &j.CompletedAt,
		&j.Paused)
	return j, err
}

// ByID returns a job of that owner. Fault: NotFound, also for a job of another owner.
func ByID(q db.Querier, ownerID, id string) (Job, error) {
	j, err := scan(q.QueryRow("SELECT "+columns+" FROM jobs WHERE id = $1 AND owner_id = $2", id, ownerID))
	if errors.Is(err, db.ErrNoRows) {
		return Job{}, fault.New(fault.NotFound, "There is no such job.")
	}
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

// List returns the newest jobs of that owner, at most limit, of all statuses when status is "".
func List(q db.Querier, ownerID, status string, limit int) ([]Job, error) {
	rows, err := q.Query(`
		SELECT `+columns+`
		FROM jobs
		WHERE owner_id = $1 AND (status = $2 OR $2 = '')
		ORDER BY created_at DESC, id
		LIMIT $3`, ownerID, status, limit)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer rows.Close()
	jobs := []Job{}
	for rows.Next() {
		j, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// maxRunningPerOwner is the number of jobs of one account that run at once, so that other accounts
// have their turn. Jobs of the service itself have no owner and no such limit.
const maxRunningPerOwner = "2"

// dueCondition is the SQL condition for jobs that can be claimed at the time $1, of the types in
// args. It is used before the claim and inside it.
func dueCondition(types []string, now int64) (condition string, args []any) {
	in, names := db.InList(2, types)
	args = append([]any{now}, names...)
	return `status IN ('pending', 'running') AND NOT paused AND due <= $1 AND type ` + in + ` AND (
		owner_id = '' OR (SELECT COUNT(*) FROM jobs r WHERE r.owner_id = jobs.owner_id AND r.status = 'running' AND r.due > $1) < ` + maxRunningPerOwner + ")", args
}

// anyDue reports whether a job of the types can be claimed at the time now (ms), so that a claim is
// worth a transaction.
func anyDue(q db.Querier, types []string, now int64) (due bool, err error) {
	if len(types) == 0 {
		return false, nil
	}
	condition, args := dueCondition(types, now)
	if err := q.QueryRow("SELECT EXISTS (SELECT 1 FROM jobs WHERE "+condition+")", args...).Scan(&due); err != nil {
		return false, fmt.Errorf("look for jobs: %w", err)
	}
	return due, nil
}

// claimNext claims, for run.holder until run.leaseUntil, the next job of the types that is due at
// now (ms), and fills in run. Of two claims of one job the second waits for the first, finds that
// the job is not due any more, and returns false.
func claimNext(tx *db.Tx, run *Run, types []string, now int64) (found bool, err error) {
	condition, args := dueCondition(types, now)
	holder, until := fmt.Sprintf("$%d", len(args)+1), fmt.Sprintf("$%d", len(args)+2)
	err = tx.QueryRow(`
		UPDATE jobs
		SET status = 'running', holder = `+holder+`, due = `+until+`, attempts = attempts + 1
		WHERE id = (SELECT id FROM jobs WHERE `+condition+` ORDER BY due, id LIMIT 1) AND `+condition+`
		RETURNING id, type, owner_id, payload, attempts, done_bytes, total_bytes, progress`,
		append(args, run.holder, run.leaseUntil)...).
		Scan(&run.ID, &run.Type, &run.OwnerID, &run.Payload, &run.attempts, &run.recordedBytes, &run.totalBytes,
			&run.shownPercent)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim a job: %w", err)
	}
	return true, nil
}

// updateHeld updates a job that run still holds: set is the text after SET, whose args begin at $3.
// doing names the change for the error. Error: ErrLeaseLost.
func updateHeld(tx *db.Tx, run *Run, doing, set string, args ...any) error {
	n, err := tx.Exec("UPDATE jobs SET "+set+" WHERE id = $1 AND holder = $2 AND status = 'running'",
		append([]any{run.ID, run.holder}, args...)...)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n == 0 {
		return fmt.Errorf("%s: %w", doing, ErrLeaseLost)
	}
	return nil
}

// renew extends the lease until a time (ms) and writes the percentage. Error: ErrLeaseLost.
func renew(tx *db.Tx, run *Run, until int64, percent int) error {
	return updateHeld(tx, run, "renew the lease of a job", "due = $3, progress = $4", until, percent)
}

// updateProgress adds bytes to those that need not be processed again, and sets the total. Error:
// ErrLeaseLost.
func updateProgress(tx *db.Tx, run *Run, bytes, total int64) error {
	return updateHeld(tx, run, "record the progress of a job",
		"done_bytes = done_bytes + $3, total_bytes = $4, attempts = 1", bytes, total)
}

// updatePayload replaces the payload. Error: ErrLeaseLost.
func updatePayload(tx *db.Tx, run *Run, payload string) error {
	return updateHeld(tx, run, "record a step of a job", "payload = $3", payload)
}

// requeue returns a job to the queue, due at a time (ms), with that number of attempts without
// progress. Error: ErrLeaseLost.
func requeue(tx *db.Tx, run *Run, due int64, attempts int) error {
	return updateHeld(tx, run, "requeue a job", "status = 'pending', holder = NULL, due = $3, attempts = $4", due,
		attempts)
}

// requeueAll takes every running job from its holder, to be claimed from now (ms) on.
func requeueAll(tx *db.Tx, now int64) error {
	_, err := tx.Exec("UPDATE jobs SET status = 'pending', holder = NULL, due = $1 WHERE status = 'running'", now)
	return err
}

// complete marks a job as completed at now (ms). Error: ErrLeaseLost.
func complete(tx *db.Tx, run *Run, now int64) error {
	if err := updateHeld(tx, run, "complete a job",
		"status = 'completed', holder = NULL, progress = 100, completed_at = $3", now); err != nil {
		return err
	}
	return deleteServiceJob(tx, run)
}

// fail marks a job as failed at now (ms), with message as its sentence. attempts is maxAttempts if
// CountFailures is to count the job, else 0. Error: ErrLeaseLost.
func fail(tx *db.Tx, run *Run, message string, attempts int, now int64) error {
	if err := updateHeld(tx, run, "fail a job",
		"status = 'failed', holder = NULL, error_message = $3, attempts = $4, completed_at = $5", message, attempts,
		now); err != nil {
		return err
	}
	if attempts == maxAttempts && run.OwnerID == "" {
		return clearPayload(tx, run)
	}
	return deleteServiceJob(tx, run)
}

// clearPayload removes the payload of a failed job of the service, which may be an address that a
// user typed. The row stays for CountFailures.
func clearPayload(tx *db.Tx, run *Run) error {
	if _, err := tx.Exec("UPDATE jobs SET payload = '' WHERE id = $1", run.ID); err != nil {
		return fmt.Errorf("clear the payload of a failed job: %w", err)
	}
	return nil
}

// deleteServiceJob deletes an ended job if it has no owner, so that it is one of the service
// itself. No client asks about it, and its payload may be an address that a user typed. The log has
// the reason why it failed.
func deleteServiceJob(tx *db.Tx, run *Run) error {
	if run.OwnerID != "" {
		return nil
	}
	if _, err := tx.Exec("DELETE FROM jobs WHERE id = $1", run.ID); err != nil {
		return fmt.Errorf("delete a job of the service: %w", err)
	}
	return nil
}

// deleteOld deletes up to 1,000 of the jobs that ended before a time (ms), and reports whether
// there may be more.
func deleteOld(tx *db.Tx, before int64) (more bool, err error) {
	const piece = 1000
	n, err := tx.Exec(
		"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE status IN ('completed', 'failed') AND completed_at "+
			"< $1 LIMIT $2)", before, piece)
	return n == piece, err
}

// CountOpen counts the jobs of that owner that have not ended.
func CountOpen(q db.Querier, ownerID string) (n int, err error) {
	err = q.QueryRow("SELECT COUNT(*) FROM jobs WHERE owner_id = $1 AND status IN ('pending', 'running')", ownerID).
		Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return n, nil
}

// Counts are how many jobs there are of each status.
type Counts struct{ Pending, Running, Completed, Failed int64 }

// Count counts the jobs of each status, up to most.
func Count(q db.Querier, most int64) (c Counts, err error) {
	part := func(status string) string {
		return "(SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE status = '" + status + "' LIMIT $1) " + status + ")"
	}
	err = q.QueryRow("SELECT "+part(Pending)+", "+part(Running)+", "+part(Completed)+", "+part(Failed), most).
		Scan(&c.Pending, &c.Running, &c.Completed, &c.Failed)
	if err != nil {
		return Counts{}, fmt.Errorf("count jobs by status: %w", err)
	}
	return c, nil
}

// CountOpenOfType counts the jobs of a type that have not ended, up to most.
func CountOpenOfType(q db.Querier, jobType string, most int) (n int, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*)
		FROM (SELECT 1 FROM jobs WHERE type = $1 AND status IN ('pending', 'running') LIMIT $2) open`, jobType, most).
		Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count jobs of a type: %w", err)
	}
	return n, nil
}

// OpenProgress returns the progress of the newest job of a type that has not ended, in percent, 0
// for none.
func OpenProgress(q db.Querier, jobType string) (percent int, err error) {
	err = q.QueryRow(`
		SELECT progress
		FROM jobs
		WHERE type = $1 AND status IN ('pending', 'running')
		ORDER BY created_at DESC
		LIMIT 1`, jobType).Scan(&percent)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return 0, fmt.Errorf("read the progress of a job: %w", err)
	}
	return percent, nil
}

// HasOpen reports whether a job of that type and payload has not ended yet.
func HasOpen(q db.Querier, jobType, payload string) (open bool, err error) {
	err = q.QueryRow(
		"SELECT EXISTS (SELECT 1 FROM jobs WHERE status IN ('pending', 'running') AND type = $1 AND payload = $2)",
		jobType, payload).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("look for a job: %w", err)
	}
	return open, nil
}

// HasEarlier reports whether another job of the type and payload of run was made before it and has
// not ended yet.
func HasEarlier(q db.Querier, run *Run) (there bool, err error) {
	err = q.QueryRow(`
		SELECT EXISTS (
			SELECT 1
			FROM jobs o JOIN jobs me ON me.type = o.type AND me.payload = o.payload
			WHERE me.id = $1 AND o.status IN ('pending', 'running') AND (o.created_at < me.created_at OR o.created_at = me.created_at AND o.id < me.id))`, run.ID).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for an earlier job: %w", err)
	}
	return there, nil
}

// AfterRestore returns to the queue, in a database restored from a backup, every job that ran when
// the backup was made: its holder works on the original. now is the present time in ms. It deletes
// jobs of the types in once, ended or not: the original has done them, and they must not be done
// twice.
func AfterRestore(tx *db.Tx, now int64, once []string) error {
	for _, jobType := range once {
		if _, err := tx.Exec("DELETE FROM jobs WHERE type = $1", jobType); err != nil {
			return fmt.Errorf("drop jobs: %w", err)
		}
	}
	if err := requeueAll(tx, now); err != nil {
		return fmt.Errorf("requeue jobs: %w", err)
	}
	return nil
}
