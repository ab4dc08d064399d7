package files

import (
	"database/sql"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

// version is content that a file had: a row of the table past.
type version struct {
	entry        string
	since, until int64 // ms
	size         int64 // bytes
	mimeType     string
	owner        string
	object       string
	byUser       string // "" for a visitor
	byName       string // of byUser; "" for a deleted account

	provider string
	key      blob.Key
	content  string
	sha256   string // "" when it is not known yet
	damaged  bool   // the object is marked as damaged
}

// sameContent reports whether two objects, by their ids, are known to have the same bytes: they are
// one, or their SHA-256 is equal.
func sameContent(tx *db.Tx, a, b string) (same bool, err error) {
	err = tx.QueryRow(`
		SELECT EXISTS (SELECT 1 FROM objects a JOIN objects b ON b.sha256 = a.sha256 WHERE a.id = $1 AND b.id = $2)`,
		a, b).Scan(&same)
	if err != nil {
		return false, fmt.Errorf("compare the content of objects: %w", err)
	}
	return same || a == b, nil
}

// insertVersion records the present content of the file r as a version that ends at until (ms).
// byUser and byKey are the account and key that replace it, "" for none.
func insertVersion(tx *db.Tx, r *row, until int64, byUser, byKey string) error {
	_, err := tx.Exec(`
		INSERT INTO past (entry_id, since, until, parent_id, name, size, mime_type, owner_id, object_id, op, by_user,
			by_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'replace', $10, $11)`,
		r.id, r.contentFrom(), until, r.parent, r.name, r.size, r.mimeType, r.owner, r.object, nullable(byUser),
		nullable(byKey))
	if err != nil {
		return fmt.Errorf("keep a version of a file: %w", err)
	}
	return nil
}

// droppedColumns are the columns of a version that is deleted, in the order of scanDropped.
const droppedColumns = " RETURNING entry_id, until, object_id, owner_id, size"

// scanDropped returns the versions that a statement with droppedColumns has deleted. err is that of
// the query.
func scanDropped(rows *sql.Rows, err error) (gone []version, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v version
		if err := rows.Scan(&v.entry, &v.until, &v.object, &v.owner, &v.size); err != nil {
			return nil, err
		}
		gone = append(gone, v)
	}
	return gone, rows.Err()
}

// deleteVersionsBeyond deletes the oldest versions of a file, so that at most most stay, and
// returns those that it deleted. The caller releases their objects.
func deleteVersionsBeyond(tx *db.Tx, entry string, most int) (gone []version, err error) {
	gone, err = scanDropped(tx.Query(`
		DELETE FROM past
		WHERE entry_id = $1 AND until <= (SELECT until FROM past WHERE entry_id = $1 ORDER BY until DESC LIMIT 1 OFFSET $2)`+
		droppedColumns, entry, most))
	if err != nil {
		return nil, fmt.Errorf("delete the oldest versions of a file: %w", err)
	}
	return gone, nil
}

