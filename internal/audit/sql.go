package audit

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"larder/internal/db"
	"larder/internal/vpath"
)

// nullable returns a text for a column in which NULL stands for "".
func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// nullableFold returns a path with its case folded, for searches, or NULL if that changes nothing.
// So most paths are stored once.
func nullableFold(path string) sql.NullString {
	fold := vpath.Fold(path)
	return sql.NullString{String: fold, Valid: fold != path}
}

const insertColumns = "user_id, key_id, ip, action, path, path_fold, bytes, status, count, created_at, " +
	"request_id, method"

// insertStatements are the statements for fixed numbers of rows, the largest first. These few
// statements stay prepared, whatever the number of entries.
var insertStatements = func() (all []struct {
	rows int
	text string
}) {
	for _, n := range []int{64, 8, 1} {
		values, marks := make([]string, n), 0
		for i := range values {
			row := make([]string, strings.Count(insertColumns, ",")+1)
			for j := range row {
				marks++
				row[j] = "$" + strconv.Itoa(marks)
			}
			values[i] = "(" + strings.Join(row, ", ") + ")"
		}
		all = append(all, struct {
			rows int
			text string
		}{n, "INSERT INTO access_log (" + insertColumns + ")\nVALUES " + strings.Join(values, ",\n\t")})
	}
	return all
}()

// insert adds rows for entries, in as few statements as possible, and adds their number to the
// stored size.
func insert(tx *db.Tx, entries []Entry) error {
	if err := addSize(tx, int64(len(entries))); err != nil {
		return err
	}
	for _, statement := range insertStatements {
		for len(entries) >= statement.rows {
			args := make([]any, 0, statement.rows*12)
			for _, e := range entries[:statement.rows] {
				args = append(args, nullable(e.UserID), nullable(e.KeyID), nullable(e.IP), string(e.Action), e.Path,
					nullableFold(e.Path), e.Bytes, int64(e.Status), e.Count, e.CreatedAt, nullable(e.RequestID),
					nullable(e.Method))
			}
			if _, err := tx.Exec(statement.text, args...); err != nil {
				return err
			}
			entries = entries[statement.rows:]
		}
	}
	return nil
}

// addSize adds rows to the stored number of rows of the log; rows is negative for deleted ones.
func addSize(tx *db.Tx, rows int64) error {
	_, err := tx.Exec("UPDATE access_log_size SET size = size + $1", rows)
	return err
}

// Check reads the oldest and the newest rows of each table, which detects a damaged file in most
// cases. Error: db.ErrMalformed.
func Check(q db.Querier) error {
	for _, query := range []string{
		"SELECT COUNT(*) FROM access_log_size",
		"SELECT COUNT(path) FROM (SELECT path FROM access_log ORDER BY created_at, id LIMIT 1) oldest",
		"SELECT COUNT(path) FROM (SELECT path FROM access_log ORDER BY created_at DESC, id DESC LIMIT 1) newest",
		"SELECT COUNT(*) FROM (SELECT minute FROM request_minutes ORDER BY minute DESC LIMIT 1) newest",
	} {
		var n int64
		if err := q.QueryRow(query).Scan(&n); err != nil {
			return fmt.Errorf("look into the access log: %w", err)
		}
	}
	return nil
}

// where returns the WHERE clause for q, "" if q selects everything, and its arguments from $1 on.
func (q Query) where(d db.Dialect) (text string, args []any) {
	var all []string
	add := func(condition string, value any) {
		args = append(args, value)
		all = append(all, strings.ReplaceAll(condition, "?", "$"+strconv.Itoa(len(args))))
	}
	switch {
	case q.Failed && q.UserID != "":
		// COALESCE keeps the planner from using the index of the user, who may have many entries
		add("COALESCE(user_id, '') = ?", q.UserID)
	case q.UserID != "":
		add("user_id = ?", q.UserID)
	}
	switch {
	case q.Action != "" && q.UserID != "":
		// COALESCE keeps the planner from using the index of the action: the user has fewer rows
		add("COALESCE(action, '') = ?", string(q.Action))
	case q.Action != "":
		add("action = ?", string(q.Action))
	}
	if q.Failed {
		all = append(all, "status >= 400")
	}
	if q.From != nil {
		add("created_at >= ?", *q.From)
	}
	if q.To != nil {
		add("created_at <= ?", *q.To)
	}
	if q.Search != "" {
		add(d.Position("COALESCE(path_fold, path)", "?")+" > 0", vpath.Fold(q.Search))
		args = append(args, q.Search)
		all[len(all)-1] = "(" + all[len(all)-1] + " OR request_id = $" + strconv.Itoa(len(args)) + ")"
	}
	if all == nil {
		return "", nil
	}
	return "\nWHERE " + strings.Join(all, " AND "), args
}

