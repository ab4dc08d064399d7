package files

import (
	"slices"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/fault"
	"larder/internal/quota"
)

// A move or copy over an existing entry replaces it (RFC 4918, sections 9.8.4 and 9.9.3). A file
// over a file replaces the content, as an upload does. The existing file keeps its id, its owner,
// who is charged the difference, its link, its shares and its password, so that replacing it never
// removes protection. This needs the permission to update the existing file. Any other existing
// entry is deleted first, which needs the permission to delete it.

// authorizeReplacement looks up the entry that has the new name, sets m.existing to it, and decides
// whether the actor may replace it. Without m.replace it does nothing. Faults: Forbidden,
// PasswordRequired, Conflict, Locked.
func (m *moveOperation) authorizeReplacement() (err error) {
	if !m.replace || !m.dest.isFolder() {
		return nil
	}
	if m.existing, err = childNamed(m.tx, m.dest.id, m.name); err != nil || m.existing.id == "" {
		return err
	}
	if m.existing.id == m.source.id {
		return fault.New(fault.Conflict, "The file or folder is already at this path.")
	}
	there := m.existingNode()
	target := there.existingTarget(m.actor)
	if m.replacesContent() {
		if err := m.rules.allow(m.actor, target, access.Update); err != nil {
			return err
		}
		// The content of the source comes under the password of the existing file, if that has its
		// own.
		if m.existing.password != "" && !samePassword(m.source.existingTarget(m.actor).Password, target.Password) {
			if err := m.rules.mayUncover(m.tx, m.actor, m.source.trail); err != nil {
				return err
			}
		}
		return m.checkUnlocked(m.tx, m.actor, there.trail)
	}
	if m.existing.folder {
		if err := m.lock.requireExclusive(); err != nil {
			return err
		}
	}
	if err := m.rules.allow(m.actor, target, access.Delete); err != nil {
		return err
	}
	if err := m.rules.allowTree(m.tx, m.actor, &there, target, access.Delete); err != nil {
		return err
	}
	if m.source.within(m.existing.id) {
		return fault.New(fault.Conflict, "A folder cannot be replaced by its own content.")
	}
	if err := m.rules.checkHomeStays(m.tx, m.actor, &there); err != nil {
		return err
	}
	return m.checkRemovable(m.tx, m.actor, &there)
}

// replacesContent reports whether the operation replaces the content of an existing file by that of
// a file. Any other existing entry is deleted first.
func (m *moveOperation) replacesContent() bool {
	return m.existing.id != "" && !m.existing.folder && !m.source.folder
}

// checkUnlockedTarget refuses a new member of the target folder while a lock forbids it. A file
// whose content is replaced is no new member; authorizeReplacement checks its locks. Fault: Locked.
func (m *moveOperation) checkUnlockedTarget() error {
	if m.replacesContent() {
		return nil
	}
	return m.checkUnlocked(m.tx, m.actor, m.dest.trail)
}

// apply makes the move that authorize has allowed: it replaces the existing entry, if any, and
// gives the source its new parent and name. Error: a db.ErrUnique when the name is taken; see
// translateTaken.
func (m *moveOperation) apply() error {
	if err := m.endLocks(m.tx, &m.source.row); err != nil {
		return err
	}
	if m.replacesContent() {
		return m.replaceContentByMove()
	}
	if err := m.deleteExisting(); err != nil {
		return err
	}
	if err := recordPlace(m.tx, m.source.id, m.nowMs()); err != nil {
		return err
	}
	return m.relocate(m.tx, &m.source.row, m.dest.id, m.name, m.source.updated)
}

// existingNode is the node of the entry that has the new name in the target folder.
func (m *moveOperation) existingNode() node {
	n := node{row: m.existing, mount: m.dest.mount, path: m.dest.path.Child(m.name)}
	n.trail = append(m.dest.trail[:len(m.dest.trail):len(m.dest.trail)],
		trailEntry{id: m.existing.id, owner: m.existing.owner, password: m.existing.password})
	return n
}

