package quota

import (
	"fmt"
	"strconv"

	"larder/internal/db"
	"larder/internal/fault"
)

// foldersFitCondition is true when $2 more folders are within the limit.
var foldersFitCondition = `
	(CAST($2 AS BIGINT) <= 0 OR CAST($2 AS BIGINT) <= (CASE
		WHEN max_files < 0 OR max_files > 4611686018427387903 THEN 9223372036854775807
		WHEN 2 * max_files < ` + strconv.Itoa(minFolderLimit) + ` THEN ` + strconv.Itoa(minFolderLimit) + `
		ELSE 2 * max_files END) - used_folders - reserved_folders)`

var (
	reserveFoldersText = `
		UPDATE quotas
		SET ` + add("reserved_folders", "$2") + `
		WHERE user_id = $1 AND` + foldersFitCondition
	releaseFoldersText = `
		UPDATE quotas
		SET ` + subtract("reserved_folders", "$2") + `
		WHERE user_id = $1`
	chargeFoldersText = `
		UPDATE quotas
		SET ` + add("used_folders", "$2") + `
		WHERE user_id = $1 AND` + foldersFitCondition
	creditFoldersText = `
		UPDATE quotas
		SET ` + subtract("used_folders", "$2") + `
		WHERE user_id = $1`
)

// reserveFolders adds to the reserved folders, if they fit. Fault: QuotaExceeded.
func reserveFolders(tx *db.Tx, userID string, folders int64) error {
	n, err := tx.Exec(reserveFoldersText, userID, folders)
	return checkFoldersGranted(n, err, "reserve folders")
}

// releaseFolders subtracts from the reserved folders, never below zero.
func releaseFolders(tx *db.Tx, userID string, folders int64) error {
	if _, err := tx.Exec(releaseFoldersText, userID, folders); err != nil {
		return fmt.Errorf("release folders: %w", err)
	}
	return nil
}

// chargeFolders adds to the used folders, if they fit. Fault: QuotaExceeded.
func chargeFolders(tx *db.Tx, userID string, folders int64) error {
	n, err := tx.Exec(chargeFoldersText, userID, folders)
	return checkFoldersGranted(n, err, "charge folders")
}

// creditFolders subtracts from the used folders, never below zero; a negative number is added.
func creditFolders(tx *db.Tx, userID string, folders int64) error {
	if _, err := tx.Exec(creditFoldersText, userID, folders); err != nil {
		return fmt.Errorf("credit folders: %w", err)
	}
	return nil
}

// correctFolders writes the number of used folders.
func correctFolders(tx *db.Tx, userID string, folders int64) error {
	if _, err := tx.Exec("UPDATE quotas SET used_folders = $1 WHERE user_id = $2", folders, userID); err != nil {
		return fmt.Errorf("correct folders: %w", err)
	}
	return nil
}

// checkFoldersGranted returns the fault QuotaExceeded for a conditional UPDATE of folders that
// changed no row, since they do not fit or the user has no quota; doing is the operation in the
// text of err.
func checkFoldersGranted(rows int64, err error, doing string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if rows == 0 {
		return fault.New(fault.QuotaExceeded,
			"Your quota has no room for more folders: it allows twice as many folders as files, and at least 1,000.")
	}
	return nil
}
