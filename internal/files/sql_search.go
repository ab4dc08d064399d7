package files

import (
	"fmt"
	"strings"

	"larder/internal/db"
	"larder/internal/vpath"
)

// searchQuery is the visible files or folders below the start folders of a search whose name
// contains its text and which its filter selects.
type searchQuery struct {
	*searcher
	kind int
}

// writeFolderWalk writes into s the recursive query sub, which walks down over all folders below
// the start folders. It has for each its start folder, its code (which entries in it the actor
// sees), path and trail from the start folder, and whether a password hides its content from the
// actor. It returns the placeholder of the actor's id.
func (sq *searchQuery) writeFolderWalk(s *statement) (me string) {
	at := sq.dialect.Position
	me = s.arg(sq.Actor.UserID)
	unlocked := s.arg(joinDelimited(",", sq.unlockedIDs()))
	changes := "CAST(" + s.arg(joinDelimited(",", sq.ownCodes)) + " AS TEXT)"
	bars := 0
	if sq.passwordsApply() {
		bars = 1
	}
	s.WriteString("WITH RECURSIVE seeds (n, id, code, barred) AS (")
	sq.writeStarts(s)
	key := "',' || e.id || '='"
	s.WriteString(`),
sub (seed, id, path, trail, code, barred) AS (
	SELECT w.n, e.id, substr(e.name, 1, 0), substr(e.name, 1, 0), w.code, w.barred
	FROM seeds w JOIN entries e ON e.id = w.id
	UNION ALL
	SELECT s.seed, e.id, s.path || '/' || e.name, s.trail || ` + trailColumn("e") + `,
		CASE WHEN ` + at(changes, key) + ` > 0 THEN substr(` + changes + `, ` + at(changes, key) +
		` + length(e.id) + 2, 2)
			WHEN s.code = '` + codeNone + `' THEN '` + codeNoneBelow + `' ELSE s.code END,
		CASE WHEN e.password_hash IS NULL THEN s.barred
			WHEN e.owner_id = ` + me + ` OR ` + at(unlocked, "',' || COALESCE(e.password_id, e.id) || ','") +
		` > 0 THEN 0
			ELSE CAST(` + s.arg(bars) + ` AS INTEGER) END
	FROM sub s CROSS JOIN entries e
	WHERE s.code <> '` + codeNoneBelow + `' AND e.parent_id = s.id AND e.kind = 0
)`)
	return me
}

// writeStarts writes the start folders as VALUES, with number, id, code and whether a password
// hides their content. It fills them up to a power of four, so that there are few statements.
func (sq *searchQuery) writeStarts(s *statement) {
	width := 1
	for width < len(sq.startFolders) {
		width *= 4
	}
	s.WriteString("VALUES ")
	for i := range width {
		var id, code string
		barred := 0
		if i < len(sq.startFolders) {
			id, code = sq.startFolders[i].id, sq.startFolders[i].code
			if sq.startFolders[i].needsPassword {
				barred = 1
			}
		}
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(s, "(%d, CAST(%s AS TEXT), CAST(%s AS TEXT), CAST(%s AS INTEGER))", i, s.arg(id), s.arg(code),
			s.arg(barred))
	}
}

// where writes the conditions for a match, with folders of the walk as s and entries in them as e.
// me is the placeholder of the actor's id.
func (sq *searchQuery) where(s *statement, me string) {
	code := "substr(s.code, 1, 1)"
	if sq.kind == folderKind {
		code = "substr(s.code, 2, 1)"
	}
	fmt.Fprintf(s, "e.parent_id = s.id AND e.kind = %d%s AND s.barred = 0 AND %s > 0", sq.kind,
		sq.order.names.indexed(sq.dialect),
		sq.dialect.Position("e.name_fold", s.arg(sq.text)))
	sq.filter.write(s)
	s.WriteString(" AND (" + code + " IN ('2', '?') OR " + code + " = '1' AND e.owner_id = " + me + ")")
	if len(sq.except) > 0 {
		s.WriteString(" AND " + sq.dialect.Position(s.arg(joinDelimited(",", sq.except)), "',' || e.id || "+
			"','") + " = 0")
	}
}

// count returns the number of files or folders below the start folders that the search finds.
func (sq *searchQuery) count(q db.Querier) (n int64, err error) {
	var s statement
	me := sq.writeFolderWalk(&s)
	s.WriteString("\nSELECT COUNT(*) FROM sub s CROSS JOIN entries e WHERE ")
	sq.where(&s, me)
	if err = q.QueryRow(s.String(), s.args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what a search finds: %w", err)
	}
	return n, nil
}

// window calls found for the matches from offset on, in order and at most limit; with reverse,
// offset counts from the end. It searches names in the index, and reads only the rows of the
// window.
func (sq *searchQuery) window(q db.Querier, offset, limit int64, reverse bool, found func(match)) error {
	var s statement
	me := sq.writeFolderWalk(&s)
	s.WriteString(
		",\npage (seed, folder, name) AS MATERIALIZED (SELECT s.seed, s.id, e.name FROM sub s CROSS JOIN entries e " +
			"WHERE ")
	sq.where(&s, me)
	if limit != noLimit {
		s.WriteString(" ORDER BY " + sq.orderBy(reverse) + " LIMIT " + s.arg(limit) + " OFFSET " + s.arg(offset))
	}
	s.WriteString(")\nSELECT s.seed, s.path, s.trail, COALESCE(e.taken_at, e.created_at), COALESCE(e.ratio, 0), " +
		listColumns +
		" FROM page p JOIN sub s ON s.seed = p.seed AND s.id = p.folder" +
		" JOIN entries e ON e.parent_id = p.folder AND e.name = p.name ORDER BY " + sq.orderBy(false))
	return eachMatch(q, &s, found)
}

// orderBy is the order of the matches for ORDER BY. It also distinguishes equal names in different
// folders, and one folder that is mounted twice. reverse inverts all of it.
func (sq *searchQuery) orderBy(reverse bool) string {
	tie := ""
	if reverse {
		tie = " DESC"
	}
	return sq.order.orderBy(reverse) + ", e.parent_id" + tie + ", s.seed" + tie
}

// eachMatch calls found for each row of a search, and closes the rows.
func eachMatch(q db.Querier, s *statement, found func(match)) error {
	rows, err := q.Query(s.String(), s.args...)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var scan rowScan
		var m match
		columns := append([]any{&m.start, &m.path, &m.trail, &m.time, &m.ratio}, scan.columns()...)
		if err := rows.Scan(append(columns, &scan.sortKey)...); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		m.row = scan.done()
		found(m)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// segments splits a path such as `/a/b`, as a query concatenates it, into names; none for "".
func segments(path string) []vpath.Name {
	if path == "" {
		return nil
	}
	parts := strings.Split(path[1:], "/")
	names := make([]vpath.Name, len(parts))
	for i, part := range parts {
		names[i] = vpath.Name(part)
	}
	return names
}
