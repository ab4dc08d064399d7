package files

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"larder/internal/db"
	"larder/internal/vpath"
)

// graveyard is the root of deleted folders. No mount has it, so nothing below it is visible.
const graveyard = "graveyard"

// staging is the root of copies that jobs are making; no mount has it either.
const staging = "staging"

// hiddenName is the name of the entry id in the graveyard, in the trash, and below the staging
// root, where names of entries could collide.
func hiddenName(id string) vpath.Name { return vpath.Name(id) }

// retryTransaction returns the error that makes db.Write run the transaction again, because another
// one has changed the entry since it was looked up.
func retryTransaction() error {
	return &db.RetryError{Prepare: func(context.Context) error { return nil }}
}

// relocate gives an entry another parent and name, provided that it is still where r says;
// otherwise the transaction runs again (db.RetryError). updated is its new time of change, ms.
// Error: a db.ErrUnique when the name is taken.
func (t *Tree) relocate(tx *db.Tx, r *row, parent string, name vpath.Name, updated int64) error {
	n, err := tx.Exec(`
		UPDATE entries
		SET parent_id = $1, name = $2, name_fold = $3, sort_key = $4, updated_at = $5,
			place_since = `+laterThan("$6", "("+placeFrom+")")+`
		WHERE id = $7 AND parent_id = $8 AND name = $9`,
		parent, string(name), vpath.Fold(string(name)), vpath.SortKey(string(name)), updated, t.nowMs(), r.id, r.parent,
		r.name)
	if err != nil {
		return fmt.Errorf("relocate entry: %w", err)
	}
	if n == 0 {
		return retryTransaction()
	}
	return nil
}

// deleteFilesAt deletes the rows of files, provided that each is still where its row says;
// otherwise the transaction runs again (db.RetryError). It returns id, parent, name, size, owner,
// object and placeSince that each file had at that time.
func deleteFilesAt(tx *db.Tx, files []row) (gone []row, err error) {
	expected := make(map[string]*row, len(files))
	for i := range files {
		expected[files[i].id] = &files[i]
	}
	err = eachPiece(files, func(piece []row) error {
		ids := make([]string, len(piece))
		for i := range piece {
			ids[i] = piece[i].id
		}
		among, args := db.InList(1, ids)
		rows, err := tx.Query("DELETE FROM entries WHERE id "+among+
			" RETURNING id, parent_id, name, size, owner_id, object_id, "+placeFrom, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.id, &r.parent, &r.name, &r.size, &r.owner, &r.object, &r.placeSince); err != nil {
				return err
			}
			if there := expected[r.id]; r.parent == there.parent && r.name == there.name {
				gone = append(gone, r)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("delete entries: %w", err)
	}
	if len(gone) < len(files) {
		return nil, retryTransaction()
	}
	return gone, nil
}

// deleteFile deletes the row of one file as deleteFilesAt does.
func deleteFile(tx *db.Tx, r *row) (gone row, err error) {
	all, err := deleteFilesAt(tx, []row{*r})
	if err != nil {
		return row{}, err
	}
	return all[0], nil
}

// foldersBelow begins a query over a folder and all folders below, as sub with their depth below
// it.
const foldersBelow = `
	WITH RECURSIVE sub (id, n) AS (
		SELECT e.id, 0
		FROM entries e
		WHERE e.id = $1
		UNION ALL
		SELECT e.id, s.n + 1
		FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 0
	)`

// Queries of forbidIfFound: entries of other owners, and entries with a password that are not the
// user's. They ask each folder separately, by the first and last owner in an index, so that the
// number of files in it does not matter.
const (
	foreignBelow = foldersBelow + `
	SELECT EXISTS (
		SELECT 1 FROM sub s
		WHERE EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.kind = 1 AND e.owner_id < $2)
			OR EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.kind = 1 AND e.owner_id > $2)
			OR EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.kind = 0 AND e.owner_id < $2)
			OR EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.kind = 0 AND e.owner_id > $2))`
	protectedBelow = foldersBelow + `
	SELECT EXISTS (
		SELECT 1 FROM sub s
		WHERE EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.password_hash IS NOT NULL AND e.owner_id <> $2))`
)

// anyProtected finds out whether any entry of another owner has a password at all; without one no
// tree has to be searched.
const anyProtected = "SELECT EXISTS (SELECT 1 FROM entries e WHERE e.password_hash IS NOT NULL AND e.owner_id <> $1)"

// forbidIfFound runs query, foreignBelow or protectedBelow, for a folder and a user. Fault:
// Forbidden when an entry below the folder belongs to another owner, or has a password and another
// owner.
func forbidIfFound(q db.Querier, query, folder, userID string) error {
	var found bool
	if query == protectedBelow {
		if err := q.QueryRow(anyProtected, userID).Scan(&found); err != nil {
			return fmt.Errorf("look for passwords: %w", err)
		}
		if !found {
			return nil
		}
	}
	if err := q.QueryRow(query, folder, userID).Scan(&found); err != nil {
		return fmt.Errorf("look through a folder: %w", err)
	}
	if found {
		return forbidden()
	}
	return nil
}

// idsBelow returns those of the ids whose entries are below a folder, at any depth.
func idsBelow(q db.Querier, folder string, ids []string) (found []string, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query(`
			WITH RECURSIVE up (start, parent, n) AS (
				SELECT e.id, e.parent_id, 0
				FROM entries e
				WHERE e.id `+db.InChunk+`
				UNION ALL
				SELECT u.start, e.parent_id, u.n + 1
				FROM up u JOIN entries e ON e.id = u.parent
				WHERE u.n < 200
			)
			SELECT DISTINCT u.start
			FROM up u
			WHERE u.parent = `+db.AfterChunk, args...)
		more, err := scanStrings(rows, err)
		found = append(found, more...)
		return err
	}, folder)
	if err != nil {
		return nil, fmt.Errorf("look for the entries of a folder: %w", err)
	}
	return found, nil
}

