package files

import (
	"fmt"

	"larder/internal/db"
)

// entrySums describes a set of entries: any change of an entry changes its time.
type entrySums struct{ count, newest, times, sizes int64 }

// timeModulus keeps the sum of a billion times below 2^63.
const timeModulus = 1_000_000_007

// add adds one entry to the sums.
func (s *entrySums) add(r *row) {
	s.count++
	s.newest = max(s.newest, r.updated)
	s.times += r.updated % timeModulus
	s.sizes += r.size
}

// sums reads number, newest time, sum of times and sum of sizes of the selected entries from an
// index.
func (sel *selection) sums(q db.Querier) (sums entrySums, err error) {
	var s statement
	fmt.Fprintf(&s, `
		SELECT COUNT(*), COALESCE(MAX(e.updated_at), 0), CAST(COALESCE(SUM(e.updated_at %% %d), 0) AS BIGINT),
			CAST(COALESCE(SUM(e.size), 0) AS BIGINT)
		FROM entries e
		WHERE `, timeModulus)
	sel.where(&s)
	if err = q.QueryRow(s.String(), s.args...).Scan(&sums.count, &sums.newest, &sums.times, &sums.sizes); err != nil {
		return entrySums{}, fmt.Errorf("read the state of a folder: %w", err)
	}
	return sums, nil
}
