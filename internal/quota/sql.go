package quota

import (
	"errors"
	"fmt"
	"math"

	"larder/internal/db"
	"larder/internal/fault"
)

// row is a quota with its reservations.
type row struct {
	Quota
	reservedStorage, reservedFiles int64
}

// remainder is how much of a limit is left beside used and reserved amounts: at least 0,
// math.MaxInt64 for Unlimited.
func remainder(limit, used, reserved int64) int64 {
	if limit == Unlimited {
		return math.MaxInt64
	}
	return max(0, limit-used-reserved)
}

// read returns a user's quota with its reservations. Fault: NotFound.
func read(q db.Querier, userID string) (row, error) {
	var r row
	err := q.QueryRow(`
		SELECT max_storage, used_storage, reserved_storage, max_files, used_files, reserved_files
		FROM quotas
		WHERE user_id = $1`, userID,
	).Scan(&r.MaxStorage, &r.UsedStorage, &r.reservedStorage, &r.MaxFiles, &r.UsedFiles, &r.reservedFiles)
	if errors.Is(err, db.ErrNoRows) {
		return row{}, fault.New(fault.NotFound, "This user has no quota.")
	}
	if err != nil {
		return row{}, fmt.Errorf("read quota: %w", err)
	}
	return r, nil
}

// readByUsers reads limits and used amounts of users, at least one, by user id; users without a
// quota are left out.
func readByUsers(q db.Querier, userIDs []string) (map[string]Quota, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query(`
		SELECT user_id, max_storage, used_storage, max_files, used_files
		FROM quotas
		WHERE user_id `+in, args...)
	if err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}
	defer rows.Close()
	found := map[string]Quota{}
	for rows.Next() {
		var id string
		var q Quota
		if err := rows.Scan(&id, &q.MaxStorage, &q.UsedStorage, &q.MaxFiles, &q.UsedFiles); err != nil {
			return nil, fmt.Errorf("read quotas: %w", err)
		}
		found[id] = q
	}
	return found, rows.Err()
}

// readStorageUses reads limit and use of users' bytes, of at least one user, by user id; users
// without a quota are left out.
func readStorageUses(q db.Querier, userIDs []string) (map[string]StorageUse, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query(`
		SELECT user_id, max_storage, used_storage + reserved_storage + kept_storage
		FROM quotas
		WHERE user_id `+in, args...)
	if err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}
	defer rows.Close()
	found := map[string]StorageUse{}
	for rows.Next() {
		var id string
		var a StorageUse
		if err := rows.Scan(&id, &a.MaxStorage, &a.InUse); err != nil {
			return nil, fmt.Errorf("read quotas: %w", err)
		}
		found[id] = a
	}
	return found, rows.Err()
}

// remove deletes the row of a user's quota.
func remove(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("DELETE FROM quotas WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete quota: %w", err)
	}
	return nil
}

// insert inserts the row of a user's quota with nothing used.
func insert(tx *db.Tx, userID string, maxStorage, maxFiles int64) error {
	_, err := tx.Exec(`
		INSERT INTO quotas (user_id, max_storage, max_files)
		VALUES ($1, $2, $3)`, userID, maxStorage, maxFiles)
	if err != nil {
		return fmt.Errorf("create quota: %w", err)
	}
	return nil
}

// fitsCondition is true when $2 more bytes and $3 more files are within the limits. It subtracts,
// so that no amount overflows, and casts, so that PostgreSQL knows the types of the parameters. A
// storage limit of 0 refuses a new file even when it is empty.
const fitsCondition = `
	(CAST($2 AS BIGINT) <= 0 AND CAST($3 AS BIGINT) <= 0
		OR max_storage <> 0
			AND CAST($2 AS BIGINT) <= (CASE WHEN max_storage < 0 THEN 9223372036854775807 ELSE max_storage END) - used_storage - reserved_storage)
	AND (CAST($3 AS BIGINT) <= 0
		OR CAST($3 AS BIGINT) <= (CASE WHEN max_files < 0 THEN 9223372036854775807 ELSE max_files END) - used_files - reserved_files)`

// reserve adds to the reserved amounts, if they fit. Fault: QuotaExceeded.
func reserve(tx *db.Tx, userID string, bytes, files int64) error {
	n, err := tx.Exec(`
		UPDATE quotas
		SET reserved_storage = reserved_storage + CAST($2 AS BIGINT), reserved_files = reserved_files + CAST($3 AS BIGINT)
		WHERE user_id = $1 AND`+fitsCondition, userID, bytes, files)
	return checkGranted(n, err, "reserve quota")
}

