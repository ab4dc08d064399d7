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

// Copy puts a copy of an entry into the folder target, under newName unless that is nil. The copy is the actor's, all of it, and charged in full;
// its files share the objects of their originals, wherever those lie. A file and a folder of few entries are copied when Copy returns, and the
// job was completed from the start, unless their content is still to be brought to the target's provider. Else the job is pending, and RunCopy does
// it; the quota is reserved at once, and what is told now is judged again then. It takes the permission to read and to download, for a folder all
// through it, and to write at the new place. A folder is copied as a whole or not at all: something below with a password of its own refuses it.
// An entry's own password goes along with the copy; links don't.
//
// Faults: Unauthorized, NotFound (no such entry, no such folder, a file as target), Forbidden, PasswordRequired, Invalid (a path that is reserved,
// too deep or too long, no name for the copy of all there is), Conflict (the name is taken there, into itself, a folder that a mount lies
// below, too many jobs under way), QuotaExceeded.
func (t *Tree) Copy(ctx context.Context, a access.Actor, id string, target vpath.Path, newName *vpath.Name) (job.Job, error) {
	return t.copy(ctx, a, id, target, newName, Manner{})
}

// Manner is how CopyOver copies and MoveOver moves.
type Manner struct {
	Over    bool // what has the name there is replaced; see replace.go
	Shallow bool // of a folder, nothing that is in it; a folder is not moved so
	Still   Still
}

// Still judges, inside the transaction that changes an entry, whether that is still what was meant, by the path and the ETag ("" for a folder) that it has by
// then. Its error ends the change. Nil judges nothing.
type Still func(at vpath.Path, etag string) error

func (s Still) holds(n *node) error {
	if s == nil {
		return nil
	}
	return s(n.path, etag(n.content))
}

// CopyOver is Copy in a manner.
func (t *Tree) CopyOver(ctx context.Context, a access.Actor, id string, target vpath.Path, newName vpath.Name, how Manner) (job.Job, error) {
	return t.copy(ctx, a, id, target, &newName, how)
}

func (t *Tree) copy(ctx context.Context, a access.Actor, id string, target vpath.Path, newName *vpath.Name, how Manner) (job.Job, error) {
	if a.UserID == "" {
		return job.Job{}, fault.New(fault.Unauthorized, "Sign in to do this.")
	}
	var made job.Job
	var looked *extent
	err := t.write(ctx, how.Over, func(tx *db.Tx) error {
		if err := t.alive(tx, a); err != nil {
			return err
		}
		c := copying{move: move{Tree: t, tx: tx, actor: a, over: how.Over}, shallow: how.Shallow}
		if err := c.find(id, target, newName); err != nil {
			return err
		}
		if err := c.judge(target); err != nil {
			return err
		}
		if err := how.Still.holds(&c.source); err != nil {
			return err
		}
		if looked != nil {
			return c.later(looked, target, newName, &made)
		}
		found, err := c.entries(t.batch + 1)
		if err != nil {
			return err
		}
		if len(found) > t.batch {
			if err := c.hopeless(); err != nil {
				return err
			}
			return c.survey(&looked)
		}
		if err := c.allowed(c.tally(found)); err != nil {
			return err
		}
		made, err = c.atOnce(found, target)
		return err
	})
	if err == nil && made.Status == job.Completed {
		crash.Point("copy.committed")
	}
	return made, moved(err)
}

// copying is one call of Copy, or the last decision of its job.
type copying struct {
	move
	path    vpath.Path // of the copy
	ownOnly bool       // the actor may have what is in the folder only where it is theirs
	shallow bool       // nothing of what is in the folder
}

// extent is what a source holds, itself included.
type extent struct {
	folders, files, bytes int64
	elsewhere             int64 // bytes that lie with another provider than the target's, as far as is known
	height                int   // levels below it
	foreign               bool  // something below is not the actor's
	guarded               bool  // something below has a password
}

// entries is how many rows the copy has.
func (e *extent) entries() int64 { return e.folders + e.files }

// find looks both ends up. The root of a mount is called by the end of its path.
func (c *copying) find(id string, target vpath.Path, newName *vpath.Name) error {
	if err := c.move.find(id, target, newName); err != nil {
		return err
	}
	if newName == nil && c.source.id == c.source.mount.RootID {
		c.name = c.source.path.Base()
	}
	return nil
}

