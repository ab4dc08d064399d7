package files

import (
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Successor is who gets what an account owned that was deleted.
type Successor struct {
	ID        string // of the account, "" for nobody
	DropLinks bool   // permanent links end as the files change hands: they didn't work when the account went
}

// HandOver gives some of what one account owns to another, in the order of ids: at most limit
// entries after that one, wherever they lie. Files and folders are charged along, whatever the
// limits, so that used amounts stay the sums of what there is. It is for a transaction that is
// alone in the tree. It returns the id of the last entry and how many there were; when they are
// fewer than limit, none are left behind that one.
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

// moveCharge moves what was charged from one account to another.
func moveCharge(tx *db.Tx, from, to string, bytes, files int64) error {
	if err := quota.Credit(tx, from, bytes, files); err != nil {
		return err
	}
	return quota.Credit(tx, to, -bytes, -files)
}

// lockOwner finds out who owns a file and is charged for it, and locks their quota: where that
// account is gone and the file has not been handed over yet, that is done now, by one of those who
// come for it at once. It reports false when the file is not any more what r says.
//
// The rows of quotas come before the file, the heir's first: whoever puts a file has locked their
// own already, and who is gone puts none. Otherwise two would wait for each other crosswise.
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
		return false, fmt.Errorf("give a file away: %w", err)
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

// successorOf returns who gets what that account owned, nobody for one that is
// not being handed over.
func (t *Tree) successorOf(q db.Querier, userID string) (Successor, error) {
	if t.Successor == nil {
		return Successor{}, nil
	}
	heir, err := t.Successor(q, userID)
	if err != nil {
		return Successor{}, fmt.Errorf("look for an heir: %w", err)
	}
	return heir, nil
}

// checkActive refuses to make anything that would belong to an account that has been deleted,
// disabled or banned since the actor was let in. It is asked under the lock of the tree, which
// whoever ends an account has alone. Fault: Forbidden.
func (t *Tree) checkActive(tx *db.Tx, a access.Actor) error {
	if t.Active == nil {
		return nil
	}
	active, err := t.Active(tx, a.UserID)
	if err != nil {
		return err
	}
	if !active {
		return fault.New(fault.Forbidden, "The account that asked for this is not active any more.")
	}
	return nil
}

// DropCopies takes down every copy that a user's jobs are making below the staging root, and gives
// back what is reserved for them. The jobs find out by themselves.
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
