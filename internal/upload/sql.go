package upload

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// The states of a row.
const (
	pending   = "pending"
	completed = "completed"
	aborted   = "aborted"
	expired   = "expired"
)

// row is a session as it is stored.
type row struct {
	id, userID, keyID string // keyID "" for none
	dest              files.Destination
	size              int64  // bytes announced; -1 for an upload in one request of unknown length
	claimedType       string // MIME type claimed by the client, may be empty
	idempotencyKey    string // "" for none
	oneShot           bool   // upload in one request: no client knows the row
	mode              string // worker or presigned
	status            string
	bytes, files      int64  // reserved
	replaces          string // file whose bytes are deducted from the reservation, "" for none
	freed             int64  // number of those bytes

	// key is that of the bytes received, "" for none yet; in parts that of the object that they
	// become, from the start; see also inStaging.
	key           blob.Key
	totalParts    int    // 0 for a session whose bytes come in one piece
	uploadID      string // upload id of the store
	partsRecorded bool   // a part counts only when it was acknowledged, see received.go
	begunAt       int64  // ms; when the store was asked to begin the parts
	keptUntil     int64  // ms; 0 unless the parts of an expired session are kept

	completingBy    string // completion that holds the lease, "" for none; see lease.go
	completingUntil int64  // ms; end of the lease, or when the store was last asked without a clear answer, or 0

	sha256   string // hexadecimal
	etag     string // of the store
	mimeType string // decided
	entryID  string

	createdAt, expiresAt, completedAt int64 // ms
	retryRenewAt                      int64 // ms; not stored: when renewOneShot tries again after a failure
}

// inParts reports whether the bytes of the session come in parts, not in one piece.
func (r row) inParts() bool { return r.totalParts > 0 }

// mayGoDirect reports whether the bytes may be sent directly to the store by pre-signed addresses.
// A session in one piece cannot any more once its bytes came through the service.
func (r row) mayGoDirect() bool { return r.mode == modePresigned && (r.inParts() || r.sha256 == "") }

// inStaging reports whether key is a staging key, where bytes that are sent directly in one piece
// wait to be copied to a key that clients cannot write to. Bytes that come through the service
// replace them, and key is then theirs.
func (r row) inStaging() bool { return r.mayGoDirect() && !r.inParts() }

// keepsParts reports whether the parts of a session are kept when it expires: only an idempotency
// key leads a later session to them.
func (r row) keepsParts() bool { return r.inParts() && r.idempotencyKey != "" }

// partsKeptUntil is until when the parts of a session are kept (ms). A session that takes them over
// at the last moment still has its whole lifetime before stores drop an unfinished upload because
// of its age.
func (r row) partsKeptUntil() int64 {
	return min(r.expiresAt+keepPartsFor.Milliseconds(), r.begunAt+takeoverWindow.Milliseconds())
}

// garbageAt is when the key of a session becomes garbage unless the session ends before (ms). That
// is after the time for which its parts may be kept, so that a service that was down for a night
// finds them.
func (r row) garbageAt() int64 {
	switch {
	case r.keepsParts():
		return r.expiresAt + (keepPartsFor + garbageDelay).Milliseconds()
	case r.inStaging():
		return r.expiresAt + stagingDelay.Milliseconds()
	}
	return r.expiresAt + garbageDelay.Milliseconds()
}

const columns = `
	id, user_id, key_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size, mime_type, conflict,
	idempotency_key, one_shot, status, reserved_storage, reserved_files, object_key, sha256, etag, content_type, entry_id,
	created_at, expires_at, completed_at, upload_id, total_parts, kept_until, upload_mode, COALESCE(begun_at, created_at),
	parts_recorded, completing_by, completing_until, COALESCE(replaces_id, ''), freed`

