package files

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/quota"
)

const (
	// trashPiece is the maximal number of entries of the trash that one transaction purges.
	trashPiece = 200
	// emptiedAtOnce is the number of entries that a request to empty the trash purges itself.
	emptiedAtOnce = 1000
)

// Purged is the result of a purge: the number of entries, their bytes, and the former path.
type Purged struct {
	Rows, Bytes int64
	Path        string
}

// Purge deletes an entry of the trash for good. Its owner and administrators may; an account that
// only deleted it may not. Faults: NotFound, Forbidden.
func (t *Tree) Purge(ctx context.Context, a access.Actor, id string) (gone Purged, err error) {
	err = t.writeLocked(ctx, false, func(tx *db.Tx) error {
		i, err := trashedFor(tx, a, id)
		if err != nil {
			return err
		}
		if err := checkForGood(a, i.owner); err != nil {
			return err
		}
		gone = Purged{i.files + i.folders, i.size, i.path}
		n, err := t.purge(tx, []string{id})
		if err == nil && n == 0 {
			return noTrashed()
		}
		return err
	})
	if err != nil {
		return Purged{}, err
	}
	crash.Point("trash.purged")
	return gone, nil
}

// EmptyTrash deletes for good every entry of the trash that belongs to an account. It deletes the
// first 1,000 entries itself; a job of the actor deletes the others, and is nil if there are none.
// Three kinds of entries stay: entries that belong to others, even if this account deleted them;
// entries that are deleted after the call; and, when the actor has a key, entries from outside of
// the root of that key. After the clock went back, entries of the trash are from a time that is
// still to come; they are deleted, too. Only an administrator may empty
// the trash of another account. Fault: Forbidden.
func (t *Tree) EmptyTrash(ctx context.Context, a access.Actor, owner string) (*job.Job, error) {
	if owner != a.UserID && (a.Role != access.Admin || a.Key != nil) {
		return nil, fault.New(fault.Forbidden, "Only administrators can empty the trash of another account.")
	}
	p := purgePayload{Owner: owner, Root: keyRoot(a), Until: t.nowMs()}
	newest, err := listTrashed(t.DB.Read(ctx), t.DB.Dialect(), &trashQuery{userID: owner, ownedOnly: true, root: p.Root,
		limit: 1})
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	p.Before = max(t.nowMs(), newest[0].deletedAt) + 1 // after a clock went back, entries are from later than now
	for range emptiedAtOnce / trashPiece {
		if more, err := t.purgeNext(ctx, p); err != nil || !more {
			return nil, err
		}
	}
	payload, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("describe a purge: %w", err)
	}
	made := job.Job{ID: t.IDs.UUID(), Type: PurgeJob, OwnerID: a.UserID, Status: job.Pending, CreatedAt: t.nowMs()}
	err = t.DB.Write(ctx, func(tx *db.Tx) error {
		if t.Wake != nil {
			tx.AfterCommit(t.Wake)
		}
		return job.Insert(tx, job.Spec{ID: made.ID, Type: made.Type, OwnerID: made.OwnerID, Payload: string(payload),
			CreatedAt: made.CreatedAt})
	})
	return &made, err
}

// PurgeJob is the type of the job that empties the trash of an account; RunPurge runs it.
const PurgeJob = "purge"

// purgePayload is the payload of a PurgeJob.
type purgePayload struct {
	Owner  string // of the entries
	Root   string // of the key that asked, "" for none
	Before int64  // entries that were deleted before this time, ms
	Until  int64  // of these, those deleted until this time, or in the future; 0 for all
}

// RunPurge runs a PurgeJob: it empties the trash of an account as EmptyTrash describes. It
// continues after a crash at any line, since purged entries are not found again.
func (t *Tree) RunPurge(ctx context.Context, run *job.Run) error {
	var p purgePayload
	if err := json.Unmarshal([]byte(run.Payload), &p); err != nil {
		return fmt.Errorf("read the payload of a purge: %w", err)
	}
	for {
		more, err := t.purgeNext(ctx, p)
		if err != nil || !more {
			return err
		}
		if err := t.DB.Write(ctx, func(tx *db.Tx) error { return run.RecordBytes(tx, 0) }); err != nil {
			return err
		}
	}
}

