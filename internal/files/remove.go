package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// Delete removes a file, or a folder with everything in it, and credits the quota of every owner.
// It goes to the trash where the site is set so, else it is gone. It returns the number of entries,
// including the folder, and the bytes of the files. A folder of any size is out of reach at once;
// the collector deletes its rows and objects later. It needs the permission to delete; for a folder
// on everything in it. Faults: NotFound, Forbidden, PasswordRequired, Conflict for the root of a
// mount and for a folder above one, and when the trash cannot take it.
func (t *Tree) Delete(ctx context.Context, a access.Actor, id string) (rows, bytes int64, err error) {
	gone, err := t.DeleteTo(ctx, a, id, AsSet)
	return gone.Rows, gone.Bytes, err
}

// DeleteTo deletes an entry as Delete does, for a caller who chooses between the trash and a
// deletion for good (to). Deleting for good where deletions go to the trash is for the owner and
// for administrators. Faults: those of Delete.
func (t *Tree) DeleteTo(ctx context.Context, a access.Actor, id string, to Disposal) (Deleted, error) {
	return t.delete(ctx, a, id, to, deleteOptions{})
}

// DeleteIf deletes an entry as Delete does, if it still meets a precondition, which WebDAV uses for
// If and If-Match. Faults: those of Delete and of the precondition.
func (t *Tree) DeleteIf(ctx context.Context, a access.Actor, id string, precondition Precondition) error {
	_, err := t.delete(ctx, a, id, AsSet, deleteOptions{precondition: precondition})
	return err
}

// Deleted is the result of one deletion.
type Deleted struct {
	Rows, Bytes int64
	InTrash     bool // it can be restored

	alsoDeleted []string // those of the other ids of the batch that were in the folder
}

// deleteOptions say how an entry is deleted.
type deleteOptions struct {
	disposal     disposal
	reason       TrashReason // TrashDeleted for ""
	others       []string    // other ids of the batch
	precondition Precondition
}

// delete deletes an entry for Delete, DeleteTo and DeleteIf, in one transaction. The result also
// says which other ids of a batch were in the folder.
func (t *Tree) delete(ctx context.Context, a access.Actor, id string, to Disposal, how deleteOptions) (gone Deleted,
	err error) {
	err = t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		if how.disposal, err = v.trash.disposalOf(to); err != nil {
			return err
		}
		if how.reason != "" {
			how.disposal.reason = how.reason
		}
		gone, err = t.deleteNode(tx, lock, a, v, &n, how)
		return err
	})
	if err != nil {
		return Deleted{}, err
	}
	crash.Point("delete.committed")
	return gone, nil
}

// deleteNode decides whether the actor may delete the entry n, and deletes it as how.disposal says:
// into the trash or for good. Deleting a folder needs the exclusive lock of the tree. Faults: those
// of Delete, Locked.
func (t *Tree) deleteNode(tx *db.Tx, lock *treeLock, a access.Actor, v *ruleset, n *node, how deleteOptions) (
	gone Deleted, err error,
) {
	if n.folder {
		if err := lock.requireExclusive(); err != nil {
			return Deleted{}, err
		}
	}
	if err := checkDeletable(tx, a, v, n, how); err != nil {
		return Deleted{}, err
	}
	if err := t.checkRemovable(tx, a, n); err != nil {
		return Deleted{}, err
	}
	if err := t.endLocks(tx, &n.row); err != nil {
		return Deleted{}, err
	}
	if n.folder {
		if gone.alsoDeleted, err = idsBelow(tx, n.id, how.others); err != nil {
			return Deleted{}, err
		}
	}
	switch gone.InTrash = how.disposal.trash; {
	case gone.InTrash:
		gone.Rows, gone.Bytes, err = t.moveToTrash(tx, a, n, how.disposal.reason)
	case n.folder:
		gone.Rows, gone.Bytes, err = t.moveSubtreeToGraveyard(tx, &n.row)
	default:
		gone.Rows, gone.Bytes, err = t.remove(tx, &n.row)
	}
	return gone, err
}

// checkDeletable decides whether the actor may delete the entry n as how says, apart from write
// locks. Faults: those of Delete and of the precondition.
func checkDeletable(tx *db.Tx, a access.Actor, v *ruleset, n *node, how deleteOptions) error {
	target := n.existingTarget(a)
	if err := v.allow(a, target, access.Delete); err != nil {
		return err
	}
	if err := v.allowTree(tx, a, n, target, access.Delete); err != nil {
		return err
	}
	if how.disposal.forGood {
		if err := checkForGood(a, n.owner); err != nil {
			return err
		}
	}
	if err := how.precondition.check(n); err != nil {
		return err
	}
	if v.immovable(n) {
		return immovableFault()
	}
	return v.checkHomeStays(tx, a, n)
}

// checkHomeStays refuses to delete the actor's own home, or a folder that contains it. Fault:
// Conflict.
func (rs *ruleset) checkHomeStays(tx *db.Tx, a access.Actor, n *node) error {
	if a.HomeID == "" || !n.folder {
		return nil
	}
	home, _, err := rs.findID(tx, a.HomeID)
	if err != nil || !home.within(n.id) {
		return err
	}
	return fault.New(fault.Conflict,
		"Your home, or a folder that contains it, cannot be deleted. Delete the content of your home instead.")
}

// remove deletes a file for good: its row, link, properties, favourites and versions, and a
// reference to its object. It credits the owner, and leaves a gap in the history of the folder. It
// returns 1 and the file's size in bytes.
func (t *Tree) remove(tx *db.Tx, r *row) (rows, bytes int64, err error) {
	if err := quota.Lock(tx, r.owner); err != nil { // before the file, in the same order as uploads
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
	if err := deleteFavouritesOf(tx, []string{r.id}); err != nil {
		return 0, 0, err
	}
	if err := t.dropVersionsOf(tx, []string{r.id}); err != nil {
		return 0, 0, err
	}
	if err := t.leaveForGood(tx, r, gone.placeSince); err != nil {
		return 0, 0, err
	}
	if err := t.Objects.Release(tx, gone.object, gone.owner); err != nil {
		return 0, 0, err
	}
	return 1, gone.size, quota.Credit(tx, gone.owner, gone.size, 1)
}

// moveSubtreeToGraveyard deletes a folder for good: it moves the folder below the graveyard, where
// the collector deletes its rows later, and credits the owners of everything in it. It leaves a gap
// in the history of the folder above; the collector adds those of the folders that entries below it
// were in before. It returns the number of entries, the folder included, and the bytes of the
// files.
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
	since, err := placeSince(tx, r.id)
	if err != nil {
		return 0, 0, err
	}
	if err := t.leaveForGood(tx, r, since); err != nil {
		return 0, 0, err
	}
	return rows, bytes, t.relocate(tx, r, graveyard, hiddenName(r.id), r.updated)
}

// leaveForGood records gaps in the history of the folder that an entry has been in since a time
// (ms), and of its former folders, when the entry is deleted for good: these folders cannot be
// shown any more as they were with it.
func (t *Tree) leaveForGood(tx *db.Tx, r *row, since int64) error {
	gaps, err := takePlacesOf(tx, []string{r.id})
	if err != nil {
		return err
	}
	return addGaps(tx, append(gaps, gap{id: r.parent, since: since, until: max(t.nowMs(), since+1)}))
}

// creditOwners credits the quota of each owner for the files, bytes and folders that sums lists,
// since the entries are deleted or in the trash.
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
