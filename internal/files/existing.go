package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/object"
	"larder/internal/vpath"
)

// Existing returns the entry at a path, and the SHA-256 of its content in hexadecimal: "" for a
// folder, while the sum is not known, and where the actor may not download the file. Faults:
// NotFound; Forbidden and PasswordRequired when the actor may not read the entry.
func (t *Tree) Existing(ctx context.Context, a access.Actor, path vpath.Path) (e Entry, sum string, err error) {
	f, err := t.FindPath(ctx, path)
	if err != nil {
		return Entry{}, "", err
	}
	if !f.node.exists() {
		return Entry{}, "", noEntry()
	}
	if e, _, err = t.Details(ctx, a, f.node.id); err != nil || e.Folder || !e.Permissions.Has(access.Download) {
		return e, "", err
	}
	sum, err = object.SHA256(t.DB.Read(ctx), e.object)
	return e, sum, err
}
