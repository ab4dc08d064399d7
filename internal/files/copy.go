package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// Copy copies an entry into the folder target, under newName unless that is nil. The copy belongs
// to the actor and is charged in full. Its files share the objects of their originals in whichever
// provider those are. A file and a folder of few entries are copied when Copy returns, and the job
// is completed from the start, unless content has to be copied to the target's provider. Otherwise
// the job is pending, and RunCopy does it: the quota is reserved at once, and RunCopy decides about
// permissions again. The actor needs permission to read and to download the source, for a folder
// everything in it, and to write at the new path. A folder is copied as a whole or not at all: an
// entry below it with a password of its own refuses the copy. The copy gets the source's own
// password; it does not get its links.
//
// Faults: Unauthorized, NotFound (no such entry, no such folder, a file as target), Forbidden,
// PasswordRequired, Invalid (a reserved path, too deep or too long, no name for a copy of the root
// of the tree), Conflict (the name is taken, the target is in the source, a mount is below the
// folder, too many jobs are open), QuotaExceeded.
func (t *Tree) Copy(ctx context.Context, a access.Actor, id string, target vpath.Path,
	newName *vpath.Name) (job.Job, error) {
	return t.copy(ctx, a, id, target, newName, CopyMoveOptions{})
}

// CopyMoveOptions are the options of CopyWithOptions and MoveWithOptions.
type CopyMoveOptions struct {
	Replace      bool // replaces the entry that has the name; see replace.go
	Shallow      bool // copies a folder without its content; a move ignores it
	Precondition Precondition
}

// Precondition checks, in the transaction that changes an entry, whether the entry is still the one
// that was meant, by its current path and ETag ("" for a folder). Its error ends the change. Nil
// checks nothing.
type Precondition func(at vpath.Path, etag string) error

// InFolder is the precondition that an entry is in a folder, under any name. Fault: Conflict.
func InFolder(folder vpath.Path) Precondition {
	return func(at vpath.Path, _ string) error {
		if at.Parent() != folder {
			return fault.New(fault.Conflict, "The entry is in another folder now.")
		}
		return nil
	}
}

// check calls the precondition with the current path and ETag of n; nil checks nothing.
func (p Precondition) check(n *node) error {
	if p == nil {
		return nil
	}
	return p(n.path, etag(n.content))
}

// CopyWithOptions copies an entry into the folder target under newName, as Copy does, with the
// options of WebDAV: to replace an existing entry, to copy a folder without its content, and with a
// precondition. Faults: those of Copy and of the precondition, Locked.
func (t *Tree) CopyWithOptions(ctx context.Context, a access.Actor, id string, target vpath.Path, newName vpath.Name,
	how CopyMoveOptions) (job.Job, error) {
	return t.copy(ctx, a, id, target, &newName, how)
}

// copy is Copy and CopyWithOptions; newName is nil to keep the name. It copies at once up to
// copyBatchSize entries, in one transaction. It measures a larger folder outside of the
// transaction, and the transaction that runs then reserves the quota and queues a job.
func (t *Tree) copy(ctx context.Context, a access.Actor, id string, target vpath.Path, newName *vpath.Name,
	how CopyMoveOptions) (job.Job, error) {
	if a.UserID == "" {
		return job.Job{}, fault.New(fault.Unauthorized, "Sign in to do this.")
	}
	var made job.Job
	var measured *extent
	err := t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		if err := t.checkActive(tx, a); err != nil {
			return err
		}
		c := copyOperation{moveOperation: moveOperation{Tree: t, tx: tx, lock: lock, actor: a, replace: how.Replace},
			shallow: how.Shallow}
		if err := c.find(id, target, newName); err != nil {
			return err
		}
		if err := c.authorize(target); err != nil {
			return err
		}
		if err := how.Precondition.check(&c.source); err != nil {
			return err
		}
		if measured != nil {
			return c.queueCopy(measured, target, newName, &made)
		}
		found, err := c.sourceEntries(t.copyBatchSize + 1)
		if err != nil {
			return err
		}
		if len(found) > t.copyBatchSize {
			if err := c.checkBeforeMeasuring(); err != nil {
				return err
			}
			return c.measureOutside(&measured)
		}
		if err := c.authorizeContents(c.sumExtent(found)); err != nil {
			return err
		}
		made, err = c.copyNow(found, target)
		return err
	})
	if err == nil && made.Status == job.Completed {
		crash.Point("copy.committed")
	}
	return made, err
}