// purgeNext purges the next entries that the payload selects, at most trashPiece, and reports
// whether there may be more.
func (t *Tree) purgeNext(ctx context.Context, p purgePayload) (more bool, err error) {
	tq := trashQuery{userID: p.Owner, ownedOnly: true, root: p.Root, beforeTime: p.Before, beforeID: firstID,
		until: p.Until, now: t.nowMs(), limit: trashPiece}
	found, err := listTrashed(t.DB.Read(ctx), t.DB.Dialect(), &tq)
	if err != nil || len(found) == 0 {
		return false, err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].id
	}
	err = t.purgePiece(ctx, ids)
	return len(found) == trashPiece, err
}

// firstID comes before every id.
const firstID = " "

// purgePiece purges entries of the trash by their ids in one transaction.
func (t *Tree) purgePiece(ctx context.Context, ids []string) error {
	purged := 0
	err := t.writeLocked(ctx, false, func(tx *db.Tx) (err error) {
		purged, err = t.purge(tx, ids)
		return err
	})
	if err == nil && purged > 0 {
		crash.Point("trash.purged")
	}
	return err
}

// purge deletes entries of the trash for good: files at once, while folders go to the graveyard,
// where the collector deletes their rows. The end of their former places leaves gaps in the history
// (deletePlacesOf), that of folders when the collector comes to them. It returns the number of
// entries that were still in the trash.
func (t *Tree) purge(tx *db.Tx, ids []string) (int, error) {
	gone, err := moveFoldersInTrashToGraveyard(tx, ids)
	if err != nil {
		return 0, err
	}
	files, err := purgeFilesInTrash(tx, ids)
	if err != nil {
		return 0, err
	}
	fileIDs := make([]string, len(files))
	for i, f := range files {
		fileIDs[i] = f.id
	}
	gone = append(gone, fileIDs...)
	if err := forgetTrashed(tx, gone); err != nil {
		return 0, err
	}
	if err := t.releaseFiles(tx, fileIDs, files); err != nil {
		return 0, err
	}
	return len(gone), nil
}

// subtractKept subtracts bytes from the kept bytes of accounts, in the order of their ids, which
// all transactions keep. freed is by account.
func subtractKept(tx *db.Tx, freed map[string]int64) error {
	for _, owner := range slices.Sorted(maps.Keys(freed)) {
		if err := quota.AddKept(tx, owner, -freed[owner]); err != nil {
			return err
		}
	}
	return nil
}

// SweepTrash is the sweep of everything that is kept for a time. It purges entries of the trash and
// versions whose time is over, forgets former places, frees space on disks that are nearly full,
// and purges the oldest entries and versions of accounts that keep more bytes than they may.
func (t *Tree) SweepTrash(ctx context.Context) error {
	settings, err := t.trashSettings(ctx)
	if err != nil {
		return err
	}
	ended := t.nowMs() - settings.lifetime() + 1
	if err := t.keepHistory(ctx, settings, ended); err != nil {
		return err
	}
	if err := t.purgeOldest(ctx, ended); err != nil {
		return fmt.Errorf("purge the trash: %w", err)
	}
	if err := t.sweepVersions(ctx, ended); err != nil {
		return err
	}
	if err := t.sweepPlaces(ctx, ended); err != nil {
		return err
	}
	if err := t.purgeForSpace(ctx); err != nil {
		return fmt.Errorf("free space on a disk: %w", err)
	}
	for after := ""; ; {
		users, err := quota.AboveMaxKept(t.DB.Read(ctx), after, trashPiece)
		if err != nil || len(users) == 0 {
			return err
		}
		for _, user := range users {
			if err := t.purgeAboveBound(ctx, user); err != nil {
				return fmt.Errorf("purge what is kept of an account: %w", err)
			}
		}
		after = users[len(users)-1]
	}
}

// purgeOldest purges all entries of the trash that were deleted before a time (ms), the oldest
// first.
func (t *Tree) purgeOldest(ctx context.Context, before int64) error {
	for {
		ids, err := oldestTrashed(t.DB.Read(ctx), before, trashPiece)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := t.purgePiece(ctx, ids); err != nil {
			return err
		}
	}
}

