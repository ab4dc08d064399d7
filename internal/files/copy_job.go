package files

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// CopyJob is the type of the job that copies a large folder, or copies the content of a copy to its
// provider. RunCopy runs it.
const CopyJob = "copy"

// bytesPerEntry is the weight of an entry in the progress of a copy, in bytes.
const bytesPerEntry = 4 << 10

// copyPayload is the payload of a copy: the request, and the progress of the job. Its Entry is the
// source, or the copy once that is in its place.
type copyPayload struct {
	movePayload
	Copy      string       // the copied folder, below the staging root
	Entries   int64        // entries to make, as far as known
	Made      int64        // entries made
	Elsewhere int64        // bytes to copy to the target's provider afterwards
	Way       []copyCursor // folders from the source down to the current one
	Names     nameOrder    // of the entries; false in payloads that older versions have begun
}

// copyCursor is a folder that is being copied.
type copyCursor struct {
	Source, Copy string
	Files        bool   // its files are done; its folders are next
	Fold, Name   string // position of the last one that was copied; Fold is its key in the order of names
}

// last is the position in the order of names of the last entry that was copied in this folder; the
// zero position before the first.
func (c *copyCursor) last() namePosition { return namePosition{c.Fold, c.Name} }

// encode returns the payload in JSON, as the job's row stores it.
func (p copyPayload) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and a bool
	}
	return string(text)
}

// begun reports whether the job has copied or read any entry. The order of names may be chosen
// until then, and must stay afterwards.
func (p *copyPayload) begun() bool {
	return p.Made > 0 || len(p.Way) != 1 || p.Way[0].Files || p.Way[0].last() != (namePosition{})
}

// bytesLeft is the remaining work of the job for its progress, in bytes: bytesPerEntry for each
// entry to make, and the bytes to copy to the target's provider.
func (p *copyPayload) bytesLeft() int64 { return max(p.Entries-p.Made, 0)*bytesPerEntry + p.Elsewhere }

// becomeMove turns the payload into the rest of a move, once the copy with the id copied is in its
// place: its content is still to be copied to the provider of the target. RunCopy then goes on as
// RunMove does.
func (p *copyPayload) becomeMove(copied, provider string) {
	p.Entry, p.Moved, p.Provider, p.Way = copied, true, provider, nil
}

// RunCopy makes the copy of a large folder below the staging root, one piece in each transaction,
// so that an incomplete copy is never visible. It copies the content of a folder as it is when its
// piece is read, by the rights that the actor has at that time; changes before or after do not fail
// the job. One transaction then decides about the copy once more, puts it in its place and charges
// it. At the end content is copied to the target's provider, as after a move. Each piece records
// its position, so the job continues there after a crash at any line. When the job fails for good,
// DropCopy removes what it has made.
//
// Faults: those of Copy, and Unverified as for RunMove when the copy is in its place already.
func (t *Tree) RunCopy(ctx context.Context, run *job.Run) error {
	x := copier{transfer: transfer{Tree: t, run: run}}
	if err := json.Unmarshal([]byte(run.Payload), &x.copyPayload); err != nil {
		return fmt.Errorf("read the payload of a copy: %w", err)
	}
	x.payload = x.copyPayload.movePayload
	if !x.copyPayload.Moved {
		if err := x.copyToStaging(ctx); err != nil {
			return err
		}
		if err := x.publish(ctx); err != nil {
			return err
		}
	}
	if err := x.copyRemaining(ctx); err != nil {
		return err
	}
	return x.countFiles(ctx)
}

// DropCopy removes a large copy that its job, jobID, gives up for good, or whose account ends: it
// releases the reserved quota, and moves the entries that were made to the graveyard; they were
// never charged. It changes nothing for a copy that is in its place.
func (t *Tree) DropCopy(tx *db.Tx, jobID string) error {
	if err := tx.LockTree(false); err != nil {
		return fmt.Errorf("lock the tree: %w", err)
	}
	s, found, err := endStaged(tx, jobID)
	if err != nil || !found {
		return err
	}
	if err := quota.Release(tx, s.user, s.bytes, s.files); err != nil {
		return err
	}
	if err := quota.ReleaseFolders(tx, s.user, s.folders); err != nil {
		return err
	}
	return t.DropStaged(tx, s.entry)
}