// count returns the number of entries that query selects. Without a condition it reads the stored
// size.
func count(q db.Querier, d db.Dialect, query Query) (n int64, err error) {
	where, args := query.where(d)
	if where == "" {
		err = q.QueryRow("SELECT size FROM access_log_size").Scan(&n)
		return n, err
	}
	err = q.QueryRow("SELECT COUNT(*)\nFROM access_log"+where, args...).Scan(&n)
	return n, err
}

// fewMatches is the number of matches up to which sorting them is faster than searching the rows in
// the order of time.
const fewMatches = 1000

// list returns the page of the entries that query selects, newest first. total is their number on
// all pages, which decides how the database searches.
func list(q db.Querier, d db.Dialect, query Query, total int64) ([]Entry, error) {
	where, args := query.where(d)
	order := "created_at DESC, id DESC"
	if query.Search != "" && total <= fewMatches {
		order = "created_at + 0 DESC, id DESC" // the expression keeps the planner from using the index
	}
	limit, offset := "$"+strconv.Itoa(len(args)+1), "$"+strconv.Itoa(len(args)+2)
	found, err := q.Query(`
		SELECT id, user_id, key_id, ip, action, path, bytes, status, count, created_at, request_id, method
		FROM access_log`+where+`
		ORDER BY `+order+`
		LIMIT `+limit+` OFFSET `+offset, append(args, query.Limit, (query.Page-1)*query.Limit)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var entries []Entry
	for found.Next() {
		var e Entry
		var userID, keyID, ip, requestID, method sql.NullString
		if err := found.Scan(&e.ID, &userID, &keyID, &ip, &e.Action, &e.Path, &e.Bytes, &e.Status, &e.Count,
			&e.CreatedAt, &requestID, &method); err != nil {
			return nil, err
		}
		e.UserID, e.KeyID, e.IP = userID.String, keyID.String, ip.String
		e.RequestID, e.Method = requestID.String, method.String
		entries = append(entries, e)
	}
	return entries, found.Err()
}

// sizeAndOldest returns the number of rows, and the time (ms) of the oldest, 0 for none.
func sizeAndOldest(q db.Querier) (size, oldest int64, err error) {
	err = q.QueryRow("SELECT size, COALESCE((SELECT MIN(created_at) FROM access_log), 0) FROM access_log_size").
		Scan(&size, &oldest)
	return size, oldest, err
}

// lockSize returns the number of rows and locks it until the transaction ends. Transactions that
// delete rows call it first: of two replicas that sweep at once, the second then sees what the
// first has left.
func lockSize(tx *db.Tx) (size int64, err error) {
	err = tx.QueryRow("UPDATE access_log_size SET size = size RETURNING size").Scan(&size)
	return size, err
}

// deleteBefore deletes up to sweepStep rows from before a time (ms), and returns their number.
func deleteBefore(tx *db.Tx, before int64) (int64, error) {
	if _, err := lockSize(tx); err != nil {
		return 0, err
	}
	n, err := tx.Exec(`
		DELETE FROM access_log
		WHERE id IN (SELECT id FROM access_log WHERE created_at < $1 ORDER BY created_at, id LIMIT $2)`, before,
		sweepStep)
	if err != nil {
		return 0, err
	}
	return n, addSize(tx, -n)
}

// deleteExcess deletes up to sweepStep of the oldest rows if there are more than most, and returns
// their number.
func deleteExcess(tx *db.Tx, most int64) (int64, error) {
	size, err := lockSize(tx)
	if err != nil || size <= most {
		return 0, err
	}
	n, err := tx.Exec(`
		DELETE FROM access_log
		WHERE id IN (SELECT id FROM access_log ORDER BY created_at, id LIMIT $1)`, min(size-most, sweepStep))
	if err != nil {
		return 0, err
	}
	return n, addSize(tx, -n)
}

// addMinutes adds the numbers of requests to the counters of their minutes (since 1970), in the
// order of the minutes, so that two replicas cannot deadlock.
func addMinutes(tx *db.Tx, minutes map[int64]requestCount) error {
	for _, at := range slices.Sorted(maps.Keys(minutes)) {
		_, err := tx.Exec(`
			INSERT INTO request_minutes (minute, requests, failed) VALUES ($1, $2, $3)
			ON CONFLICT (minute) DO UPDATE SET
				requests = request_minutes.requests + excluded.requests,
				failed = request_minutes.failed + excluded.failed`, at, minutes[at].all, minutes[at].failed)
		if err != nil {
			return err
		}
	}
	return nil
}

// countRequests returns the number of requests in the minutes (since 1970) after after, up to and
// including until.
func countRequests(q db.Querier, after, until int64) (n int64, err error) {
	err = q.QueryRow(`
		SELECT CAST(COALESCE(SUM(requests), 0) AS BIGINT)
		FROM request_minutes
		WHERE minute > $1 AND minute <= $2`, after, until).Scan(&n)
	return n, err
}

// deleteMinutes deletes the counters of the minutes up to and including until.
func deleteMinutes(tx *db.Tx, until int64) error {
	_, err := tx.Exec("DELETE FROM request_minutes WHERE minute <= $1", until)
	return err
}
