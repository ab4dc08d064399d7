package files

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// deleteTogether deletes files of a batch in one transaction. It decides about each file
// separately, as Delete does. It stops at the first folder among the ids and returns the outcomes
// of the ids before it: none when the first id is a folder. When it returns an error, it has
// deleted nothing, and the error may concern one file only.
func (t *Tree) deleteTogether(ctx context.Context, a access.Actor, ids []string, to Disposal) (outcomes []Outcome,
	err error,
) {
	ids = ids[:min(len(ids), db.ChunkSize)]
	err = t.writeLocked(ctx, false, func(tx *db.Tx) (err error) {
		outcomes, err = t.deleteTogetherTx(tx, a, ids, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	crash.Point("delete.committed")
	return outcomes, nil
}

// deleteTogetherTx is the transaction of deleteTogether.
func (t *Tree) deleteTogetherTx(tx *db.Tx, a access.Actor, ids []string, to Disposal) ([]Outcome, error) {
	var found map[string]node
	v, err := t.readConsistentTx(func(v *ruleset) (version int64, err error) {
		if found, version, err = v.findIDs(tx, ids); len(found) == 0 {
			version = v.version // no query has read one
		}
		return version, err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var how deleteOptions
	if how.disposal, err = v.trash.disposalOf(to); err != nil {
		return nil, err
	}
	check, err := t.newFilesCheck(tx, found)
	if err != nil {
		return nil, err
	}
	var outcomes []Outcome
	var files []node
	for _, id := range ids {
		n, exists := found[id]
		if n.folder {
			break
		}
		err := noEntry()
		if exists {
			err = check.deletable(a, v, &n, how)
		}
		if err != nil && fault.KindOf(err) == fault.Internal {
			return nil, err
		}
		if err == nil {
			files = append(files, n)
		}
		outcomes = append(outcomes, Outcome{ID: id, Err: err, InTrash: err == nil && how.disposal.trash})
	}
	if len(files) == 0 {
		return outcomes, nil
	}
	if err := lockQuotas(tx, files); err != nil {
		return nil, err
	}
	if err := deleteLocksOnAll(tx, idsOf(files)); err != nil {
		return nil, err
	}
	if how.disposal.trash {
		return outcomes, t.moveFilesToTrash(tx, a, files)
	}
	return outcomes, t.removeFiles(tx, files)
}

// removeFiles deletes files for good as remove does one, in few statements. The caller has locked
// the quotas of their owners.
func (t *Tree) removeFiles(tx *db.Tx, files []node) error {
	for i := range files {
		if files[i].key == "" {
			return fmt.Errorf("release object %s: it has no row", files[i].object)
		}
	}
	gone, err := deleteFilesAt(tx, rowsOf(files))
	if err != nil {
		return err
	}
	gaps := make([]gap, len(gone))
	for i, r := range gone {
		gaps[i] = gap{id: r.parent, since: r.placeSince, until: max(t.nowMs(), r.placeSince+1)}
	}
	if err := addGaps(tx, gaps); err != nil {
		return err
	}
	if err := t.releaseFiles(tx, idsOf(files), gone); err != nil {
		return err
	}
	return creditOwners(tx, sumsOf(gone))
}

// sumsOf returns the number and bytes of the files that each account owns, in the order of the
// accounts' ids.
func sumsOf(files []row) []ownerTotals {
	byOwner := map[string]ownerTotals{}
	for _, r := range files {
		sum := byOwner[r.owner]
		byOwner[r.owner] = ownerTotals{owner: r.owner, files: sum.files + 1, bytes: sum.bytes + r.size}
	}
	sums := make([]ownerTotals, 0, len(byOwner))
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		sums = append(sums, byOwner[owner])
	}
	return sums
}

// filesCheck decides about the files of a batch, with few queries for all of them.
type filesCheck struct {
	tree  *Tree
	tx    *db.Tx
	locks map[string][]WriteLock // by entry: those on the files and above them
	kept  map[string]quota.Kept  // by owner, as far as they were read
}

// newFilesCheck reads the locks on the entries and above them.
func (t *Tree) newFilesCheck(tx *db.Tx, found map[string]node) (*filesCheck, error) {
	trails := map[string]bool{}
	for _, n := range found {
		for _, l := range n.trail {
			trails[l.id] = true
		}
	}
	c := &filesCheck{tree: t, tx: tx, locks: map[string][]WriteLock{}, kept: map[string]quota.Kept{}}
	all, err := locksOn(tx, slices.Collect(maps.Keys(trails)), t.nowMs())
	for _, l := range all {
		c.locks[l.EntryID] = append(c.locks[l.EntryID], l)
	}
	return c, err
}

// deletable decides whether the actor may delete a file as how says. Faults: those of Delete.
func (c *filesCheck) deletable(a access.Actor, v *ruleset, n *node, how deleteOptions) error {
	if err := checkDeletable(c.tx, a, v, n, how); err != nil {
		return err
	}
	var there []WriteLock
	for _, l := range n.trail {
		there = append(there, c.locks[l.id]...)
	}
	if err := c.tree.checkPlaceUnlocked(c.tx, a, n, there); err != nil || !how.disposal.trash {
		return err
	}
	kept, known := c.kept[n.owner]
	if !known {
		var err error
		if kept, err = quota.KeptOf(c.tx, n.owner); err != nil {
			return err
		}
		c.kept[n.owner] = kept
	}
	return checkFits(kept, n.size)
}

// lockQuotas locks the quotas of the owners of files, before the files as uploads do, and in the
// order of the owners' ids.
func lockQuotas(tx *db.Tx, files []node) error {
	owners := map[string]bool{}
	for i := range files {
		owners[files[i].owner] = true
	}
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		if err := quota.Lock(tx, owner); err != nil {
			return err
		}
	}
	return nil
}

// moveFilesToTrash moves files into the trash as moveToTrash does one entry, in few statements. The
// caller has decided about each, and has locked the quotas of their owners.
func (t *Tree) moveFilesToTrash(tx *db.Tx, a access.Actor, files []node) error {
	if err := t.checkTrash(tx); err != nil {
		return err
	}
	if err := recordPlaces(tx, idsOf(files), t.nowMs()); err != nil {
		return err
	}
	moved, err := moveFilesTo(tx, rowsOf(files), trashRoot, t.nowMs())
	if err != nil {
		return err
	}
	movedByID := make(map[string]row, len(moved))
	for _, r := range moved {
		movedByID[r.id] = r
	}
	items := make([]trashed, len(files))
	for i := range files {
		r := movedByID[files[i].id]
		if r.owner != files[i].owner || r.size != files[i].size { // changed since it was decided about
			return retryTransaction()
		}
		items[i] = t.trashedOf(a, &files[i], TrashDeleted)
		items[i].files, items[i].size = 1, r.size
		items[i].totals = []ownerTotals{{owner: r.owner, files: 1, bytes: r.size}}
	}
	sums := sumsOf(moved)
	for _, s := range sums {
		if err := quota.AddKept(tx, s.owner, s.bytes); err != nil {
			return err
		}
	}
	if err := creditOwners(tx, sums); err != nil {
		return err
	}
	return insertTrashed(tx, items)
}

// idsOf returns the ids of entries.
func idsOf(nodes []node) []string {
	ids := make([]string, len(nodes))
	for i := range nodes {
		ids[i] = nodes[i].id
	}
	return ids
}

// rowsOf returns the rows of entries.
func rowsOf(nodes []node) []row {
	rows := make([]row, len(nodes))
	for i := range nodes {
		rows[i] = nodes[i].row
	}
	return rows
}
