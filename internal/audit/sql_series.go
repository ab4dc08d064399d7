package audit

import "larder/internal/db"

// entrySeries returns the points of Series for a measure that counts entries. It reads only an
// index.
func entrySeries(q db.Querier, measure Measure, from, to, step int64) (map[int64]int64, error) {
	c := measures[measure]
	value, status := "count", "status < 400"
	if c.bytes {
		value = "bytes"
	}
	if c.failed {
		status = "status >= 400"
	}
	args, action := []any{from, to, step}, ""
	if c.actions[0] != "" {
		args, action = append(args, string(c.actions[0]), string(c.actions[1])), "action IN ($4, $5) AND "
	}
	return readPoints(q, `
		SELECT (created_at - CAST($1 AS BIGINT)) / CAST($3 AS BIGINT) AS n, CAST(SUM(`+value+`) AS BIGINT)
		FROM access_log
		WHERE `+action+`created_at >= CAST($1 AS BIGINT) AND created_at < CAST($2 AS BIGINT) AND `+status+`
		GROUP BY 1`, args...)
}

// minuteSeries returns the points of Series for a counter of the minutes (requests or failed), from
// the minutes that begin in the span.
func minuteSeries(q db.Querier, counter string, from, to, step int64) (map[int64]int64, error) {
	return readPoints(q, `
		SELECT (minute * 60000 - CAST($1 AS BIGINT)) / CAST($3 AS BIGINT) AS n, CAST(SUM(`+counter+`) AS BIGINT)
		FROM request_minutes
		WHERE minute * 60000 >= CAST($1 AS BIGINT) AND minute * 60000 < CAST($2 AS BIGINT)
		GROUP BY 1`, from, to, step)
}

// readPoints runs a query that returns numbers of steps with their values.
func readPoints(q db.Querier, text string, args ...any) (map[int64]int64, error) {
	rows, err := q.Query(text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	points := map[int64]int64{}
	for rows.Next() {
		var n, value int64
		if err := rows.Scan(&n, &value); err != nil {
			return nil, err
		}
		points[n] = value
	}
	return points, rows.Err()
}