// DropStaged moves an entry below the staging root, which no job continues, to the graveyard, whose
// rows the collector deletes. DropCopy and fsck call it.
func (t *Tree) DropStaged(tx *db.Tx, id string) error {
	if err := moveStagedToGraveyard(tx, id); err != nil {
		return fmt.Errorf("bury a copy: %w", err)
	}
	return nil
}

// copier is one call of RunCopy.
type copier struct {
	transfer
	copyPayload copyPayload
}

// copyToStaging copies the content of the source folder to the copied folder below the staging
// root, a piece in each transaction, from the position where an earlier attempt has ended.
func (cr *copier) copyToStaging(ctx context.Context) error {
	cr.run.SetRemaining(cr.copyPayload.bytesLeft())
	if !cr.copyPayload.begun() {
		var err error
		if cr.copyPayload.Names, err = cr.nameOrderNow(ctx); err != nil {
			return err
		}
	}
	for len(cr.copyPayload.Way) > 0 {
		before := cr.copyPayload.Made
		if err := cr.copyPiece(ctx); err != nil {
			return err
		}
		cr.run.AddProgress((cr.copyPayload.Made - before) * bytesPerEntry)
		crash.Point("copy.staged")
	}
	return nil
}

// copyPiece copies the next entries, up to copyBatchSize, and records the new position in one
// transaction. It loads the actor's rights again when the tree is at another config version than
// they.
func (cr *copier) copyPiece(ctx context.Context) error {
	actor, version, err := cr.actor(ctx)
	if err != nil {
		return err
	}
	var next copyPayload
	err = cr.writeLocked(ctx, false, func(tx *db.Tx) error {
		next = cr.copyPayload
		next.Way = slices.Clone(cr.copyPayload.Way)
		b := copyBatch{copier: cr, tx: tx, actor: actor, version: version, next: &next, increments: refIncrements{},
			copies: map[string]string{}}
		if err := b.fill(); err != nil {
			if b.outdated {
				return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
					actor, version, err = cr.actor(ctx)
					return err
				}}
			}
			return err
		}
		return b.record()
	})
	if err != nil {
		return err
	}
	cr.copyPayload = next
	return nil
}

// publish decides about the copy once more by the present rules, and gives it its place: it moves
// the copied folder from the staging root to the target and charges it, in one transaction. Faults:
// those of Copy.
func (cr *copier) publish(ctx context.Context) error {
	target, err := vpath.Parse(cr.copyPayload.Target)
	if err != nil {
		return err
	}
	height, err := heightOf(cr.DB.Read(ctx), cr.copyPayload.Copy) // the staged copy does not change any more
	if err != nil {
		return err
	}
	actor, version, err := cr.actor(ctx)
	if err != nil {
		return err
	}
	var measured *extent
	done := cr.copyPayload
	err = cr.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		c := copyOperation{moveOperation: moveOperation{Tree: cr.Tree, tx: tx, lock: lock, actor: actor,
			replace: cr.payload.Over}}
		if err := c.find(cr.copyPayload.Entry, target, cr.copyPayload.Name); err != nil {
			return err
		}
		if c.rules.version != version {
			return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
				actor, version, err = cr.actor(ctx)
				return err
			}}
		}
		if err := c.authorize(target); err != nil {
			return err
		}
		if measured == nil {
			return c.measureOutside(&measured)
		}
		e := *measured
		e.height = height
		if err := c.authorizeContents(e); err != nil {
			return err
		}
		if c.dest.id != cr.copyPayload.Folder {
			return fault.New(fault.Conflict, "The target folder has been moved or replaced meanwhile.")
		}
		done = cr.copyPayload
		done.becomeMove(cr.copyPayload.Copy, c.dest.mount.ProviderID)
		return c.translateTaken(cr.commitCopy(&c, done))
	})
	if err != nil {
		return err
	}
	cr.copyPayload, cr.payload = done, done.movePayload
	crash.Point("copy.published")
	return nil
}

