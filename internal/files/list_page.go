package files

import (
	"cmp"
	"slices"
)

// pageSource returns pages of a query's entries, in order; total is exact on every page. Offset and
// limit are at least 0.
type pageSource interface {
	page(offset, limit int64) (found []visibleEntry, total int64, err error)
}

// listPortion is the folders or the files of a listing: the entries of a query, and those with a
// decision of their own, which are merged in.
type listPortion struct {
	source     pageSource
	exceptions []visibleEntry // there are few
}

// pageOf returns one page of a listing whose parts follow one another, from offset on and at most
// limit entries, and the total number of entries in all parts.
func pageOf(parts []listPortion, order sortOrder, offset, limit int64) (found []visibleEntry, total int64, err error) {
	for _, p := range parts {
		some, n, err := p.page(order, max(offset-total, 0), limit-int64(len(found)))
		if err != nil {
			return nil, 0, err
		}
		found = append(found, some...)
		total += n
	}
	return found, total, nil
}

// page returns the entries of the portion from offset on, at most limit, and their total number. It
// merges the exceptions into a page of the source, in the given order. At most all of them come
// before the first entry of the page, so it asks the source for that many entries more before the
// page.
func (p *listPortion) page(order sortOrder, offset, limit int64) ([]visibleEntry, int64, error) {
	if len(p.exceptions) == 0 {
		return p.source.page(offset, limit)
	}
	extra := int64(len(p.exceptions))
	from := max(offset-extra, 0)
	found, total, err := p.source.page(from, limit+extra)
	if err != nil {
		return nil, 0, err
	}
	for i := range p.exceptions { // a mount has another name than its row
		p.exceptions[i].key = order.names.key(p.exceptions[i].row.name)
	}
	for i := range found { // in the order of the query, even where a stored key is wrong
		found[i].key = order.names.storedKey(&found[i].row)
	}
	special := slices.SortedFunc(slices.Values(p.exceptions), func(a, b visibleEntry) int {
		// for mounts of equal names
		return cmp.Or(order.compare(a, b), cmp.Compare(a.target.Path.String(), b.target.Path.String()))
	})
	at := from // position of the first merged entry
	if from > 0 {
		for len(special) > 0 && len(found) > 0 && order.compare(special[0], found[0]) < 0 {
			special, at = special[1:], at+1
		}
	}
	if from >= total { // all of the source comes before
		at = total
	}
	merged := append(found, special...)
	slices.SortStableFunc(merged, order.compare)
	total += extra
	first := min(max(offset-at, 0), int64(len(merged)))
	last := min(first+limit, int64(len(merged)))
	return merged[first:last], total, nil
}

// window returns the elements of a sequence from offset on, at most limit, and the length of the
// sequence. count returns the length. read returns elements in order; with reverse, offset counts
// from the end. window skips from the nearer end, and needs no count for a first page that is not
// full.
func window[T any](offset, limit int64, count func() (int64, error),
	read func(offset, limit int64, reverse bool) ([]T, error)) ([]T, int64, error) {
	var first []T
	if offset == 0 && limit > 0 {
		var err error
		if first, err = read(0, limit, false); err != nil || int64(len(first)) < limit {
			return first, int64(len(first)), err
		}
	}
	total, err := count()
	if err != nil || first != nil || limit == 0 || total <= offset {
		return first, max(total, int64(len(first))), err
	}
	limit = min(limit, total-offset)
	after := total - offset - limit
	reverse := after < offset
	if reverse {
		offset = after
	}
	found, err := read(offset, limit, reverse)
	return found, total, err
}

// compare returns a negative number when a comes before b, a positive one when after. Both are of
// one kind (file or folder). It orders as the SQL of orderBy does.
func (o sortOrder) compare(a, b visibleEntry) int {
	key := 0
	name := cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row.name, b.row.name))
	switch o.key {
	case "time":
		key = cmp.Compare(a.row.updated, b.row.updated)
	case "size":
		key = cmp.Compare(a.row.size, b.row.size)
	case "manual":
		switch {
		case a.row.position == nil && b.row.position != nil:
			return 1
		case a.row.position != nil && b.row.position == nil:
			return -1
		case a.row.position != nil:
			key = cmp.Compare(*a.row.position, *b.row.position)
		}
	default:
		key, name = name, 0
	}
	if o.desc {
		key = -key
	}
	return cmp.Or(key, name, cmp.Compare(a.row.parent, b.row.parent))
}