// purgeAboveBound purges the oldest entries of the trash and the oldest versions in which an
// account has bytes, until the account keeps no more bytes than it may (quota.KeptBeyond).
func (t *Tree) purgeAboveBound(ctx context.Context, user string) error {
	for {
		beyond, err := quota.KeptBeyond(t.DB.Read(ctx), user)
		if err != nil || beyond == 0 {
			return err
		}
		oldest, err := oldestKept(t.DB.Read(ctx), user, beyond, trashPiece)
		if err != nil || oldest.bytes == 0 {
			return err
		}
		if err := t.purgeKept(ctx, oldest); err != nil {
			return err
		}
	}
}

// purgeForSpace purges the oldest entries and versions of all accounts on disks that are nearly
// full, until the missing bytes become free, and logs that.
func (t *Tree) purgeForSpace(ctx context.Context) error {
	short, err := t.Providers.Shortages(ctx)
	if err != nil {
		return err
	}
	for _, s := range short {
		purged, err := t.FreeKept(ctx, s.Provider.ID, s.Bytes)
		if err != nil {
			return err
		}
		if purged > 0 {
			t.Log.Warn("the disk is nearly full: the oldest entries in the trash and the oldest versions are deleted",
				"provider", s.Provider.Name, "bytes", purged)
		}
	}
	return nil
}

// FreeKept purges the oldest entries and versions in a provider before their time, until the given
// number of bytes becomes free, and returns the bytes of the entries and versions that it purged.
// Garbage counts as free, since the collector deletes it; while a deleted folder is not collected
// yet, nothing is purged.
func (t *Tree) FreeKept(ctx context.Context, providerID string, bytes int64) (purged int64, err error) {
	coming, collected, err := bytesToCome(t.DB.Read(ctx), providerID)
	if err != nil || !collected {
		return 0, err
	}
	for bytes -= coming; purged < bytes; {
		kept, err := oldestKeptIn(t.DB.Read(ctx), providerID, bytes-purged, trashPiece)
		if err != nil || kept.bytes == 0 {
			return purged, err
		}
		if err := t.purgeKept(ctx, kept); err != nil {
			return purged, err
		}
		purged += kept.bytes
	}
	return purged, nil
}

// purgeKept purges the selected entries of the trash and versions before their time.
func (t *Tree) purgeKept(ctx context.Context, k kept) error {
	if err := t.purgePiece(ctx, k.entries); err != nil {
		return err
	}
	return t.DB.Write(ctx, func(tx *db.Tx) error { return t.dropVersions(tx, k.versions) })
}

// RecordTrashed records an entry below the root of the trash that has no record there, so that it
// can be restored to another folder: its former name and place are not known. It does nothing when
// no such entry is in the trash. For fsck.
func (t *Tree) RecordTrashed(tx *db.Tx, id string) error {
	r, err := childNamed(tx, trashRoot, hiddenName(id))
	if err != nil || r.id == "" {
		return err
	}
	if err := forgetTrashed(tx, []string{id}); err != nil { // sizes that are left of a record
		return err
	}
	sums := []ownerTotals{{owner: r.owner, files: 1, bytes: r.size}}
	if r.folder {
		if _, sums, err = sumBelow(tx, id); err != nil {
			return err
		}
	}
	item := trashed{id: id, name: "recovered " + id, owner: r.owner, deletedBy: r.owner, deletedAt: t.nowMs(),
		reason: TrashDeleted, path: "/recovered " + id}
	for _, s := range sums {
		item.folders, item.files, item.size = item.folders+s.folders, item.files+s.files, item.size+s.bytes
		if err := quota.AddKept(tx, s.owner, s.bytes); err != nil {
			return err
		}
	}
	item.totals = sums
	return insertTrashed(tx, []trashed{item})
}

// ForgetTrashed deletes the record of an entry that is not in the trash any more, and subtracts its
// kept bytes. For fsck.
func (t *Tree) ForgetTrashed(tx *db.Tx, id string) error { return forgetTrashed(tx, []string{id}) }
