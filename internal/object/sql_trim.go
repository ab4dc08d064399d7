package object

import (
	"fmt"

	"larder/internal/db"
)

// garbageByOwner sums, by account, the bytes of garbage of every account that has some.
func garbageByOwner(q db.Querier) (map[string]int64, error) {
	rows, err := q.Query(`
		SELECT owner_id, CAST(SUM(size) AS BIGINT)
		FROM garbage
		WHERE owner_id IS NOT NULL
		GROUP BY owner_id`)
	if err != nil {
		return nil, fmt.Errorf("sum the garbage of accounts: %w", err)
	}
	defer rows.Close()
	sums := map[string]int64{}
	for rows.Next() {
		var owner string
		var bytes int64
		if err := rows.Scan(&owner, &bytes); err != nil {
			return nil, fmt.Errorf("sum the garbage of accounts: %w", err)
		}
		sums[owner] = bytes
	}
	return sums, rows.Err()
}

// garbageOf sums the bytes of the garbage of an account, including garbage that the collector has
// claimed.
func garbageOf(q db.Querier, owner string) (bytes int64, err error) {
	err = q.QueryRow("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM garbage WHERE owner_id = $1", owner).
		Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("sum the garbage of an account: %w", err)
	}
	return bytes, nil
}

// makeOldestDue makes the oldest garbage of an account due now (ms), so much that the bytes of the
// rest and beyond (the excess without garbage, mostly negative) are 0 or less. It reports whether
// any of it was not due before. Garbage that the collector has claimed, or is about to claim, comes
// first and counts. One statement sums and selects, since the collector deletes rows at the same
// time.
func makeOldestDue(tx *db.Tx, owner string, beyond, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE garbage
		SET after = $1
		WHERE after > $2 AND (provider_id, key) IN (
			SELECT provider_id, key
			FROM (
				SELECT
					provider_id, key, size,
					SUM(size) OVER (ORDER BY after, provider_id, key) AS upto,
					SUM(size) OVER () AS total
				FROM garbage
				WHERE owner_id = $3) g
			WHERE upto - size < total + CAST($4 AS BIGINT))`, now, now, owner, beyond)
	return n > 0, err
}
