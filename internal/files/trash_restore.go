package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// RestoreOptions say where an entry of the trash comes back.
type RestoreOptions struct {
	Target   *vpath.Path // an existing folder; nil for the folder that it was in
	Conflict Conflict    // what happens when the name is taken
}

// Restored is the outcome of a restore.
type Restored struct {
	Entry Entry
	Links int64 // permanent links of the entry and everything in it
}

// Restore brings an entry back from the trash, with its id, links, shares, passwords and everything
// in it, and charges every owner. Without a target it comes back to the folder that it was in,
// wherever in its provider that is now, or else to the nearest folder above that still exists in
// the mount; the folders between are made again and belong to the owner of the entry. It needs the
// permission to write there. With Replace, Restore deletes the entry that has the name
// into the trash, and the actor needs the permission to delete that entry.
//
// Faults: NotFound (no such entry in the trash, no such target), Forbidden, PasswordRequired,
// Invalid (too deep or too long), AlreadyExists (the name is taken), Conflict (the mount is gone,
// the target is in another provider, a file is where a folder has to be made), QuotaExceeded,
// Locked.
func (t *Tree) Restore(ctx context.Context, a access.Actor, id string, how RestoreOptions) (Restored, error) {
	var back Restored
	var files int64
	err := t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		r := restoreOperation{Tree: t, tx: tx, lock: lock, actor: a, how: how}
		var err error
		back.Entry, err = r.run(id)
		files = r.item.files
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	crash.Point("trash.restored")
	back.Links, err = countLinksBelow(t.DB.Read(ctx), id, files)
	return back, err
}

// restoreOperation is one call of Restore.
type restoreOperation struct {
	*Tree
	tx    *db.Tx
	lock  *treeLock
	rules *ruleset
	actor access.Actor
	how   RestoreOptions

	item trashed
	row  row  // the entry below the root of the trash
	dest node // with the folders to be made as missing
}

// run restores the entry id of the trash in this transaction, and returns it at its new place.
// Faults: those of Restore.
func (r *restoreOperation) run(id string) (Entry, error) {
	var err error
	if r.item, err = trashedFor(r.tx, r.actor, id); err != nil {
		return Entry{}, err
	}
	if r.item.folder || r.how.Conflict == Replace {
		if err := r.lock.requireExclusive(); err != nil {
			return Entry{}, err
		}
	}
	if err := r.checkActive(r.tx, r.actor); err != nil {
		return Entry{}, err
	}
	if r.row, err = childNamed(r.tx, trashRoot, hiddenName(id)); err != nil {
		return Entry{}, err
	}
	if r.row.id == "" {
		return Entry{}, noTrashed()
	}
	if r.rules, err = r.readConsistentTx(r.findDestination); err != nil {
		return Entry{}, err
	}
	if err := r.authorize(); err != nil {
		return Entry{}, err
	}
	return r.putBack()
}

// findDestination sets r.dest to the folder that the entry comes back to, with the folders to be
// made again as missing: the target, the folder that it was in, or the nearest one above that
// exists in the same mount, also where the folder that it was in is now in a mount of another
// provider. It returns the config version that it read. Faults: NotFound for the target, Conflict
// when the mount is gone.
func (r *restoreOperation) findDestination(v *ruleset) (version int64, err error) {
	if r.how.Target != nil {
		r.dest, version, err = v.find(r.tx, *r.how.Target)
		if err == nil && version == v.version && (!r.dest.isFolder() || !r.dest.mounted()) {
			err = fault.New(fault.NotFound, "The target folder does not exist.")
		}
		return version, err
	}
	if r.dest, version, err = v.findID(r.tx, r.item.parent); err != nil || version != v.version {
		return version, err
	}
	if r.dest.isFolder() {
		if err := r.checkProvider(); !fault.Is(err, fault.Conflict) {
			return version, err
		}
	}
	for i := len(r.item.parents) - 1; i >= 0; i-- {
		f := r.item.parents[i]
		r.dest, version, err = v.findID(r.tx, f.ID)
		if err != nil || version != v.version {
			return version, err
		}
		if r.dest.isFolder() && r.dest.mount.ID == r.item.mount {
			for _, below := range r.item.parents[i+1:] {
				r.dest.missing = append(r.dest.missing, vpath.Name(below.Name))
			}
			return version, nil
		}
	}
	return version, fault.New(fault.Conflict,
		"The mount that this was in is gone. Restore it to a folder in the same storage provider.")
}

