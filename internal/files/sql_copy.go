package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/vpath"
)

// sourceEntry is an entry at or below a source.
type sourceEntry struct {
	row
	depth int // levels below the source
}

// entriesBelow lists a folder and everything below it with the levels between, the folder first, at
// most limit entries.
func entriesBelow(q db.Querier, folder string, limit int) ([]sourceEntry, error) {
	rows, err := q.Query(`
		WITH RECURSIVE sub (id, n) AS (
			SELECT e.id, 0
			FROM entries e
			WHERE e.id = $1
			UNION ALL
			SELECT e.id, s.n + 1
			FROM sub s JOIN entries e ON e.parent_id = s.id
		),
		few (id, n) AS (
			SELECT id, n
			FROM sub
			LIMIT $2
		)
		SELECT s.n, `+entryColumns+`
		FROM few s JOIN entries e ON e.id = s.id LEFT JOIN objects o ON o.id = e.object_id
		ORDER BY s.n`, folder, limit)
	if err != nil {
		return nil, fmt.Errorf("list what is to be copied: %w", err)
	}
	defer rows.Close()
	var found []sourceEntry
	for rows.Next() {
		var depth int
		var s rowScan
		if err := rows.Scan(append([]any{&depth}, s.columns()...)...); err != nil {
			return nil, fmt.Errorf("list what is to be copied: %w", err)
		}
		found = append(found, sourceEntry{s.done(), depth})
	}
	return found, rows.Err()
}

// childrenAfter lists the entries of a kind directly in a folder that come after a position in the
// order, at most limit. Their sortKey is the key of this order, for the next position.
func (o nameOrder) childrenAfter(tx *db.Tx, folder string, kind int, after namePosition, limit int) ([]row, error) {
	rows, err := tx.Query(`
		SELECT `+entryColumns+`, e.`+o.column()+`
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.kind = $2 AND `+o.after(tx.Dialect(), "$3", "$4")+`
		ORDER BY `+o.orderBy("")+`
		LIMIT $5`, folder, kind, after.key, after.name, limit)
	if err != nil {
		return nil, fmt.Errorf("list what is to be copied: %w", err)
	}
	defer rows.Close()
	var found []row
	for rows.Next() {
		var s rowScan
		if err := rows.Scan(append(s.columns(), &s.sortKey)...); err != nil {
			return nil, fmt.Errorf("list what is to be copied: %w", err)
		}
		found = append(found, s.done())
	}
	return found, rows.Err()
}

// Passwords that make a folder impossible to copy, whoever the owner is. The first query is asked
// first, as anyProtected.
const (
	anyPassword   = "SELECT EXISTS (SELECT 1 FROM entries e WHERE e.password_hash IS NOT NULL)"
	passwordBelow = foldersBelow + `
	SELECT EXISTS (
		SELECT 1 FROM sub s
		WHERE EXISTS (SELECT 1 FROM entries e WHERE e.parent_id = s.id AND e.password_hash IS NOT NULL))`
)

// extentOf measures a folder for a copy by the user userID: everything of an extent but
// foreignBytes. Its parts need not be from the same moment: the copy decides about each entry by
// itself.
func extentOf(q db.Querier, folder, userID string) (e extent, err error) {
	var sums []ownerTotals
	if e.folders, sums, err = sumBelow(q, folder); err != nil {
		return extent{}, err
	}
	for _, s := range sums {
		e.files, e.bytes = e.files+s.files, e.bytes+s.bytes
	}
	if e.height, err = heightOf(q, folder); err != nil {
		return extent{}, err
	}
	if err := q.QueryRow(foreignBelow, folder, userID).Scan(&e.otherOwners); err != nil {
		return extent{}, fmt.Errorf("look through a folder: %w", err)
	}
	if err := q.QueryRow(anyPassword).Scan(&e.protected); err != nil {
		return extent{}, fmt.Errorf("look for passwords: %w", err)
	}
	if e.protected {
		if err := q.QueryRow(passwordBelow, folder).Scan(&e.protected); err != nil {
			return extent{}, fmt.Errorf("look through a folder: %w", err)
		}
	}
	return e, nil
}

// foreignBytesBelow sums the bytes of files below a folder, at any depth, whose content is in
// another provider than the given one.
func foreignBytesBelow(q db.Querier, folder, provider string) (bytes int64, err error) {
	err = q.QueryRow(foldersBelow+`
		SELECT CAST(COALESCE(SUM(o.size), 0) AS BIGINT)
		FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1 JOIN objects o ON o.id = e.object_id
		WHERE o.provider_id <> $2`, folder, provider).Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("sum the content in other providers: %w", err)
	}
	return bytes, nil
}

