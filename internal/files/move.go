package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
	"larder/internal/vpath"
)

// Move puts an entry into the folder target, under newName unless that is nil. Inside one provider no byte moves: it is done when Move returns,
// and the job was completed from the start. It takes the permission to delete at the old place (for a folder, all through it) and to write at
// the new one; a folder one must be able to see all of, and no rule is shed by it. Ids, owners, passwords and links go along.
//
// Faults: NotFound (no such entry, no such folder, a file as target), Forbidden, PasswordRequired, Invalid (a path that is reserved, too deep
// or too long), Conflict (the name is taken there, into itself, a mount's root or what is above one, another provider).
func (t *Tree) Move(ctx context.Context, a access.Actor, id string, target vpath.Path, newName *vpath.Name) (job.Job, error) {
	folder, err := isFolder(t.DB.Read(ctx), id)
	if err != nil {
		return job.Job{}, err
	}
	var done job.Job
	err = t.write(ctx, folder, func(tx *db.Tx) error {
		m := move{Tree: t, tx: tx, actor: a}
		if err := m.find(id, target); err != nil {
			return err
		}
		if newName != nil {
			m.name = *newName
		}
		if err := m.judge(target); err != nil {
			return err
		}
		if err := t.relocate(tx, &m.source.row, m.dest.id, m.name, m.source.updated); err != nil {
			return err
		}
		now := t.now()
		done = job.Job{ID: t.IDs.UUID(), Type: "move", OwnerID: a.UserID, Status: "completed", Progress: 100, CreatedAt: now, CompletedAt: &now}
		return job.InsertCompleted(tx, done)
	})
	return done, taken(err, fault.New(fault.Conflict, "A file or folder of this name lies there already."))
}

// move is one call of Move.
type move struct {
	*Tree
	tx     *db.Tx
	view   *view
	actor  access.Actor
	source node
	dest   node
	name   vpath.Name
}

func (m *move) find(id string, target vpath.Path) (err error) {
	m.view, err = m.askInside(func(v *view) (version int64, err error) {
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
	return err
}

// judge decides about permissions before it tells what is there.
func (m *move) judge(target vpath.Path) error {
	v, a := m.view, m.actor
	from := m.source.facts(a)
	if err := v.allow(a, from, access.Delete); err != nil {
		return err
	}
	path, err := target.Append(m.name)
	if err != nil {
		return err
	}
	if err := notReserved(path); err != nil {
		return err
	}
	if !m.dest.mounted() {
		return noMount()
	}
	to := m.dest.newTarget(a, path)
	if err := v.allow(a, to, access.Write); err != nil {
		return err
	}
	if err := v.whole(m.tx, a, &m.source, from, access.Delete); err != nil {
		return err
	}
	// What is in the folder comes into being below the new path; there it lies in the actor's own folder or where a rule lets them write.
	if m.source.folder && v.policy.Uniform(a, to, access.Write) == access.Refused {
		return forbidden()
	}
	if err := v.keeps(m.tx, a, &m.source, from, to); err != nil {
		return err
	}
	switch {
	case !m.dest.isFolder():
		return fault.New(fault.NotFound, "The target folder does not exist.")
	case v.fixed(&m.source):
		return fixedFault()
	case m.dest.within(m.source.id):
		return fault.New(fault.Conflict, "A folder cannot be moved into itself.")
	case v.covered(&m.dest, path):
		return fault.New(fault.Conflict, "A mount of this name lies there already.")
	case m.source.parent == m.dest.id && m.source.name == string(m.name):
		return fault.New(fault.Conflict, "It lies there already.")
	case m.source.mount.ProviderID != m.dest.mount.ProviderID:
		return fault.New(fault.Conflict, "Moving to a mount of another storage provider is not possible.")
	}
	return m.fits(path)
}

// fits checks that the deepest entry in a folder stays within the levels a path may have. The bytes of the longest path below are not
// looked at: such an entry stays reachable by its id, and can be renamed or moved on.
func (m *move) fits(path vpath.Path) error {
	if !m.source.folder || path.Depth() <= m.source.path.Depth() {
		return nil
	}
	height, err := heightOf(m.tx, m.source.id)
	if err != nil {
		return err
	}
	if path.Depth()+height > vpath.MaxDepth {
		return fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would lie deeper.")
	}
	return nil
}
