package files

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// timelineColumns are the columns of a medium, of the table entries.
const timelineColumns = db.TimelineTime + ", updated_at, id, parent_id, COALESCE(ratio, 0)"

// mediaQuery lists media of an account (the first parameter) of some types, from newer to older
// ones: not older than a time (ms), after a time and an id, at most a number.
func mediaQuery(types TypeGroup) string {
	return `
		SELECT ` + timelineColumns + `
		FROM entries e
		WHERE owner_id = $1 AND ` + db.Media + ` AND ` + typeConditions[types] + `
			AND ` + db.TimelineTime + ` >= $2 AND ` + db.TimelineTime + ` <= $3 AND (` + db.TimelineTime + ` < $3 OR id < $4)
		ORDER BY ` + db.TimelineTime + ` DESC, id DESC
		LIMIT $5`
}

// mediaOf lists media of an account from newer to older ones: those of some types that come after a
// position and are not older than oldest (ms); at most limit. It includes those in the trash, and
// deleted ones that the collector has not reached.
func mediaOf(q db.Querier, userID string, types TypeGroup, after timelinePosition, oldest int64, limit int) (
	found []medium, err error) {
	rows, err := q.Query(mediaQuery(types), userID, oldest, after.time, after.id, limit)
	if err != nil {
		return nil, fmt.Errorf("list the media of an account: %w", err)
	}
	if found, err = scanMedia(rows); err != nil {
		return nil, fmt.Errorf("list the media of an account: %w", err)
	}
	return found, nil
}

// scanMedia reads rows of the timelineColumns, and closes them.
func scanMedia(rows *sql.Rows) (found []medium, err error) {
	defer rows.Close()
	for rows.Next() {
		var m medium
		if err := rows.Scan(&m.time, &m.updated, &m.id, &m.parent, &m.ratio); err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, rows.Err()
}

// mediaSums describes the media of an account in a folder: their number, and the sums of their
// times and of the times of their last changes (ms, each modulo timeModulus), and of their ratios.
// A change of one value of one medium changes a sum.
type mediaSums struct {
	folder                        string
	count, times, changes, ratios int64
}

// mediaSumsQuery sums up the media of an account (the parameter) of some types, folder by folder.
func mediaSumsQuery(types TypeGroup) string {
	return fmt.Sprintf(`
		SELECT parent_id, COUNT(*), CAST(SUM(%[1]s %% %[2]d) AS BIGINT), CAST(SUM(updated_at %% %[2]d) AS BIGINT),
			CAST(SUM(COALESCE(ratio, 0)) AS BIGINT)
		FROM entries e
		WHERE owner_id = $1 AND %[3]s AND %[4]s
		GROUP BY parent_id
		ORDER BY parent_id`, db.TimelineTime, timeModulus, db.Media, typeConditions[types])
}

// mediaSumsOf sums up the media of an account of some types in each folder, also in the trash.
func mediaSumsOf(q db.Querier, userID string, types TypeGroup) (found []mediaSums, err error) {
	rows, err := q.Query(mediaSumsQuery(types), userID)
	if err != nil {
		return nil, fmt.Errorf("sum up the media of an account: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s mediaSums
		if err := rows.Scan(&s.folder, &s.count, &s.times, &s.changes, &s.ratios); err != nil {
			return nil, fmt.Errorf("sum up the media of an account: %w", err)
		}
		found = append(found, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum up the media of an account: %w", err)
	}
	return found, nil
}

// mediaAmong reads what a timeline needs of the entries with these ids.
func mediaAmong(q db.Querier, ids []string) (found []medium, err error) {
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query("SELECT "+timelineColumns+" FROM entries WHERE id "+db.InChunk, args...)
		if err != nil {
			return err
		}
		some, err := scanMedia(rows)
		found = append(found, some...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the times of media: %w", err)
	}
	return found, nil
}
