package files

import (
	"context"
	"fmt"

	"larder/internal/db"
	"larder/internal/object"
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

// mountFiles begins a query with the files of the mount $5 with the root $4, those in the trash
// included.
const mountFiles = `
	WITH RECURSIVE sub(id) AS (
		SELECT CAST($4 AS TEXT)
		UNION ALL
		SELECT t.entry_id FROM trash t WHERE t.mount_id = $5
		UNION ALL
		SELECT e.id FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 0),
	f(id, mime_type, object_id) AS (
		SELECT e.id, e.mime_type, e.object_id
		FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1
		UNION ALL
		SELECT e.id, e.mime_type, e.object_id
		FROM trash t JOIN entries e ON e.id = t.entry_id AND e.kind = 1
		WHERE t.mount_id = $5)`

// mountPasses are evacuationPasses for one mount. Each page goes through all its folders, so pages
// are large.
var mountPasses = []string{mountFiles + `
	SELECT f.id, f.mime_type, ` + evacuatedColumns + `
	FROM f JOIN objects o ON o.id = f.object_id
	WHERE f.id > $2 AND o.provider_id = $1
	ORDER BY f.id
	LIMIT $3`, mountFiles + `
	SELECT p.object_id, p.mime_type, ` + evacuatedColumns + `
	FROM f JOIN past p ON p.entry_id = f.id JOIN objects o ON o.id = p.object_id
	WHERE p.object_id > $2 AND o.provider_id = $1
	ORDER BY p.object_id
	LIMIT $3`}

// evacuationPage runs the query pass for the objects after a position, at most pageSize, and
// returns them with the position of the last one. The position is "" before the first page.
func (e *evacuation) evacuationPage(ctx context.Context, pass, after string) (found []sourceFile, last string,
	err error) {
	args := []any{e.From, after, e.pageSize}
	if e.MountID != "" {
		args = append(args, e.RootID, e.MountID)
	}
	rows, err := e.DB.Read(ctx).Query(pass, args...)
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

// mimeTypeOf returns the type of an object: that of one of its files or versions. It reads all of
// them.
func mimeTypeOf(q db.Querier, objectID string) (mimeType string, err error) {
	err = q.QueryRow(`
		SELECT COALESCE(
			(SELECT mime_type FROM entries WHERE object_id = $1 LIMIT 1),
			(SELECT mime_type FROM past WHERE object_id = $1 LIMIT 1),
			'application/octet-stream')`, objectID).Scan(&mimeType)
	if err != nil {
		return "", fmt.Errorf("look up the type of object %s: %w", objectID, err)
	}
	return mimeType, nil
}

// LeftToEvacuate counts the objects that an evacuation still has to move. Of the parameters of
// mountFiles the last two are those of the mount.
func (t *Tree) LeftToEvacuate(ctx context.Context, how Evacuation) (left object.Total, err error) {
	if how.MountID == "" {
		return object.CountIn(t.DB.Read(ctx), how.From)
	}
	err = t.DB.Read(ctx).QueryRow(mountFiles+`
		SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT)
		FROM (
			SELECT o.id, o.size
			FROM f JOIN objects o ON o.id = f.object_id
			WHERE o.provider_id = $1
			UNION
			SELECT o.id, o.size
			FROM f JOIN past p ON p.entry_id = f.id JOIN objects o ON o.id = p.object_id
			WHERE o.provider_id = $2) x
		LIMIT $3`, how.From, how.From, 1, how.RootID, how.MountID).Scan(&left.Objects, &left.Bytes)
	if err != nil {
		return object.Total{}, fmt.Errorf("count the objects of a mount: %w", err)
	}
	return left, nil
}

// ReplaceTrashProvider ends an evacuation for the trash: entries deleted from mounts of the
// provider from, whose content has been moved, are recorded as of the provider to. mountID selects
// those of one mount, "" those of all.
func ReplaceTrashProvider(tx *db.Tx, from, to, mountID string) error {
	_, err := tx.Exec("UPDATE trash SET provider_id = $1 WHERE provider_id = $2 AND (mount_id = $3 OR $3 = '')", to,
		from, mountID)
	if err != nil {
		return fmt.Errorf("replace the provider of the trash: %w", err)
	}
	return nil
}
