package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/vpath"
)

// Revision is the state of a folder's listing.
type Revision struct {
	ID    string // 32 hexadecimal digits; another one after a change of what the actor may see
	Total int    // entries of the listing
}

// Revision returns the state of the listing of a folder for an actor. It reads one index and none
// of the entries, except where rules decide about each name. A change that gives an entry the
// content and the time of another one at the same moment may leave the ID as it is. Faults: those of
// List.
func (t *Tree) Revision(ctx context.Context, a access.Actor, path vpath.Path) (Revision, error) {
	l, n, f, err := t.openFolder(ctx, a, path, "")
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

func writeState(digest hash.Hash, s *visibleEntry) {
	fmt.Fprintf(digest, "%q %q %d\n", s.target.Path.String(), s.row.id, s.row.updated)
}

// entrySums describes a set of entries: any change of an entry raises its time.
type entrySums struct{ count, newest, times, sizes int64 }

// timeModulus keeps the sum of a billion times below 2^63.
const timeModulus = 1_000_000_007

func (s *entrySums) add(r *row) {
	s.count++
	s.newest = max(s.newest, r.updated)
	s.times += r.updated % timeModulus
	s.sizes += r.size
}

// sums describes the entries of the portion that the actor may see.
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

// sums reads entrySums of the selected entries from the index.
func (sel *selection) sums(q db.Querier) (sums entrySums, err error) {
	var s statement
	fmt.Fprintf(&s, `
		SELECT COUNT(*), COALESCE(MAX(e.updated_at), 0), CAST(COALESCE(SUM(e.updated_at %% %d), 0) AS BIGINT),
			CAST(COALESCE(SUM(e.size), 0) AS BIGINT)
		FROM entries e
		WHERE `, timeModulus)
	sel.where(&s)
	if err = q.QueryRow(s.String(), s.args...).Scan(&sums.count, &sums.newest, &sums.times, &sums.sizes); err != nil {
		return entrySums{}, fmt.Errorf("read the state of a folder: %w", err)
	}
	return sums, nil
}
