package files

import (
	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/fault"
	"larder/internal/quota"
)

// What is moved or copied over something replaces it (RFC 4918, sections 9.8.4 and 9.9.3). A file that comes over a file gives it its content, as an
// upload does that replaces one: the file that is there stays the same, with its owner, who pays the difference, its link, its shares and its password,
// so that nothing protected opens by being replaced; this takes the permission to update it. Everything else is deleted before, which takes the
// permission to delete.

// judgeThere looks for what is to be replaced and decides whether that may be. Faults: Forbidden, PasswordRequired, Conflict, Locked.
func (m *move) judgeThere() (err error) {
	if !m.over || !m.dest.isFolder() {
		return nil
	}
	if m.there, err = childNamed(m.tx, m.dest.id, m.name); err != nil || m.there.id == "" {
		return err
	}
	if m.there.id == m.source.id {
		return fault.New(fault.Conflict, "It lies there already.")
	}
	there := node{row: m.there, mount: m.dest.mount, path: m.dest.path.Child(m.name)}
	there.trail = append(m.dest.trail[:len(m.dest.trail):len(m.dest.trail)], level{id: m.there.id, owner: m.there.owner, password: m.there.password})
	facts := there.facts(m.actor)
	if m.fills() {
		if err := m.view.allow(m.actor, facts, access.Update); err != nil {
			return err
		}
		// The source's content gets the password of what is there, if that has its own.
		if m.there.password != "" && !sameGuard(m.source.facts(m.actor).Guard, facts.Guard) {
			if err := m.view.mayLift(m.tx, m.actor, m.source.trail); err != nil {
				return err
			}
		}
		return m.free(m.tx, m.actor, there.trail)
	}
	if err := m.view.allow(m.actor, facts, access.Delete); err != nil {
		return err
	}
	if err := m.view.whole(m.tx, m.actor, &there, facts, access.Delete); err != nil {
		return err
	}
	if m.source.within(m.there.id) {
		return fault.New(fault.Conflict, "A folder cannot be replaced by what is in it.")
	}
	if err := m.view.leavesHome(m.tx, m.actor, &there); err != nil {
		return err
	}
	return m.freeToGo(m.tx, m.actor, &there)
}

// fills reports whether a file comes over a file.
func (m *move) fills() bool { return m.there.id != "" && !m.there.folder && !m.source.folder }

// freeToCome refuses another member in the folder while a lock forbids it; a file that comes over a file is none. Fault: Locked.
func (m *move) freeToCome() error {
	if m.fills() {
		return nil
	}
	return m.free(m.tx, m.actor, m.dest.trail)
}

// settle gives the source its place.
func (m *move) settle() error {
	if err := m.endLocks(m.tx, &m.source.row); err != nil {
		return err
	}
	if m.fills() {
		return m.fillByMove()
	}
	if err := m.clear(); err != nil {
		return err
	}
	return m.relocate(m.tx, &m.source.row, m.dest.id, m.name, m.source.updated)
}

// clear deletes what has the name.
func (m *move) clear() (err error) {
	if m.there.id == "" {
		return nil
	}
	if err := m.endLocks(m.tx, &m.there); err != nil {
		return err
	}
	if m.there.folder {
		_, _, err = m.bury(m.tx, &m.there)
	} else {
		_, _, err = m.remove(m.tx, &m.there)
	}
	m.there = row{}
	return err
}

// fillByMove gives the file there the source's content and takes the source away, whose reference to its object goes along.
func (m *move) fillByMove() error {
	if err := m.keepPassword(m.there.id); err != nil {
		return err
	}
	gone, err := deleteFile(m.tx, &m.source.row)
	if err != nil {
		return err
	}
	if gone.object != m.source.object {
		return elsewhere()
	}
	if err := deleteLink(m.tx, m.source.id); err != nil {
		return err
	}
	if err := moveProperties(m.tx, m.source.id, m.there.id); err != nil {
		return err
	}
	if err := quota.Credit(m.tx, gone.owner, gone.size, 1); err != nil {
		return err
	}
	if err := m.fill(); err != nil {
		return err
	}
	m.tx.AfterCommit(func() { crash.Point("move.replaced") })
	return nil
}

// fill gives the file there the source's content. Its owner pays the difference.
func (m *move) fill() error {
	r := m.there
	r.size, r.mimeType, r.object, r.updated = m.source.size, m.source.mimeType, m.source.object, m.now()
	changed, err := updateContent(m.tx, &r, &m.there)
	if err != nil {
		return err
	}
	if !changed {
		return elsewhere()
	}
	if err := m.Objects.Release(m.tx, m.there.object, m.there.owner); err != nil {
		return err
	}
	return quota.Charge(m.tx, m.there.owner, r.size-m.there.size, 0)
}

// keepPassword gives an entry the source's own password, unless it has one, so that nothing opens by being moved or copied.
func (m *move) keepPassword(to string) error {
	if m.source.password == "" || m.there.id == to && m.there.password != "" {
		return nil
	}
	return copyPassword(m.tx, m.source.id, to)
}