// judge decides about permissions, as far as that needs no look at what is in the source.
func (c *copying) judge(target vpath.Path) (err error) {
	v, a := c.view, c.actor
	from := c.source.facts(a)
	for _, p := range []access.Permission{access.Read, access.Download} {
		if err := v.allow(a, from, p); err != nil {
			return err
		}
	}
	if c.name == "" {
		return fault.New(fault.Invalid, "This has no name of its own: give the copy one.")
	}
	if c.path, err = target.Append(c.name); err != nil {
		return err
	}
	if err := notReserved(c.path); err != nil {
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
	reach := min(v.policy.Uniform(a, from, access.Read), v.policy.Uniform(a, from, access.Download))
	if reach == access.Refused || v.policy.Uniform(a, to, access.Write) == access.Refused {
		return forbidden()
	}
	c.ownOnly = reach == access.OwnOnly
	return nil
}

// allowed decides about what is in the source, and then tells what is there.
func (c *copying) allowed(e extent) error {
	if e.guarded || c.ownOnly && e.foreign {
		return forbidden()
	}
	v := c.view
	switch {
	case !c.dest.isFolder():
		return fault.New(fault.NotFound, "The target folder does not exist.")
	case c.source.folder && !c.shallow && len(v.mounts.Within(c.source.path)) > 0:
		return fault.New(fault.Conflict, "A folder that a mount lies below cannot be copied as a whole.")
	case c.dest.within(c.source.id):
		return fault.New(fault.Conflict, "A folder cannot be copied into itself.")
	case v.occupied(&c.dest, c.path):
		return fault.New(fault.Conflict, "A mount lies there already, or below.")
	case c.path.Depth()+e.height > vpath.MaxDepth:
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would lie deeper.")
	}
	if err := c.judgeThere(); err != nil {
		return err
	}
	return c.freeToCome()
}

// hopeless refuses what no look at a large source could change, before that costs anything; where only ownership allows the copy, it says nothing of
// what lies there before it is known whether it does.
func (c *copying) hopeless() error {
	if err := c.mayQueue(); err != nil || c.ownOnly {
		return err
	}
	if err := c.allowed(extent{}); err != nil {
		return err
	}
	return c.vacant()
}

// vacant refuses a name that is taken, unless what has it is replaced.
func (c *copying) vacant() error {
	if c.over {
		return nil
	}
	there, err := childNamed(c.tx, c.dest.id, c.name)
	if err == nil && there.id != "" {
		err = lies()
	}
	return err
}

// survey has a large source looked through outside of the transaction, where that holds nobody up.
func (c *copying) survey(looked **extent) error {
	source, user, provider := c.source.row, c.actor.UserID, c.dest.mount.ProviderID
	apart := c.source.mount.ProviderID != provider
	return &db.Again{Prepare: func(ctx context.Context) error {
		e, err := extentOf(c.DB.Read(ctx), source.id, user)
		if err == nil && apart { // in one provider little lies elsewhere, and what does is found when its turn comes
			e.elsewhere, err = bytesElsewhere(c.DB.Read(ctx), source.id, provider)
		}
		*looked = &e
		return err
	}}
}

// entries lists the source with what is in it, at most limit of them.
func (c *copying) entries(limit int) ([]lodger, error) {
	if !c.source.folder || c.shallow {
		return []lodger{{row: c.source.row}}, nil
	}
	return entriesBelow(c.tx, c.source.id, limit)
}

// tally is the extent of what was listed.
func (c *copying) tally(found []lodger) (e extent) {
	for i := range found {
		l := &found[i]
		e.height = max(e.height, l.depth)
		if l.depth > 0 {
			e.foreign = e.foreign || l.owner != c.actor.UserID
			e.guarded = e.guarded || l.password != ""
		}
		if l.folder {
			e.folders++
			continue
		}
		e.files++
		e.bytes += l.size
		if l.provider != c.dest.mount.ProviderID {
			e.elsewhere += max(l.size, 1) // an empty file is to be brought there, too
		}
	}
	return e
}

// atOnce makes the copy within the transaction. What lies elsewhere is brought to the target's provider by a job.
func (c *copying) atOnce(found []lodger, target vpath.Path) (job.Job, error) {
	e := c.tally(found)
	if c.fills() {
		return c.fillByCopy(e, target)
	}
	if err := c.clear(); err != nil {
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
	shared := shares{}
	for i := range found { // the source comes first
		l := &found[i]
		r := c.replica(&l.row, ids[l.parent], ids[l.id])
		if l.id == c.source.id {
			r.parent, r.name = c.dest.id, string(c.name)
		}
		done, err := insertReplica(c.tx, &r)
		if err != nil {
			return job.Job{}, err
		}
		if !done {
			return job.Job{}, lies()
		}
		shared.add(&r)
	}
	if err := copyProperties(c.tx, ids); err != nil {
		return job.Job{}, err
	}
	copied := ids[c.source.id]
	if err := c.keepPassword(copied); err != nil {
		return job.Job{}, err
	}
	if err := shared.write(c.tx); err != nil {
		return job.Job{}, err
	}
	if err := quota.Charge(c.tx, c.actor.UserID, e.bytes, e.files); err != nil {
		return job.Job{}, err
	}
	return c.made(e, copied, target)
}

// fillByCopy gives the file there the source's content.
func (c *copying) fillByCopy(e extent, target vpath.Path) (job.Job, error) {
	shared := shares{}
	shared.add(&c.source.row)
	if err := shared.write(c.tx); err != nil {
		return job.Job{}, err
	}
	if err := c.keepPassword(c.there.id); err != nil {
		return job.Job{}, err
	}
	if err := deleteProperties(c.tx, []string{c.there.id}); err != nil {
		return job.Job{}, err
	}
	if err := copyProperties(c.tx, map[string]string{c.source.id: c.there.id}); err != nil {
		return job.Job{}, err
	}
	if err := c.fill(); err != nil {
		return job.Job{}, err
	}
	return c.made(e, c.there.id, target)
}

// made ends what is done at once, or has a job do the rest.
func (c *copying) made(e extent, copied string, target vpath.Path) (job.Job, error) {
	if e.elsewhere > 0 {
		return c.bring(copied, target)
	}
	now := c.now()
	made := job.Job{ID: c.IDs.UUID(), Type: CopyJob, OwnerID: c.actor.UserID, Status: job.Completed, Progress: 100, CreatedAt: now, CompletedAt: &now}
	return made, job.InsertCompleted(c.tx, made)
}

// replica is the copy of a row: another entry, the actor's, new.
func (c *copying) replica(r *row, parent, id string) row {
	return replica(r, parent, id, c.actor.UserID, c.now())
}

func replica(r *row, parent, id, owner string, now int64) row {
	n := *r
	n.id, n.parent, n.owner, n.password, n.created, n.updated = id, parent, owner, "", now, now
	return n
}

// bring makes the job of a copy that lies in its place and whose content is still to be brought to its provider.
func (c *copying) bring(copied string, target vpath.Path) (job.Job, error) {
	if err := c.mayQueue(); err != nil {
		return job.Job{}, err
	}
	x := errand{order: c.order(target, &c.name)}
	x.publish(copied, c.dest.mount.ProviderID)
	return c.queue(job.New{ID: c.IDs.UUID(), Type: CopyJob, Payload: x.text()})
}

// later reserves the quota of a large copy and leaves the rest to a job. The copied folder itself is made here, where nobody sees it yet.
func (c *copying) later(e *extent, target vpath.Path, newName *vpath.Name, made *job.Job) error {
	if err := c.allowed(*e); err != nil {
		return err
	}
	if err := c.vacant(); err != nil {
		return err
	}
	if err := c.mayQueue(); err != nil {
		return err
	}
	id, jobID := c.IDs.UUID(), c.IDs.UUID()
	r := c.replica(&c.source.row, staging, id)
	r.name = string(unique(id))
	if _, err := insertReplica(c.tx, &r); err != nil {
		return err
	}
	if err := c.keepPassword(id); err != nil {
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
	s := staged{job: jobID, entry: id, user: c.actor.UserID, bytes: e.bytes, files: e.files, folders: e.folders}
	if err := insertStaged(c.tx, s); err != nil {
		return err
	}
	x := errand{order: c.order(target, newName), Copy: id, Entries: e.entries() - 1, Elsewhere: e.elsewhere, Way: []stage{{Source: c.source.id, Copy: id}}}
	x.Unlocked = c.actor.Unlocked
	queued, err := c.queue(job.New{ID: jobID, Type: CopyJob, Payload: x.text(), TotalBytes: x.work()})
	*made = queued
	return err
}
