package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// placeFrom and contentFrom are the times in SQL from which an entry has its place and its content.
const (
	placeFrom   = "CASE WHEN place_since = 0 THEN created_at ELSE place_since END"
	contentFrom = "CASE WHEN e.content_since = 0 THEN e.created_at ELSE e.content_since END"
)

// laterThan is an SQL expression for a time (ms), or for since + 1 where the time is not later than
// since, so that times of a history rise even when the clock goes back. Both arguments are SQL
// expressions.
func laterThan(time, since string) string {
	return "CASE WHEN " + since + " < CAST(" + time + " AS BIGINT) THEN CAST(" + time + " AS BIGINT) ELSE " + since +
		" + 1 END"
}

// recordPlacesQuery is a statement that records the present places of the entries whose ids meet a
// condition, as former ones that end at a time (ms).
func recordPlacesQuery(condition, until string) string {
	return `
		INSERT INTO former_places (entry_id, since, until, parent_id, name, name_fold, sort_key, kind)
		SELECT e.id, e.since, ` + laterThan(until, "e.since") + `, e.parent_id, e.name, e.name_fold, e.sort_key, e.kind
		FROM (SELECT e.*, ` + placeFrom + ` AS since FROM entries e WHERE e.id ` + condition + `) e
		WHERE EXISTS (SELECT 1 FROM history)`
}

var (
	recordOnePlace  = recordPlacesQuery("= $1", "$2")
	recordAllPlaces = recordPlacesQuery(db.InChunk, db.AfterChunk)
)

// recordPlace records the present place of an entry, its folder and name, as a former one that ends
// now (ms). The caller then gives the entry another place. It does nothing while no places are
// recorded.
func recordPlace(tx *db.Tx, id string, now int64) error {
	if _, err := tx.Exec(recordOnePlace, id, now); err != nil {
		return fmt.Errorf("record the place of an entry: %w", err)
	}
	return nil
}

// recordPlaces records the places of several entries as recordPlace does that of one.
func recordPlaces(tx *db.Tx, ids []string, now int64) error {
	err := db.EachChunk(ids, func(args []any) error {
		_, err := tx.Exec(recordAllPlaces, args...)
		return err
	}, now)
	if err != nil {
		return fmt.Errorf("record the places of entries: %w", err)
	}
	return nil
}

// placeSince reads the time (ms) from which an entry has its place.
func placeSince(tx *db.Tx, id string) (since int64, err error) {
	if err := tx.QueryRow("SELECT "+placeFrom+" FROM entries WHERE id = $1", id).Scan(&since); err != nil {
		return 0, fmt.Errorf("read since when an entry has its place: %w", err)
	}
	return since, nil
}

// historySlack (ms) is how far the beginning of the history may be in the future, because clocks of
// replicas differ.
const historySlack = 24 * 60 * 60 * 1000

// beginHistory begins to record places from now (ms) on. If they are recorded already, it moves the
// beginning of the history to earliest (ms), unless that is before it. A beginning in the far
// future, which a clock that was wrong has left, becomes now. bounded tells whether all replicas
// know gaps with a beginning.
func beginHistory(tx *db.Tx, now, earliest int64, bounded bool) error {
	_, err := tx.Exec(`
		INSERT INTO history (id, since)
		VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE
		SET since = CASE WHEN history.since > CAST($3 AS BIGINT) THEN CAST($1 AS BIGINT) ELSE CAST($2 AS BIGINT) END
		WHERE history.since < CAST($2 AS BIGINT) OR history.since > CAST($3 AS BIGINT)`, now, earliest, now+historySlack)
	if err != nil {
		return err
	}
	known := 0
	if bounded {
		known = 1
	}
	_, err = tx.Exec("UPDATE history SET bounded_gaps = $1 WHERE bounded_gaps <> $1", known)
	return err
}

// endHistory ends the recording of places. Recorded places stay until deleteOldPlaces deletes them.
func endHistory(tx *db.Tx) error {
	_, err := tx.Exec("DELETE FROM history")
	return err
}