// scan reads a row of columns. Error: that of the query, such as db.ErrNoRows.
func scan(from interface{ Scan(dest ...any) error }) (row, error) {
	var (
		r                                                                 row
		keyID, idempotencyKey, objectKey, sha256, etag, mimeType, entryID sql.NullString
		uploadID, completingBy                                            sql.NullString
		completedAt, totalParts, keptUntil, completingUntil               sql.NullInt64
		target, missing, name, conflict                                   string
	)
	err := from.Scan(&r.id, &r.userID, &keyID, &r.dest.MountID, &r.dest.ProviderID, &target, &r.dest.BaseID, &missing,
		&name, &r.size,
		&r.claimedType, &conflict, &idempotencyKey, &r.oneShot, &r.status, &r.bytes, &r.files, &objectKey, &sha256,
		&etag, &mimeType, &entryID,
		&r.createdAt, &r.expiresAt, &completedAt, &uploadID, &totalParts, &keptUntil, &r.mode, &r.begunAt,
		&r.partsRecorded, &completingBy, &completingUntil, &r.replaces, &r.freed)
	if err != nil {
		return row{}, err
	}
	r.keyID, r.idempotencyKey, r.key = keyID.String, idempotencyKey.String, blob.Key(objectKey.String)
	r.sha256, r.etag, r.mimeType, r.entryID = sha256.String, etag.String, mimeType.String, entryID.String
	r.uploadID, r.totalParts = uploadID.String, int(totalParts.Int64)
	r.completedAt, r.keptUntil = completedAt.Int64, keptUntil.Int64
	r.completingBy, r.completingUntil = completingBy.String, completingUntil.Int64
	if r.dest.Dir, err = vpath.Parse(target); err != nil {
		return row{}, fmt.Errorf("stored path of an upload session: %w", err)
	}
	if missing != "" {
		for _, part := range strings.Split(missing, "/") {
			r.dest.Missing = append(r.dest.Missing, vpath.Name(part))
		}
	}
	r.dest.Name, r.dest.Conflict = vpath.Name(name), files.Conflict(conflict)
	return r, nil
}

