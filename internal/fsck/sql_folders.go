package fsck

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// liveFolders counts the folders of each owner that are neither deleted nor being copied. The
// statement must define hiddenFolders before it.
const liveFolders = `
	SELECT owner_id, count(*) AS folders
	FROM entries
	WHERE kind + 0 = 0 AND id NOT IN (SELECT id FROM apart)
	GROUP BY owner_id`

// wrongFolders lists the users whose quota has a wrong number of folders.
func wrongFolders(q db.Querier) ([]string, error) {
	return queryAll(q, func(rows *sql.Rows) (user string, err error) {
		err = rows.Scan(&user)
		return user, err
	}, `
		WITH `+hiddenFolders+`
		SELECT q.user_id
		FROM quotas q LEFT JOIN (`+liveFolders+`) f ON f.owner_id = q.user_id
		WHERE q.used_folders <> COALESCE(f.folders, 0)
		ORDER BY q.user_id`)
}

// foldersOf counts the folders of one user that are neither deleted nor being copied.
func foldersOf(q db.Querier, user string) (n int64, err error) {
	err = q.QueryRow(`
		WITH `+hiddenFolders+`
		SELECT count(*)
		FROM entries
		WHERE owner_id = $1 AND kind = 0 AND id NOT IN (SELECT id FROM apart)`, user).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count a user's folders: %w", err)
	}
	return n, nil
}