// commitCopy moves the staged copy to its place, turns its reserved quota into a charge for the
// entries that were made, and saves the payload done, so that a later attempt does not repeat it.
// Fault: NotFound when the copy was dropped meanwhile.
func (cr *copier) commitCopy(c *copyOperation, done copyPayload) error {
	s, found, err := endStaged(c.tx, cr.run.ID)
	if err != nil {
		return err
	}
	if !found {
		return noStaged()
	}
	if err := c.deleteExisting(); err != nil {
		return err
	}
	at := row{id: s.entry, parent: staging, name: string(hiddenName(s.entry))}
	if err := cr.relocate(c.tx, &at, c.dest.id, c.name, cr.nowMs()); err != nil {
		return err
	}
	if err := quota.Release(c.tx, s.user, s.bytes, s.files); err != nil {
		return err
	}
	if err := quota.Charge(c.tx, s.user, s.madeBytes, s.madeFiles); err != nil {
		return err
	}
	if err := quota.ReleaseFolders(c.tx, s.user, s.folders); err != nil {
		return err
	}
	if err := quota.ChargeFolders(c.tx, s.user, s.madeFolders(cr.copyPayload.Made)); err != nil {
		return err
	}
	return cr.run.SavePayload(c.tx, done.encode())
}

// madeFolders is the number of folders of the copy that have been made, itself included. entries is
// the number of entries made below it.
func (s stagedCopy) madeFolders(entries int64) int64 { return 1 + entries - s.madeFiles }

// noStaged is the fault NotFound for a copy whose record and entries were removed while its job
// ran.
func noStaged() error {
	return fault.New(fault.NotFound, "The copy was removed before it was complete.")
}

// copyBatch is one piece of a large copy: the entries that one transaction copies.
type copyBatch struct {
	*copier
	tx       *db.Tx
	actor    access.Actor
	version  int64        // config version of the actor's rights
	outdated bool         // the tree was read at another config version
	next     *copyPayload // payload that the piece advances
	rowsRead int
	rules    *ruleset
	sources  []*node // the sources of its Way, nil where they were not looked up yet

	bytes, files int64
	increments   refIncrements
	copies       map[string]string // by original id
}

// fill copies entries until the piece is full (copyBatchSize rows read) or nothing is left. It
// counts lookups as well, so it ends early where few entries need many of them. Faults: Forbidden,
// PasswordRequired, Invalid (too deep).
func (b *copyBatch) fill() error {
	b.sources = make([]*node, len(b.next.Way))
	for b.rowsRead < b.copyBatchSize && len(b.next.Way) > 0 {
		if err := b.step(); err != nil {
			return err
		}
	}
	return nil
}

// step copies the next files of the current folder, the last one in Way, in the order of names.
// When all files are copied it copies the next folder in it, which becomes the current one.
func (b *copyBatch) step() error {
	n, err := b.folder()
	if err != nil {
		return err
	}
	here := &b.next.Way[len(b.next.Way)-1]
	if n == nil {
		b.leaveFolder()
		return nil
	}
	kind, limit := fileKind, b.copyBatchSize-b.rowsRead
	if here.Files {
		kind, limit = folderKind, 1
	}
	found, err := b.next.Names.childrenAfter(b.tx, here.Source, kind, here.last(), limit)
	if err != nil {
		return err
	}
	b.rowsRead += 1 + len(found)
	folder := n.existingTarget(b.actor)
	for i := range found {
		if err := b.copyEntry(n, folder, &found[i]); err != nil {
			return err
		}
	}
	switch {
	case len(found) == limit: // there may be more
	case here.Files:
		b.leaveFolder()
	default:
		here.Files, here.Fold, here.Name = true, "", ""
	}
	return nil
}