// heightOf returns the number of levels below a folder: 0 for an empty one, 1 when it contains only
// files and empty folders.
func heightOf(q db.Querier, folder string) (height int, err error) {
	err = q.QueryRow(foldersBelow+`
		SELECT MAX(s.n + CASE WHEN EXISTS (
			SELECT 1 FROM entries f WHERE f.parent_id = s.id AND f.kind = 1) THEN 1 ELSE 0 END)
		FROM sub s`, folder).Scan(&height)
	if err != nil {
		return 0, fmt.Errorf("measure a folder: %w", err)
	}
	return height, nil
}

// ownerTotals is what one account has below a folder.
type ownerTotals struct {
	owner                 string
	folders, files, bytes int64
}

// sumBelow returns the number of folders from a folder down, itself included, and what each account
// owns among these folders and the files in them, in the order of the accounts' ids. It finds the
// owners of the files in a folder by skipping from one to the next in an index, and reads the files
// of each once in its order. To group or sort a million rows takes several times as long. Count and
// sum are one text, since a subquery has one column, and two subqueries would read the files twice.
func sumBelow(q db.Querier, folder string) (folders int64, sums []ownerTotals, err error) {
	rows, err := q.Query(`
		WITH RECURSIVE sub (id, owner) AS (
			SELECT e.id, e.owner_id
			FROM entries e
			WHERE e.id = $1
			UNION ALL
			SELECT e.id, e.owner_id
			FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 0
		),
		owners (id, owner) AS (
			SELECT s.id, (SELECT MIN(e.owner_id) FROM entries e WHERE e.parent_id = s.id AND e.kind = 1)
			FROM sub s
			UNION ALL
			SELECT o.id,
				(SELECT MIN(e.owner_id) FROM entries e WHERE e.parent_id = o.id AND e.kind = 1 AND e.owner_id > o.owner)
			FROM owners o
			WHERE o.owner IS NOT NULL
		)
		SELECT 0, s.owner, COUNT(*) || ' 0'
		FROM sub s
		GROUP BY s.owner
		UNION ALL
		SELECT 1, o.owner,
			(SELECT COUNT(*) || ' ' || SUM(e.size) FROM entries e WHERE e.parent_id = o.id AND e.kind = 1 AND e.owner_id = o.owner)
		FROM owners o
		WHERE o.owner IS NOT NULL`, folder)
	if err != nil {
		return 0, nil, fmt.Errorf("sum up a folder: %w", err)
	}
	defer rows.Close()
	by := map[string]ownerTotals{}
	for rows.Next() {
		var kind int
		var owner, text string
		var count, bytes int64
		err := rows.Scan(&kind, &owner, &text)
		if err == nil {
			_, err = fmt.Sscan(text, &count, &bytes)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("sum up a folder: %w", err)
		}
		s := by[owner]
		if kind == folderKind {
			s.folders, folders = s.folders+count, folders+count
		} else {
			s.files, s.bytes = s.files+count, s.bytes+bytes
		}
		by[owner] = s
	}
	for _, owner := range slices.Sorted(maps.Keys(by)) {
		s := by[owner]
		s.owner = owner
		sums = append(sums, s)
	}
	return folders, sums, rows.Err()
}