// deleteExisting deletes the entry that has the new name, if any: into the trash where the site
// sends deletions there, else for good. authorizeReplacement has allowed it.
func (m *moveOperation) deleteExisting() (err error) {
	if m.existing.id == "" {
		return nil
	}
	if err := m.endLocks(m.tx, &m.existing); err != nil {
		return err
	}
	n := m.existingNode()
	switch {
	case m.rules.trash.takesAll():
		_, _, err = m.moveToTrash(m.tx, m.actor, &n, TrashReplaced)
	case n.folder:
		_, _, err = m.moveSubtreeToGraveyard(m.tx, &n.row)
	default:
		_, _, err = m.remove(m.tx, &n.row)
	}
	m.existing = row{}
	return err
}

// takenMeanwhile returns the error for a name at which another transaction has created an entry
// since there was none. With replace or number the transaction runs again, and replaces that entry
// or takes another name; otherwise it is the fault Conflict.
func (m *moveOperation) takenMeanwhile() error {
	if m.replace || m.number {
		return retryTransaction()
	}
	return targetExists()
}

// translateTaken returns takenMeanwhile when err says that the name is taken, any other error
// unchanged.
func (m *moveOperation) translateTaken(err error) error {
	return translateUnique(err, m.takenMeanwhile())
}

// lockQuotas locks the quotas of both owners, in an order that all transactions keep, before the
// files: uploads lock them in this order too.
func (m *moveOperation) lockQuotas() error {
	owners := []string{m.source.owner, m.existing.owner}
	slices.Sort(owners)
	for _, owner := range slices.Compact(owners) {
		if err := quota.Lock(m.tx, owner); err != nil {
			return err
		}
	}
	return nil
}

// replaceContentByMove gives the existing file at the target the content, properties and password
// of the source file, and deletes the source, whose reference to the object moves along. The
// existing file keeps its id and owner, who is charged the difference.
func (m *moveOperation) replaceContentByMove() error {
	if err := m.lockQuotas(); err != nil {
		return err
	}
	if err := m.copySourcePassword(m.existing.id); err != nil {
		return err
	}
	gone, err := deleteFile(m.tx, &m.source.row)
	if err != nil {
		return err
	}
	if gone.object != m.source.object {
		return retryTransaction()
	}
	if err := deleteLink(m.tx, m.source.id); err != nil {
		return err
	}
	if err := deleteFavouritesOf(m.tx, []string{m.source.id}); err != nil {
		return err
	}
	if err := m.dropVersionsOf(m.tx, []string{m.source.id}); err != nil {
		return err
	}
	if err := m.leaveForGood(m.tx, &m.source.row, gone.placeSince); err != nil {
		return err
	}
	if err := moveProperties(m.tx, m.source.id, m.existing.id); err != nil {
		return err
	}
	if err := quota.Credit(m.tx, gone.owner, gone.size, 1); err != nil {
		return err
	}
	if err := m.replaceContent(); err != nil {
		return err
	}
	m.tx.AfterCommit(func() { crash.Point("move.replaced") })
	return nil
}

// replaceContent gives the existing file the content of the source, whose reference to the object
// the caller provides. The owner of the existing file is charged the difference. Fault:
// QuotaExceeded.
func (m *moveOperation) replaceContent() error {
	r := m.existing
	r.size, r.mimeType, r.object, r.updated = m.source.size, m.source.mimeType, m.source.object, m.nowMs()
	changed, err := m.changeContent(m.tx, m.rules, m.actor, &m.existing, &r)
	if err != nil {
		return err
	}
	if !changed {
		return retryTransaction()
	}
	return quota.Charge(m.tx, m.existing.owner, r.size-m.existing.size, 0)
}

// copySourcePassword gives the entry with the id to the source's own password, so that a move or
// copy never removes protection. An existing file at the target that has a password keeps its own.
func (m *moveOperation) copySourcePassword(to string) error {
	if m.source.password == "" || m.existing.id == to && m.existing.password != "" {
		return nil
	}
	return copyPassword(m.tx, m.source.id, to)
}