// authorize decides whether the actor may put the entry into r.dest. Faults: those of Restore.
func (r *restoreOperation) authorize() error {
	v, a := r.rules, r.actor
	path, err := r.path()
	if err != nil {
		return err
	}
	to := r.dest.newTarget(a, path)
	if err := v.allow(a, to, access.Write); err != nil {
		return err
	}
	if r.row.folder && v.policy.DecideTree(a, to, access.Write) == access.TreeDenied {
		return forbidden()
	}
	if err := r.checkProtection(to); err != nil {
		return err
	}
	if err := r.checkProvider(); err != nil {
		return err
	}
	if err := r.checkUnlocked(r.tx, a, r.dest.trail); err != nil {
		return err
	}
	return r.checkDepth(path)
}

// checkProvider refuses a target mount whose provider is not that of the entry's content, unless
// the entry comes from that mount. Fault: Conflict.
func (r *restoreOperation) checkProvider() (err error) {
	foreign := r.dest.mount.ID != r.item.mount
	switch provider := r.dest.mount.ProviderID; {
	case !foreign:
	case r.item.provider != "":
		foreign = r.item.provider != provider && r.item.provider != r.dest.mount.EvacuatedID
	case !r.row.folder: // recorded by fsck, like the next
		foreign = r.row.provider != provider
	default:
		foreign, err = anyForeignContent(r.tx, r.row.id, provider)
	}
	if err == nil && foreign {
		err = fault.New(fault.Conflict,
			"This is stored in another storage provider. Restore it to a folder there, and move it then.")
	}
	return err
}

// path is the path of the entry after the restore. Faults: Invalid, Unauthorized.
func (r *restoreOperation) path() (vpath.Path, error) {
	dir, err := r.dest.requestedPath().Append() // checks the length
	if err != nil {
		return vpath.Path{}, err
	}
	return checkedNewPath(r.actor, dir, vpath.Name(r.item.name))
}

// checkProtection refuses to restore the entry to the place of the target to, if that takes it out
// of the reach of a password above its former place, or of a rule for its former path. Faults:
// Forbidden, PasswordRequired.
func (r *restoreOperation) checkProtection(to access.Target) error {
	former := node{row: r.row, path: vpath.Path{}}
	var err error
	if former.path, err = r.item.formerPath(); err != nil {
		return err
	}
	former.parent, former.name = r.item.parent, r.item.name
	former.trail = append(trailOf(r.item.parents),
		trailEntry{id: r.row.id, owner: r.row.owner, password: r.row.password})
	former.mount.ID = r.item.mount
	from := former.existingTarget(r.actor)
	if err := r.rules.checkRulesStillApply(r.tx, r.actor, &former, from, to); err != nil {
		return err
	}
	above := trailOf(r.item.parents)
	if samePassword(from.PasswordAbove, to.PasswordAbove) || r.actor.HasUnlocked(from.PasswordAbove.ID) {
		return nil
	}
	protecting, _, err := r.rules.findID(r.tx, nearestProtected(above))
	if err != nil {
		return err
	}
	if protecting.exists() {
		return r.rules.mayUncover(r.tx, r.actor, above)
	}
	// the folder with the password is gone: only its owner and administrators know who may see this
	if r.actor.Key == nil && (r.actor.Role == access.Admin || r.actor.UserID == from.PasswordAbove.OwnerID) {
		return nil
	}
	return passwordNeeded()
}

// checkDepth checks that the deepest entry in a folder stays within the maximal depth when the
// folder is restored to path. Fault: Invalid.
func (r *restoreOperation) checkDepth(path vpath.Path) error {
	if !r.row.folder {
		return nil
	}
	former, err := r.item.formerPath()
	if err != nil || path.Depth() <= former.Depth() {
		return err
	}
	height, err := heightOf(r.tx, r.row.id)
	if err == nil && path.Depth()+height > vpath.MaxDepth {
		err = fault.New(fault.Invalid, "A path has at most 64 levels, and something in this folder would be deeper.")
	}
	return err
}

// putBack makes the missing folders, settles a name conflict, charges the owners, and moves the
// entry out of the trash. It returns the entry as the actor sees it.
func (r *restoreOperation) putBack() (Entry, error) {
	if err := r.makeMissing(); err != nil {
		return Entry{}, err
	}
	name, err := r.freeName()
	if err != nil {
		return Entry{}, err
	}
	if err := r.chargeOwners(); err != nil {
		return Entry{}, err
	}
	if err := r.relocate(r.tx, &r.row, r.dest.id, name, r.row.updated); err != nil {
		return Entry{}, translateUnique(err, retryTransaction())
	}
	if err := forgetTrashed(r.tx, []string{r.row.id}); err != nil {
		return Entry{}, err
	}
	r.row.parent, r.row.name = r.dest.id, string(name)
	return r.rules.entry(r.actor, &r.row, childTarget(r.dest.existingTarget(r.actor), r.actor, &r.row)), nil
}

