package files

import (
	"context"
	"errors"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/vpath"
)

// CopyPast copies an entry as it was at a time (ms) into the present folder target, under the name
// that it had, or under newName unless that is nil. A name that is taken gets a number. Nothing
// else changes: like Copy, it makes new entries that share the objects of that time. The content of
// a folder is what ListPast shows to the actor at that time, at any depth; the folder and its
// content are at most 1,000 entries. Each of them may be in the trash now. The actor needs
// permission to read and to download each of them at the path that it had and where it is now, and
// to write at the new path. Passwords and properties are the present ones, as in Copy.
//
// Faults: Unauthorized; Invalid also for a time in the future, and for one that is not known of
// every copied folder; NotFound also for an entry that did not exist at that time, and for content
// that is not kept; Forbidden, PasswordRequired, QuotaExceeded and Locked as for Copy; Conflict
// also for a folder that had more than 1,000 entries.
func (t *Tree) CopyPast(ctx context.Context, a access.Actor, id string, at int64, target vpath.Path,
	newName *vpath.Name) (made job.Job, copied Entry, err error) {
	if a.UserID == "" {
		return job.Job{}, Entry{}, fault.New(fault.Unauthorized, "Sign in to do this.")
	}
	var contents []sourceEntry
	read := false
	err = t.writeLocked(ctx, false, func(tx *db.Tx) error {
		if err := t.checkActive(tx, a); err != nil {
			return err
		}
		c := pastCopy{at: at}
		c.moveOperation = moveOperation{Tree: t, tx: tx, actor: a, number: true}
		if err := c.find(id, target, newName); err != nil {
			return err
		}
		if err := c.authorize(target); err != nil {
			return err
		}
		if c.source.folder && !read { // outside of the transaction, where it blocks no other
			return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
				contents, err = t.pastContents(ctx, a, id, at)
				read = true
				return err
			}}
		}
		found := append([]sourceEntry{{row: c.source.row}}, contents...)
		read = false // another try reads it again
		if made, err = c.run(found, target); err != nil {
			return err
		}
		n, v, err := t.lookUpTx(tx, c.copied)
		copied = v.entry(a, &n.row, n.existingTarget(a))
		return err
	})
	if err != nil {
		return job.Job{}, Entry{}, err
	}
	crash.Point("copy.committed")
	return made, copied, nil
}

// pastCopy is one call of CopyPast. Its source is the entry as it was.
type pastCopy struct {
	copyOperation
	at int64 // ms
}

// find looks up the target folder, and the source as it is now and as it was at the time c.at. It
// decides about the source where it is now before it says how it was. Faults: those of CopyPast.
func (c *pastCopy) find(id string, target vpath.Path, newName *vpath.Name) (err error) {
	var here presence
	c.rules, err = c.readConsistentTx(func(v *ruleset) (version int64, err error) {
		here, version, err = v.findPresence(c.tx, id)
		if err != nil || version != v.version {
			return version, err
		}
		c.dest, version, err = v.find(c.tx, target)
		return version, err
	})
	if err != nil {
		return err
	}
	if err := c.authorizeNow(&here); err != nil {
		return err
	}
	if _, err := c.knownHistory(c.tx, c.rules.trash, "", c.at); err != nil {
		return err
	}
	if err := c.findThen(&here.node.row); err != nil {
		return err
	}
	switch {
	case newName != nil:
		c.name = *newName
	case c.source.id == c.source.mount.RootID:
		c.name = c.source.path.Base()
	default:
		c.name = vpath.Name(c.source.name)
	}
	return nil
}

// authorizeNow decides about the source where it is now: the actor needs the permissions to read
// and to download it, or finds it in the trash. Faults: NotFound, Forbidden, PasswordRequired.
func (c *pastCopy) authorizeNow(here *presence) error {
	switch {
	case !here.node.exists():
		return noEntry()
	case here.item != "":
		_, err := trashedFor(c.tx, c.actor, here.item)
		if fault.Is(err, fault.NotFound) {
			return noEntry()
		}
		return err
	}
	now := here.node.existingTarget(c.actor)
	for _, p := range []access.Permission{access.Read, access.Download} {
		if err := c.rules.allow(c.actor, now, p); err != nil {
			return err
		}
	}
	return nil
}

