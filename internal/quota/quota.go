// Package quota keeps what each user may store and does store, in bytes, in files and in folders.
//
// Folders count by themselves, and for no byte and no file: a user has at most twice as
// many as files, and at least minFolderLimit. Who may have any number of files may have
// any number of folders.
//
// A limit of Unlimited is none; a limit of 0 lets nothing be stored. What uploads under way have
// reserved counts as used when something is checked, and is never shown. Every function runs in its
// caller's transaction, and each change is one conditional UPDATE: the database decides races, and
// no amount ever falls below zero or, by Reserve and Charge, rises above its limit.
//
// A file is taken in when its bytes and the file itself fit: an empty one, too, is refused to whom
// nothing may be stored or who already has more than allowed, since the limit was lowered. Content
// that replaces other content counts by the difference, and the number of files is not asked then.
//
// Specification: Quota.
package quota

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// Unlimited is the limit of users who may store what they like.
const Unlimited = -1

// Quota is what a user sees of their quota: bytes and numbers of files.
type Quota struct{ MaxStorage, UsedStorage, MaxFiles, UsedFiles int64 }

// Create gives a new user a quota of bytes and files with nothing used. Fault: Invalid for
// a limit below Unlimited.
func Create(tx *db.Tx, userID string, maxStorage, maxFiles int64) error {
	if err := checkLimits(&maxStorage, &maxFiles); err != nil {
		return err
	}
	return insert(tx, userID, maxStorage, maxFiles)
}

// Get returns a user's quota. Fault: NotFound.
func Get(q db.Querier, userID string) (Quota, error) {
	row, err := read(q, userID)
	return row.Quota, err
}

// ByUsers returns the quotas of some users, by their ids; who has none is not among them.
func ByUsers(q db.Querier, userIDs []string) (map[string]Quota, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readByUsers(q, userIDs)
}

// StorageUse is what a user may store, and how many bytes are used or reserved.
type StorageUse struct{ MaxStorage, UsedOrReserved int64 }

// StorageUses returns what some users may store and have taken, by their ids; a user without a
// quota is not among them.
func StorageUses(q db.Querier, userIDs []string) (map[string]StorageUse, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readStorageUses(q, userIDs)
}

// Reserve sets bytes and files aside for an upload. Fault: QuotaExceeded, also for a
// user without a quota.
func Reserve(tx *db.Tx, userID string, bytes, files int64) error {
	if err := checkAmounts(bytes, files); err != nil {
		return fmt.Errorf("reserve quota: %w", err)
	}
	return reserve(tx, userID, bytes, files)
}

// ReserveUpTo sets bytes aside for a body of unknown length: most, but no more than a fourth of
// the room left, so that several bodies get some, unless that is less than least; or else all
// the room left. It returns how many, 0 where nothing is left and for a user without a quota.
// It locks the quota.
func ReserveUpTo(tx *db.Tx, userID string, least, most int64) (bytes int64, err error) {
	if err := Lock(tx, userID); err != nil {
		return 0, err
	}
	left, _, err := Remaining(tx, userID)
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if bytes = min(max(min(most, left/4), least), left); err != nil || bytes <= 0 {
		return 0, err
	}
	return bytes, Reserve(tx, userID, bytes, 0)
}

// Release gives back what Reserve set aside. It is never refused: a user who is gone has
// nothing to give back.
func Release(tx *db.Tx, userID string, bytes, files int64) error {
	if err := checkAmounts(bytes, files); err != nil {
		return fmt.Errorf("release quota: %w", err)
	}
	return release(tx, userID, bytes, files)
}

// Charge adds to what is used without a reservation; a negative amount is given back. To commit an
// upload, Release its reservation first, in the same transaction. Fault: QuotaExceeded when what
// grows would exceed its limit, also for a user without a quota.
func Charge(tx *db.Tx, userID string, bytes, files int64) error {
	return charge(tx, userID, bytes, files)
}

