package files

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/object"
)

// anyForeignContent reports whether a file below a folder, at any depth, has its content in another
// provider than the given one. It stops at the first.
func anyForeignContent(q db.Querier, folder, provider string) (found bool, err error) {
	err = q.QueryRow(foldersBelow+`
		SELECT EXISTS (
			SELECT 1
			FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1 JOIN objects o ON o.id = e.object_id
			WHERE o.provider_id <> $2)`, folder, provider).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look through a folder: %w", err)
	}
	return found, nil
}

// sourceFile is a file, or an object without a known file, whose content is to be copied to another
// provider, with its location.
type sourceFile struct {
	id       string
	position namePosition
	object   string
	size     int64  // bytes; the store must have as many
	sha256   string // "" when it is not known yet
	object.Location
	mimeType string
}

// sourceFileColumns are the columns that scanSourceFile reads, with the key of the order o.
func sourceFileColumns(o nameOrder) string {
	return "e.id, e." + o.column() + ", e.name, o.id, o.size, COALESCE(o.sha256, ''), o.provider_id, o.key, e.mime_type"
}

// scanSourceFile reads a row of sourceFileColumns.
func scanSourceFile(row interface{ Scan(dest ...any) error }) (c sourceFile, err error) {
	var key string
	err = row.Scan(&c.id, &c.position.key, &c.position.name, &c.object, &c.size, &c.sha256, &c.Provider, &key,
		&c.mimeType)
	c.Key = keyOf(key)
	return c, err
}

// foreignFilesIn lists the files directly in a folder after a position in the order o whose content
// is not in the provider that the job copies to, at most limit.
func (t *transfer) foreignFilesIn(ctx context.Context, folder string, o nameOrder, after namePosition,
	limit int) ([]sourceFile, error) {
	rows, err := t.DB.Read(ctx).Query(`
		SELECT `+sourceFileColumns(o)+`
		FROM entries e JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.kind = 1 AND `+o.after(t.DB.Dialect(), "$2", "$3")+` AND o.provider_id <> $4
		ORDER BY `+o.orderBy("")+`
		LIMIT $5`, folder, after.key, after.name, t.payload.Provider, limit)
	if err != nil {
		return nil, fmt.Errorf("list what is to be copied: %w", err)
	}
	defer rows.Close()
	var found []sourceFile
	for rows.Next() {
		c, err := scanSourceFile(rows)
		if err != nil {
			return nil, fmt.Errorf("list what is to be copied: %w", err)
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

// foreignFile returns the file with this id as the only element if its content is in another
// provider than the given one; none otherwise, and for a folder or an unknown id.
func foreignFile(q db.Querier, id, provider string) ([]sourceFile, error) {
	c, err := scanSourceFile(q.QueryRow(`
		SELECT `+sourceFileColumns(natural)+`
		FROM entries e JOIN objects o ON o.id = e.object_id
		WHERE e.id = $1 AND o.provider_id <> $2`, id, provider))
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up what is to be copied: %w", err)
	}
	return []sourceFile{c}, nil
}

// folderAfter returns the next folder in the folder parent after a position in the order o, with
// its own position; id is "" when there is none.
func (t *transfer) folderAfter(ctx context.Context, parent string, o nameOrder, after namePosition) (id string,
	at namePosition, err error) {
	err = t.DB.Read(ctx).QueryRow(`
		SELECT e.id, e.`+o.column()+`, e.name
		FROM entries e
		WHERE e.parent_id = $1 AND e.kind = 0 AND `+o.after(t.DB.Dialect(), "$2", "$3")+`
		ORDER BY `+o.orderBy("")+`
		LIMIT 1`, parent, after.key, after.name).Scan(&id, &at.key, &at.name)
	if errors.Is(err, db.ErrNoRows) {
		return "", after, nil
	}
	if err != nil {
		return "", after, fmt.Errorf("look for the next folder: %w", err)
	}
	return id, at, nil
}

// lockContent locks a file until the transaction ends, and reports whether it still has the object
// that the caller has copied.
func lockContent(tx *db.Tx, id, object string) (there bool, err error) {
	n, err := tx.Exec("UPDATE entries SET updated_at = updated_at WHERE id = $1 AND object_id = $2", id, object)
	if err != nil {
		return false, fmt.Errorf("lock a file: %w", err)
	}
	return n == 1, nil
}

// setObject gives a file an object of its own with the same content, when it shared one; its times
// stay.
func setObject(tx *db.Tx, id, object string) error {
	if _, err := tx.Exec("UPDATE entries SET object_id = $1 WHERE id = $2", object, id); err != nil {
		return fmt.Errorf("give a file its own object: %w", err)
	}
	return nil
}

// countFiles counts the files at or below an entry: 1 for a file.
func countFiles(q db.Querier, id string) (n int64, err error) {
	err = q.QueryRow(foldersBelow+`
		SELECT
			(SELECT COUNT(*) FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1)
			+ (SELECT COUNT(*) FROM entries WHERE id = $1 AND kind = 1)`, id).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the files in a folder: %w", err)
	}
	return n, nil
}

// nameOf returns the name of an entry, "" when there is none.
func nameOf(q db.Querier, id string) (name string, err error) {
	err = q.QueryRow("SELECT name FROM entries WHERE id = $1", id).Scan(&name)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return "", fmt.Errorf("read the name of an entry: %w", err)
	}
	return name, nil
}