// findThen sets c.source to the entry as it was at the time c.at: its place, and for a file the
// content of that time. now is its present row. Fault: NotFound when it did not exist, or its
// content of then is not kept.
func (c *pastCopy) findThen(now *row) (err error) {
	if c.source, err = c.rules.findAt(c.tx, now.id, c.at); err != nil {
		return err
	}
	then := *now
	then.parent, then.name = c.source.parent, c.source.name
	if !now.folder {
		then = row{}
		one := pastSelection{folder: c.source.parent, kind: fileKind, at: c.at, only: now.id}
		if err := one.each(c.tx, sortOrder{names: folded}, func(r *pastRow) {
			if !r.lost {
				then = r.row
			}
		}); err != nil {
			return err
		}
		if then.id == "" {
			return notKept()
		}
	}
	c.source.row = then
	return nil
}

// notKept is the fault NotFound for content of an earlier time that was deleted since.
func notKept() error {
	return fault.New(fault.NotFound, "The content that a file had at that time is not kept.")
}

// run chooses the name of the copy, decides about all entries found, of which the first is the
// source, and makes the copy in this transaction. Faults: those of CopyPast.
func (c *pastCopy) run(found []sourceEntry, target vpath.Path) (job.Job, error) {
	if err := locateContents(c.tx, found); err != nil {
		return job.Job{}, err
	}
	if err := c.chooseName(target); err != nil {
		return job.Job{}, err
	}
	if err := c.authorizeContents(c.sumExtent(found)); err != nil {
		return job.Job{}, err
	}
	return c.copyNow(found, target)
}

// chooseName adds a number to the name of the copy when it is taken in the target folder, and
// decides again, since rules may deny the numbered name. Faults: those of authorize.
func (c *pastCopy) chooseName(target vpath.Path) error {
	if !c.dest.isFolder() {
		return nil
	}
	there, err := childNamed(c.tx, c.dest.id, c.name)
	if err != nil || there.id == "" && !c.rules.occupied(&c.dest, c.path) {
		return err
	}
	p := putOperation{Tree: c.Tree, tx: c.tx, rules: c.rules, actor: c.actor, dest: Destination{Name: c.name}}
	if c.name, err = p.freeNumberedName(&c.dest); err != nil {
		return err
	}
	return c.authorize(target)
}

// pastContents lists the entries that were in a folder at a time (ms), at any depth, as far as the
// actor sees them. Each folder comes before its entries. Faults: those of ListPast, Forbidden for
// an entry that the actor may not read and download, NotFound for content that is not kept,
// Conflict for too many entries.
func (t *Tree) pastContents(ctx context.Context, a access.Actor, folder string, at int64) ([]sourceEntry, error) {
	var found []sourceEntry
	open := []sourceEntry{{row: row{id: folder}}}
	for had := map[string]bool{folder: true}; len(open) > 0; open = open[1:] {
		here, err := t.pastMembers(ctx, a, open[0].id, at, t.copyBatchSize-1-len(found))
		if err != nil {
			return nil, err
		}
		for i := range here {
			if had[here[i].id] { // after a clock went back, two folders may be in one another
				continue
			}
			had[here[i].id] = true
			entry := sourceEntry{row: here[i], depth: open[0].depth + 1}
			found = append(found, entry)
			if entry.folder {
				open = append(open, entry)
			}
		}
	}
	return found, nil
}

// pastMembers lists the entries that were directly in a folder at a time (ms). It reads again when
// an entry leaves the folder meanwhile, which would be missing. Faults: those of pastContents;
// Conflict for more than most entries.
func (t *Tree) pastMembers(ctx context.Context, a access.Actor, folder string, at int64, most int) ([]row, error) {
	const need = access.Set(access.Read) | access.Set(access.Download)
	for range db.MaxTries {
		l, err := t.openPast(ctx, a, PastQuery{FolderID: folder, At: at})
		if err != nil {
			return nil, err
		}
		n, err := countPast(l.q, l.id, at, int64(most)+1)
		if err != nil {
			return nil, err
		}
		if n > int64(most) {
			return nil, fault.Newf(fault.Conflict, "A folder of more than %d entries cannot be copied from an earlier "+
				"time. Bring it back to that time, or copy the folders in it.", t.copyBatchSize)
		}
		if err := l.findLeft(); err != nil {
			return nil, err
		}
		var found []row
		denied, lost := false, false
		err = l.each(sortOrder{names: folded}, "", func(r *pastRow, e PastEntry) {
			lost = lost || r.lost
			denied = denied || e.Permissions&need != need
			found = append(found, r.row)
		})
		switch {
		case err != nil:
			return nil, err
		case l.outdated:
			continue
		case lost:
			return nil, notKept()
		case denied:
			return nil, forbidden()
		}
		return found, nil
	}
	return nil, errors.New("the folder changes too often to copy it")
}
