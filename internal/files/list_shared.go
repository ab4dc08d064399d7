package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// FindBelow looks for an entry that lies below a folder, or is that itself. Fault:
// NotFound for all others.
func (t *Tree) FindBelow(ctx context.Context, folder, id string) (*FoundEntry, error) {
	f, err := t.FindID(ctx, id)
	if err == nil && (!f.node.exists() || !f.node.within(folder)) {
		return nil, noEntry()
	}
	return f, err
}

// SharedContentFor is For of a file below a folder that the actor shows to somebody. What they may
// download but not read does not show there, as in an archive. Faults: those of For.
func (f *FoundEntry) SharedContentFor(a access.Actor) (Content, error) {
	content, err := f.ContentFor(a)
	if err == nil {
		err = f.rules.allow(a, f.node.facts(a), access.Read)
	}
	if err != nil {
		return Content{}, err
	}
	return content, nil
}

// ListShared lists for somebody to whom the actor shows a folder what lies at a path seen from
// there. It holds what an archive would: what the actor may download without a password that was
// not given. Nothing that is returned tells where the folder lies but the Dir of items. Faults:
// Invalid, NotFound, also for all that does not show.
func (t *Tree) ListShared(ctx context.Context, a access.Actor, folder string, inside vpath.Path,
	q ListQuery) (Listing, error) {
	q.sharedFolderID = folder
	for range db.MaxTries {
		n, _, err := t.lookUp(ctx, folder)
		if err != nil {
			return Listing{}, err
		}
		if q.Path, err = n.path.Append(inside.Names()...); err != nil { // so deep that nothing can be there
			return Listing{}, noFolder()
		}
		listing, err := t.List(ctx, a, q)
		switch {
		case fault.Is(err, fault.Forbidden), fault.Is(err, fault.PasswordRequired), fault.Is(err, fault.NotFound):
			if at, err := t.PathOf(ctx, folder); err != nil || at != n.path { // it was moved meanwhile
				continue
			}
			return Listing{}, noFolder()
		case err != nil:
			return Listing{}, err
		}
		for i, e := range listing.Items {
			if e.MountID == "" {
				listing.Items[i].ID = virtualID(inside.Child(vpath.Name(e.Name)))
			}
		}
		return listing, nil
	}
	return Listing{}, noFolder()
}
