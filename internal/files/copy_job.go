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

// CopyJob is the type of the job that copies a large folder, or brings the content of a copy to its
// provider; RunCopy does it.
const CopyJob = "copy"

// bytesPerEntry is what an entry counts for, in bytes, where the progress of a copy is told.
const bytesPerEntry = 4 << 10

// copyPayload is the payload of a copy: what was asked for, and how far it is. Its Entry is the
// source; once the copy has its place, the copy.
type copyPayload struct {
	movePayload
	Copy      string       // the copied folder, below the staging root
	Entries   int64        // how many are to be made, as far as is known
	Made      int64        // how many are
	Elsewhere int64        // bytes to be brought to the target's provider afterwards
	Way       []copyCursor // down to where the copying is, from the source on
}

// copyCursor is a folder that is being copied.
type copyCursor struct {
	Source, Copy string
	Files        bool   // its files are done, its folders under way
	Fold, Name   string // of the last one that was copied
}

func (s *copyCursor) last() sortKey { return sortKey{s.Fold, s.Name} }

func (x copyPayload) encode() string {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // strings, numbers and a bool
	}
	return string(text)
}

// runJobs is what is left to do, in bytes.
func (x *copyPayload) bytesLeft() int64 { return max(x.Entries-x.Made, 0)*bytesPerEntry + x.Elsewhere }

// becomeMove turns the errand into the rest of a move: the copy lies in its place, and its content
// is still to follow.
func (x *copyPayload) becomeMove(copied, provider string) {
	x.Entry, x.Moved, x.Provider, x.Way = copied, true, provider, nil
}

// RunCopy makes the copy of a large folder below the staging root, a piece in each transaction, so
// that nothing of it is seen before it is complete. What is in a folder is copied as it is when its
// piece is read, by the rights that the actor has then; what comes, goes or changes before or
// behind that is no reason to fail. Then the copy is judged once more, gets its place and is
// charged, in one transaction. Last comes what a move does as well: content is brought to the
// target's provider. Each piece records where it ended, so after a crash at any line the job goes
// on there; when the job fails for good, DropCopy takes down what it has made.
//
// Faults are those of Copy, and Unverified as for RunMove, when the copy has its place already.
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
	return x.copyRemaining(ctx)
}

// DropCopy gives back what a copy that fails for good has reserved, and buries what it has made;
// nothing was charged for that. A copy that has its place stays.
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

// DropStaged buries an entry that lies below the staging root, and that no job goes on with.
func (t *Tree) DropStaged(tx *db.Tx, id string) error {
	if err := moveStagedToGraveyard(tx, id); err != nil {
		return fmt.Errorf("bury a copy: %w", err)
	}
	return nil
}

// copyingStore is one call of RunCopy.
type copier struct {
	transfer
	copyPayload copyPayload
}

// copyCursor copies what is in the source, piece by piece.
func (x *copier) copyToStaging(ctx context.Context) error {
	x.run.SetRemaining(x.copyPayload.bytesLeft())
	for len(x.copyPayload.Way) > 0 {
		before := x.copyPayload.Made
		if err := x.copyPiece(ctx); err != nil {
			return err
		}
		x.run.AddProgress((x.copyPayload.Made - before) * bytesPerEntry)
		crash.Point("copy.staged")
	}
	return nil
}

