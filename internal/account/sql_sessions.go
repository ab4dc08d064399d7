package account

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"larder/internal/db"
)

// sessionRow is a session as it is stored. Times are in ms.
type sessionRow struct {
	id, userID                       string
	sessionVersion, roleVersion      int64
	agent, ip                        string
	createdAt, lastUsedAt, expiresAt int64
}

// insertSession stores a session, which the list of sessions then shows. It reports false when its
// id is taken.
func insertSession(tx *db.Tx, r sessionRow) (bool, error) {
	n, err := tx.Exec(`
		INSERT INTO sessions (id, user_id, session_version, role_version, agent, ip, created_at, last_used_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT DO NOTHING`,
		r.id, r.userID, r.sessionVersion, r.roleVersion, r.agent, r.ip, r.createdAt, r.lastUsedAt, r.expiresAt)
	if err != nil {
		return false, fmt.Errorf("insert a session: %w", err)
	}
	return n == 1, nil
}

// isSessionEnded reports whether the session with an id of a user was ended individually. Error:
// db.ErrNoRows for a session without a row, which an older replica has issued.
func isSessionEnded(q db.Querier, userID, id string) (ended bool, err error) {
	err = q.QueryRow("SELECT ended_at IS NOT NULL FROM sessions WHERE id = $1 AND user_id = $2", id, userID).
		Scan(&ended)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		err = fmt.Errorf("read a session: %w", err)
	}
	return ended, err
}

// sessionOwner is what decides about the sessions of a user.
type sessionOwner struct {
	sessionVersion, roleVersion int64
	active                      bool
	unlistedEnded               bool // sessions without a row have ended
}

// lockSessions locks the user's row until tx ends and returns the values in it that decide which
// sessions last: while one transaction changes them, the others wait. Fault: SessionRevoked when
// the account is gone.
func lockSessions(tx *db.Tx, userID string) (o sessionOwner, err error) {
	err = tx.QueryRow(`
		UPDATE users
		SET unlisted_ended_at = unlisted_ended_at
		WHERE id = $1
		RETURNING session_version, role_version, status = 'active', unlisted_ended_at IS NOT NULL`, userID,
	).Scan(&o.sessionVersion, &o.roleVersion, &o.active, &o.unlistedEnded)
	if errors.Is(err, db.ErrNoRows) {
		return o, sessionEnded()
	}
	if err != nil {
		return o, fmt.Errorf("lock the sessions of a user: %w", err)
	}
	return o, nil
}

// lastingSessionCondition is the condition for the sessions of the user $1 that last at the time
// $2 (ms). An older replica that raises a version leaves the rows of the ended sessions, and so
// does a sign-in at the same moment.
const lastingSessionCondition = `user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND EXISTS (
			SELECT 1
			FROM users
			WHERE id = $1 AND session_version = sessions.session_version AND role_version = sessions.role_version)`

