package files

import (
	"fmt"

	"larder/internal/db"
)

// ownedAfter lists the ids of the entries of an owner after an id, in the order of ids, at most
// limit.
func ownedAfter(q db.Querier, owner, after string, limit int) ([]string, error) {
	rows, err := q.Query("SELECT id FROM entries WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $3", owner, after,
		limit)
	ids, err := scanStrings(rows, err)
	if err != nil {
		return nil, fmt.Errorf("list what a user owns: %w", err)
	}
	return ids, nil
}

// setOwner gives the entries of from with ids after after, up to last, to the account to, and
// returns id, kind and size of each.
func setOwner(tx *db.Tx, from, to, after, last string) (taken []row, err error) {
	rows, err := tx.Query(`
		UPDATE entries
		SET owner_id = $1
		WHERE owner_id = $2 AND id > $3 AND id <= $4
		RETURNING id, kind, size`, to, from, after, last)
	if err != nil {
		return nil, fmt.Errorf("change the owner of entries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var kind int
		if err := rows.Scan(&r.id, &kind, &r.size); err != nil {
			return nil, fmt.Errorf("change the owner of entries: %w", err)
		}
		r.folder = kind == folderKind
		taken = append(taken, r)
	}
	return taken, rows.Err()
}

// setFileOwner gives a file to the account to, provided that it still has the owner, object and
// folder that r says, and returns its size. Error: db.ErrNoRows when it has not.
func setFileOwner(tx *db.Tx, r *row, to string) (size int64, err error) {
	err = tx.QueryRow(`
		UPDATE entries
		SET owner_id = $1
		WHERE id = $2 AND owner_id = $3 AND object_id = $4 AND parent_id = $5
		RETURNING size`, to, r.id, r.owner, r.object, r.parent).Scan(&size)
	return size, err
}

// deleteLinksOf deletes the permanent links to an account's entries with ids after after, up to
// last.
func deleteLinksOf(tx *db.Tx, owner, after, last string) error {
	_, err := tx.Exec(`
		DELETE FROM links
		WHERE entry_id IN (SELECT id FROM entries WHERE owner_id = $1 AND id > $2 AND id <= $3)`, owner, after, last)
	if err != nil {
		return fmt.Errorf("delete the links of what a user owns: %w", err)
	}
	return nil
}

// unchargedAmong returns those of the entries, by id, that no account is charged for: they are in
// the graveyard, in the trash, or below the staging root, at any depth.
func unchargedAmong(tx *db.Tx, entries []row) (map[string]bool, error) {
	var some bool
	err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM entries WHERE parent_id IN ($1, $2, $3))", graveyard, staging,
		trashRoot).
		Scan(&some)
	if err != nil {
		return nil, fmt.Errorf("look for uncharged entries: %w", err)
	}
	apart := map[string]bool{}
	if !some {
		return apart, nil
	}
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].id
	}
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query(`
			WITH RECURSIVE up (start, at) AS (
				SELECT id, parent_id
				FROM entries
				WHERE id `+db.InChunk+`
				UNION ALL
				SELECT up.start, e.parent_id
				FROM up JOIN entries e ON e.id = up.at
			)
			SELECT start
			FROM up
			WHERE at IN ('`+graveyard+`', '`+staging+`', '`+trashRoot+`')`, args...)
		found, err := scanStrings(rows, err)
		for _, id := range found {
			apart[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for uncharged entries: %w", err)
	}
	return apart, nil
}

// copiesOf lists the ids of the jobs that make large copies for a user.
func copiesOf(tx *db.Tx, userID string) ([]string, error) {
	rows, err := tx.Query("SELECT job_id FROM copies WHERE user_id = $1", userID)
	ids, err := scanStrings(rows, err)
	if err != nil {
		return nil, fmt.Errorf("list the copies of a user: %w", err)
	}
	return ids, nil
}
