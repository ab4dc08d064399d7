package files

import (
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Successor is the account that gets the entries of a deleted account.
type Successor struct {
	ID        string // of the account, "" for none
	DropLinks bool   // delete permanent links with the handover: they did not work when the account was deleted
}

// HandOver gives entries of one account to another, in the order of ids: at most limit entries
// after the id after, wherever they are. It moves the charges for files and folders along,
// regardless of limits, so that the used amounts stay the sums of the entries. tx must hold the
// tree alone. It returns the id of the last entry and the number of entries; less than limit means
// that none are left after that id.
func (t *Tree) HandOver(tx *db.Tx, from string, to Successor, after string, limit int) (last string, n int, err error) {
	ids, err := ownedAfter(tx, from, after, limit)
	if err != nil || len(ids) == 0 {
		return after, 0, err
	}
	last = ids[len(ids)-1]
	if to.DropLinks {
		if err := deleteLinksOf(tx, from, after, last); err != nil {
			return "", 0, err
		}
	}
	taken, err := setOwner(tx, from, to.ID, after, last)
	if err != nil {
		return "", 0, err
	}
	uncharged, err := unchargedAmong(tx, taken)
	if err != nil {
		return "", 0, err
	}
	var bytes, files, folders int64
	for _, r := range taken {
		switch {
		case uncharged[r.id]:
		case r.folder:
			folders++
		default:
			bytes, files = bytes+r.size, files+1
		}
	}
	if err := moveCharge(tx, from, to.ID, bytes, files); err != nil || folders == 0 {
		return last, len(ids), err
	}
	if err := quota.CreditFolders(tx, from, folders); err != nil {
		return "", 0, err
	}
	return last, len(ids), quota.CreditFolders(tx, to.ID, -folders)
}

// HandOverKept gives the trash and the versions of a deleted account to its successor, with the
// count of their bytes. It comes before the first HandOver, in the same transaction.
func (t *Tree) HandOverKept(tx *db.Tx, from, to string) error {
	inTrash, err := handOverTrash(tx, from, to)
	if err != nil {
		return err
	}
	inVersions, err := handOverVersions(tx, from, to)
	if err != nil || inTrash+inVersions == 0 {
		return err
	}
	kept := inTrash + inVersions
	if err := quota.AddKept(tx, from, -kept); err != nil {
		return err
	}
	return quota.AddKept(tx, to, kept)
}

// moveCharge moves the charge for bytes and files from one account's quota to another's, regardless
// of limits.
func moveCharge(tx *db.Tx, from, to string, bytes, files int64) error {
	if err := quota.Credit(tx, from, bytes, files); err != nil {
		return err
	}
	return quota.Credit(tx, to, -bytes, -files)
}

// lockOwner locks the quota of the owner of the file r, who is charged for its content, before the
// content or link of the file changes. When that account is deleted and the file has not been
// handed over to its successor yet, lockOwner does that now and sets r.owner. done is false when
// the file is not as in r any more: the caller looks it up again.
//
// It locks the rows of quotas before the file, that of the successor first. An upload has locked
// its own quota row already, and a deleted account has no uploads. In another order two
// transactions could deadlock.
func (t *Tree) lockOwner(tx *db.Tx, r *row) (done bool, err error) {
	heir, err := t.successorOf(tx, r.owner)
	if err != nil {
		return false, err
	}
	if heir.ID == "" {
		return true, quota.Lock(tx, r.owner)
	}
	for _, user := range []string{heir.ID, r.owner} {
		if err := quota.Lock(tx, user); err != nil {
			return false, err
		}
	}
	size, err := setFileOwner(tx, r, heir.ID)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("change the owner of a file: %w", err)
	}
	if err := moveCharge(tx, r.owner, heir.ID, size, 1); err != nil {
		return false, err
	}
	if heir.DropLinks {
		if err := deleteLink(tx, r.id); err != nil {
			return false, err
		}
	}
	r.owner, r.size = heir.ID, size
	return true, nil
}

// successorOf returns the account to which the entries of the deleted account userID are being
// handed over. It has ID "" for an account that exists or whose handover is over.
func (t *Tree) successorOf(q db.Querier, userID string) (Successor, error) {
	if t.Successor == nil {
		return Successor{}, nil
	}
	heir, err := t.Successor(q, userID)
	if err != nil {
		return Successor{}, fmt.Errorf("look up the successor: %w", err)
	}
	return heir, nil
}

// checkActive refuses to make entries for an account that was deleted, disabled or banned after the
// request was admitted. It runs under the lock of the tree, which the deletion of an account holds
// exclusively. Fault: Forbidden.
func (t *Tree) checkActive(tx *db.Tx, a access.Actor) error {
	if t.Active == nil {
		return nil
	}
	active, err := t.Active(tx, a.UserID)
	if err != nil {
		return err
	}
	if !active {
		return fault.New(fault.Forbidden, "The account that started this is no longer active.")
	}
	return nil
}

// DropCopies removes every large copy that jobs of a user are making below the staging root, and
// releases the reserved quota. It is part of the deletion of the account. The jobs find their
// records gone and fail.
func (t *Tree) DropCopies(tx *db.Tx, userID string) error {
	jobs, err := copiesOf(tx, userID)
	if err != nil {
		return err
	}
	for _, id := range jobs {
		if err := t.DropCopy(tx, id); err != nil {
			return err
		}
	}
	return nil
}
