package upload

import (
	"fmt"

	"larder/internal/db"
)

// notCompleting is the SQL condition that no completion of a session holds its lease, and that the
// store is not assembling after one that broke off; see assembling. now is the placeholder of the
// present time (ms).
func notCompleting(now string) string {
	return fmt.Sprintf("(completing_until IS NULL OR completing_until + %d <= %s OR completing_until > %[2]s + %d)",
		assemblyTime.Milliseconds(), now, maxLease.Milliseconds())
}

// takeLease gives the lease of the pending session r until a time (ms) to the completion by,
// provided that the lease has not changed since r was read, and reports whether it did. now is in
// ms.
func takeLease(tx *db.Tx, r row, by string, until, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE upload_sessions
		SET completing_by = $1, completing_until = $2
		WHERE id = $3 AND status = 'pending' AND expires_at > $4
			AND COALESCE(completing_by, '') = $5 AND COALESCE(completing_until, 0) = $6`,
		by, until, r.id, now, r.completingBy, r.completingUntil)
	return n == 1, err
}

// renewLease extends the lease of the completion by until a time (ms), unless another one has it by
// now.
func renewLease(tx *db.Tx, id, by string, until int64) error {
	_, err := tx.Exec("UPDATE upload_sessions SET completing_until = $1 WHERE id = $2 AND completing_by = $3", until,
		id, by)
	return err
}

// endLease ends the lease of the completion by, unless another one has it by now. asked is when the
// store was last asked without a clear answer (ms), 0 for never.
func endLease(tx *db.Tx, id, by string, asked int64) error {
	_, err := tx.Exec(`
		UPDATE upload_sessions
		SET completing_by = NULL, completing_until = NULLIF(CAST($1 AS BIGINT), 0)
		WHERE id = $2 AND completing_by = $3`, asked, id, by)
	return err
}