// deleteOldPlaces deletes the former places that ended before a time (ms), the oldest first and at
// most limit, and all gaps that ended before it. more reports that there may be more places.
func deleteOldPlaces(tx *db.Tx, before int64, limit int) (more bool, err error) {
	n, err := tx.Exec(`
		DELETE FROM former_places
		WHERE (entry_id, until) IN (SELECT entry_id, until FROM former_places WHERE until < $1 ORDER BY until LIMIT $2)`,
		before, limit)
	for _, table := range []string{"history_gaps", "bounded_gaps"} {
		if err == nil {
			_, err = tx.Exec("DELETE FROM "+table+" WHERE until < $1", before)
		}
	}
	if err != nil {
		return false, fmt.Errorf("delete former places: %w", err)
	}
	return n == int64(limit), nil
}

// deletePlacesOf deletes the former places of these entries, which are deleted for good. It records
// the gaps that this leaves in the history of their former folders.
func deletePlacesOf(tx *db.Tx, entries []string) error {
	gaps, err := takePlacesOf(tx, entries)
	if err != nil {
		return err
	}
	return addGaps(tx, gaps)
}

// takePlacesOf deletes the former places of these entries, and returns the gaps that this leaves.
func takePlacesOf(tx *db.Tx, entries []string) (left []gap, err error) {
	err = db.EachChunk(entries, func(args []any) error {
		rows, err := tx.Query(`
			DELETE FROM former_places WHERE entry_id `+db.InChunk+` RETURNING parent_id, since, until`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var g gap
			if err := rows.Scan(&g.id, &g.since, &g.until); err != nil {
				return err
			}
			if g.id != "" && g.id != trashRoot { // "" when fsck has recorded the entry
				left = append(left, g)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("delete the former places of entries: %w", err)
	}
	return left, nil
}

// folderHistory is the known history of a folder.
type folderHistory struct {
	since         int64 // ms: times before it are not known
	completeSince int64 // ms: the end of the last gap, at least since
	gap           bool  // the time that is asked for is in a gap
}

// historyOf reads the history of a folder, and whether the time at (ms) is in a gap of it. since is
// 0 while no places are recorded.
func historyOf(q db.Querier, folder string, at int64) (h folderHistory, err error) {
	var unbounded int64
	var inGap int
	err = q.QueryRow(`
		SELECT COALESCE((SELECT since FROM history), 0),
			COALESCE((SELECT until FROM history_gaps WHERE folder_id = $1), 0),
			COALESCE((SELECT MAX(until) FROM bounded_gaps WHERE folder_id = $1), 0),
			CASE WHEN EXISTS (SELECT 1 FROM bounded_gaps WHERE folder_id = $1 AND since <= $2 AND until > $2) THEN 1 ELSE 0
			END`, folder, at).Scan(&h.since, &unbounded, &h.completeSince, &inGap)
	if err != nil {
		return folderHistory{}, fmt.Errorf("read the history of a folder: %w", err)
	}
	if h.since > 0 {
		h.since = max(h.since, unbounded)
	}
	h.completeSince, h.gap = max(h.since, h.completeSince), inGap == 1
	return h, nil
}

// placeThen is the place that an entry had at a time.
type placeThen struct {
	parent, name    string // parent is "" for a root
	owner, password string // present ones
	folder          bool
	left            bool // it has another place now
}

// placeAt reads the place that an entry had at a time (ms). found is false for an entry that did
// not exist then.
func placeAt(q db.Querier, id string, at int64) (p placeThen, found bool, err error) {
	var kind, left int
	err = q.QueryRow(`
		SELECT COALESCE(x.parent_id, ''), x.name, x.gone, e.owner_id,
			CASE WHEN e.password_hash IS NULL THEN '' ELSE COALESCE(e.password_id, e.id) END, e.kind
		FROM (
			SELECT e.parent_id, e.name, 0 AS gone FROM entries e WHERE e.id = $1 AND `+placeFrom+` <= $2
			UNION ALL
			SELECT p.parent_id, p.name, 1 FROM former_places p WHERE p.entry_id = $1 AND p.since <= $2 AND p.until > $2
		) x JOIN entries e ON e.id = $1`, id, at).Scan(&p.parent, &p.name, &left, &p.owner, &p.password, &kind)
	if errors.Is(err, db.ErrNoRows) {
		return placeThen{}, false, nil
	}
	if err != nil {
		return placeThen{}, false, fmt.Errorf("read the place of an entry at a time: %w", err)
	}
	p.folder, p.left = kind == folderKind, left == 1
	return p, true, nil
}

// folderAt returns the id of the folder that had a name in a parent folder at a time (ms), "" for
// none.
func folderAt(q db.Querier, parent string, name vpath.Name, at int64) (id string, err error) {
	err = q.QueryRow(`
		SELECT id FROM entries WHERE parent_id = $1 AND name = $2 AND kind = $4 AND `+placeFrom+` <= $3
		UNION ALL
		SELECT e.id
		FROM former_places p JOIN entries e ON e.id = p.entry_id
		WHERE p.parent_id = $1 AND p.name = $2 AND e.kind = $4 AND p.since <= $3 AND p.until > $3
		LIMIT 1`, parent, name, at, folderKind).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a folder at a time: %w", err)
	}
	return id, nil
}

// leftSince returns the ids of the entries that were directly in a folder at a time (ms) and have
// had another place since. They may be back by now.
func leftSince(q db.Querier, folder string, at int64) ([]string, error) {
	ids, err := scanStrings(q.Query(
		"SELECT entry_id FROM former_places WHERE parent_id = $1 AND since <= $2 AND until > $2", folder, at))
	if err != nil {
		return nil, fmt.Errorf("look for the entries that left a folder: %w", err)
	}
	return ids, nil
}

// parentsAt returns, by entry id, the id of the folder that the entry was in at a time (ms).
// Entries that did not exist then, and roots, are left out.
func parentsAt(q db.Querier, ids []string, at int64) (map[string]string, error) {
	parents := map[string]string{}
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query(`
			SELECT id, parent_id
			FROM entries
			WHERE id `+db.InChunk+" AND parent_id IS NOT NULL AND "+placeFrom+" <= "+db.AfterChunk+`
			UNION ALL
			SELECT entry_id, parent_id
			FROM former_places
			WHERE entry_id `+db.InChunk+" AND since <= "+db.AfterChunk+" AND until > "+db.AfterChunk, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent string
			if err := rows.Scan(&id, &parent); err != nil {
				return err
			}
			parents[id] = parent
		}
		return rows.Err()
	}, at)
	if err != nil {
		return nil, fmt.Errorf("read the places of entries at a time: %w", err)
	}
	return parents, nil
}