// null is a string as a parameter of SQL, with NULL for "".
func null(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// insert inserts a pending row. Error: a db.ErrUnique when another session has the idempotency key.
func insert(tx *db.Tx, r row) error {
	missing := make([]string, len(r.dest.Missing))
	for i, name := range r.dest.Missing {
		missing[i] = string(name)
	}
	_, err := tx.Exec(`
		INSERT INTO upload_sessions (id, user_id, key_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size,
			mime_type, conflict, idempotency_key, one_shot, status, reserved_storage, reserved_files, object_key, created_at, expires_at,
			upload_id, total_parts, upload_mode, begun_at, parts_recorded, replaces_id, freed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'pending', $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`,
		r.id, r.userID, null(r.keyID), r.dest.MountID, r.dest.ProviderID, r.dest.Dir.String(), r.dest.BaseID,
		strings.Join(missing, "/"), string(r.dest.Name), r.size, r.claimedType, string(r.dest.Conflict),
		null(r.idempotencyKey), r.oneShot,
		r.bytes, r.files, null(string(r.key)), r.createdAt, r.expiresAt,
		sql.NullString{String: r.uploadID, Valid: r.inParts()},
		sql.NullInt64{Int64: int64(r.totalParts), Valid: r.inParts()}, cmp.Or(r.mode, modeWorker),
		sql.NullInt64{Int64: r.begunAt, Valid: r.inParts()}, r.partsRecorded, null(r.replaces), r.freed)
	return err
}

// find returns the session id if it belongs to the user; rows of uploads in one request are not
// found. Fault: NotFound.
func find(q db.Querier, userID, id string) (row, error) {
	r, err := scan(q.QueryRow(`SELECT `+columns+`
		FROM upload_sessions
		WHERE id = $1 AND user_id = $2 AND NOT one_shot`, id, userID))
	if errors.Is(err, db.ErrNoRows) {
		return row{}, noSession()
	}
	return r, err
}

// findKey returns the session that the user's idempotency key names, else the expired one whose
// parts are kept under it; db.ErrNoRows when there is neither.
func findKey(q db.Querier, userID, idempotencyKey string) (row, error) {
	r, err := scan(q.QueryRow(`SELECT `+columns+`
		FROM upload_sessions
		WHERE user_id = $1 AND idempotency_key = $2 AND status IN ('pending', 'completed')`, userID, idempotencyKey))
	if errors.Is(err, db.ErrNoRows) {
		r, err = scan(q.QueryRow(`SELECT `+columns+`
			FROM upload_sessions
			WHERE user_id = $1 AND idempotency_key = $2 AND kept_until IS NOT NULL`, userID, idempotencyKey))
	}
	return r, err
}

// countOpen counts a user's sessions that are pending at now (ms), and aborted ones whose address
// still accepts bytes. It is exact only after the user's quota row was changed in the same
// transaction, which makes callers wait for each other.
func countOpen(q db.Querier, userID string, now int64) (int, error) {
	var n int
	err := q.QueryRow(`
		SELECT count(*)
		FROM upload_sessions
		WHERE user_id = $1 AND expires_at > $2 AND NOT one_shot
			AND (status = 'pending' OR status = 'aborted' AND upload_mode = 'presigned' AND total_parts IS NULL)`,
		userID, now).Scan(&n)
	return n, err
}

// countUsableAddresses counts the sessions of a user, in any state, whose address for bytes in one
// piece can still be used at now (ms).
func countUsableAddresses(q db.Querier, userID string, now int64) (int, error) {
	var n int
	err := q.QueryRow(`
		SELECT count(*)
		FROM upload_sessions
		WHERE user_id = $1 AND expires_at > $2 AND upload_mode = 'presigned' AND total_parts IS NULL`, userID, now).
		Scan(&n)
	return n, err
}

// dropKey removes the idempotency key of a completed session, so that a new session can have it.
func dropKey(tx *db.Tx, id string) error {
	_, err := tx.Exec(`UPDATE upload_sessions SET idempotency_key = NULL WHERE id = $1 AND status = 'completed'`, id)
	return err
}

// recordBytes records key, SHA-256, ETag and type in r as the bytes of its pending session,
// provided that its present key is still former, "" for none. It reports false when another body or
// the end of the session was faster. now is in ms.
func recordBytes(tx *db.Tx, r row, former blob.Key, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE upload_sessions
		SET object_key = $1, sha256 = $2, etag = $3, content_type = $4
		WHERE id = $5 AND status = 'pending' AND expires_at > $6 AND COALESCE(object_key, '') = $7`,
		string(r.key), r.sha256, r.etag, r.mimeType, r.id, now, string(former))
	return n == 1, err
}

// complete marks the session r as completed at now (ms), and decides which of several callers does
// so: it reports true for one, while the session is pending and has the bytes (r.key) that were
// verified. An expired session can be completed only by the holder of a lease taken before.
func complete(tx *db.Tx, r row, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE upload_sessions
		SET status = 'completed', completed_at = $1
		WHERE id = $2 AND status = 'pending' AND (expires_at > $1 OR completing_by = $4) AND object_key = $3`,
		now, r.id, string(r.key), r.completingBy)
	return n == 1, err
}

// setEntry records the file that a completed session has made.
func setEntry(tx *db.Tx, id, entryID string) error {
	_, err := tx.Exec(`UPDATE upload_sessions SET entry_id = $1 WHERE id = $2`, entryID, id)
	return err
}

// abort marks a pending session of that user as aborted, or ends the keeping of an expired one's
// parts, and returns it. Error: db.ErrNoRows when it is neither or belongs to another user.
func abort(tx *db.Tx, userID, id string) (row, error) {
	return scan(tx.QueryRow(`
		UPDATE upload_sessions
		SET status = CASE WHEN status = 'pending' THEN 'aborted' ELSE status END, kept_until = NULL
		WHERE id = $1 AND user_id = $2 AND (status = 'pending' OR kept_until IS NOT NULL) AND NOT one_shot
		RETURNING `+columns, id, userID))
}

