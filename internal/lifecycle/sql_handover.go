package lifecycle

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/files"
)

// overlapsOtherHome reports whether the folder candidate is in the home of another account than
// userID, or contains one.
func overlapsOtherHome(tx *db.Tx, userID string, candidate files.HomeCandidate) (bool, error) {
	if is, err := inOtherHome(tx, userID, candidate.FolderIDs); is || err != nil {
		return is, err
	}
	return existsAmong(tx, `
		WITH RECURSIVE up (id) AS (
			SELECT home_id
			FROM users
			WHERE id <> $1 AND home_id IS NOT NULL
			UNION
			SELECT e.parent_id
			FROM up JOIN entries e ON e.id = up.id
			WHERE e.parent_id IS NOT NULL
		)
		SELECT EXISTS (SELECT 1 FROM up WHERE id `, userID, append([]string{candidate.ID}, candidate.MountRootIDs...))
}

// inOtherHome reports whether one of the folders, given by their ids, is the home of another
// account than userID.
func inOtherHome(tx *db.Tx, userID string, folders []string) (bool, error) {
	return existsAmong(tx, "SELECT EXISTS (SELECT 1 FROM users WHERE id <> $1 AND home_id ", userID, folders)
}

// existsAmong reports whether the query finds a row. query ends with a column, which has to be one
// of the ids; userID is its parameter $1.
func existsAmong(tx *db.Tx, query, userID string, ids []string) (is bool, err error) {
	in, args := db.InList(2, ids)
	if err := tx.QueryRow(query+in+")", append([]any{userID}, args...)...).Scan(&is); err != nil {
		return false, fmt.Errorf("look for other homes: %w", err)
	}
	return is, nil
}

// insertHandover records the successor of a user, also for the handovers of which the user was the
// successor.
func insertHandover(tx *db.Tx, userID string, heir files.Successor, now int64) error {
	_, err := tx.Exec("INSERT INTO legacies (user_id, heir_id, drop_links, created_at) VALUES ($1, $2, $3, $4)", userID,
		heir.ID, heir.DropLinks, now)
	if err == nil {
		_, err = tx.Exec("UPDATE legacies SET heir_id = $2, drop_links = drop_links OR $3 WHERE heir_id = $1", userID,
			heir.ID, heir.DropLinks)
	}
	if err != nil {
		return fmt.Errorf("record a successor: %w", err)
	}
	return nil
}

// successorOf reads the successor of a deleted account. Error: db.ErrNoRows when there is no
// handover.
func successorOf(q db.Querier, userID string) (heir files.Successor, err error) {
	err = q.QueryRow("SELECT heir_id, drop_links FROM legacies WHERE user_id = $1", userID).
		Scan(&heir.ID, &heir.DropLinks)
	return heir, err
}

// deleteHandover deletes the record of a handover that is complete.
func deleteHandover(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("DELETE FROM legacies WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete a handover: %w", err)
	}
	return nil
}

// openHandovers lists the deleted accounts whose entries are still to be handed over.
func openHandovers(q db.Querier) (ids []string, err error) {
	rows, err := q.Query("SELECT user_id FROM legacies ORDER BY created_at, user_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(rows.Err(), rows.Close())
}
