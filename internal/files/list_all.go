package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/vpath"
)

// noRules is the policy without rules, which lets administrators do everything.
var noRules = access.NewPolicy(nil, false)

// ListAll lists all files and folders whose name contains the search text, or all there are for "".
// Rules do not restrict it: it is for administrators. Folders come first, then the entries in the
// order of their last change. It leaves out entries that are under no mount or are hidden by
// another one. Only Page, Limit and Search of the query count. Faults: Invalid.
func (t *Tree) ListAll(ctx context.Context, a access.Actor, q ListQuery) ([]Entry, int, error) {
	q.Path, q.Sort, q.Order, q.Type = vpath.Root, "", "", ""
	if err := q.check(); err != nil {
		return nil, 0, err
	}
	var n node
	names, err := t.nameOrderNow(ctx)
	if err != nil {
		return nil, 0, err
	}
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), q.Path)
		return version, err
	})
	if err != nil {
		return nil, 0, err
	}
	all := *v
	all.policy = noRules.WithMounts(mountLookup{v.mounts})
	e := &entryViewer{ruleset: &all, Viewer: access.Viewer{Policy: all.policy,
		Actor: access.Actor{UserID: a.UserID, Role: access.Admin}}}
	l := lister{entryViewer: e, q: t.DB.Read(ctx), cache: t.EntryCache, dialect: t.DB.Dialect(),
		mounts: v.mounts.Below(q.Path), kind: -1,
		order: sortOrder{key: "time", desc: true, names: names}}
	if err := l.readRoots(); err != nil {
		return nil, 0, err
	}
	f, err := l.enter(&n, q.Path)
	if err != nil {
		return nil, 0, err
	}
	parts, err := l.search(f, &n, q.Search, SearchFilter{})
	if err != nil {
		return nil, 0, err
	}
	seen, total, err := pageOf(parts, l.order, int64(min(q.Page, 1<<31)-1)*int64(q.Limit), int64(q.Limit))
	if err != nil {
		return nil, 0, err
	}
	entries := make([]Entry, len(seen))
	for i := range seen {
		entries[i] = plainEntry(&seen[i].row, seen[i].target)
	}
	return entries, int(total), nil
}
