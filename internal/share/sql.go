package share

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

const columns = `id, entry_id, creator_id, title, password_hash, password_id, proof, expires_at, max_views, max_downloads, view_count, download_count,
	allow_preview, allow_download, revoked_at, created_at, updated_at`

// scan reads one row of a query of columns.
func scan(row interface{ Scan(dest ...any) error }) (Share, error) {
	var s Share
	var hash, password, proof sql.NullString
	err := row.Scan(&s.ID, &s.EntryID, &s.CreatorID, &s.Title, &hash, &password, &proof, &s.ExpiresAt, &s.MaxViews,
		&s.MaxDownloads, &s.ViewCount,
		&s.DownloadCount, &s.AllowPreview, &s.AllowDownload, &s.RevokedAt, &s.CreatedAt, &s.UpdatedAt)
	s.passwordHash, s.PasswordID = hash.String, password.String
	if proof.String != "" {
		s.proof = strings.Split(proof.String, ",")
	}
	return s, err
}

// find reads a share by its id, also one that has ended. Fault: NotFound.
func find(q db.Querier, id string) (Share, error) {
	return scanOne(q.QueryRow("SELECT "+columns+" FROM shares WHERE id = $1", id))
}

// findOwn reads a share by its id if creatorID has made it. Fault: NotFound, also for somebody
// else's.
func findOwn(q db.Querier, creatorID, id string) (Share, error) {
	return scanOne(q.QueryRow("SELECT "+columns+" FROM shares WHERE id = $1 AND creator_id = $2", id, creatorID))
}

// scanOne reads the row of a query of columns. Fault: NotFound when there is none.
func scanOne(row db.Row) (Share, error) {
	s, err := scan(row)
	if errors.Is(err, db.ErrNoRows) {
		return Share{}, notFound()
	}
	if err != nil {
		return Share{}, fmt.Errorf("read share: %w", err)
	}
	return s, nil
}

// null returns a text for a nullable column: NULL for "".
func null(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// insert stores a new share, whose id must be new.
func insert(tx *db.Tx, s Share) error {
	_, err := tx.Exec(`
		INSERT INTO shares (id, entry_id, creator_id, title, password_hash, password_id, proof, expires_at, max_views, max_downloads, allow_preview,
			allow_download, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)`,
		s.ID, s.EntryID, s.CreatorID, s.Title, null(s.passwordHash), null(s.PasswordID),
		null(strings.Join(s.proof, ",")), s.ExpiresAt, s.MaxViews,
		s.MaxDownloads, s.AllowPreview, s.AllowDownload, s.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert share: %w", err)
	}
	return nil
}

// lockUser locks the row of an account until tx ends, so that no other transaction changes the
// account's shares between reading or counting and writing. Fault: NotFound.
func lockUser(tx *db.Tx, userID string) error {
	n, err := tx.Exec("UPDATE users SET updated_at = updated_at WHERE id = $1", userID)
	if err != nil {
		return fmt.Errorf("lock the owner of shares: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "There is no such user.")
	}
	return nil
}

// countShares counts the shares of an account, ended ones too, up to limit, with an index-only
// scan.
func countShares(tx *db.Tx, creatorID string, limit int) (n int, err error) {
	err = tx.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM shares WHERE creator_id = $1 LIMIT $2) t", creatorID, limit).
		Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count shares: %w", err)
	}
	return n, nil
}

// deleteEnded deletes up to limit of the account's oldest shares that were revoked or have expired
// by now (ms), and returns how many it deleted.
func deleteEnded(tx *db.Tx, creatorID string, now int64, limit int) (int64, error) {
	n, err := tx.Exec(`
		DELETE FROM shares
		WHERE id IN (
			SELECT id
			FROM shares
			WHERE creator_id = $1 AND (revoked_at IS NOT NULL OR expires_at <= $2)
			ORDER BY created_at, id
			LIMIT $3
		)`, creatorID, now, limit)
	if err != nil {
		return 0, fmt.Errorf("forget ended shares: %w", err)
	}
	return n, nil
}

// countView counts a view of a share that still has passwordID ("" for no password) and returns the
// new number of views. now is in ms. Error: db.ErrNoRows when the share has ended, has another
// password or has no views left.
func countView(tx *db.Tx, id, passwordID string, now int64) (views int64, err error) {
	err = tx.QueryRow(`
		UPDATE shares
		SET view_count = view_count + 1
		WHERE id = $1 AND COALESCE(password_id, '') = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
			AND (max_views IS NULL OR view_count < max_views)
		RETURNING view_count`, id, passwordID, now).Scan(&views)
	return views, err
}

