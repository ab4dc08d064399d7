package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/vpath"
)

// Move puts an entry into the folder target, under newName unless that is nil. Where no byte has to
// be copied, as inside one provider, the move is done when Move returns, and the job is completed
// from the start. Otherwise the job is pending, and RunMove does it and decides about permissions
// again. The actor needs permission to delete at the old path, for a folder everything in it, and
// to write at the new one. The actor must be able to see everything in a folder, and no rule may
// lose its effect by the move. Ids, owners, passwords and links stay with the entries.
//
// Faults: NotFound (no such entry, no such folder, a file as target), Forbidden, PasswordRequired,
// Invalid (a reserved path, too deep or too long), Conflict (the name is taken, the target is in
// the source, the root of a mount or a folder above one, too many jobs are open).
func (t *Tree) Move(ctx context.Context, a access.Actor, id string, target vpath.Path,
	newName *vpath.Name) (job.Job, error) {
	return t.move(ctx, a, id, target, newName, CopyMoveOptions{})
}

// MoveWithOptions moves an entry into the folder target under newName, as Move does, with the
// options of WebDAV: to replace an existing entry, and with a precondition. Faults: those of Move
// and of the precondition, Locked.
func (t *Tree) MoveWithOptions(ctx context.Context, a access.Actor, id string, target vpath.Path, newName vpath.Name,
	how CopyMoveOptions) (job.Job, error) {
	return t.move(ctx, a, id, target, &newName, how)
}

// move is Move and MoveWithOptions; newName is nil to keep the name.
func (t *Tree) move(ctx context.Context, a access.Actor, id string, target vpath.Path, newName *vpath.Name,
	how CopyMoveOptions) (job.Job, error) {
	var made job.Job
	var looked contentSearch
	err := t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		m := moveOperation{Tree: t, tx: tx, lock: lock, actor: a, replace: how.Replace}
		if err := m.findToMove(id, target, newName); err != nil {
			return err
		}
		if err := m.authorize(target); err != nil {
			return err
		}
		if err := how.Precondition.check(&m.source); err != nil {
			return err
		}
		copies, err := m.needsContentCopy(&looked)
		if err != nil {
			return err
		}
		if copies {
			made, err = m.enqueue(target, newName)
			return err
		}
		if err := m.apply(); err != nil {
			return m.translateTaken(err)
		}
		now := t.nowMs()
		made = job.Job{ID: t.IDs.UUID(), Type: MoveJob, OwnerID: a.UserID, Status: job.Completed, Progress: 100,
			CreatedAt: now, CompletedAt: &now}
		return job.InsertCompleted(tx, made)
	})
	if err == nil {
		crash.Point("move.committed")
	}
	return made, err
}

// targetExists is the fault Conflict for a move or copy to a name that another entry has.
func targetExists() error {
	return fault.New(fault.Conflict, "A file or folder with this name already exists in the target folder.")
}

// moveOperation is one call of Move, or one decision of its job.
type moveOperation struct {
	*Tree
	tx       *db.Tx
	lock     *treeLock
	rules    *ruleset
	actor    access.Actor
	source   node
	dest     node
	name     vpath.Name
	replace  bool // replaces the entry that has the name
	number   bool // gives the entry a number when its name is taken
	existing row  // the entry that has the name; without id for none, or without replace
}

// find looks up the source by id and the target folder by path, with the rules that decide about
// them, and sets the new name: newName, or the source's name for nil. Fault: NotFound without a
// source.
func (m *moveOperation) find(id string, target vpath.Path, newName *vpath.Name) (err error) {
	m.rules, err = m.readConsistentTx(func(v *ruleset) (version int64, err error) {
		m.source, version, err = v.findID(m.tx, id)
		if err != nil || version != v.version {
			return version, err
		}
		m.dest, version, err = v.find(m.tx, target)
		return version, err
	})
	if err == nil && !m.source.exists() {
		return noEntry()
	}
	m.name = vpath.Name(m.source.name)
	if newName != nil {
		m.name = *newName
	}
	return err
}

// findToMove looks up source and target of a move. A folder that changes its place needs the
// exclusive lock of the tree: unless it is held, findToMove returns the error that runs the
// transaction again with that lock. Fault: NotFound.
func (m *moveOperation) findToMove(id string, target vpath.Path, newName *vpath.Name) error {
	if err := m.find(id, target, newName); err != nil || !m.source.folder {
		return err
	}
	return m.lock.requireExclusive()
}

