package files

import (
	"fmt"
	"strings"

	"larder/internal/db"
)

// sumReferenced returns, by provider, the number of references to objects and the bytes that these
// amount to, an object counted once for each reference. It scans the objects once in their stored
// order; grouping would sort them or look them up.
func sumReferenced(q db.Querier, providers []string) (map[string]Amount, error) {
	var sums []string
	var args, dest []any
	found := make([]Amount, len(providers))
	for i, id := range providers {
		here := fmt.Sprintf("CAST(COALESCE(SUM(CASE WHEN provider_id = $%d THEN refs", i+1)
		sums = append(sums, here+" ELSE 0 END), 0) AS BIGINT), "+here+" * size ELSE 0 END), 0) AS BIGINT)")
		args, dest = append(args, id), append(dest, &found[i].Files, &found[i].Bytes)
	}
	if err := q.QueryRow("SELECT "+strings.Join(sums, ", ")+" FROM objects", args...).Scan(dest...); err != nil {
		return nil, fmt.Errorf("sum objects by provider: %w", err)
	}
	by := map[string]Amount{}
	for i, id := range providers {
		by[id] = found[i]
	}
	return by, nil
}

// sumUnreachable returns, by provider, number and bytes of the files in the graveyard and below the
// staging root, which count for no account: of all of them, or of the first limit.
func sumUnreachable(q db.Querier, limit int64) (map[string]Amount, error) {
	rows, err := q.Query(`
		WITH RECURSIVE away (id) AS (
			SELECT id FROM entries WHERE id IN ('graveyard', 'staging')
			UNION ALL
			SELECT e.id FROM away a CROSS JOIN entries e WHERE e.parent_id = a.id AND e.kind = 0
		),
		gone (object_id) AS (
			SELECT e.object_id FROM away a CROSS JOIN entries e WHERE e.parent_id = a.id AND e.kind = 1 LIMIT $1
		)
		SELECT o.provider_id, COUNT(*), CAST(SUM(o.size) AS BIGINT)
		FROM gone g JOIN objects o ON o.id = g.object_id
		GROUP BY o.provider_id`, limit)
	if err != nil {
		return nil, fmt.Errorf("sum deleted files by provider: %w", err)
	}
	defer rows.Close()
	by := map[string]Amount{}
	for rows.Next() {
		var id string
		var a Amount
		if err := rows.Scan(&id, &a.Files, &a.Bytes); err != nil {
			return nil, fmt.Errorf("sum deleted files by provider: %w", err)
		}
		by[id] = a
	}
	return by, rows.Err()
}
