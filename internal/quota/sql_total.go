package quota

import (
	"fmt"

	"larder/internal/db"
)

// Total returns the used bytes and files of all users together. It reads one row for each user, so
// it takes no longer with more files, and it shows a deletion at once.
func Total(q db.Querier) (bytes, files int64, err error) {
	err = q.QueryRow(
		"SELECT CAST(COALESCE(SUM(used_storage), 0) AS BIGINT), CAST(COALESCE(SUM(used_files), 0) AS BIGINT) FROM "+
			"quotas").Scan(&bytes, &files)
	if err != nil {
		return 0, 0, fmt.Errorf("sum quotas: %w", err)
	}
	return bytes, files, nil
}

// Uses are the classes of accounts by the part of their storage limit that is used: less than 90 %,
// 90 % or more, all of it, and accounts without a limit.
var Uses = []string{"free", "near", "full", "unlimited"}

// CountByUse counts all accounts, by their class in Uses. It reads one row for each account.
func CountByUse(q db.Querier) (map[string]int64, error) {
	rows, err := q.Query(`
		SELECT CASE WHEN max_storage = $1 THEN 'unlimited' WHEN used_storage >= max_storage THEN 'full'
			WHEN `+nearlyUsed+` THEN 'near' ELSE 'free' END, COUNT(*)
		FROM quotas
		GROUP BY 1`, Unlimited)
	if err != nil {
		return nil, fmt.Errorf("count accounts by their use of storage: %w", err)
	}
	defer rows.Close()
	accounts := map[string]int64{}
	for rows.Next() {
		var use string
		var n int64
		if err := rows.Scan(&use, &n); err != nil {
			return nil, fmt.Errorf("count accounts by their use of storage: %w", err)
		}
		accounts[use] = n
	}
	return accounts, rows.Err()
}