// authorize decides whether the actor may move the source to the target folder's path target. It
// decides about permissions before it reports what exists. Faults: those of Move, and Locked.
func (m *moveOperation) authorize(target vpath.Path) error {
	v, a := m.rules, m.actor
	from := m.source.existingTarget(a)
	if err := v.allow(a, from, access.Delete); err != nil {
		return err
	}
	path, err := target.Append(m.name)
	if err != nil {
		return err
	}
	if err := checkNotReserved(path); err != nil {
		return err
	}
	if !m.dest.mounted() {
		return noMount()
	}
	to := m.dest.newTarget(a, path)
	if err := v.allow(a, to, access.Write); err != nil {
		return err
	}
	if err := v.allowTree(m.tx, a, &m.source, from, access.Delete); err != nil {
		return err
	}
	// The content of the folder is new below the new path: it is in the actor's own folder there,
	// or a rule lets them write.
	if m.source.folder && v.policy.DecideTree(a, to, access.Write) == access.TreeDenied {
		return forbidden()
	}
	if err := v.checkRulesStillApply(m.tx, a, &m.source, from, to); err != nil {
		return err
	}
	// The entry's own password moves along, that of a folder above it does not.
	if !samePassword(from.PasswordAbove, to.PasswordAbove) {
		if err := v.mayUncover(m.tx, a, m.source.trail[:len(m.source.trail)-1]); err != nil {
			return err
		}
	}
	switch {
	case v.immovable(&m.source):
		return immovableFault()
	case !m.dest.isFolder():
		return fault.New(fault.NotFound, "The target folder does not exist.")
	case m.dest.within(m.source.id):
		return fault.New(fault.Conflict, "A folder cannot be moved into itself.")
	case v.occupied(&m.dest, path):
		return fault.New(fault.Conflict, "A mount already exists at the target path or below it.")
	case m.source.parent == m.dest.id && m.source.name == string(m.name):
		return fault.New(fault.Conflict, "The file or folder is already at this path.")
	}
	if err := m.authorizeReplacement(); err != nil {
		return err
	}
	if err := m.checkRemovable(m.tx, a, &m.source); err != nil {
		return err
	}
	if err := m.checkUnlockedTarget(); err != nil {
		return err
	}
	return m.checkDepth(path)
}

// samePassword reports whether a move or restore keeps protection: the entry had no password
// (before is nil), or has the same one afterwards.
func samePassword(before, after *access.EntryPassword) bool {
	return before == nil || after != nil && after.ID == before.ID
}

// checkDepth checks that the deepest entry in the source stays within the maximal depth when the
// source moves to path. It does not check the bytes of the longest path below: such an entry can
// still be found by its id, and renamed or moved. Fault: Invalid.
func (m *moveOperation) checkDepth(path vpath.Path) error {
	if !m.source.folder || path.Depth() <= m.source.path.Depth() {
		return nil
	}
	height, err := heightOf(m.tx, m.source.id)
	if err != nil {
		return err
	}
	if path.Depth()+height > vpath.MaxDepth {
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would be deeper.")
	}
	return nil
}

// contentSearch is the outcome of the search for content outside of the transaction, where a large
// folder blocks no other.
type contentSearch struct {
	provider string // of the target; "" before the search
	found    bool   // an entry at or below the source has content in another provider
}

// needsContentCopy reports whether the move has to copy content to another provider, so that a job
// has to do it. The search stops at the first file, but is slow in a large folder whose content is
// all in the target's provider. So it runs outside of the transaction first (db.RetryError) and
// keeps its outcome in looked. It runs again inside only when it found nothing.
func (m *moveOperation) needsContentCopy(looked *contentSearch) (bool, error) {
	id, provider := m.source.id, m.dest.mount.ProviderID
	switch {
	case m.source.mount.ProviderID == provider:
		return false, nil
	case !m.source.folder:
		return m.source.provider != provider, nil
	case looked.provider != provider:
		return false, &db.RetryError{Prepare: func(ctx context.Context) (err error) {
			looked.provider = provider
			looked.found, err = anyForeignContent(m.DB.Read(ctx), id, provider)
			return err
		}}
	case looked.found:
		return true, nil
	}
	return anyForeignContent(m.tx, id, provider)
}