// insertCopy inserts the row r of a copy, with the metadata of the original and without a password.
// For a picture, it copies the time and the ratio from the table pictures, or stores NULL if the
// object was not examined. done is false when the name is taken in the parent folder.
func insertCopy(tx *db.Tx, r *row) (done bool, err error) {
	kind := fileKind
	if r.folder {
		kind = folderKind
	}
	n, err := tx.Exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id,
			custom_title, custom_color, cover_url, icon_emoji, manual_position, created_at, updated_at, sort_key,
			examined_object, taken_at, ratio)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
			`+knownPicture("o.id", "$18")+`, `+knownPicture("p.taken_at", "$18")+`, `+knownPicture(pictureRatio, "$18")+`)
		ON CONFLICT (parent_id, name) DO NOTHING`,
		r.id, r.parent, r.name, vpath.Fold(r.name), kind, r.size, r.mimeType, r.owner, nullable(r.object),
		r.title, r.color, r.cover, r.emoji, r.position, r.created, r.updated, vpath.SortKey(r.name),
		pictureObject(r))
	if err != nil {
		return false, fmt.Errorf("insert the copy of an entry: %w", err)
	}
	return n == 1, nil
}

// copyPassword gives the entry to the password of the entry from: its hash, and its id where it has
// one.
func copyPassword(tx *db.Tx, from, to string) error {
	_, err := tx.Exec(`
		UPDATE entries
		SET password_hash = (SELECT s.password_hash FROM entries s WHERE s.id = $1), password_id = (SELECT s.password_id FROM entries s WHERE s.id = $1)
		WHERE id = $2`, from, to)
	if err != nil {
		return fmt.Errorf("copy a password: %w", err)
	}
	return nil
}

// refIncrements counts the references to be added to each object.
type refIncrements map[string]int64

// add counts one more reference to the object of r; a folder has none.
func (ri refIncrements) add(r *row) {
	if !r.folder {
		ri[r.object]++
	}
}

// apply adds the references to the rows of the objects. When an object is gone, because its file
// was replaced or deleted since it was read, it returns the error that runs the transaction again.
func (ri refIncrements) apply(tx *db.Tx) error {
	all, err := object.AddReferences(tx, ri)
	if err == nil && !all {
		err = retryTransaction()
	}
	return err
}

// stagedCopy is a large copy that a job is making: a row of the table copies, with the quota that
// is reserved for it and the amounts that are copied so far.
type stagedCopy struct {
	job, entry, user      string
	bytes, files, folders int64 // reserved
	madeBytes, madeFiles  int64
}

const stagedColumns = "job_id, entry_id, user_id, reserved_storage, reserved_files, reserved_folders, made_storage, " +
	"made_files"

// scanStaged reads a row of stagedColumns. found is false when there is no row.
func scanStaged(row db.Row) (s stagedCopy, found bool, err error) {
	err = row.Scan(&s.job, &s.entry, &s.user, &s.bytes, &s.files, &s.folders, &s.madeBytes, &s.madeFiles)
	if errors.Is(err, db.ErrNoRows) {
		return stagedCopy{}, false, nil
	}
	return s, err == nil, err
}

// insertStaged records the copy that a job begins to make, with nothing copied yet.
func insertStaged(tx *db.Tx, s stagedCopy) error {
	_, err := tx.Exec("INSERT INTO copies ("+stagedColumns+") VALUES ($1, $2, $3, $4, $5, $6, 0, 0)",
		s.job, s.entry, s.user, s.bytes, s.files, s.folders)
	if err != nil {
		return fmt.Errorf("record a copy: %w", err)
	}
	return nil
}

// countStaged adds bytes and files to the amounts copied by a job, and returns its record as it is
// then. found is false when the copy was dropped.
func countStaged(tx *db.Tx, jobID string, bytes, files int64) (s stagedCopy, found bool, err error) {
	s, found, err = scanStaged(tx.QueryRow(`
		UPDATE copies
		SET made_storage = made_storage + $2, made_files = made_files + $3
		WHERE job_id = $1
		RETURNING `+stagedColumns, jobID, bytes, files))
	if err != nil {
		return stagedCopy{}, false, fmt.Errorf("count what was copied: %w", err)
	}
	return s, found, nil
}

// reserveStaged records that more quota is reserved for the copy of a job: bytes, files, folders.
func reserveStaged(tx *db.Tx, jobID string, bytes, files, folders int64) error {
	_, err := tx.Exec(`
		UPDATE copies
		SET reserved_storage = reserved_storage + $2, reserved_files = reserved_files + $3, reserved_folders = reserved_folders + $4
		WHERE job_id = $1`, jobID, bytes, files, folders)
	if err != nil {
		return fmt.Errorf("record the reservation of a copy: %w", err)
	}
	return nil
}

// endStaged deletes the record of a copy that its job has finished or given up, and returns it.
// found is false when there was none.
func endStaged(tx *db.Tx, jobID string) (s stagedCopy, found bool, err error) {
	s, found, err = scanStaged(tx.QueryRow("DELETE FROM copies WHERE job_id = $1 RETURNING "+stagedColumns, jobID))
	if err != nil {
		return stagedCopy{}, false, fmt.Errorf("end a copy: %w", err)
	}
	return s, found, nil
}

// moveStagedToGraveyard moves an entry from the staging root to the graveyard; an entry elsewhere
// stays.
func moveStagedToGraveyard(tx *db.Tx, id string) error {
	_, err := tx.Exec("UPDATE entries SET parent_id = $1 WHERE id = $2 AND parent_id = $3", graveyard, id, staging)
	return err
}
