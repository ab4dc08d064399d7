package files

import (
	"context"
	"errors"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// CreateFolder makes a folder in an existing folder; it belongs to the actor. Faults: Invalid,
// Unauthorized, NotFound (no mount, no such parent, a file), Forbidden, PasswordRequired,
// AlreadyExists, QuotaExceeded.
func (t *Tree) CreateFolder(ctx context.Context, a access.Actor, parent vpath.Path, name vpath.Name) (Entry, error) {
	path, err := checkedNewPath(a, parent, name)
	if err != nil {
		return Entry{}, err
	}
	var made Entry
	err = t.writeLocked(ctx, false, func(tx *db.Tx) error {
		if err := t.checkActive(tx, a); err != nil {
			return err
		}
		var n node
		v, err := t.readConsistentTx(func(v *ruleset) (version int64, err error) {
			n, version, err = v.find(tx, parent)
			return version, err
		})
		if err != nil {
			return err
		}
		if !n.mounted() {
			return noMount()
		}
		target := n.newTarget(a, path)
		// another mount may be there; its rules decide whether the actor may learn that
		if m, found := v.mounts.Resolve(path); found {
			target.MountID = m.ID
		}
		if err := v.allow(a, target, access.Write); err != nil {
			return err
		}
		if !n.isFolder() {
			return fault.New(fault.NotFound, "The parent folder does not exist.")
		}
		if v.hiddenByMount(n.mount.ID, path) {
			return nameTaken()
		}
		if err := t.checkUnlocked(tx, a, n.trail); err != nil {
			return err
		}
		r := row{id: t.IDs.UUID(), parent: n.id, name: string(name), folder: true, owner: a.UserID}
		// before the name, in the same order as uploads
		if err := quota.ChargeFolders(tx, r.owner, 1); err != nil {
			if there, lost := childNamed(tx, n.id, name); lost == nil && there.id != "" {
				return nameTaken()
			}
			return err
		}
		done, err := t.insertEntry(tx, &r)
		if err != nil {
			return err
		}
		if !done {
			return nameTaken()
		}
		made = v.entry(a, &r, childTarget(n.existingTarget(a), a, &r))
		return nil
	})
	if err == nil {
		crash.Point("folder.committed")
	}
	return made, err
}

// immovable reports whether n must not be renamed, moved or deleted: it is the root of a mount, or
// a folder with a mount below it, whose path would change.
func (rs *ruleset) immovable(n *node) bool {
	return n.id == n.mount.RootID || len(rs.mounts.Below(n.path)) > 0
}

// immovableFault is the fault Conflict for a change that immovable forbids.
func immovableFault() error {
	return fault.New(fault.Conflict,
		"A mount, or a folder that contains one, cannot be renamed, moved or deleted.")
}

// allowTree decides whether the actor has the permission p on n and on everything in it; callers
// ask it before a folder is renamed, moved or deleted as a whole. It allows any file, since the
// caller has decided about n itself. target describes n to the rules, perhaps at another path than
// the present one. Fault: Forbidden, also when an entry in the folder has a password and another
// owner.
func (rs *ruleset) allowTree(tx *db.Tx, a access.Actor, n *node, target access.Target, p access.Permission) error {
	if !n.folder {
		return nil
	}
	switch rs.policy.DecideTree(a, target, p) {
	case access.TreeAllowed:
		if a.Role == access.Admin {
			return nil
		}
		// The password of an entry keeps out everybody but the owner of the entry, whatever the
		// rules say.
		return forbidIfFound(tx, protectedBelow, n.id, a.UserID)
	case access.TreeOwnOnly:
		return forbidIfFound(tx, foreignBelow, n.id, a.UserID)
	}
	return forbidden()
}

// translateUnique returns fault instead of err when err says that an entry of this name exists in
// the folder (a violated unique constraint), because another transaction took the name first. It
// returns any other error unchanged.
func translateUnique(err, fault error) error {
	var unique *db.ErrUnique
	if errors.As(err, &unique) && unique.Name == "entries_name_unique" {
		return fault
	}
	return err
}
