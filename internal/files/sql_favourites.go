package files

import (
	"fmt"

	"larder/internal/db"
)

// insertFavourite makes an entry a favourite of an account from now (ms), unless it is one.
func insertFavourite(tx *db.Tx, userID, entryID string, now int64) error {
	_, err := tx.Exec(`
		INSERT INTO favourites (user_id, entry_id, created_at)
		VALUES ($1, $2, $3)
		ON CONFLICT (user_id, entry_id) DO NOTHING`, userID, entryID, now)
	if err != nil {
		return fmt.Errorf("add a favourite: %w", err)
	}
	return nil
}

// isFavourite reports whether an entry is a favourite of an account.
func isFavourite(q db.Querier, userID, entryID string) (is bool, err error) {
	err = q.QueryRow("SELECT COUNT(*) > 0 FROM favourites WHERE user_id = $1 AND entry_id = $2", userID, entryID).
		Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look for a favourite: %w", err)
	}
	return is, nil
}

// countFavourites counts the favourites of an account, also those that it may not see.
func countFavourites(q db.Querier, userID string) (n int64, err error) {
	if err = q.QueryRow("SELECT COUNT(*) FROM favourites WHERE user_id = $1", userID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count favourites: %w", err)
	}
	return n, nil
}

// deleteFavourite ends a favourite of an account, and reports whether the entry was one.
func deleteFavourite(tx *db.Tx, userID, entryID string) (found bool, err error) {
	n, err := tx.Exec("DELETE FROM favourites WHERE user_id = $1 AND entry_id = $2", userID, entryID)
	if err != nil {
		return false, fmt.Errorf("remove a favourite: %w", err)
	}
	return n > 0, nil
}

// deleteLostFavourites deletes the favourites of an account whose entries have no row any more,
// which a replica of an older version leaves.
func deleteLostFavourites(tx *db.Tx, userID string) error {
	_, err := tx.Exec(`
		DELETE FROM favourites
		WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = favourites.entry_id)`, userID)
	if err != nil {
		return fmt.Errorf("remove lost favourites: %w", err)
	}
	return nil
}

// deleteFavouritesOf deletes the favourites of all accounts that are these entries.
func deleteFavouritesOf(tx *db.Tx, ids []string) error {
	return db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec("DELETE FROM favourites WHERE entry_id "+db.InChunk, args...)
		return err
	})
}

// DeleteFavourites deletes all favourites of an account.
func DeleteFavourites(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("DELETE FROM favourites WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete the favourites of an account: %w", err)
	}
	return nil
}

// favouriteIDs lists the ids of the favourites of an account, the newest first.
func favouriteIDs(q db.Querier, userID string) ([]string, error) {
	ids, err := scanStrings(q.Query(`
		SELECT entry_id
		FROM favourites
		WHERE user_id = $1
		ORDER BY created_at DESC, entry_id DESC`, userID))
	if err != nil {
		return nil, fmt.Errorf("list favourites: %w", err)
	}
	return ids, nil
}

// favouritesAmong returns which of the ids are favourites of an account.
func favouritesAmong(q db.Querier, userID string, ids []string) (map[string]bool, error) {
	found := map[string]bool{}
	err := db.EachChunk(ids, func(args []any) error {
		some, err := scanStrings(q.Query(
			"SELECT entry_id FROM favourites WHERE entry_id "+db.InChunk+" AND user_id = "+db.AfterChunk, args...))
		for _, id := range some {
			found[id] = true
		}
		return err
	}, userID)
	if err != nil {
		return nil, fmt.Errorf("look for favourites: %w", err)
	}
	return found, nil
}

// recentQuery lists the files of an account (the first parameter) that changed last, at most a
// number.
const recentQuery = "SELECT id FROM entries WHERE owner_id = $1 AND kind = 1 ORDER BY " + db.LastChange +
	" DESC, id DESC LIMIT $2"

// recentIDs lists the ids of the files of an account that changed last (db.LastChange), the newest
// first, at most limit. It includes files in the trash and deleted ones that the collector has not
// reached.
func recentIDs(q db.Querier, userID string, limit int) ([]string, error) {
	ids, err := scanStrings(q.Query(recentQuery, userID, limit))
	if err != nil {
		return nil, fmt.Errorf("list the newest files of an account: %w", err)
	}
	return ids, nil
}
