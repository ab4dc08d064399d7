package quota

import (
	"fmt"
	"math"

	"larder/internal/db"
	"larder/internal/fault"
)

// defaultMaxKept bounds what is kept for an account that may store any amount: 100 GiB.
const defaultMaxKept = 100 << 30

// Kept is the number of bytes that only the trash and versions keep of an account, which do not
// count as used (Storage), and their bound (Max), Unlimited for none. By default the bound is half
// of the storage limit, and 100 GiB where there is no limit.
type Kept struct{ Storage, Max int64 }

// effectiveMaxKept is the SQL expression for Kept.Max.
var effectiveMaxKept = fmt.Sprintf(
	"CASE WHEN max_kept IS NOT NULL THEN max_kept WHEN max_storage = %d THEN %d ELSE max_storage / 2 END",
	Unlimited, int64(defaultMaxKept))

// KeptOf returns how many bytes the trash and versions keep of an account, and their bound. Both
// are 0 for an account without a quota.
func KeptOf(q db.Querier, userID string) (Kept, error) { return readKept(q, userID) }

// KeptByUsers returns, by account id, how many bytes the trash and versions keep of some accounts,
// and their bounds; accounts without a quota are left out.
func KeptByUsers(q db.Querier, userIDs []string) (map[string]Kept, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readKeptByUsers(q, userIDs)
}

// AddKept adds bytes to those that the trash and versions keep of an account; a negative amount is
// subtracted, down to 0. It is never refused.
func AddKept(tx *db.Tx, userID string, bytes int64) error { return addKept(tx, userID, bytes) }

// CorrectKept sets the kept bytes of an account, for fsck. Lock the quota before adding them up.
func CorrectKept(tx *db.Tx, userID string, bytes int64) error { return correctKept(tx, userID, bytes) }

// SetMaxKept changes the bound of an account's kept bytes; nil sets the default, Unlimited removes
// the bound. Faults: Invalid for a bound below Unlimited, NotFound.
func SetMaxKept(tx *db.Tx, userID string, most *int64) error {
	if most != nil && *most < Unlimited {
		return fault.New(fault.Invalid, "maxKept is a whole number from 0 up, or -1 for no bound.")
	}
	return setMaxKept(tx, userID, most)
}

// TotalKept sums the bytes that the trash and versions keep of all accounts.
func TotalKept(q db.Querier) (int64, error) { return totalKept(q) }

// maxBounded is the largest storage limit, in bytes, of which twice as much is still a number.
const maxBounded = math.MaxInt64 / 4

// KeptBeyond returns how many of the bytes that the trash and versions keep of an account are too
// many: those above their bound, or those by which all bytes that the account uses, has reserved
// and keeps are more than twice its storage limit, whichever are more. Bytes that are used above
// the limit, as after an administrator has lowered it, do not count. The sweep purges the oldest.
func KeptBeyond(q db.Querier, userID string) (bytes int64, err error) {
	kept, inUse, maxStorage, err := readKeptAndUse(q, userID)
	if err != nil {
		return 0, err
	}
	if kept.Max != Unlimited {
		bytes = kept.Storage - kept.Max
	}
	if maxStorage >= 0 && maxStorage <= maxBounded {
		bytes = max(bytes, kept.Storage+min(inUse-kept.Storage, maxStorage)-2*maxStorage)
	}
	return min(max(bytes, 0), kept.Storage), nil
}

// AboveMaxKept lists the ids of accounts that keep too many bytes (KeptBeyond), those after an id
// in the order of ids, at most limit. The sweep then purges their oldest entries and versions.
func AboveMaxKept(q db.Querier, after string, limit int) ([]string, error) {
	return aboveMaxKept(q, after, limit)
}
