package db

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
)

// Dialect is the engine behind a DB.
type Dialect string

const (
	sqlite   Dialect = "sqlite"
	postgres Dialect = "postgres"
)

// ErrNoRows is returned by Row.Scan when a query for one row finds none.
var ErrNoRows = sql.ErrNoRows

// ErrBusy means that the database was locked for longer than a caller should wait.
var ErrBusy = errors.New("the database is busy")

// errRetry marks transactions that PostgreSQL ended to resolve a deadlock or a serialisation conflict.
var errRetry = errors.New("transaction to be retried")

// ErrUnique says which unique index a statement ran into.
type ErrUnique struct {
	Name string // the index, such as `users_username_unique`, on both engines
}

func (e *ErrUnique) Error() string { return "unique index " + e.Name + " violated" }

// uniqueColumns gives the index for the columns that SQLite names in its message.
var uniqueColumns = map[string]string{
	"users.username_fold":             "users_username_unique",
	"users.email_fold":                "users_email_unique",
	"entries.parent_id, entries.name": "entries_name_unique",
	"links.entry_id":                  "links_entry_unique",
	"upload_sessions.user_id, upload_sessions.idempotency_key": "upload_sessions_key_unique",
}

// translate turns a driver's error into one of this package where it has a meaning above.
func translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "23505":
			return &ErrUnique{Name: pg.ConstraintName}
		case "40P01", "40001":
			return fmt.Errorf("%w: %w", errRetry, err)
		case "55P03":
			return fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return err
	}
	var lite *sqlitedriver.Error
	if errors.As(err, &lite) {
		switch lite.Code() {
		case 2067, 1555: // SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY
			return &ErrUnique{Name: uniqueName(lite.Error())}
		}
		if lite.Code()&0xff == 5 { // SQLITE_BUSY
			return fmt.Errorf("%w: %w", ErrBusy, err)
		}
	}
	return err
}

// uniqueName finds the index for SQLite's "UNIQUE constraint failed: users.email_fold (2067)".
func uniqueName(message string) string {
	const marker = "UNIQUE constraint failed: "
	at := strings.LastIndex(message, marker)
	if at < 0 {
		return message
	}
	columns, _, _ := strings.Cut(message[at+len(marker):], " (")
	if name, known := uniqueColumns[columns]; known {
		return name
	}
	return columns
}

var (
	textType = regexp.MustCompile(`\bTEXT\b`)
	blobType = regexp.MustCompile(`\bBLOB\b`)
)

// ddl writes a migration for the dialect: PostgreSQL gets byte-order collation and its own name for bytes.
func (d Dialect) ddl(text string) string {
	if d == sqlite {
		return text
	}
	return blobType.ReplaceAllString(textType.ReplaceAllString(text, `TEXT COLLATE "C"`), "BYTEA")
}

// At is the expression for where a text holds a part, counted in characters from 1; 0 where it does not. Nothing in the part is a wildcard.
func (d Dialect) At(text, part string) string {
	if d == sqlite {
		return "instr(" + text + ", " + part + ")"
	}
	return "strpos(" + text + ", " + part + ")"
}

// Like is the condition that a text is like the pattern that Glob has made, case included.
func (d Dialect) Like(text, pattern string) string {
	if d == sqlite {
		return text + " GLOB " + pattern
	}
	return text + " LIKE " + pattern
}

// globPattern writes the wildcards of a glob as LIKE reads them.
var globPattern = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%", "?", "_")

// Glob is a pattern for Like: in glob `*` stands for any characters, `?` for exactly one, and there is no `[`.
func (d Dialect) Glob(glob string) string {
	if d == sqlite {
		return glob
	}
	return globPattern.Replace(glob)
}
