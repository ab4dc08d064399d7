package files

import (
	"fmt"

	"larder/internal/db"
)

// sumOwnIn returns number and bytes of the files that an account owns directly in a folder.
func sumOwnIn(q db.Querier, userID, folder string) (sum Amount, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*), CAST(COALESCE(SUM(e.size), 0) AS BIGINT)
		FROM entries e
		WHERE e.parent_id = $1 AND e.kind = 1 AND e.owner_id = $2`, folder, userID).Scan(&sum.Files, &sum.Bytes)
	if err != nil {
		return Amount{}, fmt.Errorf("sum the files of an account: %w", err)
	}
	return sum, nil
}

// eachOwnSum calls found for each of the folders that has files of an account in it or below it,
// with their number and bytes. Folders without such files are left out.
func eachOwnSum(q db.Querier, userID string, folders []string, found func(id string, sum Amount)) error {
	in, ids := db.InList(2, folders)
	rows, err := q.Query(`
		WITH RECURSIVE sub (id, top) AS (
			SELECT e.id, e.id FROM entries e WHERE e.id `+in+`
			UNION ALL
			SELECT e.id, s.top FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 0
		)
		SELECT s.top, COUNT(*), CAST(SUM(e.size) AS BIGINT)
		FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1 AND e.owner_id = $1
		GROUP BY s.top`, append([]any{userID}, ids...)...)
	if err != nil {
		return fmt.Errorf("sum the files of an account by folder: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var sum Amount
		if err := rows.Scan(&id, &sum.Files, &sum.Bytes); err != nil {
			return fmt.Errorf("sum the files of an account by folder: %w", err)
		}
		found(id, sum)
	}
	return rows.Err()
}
