package audit

import "larder/internal/db"

// hasStorageDay reports whether a day (since 1970) has figures.
func hasStorageDay(q db.Querier, on int64) (recorded bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM storage_days WHERE day = $1)", on).Scan(&recorded)
	return recorded, err
}

// insertStorageDay adds the figures of a day (since 1970). Those that another replica has added
// stay.
func insertStorageDay(tx *db.Tx, on int64, all []StorageUse) error {
	for _, use := range all {
		_, err := tx.Exec(`
			INSERT INTO storage_days (day, provider_id, bytes, files) VALUES ($1, $2, $3, $4)
			ON CONFLICT (day, provider_id) DO NOTHING`, on, use.ProviderID, use.Bytes, use.Files)
		if err != nil {
			return err
		}
	}
	return nil
}

// storageHistory returns the figures of the days (since 1970) after a day.
func storageHistory(q db.Querier, after int64) ([]StorageUse, error) {
	rows, err := q.Query(`
		SELECT day, provider_id, bytes, files
		FROM storage_days
		WHERE day > $1
		ORDER BY day, provider_id`, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []StorageUse
	for rows.Next() {
		var use StorageUse
		if err := rows.Scan(&use.Day, &use.ProviderID, &use.Bytes, &use.Files); err != nil {
			return nil, err
		}
		use.Day *= day
		all = append(all, use)
	}
	return all, rows.Err()
}

// deleteStorageDays deletes the figures of the days up to and including until.
func deleteStorageDays(tx *db.Tx, until int64) error {
	_, err := tx.Exec("DELETE FROM storage_days WHERE day <= $1", until)
	return err
}
