package account

import (
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
)

// Count returns the number of accounts of any role and status.
func Count(q db.Querier) (n int64, err error) {
	if err = q.QueryRow("SELECT COUNT(*) FROM users").Scan(&n); err != nil {
		return 0, fmt.Errorf("count users: %w", err)
	}
	return n, nil
}

// CountUnverified counts the active accounts whose address is not verified, without administrators:
// those that Login refuses while it requires a verified address.
func CountUnverified(q db.Querier) (n int64, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*)
		FROM users
		WHERE email_verified = $1 AND status = $2 AND role <> $3`,
		false, string(Active), string(access.Admin)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unverified accounts: %w", err)
	}
	return n, nil
}

// Series counts the existing accounts by creation time. It divides the span from (inclusive) to to
// (exclusive, both ms) into steps of step ms, and returns the count of each step by its number,
// which starts at 0.
func Series(q db.Querier, from, to, step int64) (map[int64]int64, error) {
	rows, err := q.Query(`
		SELECT (created_at - CAST($1 AS BIGINT)) / CAST($3 AS BIGINT) AS n, COUNT(*)
		FROM users
		WHERE created_at >= CAST($1 AS BIGINT) AND created_at < CAST($2 AS BIGINT)
		GROUP BY 1`, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("count new users: %w", err)
	}
	defer rows.Close()
	counts := map[int64]int64{}
	for rows.Next() {
		var n, users int64
		if err := rows.Scan(&n, &users); err != nil {
			return nil, fmt.Errorf("count new users: %w", err)
		}
		counts[n] = users
	}
	return counts, rows.Err()
}
