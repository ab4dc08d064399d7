package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// FindBelow looks up the entry id, if it is the folder, or at any depth below it; a share shows its
// visitors entries only so. Fault: NotFound for all others.
func (t *Tree) FindBelow(ctx context.Context, folder, id string) (*FoundEntry, error) {
	f, err := t.FindID(ctx, id)
	if err == nil && (!f.node.exists() || !f.node.within(folder)) {
		return nil, noEntry()
	}
	return f, err
}

// SharedContentFor decides whether visitors of a share may download the file, by the rights of the
// actor, who shares a folder above it, and returns its content, unopened. Files that the actor may
// download but not read are refused, as in an archive. Faults: NotFound (no such file), Forbidden,
// PasswordRequired.
func (f *FoundEntry) SharedContentFor(a access.Actor) (Content, error) {
	content, err := f.ContentFor(a)
	if err == nil {
		err = f.rules.allow(a, f.node.existingTarget(a), access.Read)
	}
	if err != nil {
		return Content{}, err
	}
	return content, nil
}

// ListShared lists a path inside a folder that the actor shares, for the visitors of the share. It
// lists what an archive would contain: entries that the actor may download without a password that
// was not given. Only the Dir of the items tells where the folder is. Faults: Invalid; NotFound,
// also for everything that is not visible.
func (t *Tree) ListShared(ctx context.Context, a access.Actor, folder string, inside vpath.Path,
	q ListQuery) (Listing, error) {
	q.sharedFolderID = folder
	listing, err := atSharedPath(ctx, t, folder, inside, func(path vpath.Path) (Listing, error) {
		q.Path = path
		return t.List(ctx, a, q)
	})
	if err != nil {
		return Listing{}, err
	}
	for i, e := range listing.Items {
		if e.MountID == "" {
			listing.Items[i].ID = virtualID(inside.Child(vpath.Name(e.Name)))
		}
	}
	return listing, nil
}

// RevisionShared returns the state of the listing that ListShared returns for a path inside a
// shared folder, which tells whether it has changed. Fault: NotFound, also for everything that is
// not visible.
func (t *Tree) RevisionShared(ctx context.Context, a access.Actor, folder string, inside vpath.Path) (Revision, error) {
	return atSharedPath(ctx, t, folder, inside, func(path vpath.Path) (Revision, error) {
		return t.revision(ctx, a, path, folder)
	})
}

// atSharedPath calls read with the present path of a folder: the path inside, below the shared
// folder with the id folder. It tries again when the shared folder is moved meanwhile. Faults:
// those of read, with NotFound in place of Forbidden and PasswordRequired, since visitors must not
// learn why; NotFound without the shared folder.
func atSharedPath[Result any](ctx context.Context, t *Tree, folder string, inside vpath.Path,
	read func(path vpath.Path) (Result, error)) (Result, error) {
	var nothing Result
	for range db.MaxTries {
		n, _, err := t.lookUp(ctx, folder)
		if err != nil {
			return nothing, err
		}
		path, err := n.path.Append(inside.Names()...)
		if err != nil { // too deep for any entry
			return nothing, noFolder()
		}
		result, err := read(path)
		switch {
		case fault.Is(err, fault.Forbidden), fault.Is(err, fault.PasswordRequired), fault.Is(err, fault.NotFound):
			if at, err := t.PathOf(ctx, folder); err != nil || at != n.path { // it was moved meanwhile
				continue
			}
			return nothing, noFolder()
		case err != nil:
			return nothing, err
		}
		return result, nil
	}
	return nothing, noFolder()
}
