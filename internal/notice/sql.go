package notice

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"larder/internal/db"
)

// insert adds a notification, unless the account has one of that event or does not exist, and
// reports whether it did.
func insert(tx *db.Tx, e Event) (bool, error) {
	params, err := json.Marshal(e.Params)
	if err != nil {
		return false, fmt.Errorf("encode a notification: %w", err)
	}
	n, err := tx.Exec(`
		INSERT INTO notifications (id, user_id, subject, kind, params, created_at)
		SELECT $1, id, $3, $4, $5, CAST($6 AS BIGINT)
		FROM users
		WHERE id = $2
		ON CONFLICT (user_id, subject) DO NOTHING`,
		e.ID, e.UserID, string(e.Kind)+":"+e.Subject, string(e.Kind), string(params), e.At)
	if err != nil {
		return false, fmt.Errorf("insert a notification: %w", err)
	}
	return n == 1, nil
}

// deleteBeyond deletes the oldest notifications of an account beyond a number, at most 1,000 in a
// call.
func deleteBeyond(tx *db.Tx, userID string, number int) error {
	const piece = 1000
	_, err := tx.Exec(`
		DELETE FROM notifications
		WHERE id IN (
			SELECT id
			FROM notifications
			WHERE user_id = $1
			ORDER BY created_at DESC, id DESC
			LIMIT $2 OFFSET $3)`, userID, piece, number)
	if err != nil {
		return fmt.Errorf("delete the oldest notifications: %w", err)
	}
	return nil
}

// list returns at most limit notifications of an account, newest first: those older than the one
// with the id before, unless that is "".
func list(q db.Querier, userID, before string, limit int64) ([]Notification, error) {
	rows, err := q.Query("SELECT "+columns+`
		FROM notifications
		WHERE user_id = $1 AND ($2 = '' OR (created_at, id) < (
			SELECT b.created_at, b.id
			FROM notifications b
			WHERE b.id = $2 AND b.user_id = $1))
		ORDER BY created_at DESC, id DESC
		LIMIT $3`, userID, before, limit)
	return scanAll(rows, err)
}

// listUnreadJobs returns the newest unread notifications of jobs of an account since a time (ms),
// at most limit.
func listUnreadJobs(q db.Querier, userID string, since int64, limit int) ([]Notification, error) {
	rows, err := q.Query("SELECT "+columns+`
		FROM notifications
		WHERE user_id = $1 AND created_at >= $2 AND kind = 'job' AND read_at IS NULL
		ORDER BY created_at DESC, id DESC
		LIMIT $3`, userID, since, limit)
	return scanAll(rows, err)
}

const columns = "id, kind, params, created_at, read_at IS NOT NULL"

// scanAll reads the rows of a query for columns, whose result it takes.
func scanAll(rows *sql.Rows, err error) ([]Notification, error) {
	if err != nil {
		return nil, fmt.Errorf("list notifications: %w", err)
	}
	defer rows.Close()
	var all []Notification
	for rows.Next() {
		var n Notification
		var params string
		if err := rows.Scan(&n.ID, &n.Kind, &params, &n.CreatedAt, &n.Read); err != nil {
			return nil, fmt.Errorf("list notifications: %w", err)
		}
		if err := json.Unmarshal([]byte(params), &n.Params); err != nil {
			return nil, fmt.Errorf("read a notification: %w", err)
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// updateParams replaces the parameters of a notification and its creation time, at (ms), so that it
// becomes the newest.
func updateParams(tx *db.Tx, id string, p Params, at int64) error {
	params, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a notification: %w", err)
	}
	if _, err := tx.Exec("UPDATE notifications SET params = $2, created_at = $3 WHERE id = $1", id, string(params),
		at); err != nil {
		return fmt.Errorf("change a notification: %w", err)
	}
	return nil
}

// countUnread counts the unread notifications of an account.
func countUnread(q db.Querier, userID string) (n int64, err error) {
	err = q.QueryRow("SELECT COUNT(*) FROM notifications WHERE user_id = $1 AND read_at IS NULL", userID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unread notifications: %w", err)
	}
	return n, nil
}

// markRead marks those notifications of an account as read at now (ms) that have one of the ids.
func markRead(tx *db.Tx, userID string, ids []string, now int64) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec(`
			UPDATE notifications
			SET read_at = `+db.AfterChunk2+`
			WHERE id `+db.InChunk+` AND user_id = `+db.AfterChunk+` AND read_at IS NULL`, args...)
		return err
	}, userID, now)
}

// markAllRead marks all notifications of an account as read at now (ms).
func markAllRead(tx *db.Tx, userID string, now int64) error {
	_, err := tx.Exec("UPDATE notifications SET read_at = $2 WHERE user_id = $1 AND read_at IS NULL", userID, now)
	return err
}

// deleteOfUser deletes all notifications of an account.
func deleteOfUser(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("DELETE FROM notifications WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete the notifications of an account: %w", err)
	}
	return nil
}

// deleteOld deletes up to 1,000 of the notifications that were made before a time (ms), and reports
// whether there may be more.
func deleteOld(tx *db.Tx, before int64) (more bool, err error) {
	const piece = 1000
	n, err := tx.Exec(`
		DELETE FROM notifications
		WHERE id IN (SELECT id FROM notifications WHERE created_at < $1 LIMIT $2)`, before, piece)
	return n == piece, err
}
