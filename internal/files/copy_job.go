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

func (c *copyCursor) last() namePosition { return namePosition{c.Fold, c.Name} }

func (p copyPayload) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and a bool
	}
	return string(text)
}

// begun reports whether the job has copied anything, or looked for it.
func (p *copyPayload) begun() bool {
	return p.Made > 0 || len(p.Way) != 1 || p.Way[0].Files || p.Way[0].last() != (namePosition{})
}

// bytesLeft is the remaining work in bytes.
func (p *copyPayload) bytesLeft() int64 { return max(p.Entries-p.Made, 0)*bytesPerEntry + p.Elsewhere }

// becomeMove turns the payload into the rest of a move: the copy is in its place, and its content
// is still to be copied.
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

// DropCopy releases the reservation of a copy that fails for good, and moves what it has made to
// the graveyard; that was never charged. A copy that is in its place stays.
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

// DropStaged moves an entry below the staging root, which no job continues, to the graveyard.
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

// copyToStaging copies the content of the source, piece by piece.
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

// copyPiece copies the next entries, in one transaction.
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

// publish decides about the copy by the present rules, puts it in its place, and charges it.
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

// commitCopy puts the copy in its place, turns its reservation into a charge, and records that.
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

// madeFolders is the number of folders of a copy of which entries have been made beside the copied
// folder itself.
func (s stagedCopy) madeFolders(entries int64) int64 { return 1 + entries - s.madeFiles }

func noStaged() error {
	return fault.New(fault.NotFound, "The copy was removed before it was complete.")
}

// copyBatch is one piece of a copy.
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

// fill copies entries until the piece is full or nothing is left. It counts lookups as well, so it
// ends early where few entries need many of them.
func (b *copyBatch) fill() error {
	b.sources = make([]*node, len(b.next.Way))
	for b.rowsRead < b.copyBatchSize && len(b.next.Way) > 0 {
		if err := b.step(); err != nil {
			return err
		}
	}
	return nil
}

// step copies the next files of the current folder, or else its next folder, and then descends into
// that.
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

// folder returns the source of the current folder, nil when that is gone or not in the copied
// folder any more.
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

// leaveFolder leaves the current folder.
func (b *copyBatch) leaveFolder() {
	end := len(b.sources) - 1
	b.sources, b.next.Way = b.sources[:end], b.next.Way[:end]
}

// copyEntry decides about an entry of the folder n and copies it. It skips a name that the copy has
// already, of an entry that had the name before.
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

// record counts the entries of the piece, reserves quota for those that were not foreseen, and
// records the position.
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
