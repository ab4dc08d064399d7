package upload

import (
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

// acknowledgedETags returns the acknowledged ETags of a session's parts by part number, for a
// session whose parts are recorded. Ask after the store, so that no part is listed there whose ETag
// is not known here yet.
func acknowledgedETags(q db.Querier, sessionID string) (map[int][]string, error) {
	rows, err := q.Query(`
		SELECT number, etag
		FROM upload_parts
		WHERE session_id = $1
		ORDER BY number, etag`, sessionID)
	if err != nil {
		return nil, fmt.Errorf("read the parts of an upload: %w", err)
	}
	defer rows.Close()
	etags := map[int][]string{}
	for rows.Next() {
		var number int
		var etag string
		if err := rows.Scan(&number, &etag); err != nil {
			return nil, fmt.Errorf("read the parts of an upload: %w", err)
		}
		etags[number] = append(etags[number], etag)
	}
	return etags, rows.Err()
}

// acknowledgedETagsOf returns the acknowledged ETags of one part of a session; usually one.
func acknowledgedETagsOf(q db.Querier, sessionID string, number int) (etags []string, err error) {
	rows, err := q.Query(`
		SELECT etag
		FROM upload_parts
		WHERE session_id = $1 AND number = $2
		ORDER BY etag`, sessionID, number)
	if err != nil {
		return nil, fmt.Errorf("read a part of an upload: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var etag string
		if err := rows.Scan(&etag); err != nil {
			return nil, fmt.Errorf("read a part of an upload: %w", err)
		}
		etags = append(etags, etag)
	}
	return etags, rows.Err()
}

// acknowledge records the ETag of the part that the client is told of, in place of before, those
// that were known before its body went to the store. One that came at the same time stays: the
// store shows which of the two it took last.
func acknowledge(tx *db.Tx, sessionID string, part blob.Part, before []string) error {
	etag := unquoteETag(part.ETag)
	if etag == "" {
		return errors.New("the store returned no ETag for a part")
	}
	for _, old := range before {
		_, err := tx.Exec(`DELETE FROM upload_parts WHERE session_id = $1 AND number = $2 AND etag = $3`, sessionID,
			part.Number, old)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(`
		INSERT INTO upload_parts (session_id, number, etag)
		VALUES ($1, $2, $3)
		ON CONFLICT (session_id, number, etag) DO NOTHING`, sessionID, part.Number, etag)
	return err
}

// moveAcknowledgments moves the acknowledged ETags of one session to the session that takes over
// its parts.
func moveAcknowledgments(tx *db.Tx, sessionID, formerID string) error {
	_, err := tx.Exec(`UPDATE upload_parts SET session_id = $1 WHERE session_id = $2`, sessionID, formerID)
	return err
}