// abortAll marks all pending sessions of a user as aborted, ends the keeping of parts of expired
// ones, and returns those sessions.
func abortAll(tx *db.Tx, userID string) ([]row, error) {
	rows, err := tx.Query(`
		UPDATE upload_sessions
		SET status = CASE WHEN status = 'pending' THEN 'aborted' ELSE status END, kept_until = NULL
		WHERE user_id = $1 AND (status = 'pending' OR kept_until IS NOT NULL) AND NOT one_shot
		RETURNING `+columns, userID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ended []row
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		ended = append(ended, r)
	}
	return ended, rows.Err()
}

// unreserve sets the reservations of a user's uploads in one request to nothing, and returns what
// they were in bytes and files. The caller releases them in the quota.
func unreserve(tx *db.Tx, userID string) (bytes, files int64, err error) {
	const theirs = "user_id = $1 AND status = 'pending' AND one_shot"
	err = tx.QueryRow(`
		SELECT CAST(COALESCE(SUM(reserved_storage), 0) AS BIGINT), CAST(COALESCE(SUM(reserved_files), 0) AS BIGINT)
		FROM upload_sessions
		WHERE `+theirs, userID).Scan(&bytes, &files)
	if err != nil {
		return 0, 0, err
	}
	_, err = tx.Exec("UPDATE upload_sessions SET reserved_storage = 0, reserved_files = 0 WHERE "+theirs, userID)
	return bytes, files, err
}

// expire marks a pending session as expired whose time is over at now (ms) and that no completion
// holds, and returns it. Error: db.ErrNoRows for any other.
func expire(tx *db.Tx, id string, now int64) (row, error) {
	return scan(tx.QueryRow(`
		UPDATE upload_sessions
		SET status = 'expired'
		WHERE id = $1 AND status = 'pending' AND expires_at <= $2 AND `+notCompleting("$2")+`
		RETURNING `+columns, id, now))
}