// copyPiece copies the next entries, in one transaction.
func (x *copier) copyPiece(ctx context.Context) error {
	actor, version, err := x.actor(ctx)
	if err != nil {
		return err
	}
	var next copyPayload
	err = x.writeLocked(ctx, false, func(tx *db.Tx) error {
		next = x.copyPayload
		next.Way = slices.Clone(x.copyPayload.Way)
		b := copyBatch{copier: x, tx: tx, actor: actor, version: version, next: &next, increments: refIncrements{},
			copies: map[string]string{}}
		if err := b.fill(); err != nil {
			if b.outdated {
				return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
					actor, version, err = x.actor(ctx)
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
	x.copyPayload = next
	return nil
}

// becomeMove judges the copy by what holds now, gives it its place, and charges it.
func (x *copier) publish(ctx context.Context) error {
	target, err := vpath.Parse(x.copyPayload.Target)
	if err != nil {
		return err
	}
	height, err := heightOf(x.DB.Read(ctx), x.copyPayload.Copy) // of what nobody changes any more
	if err != nil {
		return err
	}
	actor, version, err := x.actor(ctx)
	if err != nil {
		return err
	}
	var measured *extent
	done := x.copyPayload
	err = x.writeLocked(ctx, x.payload.Over, func(tx *db.Tx) error {
		c := copyOperation{moveOperation: moveOperation{Tree: x.Tree, tx: tx, actor: actor, replace: x.payload.Over}}
		if err := c.find(x.copyPayload.Entry, target, x.copyPayload.Name); err != nil {
			return err
		}
		if c.rules.version != version {
			return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
				actor, version, err = x.actor(ctx)
				return err
			}}
		}
		if err := c.judge(target); err != nil {
			return err
		}
		if measured == nil {
			return c.measureOutside(&measured)
		}
		e := *measured
		e.height = height
		if err := c.judgeContents(e); err != nil {
			return err
		}
		if c.dest.id != x.copyPayload.Folder {
			return fault.New(fault.Conflict, "The target folder has been moved or replaced meanwhile.")
		}
		done = x.copyPayload
		done.becomeMove(x.copyPayload.Copy, c.dest.mount.ProviderID)
		return x.commitCopy(&c, done)
	})
	if err != nil {
		return translateNameTaken(err)
	}
	x.copyPayload, x.payload = done, done.movePayload
	crash.Point("copy.published")
	return nil
}

// commitCopy gives the copy its place, turns its reservation into a charge, and records that.
func (x *copier) commitCopy(c *copyOperation, done copyPayload) error {
	s, found, err := endStaged(c.tx, x.run.ID)
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
	if err := x.relocate(c.tx, &at, c.dest.id, c.name, x.nowMs()); err != nil {
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
	if err := quota.ChargeFolders(c.tx, s.user, s.madeFolders(x.copyPayload.Made)); err != nil {
		return err
	}
	return x.run.SavePayload(c.tx, done.encode())
}

// madeFolders is how many folders a copy has of which so many entries have been made beside
// the copied folder itself.
func (s stagedCopy) madeFolders(entries int64) int64 { return 1 + entries - s.madeFiles }

func noStaged() error {
	return fault.New(fault.NotFound, "What was copied so far has been removed.")
}

// copyBatch is one piece of a copy.
type copyBatch struct {
	*copier
	tx       *db.Tx
	actor    access.Actor
	version  int64        // of the actor's rights
	outdated bool         // they are of another config version than what was read
	next     *copyPayload // goes forward
	rowsRead int
	rules    *ruleset
	sources  []*node // the sources of errand.Way, nil where they were not looked up yet

	bytes, files int64
	increments   refIncrements
	copies       map[string]string // by their originals
}

// replaceContent copies entries until the piece is full, or nothing is left. Where much has to be
// looked up for few entries, it ends early.
func (b *copyBatch) fill() error {
	b.sources = make([]*node, len(b.next.Way))
	for b.rowsRead < b.copyBatchSize && len(b.next.Way) > 0 {
		if err := b.step(); err != nil {
			return err
		}
	}
	return nil
}

// step copies the next files of the folder that the way ends in, or else its next folder, which the
// way then goes down to.
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
	found, err := childrenAfter(b.tx, here.Source, kind, here.last(), limit)
	if err != nil {
		return err
	}
	b.rowsRead += 1 + len(found)
	facts := n.facts(b.actor)
	for i := range found {
		if err := b.copyEntry(n, facts, &found[i]); err != nil {
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

// createFolder returns the source that the way ends in, nil when it is gone or does not lie in what
// is copied any more.
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
		return nil, fmt.Errorf("the rights of who copies are of version %d, the tree of %d", b.version, v.version)
	case !n.within(b.next.Entry):
		return nil, nil
	}
	b.rules, b.sources[end] = v, &n
	return &n, nil
}

// leaveFolder ends the folder that the way ends in.
func (b *copyBatch) leaveFolder() {
	end := len(b.sources) - 1
	b.sources, b.next.Way = b.sources[:end], b.next.Way[:end]
}

// moveTo judges an entry in the folder n and copies it. A name that the copy has already, of what
// lay there before under this name, is passed over.
func (b *copyBatch) copyEntry(n *node, facts access.Target, r *row) error {
	here := &b.next.Way[len(b.next.Way)-1]
	here.Fold, here.Name = vpath.Fold(r.name), r.name
	if r.password != "" {
		return forbidden()
	}
	target := childTarget(facts, b.actor, r)
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
	if len(b.sources) > vpath.MaxDepth { // only when it is moved about meanwhile
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would lie deeper.")
	}
	down := *n
	down.row, down.path = *r, n.path.Child(vpath.Name(r.name))
	down.trail = append(slices.Clip(n.trail), trailEntry{id: r.id, owner: r.owner})
	b.sources = append(b.sources, &down)
	b.next.Way = append(b.next.Way, copyCursor{Source: r.id, Copy: made.id})
	return nil
}

// record counts what the piece has made, reserves what was not foreseen, and notes where it ended.
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
