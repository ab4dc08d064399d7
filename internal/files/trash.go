package files

import (
	"context"
	"errors"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// An entry in the trash is below the root `trash`, which no mount has, so that its links, shares
// and addresses answer as for a deleted one; it keeps them, its password and its properties. One
// row moves, however large a folder is. The table trash says where it came from. Its bytes are
// credited like those of a deletion, and are counted as kept for each owner (quota.Kept). Purging
// an entry moves a folder on to the graveyard, and deletes a file. docs/adr/0014-trash.md.

// trashRoot is the root of the entries in the trash.
const trashRoot = "trash"

// trashSchema is the first version of the schema with a trash.
const trashSchema = 20

// TrashSettings are the site settings of the trash.
type TrashSettings struct {
	Days int  // how long an entry stays in the trash; 0 switches the trash off
	All  bool // deletions that do not say otherwise go to the trash
}

// Disposal says where a deletion puts an entry.
type Disposal int

const (
	AsSet   Disposal = iota // into the trash if TrashSettings.All, else for good
	ToTrash                 // into the trash
	ForGood
)

// TrashReason is why an entry is in the trash.
type TrashReason string

const (
	TrashDeleted  TrashReason = "deleted"
	TrashReplaced TrashReason = "replaced" // by another entry that was restored, moved or copied there
	TrashRewound  TrashReason = "rewind"   // its folder was brought back to a time before it
)

// trashSettings returns the site's settings of the trash; without Config.Trash it is off.
func (t *Tree) trashSettings(ctx context.Context) (TrashSettings, error) {
	if t.Trash == nil {
		return TrashSettings{}, nil
	}
	return t.Trash(ctx)
}

// disposal is where one deletion puts entries, decided by the settings of the trash.
type disposal struct {
	trash   bool
	forGood bool // although the settings send deletions to the trash
	reason  TrashReason
}

// disposalOf decides where a deletion puts its entry, by what the caller wanted. Fault: Conflict
// when the caller wants the trash and it is switched off.
func (s TrashSettings) disposalOf(wanted Disposal) (disposal, error) {
	switch all := s.takesAll(); {
	case wanted == ToTrash && s.Days == 0:
		return disposal{}, fault.New(fault.Conflict, "The trash is switched off. Delete the entry for good instead.")
	case wanted == ToTrash || wanted == AsSet && all:
		return disposal{trash: true, reason: TrashDeleted}, nil
	default:
		return disposal{forGood: wanted == ForGood && all}, nil
	}
}

// takesAll reports whether the trash is on and deletions that do not say otherwise go there.
func (s TrashSettings) takesAll() bool { return s.All && s.Days > 0 }

// checkForGood decides whether the actor may delete something for good that is in the trash or
// would go there: its owner and administrators may, so that others cannot destroy what it keeps.
// Fault: Forbidden.
func checkForGood(a access.Actor, owner string) error {
	if a.Role == access.Admin || a.UserID == owner {
		return nil
	}
	return fault.New(fault.Forbidden, "Only its owner and administrators can delete this for good.")
}

// moveToTrash moves the entry n into the trash, where the actor is the one who deleted it: it
// credits the owners' quotas, and counts the bytes as kept for each owner. It returns the number of
// entries and their bytes. The caller has decided that n may be deleted. Fault: Conflict when the
// entry has more bytes of an owner than the owner's trash may have, or while a replica runs that
// knows no trash.
func (t *Tree) moveToTrash(tx *db.Tx, a access.Actor, n *node, reason TrashReason) (rows, bytes int64, err error) {
	if err := t.checkTrash(tx); err != nil {
		return 0, 0, err
	}
	sums, err := t.takeOut(tx, &n.row)
	if err != nil {
		return 0, 0, err
	}
	item := t.trashedOf(a, n, reason)
	for _, s := range sums {
		if s.bytes > 0 {
			kept, err := quota.KeptOf(tx, s.owner)
			if err != nil {
				return 0, 0, err
			}
			if err := checkFits(kept, s.bytes); err != nil {
				return 0, 0, err
			}
			if err := quota.AddKept(tx, s.owner, s.bytes); err != nil {
				return 0, 0, err
			}
		}
		item.folders, item.files, item.size = item.folders+s.folders, item.files+s.files, item.size+s.bytes
	}
	if err := creditOwners(tx, sums); err != nil {
		return 0, 0, err
	}
	item.totals = sums
	if err := insertTrashed(tx, []trashed{item}); err != nil {
		return 0, 0, err
	}
	return item.folders + item.files, item.size, nil
}

// trashedOf returns the record of the entry n for the trash: the actor deletes n now. The caller
// adds the number and the size of the files in n.
func (t *Tree) trashedOf(a access.Actor, n *node, reason TrashReason) trashed {
	item := trashed{id: n.id, name: n.name, owner: n.owner, deletedBy: a.UserID, deletedAt: t.nowMs(), reason: reason,
		parent: n.parent, mount: n.mount.ID, provider: n.mount.ProviderID, path: n.path.String(),
		parents: formerFolders(n)}
	if a.Key != nil {
		item.deletedByKey = a.Key.ID
	}
	return item
}

// checkFits refuses an entry with more bytes of an account than its trash may have. Fault:
// Conflict.
func checkFits(kept quota.Kept, bytes int64) error {
	if kept.Max != quota.Unlimited && bytes > kept.Max {
		return fault.New(fault.Conflict,
			"This is larger than the trash of its owner may be. Delete it for good instead.")
	}
	return nil
}

// takeOut moves the entry r below the root of the trash, records its former place, and returns what
// each account has in it. For a file it locks the quota first, in the same order as uploads.
func (t *Tree) takeOut(tx *db.Tx, r *row) ([]ownerTotals, error) {
	if err := recordPlace(tx, r.id, t.nowMs()); err != nil {
		return nil, err
	}
	if r.folder {
		_, sums, err := sumBelow(tx, r.id)
		if err != nil {
			return nil, err
		}
		return sums, t.relocate(tx, r, trashRoot, hiddenName(r.id), r.updated)
	}
	if err := quota.Lock(tx, r.owner); err != nil {
		return nil, err
	}
	gone, err := moveFilesTo(tx, []row{*r}, trashRoot, t.nowMs())
	if err != nil {
		return nil, err
	}
	r.owner = gone[0].owner
	return sumsOf(gone), nil
}

// checkTrash refuses to use the trash while a replica runs that knows none: it would count the
// entries in the trash as used. From then on no such replica starts. Fault: Conflict.
func (t *Tree) checkTrash(tx *db.Tx) error {
	err := tx.RequireSchema(trashSchema)
	if errors.Is(err, db.ErrOlderReplica) {
		return fault.New(fault.Conflict, "The trash can be used when all servers have been upgraded.").WithCause(err)
	}
	return err
}

// formerFolder is a folder above an entry when it went to the trash.
type formerFolder struct {
	ID, Name, Owner string
	Password        string // id of its password, "" for none
}

// formerFolders returns the folders above an entry, from the topmost mount down, so that a restore
// can find or make them again.
func formerFolders(n *node) []formerFolder {
	above := n.trail[:len(n.trail)-1]
	folders := make([]formerFolder, len(above))
	names := n.path.Parent().Names()
	for i, l := range above {
		folders[i] = formerFolder{ID: l.id, Owner: l.owner, Password: l.password}
		// the names of the folders below the root of the mount, counted from the entry upwards
		if fromEnd := len(above) - i; fromEnd <= len(names) {
			folders[i].Name = string(names[len(names)-fromEnd])
		}
	}
	return folders
}

// trailOf returns the trail of these folders, by which the passwords at the time of the deletion
// apply.
func trailOf(folders []formerFolder) []trailEntry {
	trail := make([]trailEntry, len(folders))
	for i, f := range folders {
		trail[i] = trailEntry{id: f.ID, owner: f.Owner, password: f.Password}
	}
	return trail
}

// trashed is an entry in the trash: a row of the table trash.
type trashed struct {
	id, name, owner string
	deletedBy       string // account
	deletedByName   string // only in lists; "" for a deleted account
	deletedByKey    string // "" for none
	deletedAt       int64  // ms
	reason          TrashReason
	folder          bool // read along with the entry

	parent, mount, provider string
	path                    string
	parents                 []formerFolder
	files, folders, size    int64
	totals                  []ownerTotals // what each account has in it; only of a new record
}

// formerPath is the path that the entry had when it was deleted. Error: when the record has none.
func (i *trashed) formerPath() (vpath.Path, error) { return vpath.Parse(i.path) }