// subtract is an SQL assignment: column minus parameter, never below zero. Both are constants of
// the code.
func subtract(column, parameter string) string {
	p := "CAST(" + parameter + " AS BIGINT)"
	return column + " = CASE WHEN " + column + " < " + p + " THEN 0 ELSE " + column + " - " + p + " END"
}

// add is an SQL assignment: column plus parameter, which may be negative, never below zero.
func add(column, parameter string) string {
	p := "CAST(" + parameter + " AS BIGINT)"
	return column + " = CASE WHEN " + column + " + " + p + " < 0 THEN 0 ELSE " + column + " + " + p + " END"
}

var (
	releaseText = `
		UPDATE quotas
		SET ` + subtract("reserved_storage", "$2") + `, ` + subtract("reserved_files", "$3") + `
		WHERE user_id = $1`
	creditText = `
		UPDATE quotas
		SET ` + subtract("used_storage", "$2") + `, ` + subtract("used_files", "$3") + `
		WHERE user_id = $1`
	chargeText = `
		UPDATE quotas
		SET ` + add("used_storage", "$2") + `, ` + add("used_files", "$3") + `
		WHERE user_id = $1 AND` + fitsCondition
)

// release subtracts from the reserved bytes and files, never below zero.
func release(tx *db.Tx, userID string, bytes, files int64) error {
	if _, err := tx.Exec(releaseText, userID, bytes, files); err != nil {
		return fmt.Errorf("release quota: %w", err)
	}
	return nil
}

// charge adds to the used amounts, if they fit. Fault: QuotaExceeded.
func charge(tx *db.Tx, userID string, bytes, files int64) error {
	n, err := tx.Exec(chargeText, userID, bytes, files)
	return checkGranted(n, err, "charge quota")
}

// credit subtracts from the used bytes and files, never below zero; a negative amount is added.
func credit(tx *db.Tx, userID string, bytes, files int64) error {
	if _, err := tx.Exec(creditText, userID, bytes, files); err != nil {
		return fmt.Errorf("credit quota: %w", err)
	}
	return nil
}

// setLimits writes the limits that are not nil. Fault: NotFound.
func setLimits(tx *db.Tx, userID string, maxStorage, maxFiles *int64) error {
	n, err := tx.Exec(`
		UPDATE quotas
		SET max_storage = COALESCE(CAST($2 AS BIGINT), max_storage), max_files = COALESCE(CAST($3 AS BIGINT), max_files)
		WHERE user_id = $1`, userID, maxStorage, maxFiles)
	if err != nil {
		return fmt.Errorf("set quota: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "This user has no quota.")
	}
	return nil
}

// checkGranted returns the fault QuotaExceeded for a conditional UPDATE that changed no row, since
// the amounts do not fit or the user has no quota; doing is the operation in the text of err.
func checkGranted(rows int64, err error, doing string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if rows == 0 {
		return fault.New(fault.QuotaExceeded, "The storage quota is used up: too many bytes or too many files.")
	}
	return nil
}

// lock locks the row of a user's quota until the transaction ends.
func lock(tx *db.Tx, userID string) error {
	if _, err := tx.Exec("UPDATE quotas SET used_storage = used_storage WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("lock quota: %w", err)
	}
	return nil
}

// correct writes all counters of a user's quota.
func correct(tx *db.Tx, userID string, c Counters) error {
	_, err := tx.Exec(`
		UPDATE quotas
		SET used_storage = $1, used_files = $2, reserved_storage = $3, reserved_files = $4, used_folders = $5, reserved_folders = $6
		WHERE user_id = $7`, c.Storage, c.Files, c.ReservedStorage, c.ReservedFiles, c.Folders, c.ReservedFolders,
		userID)
	if err != nil {
		return fmt.Errorf("correct quota: %w", err)
	}
	return nil
}

// AfterRestore releases, in a database restored from a backup, the reservations of running uploads,
// which are not in the backup. Those of copies stay, since copies continue.
func AfterRestore(tx *db.Tx) error {
	if _, err := tx.Exec(`
		UPDATE quotas
		SET reserved_storage = (SELECT CAST(COALESCE(SUM(c.reserved_storage), 0) AS BIGINT) FROM copies c WHERE c.user_id = quotas.user_id),
			reserved_files = (SELECT CAST(COALESCE(SUM(c.reserved_files), 0) AS BIGINT) FROM copies c WHERE c.user_id = quotas.user_id),
			reserved_folders = (SELECT CAST(COALESCE(SUM(c.reserved_folders), 0) AS BIGINT) FROM copies c WHERE c.user_id = quotas.user_id)
		WHERE reserved_storage <> 0 OR reserved_files <> 0 OR reserved_folders <> 0`); err != nil {
		return fmt.Errorf("give reservations back: %w", err)
	}
	return nil
}
