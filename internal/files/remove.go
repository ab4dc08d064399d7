package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Delete removes a file, or a folder with all that is in it, and gives back the quota of everybody
// who owns something there. It returns the number of entries, the folder included, and the bytes of
// its files. A folder is out of reach at once, whatever its size; its rows and objects go later. It
// takes the permission to delete; for a folder, all through it. Faults: NotFound, Forbidden,
// PasswordRequired, Conflict for a mount's root and what is above one.
func (t *Tree) Delete(ctx context.Context, a access.Actor, id string) (rows, bytes int64, err error) {
	gone, err := t.delete(ctx, a, id, nil, nil)
	return gone.rows, gone.bytes, err
}

// DeleteIf is Delete of what is still what was meant.
func (t *Tree) DeleteIf(ctx context.Context, a access.Actor, id string, precondition Precondition) error {
	_, err := t.delete(ctx, a, id, nil, precondition)
	return err
}

// deletion is what one deletion took away.
type deletion struct {
	rows, bytes int64
	alsoDeleted []string // those that were asked about and lay in the folder
}

// delete is Delete, which also tells what else of a batch went with the folder.
func (t *Tree) delete(ctx context.Context, a access.Actor, id string, others []string,
	precondition Precondition) (gone deletion, err error) {
	folder, err := isFolder(t.DB.Read(ctx), id)
	if err != nil {
		return deletion{}, err
	}
	err = t.writeLocked(ctx, folder, func(tx *db.Tx) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		facts := n.facts(a)
		if err := v.allow(a, facts, access.Delete); err != nil {
			return err
		}
		if err := v.allowTree(tx, a, &n, facts, access.Delete); err != nil {
			return err
		}
		if err := precondition.check(&n); err != nil {
			return err
		}
		if v.immovable(&n) {
			return immovableFault()
		}
		if err := v.checkHomeStays(tx, a, &n); err != nil {
			return err
		}
		if err := t.checkRemovable(tx, a, &n); err != nil {
			return err
		}
		if err := t.endLocks(tx, &n.row); err != nil {
			return err
		}
		if !n.folder {
			gone.rows, gone.bytes, err = t.remove(tx, &n.row)
			return err
		}
		if gone.alsoDeleted, err = idsBelow(tx, id, others); err != nil {
			return err
		}
		gone.rows, gone.bytes, err = t.moveSubtreeToGraveyard(tx, &n.row)
		return err
	})
	if err != nil {
		return deletion{}, err
	}
	crash.Point("delete.committed")
	return gone, nil
}

// checkHomeStays refuses to delete the actor's own home, or a folder that the home
// lies in. Fault: Conflict.
func (v *ruleset) checkHomeStays(tx *db.Tx, a access.Actor, n *node) error {
	if a.HomeID == "" || !n.folder {
		return nil
	}
	home, _, err := v.findID(tx, a.HomeID)
	if err != nil || !home.within(n.id) {
		return err
	}
	return fault.New(fault.Conflict,
		"Your home, or a folder that it lies in, cannot be deleted. Delete what is in your home instead.")
}

// remove deletes a file.
func (t *Tree) remove(tx *db.Tx, r *row) (rows, bytes int64, err error) {
	if err := quota.Lock(tx, r.owner); err != nil { // before the file, as whoever puts one there does
		return 0, 0, err
	}
	gone, err := deleteFile(tx, r)
	if err != nil {
		return 0, 0, err
	}
	if err := deleteLink(tx, r.id); err != nil {
		return 0, 0, err
	}
	if err := deleteProperties(tx, []string{r.id}); err != nil {
		return 0, 0, err
	}
	if err := t.Objects.Release(tx, gone.object, gone.owner); err != nil {
		return 0, 0, err
	}
	return 1, gone.size, quota.Credit(tx, gone.owner, gone.size, 1)
}

// moveSubtreeToGraveyard hangs a folder below the graveyard.
func (t *Tree) moveSubtreeToGraveyard(tx *db.Tx, r *row) (rows, bytes int64, err error) {
	folders, sums, err := sumBelow(tx, r.id)
	if err != nil {
		return 0, 0, err
	}
	rows = folders
	for _, s := range sums {
		rows += s.files
		bytes += s.bytes
	}
	if err := creditOwners(tx, sums); err != nil {
		return 0, 0, err
	}
	return rows, bytes, t.relocate(tx, r, graveyard, hiddenName(r.id), r.updated)
}

// creditOwners credits the quotas of those who own what goes with a folder.
func creditOwners(tx *db.Tx, sums []ownerTotals) error {
	for _, s := range sums {
		if s.files > 0 {
			if err := quota.Credit(tx, s.owner, s.bytes, s.files); err != nil {
				return err
			}
		}
		if s.folders > 0 {
			if err := quota.CreditFolders(tx, s.owner, s.folders); err != nil {
				return err
			}
		}
	}
	return nil
}