// copyOperation is one call of Copy, or the last decision of the job of a large copy. It embeds
// moveOperation, which has the source, the target folder (dest) and the new name.
type copyOperation struct {
	moveOperation
	path    vpath.Path // of the copy
	ownOnly bool       // the actor may have only their own entries in the folder
	shallow bool       // without the content of the folder
	copied  string     // id of the copy, once it is made
}

// extent is the size of a source, the source itself included.
type extent struct {
	folders, files, bytes int64
	foreignBytes          int64 // bytes in providers other than the target's, as far as known
	height                int   // levels below it
	otherOwners           bool  // some entry below it has another owner than the actor
	protected             bool  // some entry below it has a password
}

// entries is the number of entries of the source, and so of the rows of its copy.
func (e *extent) entries() int64 { return e.folders + e.files }

// find looks up the source by id and the target folder by path, and sets the new name. Without
// newName the copy keeps the source's name; the root of a mount is named by the last segment of the
// mount's path. Fault: NotFound without a source.
func (c *copyOperation) find(id string, target vpath.Path, newName *vpath.Name) error {
	if err := c.moveOperation.find(id, target, newName); err != nil {
		return err
	}
	if newName == nil && c.source.id == c.source.mount.RootID {
		c.name = c.source.path.Base()
	}
	return nil
}

// authorize decides about permissions as far as that does not depend on the content of the source:
// read and download for the source, write for the new path. It sets path and ownOnly. Faults:
// Forbidden, PasswordRequired, NotFound (no mount), Invalid (the path, no name).
func (c *copyOperation) authorize(target vpath.Path) (err error) {
	v, a := c.rules, c.actor
	from := c.source.existingTarget(a)
	for _, p := range []access.Permission{access.Read, access.Download} {
		if err := v.allow(a, from, p); err != nil {
			return err
		}
	}
	if c.name == "" {
		return fault.New(fault.Invalid, "The root of a mount has no name. Give the copy a name.")
	}
	if c.path, err = target.Append(c.name); err != nil {
		return err
	}
	if err := checkNotReserved(c.path); err != nil {
		return err
	}
	if !c.dest.mounted() {
		return noMount()
	}
	to := c.dest.newTarget(a, c.path)
	if err := v.allow(a, to, access.Write); err != nil {
		return err
	}
	if !c.source.folder || c.shallow {
		return nil
	}
	reach := min(v.policy.DecideTree(a, from, access.Read), v.policy.DecideTree(a, from, access.Download))
	if reach == access.TreeDenied || v.policy.DecideTree(a, to, access.Write) == access.TreeDenied {
		return forbidden()
	}
	c.ownOnly = reach == access.TreeOwnOnly
	return nil
}

// authorizeContents decides about the content of the source, by its extent e, and after that about
// the target, so that an actor who may not copy the source learns nothing of the target. Faults:
// Forbidden, PasswordRequired, NotFound, Conflict, Invalid (too deep), Locked.
func (c *copyOperation) authorizeContents(e extent) error {
	if e.protected || c.ownOnly && e.otherOwners {
		return forbidden()
	}
	v := c.rules
	switch {
	case !c.dest.isFolder():
		return fault.New(fault.NotFound, "The target folder does not exist.")
	case c.source.folder && !c.shallow && len(v.mounts.Below(c.source.path)) > 0:
		return fault.New(fault.Conflict, "A folder that contains a mount cannot be copied as a whole.")
	case c.dest.within(c.source.id):
		return fault.New(fault.Conflict, "A folder cannot be copied into itself.")
	case v.occupied(&c.dest, c.path):
		return fault.New(fault.Conflict, "A mount already exists at the target path or below it.")
	case c.path.Depth()+e.height > vpath.MaxDepth:
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would be deeper.")
	}
	if err := c.authorizeReplacement(); err != nil {
		return err
	}
	return c.checkUnlockedTarget()
}

// checkBeforeMeasuring refuses a copy whose refusal does not depend on the content of a large
// source, before that is measured. Where the actor may copy only their own entries, it does not
// report what exists at the target before that is decided.
func (c *copyOperation) checkBeforeMeasuring() error {
	if err := c.mayQueue(); err != nil || c.ownOnly {
		return err
	}
	if err := c.authorizeContents(extent{}); err != nil {
		return err
	}
	return c.checkNameFree()
}

