package upload

import (
	"database/sql"

	"larder/internal/db"
)

// listSessions lists the user's sessions, the newest first and at most maxListed: with open those
// that are pending at now (ms), with kept expired ones whose parts are kept, or will be after the
// next sweep. keyID selects those made with that API key, "" all.
func listSessions(q db.Querier, userID, keyID string, open, kept bool, now int64) ([]row, error) {
	return scanAll(q.Query(`SELECT `+columns+`
		FROM upload_sessions
		WHERE user_id = $1 AND ($2 = '' OR key_id = $2) AND NOT one_shot
			AND ($3 AND status = 'pending' AND expires_at > $4
				OR $5 AND kept_until > $4
				OR $5 AND status = 'pending' AND expires_at <= $4 AND expires_at > $6 AND total_parts IS NOT NULL AND idempotency_key IS NOT NULL
					AND COALESCE(begun_at, created_at) > $7)
		ORDER BY created_at DESC, id
		LIMIT $8`, userID, keyID, open, now, kept, now-keepPartsFor.Milliseconds(), now-takeoverWindow.Milliseconds(),
		maxListed))
}

// expiredPending lists pending sessions that have expired at now (ms) and have no running
// completion, in the order of their expiry, those after the given one (the zero row for the first
// page) and at most limit.
func expiredPending(q db.Querier, now int64, after row, limit int) ([]row, error) {
	return scanAll(q.Query(`SELECT `+columns+`
		FROM upload_sessions
		WHERE status = 'pending' AND expires_at <= $1 AND (expires_at, id) > ($2, $3) AND `+notCompleting("$1")+`
		ORDER BY expires_at, id
		LIMIT $4`, now, after.expiresAt, after.id, limit))
}

// overdueKeptParts lists expired sessions whose parts have been kept long enough at now (ms), at
// most limit.
func overdueKeptParts(q db.Querier, now int64, limit int) ([]row, error) {
	return scanAll(q.Query(`SELECT `+columns+`
		FROM upload_sessions
		WHERE kept_until <= $1
		ORDER BY kept_until
		LIMIT $2`, now, limit))
}

// deleteOldSessions deletes the rows of completed sessions after two days, when no client repeats
// the completion any more, and of aborted and expired ones a day after their expiry. now is in ms.
func deleteOldSessions(tx *db.Tx, now int64) error {
	err := deleteSessionsWhere(tx, `status = 'completed' AND completed_at <= $1 AND expires_at <= $2`,
		now-keepCompletedFor.Milliseconds(), now)
	if err == nil {
		err = deleteSessionsWhere(tx, `status IN ('aborted', 'expired') AND expires_at <= $1 AND kept_until IS NULL`,
			now-keepEndedFor.Milliseconds())
	}
	return err
}

// deleteSessionsWhere deletes the sessions that meet the SQL condition which, with their recorded
// parts; args are its parameters.
func deleteSessionsWhere(tx *db.Tx, which string, args ...any) error {
	_, err := tx.Exec(`DELETE FROM upload_parts WHERE session_id IN (SELECT id FROM upload_sessions WHERE `+which+`)`,
		args...)
	if err == nil {
		_, err = tx.Exec(`DELETE FROM upload_sessions WHERE `+which, args...)
	}
	return err
}

// scanAll reads all rows of columns; err is that of the query.
func scanAll(rows *sql.Rows, err error) ([]row, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []row
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
