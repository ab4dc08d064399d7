package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/fsck"
)

// queryInt reads one number from the database.
func queryInt(t testing.TB, l *apptest.Larder, query string, args ...any) (n int) {
	t.Helper()
	if err := l.Apps[0].DB.Read(context.Background()).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// execAndRaiseVersion runs one statement and raises the config version, like every change of an
// account.
func execAndRaiseVersion(t *testing.T, l *apptest.Larder, statement string, args ...any) {
	t.Helper()
	err := l.Apps[0].DB.Write(context.Background(), func(tx *db.Tx) error {
		if n, err := tx.Exec(statement, args...); err != nil || n == 0 {
			t.Errorf("%s: %d rows, %v", statement, n, err)
		}
		return tx.BumpConfig()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// setUserStatus changes the status of an account and ends its sessions, as its administration does.
func setUserStatus(t *testing.T, l *apptest.Larder, username, status string) {
	t.Helper()
	execAndRaiseVersion(t, l, "UPDATE users SET status = $1, session_version = session_version + 1 WHERE username = $2",
		status, username)
}

// inTransaction runs a change of the domain in a transaction, as a command or an administrator
// would.
func inTransaction(t *testing.T, l *apptest.Larder, do func(tx *db.Tx) error) {
	t.Helper()
	if err := l.Apps[0].DB.Write(context.Background(), do); err != nil {
		t.Fatal(err)
	}
}

// tablesDigest returns the contents of all tables as text, to show that a request changed nothing.
func tablesDigest(t testing.TB, l *apptest.Larder) string {
	t.Helper()
	var all strings.Builder
	tables := tableRows(t, l)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		all.WriteString(table + "\n" + tables[table])
	}
	return all.String()
}

// tableRows returns the contents of each table of the main database.
func tableRows(t testing.TB, l *apptest.Larder) map[string]string {
	t.Helper()
	q := l.Apps[0].DB.Read(t.Context())
	names := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
	if l.Apps[0].DB.Dialect() == "postgres" {
		names = "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = " +
			"current_schema() AND table_type = 'BASE TABLE'"
	}
	rows, err := q.Query(names)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(dumpRows(t, rows)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = ""
	}
	// the log shares the database on PostgreSQL, and reads are recorded there
	for _, log := range []string{"access_log", "access_log_size", "request_minutes", "storage_days"} {
		delete(all, log)
	}
	for name := range all {
		rows, err := q.Query("SELECT * FROM " + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(dumpRows(t, rows), "\n")
		slices.Sort(lines)
		all[name] = strings.Join(lines, "")
	}
	if len(all) < 20 {
		t.Fatalf("only %d tables were found", len(all))
	}
	return all
}

// settledRows waits until no job runs and the background sweeps find nothing to change.
func settledRows(t testing.TB, l *apptest.Larder) (rows map[string]string) {
	t.Helper()
	waitUntil(t, "background work changes no rows", func() bool {
		open := queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE status = 'running' OR status = 'pending' AND due <= $1",
			l.Clock.Now().UnixMilli())
		before := tableRows(t, l)
		l.Sweep()
		rows = tableRows(t, l)
		return open == 0 && maps.Equal(before, rows)
	})
	return rows
}

// watchTables records all tables once background work has ended. The function that it returns fails
// the test for each table, except the named ones, that has changed since the last call.
func watchTables(t testing.TB, l *apptest.Larder) (look func(what string, but ...string)) {
	before := settledRows(t, l)
	return func(what string, but ...string) {
		t.Helper()
		after := tableRows(t, l)
		for table, rows := range after {
			if rows != before[table] && !slices.Contains(but, table) {
				t.Errorf("%s changed %s:\n%s\nnow\n%s", what, table, before[table], rows)
			}
		}
		before = after
	}
}

func dumpRows(t testing.TB, rows *sql.Rows) string {
	t.Helper()
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			fmt.Fprintf(&text, "%s=%s ", names[i], v.(*sql.NullString).String)
		}
		text.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// dumpLog returns the contents of the access log as text.
func dumpLog(t *testing.T, l *apptest.Larder) string {
	t.Helper()
	var all strings.Builder
	for _, table := range []string{"access_log", "access_log_size", "request_minutes", "storage_days"} {
		rows, err := l.AuditDB(t).Read(t.Context()).Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(dumpRows(t, rows))
	}
	return all.String()
}

// checkOwnershipAndCharges checks that every row has an owner and that each account is charged for
// what it owns, and that fsck finds nothing (abuse case C93).
func checkOwnershipAndCharges(t *testing.T, l *apptest.Larder, when string) {
	t.Helper()
	for what, query := range map[string]string{
		"entries without an owner": "SELECT count(*) FROM entries WHERE owner_id <> '' AND owner_id NOT IN " +
			"(SELECT id FROM users) AND owner_id NOT IN (SELECT user_id FROM legacies)",
		"quotas without an account": "SELECT count(*) FROM quotas WHERE user_id NOT IN (SELECT id FROM users) " +
			"AND user_id NOT IN (SELECT user_id FROM legacies)",
		"users without a quota": "SELECT count(*) FROM users WHERE id NOT IN (SELECT user_id FROM quotas)",
		"active keys without an owner": "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL AND user_id NOT IN " +
			"(SELECT id FROM users)",
		"active shares without an owner": "SELECT count(*) FROM shares WHERE revoked_at IS NULL AND creator_id NOT " +
			"IN (SELECT id FROM users)",
		"open uploads without an owner": "SELECT count(*) FROM upload_sessions WHERE (status = 'pending' OR " +
			"kept_until IS NOT NULL) AND user_id NOT IN (SELECT id FROM users)",
		"copies without an owner":      "SELECT count(*) FROM copies WHERE user_id NOT IN (SELECT id FROM users)",
		"rules without a subject":      "SELECT count(*) FROM rules WHERE user_id NOT IN (SELECT id FROM users)",
		"successors that do not exist": "SELECT count(*) FROM legacies WHERE heir_id NOT IN (SELECT id FROM users)",
		"homes that are not there": "SELECT count(*) FROM users WHERE home_id IS NOT NULL AND home_id NOT IN " +
			"(SELECT id FROM entries)",
		"one home of two accounts": "SELECT count(*) FROM users a JOIN users b ON a.home_id = b.home_id AND a.id < " +
			"b.id",
	} {
		if n := queryInt(t, l, query); n != 0 {
			t.Errorf("%s: %d %s", when, n, what)
		}
	}
	checkFsckClean(t, l, when)
}

// checkFsckClean fails the test when fsck finds anything.
func checkFsckClean(t *testing.T, l *apptest.Larder, when string) {
	t.Helper()
	_, err := l.Apps[0].Fsck.Check(t.Context(),
		fsck.Options{Report: func(f fsck.Finding) { t.Errorf("%s: %s: %s", when, f.Kind, f.Text) }})
	if err != nil {
		t.Errorf("%s: %v", when, err)
	}
}
