package quota

import (
	"fmt"

	"larder/internal/db"
)

// Total is what all users together store: bytes and files. There is a row for each user, so that
// this takes no longer with more files, and a deletion shows in it at once.
func Total(q db.Querier) (bytes, files int64, err error) {
	err = q.QueryRow(
		"SELECT CAST(COALESCE(SUM(used_storage), 0) AS BIGINT), CAST(COALESCE(SUM(used_files), 0) AS BIGINT) FROM quotas").Scan(&bytes, &files)
	if err != nil {
		return 0, 0, fmt.Errorf("sum quotas: %w", err)
	}
	return bytes, files, nil
}
