package files

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/vpath"
)

// listColumns are entryColumns without those of an object, and the sort key.
var listColumns = strings.Replace(entryColumns,
	"o.provider_id, o.key, COALESCE(o.content_id, o.id), o.damaged_at IS NOT NULL",
	"NULL, NULL, NULL, FALSE", 1) + ", e.sort_key"

// noLimit is a limit that no result reaches.
const noLimit = math.MaxInt64

// orderBy is the order of entries of one kind for ORDER BY, with the table entries as e. reverse
// inverts all of it, including ties.
func (o sortOrder) orderBy(reverse bool) string {
	key, tie := "", ""
	if o.desc != reverse {
		key = " DESC"
	}
	if reverse {
		tie = " DESC"
	}
	name := ", " + o.names.orderBy(tie)
	switch o.key {
	case "time":
		return "e.updated_at" + key + name
	case "size":
		return "e.size" + key + name
	case "manual":
		return "e.manual_position IS NULL" + tie + ", e.manual_position" + key + name
	}
	return o.names.orderBy(key)
}

// joinDelimited joins strings to one parameter, with the separator around each, so that a query can
// look for `,id,` in the text instead of a list whose length would change the statement.
func joinDelimited(separator string, parts []string) string {
	return separator + strings.Join(parts, separator) + separator
}

// selection is the visible files or folders directly in a folder.
type selection struct {
	dialect db.Dialect
	names   nameOrder
	folder  string // id
	kind    int
	visible access.ShownEntries
	globs   []access.Glob
	except  []vpath.Name // names to leave out
	userID  string
}

// where writes the conditions of the selection into s, with the table entries as e.
func (sel *selection) where(s *statement) {
	fmt.Fprintf(s, "e.parent_id = %s AND e.kind = %d%s", s.arg(sel.folder), sel.kind, sel.names.indexed(sel.dialect))
	switch {
	case len(sel.globs) > 0:
		sel.writeGlobs(s)
	case sel.visible == access.ShownOwn:
		s.WriteString(" AND e.owner_id = " + s.arg(sel.userID))
	}
	if len(sel.except) > 0 {
		names := make([]string, len(sel.except))
		for i, name := range sel.except {
			names[i] = string(name)
		}
		s.WriteString(" AND " + sel.dialect.Position(s.arg(joinDelimited("/", names)), "'/' || e.name || '/'") + " = 0")
	}
}

// whole reports whether the selection is all entries of its kind in the folder.
func (sel *selection) whole() bool {
	return sel.visible == access.ShownAll && len(sel.globs) == 0 && len(sel.except) == 0
}

// maxGlobs is the maximal number of name patterns in a query; where rules have more, each name gets
// a decision of its own.
const maxGlobs = 32

// writeGlobs writes the condition that an entry is visible by patterns of names: the first pattern
// that the name matches decides, else sel.visible. It fills up the number of patterns to a power of
// two, so that there are few statements.
func (sel *selection) writeGlobs(s *statement) {
	codes := map[access.ShownEntries]int{access.ShownOwn: 1, access.ShownAll: 2}
	verdict := "CASE"
	n, width := 0, 1
	when := func(glob string, code int) {
		n++
		verdict += " WHEN " + sel.dialect.Like("e.name", s.arg(sel.dialect.GlobPattern(glob))) + " THEN CAST(" +
			s.arg(code) + " AS INTEGER)"
	}
	for _, g := range sel.globs {
		for _, name := range g.Names {
			when(name, codes[g.Files])
		}
	}
	for width < n {
		width *= 2
	}
	for n < width {
		when("/", 0) // no name matches it
	}
	verdict += " ELSE CAST(" + s.arg(codes[sel.visible]) + " AS INTEGER) END"
	s.WriteString(" AND CASE " + verdict + " WHEN 2 THEN 1 WHEN 1 THEN CASE WHEN e.owner_id = " + s.arg(sel.userID) +
		" THEN 1 ELSE 0 END ELSE 0 END = 1")
}

// count returns the number of selected entries, from the cache where it has kept the count.
func (sel *selection) count(q db.Querier, cache *EntryCache) (int64, error) {
	var s statement
	s.WriteString("SELECT COUNT(*) FROM entries e WHERE ")
	counted := *sel
	if len(sel.globs) == 0 && len(sel.except) == 0 { // the index of sums is smaller than that of names
		counted.names = folded
	}
	counted.where(&s)
	of := db.Members{Folder: sel.folder, Kind: sel.kind}
	return cache.count(of, sel.whole(), s.String(), s.args, func() (n int64, err error) {
		if err = q.QueryRow(s.String(), s.args...).Scan(&n); err != nil {
			return 0, fmt.Errorf("count a folder: %w", err)
		}
		return n, nil
	})
}

