package object

import (
	"database/sql"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
)

// DiscardContent puts the key of content that no file refers to any more on the garbage list, due
// after the grace period, or sooner where its owner has too much garbage. size is in bytes; owner
// is the account that the garbage counts for, "" for none.
func (r *Registry) DiscardContent(tx *db.Tx, at Location, size int64, owner string) error {
	_, err := tx.Exec(`
		INSERT INTO garbage (provider_id, key, after, owner_id, size)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (provider_id, key) DO UPDATE
		SET after = excluded.after, owner_id = excluded.owner_id, size = excluded.size
		WHERE garbage.after >= 0`,
		at.Provider, string(at.Key), r.nowMs()+r.Grace.Milliseconds(), nullable(owner), size)
	if err != nil {
		return fmt.Errorf("put a key on the garbage list: %w", err)
	}
	r.NoteGrowth(tx, owner, size)
	return nil
}

// Discard puts a key on the garbage list: the collector deletes its object after the time after
// (ms), unless Undiscard takes it off the list before. A key that is on the list gets the new time,
// unless the collector has claimed it.
func Discard(tx *db.Tx, providerID string, key blob.Key, after int64) error {
	_, err := tx.Exec(`
		INSERT INTO garbage (provider_id, key, after)
		VALUES ($1, $2, $3)
		ON CONFLICT (provider_id, key) DO UPDATE SET after = excluded.after WHERE garbage.after >= 0`,
		providerID, string(key), max(after, 0))
	if err != nil {
		return fmt.Errorf("put a key on the garbage list: %w", err)
	}
	return nil
}

// Postpone gives a key on the garbage list another time (ms) at which it is due, later than before,
// while bytes are still being written. It reports false when the collector has claimed the key or
// it is not on the list.
func Postpone(tx *db.Tx, providerID string, key blob.Key, after int64) (bool, error) {
	n, err := tx.Exec("UPDATE garbage SET after = $1 WHERE provider_id = $2 AND key = $3 AND after >= 0", after,
		providerID, string(key))
	if err != nil {
		return false, fmt.Errorf("postpone a key on the garbage list: %w", err)
	}
	return n == 1, nil
}

// DiscardParts records, for a key on the garbage list, the store's upload uploadID under it, whose
// parts the collector then drops along with the object after the time after (ms). It reports false
// when the key is not on the list, or the collector has claimed it. Discard and Postpone keep the
// upload id.
func DiscardParts(tx *db.Tx, providerID string, key blob.Key, uploadID string, after int64) (bool, error) {
	n, err := tx.Exec(
		"UPDATE garbage SET after = $1, upload_id = $2 WHERE provider_id = $3 AND key = $4 AND after >= 0",
		after, uploadID, providerID, string(key))
	if err != nil {
		return false, fmt.Errorf("record the parts of a key on the garbage list: %w", err)
	}
	return n == 1, nil
}

// ErrCollected is the cause of Undiscard's fault when the collector has claimed the key.
var ErrCollected = errors.New("the collector has taken the key")

// Undiscard takes a key off the garbage list, in the transaction that makes an object refer to it.
// When the key is not on the list, or is claimed, the collector has begun to delete the object or
// has deleted it, whatever the clocks of the replicas say. Fault: Conflict, because of
// ErrCollected.
func Undiscard(tx *db.Tx, providerID string, key blob.Key) error {
	n, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND key = $2 AND after >= 0", providerID, string(key))
	if err != nil {
		return fmt.Errorf("take a key off the garbage list: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "The uploaded content has been removed. Upload it again.").
			WithCause(ErrCollected)
	}
	return nil
}

// CountGarbage counts the objects on the garbage list, up to most, and sums the bytes of those that
// were the content of files; the sizes of others are not known. For the metrics and the
// administration.
func CountGarbage(q db.Querier, most int64) (objects, bytes int64, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT)
		FROM (SELECT size FROM garbage WHERE NOT collected LIMIT $1) g`, most).Scan(&objects, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count garbage: %w", err)
	}
	return objects, bytes, nil
}

// discardedKeys lists keys of a provider on the garbage list whose objects have not been deleted
// yet, at most limit. parts reports whether one of them has an upload in parts, which cannot be
// looked up.
func discardedKeys(q db.Querier, providerID string, limit int) (keys []blob.Key, parts bool, err error) {
	rows, err := q.Query("SELECT key, upload_id FROM garbage WHERE provider_id = $1 AND NOT collected LIMIT $2",
		providerID, limit)
	if err != nil {
		return nil, false, fmt.Errorf("look for garbage of a provider: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var upload sql.NullString
		if err := rows.Scan(&key, &upload); err != nil {
			return nil, false, fmt.Errorf("look for garbage of a provider: %w", err)
		}
		keys = append(keys, blob.Key(key))
		parts = parts || upload.Valid
	}
	return keys, parts, rows.Err()
}

// forgetDeletedKeys takes those keys of a provider off the garbage list whose objects are deleted
// and which are only checked for late writes.
func forgetDeletedKeys(tx *db.Tx, providerID string) error {
	_, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND collected", providerID)
	return err
}

// deleteKeys takes keys of a provider without an upload in parts off the garbage list.
func deleteKeys(tx *db.Tx, providerID string, keys []blob.Key) error {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	return db.EachChunk(texts, func(args []any) error {
		_, err := tx.Exec("DELETE FROM garbage WHERE key "+db.InChunk+" AND provider_id = "+db.AfterChunk+
			" AND upload_id IS NULL", args...)
		return err
	}, providerID)
}
