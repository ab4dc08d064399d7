package fsck

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"larder/internal/db"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// The last id of a range: the nth after low.
const (
	nextEntry  = "SELECT id FROM entries WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2"
	nextLink   = "SELECT id FROM links WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2"
	nextObject = "SELECT id FROM objects WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2"

	countEntries = "SELECT count(*) FROM entries WHERE id > $1 AND id <= $2"
)

// lastOfRange returns the last id of the range of n rows with ids above low, "" when fewer are
// left. query is nextEntry, nextLink or nextObject.
func lastOfRange(q db.Querier, query, low string, n int) (string, error) {
	var high string
	err := q.QueryRow(query, low, n-1).Scan(&high)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return high, err
}

// count returns the number that a query such as countEntries yields.
func count(q db.Querier, query string, args ...any) (n int64, err error) {
	err = q.QueryRow(query, args...).Scan(&n)
	return n, err
}

// entry holds the fields of an entry that findings mention.
type entry struct {
	id, parent, name, owner string
	folder                  bool
	object                  string // "" when there is none
	size, objectSize        int64
}

// kind returns "folder" or "file", for a finding.
func (e entry) kind() string {
	if e.folder {
		return "folder"
	}
	return "file"
}

// queryAll returns the rows of a query, each converted by scan.
func queryAll[T any](q db.Querier, scan func(rows *sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// unreachableEntries lists, of the entries with ids in (low, high], those whose parent is missing
// or not a folder, and those without a parent that are neither the root of a mount nor a hidden
// folder.
func unreachableEntries(q db.Querier, low, high string) ([]entry, error) {
	return queryAll(q, func(rows *sql.Rows) (e entry, err error) {
		var kind int
		err = rows.Scan(&e.id, &e.parent, &e.name, &e.owner, &kind)
		e.folder = kind == 0
		return e, err
	}, `
		SELECT e.id, COALESCE(e.parent_id, 'a mount'), e.name, e.owner_id, e.kind
		FROM entries e LEFT JOIN entries p ON p.id = e.parent_id AND p.kind = 0
		WHERE e.id > $1 AND e.id <= $2 AND p.id IS NULL
			AND (e.parent_id IS NOT NULL OR e.id NOT IN ('graveyard', 'staging', 'trash') AND NOT EXISTS (SELECT 1 FROM mounts m WHERE m.root_id = e.id))
		ORDER BY e.id`, low, high)
}

// folderCycles lists, of the folders with ids in (low, high], those that are their own ancestors.
func folderCycles(q db.Querier, low, high string) ([]entry, error) {
	return queryAll(q, func(rows *sql.Rows) (e entry, err error) {
		err = rows.Scan(&e.id, &e.name, &e.owner)
		return e, err
	}, `
		WITH RECURSIVE up(start, at) AS (
			SELECT id, parent_id FROM entries WHERE id > $1 AND id <= $2 AND kind = 0 AND parent_id IS NOT NULL
			UNION
			SELECT up.start, e.parent_id FROM up JOIN entries e ON e.id = up.at WHERE up.at <> up.start AND e.parent_id IS NOT NULL)
		SELECT e.id, e.name, e.owner_id
		FROM up JOIN entries e ON e.id = up.start
		WHERE up.at = up.start
		ORDER BY e.id`, low, high)
}

// filesWithoutContent lists, of the files with ids in (low, high], those whose object is missing
// (object is "" then) or has another size.
func filesWithoutContent(q db.Querier, low, high string) ([]entry, error) {
	return queryAll(q, func(rows *sql.Rows) (e entry, err error) {
		err = rows.Scan(&e.id, &e.name, &e.owner, &e.size, &e.object, &e.objectSize)
		return e, err
	}, `
		SELECT e.id, e.name, e.owner_id, e.size, COALESCE(o.id, ''), COALESCE(o.size, 0)
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.id > $1 AND e.id <= $2 AND e.kind = 1 AND (o.id IS NULL OR o.size <> e.size)
		ORDER BY e.id`, low, high)
}

// wrongSortKeys lists, of the entries with ids in (low, high], those whose sort key is not that of
// their name. Those in the graveyard are in no listing, and keep the key of their former name.
func wrongSortKeys(q db.Querier, low, high string) (wrong []entry, err error) {
	rows, err := q.Query(`
		SELECT id, name, owner_id, kind, sort_key
		FROM entries
		WHERE id > $1 AND id <= $2 AND COALESCE(parent_id, '') <> 'graveyard'
		ORDER BY id`, low, high)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var kind int
		var key string
		if err := rows.Scan(&e.id, &e.name, &e.owner, &kind, &key); err != nil {
			return nil, err
		}
		if e.folder = kind == 0; key != vpath.SortKey(e.name) {
			wrong = append(wrong, e)
		}
	}
	return wrong, rows.Err()
}

// brokenLinks lists, of the permanent links with ids in (low, high], those whose file is missing,
// by the id of the file.
func brokenLinks(q db.Querier, low, high string) ([]string, error) {
	return queryAll(q, scanText, `
		SELECT l.entry_id
		FROM links l LEFT JOIN entries e ON e.id = l.entry_id AND e.kind = 1
		WHERE l.id > $1 AND l.id <= $2 AND e.id IS NULL
		ORDER BY l.id`, low, high)
}

// scanText is a scan function of queryAll for rows of one text.
func scanText(rows *sql.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

// wrongRef is an object whose reference count, refs, is not the number of its files and versions,
// files.
type wrongRef struct {
	id          string
	refs, files int64
}

// wrongRefs lists, of the objects with ids in (low, high], those whose reference count differs from
// the number of files and versions, or is 0.
func wrongRefs(q db.Querier, low, high string) ([]wrongRef, error) {
	return queryAll(q, func(rows *sql.Rows) (w wrongRef, err error) {
		err = rows.Scan(&w.id, &w.refs, &w.files)
		return w, err
	}, `
		SELECT o.id, o.refs, COALESCE(c.files, 0)
		FROM objects o LEFT JOIN (
			SELECT object_id, count(*) AS files
			FROM (
				SELECT object_id FROM entries WHERE object_id > $1 AND object_id <= $2
				UNION ALL
				SELECT object_id FROM past WHERE object_id > $1 AND object_id <= $2) r
			GROUP BY object_id) c ON c.object_id = o.id
		WHERE o.id > $1 AND o.id <= $2 AND (o.refs <> COALESCE(c.files, 0) OR o.refs = 0)
		ORDER BY o.id`, low, high)
}

// referencedGarbage is an object of a file or version that is on the garbage list.
type referencedGarbage struct{ id, provider, key string }

// findReferencedGarbage lists, of the objects with ids in (low, high], those that are referenced
// while their key is on the garbage list, so that the collector would delete them.
func findReferencedGarbage(q db.Querier, low, high string) ([]referencedGarbage, error) {
	return queryAll(q, func(rows *sql.Rows) (d referencedGarbage, err error) {
		err = rows.Scan(&d.id, &d.provider, &d.key)
		return d, err
	}, `
		SELECT o.id, o.provider_id, o.key
		FROM objects o JOIN garbage g ON g.provider_id = o.provider_id AND g.key = o.key
		WHERE o.id > $1 AND o.id <= $2 AND o.refs > 0
		ORDER BY o.id`, low, high)
}

// hiddenFolders selects the folders in the graveyard and in the trash, whose content no longer
// counts into quotas, and below the staging root, whose content does not count yet.
const hiddenFolders = `
	RECURSIVE apart(id) AS (
		SELECT id FROM entries WHERE id IN ('graveyard', 'staging', 'trash')
		UNION ALL
		SELECT e.id FROM apart b JOIN entries e ON e.parent_id = b.id AND e.kind = 0)`

// leftoverCopy is the remains of a copy that no job continues: its record (job is set then), or
// only the entry.
type leftoverCopy struct{ job, entry, user string }

// leftoverCopies lists the remains of copies that no job continues. It is one statement, since a
// copy and its record, and the record and its job, change together.
func leftoverCopies(q db.Querier) ([]leftoverCopy, error) {
	return queryAll(q, func(rows *sql.Rows) (s leftoverCopy, err error) {
		err = rows.Scan(&s.job, &s.entry, &s.user)
		return s, err
	}, `
		SELECT c.job_id, c.entry_id, c.user_id
		FROM copies c
		WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = c.job_id AND j.status IN ('pending', 'running'))
		UNION ALL
		SELECT '', e.id, e.owner_id
		FROM entries e
		WHERE e.parent_id = 'staging' AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.entry_id = e.id)
		ORDER BY 2`)
}

// wrongQuota is a user whose recorded counters differ from the counted sums.
type wrongQuota struct {
	user, name        string
	hasQuota          bool // a row of quotas exists
	recorded, counted quota.Counters
}

// wrongQuotas lists users whose counters in the quota differ from the sums over their files,
// folders and reservations. It first adds up the files by folder, in the order of the index
// entries_sums. `kind + 0` keeps SQLite from another order: by owner it would look up each row
// separately, or sort all rows in memory.
func wrongQuotas(q db.Querier) ([]wrongQuota, error) {
	return queryAll(q, func(rows *sql.Rows) (w wrongQuota, err error) {
		var kept int
		err = rows.Scan(&w.user, &w.name, &kept, &w.recorded.Storage, &w.recorded.Files, &w.recorded.ReservedStorage,
			&w.recorded.ReservedFiles,
			&w.recorded.Folders, &w.recorded.ReservedFolders,
			&w.counted.Storage, &w.counted.Files, &w.counted.ReservedStorage, &w.counted.ReservedFiles,
			&w.counted.Folders,
			&w.counted.ReservedFolders)
		w.hasQuota = kept > 0
		return w, err
	}, `
		WITH `+hiddenFolders+`, told AS (
			SELECT user_id, 1 AS kept, used_storage AS us, used_files AS uf, reserved_storage AS rs, reserved_files AS rf,
				used_folders AS ud, reserved_folders AS rd,
				0 AS sus, 0 AS suf, 0 AS srs, 0 AS srf, 0 AS sud, 0 AS srd
			FROM quotas
			UNION ALL
			SELECT owner_id, 0, 0, 0, 0, 0, 0, 0, size, files, 0, 0, 0, 0
			FROM (
				SELECT owner_id, sum(size) AS size, count(*) AS files
				FROM entries
				WHERE kind + 0 = 1 AND parent_id NOT IN (SELECT id FROM apart)
				GROUP BY parent_id, kind, owner_id) filed
			UNION ALL
			SELECT owner_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, folders, 0
			FROM (`+liveFolders+`) foldered
			WHERE owner_id IN (SELECT user_id FROM quotas)
			UNION ALL
			SELECT user_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, reserved_storage, reserved_files, 0, 0
			FROM upload_sessions
			WHERE status = 'pending' OR kept_until IS NOT NULL
			UNION ALL
			SELECT user_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, reserved_storage, reserved_files, 0, reserved_folders
			FROM copies
		), held AS (
			SELECT user_id, max(kept) AS kept, sum(us) AS us, sum(uf) AS uf, sum(rs) AS rs, sum(rf) AS rf, sum(ud) AS ud, sum(rd) AS rd,
				sum(sus) AS sus, sum(suf) AS suf, sum(srs) AS srs, sum(srf) AS srf, sum(sud) AS sud, sum(srd) AS srd
			FROM told
			GROUP BY user_id)
		SELECT h.user_id, COALESCE(u.username, ''), h.kept, h.us, h.uf, h.rs, h.rf, h.ud, h.rd, h.sus, h.suf, h.srs, h.srf, h.sud, h.srd
		FROM held h LEFT JOIN users u ON u.id = h.user_id
		WHERE h.us <> h.sus OR h.uf <> h.suf OR h.rs <> h.srs OR h.rf <> h.srf OR h.ud <> h.sud OR h.rd <> h.srd
		ORDER BY h.user_id`)
}

// sumsOf returns the sums over the files, folders and reservations of one user, to which the
// quota's counters are to be set.
func sumsOf(q db.Querier, user string) (sums quota.Counters, err error) {
	err = q.QueryRow(`
		WITH `+hiddenFolders+`
		SELECT CAST(COALESCE(sum(size), 0) AS BIGINT), count(*)
		FROM entries
		WHERE owner_id = $1 AND kind = 1 AND parent_id NOT IN (SELECT id FROM apart)`, user).
		Scan(&sums.Storage, &sums.Files)
	if err != nil {
		return sums, fmt.Errorf("add up a user's files: %w", err)
	}
	if sums.Folders, err = foldersOf(q, user); err != nil {
		return sums, err
	}
	err = q.QueryRow(`
		SELECT CAST(COALESCE(sum(r.bytes), 0) AS BIGINT), CAST(COALESCE(sum(r.files), 0) AS BIGINT), CAST(COALESCE(sum(r.folders), 0) AS BIGINT)
		FROM (
			SELECT reserved_storage AS bytes, reserved_files AS files, 0 AS folders
			FROM upload_sessions
			WHERE user_id = $1 AND (status = 'pending' OR kept_until IS NOT NULL)
			UNION ALL
			SELECT reserved_storage, reserved_files, reserved_folders
			FROM copies
			WHERE user_id = $1) r`, user).Scan(&sums.ReservedStorage, &sums.ReservedFiles, &sums.ReservedFolders)
	if err != nil {
		return sums, fmt.Errorf("add up what is reserved for a user: %w", err)
	}
	return sums, nil
}

// pathOf returns the path of the entry id for a person; a hidden folder such as the trash is named
// in parentheses.
func pathOf(q db.Querier, id string) (string, error) {
	names, err := queryAll(q, func(rows *sql.Rows) (s string, err error) {
		var name, root, mount string
		err = rows.Scan(&name, &root, &mount)
		switch {
		case root == "graveyard":
			name = "(deleted)"
		case root == "staging":
			name = "(being copied)"
		case root == "trash":
			name = "(in the trash)"
		case mount != "":
			name = strings.TrimSuffix(mount, "/")
		}
		return name, err
	}, `
		WITH RECURSIVE up(id, parent_id, name, height) AS (
			SELECT id, parent_id, name, 0 FROM entries WHERE id = $1
			UNION ALL
			SELECT e.id, e.parent_id, e.name, up.height + 1 FROM up JOIN entries e ON e.id = up.parent_id WHERE up.height < 200)
		SELECT up.name, up.id, COALESCE((SELECT min(m.mount_path) FROM mounts m WHERE m.root_id = up.id), '')
		FROM up
		ORDER BY up.height DESC`, id)
	return strings.Join(names, "/"), err
}