// listSessions reads at most limit sessions of a user that last at now (ms), the last used first.
func listSessions(q db.Querier, userID string, now int64, limit int) ([]sessionRow, error) {
	rows, err := q.Query(`
		SELECT id, agent, ip, created_at, last_used_at, expires_at
		FROM sessions
		WHERE `+lastingSessionCondition+`
		ORDER BY last_used_at DESC, id
		LIMIT $3`, userID, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	var all []sessionRow
	for rows.Next() {
		var r sessionRow
		if err := rows.Scan(&r.id, &r.agent, &r.ip, &r.createdAt, &r.lastUsedAt, &r.expiresAt); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// endSession ends one session of a user that lasts at now (ms). Fault: NotFound.
func endSession(tx *db.Tx, userID, id string, now int64) error {
	n, err := tx.Exec("UPDATE sessions SET ended_at = $2 WHERE id = $3 AND "+lastingSessionCondition, userID, now, id)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	if n == 0 {
		return noSession()
	}
	return nil
}

// endOtherSessions ends all sessions of a user at now (ms) except the one with the id kept, also
// those without a row. lockSessions must come before, so that no session is added meanwhile that
// this statement does not see.
func endOtherSessions(tx *db.Tx, userID, kept string, now int64) error {
	_, err := tx.Exec("UPDATE users SET unlisted_ended_at = $2 WHERE id = $1", userID, now)
	if err == nil {
		_, err = tx.Exec("UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND id <> $3 AND ended_at IS NULL",
			userID, now, kept)
	}
	if err != nil {
		return fmt.Errorf("end the other sessions: %w", err)
	}
	return nil
}

// endExcessSessions ends the sessions of a user that last at now (ms) beyond the limit, those first
// that were not used for the longest time. It reports whether there were any.
func endExcessSessions(tx *db.Tx, userID string, now int64, limit int) (bool, error) {
	n, err := tx.Exec(`
		UPDATE sessions
		SET ended_at = $2
		WHERE id IN (
			SELECT id
			FROM sessions
			WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2
			ORDER BY last_used_at DESC, created_at DESC, id
			LIMIT 1000 OFFSET $3)`, userID, now, limit)
	if err != nil {
		return false, fmt.Errorf("end sessions beyond the limit: %w", err)
	}
	return n > 0, nil
}

// keepLastSeen begins a statement that copies the last use of each user's sessions to the row of
// the user. It must run before these sessions are deleted. The condition seenLater selects the
// users whose sessions were used later than the row of the user says.
const (
	keepLastSeen = `
		UPDATE users
		SET last_seen_at = (SELECT MAX(last_used_at) FROM sessions WHERE user_id = users.id)
		`
	seenLater = "EXISTS (SELECT 1 FROM sessions WHERE user_id = users.id AND last_used_at > COALESCE(last_seen_at, 0))"
)

// readLastSeen returns the time (ms) at which each of some users last used a session, by id; users
// who never did are left out.
func readLastSeen(q db.Querier, userIDs []string) (map[string]int64, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query(`
		SELECT id, MAX(at)
		FROM (
			SELECT id, last_seen_at AS at FROM users WHERE last_seen_at IS NOT NULL AND id `+in+`
			UNION ALL
			SELECT user_id, last_used_at FROM sessions WHERE user_id `+in+`
		) AS uses
		GROUP BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read when users were last seen: %w", err)
	}
	defer rows.Close()
	seen := map[string]int64{}
	for rows.Next() {
		var id string
		var at int64
		if err := rows.Scan(&id, &at); err != nil {
			return nil, fmt.Errorf("read when users were last seen: %w", err)
		}
		seen[id] = at
	}
	return seen, rows.Err()
}

// countSessions counts the sessions of a user that last at now (ms).
func countSessions(q db.Querier, userID string, now int64) (n int64, err error) {
	err = q.QueryRow("SELECT COUNT(*) FROM sessions WHERE "+lastingSessionCondition, userID, now).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return n, nil
}

// deleteStaleSessions deletes the rows of sessions that a raised version of the user has ended, and
// all rows of a user that is gone. The user's last use is kept.
func deleteStaleSessions(tx *db.Tx, userID string) error {
	_, err := tx.Exec(keepLastSeen+"WHERE id = $1 AND "+seenLater, userID)
	if err == nil {
		_, err = tx.Exec(`
			DELETE FROM sessions
			WHERE user_id = $1 AND NOT EXISTS (
				SELECT 1
				FROM users
				WHERE id = $1 AND session_version = sessions.session_version AND role_version = sessions.role_version)`,
			userID)
	}
	if err != nil {
		return fmt.Errorf("delete ended sessions: %w", err)
	}
	return nil
}

// deleteExpiredSessions deletes the rows of sessions that expired at before (ms) or earlier. The
// last use of their users is kept.
func deleteExpiredSessions(tx *db.Tx, before int64) error {
	_, err := tx.Exec(keepLastSeen+"WHERE id IN (SELECT user_id FROM sessions WHERE expires_at <= $1) AND "+seenLater,
		before)
	if err == nil {
		_, err = tx.Exec("DELETE FROM sessions WHERE expires_at <= $1", before)
	}
	if err != nil {
		return fmt.Errorf("delete expired sessions: %w", err)
	}
	return nil
}

// AfterRotation ends the rows of all sessions at a time (ms), when a new master key has made their
// tokens invalid. The sweep deletes the rows later: a download address that a session made ends
// with its row, and must last for its 15 minutes.
func AfterRotation(tx *db.Tx, now int64) error {
	_, err := tx.Exec("UPDATE sessions SET expires_at = $1 WHERE expires_at > $1", now)
	if err == nil {
		_, err = tx.Exec("DELETE FROM csrf_tokens")
	}
	if err != nil {
		return fmt.Errorf("end all sessions: %w", err)
	}
	return nil
}

// writeSessionUses sets the times (ms) of last use of sessions, by session id, and never moves one
// back. It writes in the order of ids, so that two replicas cannot deadlock.
func writeSessionUses(tx *db.Tx, uses map[string]int64) error {
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		_, err := tx.Exec("UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2", id, uses[id])
		if err != nil {
			return err
		}
	}
	return nil
}