// folder looks up the source of the current folder, once in each piece. It returns nil, and no
// error, when that folder is gone or has been moved out of the copied folder: the copy leaves it
// out.
func (b *copyBatch) folder() (*node, error) {
	end := len(b.sources) - 1
	if b.sources[end] != nil {
		return b.sources[end], nil
	}
	n, v, err := b.lookUpTx(b.tx, b.next.Way[end].Source)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case v.version != b.version:
		b.outdated = true
		return nil, fmt.Errorf("the actor's rights are of config version %d, the tree is of %d", b.version, v.version)
	case !n.within(b.next.Entry):
		return nil, nil
	}
	b.rules, b.sources[end] = v, &n
	return &n, nil
}

// leaveFolder makes the folder above the current one the current one again.
func (b *copyBatch) leaveFolder() {
	end := len(b.sources) - 1
	b.sources, b.next.Way = b.sources[:end], b.next.Way[:end]
}

// copyEntry decides about the entry r of the folder n, whose target is folder, and copies its row.
// It skips a name that the copied folder has already, of another entry that had the name before.
// Faults: Forbidden, also for an entry with a password; PasswordRequired; Invalid (too deep).
func (b *copyBatch) copyEntry(n *node, folder access.Target, r *row) error {
	here := &b.next.Way[len(b.next.Way)-1]
	here.Fold, here.Name = r.sortKey, r.name
	if r.password != "" {
		return forbidden()
	}
	target := childTarget(folder, b.actor, r)
	for _, p := range []access.Permission{access.Read, access.Download} {
		if err := b.rules.allow(b.actor, target, p); err != nil {
			return err
		}
	}
	made := newCopyRow(r, here.Copy, b.IDs.UUID(), b.actor.UserID, b.nowMs())
	done, err := insertCopy(b.tx, &made)
	if err != nil || !done {
		return err
	}
	b.next.Made++
	b.increments.add(&made)
	b.copies[r.id] = made.id
	if !r.folder {
		b.bytes, b.files = b.bytes+r.size, b.files+1
		return nil
	}
	if len(b.sources) > vpath.MaxDepth { // only when folders are moved meanwhile
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would be deeper.")
	}
	down := *n
	down.row, down.path = *r, n.path.Child(vpath.Name(r.name))
	down.trail = append(slices.Clip(n.trail), trailEntry{id: r.id, owner: r.owner})
	b.sources = append(b.sources, &down)
	b.next.Way = append(b.next.Way, copyCursor{Source: r.id, Copy: made.id})
	return nil
}

// record ends a piece: it adds the references to objects, copies dead properties, counts the
// entries in the copy's record, reserves quota for entries that came after the measurement, and
// saves position and progress of the job. Fault: QuotaExceeded; NotFound when the copy was dropped.
func (b *copyBatch) record() error {
	if err := b.increments.apply(b.tx); err != nil {
		return err
	}
	if err := copyProperties(b.tx, b.copies); err != nil {
		return err
	}
	s, found, err := countStaged(b.tx, b.run.ID, b.bytes, b.files)
	if err != nil {
		return err
	}
	if !found {
		return noStaged()
	}
	bytes, files := max(s.madeBytes-s.bytes, 0), max(s.madeFiles-s.files, 0)
	folders := max(s.madeFolders(b.next.Made)-s.folders, 0)
	if bytes > 0 || files > 0 || folders > 0 {
		if err := quota.Reserve(b.tx, s.user, bytes, files); err != nil {
			return err
		}
		if err := quota.ReserveFolders(b.tx, s.user, folders); err != nil {
			return err
		}
		if err := reserveStaged(b.tx, b.run.ID, bytes, files, folders); err != nil {
			return err
		}
	}
	if err := b.run.SavePayload(b.tx, b.next.encode()); err != nil {
		return err
	}
	return b.run.RecordBytes(b.tx, (b.next.Made-b.copier.copyPayload.Made)*bytesPerEntry)
}
