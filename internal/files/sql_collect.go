package files

import (
	"database/sql"

	"larder/internal/db"
)

// graveyardFolders lists the ids of the next folders directly below the graveyard, foldersPerPiece
// at most.
func graveyardFolders(tx *db.Tx) ([]string, error) {
	rows, err := tx.Query("SELECT id FROM entries WHERE parent_id = $1 ORDER BY name LIMIT $2", graveyard,
		foldersPerPiece)
	return scanStrings(rows, err)
}

// contents lists the entries directly in these folders, with id and kind, at most entriesPerPiece.
// It goes folder by folder in the order of an index, which skips rows that were deleted before.
// PostgreSQL would answer a join by reading the whole table from its start, where the dead rows
// are.
func contents(tx *db.Tx, folders []string) (found []row, err error) {
	for _, folder := range folders {
		if found, err = appendChildren(tx, found, folder, entriesPerPiece-len(found)); err != nil ||
			len(found) == entriesPerPiece {
			return found, err
		}
	}
	return found, nil
}

// appendChildren appends to found up to limit entries directly in a folder; only id and folder of
// their rows are set.
func appendChildren(tx *db.Tx, found []row, folder string, limit int) ([]row, error) {
	rows, err := tx.Query("SELECT id, kind FROM entries WHERE parent_id = $1 ORDER BY name LIMIT $2", folder, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var kind int
		if err := rows.Scan(&r.id, &kind); err != nil {
			return nil, err
		}
		r.folder = kind == folderKind
		found = append(found, r)
	}
	return found, rows.Err()
}

// deleteFiles deletes the rows of files by their ids. It returns object and owner of those that
// another process has not deleted already.
func deleteFiles(tx *db.Tx, ids []string) (gone []row, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("DELETE FROM entries WHERE id "+db.InChunk+" RETURNING object_id, owner_id", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.object, &r.owner); err != nil {
				return err
			}
			gone = append(gone, r)
		}
		return rows.Err()
	})
	return gone, err
}

// deleteLinks deletes the permanent links to these entries.
func deleteLinks(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("DELETE FROM links WHERE entry_id "+db.InChunk, args...)
		return err
	})
}

// moveToGraveyard moves folders directly below the graveyard, where the collector deletes them. The
// caller has credited their owners.
func moveToGraveyard(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("UPDATE entries SET parent_id = "+db.AfterChunk+", name = id, name_fold = id WHERE id "+
			db.InChunk, args...)
		return err
	}, graveyard)
}

// deleteFolders deletes those of the folders that are empty. It checks that itself: on PostgreSQL
// other folders may have come to the graveyard since contents listed a piece of it, and pushed
// entries of these folders out of the piece.
func deleteFolders(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("DELETE FROM entries WHERE id "+db.InChunk+
			" AND NOT EXISTS (SELECT 1 FROM entries c WHERE c.parent_id = entries.id)", args...)
		return err
	})
}

// scanStrings returns the values of rows of one text column, and closes rows. It takes the results
// of Query as they are; err is that of the query.
func scanStrings(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
