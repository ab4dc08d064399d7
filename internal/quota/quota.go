// Package quota records what each user may store and does store, in bytes, in files and in folders.
//
// Folders count separately, and neither as bytes nor as files: a user may have at most twice as
// many folders as files, and at least minFolderLimit. A user without a limit on files has none on
// folders.
//
// A limit of Unlimited is no limit; a limit of 0 allows nothing to be stored. Bytes and files that
// running uploads have reserved count as used in every check, and are never shown. Every function
// runs in its caller's transaction, and each change is one conditional UPDATE: the database decides
// races, and no amount ever falls below zero or, by Reserve and Charge, rises above its limit.
//
// A file is accepted when its bytes and the file itself fit. So an empty file, too, is refused
// where nothing may be stored, or where more is used than allowed because the limit was lowered.
// Content that replaces other content counts by the difference, and the limit on files is not
// checked then.
//
// Specification: Quota.
package quota

import (
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// Unlimited is the limit of users who may store any amount.
const Unlimited = -1

// Quota is a user's quota as the user sees it: bytes and numbers of files.
type Quota struct{ MaxStorage, UsedStorage, MaxFiles, UsedFiles int64 }

// Create gives a new user a quota with limits of bytes and files, Unlimited for none, and nothing
// used. Fault: Invalid for a limit below Unlimited.
func Create(tx *db.Tx, userID string, maxStorage, maxFiles int64) error {
	if err := checkLimits(&maxStorage, &maxFiles); err != nil {
		return err
	}
	return insert(tx, userID, maxStorage, maxFiles)
}

// Get returns limits and used amounts of a user. Fault: NotFound.
func Get(q db.Querier, userID string) (Quota, error) {
	row, err := read(q, userID)
	return row.Quota, err
}

// ByUsers returns the quotas of some users, by user id; users without a quota are left out.
func ByUsers(q db.Querier, userIDs []string) (map[string]Quota, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readByUsers(q, userIDs)
}

// StorageUse is a user's limit in bytes, and the bytes that are used, reserved, or kept by the
// trash and by versions.
type StorageUse struct{ MaxStorage, InUse int64 }

// StorageUses returns limit and use of some users' bytes, by user id; users without a quota are
// left out.
func StorageUses(q db.Querier, userIDs []string) (map[string]StorageUse, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return readStorageUses(q, userIDs)
}

// Reserve reserves bytes and files for an upload or a copy that begins, so that they still fit when
// it ends. Fault: QuotaExceeded, also for a user without a quota.
func Reserve(tx *db.Tx, userID string, bytes, files int64) error {
	if err := checkAmounts(bytes, files); err != nil {
		return fmt.Errorf("reserve quota: %w", err)
	}
	return reserve(tx, userID, bytes, files)
}

// ReserveUpTo reserves bytes for a body of unknown length: most bytes, but at most a fourth of the
// remaining room, so that several bodies get some. If a fourth is less than least, it reserves
// least, or all the remaining room where that is less. It returns the number of bytes, 0 where
// nothing is left and for a user without a quota. It locks the quota.
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

// Release releases an amount that Reserve has reserved. It is never refused; for a deleted user it
// does nothing.
func Release(tx *db.Tx, userID string, bytes, files int64) error {
	if err := checkAmounts(bytes, files); err != nil {
		return fmt.Errorf("release quota: %w", err)
	}
	return release(tx, userID, bytes, files)
}

// Charge adds bytes and files to a user's used amounts; a negative amount is subtracted. To commit
// an upload, Release its reservation first, in the same transaction. Fault: QuotaExceeded when an
// amount that grows would exceed its limit, also for a user without a quota.
func Charge(tx *db.Tx, userID string, bytes, files int64) error {
	return charge(tx, userID, bytes, files)
}

// Credit subtracts bytes and files from a user's used amounts, since the files are deleted. It is
// never refused. Negative amounts are added, whatever the limit; the handover of a deleted
// account's files uses that.
func Credit(tx *db.Tx, userID string, bytes, files int64) error {
	return credit(tx, userID, bytes, files)
}

// minFolderLimit is the number of folders that every user may have.
const minFolderLimit = 1000

// ReserveFolders reserves folders for a copy that begins, so that they still fit when it ends.
// Fault: QuotaExceeded, also for a user without a quota.
func ReserveFolders(tx *db.Tx, userID string, folders int64) error {
	return reserveFolders(tx, userID, folders)
}

// ReleaseFolders releases a number of folders that ReserveFolders has reserved. It is never
// refused.
func ReleaseFolders(tx *db.Tx, userID string, folders int64) error {
	return releaseFolders(tx, userID, folders)
}

// ChargeFolders adds folders to those that a user has. Fault: QuotaExceeded when they are more than
// allowed, also for a user without a quota.
func ChargeFolders(tx *db.Tx, userID string, folders int64) error {
	return chargeFolders(tx, userID, folders)
}

// CreditFolders subtracts folders from those that a user has. It is never refused. A negative
// number is added, whatever the limit: for the handover of folders, and for folders that the
// service makes for a user.
func CreditFolders(tx *db.Tx, userID string, folders int64) error {
	return creditFolders(tx, userID, folders)
}

// Remaining returns how many bytes and files a user could store now, math.MaxInt64 where there is
// no limit. It serves to stop a body of unknown length early; only Reserve and Charge decide
// whether something fits. Fault: NotFound.
func Remaining(q db.Querier, userID string) (bytes, files int64, err error) {
	row, err := read(q, userID)
	if err != nil {
		return 0, 0, err
	}
	return remainder(row.MaxStorage, row.UsedStorage, row.reservedStorage),
		remainder(row.MaxFiles, row.UsedFiles, row.reservedFiles), nil
}

// SetLimits changes a user's limits of bytes and files; nil leaves one as it is. A limit may be
// lower than the used amount: then nothing more is accepted. Faults: Invalid for a limit below
// Unlimited, NotFound.
func SetLimits(tx *db.Tx, userID string, maxStorage, maxFiles *int64) error {
	if err := checkLimits(maxStorage, maxFiles); err != nil {
		return err
	}
	return setLimits(tx, userID, maxStorage, maxFiles)
}

// checkLimits refuses a limit that is neither Unlimited nor a number from 0 up; nil is no limit to
// check. Fault: Invalid.
func checkLimits(limits ...*int64) error {
	for _, limit := range limits {
		if limit != nil && *limit < Unlimited {
			return fault.New(fault.Invalid, "A quota is a whole number from 0 up, or -1 for no limit.")
		}
	}
	return nil
}

// checkAmounts returns an error for negative amounts, which only a bug of the caller can produce.
func checkAmounts(bytes, files int64) error {
	if bytes < 0 || files < 0 {
		return errors.New("negative amount")
	}
	return nil
}

// Close sets both limits of a user whose account is being deleted to 0, so that nothing more is
// accepted; used amounts can still be subtracted. Fault: NotFound.
func Close(tx *db.Tx, userID string) error {
	var nothing int64
	return SetLimits(tx, userID, &nothing, &nothing)
}

// Delete deletes the quota of a user who owns nothing any more, at the end of the account's
// handover.
func Delete(tx *db.Tx, userID string) error { return remove(tx, userID) }

// Counters are the amounts of a quota: used bytes, files and folders, and those that running
// uploads and copies have reserved.
type Counters struct{ Storage, Files, Folders, ReservedStorage, ReservedFiles, ReservedFolders int64 }

// Lock locks the row of the user's quota until the transaction ends, so that transactions which
// change the user's files take turns. It does nothing for a user without a quota.
func Lock(tx *db.Tx, userID string) error { return lock(tx, userID) }

// CorrectFolders sets the number of folders that a user has, for fsck. Lock the quota before
// counting them.
func CorrectFolders(tx *db.Tx, userID string, folders int64) error {
	return correctFolders(tx, userID, folders)
}

// Correct sets all counters of a user's quota, for fsck. Lock the quota before computing them.
func Correct(tx *db.Tx, userID string, c Counters) error { return correct(tx, userID, c) }
