package files

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"larder/internal/db"
)

// gap is a gap in the history of a folder or file: something that it had is not known any more, an
// entry of the folder or content of the file.
type gap struct {
	id    string // of the folder or file
	since int64  // ms: it had that from then; 0 for an unknown time
	until int64  // ms: to then, exclusive
}

// addGaps records gaps, in an order that all transactions keep, so that they cannot deadlock. It
// comes after changes of quotas. A gap that ended before the history is left out. A gap that is not
// known to begin within the history, or that another replica may not know to begin there, has no
// beginning.
func addGaps(tx *db.Tx, found []gap) error {
	if len(found) == 0 {
		return nil
	}
	var begin int64
	var bounded bool
	err := tx.QueryRow("SELECT since, bounded_gaps = 1 FROM history").Scan(&begin, &bounded)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	for _, g := range union(found) {
		switch {
		case err != nil || g.until <= begin:
		case !bounded || g.since <= begin:
			err = addUnboundedGap(tx, g)
		default:
			err = addBoundedGap(tx, g)
		}
	}
	if err != nil {
		return fmt.Errorf("record gaps in the history of entries: %w", err)
	}
	return nil
}

// union sorts gaps by id and time, and makes one of those of the same entry that overlap or follow
// each other without a break.
func union(found []gap) []gap {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b gap) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.since, b.since))
	})
	made := sorted[:0]
	for _, g := range sorted {
		if n := len(made) - 1; n >= 0 && made[n].id == g.id && g.since <= made[n].until {
			made[n].until = max(made[n].until, g.until)
		} else {
			made = append(made, g)
		}
	}
	return made
}

// addUnboundedGap records a gap without its beginning.
func addUnboundedGap(tx *db.Tx, g gap) error {
	_, err := tx.Exec(`
		INSERT INTO history_gaps (folder_id, until)
		VALUES ($1, $2)
		ON CONFLICT (folder_id) DO UPDATE SET until = excluded.until WHERE history_gaps.until < excluded.until`,
		g.id, g.until)
	return err
}

// addBoundedGap records a gap with its beginning. A recorded gap that contains the beginning is
// extended, so that many deletions for good in a folder make few rows.
func addBoundedGap(tx *db.Tx, g gap) error {
	n, err := tx.Exec(`
		UPDATE bounded_gaps
		SET until = CASE WHEN until < $3 THEN CAST($3 AS BIGINT) ELSE until END
		WHERE folder_id = $1 AND since = (
			SELECT MIN(since) FROM bounded_gaps WHERE folder_id = $1 AND since <= $2 AND until >= $2)`,
		g.id, g.since, g.until)
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.Exec(`
		INSERT INTO bounded_gaps (folder_id, since, until)
		VALUES ($1, $2, $3)
		ON CONFLICT (folder_id, since) DO UPDATE SET until = excluded.until WHERE bounded_gaps.until < excluded.until`,
		g.id, g.since, g.until)
	return err
}

// gapsAfter reads the gaps of a folder that end after a time (ms), at most the last ones of a
// number. They are in order, and none overlaps another.
func gapsAfter(q db.Querier, folder string, time int64, limit int) (found []gap, err error) {
	rows, err := q.Query(`
		SELECT folder_id, since, until FROM bounded_gaps WHERE folder_id = $1 AND until > $2 ORDER BY until DESC LIMIT $3`,
		folder, time, limit)
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			var g gap
			err = rows.Scan(&g.id, &g.since, &g.until)
			found = append(found, g)
		}
		err = cmp.Or(err, rows.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("read the gaps in the history of a folder: %w", err)
	}
	return union(found), nil
}
