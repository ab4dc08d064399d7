package download

import (
	"database/sql"
	"fmt"
	"strings"

	"larder/internal/db"
)

// row is a token as it is stored.
type row struct {
	entryID       string
	selected      []string // files of the shared folder entryID that are sent together; nil for all of it
	userID, keyID string   // "" for a visitor, for no key
	shareID       string   // share that issued it to a visitor; "" for none
	purpose       Purpose
	content       string   // signed: content id of the file at issue; "" else
	version       int64    // files.Version.Until; 0 for the present content
	proof         []string // ids of the passwords that were given
	expiresAt     int64    // ms
	consumed      bool
	// of the session that issued it; nil for no session, for a signed link, and for a token of an
	// older Larder
	sessionVersions *sessionVersions
	sessionID       string // "" as above
}

// sessionVersions are the account's versions that a session was made with. The session ends when
// one of them changes.
type sessionVersions struct{ session, role int64 }

// null returns a text for a nullable column: NULL for "".
func null(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// insertToken stores a token under its hash, which is all that the database has of it.
func insertToken(tx *db.Tx, hash string, r row) error {
	var session, role sql.NullInt64
	if r.sessionVersions != nil {
		session, role = sql.NullInt64{Int64: r.sessionVersions.session,
			Valid: true}, sql.NullInt64{Int64: r.sessionVersions.role, Valid: true}
	}
	_, err := tx.Exec(`
		INSERT INTO download_tokens (hash, entry_id, user_id, key_id, share_id, purpose, object_id, proof, expires_at, session_version, role_version,
			session_id, selected, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		hash, r.entryID, null(r.userID), null(r.keyID), null(r.shareID), string(r.purpose), null(r.content),
		null(strings.Join(r.proof, ",")), r.expiresAt,
		session, role, null(r.sessionID), null(strings.Join(r.selected, ",")),
		sql.NullInt64{Int64: r.version, Valid: r.version != 0})
	return err
}

// tokenGroup returns the SQL condition, with id as its $1, for the tokens that share the bound
// maxTokens with r: those of its account, of its share, or for a visitor of its file or folder.
func (r row) tokenGroup() (condition, id string) {
	switch {
	case r.userID != "":
		return "user_id = $1", r.userID
	case r.shareID != "":
		return "share_id = $1", r.shareID
	}
	return "entry_id = $1 AND user_id IS NULL AND share_id IS NULL", r.entryID
}

// insertEvicting stores a token that is valid for at most Lifetime under its hash; now is in ms. It
// keeps at most maxTokens valid tokens of the group (see tokenGroup), signed links aside: the new
// token always stays, and those that expire soonest are deleted.
func insertEvicting(tx *db.Tx, hash string, r row, now int64) error {
	condition, id := r.tokenGroup()
	if err := tx.LockTokens(id); err != nil {
		return err
	}
	if err := insertToken(tx, hash, r); err != nil {
		return err
	}
	_, err := tx.Exec(`
		DELETE FROM download_tokens
		WHERE hash IN (
			SELECT hash
			FROM download_tokens
			WHERE `+condition+` AND purpose <> 'signed' AND consumed_at IS NULL
				AND expires_at > $2 AND expires_at <= $3 AND hash <> $4
			ORDER BY expires_at DESC, hash
			LIMIT 1000000 OFFSET $5)`,
		id, now, latestExpiry(now, r.purpose), hash, maxTokens-1)
	return err
}

// findToken reads a token by its hash, also an expired or used one. Error: db.ErrNoRows when there
// is none.
func findToken(q db.Querier, hash string) (row, error) {
	var (
		r                                                           row
		userID, keyID, shareID, content, proof, sessionID, selected sql.NullString
		session, role                                               sql.NullInt64
	)
	err := q.QueryRow(`
		SELECT entry_id, user_id, key_id, share_id, purpose, object_id, proof, expires_at, consumed_at IS NOT NULL, session_version, role_version,
			session_id, selected, COALESCE(version, 0)
		FROM download_tokens
		WHERE hash = $1`, hash).
		Scan(&r.entryID, &userID, &keyID, &shareID, &r.purpose, &content, &proof, &r.expiresAt, &r.consumed, &session,
			&role, &sessionID, &selected, &r.version)
	r.userID, r.keyID, r.shareID, r.content = userID.String, keyID.String, shareID.String, content.String
	r.sessionID = sessionID.String
	if proof.Valid {
		r.proof = strings.Split(proof.String, ",")
	}
	if selected.Valid {
		r.selected = strings.Split(selected.String, ",")
	}
	if session.Valid {
		r.sessionVersions = &sessionVersions{session: session.Int64, role: role.Int64}
	}
	return r, err
}

// consumeToken marks a token that serves once as used, at now (ms), and returns the id of its
// share, "" for none. Error: db.ErrNoRows when the token was used before, is expired, serves more
// than once or does not exist.
func consumeToken(tx *db.Tx, hash string, now int64) (shareID string, err error) {
	err = tx.QueryRow(`
		UPDATE download_tokens
		SET consumed_at = $1
		WHERE hash = $2 AND purpose = 'download' AND consumed_at IS NULL AND expires_at > $1 AND expires_at <= $3
		RETURNING COALESCE(share_id, '')`, now, hash, latestExpiry(now, Save)).Scan(&shareID)
	return shareID, err
}

// countSigned counts the signed links of an account that are valid at now (ms), up to limit.
func countSigned(tx *db.Tx, userID string, now int64, limit int) (n int, err error) {
	err = tx.QueryRow(`
		SELECT COUNT(*)
		FROM (SELECT 1 FROM download_tokens WHERE purpose = 'signed' AND user_id = $1 AND expires_at > $2 LIMIT $3) t`,
		userID, now, limit).Scan(&n)
	return n, err
}

// deleteExpired deletes the tokens that have expired by now (ms), used ones too.
func deleteExpired(tx *db.Tx, now int64) error {
	_, err := tx.Exec(`DELETE FROM download_tokens WHERE expires_at <= $1`, now)
	return err
}

// AfterRestore deletes all download tokens in a database restored from a backup: a token that was
// used after the backup would otherwise be valid again.
func AfterRestore(tx *db.Tx) error {
	if _, err := tx.Exec("DELETE FROM download_tokens"); err != nil {
		return fmt.Errorf("drop download tokens: %w", err)
	}
	return nil
}