// expireKeepingParts marks a pending session as expired whose time is over at now, and keeps its
// parts until a time (both ms); reserved bytes stay reserved for them. It reports false for a
// session that was not pending or not due.
func expireKeepingParts(tx *db.Tx, id string, until, reserved, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE upload_sessions
		SET status = 'expired', kept_until = $1, reserved_storage = $2, reserved_files = 0
		WHERE id = $3 AND status = 'pending' AND expires_at <= $4 AND `+notCompleting("$4"), until, reserved, id, now)
	return n == 1, err
}

// completedSince reports whether the user has completed another session with the same folder and
// name since r was made.
func completedSince(q db.Querier, r row) (done bool, err error) {
	err = q.QueryRow(`
		SELECT EXISTS (
			SELECT 1 FROM upload_sessions
			WHERE user_id = $1 AND status = 'completed' AND completed_at >= $2 AND target_path = $3 AND file_name = $4)`,
		r.userID, r.createdAt, r.dest.Dir.String(), string(r.dest.Name)).Scan(&done)
	if err != nil {
		return false, fmt.Errorf("look for a later upload: %w", err)
	}
	return done, nil
}

// endKeeping ends the keeping of an expired session's parts and returns the session. Of several
// callers, new sessions and the sweep, one gets the parts. Error: db.ErrNoRows for the others.
func endKeeping(tx *db.Tx, id string) (row, error) {
	return scan(tx.QueryRow(`
		UPDATE upload_sessions
		SET kept_until = NULL
		WHERE id = $1 AND kept_until IS NOT NULL
		RETURNING `+columns, id))
}

// extendSession extends a session in parts that is pending at now until a time (both ms), and never
// shortens it. Error: db.ErrNoRows when it is not pending any more.
func extendSession(tx *db.Tx, id string, until, now int64) (row, error) {
	return scan(tx.QueryRow(`
		UPDATE upload_sessions
		SET expires_at = CASE WHEN expires_at < $1 THEN $1 ELSE expires_at END
		WHERE id = $2 AND status = 'pending' AND expires_at > $3 AND total_parts IS NOT NULL
		RETURNING `+columns, until, id, now))
}

// deleteOneShot deletes the row of an upload in one request, and sets r's reservation to that of
// the row. It reports false when the row is gone.
func deleteOneShot(tx *db.Tx, r *row) (bool, error) {
	err := tx.QueryRow(`
		DELETE FROM upload_sessions
		WHERE id = $1 AND status = 'pending' AND one_shot
		RETURNING reserved_storage, reserved_files`, r.id).Scan(&r.bytes, &r.files)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// addReserved adds bytes to the reservation that the row of an upload in one request records.
func addReserved(tx *db.Tx, id string, bytes int64) error {
	_, err := tx.Exec(`UPDATE upload_sessions SET reserved_storage = reserved_storage + $1 WHERE id = $2`, bytes, id)
	return err
}

// countOneShots counts a user's uploads in one request whose rows expire after a time (ms), and
// which have been renewed accordingly late.
func countOneShots(q db.Querier, userID string, after int64) (n int, err error) {
	err = q.QueryRow(`
		SELECT count(*)
		FROM upload_sessions
		WHERE user_id = $1 AND status = 'pending' AND one_shot AND expires_at > $2`, userID, after).Scan(&n)
	return n, err
}

// deductedBytes returns how many bytes of replaced files all running uploads of a user leave out of
// their reservations. taken reports whether one of any user replaces the file entryID, "" for none.
func deductedBytes(q db.Querier, userID, entryID string) (taken bool, bytes int64, err error) {
	err = q.QueryRow(`
		SELECT
			EXISTS (SELECT 1 FROM upload_sessions WHERE replaces_id = $1 AND (status = 'pending' OR kept_until IS NOT NULL)),
			CAST(COALESCE(SUM(freed), 0) AS BIGINT)
		FROM upload_sessions
		WHERE user_id = $2 AND (status = 'pending' OR status = 'expired' AND kept_until IS NOT NULL)`, entryID, userID).
		Scan(&taken, &bytes)
	return taken, bytes, err
}

// extendOneShot extends the row of an upload in one request until a time (ms), and reports whether
// it is still pending.
func extendOneShot(tx *db.Tx, id string, until int64) (bool, error) {
	n, err := tx.Exec(`UPDATE upload_sessions SET expires_at = $1 WHERE id = $2 AND status = 'pending' AND one_shot`,
		until, id)
	return n == 1, err
}

// InUse reports whether sessions still have bytes in that provider's store, or may send some, so
// that the provider cannot be deleted and an evacuation waits.
func InUse(q db.Querier, providerID string) (in bool, err error) {
	err = q.QueryRow(`
		SELECT EXISTS (
			SELECT 1 FROM upload_sessions
			WHERE provider_id = $1 AND (status = 'pending' OR kept_until IS NOT NULL))`, providerID).Scan(&in)
	if err != nil {
		return false, fmt.Errorf("look for uploads to a provider: %w", err)
	}
	return in, nil
}

// MountInUse reports whether sessions of one mount still have bytes in that provider's store, or
// may send some.
func MountInUse(q db.Querier, providerID, mountID string) (in bool, err error) {
	err = q.QueryRow(`
		SELECT EXISTS (
			SELECT 1 FROM upload_sessions
			WHERE provider_id = $1 AND mount_id = $2 AND (status = 'pending' OR kept_until IS NOT NULL))`, providerID,
		mountID).Scan(&in)
	if err != nil {
		return false, fmt.Errorf("look for uploads to a mount: %w", err)
	}
	return in, nil
}

// noSession is the fault NotFound for an id of no session of the user.
func noSession() error { return fault.New(fault.NotFound, "There is no such upload session.") }

// AfterRestore deletes, in a database restored from a backup, the sessions whose bytes are not in
// the backup: all except completed ones.
func AfterRestore(tx *db.Tx) error {
	if _, err := tx.Exec(`DELETE FROM upload_sessions WHERE status <> 'completed'`); err != nil {
		return fmt.Errorf("drop uploads under way: %w", err)
	}
	if _, err := tx.Exec(`DELETE FROM upload_parts`); err != nil {
		return fmt.Errorf("drop parts of uploads: %w", err)
	}
	return nil
}
