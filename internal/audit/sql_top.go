package audit

import (
	"errors"

	"larder/internal/db"
)

// excessDownload returns the time (ms) of the newest successful entry of an action in a span beyond
// the newest most ones, -1 if there are not so many. It reads only an index.
func excessDownload(q db.Querier, action Action, from, to, most int64) (at int64, err error) {
	err = q.QueryRow(`
		SELECT created_at
		FROM access_log
		WHERE action = $1 AND created_at >= $2 AND created_at < $3 AND status < 400
		ORDER BY created_at DESC, id DESC
		LIMIT 1 OFFSET $4`, string(action), from, to, most).Scan(&at)
	if errors.Is(err, db.ErrNoRows) {
		return -1, nil
	}
	return at, err
}

// topPaths returns the result of Top for a span that has a bounded number of entries.
func topPaths(q db.Querier, order TopOrder, from, to, limit int64) ([]PathTraffic, error) {
	orderBy := "2 DESC, 3 DESC, 1"
	if order == ByBytes {
		orderBy = "3 DESC, 2 DESC, 1"
	}
	rows, err := q.Query(`
		SELECT path, CAST(SUM(count) AS BIGINT), CAST(SUM(bytes) AS BIGINT)
		FROM access_log
		WHERE action IN ($1, $2) AND created_at >= $3 AND created_at < $4 AND status < 400 AND path <> $5
		GROUP BY path
		ORDER BY `+orderBy+`
		LIMIT $6`, string(Download), string(ShareDownload), from, to, otherPaths, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var top []PathTraffic
	for rows.Next() {
		var p PathTraffic
		if err := rows.Scan(&p.Path, &p.Count, &p.Bytes); err != nil {
			return nil, err
		}
		top = append(top, p)
	}
	return top, rows.Err()
}