// checkNameFree refuses a name that another entry in the target folder has, unless the copy
// replaces that entry. Fault: Conflict.
func (c *copyOperation) checkNameFree() error {
	if c.replace {
		return nil
	}
	there, err := childNamed(c.tx, c.dest.id, c.name)
	if err == nil && there.id != "" {
		err = targetExists()
	}
	return err
}

// measureOutside returns the error that ends this transaction, measures the source outside of it,
// where a large folder blocks no other transaction, stores the extent in *measured, and runs the
// transaction again.
func (c *copyOperation) measureOutside(measured **extent) error {
	source, user, provider := c.source.row, c.actor.UserID, c.dest.mount.ProviderID
	apart := c.source.mount.ProviderID != provider
	return &db.RetryError{Prepare: func(ctx context.Context) error {
		e, err := extentOf(c.DB.Read(ctx), source.id, user)
		if err == nil && apart { // within one provider little content is elsewhere; the job finds it when it gets there
			e.foreignBytes, err = foreignBytesBelow(c.DB.Read(ctx), source.id, provider)
		}
		*measured = &e
		return err
	}}
}

// sourceEntries lists the source and everything in it, the source first, and at most limit entries.
// The caller asks for one more than it can copy at once. A shallow copy has the source alone.
func (c *copyOperation) sourceEntries(limit int) ([]sourceEntry, error) {
	if !c.source.folder || c.shallow {
		return []sourceEntry{{row: c.source.row}}, nil
	}
	return entriesBelow(c.tx, c.source.id, limit)
}

// sumExtent adds up the extent of the listed entries. The source's own owner and password do not
// count: the caller decides about them.
func (c *copyOperation) sumExtent(found []sourceEntry) (e extent) {
	for i := range found {
		l := &found[i]
		e.height = max(e.height, l.depth)
		if l.depth > 0 {
			e.otherOwners = e.otherOwners || l.owner != c.actor.UserID
			e.protected = e.protected || l.password != ""
		}
		if l.folder {
			e.folders++
			continue
		}
		e.files++
		e.bytes += l.size
		if l.provider != c.dest.mount.ProviderID {
			e.foreignBytes += max(l.size, 1) // an empty file has an object to copy, too
		}
	}
	return e
}

// copyNow makes the copies of the entries found in this transaction, charges the actor, and returns
// the job: completed, or pending where content in other providers has to be copied to the target's.
// found begins with the source. Faults: QuotaExceeded, Conflict for a name that is taken.
func (c *copyOperation) copyNow(found []sourceEntry, target vpath.Path) (job.Job, error) {
	e := c.sumExtent(found)
	if c.replacesContent() {
		return c.replaceContentByCopy(e, target)
	}
	if err := c.deleteExisting(); err != nil {
		return job.Job{}, err
	}
	if e.folders > 0 {
		if err := quota.ChargeFolders(c.tx, c.actor.UserID, e.folders); err != nil {
			return job.Job{}, err
		}
	}
	ids := make(map[string]string, len(found))
	for i := range found {
		ids[found[i].id] = c.IDs.UUID()
	}
	shared := refIncrements{}
	for i := range found { // the source comes first
		l := &found[i]
		r := c.copyRow(&l.row, ids[l.parent], ids[l.id])
		if l.id == c.source.id {
			r.parent, r.name = c.dest.id, string(c.name)
		}
		done, err := insertCopy(c.tx, &r)
		if err != nil {
			return job.Job{}, err
		}
		if !done {
			return job.Job{}, c.takenMeanwhile()
		}
		shared.add(&r)
	}
	if err := copyProperties(c.tx, ids); err != nil {
		return job.Job{}, err
	}
	c.copied = ids[c.source.id]
	if err := c.copySourcePassword(c.copied); err != nil {
		return job.Job{}, err
	}
	if err := shared.apply(c.tx); err != nil {
		return job.Job{}, err
	}
	if err := quota.Charge(c.tx, c.actor.UserID, e.bytes, e.files); err != nil {
		return job.Job{}, err
	}
	return c.finish(e, c.copied, target)
}

