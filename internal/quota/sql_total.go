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
