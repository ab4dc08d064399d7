package files

import (
	"context"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Conflict says what happens to a new file whose name is taken.
type Conflict string

// The values. RenameNew takes the next free name with a number. Replace needs the permission to
// update and keeps the id.
const (
	RenameNew Conflict = "rename"
	Replace   Conflict = "replace"
	Fail      Conflict = "fail"
)

// ParseConflict parses how a client wants a name conflict settled: rename, replace or fail; "" is
// RenameNew. Fault: Invalid.
func ParseConflict(s string) (Conflict, error) {
	switch c := Conflict(s); c {
	case "":
		return RenameNew, nil
	case RenameNew, Replace, Fail:
		return c, nil
	}
	return "", fault.New(fault.Invalid, "The conflict is rename, replace or fail.")
}

// Destination is where a new file goes. Permissions are checked; nothing is made yet.
type Destination struct {
	MountID, ProviderID string
	Dir                 vpath.Path   // as requested
	BaseID              string       // deepest existing folder of Dir
	Missing             []vpath.Name // missing folders below it, to be made
	Name                vpath.Name
	Conflict            Conflict
	// Replaces says that the content of an existing file is replaced: the number of files stays the
	// same.
	Replaces bool
	// Payer is the user whose quota is charged: the owner of a replaced file, else the actor.
	Payer      string
	Freed      int64  // bytes that the replacement frees in that quota
	ReplacesID string // id of the replaced file, "" for none
	// Modified is the time that the file gets as that of its last change; the present time if it is
	// zero or in the future.
	Modified time.Time
	// Precondition, unless it is nil, checks the existing entry when the file is put, by its ETag,
	// "" for none or a folder. Its error ends Put.
	Precondition func(etag string) error
}

// ResolveDestination decides whether the actor may put a file called name into dir. Faults: Invalid
// (a reserved path, too deep or too long), Unauthorized (no account), NotFound (no mount, a file
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
	if err := v.authorizeDestination(a, &n, path, &there, c); err != nil {
		return Destination{}, err
	}
	if n.id == "" || !n.folder {
		return Destination{}, fault.New(fault.NotFound, "The target folder does not exist.")
	}
	// the most likely new name; Put decides about the final one
	if c == RenameNew && (there.id != "" || v.occupied(&n, path)) {
		if err := v.allow(a, n.newTarget(a, dir.Child(numbered(name, 1))), access.Write); err != nil {
			return Destination{}, err
		}
	}
	p.Payer = a.UserID
	if c == Replace && there.id != "" {
		p.Replaces, p.Payer, p.Freed, p.ReplacesID = true, there.owner, there.size, there.id
	}
	return p, nil
}

// checkedNewPath returns the path of a new entry called name in dir, after the checks that need no
// look at the tree. Faults: Invalid (too deep or too long, a reserved path), Unauthorized without
// an account.
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

// checkNotReserved refuses a path whose first segment the service needs for its own addresses, such
// as `/api`. Fault: Invalid.
func checkNotReserved(path vpath.Path) error {
	if path.Reserved() {
		return fault.New(fault.Invalid, "The first segment of this path is reserved by the service.")
	}
	return nil
}

// authorizeDestination decides whether the actor may put a file at path, in the folder n with the
// missing folders below it: write for each missing folder and the file, or update for an existing
// file that is replaced. there is the entry at path, without id for none; c says what happens to
// it. Faults: Forbidden, PasswordRequired, AlreadyExists.
func (rs *ruleset) authorizeDestination(a access.Actor, n *node, path vpath.Path, there *row, c Conflict) error {
	made := n.path
	for _, name := range n.missing {
		made = made.Child(name)
		if err := rs.allow(a, n.newTarget(a, made), access.Write); err != nil {
			return err
		}
	}
	if there.id != "" && !there.folder && c == Replace {
		if err := rs.allow(a, childTarget(n.existingTarget(a), a, there), access.Update); err != nil {
			return err
		}
		if rs.occupied(n, path) {
			return nameTaken()
		}
		return nil
	}
	if err := rs.allow(a, n.newTarget(a, path), access.Write); err != nil {
		return err
	}
	if c != RenameNew && (there.id != "" || rs.occupied(n, path)) {
		return nameTaken()
	}
	return nil
}

// occupied reports whether path cannot be used for an entry in n's mount: another mount is there or
// further below, so that the path is a folder, and the entry would be hidden.
func (rs *ruleset) occupied(n *node, path vpath.Path) bool {
	return rs.hiddenByMount(n.mount.ID, path) || len(rs.mounts.Below(path)) > 0
}

// destinationFolder looks up, inside a transaction, the folder of a Destination: from its deepest
// folder that existed when the upload began, down the missing folders that others have made
// meanwhile. version is the config version that it read. Faults: Conflict when the folder is gone
// or has moved to another provider; NotFound when a file has the name of a missing folder.
func (rs *ruleset) destinationFolder(tx *db.Tx, p Destination) (n node, version int64, err error) {
	n, version, err = rs.findID(tx, p.BaseID)
	if err != nil || version != rs.version {
		return n, version, err
	}
	// An upload stays in the provider that it began in (abuse case C24): the mount may have another
	// provider by now, or the folder may be in another mount of the same provider.
	if !n.isFolder() || n.mount.ID != p.MountID && n.mount.ProviderID != p.ProviderID {
		return n, version, fault.New(fault.Conflict, "The target folder no longer exists.")
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
		return n, version, fault.New(fault.NotFound, "A name in this path belongs to a file, not to a folder.")
	}
	return deeper, version, nil
}