// replaceContentByCopy gives the existing file at the target the content of the source file, with
// its properties and its password. The existing file keeps its id and its owner, who is charged the
// difference. e is the extent of the source.
func (c *copyOperation) replaceContentByCopy(e extent, target vpath.Path) (job.Job, error) {
	if err := quota.Lock(c.tx, c.existing.owner); err != nil {
		return job.Job{}, err
	}
	shared := refIncrements{}
	shared.add(&c.source.row)
	if err := shared.apply(c.tx); err != nil {
		return job.Job{}, err
	}
	if err := c.copySourcePassword(c.existing.id); err != nil {
		return job.Job{}, err
	}
	if err := deleteProperties(c.tx, []string{c.existing.id}); err != nil {
		return job.Job{}, err
	}
	if err := copyProperties(c.tx, map[string]string{c.source.id: c.existing.id}); err != nil {
		return job.Job{}, err
	}
	if err := c.replaceContent(); err != nil {
		return job.Job{}, err
	}
	return c.finish(e, c.existing.id, target)
}

// finish returns the job of a copy whose entries are made; copied is the id of the copy. The job is
// completed, or pending where content of the copy (e.foreignBytes) is still in another provider.
func (c *copyOperation) finish(e extent, copied string, target vpath.Path) (job.Job, error) {
	if e.foreignBytes > 0 {
		return c.queueContentCopy(copied, target)
	}
	now := c.nowMs()
	made := job.Job{ID: c.IDs.UUID(), Type: CopyJob, OwnerID: c.actor.UserID, Status: job.Completed, Progress: 100,
		CreatedAt: now, CompletedAt: &now}
	return made, job.InsertCompleted(c.tx, made)
}

// copyRow returns the row of a copy of r with the given parent and id: it belongs to the actor, has
// the present time as both times, no password, and shares the object of r.
func (c *copyOperation) copyRow(r *row, parent, id string) row {
	return newCopyRow(r, parent, id, c.actor.UserID, c.nowMs())
}

// newCopyRow returns the row of a copy of r with the given parent, id and owner, with the time now
// (ms) as both times, and without a password.
func newCopyRow(r *row, parent, id, owner string, now int64) row {
	n := *r
	n.id, n.parent, n.owner, n.password, n.created, n.updated = id, parent, owner, "", now, now
	return n
}

// queueContentCopy queues the job for a copy whose entries are in their place, and whose content is
// still to be copied to the target's provider. copied is the id of the copy. Fault: Conflict for
// too many open jobs.
func (c *copyOperation) queueContentCopy(copied string, target vpath.Path) (job.Job, error) {
	if err := c.mayQueue(); err != nil {
		return job.Job{}, err
	}
	x := copyPayload{movePayload: c.newPayload(target, &c.name)}
	x.becomeMove(copied, c.dest.mount.ProviderID)
	return c.queue(job.Spec{ID: c.IDs.UUID(), Type: CopyJob, Payload: x.encode()})
}

// queueCopy reserves the quota for a large copy of the extent e, and queues its job, which it
// returns in *made. It makes the copied folder itself below the staging root, a hidden folder,
// where the job fills it. Faults: those of authorizeContents; QuotaExceeded; Conflict for a taken
// name or too many jobs.
func (c *copyOperation) queueCopy(e *extent, target vpath.Path, newName *vpath.Name, made *job.Job) error {
	if err := c.authorizeContents(*e); err != nil {
		return err
	}
	if err := c.checkNameFree(); err != nil {
		return err
	}
	if err := c.mayQueue(); err != nil {
		return err
	}
	id, jobID := c.IDs.UUID(), c.IDs.UUID()
	r := c.copyRow(&c.source.row, staging, id)
	r.name = string(hiddenName(id))
	if _, err := insertCopy(c.tx, &r); err != nil {
		return err
	}
	if err := c.copySourcePassword(id); err != nil {
		return err
	}
	if err := copyProperties(c.tx, map[string]string{c.source.id: id}); err != nil {
		return err
	}
	if err := quota.Reserve(c.tx, c.actor.UserID, e.bytes, e.files); err != nil {
		return err
	}
	if err := quota.ReserveFolders(c.tx, c.actor.UserID, e.folders); err != nil {
		return err
	}
	s := stagedCopy{job: jobID, entry: id, user: c.actor.UserID, bytes: e.bytes, files: e.files, folders: e.folders}
	if err := insertStaged(c.tx, s); err != nil {
		return err
	}
	x := copyPayload{movePayload: c.newPayload(target, newName), Copy: id, Entries: e.entries() - 1,
		Elsewhere: e.foreignBytes, Way: []copyCursor{{Source: c.source.id, Copy: id}}}
	x.Unlocked = c.actor.Unlocked
	queued, err := c.queue(job.Spec{ID: jobID, Type: CopyJob, Payload: x.encode(), TotalBytes: x.bytesLeft()})
	*made = queued
	return err
}
