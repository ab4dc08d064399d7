package quota

import (
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// defaultMaxKept bounds what is kept for an account that may store any amount: 100 GiB.
const defaultMaxKept = 100 << 30

// Kept is the number of bytes that only the trash keeps of an account, which do not count as used,
// and their bound, Unlimited for none. By default the bound is half of the storage limit, and
// 100 GiB where there is no limit.
type Kept struct{ Storage, Max int64 }

// effectiveMaxKept is the SQL expression for Kept.Max.
var effectiveMaxKept = fmt.Sprintf(
	"CASE WHEN max_kept IS NOT NULL THEN max_kept WHEN max_storage = %d THEN %d ELSE max_storage / 2 END",
	Unlimited, int64(defaultMaxKept))

// KeptOf returns what is kept of an account. An account without a quota keeps nothing.
func KeptOf(q db.Querier, userID string) (Kept, error) { return readKept(q, userID) }

// KeptByUsers returns what is kept of some accounts, by their ids; accounts without a quota are
// left out.
func KeptByUsers(q db.Querier, userIDs []string) (map[string]Kept, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readKeptByUsers(q, userIDs)
}

// AddKept adds to the kept bytes of an account; a negative amount is subtracted. It is never
// refused.
func AddKept(tx *db.Tx, userID string, bytes int64) error { return addKept(tx, userID, bytes) }

// CorrectKept sets the kept bytes of an account. Lock the quota before adding them up.
func CorrectKept(tx *db.Tx, userID string, bytes int64) error { return correctKept(tx, userID, bytes) }

// SetMaxKept changes the bound of the kept bytes; nil sets the default. Faults: Invalid for a bound
// below Unlimited, NotFound.
func SetMaxKept(tx *db.Tx, userID string, most *int64) error {
	if most != nil && *most < Unlimited {
		return fault.New(fault.Invalid, "maxKept is a whole number from 0 up, or -1 for no bound.")
	}
	return setMaxKept(tx, userID, most)
}

// TotalKept sums what is kept of all accounts, in bytes.
func TotalKept(q db.Querier) (int64, error) { return totalKept(q) }

// AboveMaxKept lists accounts that keep more than their bound, in the order of ids after an id.
func AboveMaxKept(q db.Querier, after string, limit int) ([]string, error) {
	return aboveMaxKept(q, after, limit)
}
