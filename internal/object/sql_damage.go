package object

import (
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
)

// Damaged is the fault of an object whose stored bytes are not the recorded ones; cause goes to the
// log.
func Damaged(cause error) error {
	return fault.New(fault.Damaged, "This file is damaged in its storage. Tell the administrator.").WithCause(cause)
}

// MarkDamaged marks an object as damaged since a time (ms), if it is still where it was read.
// Clients do not get its bytes then. It reports whether there is such an object; a mark that it has
// already stays.
func MarkDamaged(tx *db.Tx, objectID string, at Location, since int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE objects
		SET damaged_at = COALESCE(damaged_at, $1)
		WHERE id = $2 AND provider_id = $3 AND key = $4`, since, objectID, at.Provider, string(at.Key))
	if err != nil {
		return false, fmt.Errorf("mark object %s as damaged: %w", objectID, err)
	}
	return n == 1, nil
}

// ClearDamage removes the mark of an object that was read where it is and is as recorded.
func ClearDamage(tx *db.Tx, objectID string, at Location) error {
	_, err := tx.Exec("UPDATE objects SET damaged_at = NULL WHERE id = $1 AND provider_id = $2 AND key = $3", objectID,
		at.Provider, string(at.Key))
	if err != nil {
		return fmt.Errorf("unmark object %s: %w", objectID, err)
	}
	return nil
}

// clearLocalDamage removes the marks of all objects on local disks.
func clearLocalDamage(tx *db.Tx) error {
	_, err := tx.Exec(`
		UPDATE objects
		SET damaged_at = NULL
		WHERE damaged_at IS NOT NULL AND provider_id IN (SELECT id FROM providers WHERE type = 'store_a')`)
	if err != nil {
		return fmt.Errorf("unmark restored objects: %w", err)
	}
	return nil
}

// CountDamaged counts the objects that are marked as damaged.
func CountDamaged(q db.Querier) (n int64, err error) {
	if err := q.QueryRow("SELECT COUNT(*) FROM objects WHERE damaged_at IS NOT NULL").Scan(&n); err != nil {
		return 0, fmt.Errorf("count the damaged objects: %w", err)
	}
	return n, nil
}

// SameContent returns the locations of at most limit other objects with the same SHA-256 and size
// as an object, those without a mark of damage first. It reads all objects.
func SameContent(q db.Querier, objectID, sha256 string, size int64, limit int) (found []Location, err error) {
	rows, err := q.Query(`
		SELECT provider_id, key
		FROM objects
		WHERE sha256 = $1 AND size = $2 AND id <> $3
		ORDER BY damaged_at IS NOT NULL, id
		LIMIT $4`, sha256, size, objectID, limit)
	if err != nil {
		return nil, fmt.Errorf("look for the same content: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at Location
		var key string
		if err := rows.Scan(&at.Provider, &key); err != nil {
			return nil, fmt.Errorf("look for the same content: %w", err)
		}
		at.Key = blob.Key(key)
		found = append(found, at)
	}
	return found, rows.Err()
}
