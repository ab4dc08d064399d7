package account

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// filterCondition is the condition for a Filter without its search text.
const filterCondition = "(role = $1 OR $1 = '') AND (status = $2 OR $2 = '')"

// countUsers counts the accounts that f selects, without its search text.
func countUsers(q db.Querier, f Filter) (n int64, err error) {
	if err := q.QueryRow("SELECT COUNT(*) FROM users WHERE "+filterCondition, string(f.Role), string(f.Status)).
		Scan(&n); err != nil {
		return 0, fmt.Errorf("count users: %w", err)
	}
	return n, nil
}

// pageOfUsers reads a page of the accounts that f selects, without its search text, sorted by
// username.
func pageOfUsers(q db.Querier, f Filter, limit, offset int64) ([]User, error) {
	return usersOf(q.Query(`
		SELECT `+userColumns+`
		FROM users
		WHERE `+filterCondition+`
		ORDER BY username_fold
		LIMIT $3 OFFSET $4`, string(f.Role), string(f.Status), limit, offset))
}

// searchUsers returns the ids of a page of the accounts that f selects, sorted by username, and
// their total number. It reads all accounts, since the engines do not fold display names. The
// number of accounts is small.
func searchUsers(q db.Querier, f Filter, limit, offset int64) (ids []string, total int64, err error) {
	rows, err := q.Query(`
		SELECT id, username_fold, email_fold, COALESCE(display_name, '')
		FROM users
		WHERE `+filterCondition+`
		ORDER BY username_fold`, string(f.Role), string(f.Status))
	if err != nil {
		return nil, 0, fmt.Errorf("search users: %w", err)
	}
	defer rows.Close()
	search := vpath.Fold(f.Search)
	for rows.Next() {
		var id, username, email, display string
		if err := rows.Scan(&id, &username, &email, &display); err != nil {
			return nil, 0, fmt.Errorf("search users: %w", err)
		}
		if !matchesSearch(search, username, email, display) {
			continue
		}
		if total >= offset && total < offset+limit {
			ids = append(ids, id)
		}
		total++
	}
	return ids, total, rows.Err()
}

// usersByIDs reads the accounts with those ids, sorted by username.
func usersByIDs(q db.Querier, ids []string) ([]User, error) {
	in, args := db.InList(1, ids)
	return usersOf(q.Query(`
		SELECT `+userColumns+`
		FROM users
		WHERE id `+in+`
		ORDER BY username_fold`, args...))
}

// usersOf reads the rows of a query of userColumns, whose result it takes.
func usersOf(rows *sql.Rows, err error) ([]User, error) {
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	defer rows.Close()
	var users []User
	for rows.Next() {
		u, _, err := scanUser(rows)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		users = append(users, u)
	}
	return users, rows.Err()
}

// otherAdminExists reports whether there is an active administrator besides that user.
func otherAdminExists(q db.Querier, userID string) (there bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE role = 'admin' AND status = 'active' AND id <> $1)",
		userID).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for another administrator: %w", err)
	}
	return there, nil
}

// activeUserExists reports whether there is an active user with that id.
func activeUserExists(q db.Querier, userID string) (there bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND status = 'active')", userID).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look whether an account is active: %w", err)
	}
	return there, nil
}

// updateDefaultPath writes the folder that the UI opens first. Fault: NotFound.
func updateDefaultPath(tx *db.Tx, userID, path string, now int64) error {
	return checkUpdated(tx.Exec("UPDATE users SET default_path = $2, updated_at = $3 WHERE id = $1", userID, path, now))
}

// deleteUser deletes the row of a user. Fault: NotFound.
func deleteUser(tx *db.Tx, userID string) error {
	return checkUpdated(tx.Exec("DELETE FROM users WHERE id = $1", userID))
}
