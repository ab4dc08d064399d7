package files

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

const lockColumns = "l.token, l.entry_id, l.deep, l.exclusive, l.key_id, l.owner, l.expires_at"

// readLocks returns the locks in the rows of a query for lockColumns, without their paths. err is
// that of the query.
func readLocks(rows *sql.Rows, err error) (found []WriteLock, _ error) {
	if err != nil {
		return nil, fmt.Errorf("look for locks: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var l WriteLock
		if err := rows.Scan(&l.Token, &l.EntryID, &l.Deep, &l.Exclusive, &l.KeyID, &l.Owner, &l.ExpiresAt); err != nil {
			return nil, fmt.Errorf("look for locks: %w", err)
		}
		found = append(found, l)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for locks: %w", err)
	}
	return found, nil
}

// shortTrail is the number of ids in the shorter statement of locksOn: few paths are deeper.
const shortTrail = 10

// locksOn returns the locks on any of the entries with these ids that have not expired at now (ms).
func locksOn(q db.Querier, ids []string, now int64) (found []WriteLock, err error) {
	if len(ids) > shortTrail {
		err = db.EachChunk(ids, func(args []any) error {
			some, err := readLocks(q.Query("SELECT "+lockColumns+" FROM locks l WHERE l.entry_id "+db.InChunk+
				" AND l.expires_at > "+db.AfterChunk, args...))
			found = append(found, some...)
			return err
		}, now)
		return found, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, 0, shortTrail+1)
	args = append(args, now)
	for i := range shortTrail {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return readLocks(q.Query(`
		SELECT `+lockColumns+`
		FROM locks l
		WHERE l.entry_id IN ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AND l.expires_at > $1`, args...))
}

// locksBelow returns the locks on everything below a folder, at any depth, that have not expired at
// now (ms); not those in mounts below it. It walks up from the locked entries, which are few, not
// down the tree, and visits each folder once, however many locks are below it.
func locksBelow(q db.Querier, folder string, now int64) ([]WriteLock, error) {
	return readLocks(q.Query(`
		WITH RECURSIVE up (id, parent) AS (
			SELECT e.id, e.parent_id
			FROM entries e
			WHERE e.id IN (SELECT l.entry_id FROM locks l WHERE l.expires_at > $1)
			UNION
			SELECT e.id, e.parent_id
			FROM up u JOIN entries e ON e.id = u.parent
		), down (id) AS (
			SELECT u.id FROM up u WHERE u.parent = $2
			UNION
			SELECT u.id FROM down d JOIN up u ON u.parent = d.id
		)
		SELECT `+lockColumns+`
		FROM locks l
		WHERE l.entry_id IN (SELECT d.id FROM down d) AND l.expires_at > $1`, now, folder))
}

// countLocks counts the locks of an API key that have not expired at now (ms).
func countLocks(q db.Querier, keyID string, now int64) (n int, err error) {
	if err = q.QueryRow("SELECT COUNT(*) FROM locks WHERE key_id = $1 AND expires_at > $2", keyID, now).
		Scan(&n); err != nil {
		return 0, fmt.Errorf("count locks: %w", err)
	}
	return n, nil
}

// insertLock inserts the row of a new lock.
func insertLock(tx *db.Tx, l WriteLock) error {
	_, err := tx.Exec(
		"INSERT INTO locks (token, entry_id, deep, exclusive, key_id, owner, expires_at) VALUES ($1, $2, $3, $4, $5, "+
			"$6, $7)",
		l.Token, l.EntryID, l.Deep, l.Exclusive, l.KeyID, l.Owner, l.ExpiresAt)
	if err != nil {
		return fmt.Errorf("insert lock: %w", err)
	}
	return nil
}

// extendLock gives a lock, by its token, another end (ms).
func extendLock(tx *db.Tx, token string, until int64) error {
	if _, err := tx.Exec("UPDATE locks SET expires_at = $1 WHERE token = $2", until, token); err != nil {
		return fmt.Errorf("extend lock: %w", err)
	}
	return nil
}

// deleteLock deletes a lock by its token.
func deleteLock(tx *db.Tx, token string) error {
	return execDeleteLocks(tx, "DELETE FROM locks WHERE token = $1", token)
}

// deleteLocksOn deletes the locks on an entry itself.
func deleteLocksOn(tx *db.Tx, entryID string) error {
	return execDeleteLocks(tx, "DELETE FROM locks WHERE entry_id = $1", entryID)
}

// deleteLocksOnAll deletes all locks on several entries.
func deleteLocksOnAll(tx *db.Tx, entryIDs []string) error {
	return db.EachChunk(entryIDs, func(args []any) error {
		return execDeleteLocks(tx, "DELETE FROM locks WHERE entry_id "+db.InChunk, args...)
	})
}

// deleteLocksOfKey deletes all locks of an API key.
func deleteLocksOfKey(tx *db.Tx, keyID string) error {
	return execDeleteLocks(tx, "DELETE FROM locks WHERE key_id = $1", keyID)
}

// deleteExpiredLocks deletes the locks that have expired at now (ms).
func deleteExpiredLocks(tx *db.Tx, now int64) error {
	return execDeleteLocks(tx, "DELETE FROM locks WHERE expires_at <= $1", now)
}

// execDeleteLocks runs a statement that deletes locks, with its one argument.
func execDeleteLocks(tx *db.Tx, query string, args ...any) error {
	if _, err := tx.Exec(query, args...); err != nil {
		return fmt.Errorf("end locks: %w", err)
	}
	return nil
}
