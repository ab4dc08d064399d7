package upload

import (
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/db"
)

// acknowledgedETags returns the ETags of a session's parts by number, of a session whose
// parts are recorded. To be asked after the store, so that no part is seen there of which
// nothing is known here yet.
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

// acknowledgedETagsOf returns the ETags of one part of such a session.
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

// acknowledge notes that this is the part which the client is told of, in the place of those that
// were known before its body went to the store. One that came beside it stays known: which of the
// two the store took last shows there.
func acknowledge(tx *db.Tx, sessionID string, part blob.Part, before []string) error {
	etag := unquoteETag(part.ETag)
	if etag == "" {
		return errors.New("the store does not say what it calls a part")
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

// moveAcknowledgments hands what is known of the parts of one session on to the one
// that takes them over.
func moveAcknowledgments(tx *db.Tx, sessionID, formerID string) error {
	_, err := tx.Exec(`UPDATE upload_parts SET session_id = $1 WHERE session_id = $2`, sessionID, formerID)
	return err
}