// window returns the selected entries from offset on in the order o, at most limit. With reverse,
// offset counts from the end; the result is in order all the same. It reads skipped rows from the
// index only.
func (sel *selection) window(q db.Querier, o sortOrder, offset, limit int64, reverse bool) (found []row, err error) {
	var s statement
	s.WriteString("SELECT " + listColumns + " FROM (SELECT e.name FROM entries e WHERE ")
	sel.where(&s)
	s.WriteString(" ORDER BY " + o.orderBy(reverse) + " LIMIT " + s.arg(limit) + " OFFSET " + s.arg(offset) + ") k")
	s.WriteString(" CROSS JOIN entries e WHERE e.parent_id = $1 AND e.name = k.name ORDER BY " + o.orderBy(false))
	err = eachRow(q, &s, func(r *row) { found = append(found, *r) })
	return found, err
}

// each calls found for all selected entries, in the order o. found must not keep its argument.
func (sel *selection) each(q db.Querier, o sortOrder, found func(r *row)) error {
	var s statement
	s.WriteString("SELECT " + listColumns + " FROM entries e WHERE ")
	sel.where(&s)
	s.WriteString(" ORDER BY " + o.orderBy(false))
	return eachRow(q, &s, found)
}

// eachRow calls found for each row of a query that selects listColumns, and closes the rows.
func eachRow(q db.Querier, s *statement, found func(r *row)) error {
	rows, err := q.Query(s.String(), s.args...)
	if err != nil {
		return fmt.Errorf("list entries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var scan rowScan
		if err := rows.Scan(append(scan.columns(), &scan.sortKey)...); err != nil {
			return fmt.Errorf("list entries: %w", err)
		}
		r := scan.done()
		found(&r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list entries: %w", err)
	}
	return nil
}

// protectedIn returns the names of the entries directly in a folder that have a password of their
// own, at most limit.
func protectedIn(q db.Querier, folder string, limit int) ([]vpath.Name, error) {
	found, err := scanStrings(
		q.Query("SELECT name FROM entries WHERE parent_id = $1 AND password_hash IS NOT NULL LIMIT $2", folder, limit))
	if err != nil {
		return nil, fmt.Errorf("list passwords in a folder: %w", err)
	}
	names := make([]vpath.Name, len(found))
	for i, name := range found {
		names[i] = vpath.Name(name)
	}
	return names, nil
}

// foldersWithPasswords returns which of some folders directly contain entries with a password of
// their own.
func foldersWithPasswords(q db.Querier, folders []string) (guarded map[string]bool, err error) {
	guarded = map[string]bool{}
	err = db.EachChunk(folders, func(args []any) error {
		found, err := scanStrings(q.Query(
			"SELECT DISTINCT parent_id FROM entries WHERE password_hash IS NOT NULL AND parent_id "+db.InChunk,
			args...))
		for _, id := range found {
			guarded[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for passwords in folders: %w", err)
	}
	return guarded, nil
}

// childrenNamed reads the entries directly in a folder that have these names, by name. Missing ones
// are left out.
func childrenNamed(q db.Querier, folder string, names []vpath.Name) (map[vpath.Name]row, error) {
	found := make(map[vpath.Name]row, len(names))
	for some := range slices.Chunk(names, 64) {
		var s statement
		s.WriteString("SELECT " + listColumns + " FROM entries e WHERE e.parent_id = " + s.arg(folder) +
			" AND e.name IN (")
		writeInList(&s, some)
		if err := eachRow(q, &s, func(r *row) { found[vpath.Name(r.name)] = *r }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// entriesByID reads entries by their ids, wherever they are. Missing ones are left out.
func entriesByID(q db.Querier, ids []string) (map[string]row, error) {
	found := make(map[string]row, len(ids))
	for some := range slices.Chunk(ids, 64) {
		var s statement
		s.WriteString("SELECT " + listColumns + " FROM entries e WHERE e.id IN (")
		writeInList(&s, some)
		if err := eachRow(q, &s, func(r *row) { found[r.id] = *r }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// writeInList writes up to 64 values of an IN list and the closing parenthesis. It repeats the last
// value to fill one of three lengths, so that there are few statements.
func writeInList[T ~string](s *statement, values []T) {
	length := 64
	for _, fewer := range []int{8, 1} {
		if len(values) <= fewer {
			length = fewer
		}
	}
	for i := range length {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(s.arg(string(values[min(i, len(values)-1)])))
	}
	s.WriteString(")")
}
