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

// AccountsByUse are numbers of accounts by the part of their storage limit that they use.
type AccountsByUse struct {
	Free      int64 // less than 90 %
	Near      int64 // 90 % or more
	Full      int64 // all of it
	None      int64 // the limit is 0
	Unlimited int64
}

// CountByUse counts all accounts by their use of storage. It reads one row for each account.
func CountByUse(q db.Querier) (a AccountsByUse, err error) {
	const full = "max_storage > 0 AND used_storage >= max_storage"
	var limited int64
	err = q.QueryRow("SELECT COUNT(CASE WHEN max_storage > 0 THEN 1 END), "+
		"COUNT(CASE WHEN "+nearlyUsed+" THEN 1 END), COUNT(CASE WHEN "+full+" THEN 1 END), "+
		"COUNT(CASE WHEN max_storage = 0 THEN 1 END), COUNT(CASE WHEN max_storage < 0 THEN 1 END) FROM quotas").
		Scan(&limited, &a.Near, &a.Full, &a.None, &a.Unlimited)
	if err != nil {
		return AccountsByUse{}, fmt.Errorf("count accounts by their use of storage: %w", err)
	}
	a.Free, a.Near = limited-a.Near, a.Near-a.Full
	return a, nil
}