// childrenAfter reads the entries of a kind directly in a folder that come after a position in the
// order folded, at most limit.
func childrenAfter(q db.Querier, dialect db.Dialect, folder string, kind int, after namePosition, limit int) (
	found []row, err error,
) {
	var s statement
	fmt.Fprintf(&s, "SELECT %s FROM entries e WHERE e.parent_id = %s AND e.kind = %d AND ", listColumns, s.arg(folder),
		kind)
	s.WriteString(folded.after(dialect, s.arg(after.key), s.arg(after.name)) + " ORDER BY " + folded.orderBy("") +
		" LIMIT " + s.arg(limit))
	err = eachRow(q, &s, func(r *row) { found = append(found, *r) })
	return found, err
}

// countPast counts the entries that were directly in a folder at a time (ms); it stops at limit.
func countPast(q db.Querier, folder string, at, limit int64) (n int64, err error) {
	err = q.QueryRow(`
		SELECT COUNT(*)
		FROM (
			SELECT id FROM entries WHERE parent_id = $1 AND `+placeFrom+` <= $2
			UNION ALL
			SELECT entry_id FROM former_places WHERE parent_id = $1 AND since <= $2 AND until > $2
			LIMIT $3) e`, folder, at, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the entries that a folder had: %w", err)
	}
	return n, nil
}

// pastSelection is the files or folders that were directly in a folder at a time.
type pastSelection struct {
	folder string // id
	kind   int
	at     int64  // ms
	only   string // id of the only entry that is selected; "" for all
}

// pastRow is an entry as it was.
type pastRow struct {
	row
	left    bool  // it has another place now
	sizeNow int64 // bytes of its present content
	version int64 // past.until of its content, 0 when it has this content now
	lost    bool  // that content is not kept any more; the row has the present one
}