// deleteVersionsOf deletes all versions of files, and returns them. The caller releases their
// objects.
func deleteVersionsOf(tx *db.Tx, entries []string) (gone []version, err error) {
	err = db.EachChunk(entries, func(args []any) error {
		some, err := scanDropped(tx.Query("DELETE FROM past WHERE entry_id "+db.InChunk+droppedColumns, args...))
		gone = append(gone, some...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("delete the versions of files: %w", err)
	}
	return gone, nil
}

// deleteVersion deletes the version of a file that ended at until (ms), and returns it as the only
// element; none when it does not exist. The caller releases its object.
func deleteVersion(tx *db.Tx, entry string, until int64) (gone []version, err error) {
	gone, err = scanDropped(tx.Query("DELETE FROM past WHERE entry_id = $1 AND until = $2"+droppedColumns, entry,
		until))
	if err != nil {
		return nil, fmt.Errorf("delete a version of a file: %w", err)
	}
	return gone, nil
}

// deleteVersionsBefore deletes versions that ended before a time (ms), the oldest first and at most
// limit, and returns them. The caller releases their objects.
func deleteVersionsBefore(tx *db.Tx, time int64, limit int) (gone []version, err error) {
	gone, err = scanDropped(tx.Query(`
		DELETE FROM past
		WHERE (entry_id, until) IN (SELECT entry_id, until FROM past WHERE until < $1 ORDER BY until, entry_id LIMIT $2)`+
		droppedColumns, time, limit))
	if err != nil {
		return nil, fmt.Errorf("delete versions whose time is over: %w", err)
	}
	return gone, nil
}

const versionColumns = `v.entry_id, v.since, v.until, v.size, v.mime_type, v.owner_id, v.object_id,
	COALESCE(v.by_user, ''), COALESCE(u.username, ''), o.provider_id, o.key, COALESCE(o.content_id, o.id), COALESCE(o.sha256, ''),
	o.damaged_at IS NOT NULL`

const versionSource = " FROM past v JOIN objects o ON o.id = v.object_id LEFT JOIN users u ON u.id = v.by_user "

// versionsOf reads the versions of a file, newest first; with until only the one that ended at that
// time (ms).
func versionsOf(q db.Querier, entry string, until *int64) (versions []version, err error) {
	condition, args := "WHERE v.entry_id = $1", []any{entry}
	if until != nil {
		condition, args = condition+" AND v.until = $2", append(args, *until)
	}
	rows, err := q.Query("SELECT "+versionColumns+versionSource+condition+" ORDER BY v.until DESC", args...)
	if err != nil {
		return nil, fmt.Errorf("read the versions of a file: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var v version
		var key string
		if err := rows.Scan(&v.entry, &v.since, &v.until, &v.size, &v.mimeType, &v.owner, &v.object, &v.byUser,
			&v.byName, &v.provider, &key, &v.content, &v.sha256, &v.damaged); err != nil {
			return nil, fmt.Errorf("read the versions of a file: %w", err)
		}
		v.key = blob.Key(key)
		versions = append(versions, v)
	}
	return versions, rows.Err()
}

// kept is a selection of what is kept beyond the present files: entries in the trash by their ids,
// and versions, with the sum of their bytes.
type kept struct {
	entries  []string
	versions []version
	bytes    int64
}

// oldestKept lists the oldest entries in the trash and the oldest versions in which an account has
// bytes: as few as have the given number of bytes together, at most limit.
func oldestKept(q db.Querier, userID string, bytes int64, limit int) (kept, error) {
	rows, err := q.Query(`
		SELECT entry_id, until, size
		FROM (
			SELECT * FROM (
				SELECT entry_id, 0 AS until, deleted_at AS at, size
				FROM trash_sizes
				WHERE owner_id = $1
				ORDER BY deleted_at, entry_id
				LIMIT $2) a
			UNION ALL
			SELECT * FROM (
				SELECT entry_id, until, until AS at, size
				FROM past
				WHERE owner_id = $1 AND size > 0
				ORDER BY until
				LIMIT $2) b) k
		ORDER BY at
		LIMIT $2`, userID, limit)
	return scanKept(rows, err, bytes)
}

// oldestKeptIn lists the oldest entries in the trash and the oldest versions of all accounts in one
// provider: as few as have the given number of bytes together, at most limit.
func oldestKeptIn(q db.Querier, providerID string, bytes int64, limit int) (kept, error) {
	rows, err := q.Query(`
		SELECT entry_id, until, size
		FROM (
			SELECT * FROM (
				SELECT entry_id, 0 AS until, deleted_at AS at, size
				FROM trash
				WHERE provider_id = $1 AND size > 0
				ORDER BY deleted_at, entry_id
				LIMIT $2) a
			UNION ALL
			SELECT * FROM (
				SELECT v.entry_id, v.until, v.until AS at, v.size
				FROM past v JOIN objects o ON o.id = v.object_id
				WHERE o.provider_id = $1 AND v.size > 0
				ORDER BY v.until
				LIMIT $2) b) k
		ORDER BY at
		LIMIT $2`, providerID, limit)
	return scanKept(rows, err, bytes)
}

// scanKept reads rows of entry id, end of the version (0 for an entry in the trash) and size, until
// the sum of the sizes reaches bytes. err is that of the query.
func scanKept(rows *sql.Rows, err error, bytes int64) (k kept, _ error) {
	if err != nil {
		return kept{}, fmt.Errorf("look for the oldest bytes that are kept: %w", err)
	}
	defer rows.Close()
	for k.bytes < bytes && rows.Next() {
		var v version
		if err := rows.Scan(&v.entry, &v.until, &v.size); err != nil {
			return kept{}, fmt.Errorf("look for the oldest bytes that are kept: %w", err)
		}
		k.bytes += v.size
		if v.until == 0 {
			k.entries = append(k.entries, v.entry)
		} else {
			k.versions = append(k.versions, v)
		}
	}
	return k, rows.Err()
}

// bytesToCome returns the bytes of garbage in a provider, which become free soon. collected reports
// whether the graveyard is empty, so that the sum has the content of every deleted folder.
func bytesToCome(q db.Querier, providerID string) (bytes int64, collected bool, err error) {
	err = q.QueryRow(`
		SELECT (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM garbage WHERE provider_id = $1),
			NOT EXISTS (SELECT 1 FROM entries WHERE parent_id = $2)`, providerID, graveyard).Scan(&bytes, &collected)
	if err != nil {
		return 0, false, fmt.Errorf("sum the garbage of a provider: %w", err)
	}
	return bytes, collected, nil
}

// versionAt returns the end (ms), which identifies it, of the version that a file had at a time
// (ms); 0 for none.
func versionAt(q db.Querier, entry string, at int64) (until int64, err error) {
	err = q.QueryRow("SELECT until FROM past WHERE entry_id = $1 AND since <= $2 AND until > $2", entry, at).
		Scan(&until)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for a version of a file: %w", err)
	}
	return until, nil
}

// lastPlaceChange returns the time (ms) of the last change of a place at or before a time (ms)
// among entries: from then on, none of them had another place until at.
func lastPlaceChange(q db.Querier, entries []string, at int64) (since int64, err error) {
	in, args := db.InList(2, entries)
	err = q.QueryRow(`
		SELECT COALESCE(MAX(since), 0)
		FROM (
			SELECT `+placeFrom+` AS since FROM entries WHERE id `+in+`
			UNION ALL
			SELECT since FROM former_places WHERE entry_id `+in+`) p
		WHERE since <= $1`, append([]any{at}, args...)...).Scan(&since)
	if err != nil {
		return 0, fmt.Errorf("look for the last change of a place: %w", err)
	}
	return since, nil
}

// handOverVersions gives the versions of an account to another, and returns their bytes, which
// count as kept for the former one. The caller moves these.
func handOverVersions(tx *db.Tx, from, to string) (kept int64, err error) {
	err = tx.QueryRow("SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM past WHERE owner_id = $1", from).Scan(&kept)
	if err == nil {
		_, err = tx.Exec("UPDATE past SET owner_id = $1 WHERE owner_id = $2", to, from)
	}
	if err != nil {
		return 0, fmt.Errorf("hand over the versions of files: %w", err)
	}
	return kept, nil
}
