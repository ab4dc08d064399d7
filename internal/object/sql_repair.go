package object

import (
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

// Recount sets the number of references of an object to the number of files and versions that have
// it, for fsck. Without any it becomes garbage, due after the grace period.
func (r *Registry) Recount(tx *db.Tx, objectID string) error {
	// The lock comes first: another transaction that changes the count either did so before, and
	// the next statement sees its file, or waits.
	if _, err := tx.Exec("UPDATE objects SET refs = refs WHERE id = $1", objectID); err != nil {
		return fmt.Errorf("lock object %s: %w", objectID, err)
	}
	_, err := tx.Exec(`
		UPDATE objects
		SET refs = (SELECT count(*) FROM entries WHERE object_id = $1) + (SELECT count(*) FROM past WHERE object_id = $1)
		WHERE id = $1`, objectID)
	if err != nil {
		return fmt.Errorf("count the files of object %s: %w", objectID, err)
	}
	var provider, key string
	err = tx.QueryRow("DELETE FROM objects WHERE id = $1 AND refs = 0 RETURNING provider_id, key", objectID).
		Scan(&provider, &key)
	if errors.Is(err, db.ErrNoRows) {
		return nil // a file refers to it
	}
	if err != nil {
		return fmt.Errorf("delete object %s: %w", objectID, err)
	}
	return Discard(tx, provider, blob.Key(key), r.nowMs()+r.Grace.Milliseconds())
}

// UndiscardReferenced takes a key off the garbage list when an object in use has it, even if the
// collector has claimed it. For fsck, which finds such keys.
func UndiscardReferenced(tx *db.Tx, providerID, key string) error {
	_, err := tx.Exec(`
		DELETE FROM garbage
		WHERE provider_id = $1 AND key = $2 AND EXISTS (SELECT 1 FROM objects o WHERE o.provider_id = $1 AND o.key = $2 AND o.refs > 0)`,
		providerID, key)
	if err != nil {
		return fmt.Errorf("take a key off the garbage list: %w", err)
	}
	return nil
}

// FillHash records the SHA-256 (hexadecimal) of an object that has none yet and is still at the
// location where it was read; otherwise it does nothing.
func FillHash(tx *db.Tx, objectID, providerID string, key blob.Key, sha256 string) error {
	_, err := tx.Exec(
		"UPDATE objects SET sha256 = $1 WHERE id = $2 AND provider_id = $3 AND key = $4 AND sha256 IS NULL",
		sha256, objectID, providerID, string(key))
	if err != nil {
		return fmt.Errorf("note the SHA-256 of object %s: %w", objectID, err)
	}
	return nil
}