// countDownload counts a download of a share at now (ms). It returns false when the share has ended
// or has no downloads left.
func countDownload(tx *db.Tx, id string, now int64) (bool, error) {
	n, err := tx.Exec(`
		UPDATE shares
		SET download_count = download_count + 1
		WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) AND (max_downloads IS NULL OR download_count < max_downloads)`,
		id, now)
	if err != nil {
		return false, fmt.Errorf("count a download of a share: %w", err)
	}
	return n == 1, nil
}

// update writes the fields of a share that its creator can change. It returns false, and changes
// nothing, when the share is revoked.
func update(tx *db.Tx, s Share) (bool, error) {
	n, err := tx.Exec(`
		UPDATE shares
		SET title = $2, password_hash = $3, password_id = $4, proof = $5, expires_at = $6, max_views = $7, max_downloads = $8, allow_preview = $9,
			allow_download = $10, updated_at = $11
		WHERE id = $1 AND revoked_at IS NULL`,
		s.ID, s.Title, null(s.passwordHash), null(s.PasswordID), null(strings.Join(s.proof, ",")), s.ExpiresAt,
		s.MaxViews, s.MaxDownloads,
		s.AllowPreview, s.AllowDownload, s.UpdatedAt)
	if err != nil {
		return false, fmt.Errorf("change share: %w", err)
	}
	return n == 1, nil
}

// CountActive returns the number of active shares that a user has made; now is in ms.
func CountActive(q db.Querier, userID string, now int64) (n int64, err error) {
	err = q.QueryRow("SELECT COUNT(*) FROM shares WHERE creator_id = $2 AND "+statusConditions[Active], now, userID).
		Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count shares: %w", err)
	}
	return n, nil
}

// RevokeAll ends all shares that a user has made for good; now is in ms. It is for the end of an
// account.
func RevokeAll(tx *db.Tx, userID string, now int64) error {
	_, err := tx.Exec("UPDATE shares SET revoked_at = $2, updated_at = $2 WHERE creator_id = $1 AND revoked_at IS NULL",
		userID, now)
	if err != nil {
		return fmt.Errorf("revoke shares: %w", err)
	}
	return nil
}

// revoke ends a share for good at now (ms), of any user if creatorID is "", and keeps the time of
// the first revocation. It returns the id of the shared entry. Fault: NotFound.
func revoke(tx *db.Tx, id, creatorID string, now int64) (entryID string, err error) {
	err = tx.QueryRow(`
		UPDATE shares
		SET revoked_at = COALESCE(revoked_at, $2), updated_at = $2
		WHERE id = $1 AND ($3 = '' OR creator_id = $3)
		RETURNING entry_id`, id, now, creatorID).Scan(&entryID)
	if errors.Is(err, db.ErrNoRows) {
		return "", notFound()
	}
	if err != nil {
		return "", fmt.Errorf("revoke share: %w", err)
	}
	return entryID, nil
}

// statusConditions are the SQL conditions for each status at the time $1.
var statusConditions = map[Status]string{
	"":      "CAST($1 AS BIGINT) IS NOT NULL",
	Active:  "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)",
	Expired: "revoked_at IS NULL AND expires_at <= $1",
	Revoked: "revoked_at IS NOT NULL AND CAST($1 AS BIGINT) IS NOT NULL",
}

// readPage returns the shares on the page that query selects, by their status at now (ms), and the
// total number of matching shares.
func readPage(q db.Querier, query Query, now int64) (shares []Share, total int64, err error) {
	condition := statusConditions[query.Status]
	args := []any{now}
	if query.CreatorID != "" {
		condition += " AND creator_id = $2"
		args = append(args, query.CreatorID)
	}
	if query.EntryID != "" {
		args = append(args, query.EntryID)
		condition += fmt.Sprintf(" AND entry_id = $%d", len(args))
	}
	if query.Search != "" {
		return searchPage(q, query, condition, args)
	}
	where := " FROM shares WHERE " + condition
	if err := q.QueryRow("SELECT COUNT(*)"+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count shares: %w", err)
	}
	rest := fmt.Sprintf(" ORDER BY created_at DESC, id DESC LIMIT $%d OFFSET $%d", len(args)+1, len(args)+2)
	args = append(args, query.Limit, (query.Page-1)*query.Limit)
	shares, err = sharesOf(q.Query("SELECT "+columns+where+rest, args...))
	return shares, total, err
}