// chargeOwners charges every owner for what they have in the entry. Faults: QuotaExceeded, Conflict
// while the entries of a deleted account are handed over.
func (r *restoreOperation) chargeOwners() error {
	sums, err := r.totals()
	if err != nil {
		return err
	}
	for _, s := range sums {
		heir, err := r.successorOf(r.tx, s.owner)
		if err != nil {
			return err
		}
		if heir.ID != "" {
			return fault.New(fault.Conflict,
				"The files of a deleted account are being handed over. Try again in a minute.")
		}
		if s.files > 0 {
			if err := quota.Charge(r.tx, s.owner, s.bytes, s.files); err != nil {
				return err
			}
		}
		if s.folders > 0 {
			if err := quota.ChargeFolders(r.tx, s.owner, s.folders); err != nil {
				return err
			}
		}
	}
	return nil
}

// totals returns how many files, folders and bytes each account owns in the entry to be restored,
// for its charge. Nothing changes the entries of a folder in the trash but the handover of a
// deleted account. So the amounts recorded at the deletion are true while every account in them
// exists; otherwise the entries are summed.
func (r *restoreOperation) totals() ([]ownerTotals, error) {
	if !r.row.folder {
		return []ownerTotals{{owner: r.row.owner, files: 1, bytes: r.row.size}}, nil
	}
	recorded, err := totalsOf(r.tx, r.row.id)
	if err != nil {
		return nil, err
	}
	known := len(recorded) > 0
	for _, s := range recorded {
		if _, err := quota.Get(r.tx, s.owner); fault.Is(err, fault.NotFound) {
			known = false
		} else if err != nil {
			return nil, err
		}
	}
	if known {
		return recorded, nil
	}
	_, sums, err := sumBelow(r.tx, r.row.id)
	return sums, err
}

// makeMissing makes the missing folders of r.dest again, for the owner of the entry. Faults:
// Conflict when a file has the name of one, QuotaExceeded.
func (r *restoreOperation) makeMissing() error {
	for len(r.dest.missing) > 0 {
		there, err := childNamed(r.tx, r.dest.id, r.dest.missing[0])
		if err != nil {
			return err
		}
		if there.id != "" && !there.folder {
			return fault.New(fault.Conflict, "A file now has the name of a folder that contained this entry.")
		}
		if err := r.makeFolder(r.tx, &r.dest, r.item.owner); err != nil {
			return err
		}
	}
	return nil
}

// freeName returns the name that the entry gets. When its former name is taken it does what
// r.how.Conflict says: a number, another entry into the trash, or a refusal. Faults: AlreadyExists,
// and those of a deletion or of allow.
func (r *restoreOperation) freeName() (vpath.Name, error) {
	name := vpath.Name(r.item.name)
	path := r.dest.path.Child(name)
	there, err := childNamed(r.tx, r.dest.id, name)
	if err != nil {
		return "", err
	}
	taken := there.id != ""
	if !taken && !r.rules.occupied(&r.dest, path) {
		return name, nil
	}
	switch {
	case r.how.Conflict == Fail, r.how.Conflict == Replace && !taken:
		return "", nameTaken()
	case r.how.Conflict == Replace:
		return name, r.replace(there)
	}
	p := putOperation{Tree: r.Tree, tx: r.tx, rules: r.rules, actor: r.actor, dest: Destination{Name: name}}
	if name, err = p.freeNumberedName(&r.dest); err != nil {
		return "", err
	}
	// the numbered name may be denied where the former one was not
	return name, r.rules.allow(r.actor, r.dest.newTarget(r.actor, r.dest.path.Child(name)), access.Write)
}

// replace moves the entry there, which has the name in r.dest, into the trash. The actor needs the
// permission to delete it. Faults: those of Delete.
func (r *restoreOperation) replace(there row) error {
	n := node{row: there, mount: r.dest.mount, path: r.dest.path.Child(vpath.Name(there.name))}
	n.trail = append(r.dest.trail[:len(r.dest.trail):len(r.dest.trail)],
		trailEntry{id: there.id, owner: there.owner, password: there.password})
	_, err := r.deleteNode(r.tx, r.lock, r.actor, r.rules, &n, deleteOptions{
		disposal: disposal{trash: true, reason: TrashReplaced}})
	return err
}
