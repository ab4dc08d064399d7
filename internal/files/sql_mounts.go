package files

import (
	"database/sql"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

func filesBelow(q db.Querier, folder string) (found bool, err error) {
	err = q.QueryRow(foldersBelow+`SELECT EXISTS (
		SELECT 1 FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1)`, folder).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for files in a mount: %w", err)
	}
	return found, nil
}

func hasObjects(q db.Querier, providerID string) (has bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM objects WHERE provider_id = $1)", providerID).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for objects of a provider: %w", err)
	}
	return has, nil
}

// discarded lists keys of a provider on the garbage list whose objects have not been deleted yet,
// at most limit, and tells whether there may be parts under one of them.
func discarded(q db.Querier, providerID string, limit int) (keys []blob.Key, parts bool, err error) {
	rows, err := q.Query("SELECT key, upload_id FROM garbage WHERE provider_id = $1 AND NOT collected LIMIT $2", providerID, limit)
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
		keys = append(keys, keyOf(key))
		parts = parts || upload.Valid
	}
	return keys, parts, rows.Err()
}

// forgetLate takes the keys of a provider off the garbage list under which an object may only come
// late.
func forgetLate(tx *db.Tx, providerID string) error {
	_, err := tx.Exec("DELETE FROM garbage WHERE provider_id = $1 AND collected", providerID)
	return err
}

// forgetKeys takes keys off the garbage list.
func forgetKeys(tx *db.Tx, providerID string, keys []blob.Key) error {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	return db.EachChunk(texts, func(args []any) error {
		_, err := tx.Exec("DELETE FROM garbage WHERE key "+db.InChunk+" AND provider_id = "+db.AfterChunk+" AND upload_id IS NULL", args...)
		return err
	}, providerID)
}
