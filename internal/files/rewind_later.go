package files

import (
	"context"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
)

// rewindLimit is the largest number of entries that a rewind goes through: those that were in the
// folder, at any depth, and those that came later. The entries in a folder that came later do not
// count.
const rewindLimit = 100_000

// laterPage is the number of entries of a folder that removeLater reads at a time.
const laterPage = 1000

// countFolder adds the number of entries that the folder had to w.seen, before they are read.
// Fault: Conflict for more than rewindLimit in all.
func (w *rewinder) countFolder(l *pastLister) error {
	n, err := countPast(l.q, l.id, w.at, w.rewindLimit-w.seen+1)
	if err != nil {
		return err
	}
	return w.countMore(n)
}

// countMore adds n entries to w.seen. Fault: Conflict for more than rewindLimit in a plan.
func (w *rewinder) countMore(n int64) error {
	if w.seen += n; w.dry && w.seen > w.rewindLimit {
		return fault.Newf(fault.Conflict,
			"A rewind goes through at most %d entries, and this folder has more. Rewind the folders in it one by one.",
			w.rewindLimit)
	}
	return nil
}

// removeLater moves the present entries of the folder f to the trash that came into it after the
// time of the rewind.
func (w *rewinder) removeLater(ctx context.Context, f *pastFolder) error {
	had := make(map[string]bool, len(f.entries))
	for i := range f.entries {
		had[f.entries[i].id] = true
	}
	for _, kind := range []int{folderKind, fileKind} {
		for after, more := (namePosition{}), true; more; {
			page, err := childrenAfter(f.q, w.DB.Dialect(), f.id, kind, after, laterPage)
			if err != nil {
				return err
			}
			if more = len(page) == laterPage; more {
				last := &page[len(page)-1]
				after = namePosition{folded.storedKey(last), last.name}
			}
			page = slices.DeleteFunc(page, func(r row) bool {
				return had[r.id] || f.now != nil && !f.Shows(childTarget(f.target, w.actor, &r), r.folder)
			})
			if err := w.removePage(ctx, f, page); err != nil {
				return err
			}
			if err := w.extend(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// removePage moves the entries of one page, which were not in f at that time, to the trash. An
// entry that was elsewhere in the rewound folder stays, since it could not be moved back.
func (w *rewinder) removePage(ctx context.Context, f *pastFolder, page []row) error {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].id
	}
	belonging, err := w.belonging(f, ids)
	if err != nil {
		return err
	}
	for i := range page {
		r := &page[i]
		if belonging[r.id] {
			continue
		}
		if err := w.countMore(1); err != nil {
			return err
		}
		target := childTarget(f.target, w.actor, r)
		err := w.do(&w.plan.ToTrash, target.Path, func() error {
			if !w.dry {
				return w.toTrash(ctx, r.id)
			}
			if err := f.allow(w.actor, target, access.Delete); err != nil {
				return err
			}
			return w.addKept(f, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// belonging returns those of the ids whose entries were somewhere in the rewound folder at the time
// of the rewind. It remembers for each former folder whether that was so.
func (w *rewinder) belonging(f *pastFolder, ids []string) (map[string]bool, error) {
	parents, err := parentsAt(f.q, ids, w.at)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for id, parent := range parents {
		inside, known := w.inside[parent]
		if !known {
			then, err := f.findAt(f.q, parent, w.at)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			inside = err == nil && then.within(w.root)
			w.inside[parent] = inside
		}
		if inside {
			found[id] = true
		}
	}
	return found, nil
}

// movedEntry is an entry that the plan moves back.
type movedEntry struct {
	row
	above []string // ids of the folders that it is in now, from the top down
}

// recordMoved records for a plan that the entry c leaves the folders that it is in now, so that its
// bytes do not count when one of these goes to the trash.
func (w *rewinder) recordMoved(c *pastChild) {
	if here := &c.here.node; w.dry && c.here.item == "" && here.within(w.root) {
		above := trailIDs(here.trail[:len(here.trail)-1])
		w.moved = append(w.moved, movedEntry{here.row, above[slices.Index(above, w.root)+1:]})
	}
}

// addKept adds the bytes of the entry r in f, which goes to the trash, to w.kept by owner. Entries
// that are moved back out of the folder r before do not count.
func (w *rewinder) addKept(f *pastFolder, r *row) error {
	if !r.folder {
		w.kept[r.owner] += r.size
		return nil
	}
	_, sums, err := sumBelow(f.q, r.id)
	if err != nil {
		return err
	}
	for _, s := range sums {
		w.kept[s.owner] += s.bytes
	}
	leaving, err := w.leavingBytes(f.q)
	if err != nil {
		return err
	}
	for owner, bytes := range leaving[r.id] {
		w.kept[owner] -= bytes
	}
	return nil
}

// leavingBytes returns, by folder and then by account, the bytes of the entries that the plan moves
// back out of the folder. An entry that leaves with a folder counts only up to that folder. It is
// computed once, at the first call.
func (w *rewinder) leavingBytes(q db.Querier) (map[string]map[string]int64, error) {
	if w.leaving != nil {
		return w.leaving, nil
	}
	leaves := map[string]bool{}
	for i := range w.moved {
		leaves[w.moved[i].id] = true
	}
	w.leaving = map[string]map[string]int64{}
	for i := range w.moved {
		m := &w.moved[i]
		sums := []ownerTotals{{owner: m.owner, bytes: m.size}}
		if m.folder {
			var err error
			if _, sums, err = sumBelow(q, m.id); err != nil {
				return nil, err
			}
		}
		for _, folder := range slices.Backward(m.above) {
			if leaves[folder] {
				break
			}
			by := w.leaving[folder]
			if by == nil {
				by = map[string]int64{}
				w.leaving[folder] = by
			}
			for _, s := range sums {
				by[s.owner] += s.bytes
			}
		}
	}
	return w.leaving, nil
}

// checkKept refuses a rewind that would move more bytes of an account to the trash than its trash
// may have: the sweep would delete a part of them at once, and the rewind could not be rewound.
// Fault: Conflict.
func (w *rewinder) checkKept(ctx context.Context) error {
	for _, owner := range slices.Sorted(maps.Keys(w.kept)) {
		bound, err := quota.KeptOf(w.DB.Read(ctx), owner)
		if err != nil {
			return err
		}
		if bound.Max != quota.Unlimited && w.kept[owner] > bound.Max {
			return fault.New(fault.Conflict, "This would move more to the trash than the trash of an owner may have. "+
				"Delete for good what came later, or rewind the folders in it one by one.")
		}
	}
	return nil
}