// Credit takes from what is used. It is never refused. With negative amounts it adds, whatever the
// limit: that is how files change hands when their owner's account is deleted.
func Credit(tx *db.Tx, userID string, bytes, files int64) error {
	return credit(tx, userID, bytes, files)
}

// minFolderLimit is how many folders every user may have.
const minFolderLimit = 1000

// ReserveFolders sets folders aside for a copy. Fault: QuotaExceeded, also for a
// user without a quota.
func ReserveFolders(tx *db.Tx, userID string, folders int64) error {
	return reserveFolders(tx, userID, folders)
}

// ReleaseFolders gives back what ReserveFolders set aside. It is never refused.
func ReleaseFolders(tx *db.Tx, userID string, folders int64) error {
	return releaseFolders(tx, userID, folders)
}

// ChargeFolders adds to the folders that are used. Fault: QuotaExceeded, also for a
// user without a quota.
func ChargeFolders(tx *db.Tx, userID string, folders int64) error {
	return chargeFolders(tx, userID, folders)
}

// CreditFolders takes from the folders that are used. It is never refused. With a negative number
// it adds, whatever the limit: that is how folders change hands, and how those are counted that the
// service makes for a user.
func CreditFolders(tx *db.Tx, userID string, folders int64) error {
	return creditFolders(tx, userID, folders)
}

// Remaining returns how many bytes and files could be stored now, math.MaxInt64 where there is no
// limit. It serves to stop a body of unknown length early; whether something fits is decided by
// Reserve and Charge alone. Fault: NotFound.
func Remaining(q db.Querier, userID string) (bytes, files int64, err error) {
	row, err := read(q, userID)
	if err != nil {
		return 0, 0, err
	}
	return remainder(row.MaxStorage, row.UsedStorage, row.reservedStorage),
		remainder(row.MaxFiles, row.UsedFiles, row.reservedFiles), nil
}

// SetLimits changes the limits, nil leaves one as it is. A limit may be lower than what is used:
// then nothing more is taken in. Faults: Invalid for a limit below Unlimited, NotFound.
func SetLimits(tx *db.Tx, userID string, maxStorage, maxFiles *int64) error {
	if err := checkLimits(maxStorage, maxFiles); err != nil {
		return err
	}
	return setLimits(tx, userID, maxStorage, maxFiles)
}

func checkLimits(limits ...*int64) error {
	for _, limit := range limits {
		if limit != nil && *limit < Unlimited {
			return fault.New(fault.Invalid, "A quota is a whole number from 0 up, or -1 for no limit.")
		}
	}
	return nil
}

// checkAmounts refuses what only a defect of the caller can produce.
func checkAmounts(bytes, files int64) error {
	if bytes < 0 || files < 0 {
		return errors.New("negative amount")
	}
	return nil
}

// Close has a user's quota take nothing more in; what is used can still be given back.
func Close(tx *db.Tx, userID string) error {
	var nothing int64
	return SetLimits(tx, userID, &nothing, &nothing)
}

// Delete removes the quota of a user who owns nothing any more.
func Delete(tx *db.Tx, userID string) error { return remove(tx, userID) }

// Counters are what a quota keeps count of: bytes, files and folders that are used, and that
// uploads and copies under way have reserved.
type Counters struct{ Storage, Files, Folders, ReservedStorage, ReservedFiles, ReservedFolders int64 }

// Lock has whoever else changes the user's quota wait until the transaction ends.
func Lock(tx *db.Tx, userID string) error { return lock(tx, userID) }

// CorrectFolders sets the number of used folders of a user to what it should be. Lock the quota
// first, then find out.
func CorrectFolders(tx *db.Tx, userID string, folders int64) error {
	return correctFolders(tx, userID, folders)
}

// Correct sets the counters of a user to what they should be, whatever they were. Lock the quota
// first, then find out.
func Correct(tx *db.Tx, userID string, c Counters) error { return correct(tx, userID, c) }