// searchPage is readPage for a query with a search text; condition is its SQL condition without
// that, with args.
func searchPage(q db.Querier, query Query, condition string, args []any) (shares []Share, total int64, err error) {
	ids, total, err := searchIDs(q, query, condition, args)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	in, args := db.InList(1, ids)
	shares, err = sharesOf(q.Query("SELECT "+columns+" FROM shares WHERE id "+in+" ORDER BY created_at DESC, id DESC",
		args...))
	return shares, total, err
}

// searchIDs returns the ids of the shares on the page, and the total number of matching shares. It
// reads the names of all shares under the condition, since the engines do not fold titles.
func searchIDs(q db.Querier, query Query, condition string, args []any) (ids []string, total int64, err error) {
	rows, err := q.Query(`
		SELECT s.id, COALESCE(s.title, ''), COALESCE(e.name, ''), COALESCE(u.username, ''), COALESCE(u.display_name, '')
		FROM shares s LEFT JOIN entries e ON e.id = s.entry_id LEFT JOIN users u ON u.id = s.creator_id
		WHERE `+condition+`
		ORDER BY s.created_at DESC, s.id DESC`, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("search shares: %w", err)
	}
	defer rows.Close()
	search, first := vpath.Fold(query.Search), (query.Page-1)*query.Limit
	for rows.Next() {
		var id string
		var names [4]string
		if err := rows.Scan(&id, &names[0], &names[1], &names[2], &names[3]); err != nil {
			return nil, 0, fmt.Errorf("search shares: %w", err)
		}
		matches := func(name string) bool { return strings.Contains(vpath.Fold(name), search) }
		if !slices.ContainsFunc(names[:], matches) {
			continue
		}
		if total >= first && total < first+query.Limit {
			ids = append(ids, id)
		}
		total++
	}
	return ids, total, rows.Err()
}

// sharesOf reads the rows of a query of columns, whose result it takes.
func sharesOf(rows *sql.Rows, err error) (shares []Share, _ error) {
	if err != nil {
		return nil, fmt.Errorf("list shares: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("list shares: %w", err)
		}
		shares = append(shares, s)
	}
	return shares, rows.Err()
}

// sweptShare is a share that a sweep looks at.
type sweptShare struct {
	id, entryID string
	ended       *int64 // ms
	remind      bool   // its creator is to be reminded of its end
}

// remindCondition is the SQL condition for shares that end between the times $1 and $2, lasted
// longer than $3 (ms), and of whose end the creator was not reminded.
const remindCondition = `revoked_at IS NULL AND expires_at > $1 AND expires_at <= $2 AND expires_at - created_at > $3
			AND COALESCE(reminded_for, 0) <> expires_at`

// nextShares returns up to limit shares in the order of their ids, beginning after the id after, ""
// for the first. It tells of each whether it has ended, and whether its creator is to be reminded
// at now (ms).
func nextShares(q db.Querier, after string, limit int, now int64) (found []sweptShare, err error) {
	rows, err := q.Query(`
		SELECT id, entry_id, COALESCE(revoked_at, expires_at), COALESCE(`+remindCondition+`, FALSE)
		FROM shares
		WHERE id > $4
		ORDER BY id
		LIMIT $5`, now, now+remindBefore, remindBefore, after, limit)
	if err != nil {
		return nil, fmt.Errorf("walk through shares: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var p sweptShare
		if err := rows.Scan(&p.id, &p.entryID, &p.ended, &p.remind); err != nil {
			return nil, fmt.Errorf("walk through shares: %w", err)
		}
		found = append(found, p)
	}
	return found, rows.Err()
}

// markReminded records that the creator of a share is being reminded of its end, and reports
// whether this caller is the first one: of several replicas only that one reminds. now is in ms.
func markReminded(tx *db.Tx, s Share, now int64) (bool, error) {
	n, err := tx.Exec("UPDATE shares SET reminded_for = expires_at WHERE id = $4 AND expires_at = $5 AND "+
		remindCondition, now, now+remindBefore, remindBefore, s.ID, *s.ExpiresAt)
	return n == 1, err
}

// deleteEndedBefore deletes the ended shares of one step of Sweep: those with ids after `after` and
// up to last that ended at before (ms) or earlier.
func deleteEndedBefore(tx *db.Tx, after, last string, before int64) error {
	_, err := tx.Exec("DELETE FROM shares WHERE id > $1 AND id <= $2 AND COALESCE(revoked_at, expires_at) <= $3", after,
		last, before)
	return err
}

// deleteOfEntries deletes the shares of the given entries, which do not exist any more.
func deleteOfEntries(tx *db.Tx, entries []string) error {
	for _, id := range entries {
		if _, err := tx.Exec("DELETE FROM shares WHERE entry_id = $1", id); err != nil {
			return err
		}
	}
	return nil
}
