package quota

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// Conditions on the used bytes of a quota. They divide, so that no amount overflows; each quotient
// is rounded down, so nearlyUsed never holds together with usedLess.
const (
	nearlyUsed = "max_storage > 0 AND used_storage >= max_storage - max_storage / 10"
	usedLess   = "(max_storage <= 0 OR used_storage < max_storage - max_storage / 10 - max_storage / 20)"

	warningDue  = "warned_at IS NULL AND " + nearlyUsed
	warningOver = "warned_at IS NOT NULL AND " + usedLess
)

// FindWarnings returns the ids of the users for whom UpdateWarning has something to do: to warn
// them, or to note that a warning is over. It reads a row for each user.
func FindWarnings(q db.Querier) (userIDs []string, err error) {
	rows, err := q.Query("SELECT user_id FROM quotas WHERE " + warningDue + " OR " + warningOver + " ORDER BY user_id")
	if err != nil {
		return nil, fmt.Errorf("look for quotas: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for quotas: %w", err)
		}
		userIDs = append(userIDs, id)
	}
	return userIDs, rows.Err()
}

// UpdateWarning reports whether to warn a user now, because 90 % of their bytes are used, and the
// used percentage. It does so once, until less than 85 % were used in between: then the first call
// notes that, and the next one may warn again. now is in ms. warn is false for a user without a
// quota.
func UpdateWarning(tx *db.Tx, userID string, now int64) (percent int64, warn bool, err error) {
	if _, err := tx.Exec("UPDATE quotas SET warned_at = NULL WHERE user_id = $1 AND "+warningOver, userID); err != nil {
		return 0, false, fmt.Errorf("end the warning of a quota: %w", err)
	}
	var limit, used int64
	err = tx.QueryRow(`
		UPDATE quotas
		SET warned_at = $2
		WHERE user_id = $1 AND `+warningDue+`
		RETURNING max_storage, used_storage`, userID, now).Scan(&limit, &used)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("warn of a quota: %w", err)
	}
	return int64(float64(used) * 100 / float64(limit)), true, nil
}
