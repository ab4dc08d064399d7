package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Conflict says what becomes of a new file whose name is taken.
type Conflict string

// The ways out. The first takes the next free name with a number, the second needs permission to
// update and keeps the id.
const (
	RenameNew Conflict = "rename"
	Replace   Conflict = "replace"
	Fail      Conflict = "fail"
)

// ParseConflict reads a Conflict; "" is RenameNew. Fault: Invalid.
func ParseConflict(s string) (Conflict, error) {
	switch c := Conflict(s); c {
	case "":
		return RenameNew, nil
	case RenameNew, Replace, Fail:
		return c, nil
	}
	return "", fault.New(fault.Invalid, "A conflict is settled by rename, replace or fail.")
}

// Destination is where a new file goes: judged, not yet made.
type Destination struct {
	MountID, ProviderID string
	Dir                 vpath.Path   // as asked for
	BaseID              string       // the deepest folder of it that exists
	Missing             []vpath.Name // the folders below that are to be made
	Name                vpath.Name
	Conflict            Conflict
	// a file lies there now whose content is to be replaced: no further file comes into being
	Replaces bool
	// whose quota what lies there then counts for: the file's owner where one is
	// replaced, else the actor
	Payer      string
	Freed      int64  // bytes that come free in it by replacing
	ReplacesID string // the id of the file that is replaced, "" for none
	// Expect, unless it is nil, judges what lies there when the file is put, by its ETag, "" for
	// nothing or a folder. Its error ends Put.
	Precondition func(etag string) error
}

// Destination judges whether the actor may put a file called name into dir. Faults: Invalid (a path
// that is reserved, too deep or too long), Unauthorized (no account), NotFound (no mount, a file
// where a folder is meant), Forbidden, PasswordRequired, AlreadyExists (conflict Fail; a folder, or
// a mount, that cannot be replaced).
func (t *Tree) ResolveDestination(ctx context.Context, a access.Actor, dir vpath.Path, name vpath.Name,
	c Conflict) (Destination, error) {
	path, err := checkedNewPath(a, dir, name)
	if err != nil {
		return Destination{}, err
	}
	var n node
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), dir)
		return version, err
	})
	if err != nil {
		return Destination{}, err
	}
	if !n.mounted() {
		return Destination{}, noMount()
	}
	p := Destination{MountID: n.mount.ID, ProviderID: n.mount.ProviderID, Dir: dir, BaseID: n.id, Missing: n.missing,
		Name: name, Conflict: c}
	var there row
	if n.isFolder() {
		if there, err = childNamed(t.DB.Read(ctx), n.id, name); err != nil {
			return Destination{}, err
		}
	}
	if err := v.judgeDestination(a, &n, path, &there, c); err != nil {
		return Destination{}, err
	}
	if n.id == "" || !n.folder {
		return Destination{}, fault.New(fault.NotFound, "The target folder does not exist.")
	}
	// the name that it is likely to get; the one that it does get is judged when it is put there
	if c == RenameNew && there.id != "" {
		if err := v.allow(a, n.newTarget(a, n.path.Child(numbered(name, 1))), access.Write); err != nil {
			return Destination{}, err
		}
	}
	p.Payer = a.UserID
	if c == Replace && there.id != "" {
		p.Replaces, p.Payer, p.Freed, p.ReplacesID = true, there.owner, there.size, there.id
	}
	return p, nil
}

// checkedNewPath checks what needs no look at the tree.
func checkedNewPath(a access.Actor, dir vpath.Path, name vpath.Name) (vpath.Path, error) {
	path, err := dir.Append(name)
	if err != nil {
		return vpath.Path{}, err
	}
	if err := checkNotReserved(path); err != nil {
		return vpath.Path{}, err
	}
	if a.UserID == "" {
		return vpath.Path{}, fault.New(fault.Unauthorized, "Sign in to do this.")
	}
	return path, nil
}

func checkNotReserved(path vpath.Path) error {
	if path.Reserved() {
		return fault.New(fault.Invalid, "The first segment of this path is reserved for the service.")
	}
	return nil
}

// judgeDestination decides about a file at path, in the folder n with what is missing below it;
// there is what has its name now, without id for nothing.
func (v *ruleset) judgeDestination(a access.Actor, n *node, path vpath.Path, there *row, c Conflict) error {
	made := n.path
	for _, name := range n.missing {
		made = made.Child(name)
		if err := v.allow(a, n.newTarget(a, made), access.Write); err != nil {
			return err
		}
	}
	if there.id != "" && !there.folder && c == Replace {
		if err := v.allow(a, childTarget(n.facts(a), a, there), access.Update); err != nil {
			return err
		}
		if v.occupied(n, path) {
			return nameTaken()
		}
		return nil
	}
	if err := v.allow(a, n.newTarget(a, path), access.Write); err != nil {
		return err
	}
	if c != RenameNew && (there.id != "" || v.occupied(n, path)) {
		return nameTaken()
	}
	return nil
}

// covered reports whether another mount than n's lies at path.
func (v *ruleset) covered(n *node, path vpath.Path) bool {
	m, _ := v.mounts.Resolve(path)
	return m.ID != n.mount.ID
}

// occupied reports whether nothing of n's can be put at path: another mount lies there, or further
// below, so that the path shows as a folder and what is in the way of that mount would be hidden.
func (v *ruleset) occupied(n *node, path vpath.Path) bool {
	return v.covered(n, path) || len(v.mounts.Below(path)) > 0
}

// destinationFolder finds, inside a transaction, the folder that a Place begins at, and walks down
// to what has been made meanwhile. Fault: Conflict.
func (v *ruleset) destinationFolder(tx *db.Tx, p Destination) (n node, version int64, err error) {
	n, version, err = v.findID(tx, p.BaseID)
	if err != nil || version != v.version {
		return n, version, err
	}
	// An upload stays with what it began on (abuse case C24): the mount may have another provider
	// by now, or another mount of this one the folder.
	if !n.isFolder() || n.mount.ID != p.MountID && n.mount.ProviderID != p.ProviderID {
		return n, version, fault.New(fault.Conflict, "The folder that the file was meant for is gone.")
	}
	if len(p.Missing) == 0 {
		return n, version, nil
	}
	deeper, version, err := descend(tx, n.id, p.Missing)
	if err != nil {
		return n, version, err
	}
	found := len(p.Missing) - len(deeper.missing)
	deeper.mount, deeper.path = n.mount, n.path
	for _, name := range p.Missing[:found] {
		deeper.path = deeper.path.Child(name)
	}
	deeper.trail = append(n.trail[:len(n.trail)-1:len(n.trail)-1], deeper.trail...)
	if !deeper.folder {
		return n, version, fault.New(fault.NotFound, "A file lies where a folder is meant.")
	}
	return deeper, version, nil
}
