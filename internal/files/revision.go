package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"larder/internal/access"
	"larder/internal/vpath"
)

// Revision is the state of a folder's listing.
type Revision struct {
	ID    string // 32 hexadecimal digits; another one after a change of what the actor may see
	Total int    // entries of the listing
}

// Revision returns the state of the listing of a folder for an actor. It reads one index and none
// of the entries, except where rules decide about each name. Changes that leave the number, the sum
// of the sizes and that of the times of all entries as they were are not noticed. Faults: those of
// List.
func (t *Tree) Revision(ctx context.Context, a access.Actor, path vpath.Path) (Revision, error) {
	return t.revision(ctx, a, path, "")
}

// revision is Revision, or the state of the listing that visitors of a share see if sharedFolderID
// is the id of the shared folder; "" for none.
func (t *Tree) revision(ctx context.Context, a access.Actor, path vpath.Path, sharedFolderID string) (Revision, error) {
	l, n, f, err := t.openFolder(ctx, a, path, sharedFolderID)
	if err != nil {
		return Revision{}, err
	}
	if l.order.names, err = t.nameOrderNow(ctx); err != nil {
		return Revision{}, err
	}
	l.order.key = "name"
	digest := sha256.New()
	fmt.Fprintf(digest, "%d %q %d\n", l.version, n.id, n.updated)
	parts, err := l.children(f)
	if err != nil {
		return Revision{}, err
	}
	var total int64
	for _, p := range parts {
		for i := range p.exceptions {
			writeState(digest, &p.exceptions[i])
		}
		sums, err := p.source.(*folderPortion).sums()
		if err != nil {
			return Revision{}, err
		}
		fmt.Fprintf(digest, "%v\n", sums)
		total += sums.count + int64(len(p.exceptions))
	}
	return Revision{ID: hex.EncodeToString(digest.Sum(nil)[:16]), Total: int(total)}, nil
}

// writeState writes into digest what distinguishes an entry and its changes: path, id and time.
func writeState(digest hash.Hash, s *visibleEntry) {
	fmt.Fprintf(digest, "%q %q %d\n", s.target.Path.String(), s.row.id, s.row.updated)
}

// sums returns number, times and sizes of the entries of the portion that the actor sees, from the
// index where no rule decides about names.
func (p *folderPortion) sums() (sums entrySums, err error) {
	switch {
	case p.folder.id == "" || p.selection.visible == access.ShownNone && len(p.selection.globs) == 0:
		return entrySums{}, nil
	case p.selection.visible == access.ShownByName:
		err = p.selection.each(p.q, p.order, func(r *row) {
			if s := (visibleEntry{row: *r, target: childTarget(p.folder.target, p.Actor, r)}); p.lists(&s) {
				sums.add(r)
			}
		})
		return sums, err
	}
	return p.selection.sums(p.q)
}
