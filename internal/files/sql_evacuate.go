package files

import (
	"context"
	"fmt"

	"larder/internal/db"
)

// evacuatedColumns are the columns of a sourceFile of which a statement has named the type.
const evacuatedColumns = "o.id, o.size, COALESCE(o.sha256, ''), o.provider_id, o.key"

// evacuationPasses list the objects of the provider $1 after the position $2, at most $3, with a
// position and a type. Objects have no type of their own: files and versions have one. The last
// pass finds the objects that neither has any more, and those that came meanwhile. An object may be
// listed more than once.
var evacuationPasses = []string{`
	SELECT e.id, e.mime_type, ` + evacuatedColumns + `
	FROM entries e JOIN objects o ON o.id = e.object_id
	WHERE e.id > $2 AND e.kind = 1 AND o.provider_id = $1
	ORDER BY e.id
	LIMIT $3`, `
	SELECT p.object_id, p.mime_type, ` + evacuatedColumns + `
	FROM past p JOIN objects o ON o.id = p.object_id
	WHERE p.object_id > $2 AND o.provider_id = $1
	ORDER BY p.object_id
	LIMIT $3`, `
	SELECT o.key, 'application/octet-stream', ` + evacuatedColumns + `
	FROM objects o
	WHERE o.key > $2 AND o.provider_id = $1
	ORDER BY o.key
	LIMIT $3`}

// evacuationPage returns the next objects of a pass, and the position of the last one.
func (e *evacuation) evacuationPage(ctx context.Context, pass, after string) (found []sourceFile, last string,
	err error) {
	rows, err := e.DB.Read(ctx).Query(pass, e.From, after, sourceFilesPerQuery)
	if err != nil {
		return nil, "", fmt.Errorf("list the objects of a provider: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c sourceFile
		var key string
		if err := rows.Scan(&last, &c.mimeType, &c.object, &c.size, &c.sha256, &c.Provider, &key); err != nil {
			return nil, "", fmt.Errorf("list the objects of a provider: %w", err)
		}
		c.Key = keyOf(key)
		found = append(found, c)
	}
	return found, last, rows.Err()
}

// ReplaceTrashProvider makes entries in the trash, which were deleted from mounts of one provider,
// those of another one, to which their content has been moved.
func ReplaceTrashProvider(tx *db.Tx, from, to string) error {
	if _, err := tx.Exec("UPDATE trash SET provider_id = $1 WHERE provider_id = $2", to, from); err != nil {
		return fmt.Errorf("replace the provider of the trash: %w", err)
	}
	return nil
}
