package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// TrashItem is an entry in the trash.
type TrashItem struct {
	ID, Name      string // Name is that before the deletion
	Path          string // at the deletion
	Folder        bool
	Size          int64 // bytes of the files
	Files         int64 // itself included
	OwnerID       string
	DeletedAt     int64 // ms
	DeletedBy     string
	DeletedByName string // "" for a deleted account
	ExpiresAt     int64  // ms
	Reason        TrashReason
}

// TrashFilter selects entries of the trash.
type TrashFilter struct {
	Search string      // part of the name; "" for all
	In     *vpath.Path // the folder that they were in, nil for all
	Cursor string      // TrashPage.Next of the page before; "" for the first page
	Limit  int
}

// TrashPage is a page of the trash, newest first.
type TrashPage struct {
	Items []TrashItem
	Next  string // "" for the last page
	Kept  quota.Kept
}

// ListTrash lists the entries in the trash that belong to the actor or that the actor deleted. A
// key sees those that were in its root. Faults: Invalid for a cursor, NotFound for a folder.
func (t *Tree) ListTrash(ctx context.Context, a access.Actor, f TrashFilter) (TrashPage, error) {
	q := t.DB.Read(ctx)
	tq := trashQuery{userID: a.UserID, text: vpath.Fold(f.Search), limit: f.Limit + 1, root: keyRoot(a)}
	var err error
	if tq.beforeTime, tq.beforeID, err = parseTimeCursor(f.Cursor); err != nil {
		return TrashPage{}, err
	}
	if f.In != nil {
		in, err := t.ResourceAt(ctx, *f.In)
		if err != nil {
			return TrashPage{}, err
		}
		if err := in.Authorize(a, access.Read); err != nil {
			return TrashPage{}, err
		}
		if tq.parent = in.ID(); tq.parent == "" { // a virtual folder
			return TrashPage{}, nil
		}
	}
	found, err := listTrashed(q, t.DB.Dialect(), &tq)
	if err != nil {
		return TrashPage{}, err
	}
	settings, err := t.trashSettings(ctx)
	if err != nil {
		return TrashPage{}, err
	}
	var page TrashPage
	if len(found) > f.Limit {
		found = found[:f.Limit]
		last := found[f.Limit-1]
		page.Next = timeCursor(last.deletedAt, last.id)
	}
	for i := range found {
		page.Items = append(page.Items, found[i].item(settings))
	}
	page.Kept, err = quota.KeptOf(q, a.UserID)
	return page, err
}

// item returns the entry as lists of the trash show it; the settings give the time of its end.
func (i *trashed) item(s TrashSettings) TrashItem {
	return TrashItem{ID: i.id, Name: i.name, Path: i.path, Folder: i.folder, Size: i.size, Files: i.files,
		OwnerID: i.owner, DeletedAt: i.deletedAt, DeletedBy: i.deletedBy, DeletedByName: i.deletedByName,
		ExpiresAt: i.deletedAt + s.lifetime(), Reason: i.reason}
}

// lifetime is how long entries stay in the trash, and versions are kept, in ms.
func (s TrashSettings) lifetime() int64 { return int64(s.Days) * 24 * 60 * 60 * 1000 }

// keyRoot is the path of the folder that the actor's key may not leave, "" for an actor without a
// key and for a key that may go everywhere.
func keyRoot(a access.Actor) string {
	if a.Key == nil || a.Key.Root.IsRoot() {
		return ""
	}
	return a.Key.Root.String()
}

// trashedFor looks up an entry in the trash. The owner of the entry, the account that deleted it
// and administrators find it. A key finds it only if the entry was in the root of the key before
// its deletion. Fault: NotFound for everybody else.
func trashedFor(q db.Querier, a access.Actor, id string) (trashed, error) {
	i, err := trashedEntry(q, id)
	if err == nil && (i.id == "" || !i.seenBy(a)) {
		err = noTrashed()
	}
	if err != nil {
		return trashed{}, err
	}
	return i, nil
}

// seenBy reports whether the actor finds the entry in the trash: they own it, deleted it, or are an
// administrator; for a key, it must also have been in the root of the key.
func (i *trashed) seenBy(a access.Actor) bool {
	if a.UserID == "" || a.UserID != i.owner && a.UserID != i.deletedBy && a.Role != access.Admin {
		return false
	}
	if a.Key == nil {
		return true
	}
	path, err := i.formerPath()
	return err == nil && path.Within(a.Key.Root)
}

// noTrashed is the fault NotFound for an id that no entry in the trash has that the actor may see.
func noTrashed() error { return fault.New(fault.NotFound, "There is no such entry in the trash.") }
