package files

import (
	"errors"
	"fmt"
	"slices"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// HomeCandidate is a path whose folder may become a home.
type HomeCandidate struct {
	ID           string   // of the folder there, "" when it does not exist
	FolderIDs    []string // the folders that it is in, through all mounts, and itself
	MountRootIDs []string // the roots of the mounts in it
	Virtual      bool     // no mount covers it, but some are below: a folder without an entry

	node *node
}

// FindHomeCandidate looks up the path of a folder that is to become the home of an account, inside
// tx, which must hold the tree exclusively. The folder may be missing. Fault: Invalid for a
// reserved path, where a name in the path is a file's, and where nothing is mounted, at the path or
// below.
func (t *Tree) FindHomeCandidate(tx *db.Tx, p vpath.Path) (HomeCandidate, error) {
	if err := checkNotReserved(p); err != nil {
		return HomeCandidate{}, err
	}
	mounts, err := t.Mounts.TableIn(tx)
	if err != nil {
		return HomeCandidate{}, err
	}
	n, _, err := (&ruleset{mounts: mounts}).find(tx, p)
	if err != nil {
		return HomeCandidate{}, err
	}
	h := HomeCandidate{node: &n}
	below := mounts.Below(p)
	for _, m := range below {
		h.MountRootIDs = append(h.MountRootIDs, m.RootID)
	}
	switch {
	case !n.mounted() && len(below) > 0:
		h.Virtual = true
		return h, nil
	case !n.mounted():
		return HomeCandidate{}, fault.New(fault.Invalid, "Nothing is mounted at this path.")
	case n.id == "" || !n.folder:
		return HomeCandidate{}, fault.New(fault.Invalid, "A name in this path belongs to a file, not to a folder.")
	}
	h.FolderIDs = n.folderIDs()
	if n.exists() {
		h.ID = n.id
	}
	return h, nil
}

// folderIDs returns the ids of all folders on the way to n, through all mounts, and of n itself,
// from the top down.
func (n *node) folderIDs() (ids []string) {
	for _, l := range n.trail {
		ids = append(ids, l.id)
	}
	return ids
}

// CreateHome makes the folder of a HomeCandidate where it does not exist, for ownerID, and returns
// its id. Missing folders above it belong to the owner of the folder that they are made in.
func (t *Tree) CreateHome(tx *db.Tx, h HomeCandidate, ownerID string) (id string, err error) {
	n := *h.node
	for i, name := range n.missing {
		r := row{id: t.IDs.UUID(), parent: n.id, name: string(name), folder: true, owner: n.owner}
		if i == len(n.missing)-1 {
			r.owner = ownerID
		}
		done, err := t.insertUnlimited(tx, &r)
		if err != nil {
			return "", err
		}
		if !done {
			return "", errors.New("a folder was made although the tree is held alone")
		}
		n.row = r
	}
	return n.id, nil
}

// RenameFormerHome renames the home of an account that is being deleted, so that a new account of
// the same name does not get it. tx must hold the tree alone. Some folders keep their names: a
// mount or a folder that one is below, which cannot be renamed; a folder of another owner; and a
// folder at one of the paths in known, which rules and accounts refer to by name. No account ever
// gets an existing folder as its new home.
func (t *Tree) RenameFormerHome(tx *db.Tx, homeID, ownerID string, known []vpath.Path) error {
	mounts, err := t.Mounts.TableIn(tx)
	if err != nil {
		return err
	}
	v := ruleset{mounts: mounts}
	n, _, err := v.findID(tx, homeID)
	if err != nil || !n.exists() || v.immovable(&n) || n.owner != ownerID || slices.Contains(known, n.path) {
		return err
	}
	for range maxTries {
		name := formerHomeName(n.name, t.IDs.Hex(4))
		there, err := childNamed(tx, n.parent, name)
		if err != nil {
			return err
		}
		if there.id == "" && !v.occupied(&n, n.path.Parent().Child(name)) {
			return t.renameFolder(tx, &n, name)
		}
	}
	return fmt.Errorf("no name is free for the home %s", homeID)
}

// renameFolder renames the folder n, and adapts the patterns of the rules for its content to the
// new path. The caller raises the config version, so that all replicas reload the rules.
func (t *Tree) renameFolder(tx *db.Tx, n *node, name vpath.Name) error {
	if err := t.Policies.MovePatterns(tx, n.path, n.path.Parent().Child(name)); err != nil {
		return err
	}
	if err := recordPlace(tx, n.id, t.nowMs()); err != nil {
		return err
	}
	return t.relocate(tx, &n.row, n.parent, name, t.nowMs())
}

// formerHomeName returns the name for the home of a deleted account: the present name, shortened if
// needed, with `.deleted-` and random, which makes it unlikely to be taken.
func formerHomeName(name, random string) vpath.Name {
	suffix := ".deleted-" + random
	runes := []rune(name)
	return vpath.Name(string(runes[:min(len(runes), vpath.MaxNameRunes-len(suffix))]) + suffix)
}
