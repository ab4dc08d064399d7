package quota

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// readKept reads the kept bytes of an account and their bound; zeros without a quota.
func readKept(q db.Querier, userID string) (k Kept, err error) {
	err = q.QueryRow("SELECT kept_storage, "+effectiveMaxKept+" FROM quotas WHERE user_id = $1", userID).
		Scan(&k.Storage, &k.Max)
	if errors.Is(err, db.ErrNoRows) {
		return Kept{}, nil
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read the kept bytes of an account: %w", err)
	}
	return k, nil
}

// readKeptByUsers reads kept bytes and bound of accounts, of at least one, by account id; accounts
// without a quota are left out.
func readKeptByUsers(q db.Querier, userIDs []string) (map[string]Kept, error) {
	in, args := db.InList(1, userIDs)
	rows, err := q.Query("SELECT user_id, kept_storage, "+effectiveMaxKept+" FROM quotas WHERE user_id "+in, args...)
	if err != nil {
		return nil, fmt.Errorf("read the kept bytes of accounts: %w", err)
	}
	defer rows.Close()
	found := map[string]Kept{}
	for rows.Next() {
		var id string
		var k Kept
		if err := rows.Scan(&id, &k.Storage, &k.Max); err != nil {
			return nil, fmt.Errorf("read the kept bytes of accounts: %w", err)
		}
		found[id] = k
	}
	return found, rows.Err()
}

// addKept adds to the kept bytes of an account, never below zero.
func addKept(tx *db.Tx, userID string, bytes int64) error {
	_, err := tx.Exec(`
		UPDATE quotas
		SET kept_storage = CASE WHEN kept_storage + $1 > 0 THEN kept_storage + $1 ELSE 0 END
		WHERE user_id = $2`, bytes, userID)
	if err != nil {
		return fmt.Errorf("count the kept bytes of an account: %w", err)
	}
	return nil
}

// correctKept writes the kept bytes of an account.
func correctKept(tx *db.Tx, userID string, bytes int64) error {
	if _, err := tx.Exec("UPDATE quotas SET kept_storage = $1 WHERE user_id = $2", bytes, userID); err != nil {
		return fmt.Errorf("correct the kept bytes of an account: %w", err)
	}
	return nil
}

// setMaxKept writes the bound of an account's kept bytes, nil for the default. Fault: NotFound.
func setMaxKept(tx *db.Tx, userID string, most *int64) error {
	n, err := tx.Exec("UPDATE quotas SET max_kept = $1 WHERE user_id = $2", most, userID)
	if err != nil {
		return fmt.Errorf("bound the kept bytes of an account: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "This user has no quota.")
	}
	return nil
}

// totalKept sums the kept bytes of all accounts.
func totalKept(q db.Querier) (bytes int64, err error) {
	err = q.QueryRow("SELECT CAST(COALESCE(SUM(kept_storage), 0) AS BIGINT) FROM quotas").Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("sum the kept bytes: %w", err)
	}
	return bytes, nil
}

// readKeptAndUse reads the kept bytes of an account and their bound, the bytes that it uses, has
// reserved and keeps, and its storage limit; zeros without a quota.
func readKeptAndUse(q db.Querier, userID string) (k Kept, inUse, maxStorage int64, err error) {
	err = q.QueryRow("SELECT kept_storage, "+effectiveMaxKept+`, used_storage + reserved_storage + kept_storage, max_storage
		FROM quotas
		WHERE user_id = $1`, userID).Scan(&k.Storage, &k.Max, &inUse, &maxStorage)
	if errors.Is(err, db.ErrNoRows) {
		return Kept{}, 0, 0, nil
	}
	if err != nil {
		return Kept{}, 0, 0, fmt.Errorf("read the kept and used bytes of an account: %w", err)
	}
	return k, inUse, maxStorage, nil
}

// aboveMaxKept lists the ids of accounts after an id that keep too many bytes (KeptBeyond), at most
// limit.
func aboveMaxKept(q db.Querier, after string, limit int) (users []string, err error) {
	rows, err := q.Query(`
		SELECT user_id
		FROM quotas
		WHERE user_id > $1 AND kept_storage > 0
			AND (`+effectiveMaxKept+` >= 0 AND kept_storage > `+effectiveMaxKept+`
				OR max_storage >= 0 AND max_storage <= $3
					AND kept_storage + CASE WHEN used_storage + reserved_storage < max_storage
						THEN used_storage + reserved_storage ELSE max_storage END - max_storage > max_storage)
		ORDER BY user_id
		LIMIT $2`, after, limit, int64(maxBounded))
	if err != nil {
		return nil, fmt.Errorf("look for accounts that keep too much: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for accounts that keep too much: %w", err)
		}
		users = append(users, id)
	}
	return users, rows.Err()
}
