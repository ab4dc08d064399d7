package files

import (
	"database/sql"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// childNamed reads the entry that has a name directly in a folder; a row without id means that
// there is none.
func childNamed(q db.Querier, parent string, name vpath.Name) (row, error) {
	var s rowScan
	err := q.QueryRow(`
		SELECT `+entryColumns+`
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.name = $2`, parent, string(name)).Scan(s.columns()...)
	if errors.Is(err, db.ErrNoRows) {
		return row{}, nil
	}
	if err != nil {
		return row{}, fmt.Errorf("look up a name: %w", err)
	}
	return s.done(), nil
}

// lockEntry locks the row of an entry until the transaction ends, so that concurrent changes of it
// take turns, and reports whether it exists. On SQLite the transaction itself excludes other
// writers. An UPDATE would only make cached answers about the row outdated (db.Changes).
func lockEntry(tx *db.Tx, id string) (there bool, err error) {
	if tx.Dialect().SingleWriter() {
		existing, err := existingEntries(tx, []string{id})
		return existing[id], err
	}
	n, err := tx.Exec("UPDATE entries SET updated_at = updated_at WHERE id = $1", id)
	if err != nil {
		return false, fmt.Errorf("lock entry: %w", err)
	}
	return n == 1, nil
}

// insertEntry inserts the row r, with the present time as both its times. done is false when the
// name is taken in the parent folder.
func (t *Tree) insertEntry(tx *db.Tx, r *row) (done bool, err error) {
	r.created = t.nowMs()
	r.updated = r.created
	return insertTimedEntry(tx, r)
}

// insertTimedEntry inserts the row r with the times that it has. done is false when the name is
// taken in the parent folder.
func insertTimedEntry(tx *db.Tx, r *row) (done bool, err error) {
	kind := fileKind
	if r.folder {
		kind = folderKind
	}
	n, err := tx.Exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (parent_id, name) DO NOTHING`,
		r.id, nullable(r.parent), r.name, vpath.Fold(r.name), kind, r.size, r.mimeType, r.owner, nullable(r.object),
		r.created, r.updated, vpath.SortKey(r.name))
	if err != nil {
		return false, fmt.Errorf("insert entry: %w", err)
	}
	return n == 1, nil
}

// nullable is a string as a parameter of SQL, with NULL for "".
func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// updateContent stores the object, size, type and times of r in the row of a file. It changes
// nothing and returns false if the parent, the name or the object of the row differ from before.
// For a picture, it copies the time and the ratio from the table pictures, or stores NULL if the
// object was not examined.
func updateContent(tx *db.Tx, r, before *row) (changed bool, err error) {
	n, err := tx.Exec(`
		UPDATE entries
		SET object_id = $1, size = $2, mime_type = $3, updated_at = $4, content_since = $5,
			examined_object = `+knownPicture("o.id", "$10")+`, taken_at = `+knownPicture("p.taken_at", "$10")+`,
			ratio = `+knownPicture(pictureRatio, "$10")+`
		WHERE id = $6 AND parent_id = $7 AND name = $8 AND object_id = $9`,
		r.object, r.size, r.mimeType, r.updated, r.contentSince, before.id, before.parent, before.name, before.object,
		pictureObject(r))
	if err != nil {
		return false, fmt.Errorf("replace content: %w", err)
	}
	return n == 1, nil
}
