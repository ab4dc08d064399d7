package files

import (
	"fmt"
	"math"
	"strings"

	"larder/internal/db"
	"larder/internal/vpath"
)

// listColumns are entryColumns without an object.
var listColumns = strings.Replace(entryColumns, "o.provider_id, o.key", "NULL, NULL", 1)

// everyRow is a limit that bounds nothing.
const everyRow = math.MaxInt64

// orderBy is an ordering in SQL.
func (o ordering) orderBy() string {
	direction := ""
	if o.desc {
		direction = " DESC"
	}
	switch o.key {
	case "time":
		return "e.kind, e.updated_at" + direction + ", e.name_fold, e.name"
	case "size":
		return "e.kind, e.size" + direction + ", e.name_fold, e.name"
	case "manual":
		return "e.kind, e.manual_position IS NULL, e.manual_position" + direction + ", e.name_fold, e.name"
	}
	return "e.kind, e.name_fold" + direction + ", e.name" + direction
}

// filter is the condition on kind (-1 for both) and, by parameter number, on the owner ("" for anybody).
func filter(kind int, owner string, parameter int, args []any) (string, []any) {
	condition := ""
	switch kind {
	case folderKind:
		condition = " AND e.kind = 0"
	case fileKind:
		condition = " AND e.kind = 1"
	}
	if owner == "" {
		return condition, args
	}
	return condition + fmt.Sprintf(" AND e.owner_id = $%d", parameter), append(args, owner)
}

func countChildren(q db.Querier, folder string, kind int, owner string) (n int, err error) {
	condition, args := filter(kind, owner, 2, []any{folder})
	err = q.QueryRow("SELECT COUNT(*) FROM entries e WHERE e.parent_id = $1"+condition, args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count a folder: %w", err)
	}
	return n, nil
}

// eachChild calls found for the entries in a folder on one page, in order.
func eachChild(q db.Querier, folder string, p page, owner string, found func(r *row)) error {
	condition, args := filter(p.kind, owner, 4, []any{folder, p.limit, p.offset})
	rows, err := q.Query("SELECT "+listColumns+" FROM entries e WHERE e.parent_id = $1"+condition+
		" ORDER BY "+p.order.orderBy()+" LIMIT $2 OFFSET $3", args...)
	if err != nil {
		return fmt.Errorf("list a folder: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s rowScan
		if err := rows.Scan(s.columns()...); err != nil {
			return fmt.Errorf("list a folder: %w", err)
		}
		r := s.done()
		found(&r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list a folder: %w", err)
	}
	return nil
}

// eachMatch calls found, in p's order, for every entry below a folder whose folded name contains text; path and trail are those of the
// folders between.
func eachMatch(q db.Querier, folder, text string, p page, found func(path string, trail []level, r *row)) error {
	condition, _ := filter(p.kind, "", 0, nil)
	pattern := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(vpath.Fold(text)) + "%"
	rows, err := q.Query(`
		WITH RECURSIVE sub (id, path, trail) AS (
			SELECT e.id, substr(e.name, 1, 0), substr(e.name, 1, 0)
			FROM entries e
			WHERE e.id = $1
			UNION ALL
			SELECT e.id, s.path || '/' || e.name, s.trail || `+trailOf("e")+`
			FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 0
		)
		SELECT s.path, s.trail, `+listColumns+`
		FROM sub s JOIN entries e ON e.parent_id = s.id
		WHERE e.name_fold LIKE $2 ESCAPE '\'`+condition+`
		ORDER BY `+p.order.orderBy()+`, e.id`, folder, pattern)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s rowScan
		var path, trail string
		if err := rows.Scan(append([]any{&path, &trail}, s.columns()...)...); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		r := s.done()
		found(path, parseTrail(trail), &r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// segments splits `/a/b` as a query has put it together.
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