// each calls found for the selected entries, in the order o. A file whose content of that time is
// gone is left out, unless that content ended before its time, by a gap. The rows have the name,
// the size, the object and the type of that time; updated is the time from which they had that
// content.
func (sel *pastSelection) each(q db.Querier, o sortOrder, found func(r *pastRow)) error {
	var s statement
	folder, kind, at := s.arg(sel.folder), fmt.Sprint(sel.kind), s.arg(sel.at)
	live, former := "", ""
	if sel.only != "" {
		id := s.arg(sel.only)
		live, former = " AND e.id = "+id, " AND p.entry_id = "+id
	}
	s.WriteString("SELECT " + listColumns + `, e.gone, e.size_now, e.version, e.lost
		FROM (
			SELECT e.id, x.parent_id, x.name, x.name_fold, x.sort_key, e.kind, e.owner_id, e.password_hash, e.password_id,
				e.custom_title, e.custom_color, e.cover_url, e.icon_emoji, e.manual_position, e.created_at, e.content_since,
				CASE WHEN v.entry_id IS NULL THEN e.size ELSE v.size END AS size,
				CASE WHEN v.entry_id IS NULL THEN e.mime_type ELSE v.mime_type END AS mime_type,
				CASE WHEN v.entry_id IS NULL THEN e.object_id ELSE v.object_id END AS object_id,
				CASE WHEN v.entry_id IS NULL THEN ` + contentFrom + ` ELSE v.since END AS updated_at,
				x.gone, e.size AS size_now, CASE WHEN v.object_id <> e.object_id THEN v.until ELSE 0 END AS version,
				CASE WHEN e.kind = 1 AND v.entry_id IS NULL AND ` + contentFrom + " > " + at + ` THEN 1 ELSE 0 END AS lost
			FROM (
				SELECT e.id, e.parent_id, e.name, e.name_fold, e.sort_key, 0 AS gone
				FROM entries e
				WHERE e.parent_id = ` + folder + " AND e.kind = " + kind + " AND " + placeFrom + " <= " + at +
		live + `
				UNION ALL
				SELECT p.entry_id, p.parent_id, p.name, p.name_fold, p.sort_key, 1
				FROM former_places p
				WHERE p.parent_id = ` + folder + " AND p.kind = " + kind + " AND p.since <= " + at + " AND p.until > " + at +
		former + `
			) x
				JOIN entries e ON e.id = x.id
				LEFT JOIN past v ON v.entry_id = e.id AND v.since <= ` + at + " AND v.until > " + at + `
			WHERE e.kind = 0 OR v.entry_id IS NOT NULL OR ` + contentFrom + ` <= ` + at + `
				OR EXISTS (SELECT 1 FROM history_gaps g WHERE g.folder_id = e.id AND g.until > ` + at + `)
		) e
		ORDER BY ` + o.orderBy(false))
	rows, err := q.Query(s.String(), s.args...)
	if err != nil {
		return fmt.Errorf("list a folder as it was: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var scan rowScan
		var r pastRow
		var gone, lost int
		err := rows.Scan(append(scan.columns(), &scan.sortKey, &gone, &r.sizeNow, &r.version, &lost)...)
		if err != nil {
			return fmt.Errorf("list a folder as it was: %w", err)
		}
		r.row, r.left, r.lost = scan.done(), gone == 1, lost == 1
		found(&r)
	}
	return rows.Err()
}

// locateContents sets the provider of each file among the entries to that of its object. When an
// object is gone, it returns the error that runs the transaction again.
func locateContents(tx *db.Tx, entries []sourceEntry) error {
	var ids []string
	for i := range entries {
		if !entries[i].folder {
			ids = append(ids, entries[i].object)
		}
	}
	providers := make(map[string]string, len(ids))
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := tx.Query("SELECT id, provider_id FROM objects WHERE id "+db.InChunk, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, provider string
			if err := rows.Scan(&id, &provider); err != nil {
				return err
			}
			providers[id] = provider
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("look for the content of entries: %w", err)
	}
	for i := range entries {
		if entries[i].folder {
			continue
		}
		if entries[i].provider = providers[entries[i].object]; entries[i].provider == "" {
			return retryTransaction()
		}
	}
	return nil
}
