package fsck

import (
	"database/sql"

	"larder/internal/db"
)

// Entries in the trash without a record, records of entries that are elsewhere, and versions of
// files that do not exist.
const (
	versionsWithoutFile = `
		SELECT DISTINCT p.entry_id, p.owner_id
		FROM past p LEFT JOIN entries e ON e.id = p.entry_id
		WHERE e.id IS NULL
		ORDER BY 1`
	trashedWithoutRecord = `
		SELECT e.id, e.owner_id
		FROM entries e LEFT JOIN trash t ON t.entry_id = e.id
		WHERE e.parent_id = 'trash' AND t.entry_id IS NULL
		ORDER BY e.id`
	recordWithoutTrashed = `
		SELECT t.entry_id, t.owner_id
		FROM trash t LEFT JOIN entries e ON e.id = t.entry_id AND e.parent_id = 'trash'
		WHERE e.id IS NULL
		UNION
		SELECT s.entry_id, s.owner_id
		FROM trash_sizes s LEFT JOIN trash t ON t.entry_id = s.entry_id
		WHERE t.entry_id IS NULL
		ORDER BY 1`
)

// entriesOf returns the ids and owners that a query such as trashedWithoutRecord finds.
func entriesOf(q db.Querier, query string) ([]entry, error) {
	return queryAll(q, func(rows *sql.Rows) (e entry, err error) {
		err = rows.Scan(&e.id, &e.owner)
		return e, err
	}, query)
}

// keptCount is a user whose quota records another number of kept bytes than the trash and the
// versions add up to.
type keptCount struct {
	user              string
	recorded, counted int64
}

// wrongKept lists the users whose quota records another number of kept bytes than the sum over
// their trash and versions.
func wrongKept(q db.Querier) ([]keptCount, error) {
	return queryAll(q, func(rows *sql.Rows) (k keptCount, err error) {
		err = rows.Scan(&k.user, &k.recorded, &k.counted)
		return k, err
	}, `
		SELECT q.user_id, q.kept_storage, COALESCE(s.size, 0)
		FROM quotas q LEFT JOIN (
			SELECT owner_id, CAST(SUM(size) AS BIGINT) AS size
			FROM (SELECT owner_id, size FROM trash_sizes UNION ALL SELECT owner_id, size FROM past) k
			GROUP BY owner_id) s ON s.owner_id = q.user_id
		WHERE q.kept_storage <> COALESCE(s.size, 0)
		ORDER BY q.user_id`)
}

// keptOf returns the bytes of one user's trash and versions.
func keptOf(q db.Querier, user string) (sum int64, err error) {
	err = q.QueryRow(`
		SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT)
		FROM (SELECT size FROM trash_sizes WHERE owner_id = $1 UNION ALL SELECT size FROM past WHERE owner_id = $1) k`,
		user).Scan(&sum)
	return sum, err
}
