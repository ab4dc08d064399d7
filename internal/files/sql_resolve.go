package files

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"larder/internal/db"
	"larder/internal/vpath"
)

// entryColumns are the columns of a row, of entries as e and objects as o, in the order of
// rowScan.columns.
const entryColumns = `e.id, e.parent_id, e.name, e.kind, e.size, e.mime_type, e.owner_id, CASE WHEN e.password_hash IS NULL THEN '' ELSE COALESCE(e.password_id, e.id) END, e.object_id,
	e.custom_title, e.custom_color, e.cover_url, e.icon_emoji, e.manual_position, e.created_at, e.updated_at, e.content_since, o.provider_id, o.key, COALESCE(o.content_id, o.id), o.damaged_at IS NOT NULL`

const (
	folderKind = 0
	fileKind   = 1
)

// configVersionColumn reads the config version along with an answer.
const configVersionColumn = "(SELECT value FROM versions WHERE name = 'config')"

// rowScan holds the scan targets that a row has no fields for.
type rowScan struct {
	row
	kind                                        int
	parentID, objectID, provider, keyN, content sql.NullString
}

// columns returns the scan targets for entryColumns; call done after the scan to get the row.
func (s *rowScan) columns() []any {
	return []any{&s.id, &s.parentID, &s.name, &s.kind, &s.size, &s.mimeType, &s.owner, &s.password, &s.objectID,
		&s.title, &s.color, &s.cover, &s.emoji, &s.position, &s.created, &s.updated, &s.contentSince, &s.provider,
		&s.keyN, &s.content, &s.damaged}
}

// done returns the row that was scanned into the targets of columns.
func (s *rowScan) done() row {
	r := s.row
	r.parent, r.folder, r.object = s.parentID.String, s.kind == folderKind, s.objectID.String
	r.provider, r.key, r.content = s.provider.String, keyOf(s.keyN.String), s.content.String
	return r
}

// trailColumn is the SQL expression for one entry of a trail, from the table alias: `id,owner;` or,
// with the id of its password, `id,owner!password;`. parseTrail reads it.
func trailColumn(table string) string {
	return table + ".id || ',' || " + table + ".owner_id || CASE WHEN " + table +
		".password_hash IS NULL THEN ';' ELSE '!' || COALESCE(" + table +
		".password_id, " + table + ".id) || ';' END"
}

// maxJoins is the number of levels that queries follow by joins, which take half the time of
// recursion; engines limit the joins in a query.
const maxJoins = 10

// entrySelect follows the trail in a query: the config version and the entry, with its object.
const entrySelect = ", " + configVersionColumn + ", " + entryColumns + "\nFROM "

// wholePathQueries are the queries that find an entry by its whole path, by number of names. They
// return nothing when a name is missing. Their texts are constant, so that they are prepared once.
var wholePathQueries = func() (texts [maxJoins + 1]string) {
	for depth := range texts {
		trail, from, last := trailColumn("e0"), "entries e0", "e0"
		for i := 1; i <= depth; i++ {
			above := last
			last = fmt.Sprintf("e%d", i)
			trail += " || " + trailColumn(last)
			from += fmt.Sprintf("\n\tJOIN entries %s ON %s.parent_id = %s.id AND %s.name = $%d", last, last, above,
				last, i+1)
		}
		texts[depth] = "SELECT " + trail + strings.ReplaceAll(entrySelect, "e.", last+".") + from +
			"\n\tLEFT JOIN objects o ON o.id = " + last + ".object_id\nWHERE e0.id = $1"
	}
	return texts
}()

// partialPathQueries are the queries that find the deepest existing entry on a path, by number of
// names. Each text is made when it is first needed: all of them would take a third of the start of
// the process, and a child process that reads a picture needs none.
var partialPathQueries = func() (texts [vpath.MaxDepth + 2]func() string) {
	for depth := range texts {
		texts[depth] = sync.OnceValue(func() string { return partialPathQuery(depth) })
	}
	return texts
}()

// partialPathQuery returns the query of partialPathQueries for a path of depth names.
func partialPathQuery(depth int) string {
	walk := partialPathByJoins(depth)
	if depth > maxJoins {
		walk = partialPathByRecursion(depth)
	}
	return walk + "\nSELECT w.trail" + entrySelect + `w
JOIN entries e ON e.id = w.id
LEFT JOIN objects o ON o.id = e.object_id`
}

// partialPathByJoins returns the SQL text of a query w for a path of depth names: the id of the
// deepest existing entry on it, and its trail. $1 is the entry where the path begins, $2 and on are
// the names.
func partialPathByJoins(depth int) string {
	id, trail, from := "e0.id", trailColumn("e0"), "entries e0"
	for i := 1; i <= depth; i++ {
		e := fmt.Sprintf("e%d", i)
		id = e + ".id, " + id
		trail += " || COALESCE(" + trailColumn(e) + ", '')"
		from += fmt.Sprintf("\n\tLEFT JOIN entries %s ON %s.parent_id = e%d.id AND %s.name = $%d", e, e, i-1, e, i+1)
	}
	if depth > 0 {
		id = "COALESCE(" + id + ")"
	}
	return "WITH w (id, trail) AS (\n\tSELECT " + id + ", " + trail + "\n\tFROM " + from + "\n\tWHERE e0.id = $1\n)"
}

// partialPathByRecursion returns the SQL text of a query w for a path of any depth: the id of the
// deepest existing entry on it, and its trail. It takes about twice the time of partialPathByJoins.
func partialPathByRecursion(depth int) string {
	var b strings.Builder
	b.WriteString("WITH RECURSIVE walk (n, id, trail) AS (\n\tSELECT 0, e.id, " + trailColumn("e") +
		"\n\tFROM entries e\n\tWHERE e.id = $1\n")
	b.WriteString("\tUNION ALL\n\tSELECT w.n + 1, e.id, w.trail || " + trailColumn("e") +
		"\n\tFROM walk w JOIN entries e ON e.parent_id = w.id\n\tAND e.name = CASE w.n")
	for i := range depth {
		fmt.Fprintf(&b, " WHEN %d THEN CAST($%d AS TEXT)", i, i+2)
	}
	b.WriteString(" END\n),\nw (id, trail) AS (\n\tSELECT id, trail FROM walk ORDER BY n DESC LIMIT 1\n)")
	return b.String()
}

// descend follows names down from the entry id, in one query, or two when a name is missing. The
// node is the deepest existing entry, without mount and path, with the names that are missing; it
// is empty, with all names missing, when the start does not exist. configVersion is the config
// version at that moment.
func descend(q db.Querier, id string, names []vpath.Name) (n node, configVersion int64, err error) {
	if len(names) >= len(partialPathQueries) {
		return node{}, 0, fmt.Errorf("resolve a path of %d levels", len(names))
	}
	args := make([]any, 0, len(names)+1)
	args = append(args, id)
	for _, name := range names {
		args = append(args, string(name))
	}
	var s rowScan
	var trail string
	dest := append([]any{&trail, &configVersion}, s.columns()...)
	err = db.ErrNoRows
	if len(names) <= maxJoins {
		err = q.QueryRow(wholePathQueries[len(names)], args...).Scan(dest...)
	}
	if errors.Is(err, db.ErrNoRows) {
		err = q.QueryRow(partialPathQueries[len(names)](), args...).Scan(dest...)
	}
	if errors.Is(err, db.ErrNoRows) {
		configVersion, err = db.ConfigVersion(q)
		return node{missing: names}, configVersion, err
	}
	if err != nil {
		return node{}, 0, fmt.Errorf("resolve path: %w", err)
	}
	n = node{row: s.done(), trail: parseTrail(trail)}
	if depth := len(n.trail) - 1; depth < len(names) {
		n.missing = names[depth:]
	}
	return n, configVersion, nil
}

// ancestry is an entry with its ancestors.
type ancestry struct {
	row
	root    string   // ancestor without a parent
	names   []string // from below the root down to the entry
	trail   []trailEntry
	version int64
}

// Where readAncestors starts.
const (
	byEntry = "$1"
	byLink  = "(SELECT entry_id FROM links WHERE id = $1)"
)

// ancestryQueries are the queries of readAncestors by start. The first follows a fixed number of
// parents by joins, and returns nothing for deeper entries; the second follows all by recursion. No
// tree is deeper than paths may be, so its limit is never reached.
var ancestryQueries = map[string][2]string{byEntry: {ancestryByJoins(byEntry), ancestryByRecursion("= " + byEntry)},
	byLink: {ancestryByJoins(byLink), ancestryByRecursion("= " + byLink)}}

// ancestryByJoins returns the SQL text that selects, for the entry whose id the SQL expression
// start gives: the id of its root, its path below the root, its trail (see parseTrail), the config
// version, and the entry itself with its object. The query has no row for an entry that is more
// than maxJoins levels below its root.
func ancestryByJoins(start string) string {
	root, path, trail, from := "e.id", "CASE WHEN e.parent_id IS NULL THEN '' ELSE '/' || e.name END", trailColumn(
		"e"), "entries e"
	below := "e"
	for i := 1; i <= maxJoins; i++ {
		e := fmt.Sprintf("e%d", i)
		root = e + ".id, " + root
		path = "CASE WHEN " + e + ".parent_id IS NULL THEN '' ELSE '/' || " + e + ".name END || " + path
		trail = "COALESCE(" + trailColumn(e) + ", '') || " + trail
		from += fmt.Sprintf("\n\tLEFT JOIN entries %s ON %s.id = %s.parent_id", e, e, below)
		below = e
	}
	return "SELECT COALESCE(" + root + "), " + path + ", " + trail + entrySelect + from +
		"\n\tLEFT JOIN objects o ON o.id = e.object_id\nWHERE e.id = " + start + " AND " + below + ".parent_id IS NULL"
}

// ancestryByRecursion returns the SQL text that selects the same as ancestryByJoins for all entries
// whose ids match the SQL condition which. The entries may be at any depth, up to 200 levels below
// their root.
func ancestryByRecursion(which string) string {
	return `WITH RECURSIVE up (start, n, id, parent, path, trail) AS (
	SELECT e.id, 0, e.id, e.parent_id, CASE WHEN e.parent_id IS NULL THEN '' ELSE '/' || e.name END, ` +
		trailColumn("e") + `
	FROM entries e
	WHERE e.id ` + which + `
	UNION ALL
	SELECT u.start, u.n + 1, e.id, e.parent_id,
		CASE WHEN e.parent_id IS NULL THEN u.path ELSE '/' || e.name || u.path END, ` + trailColumn("e") + ` || u.trail
	FROM up u JOIN entries e ON e.id = u.parent
	WHERE u.n < 200
)
SELECT u.id, u.path, u.trail` + entrySelect + `up u
JOIN entries e ON e.id = u.start
LEFT JOIN objects o ON o.id = e.object_id
WHERE u.parent IS NULL`
}

// readAncestors follows the parents of an entry up to its root, in one query, or two when it is
// deep or does not exist. start says whether id is that of the entry or of a permanent link to it
// (byEntry, byLink). The result is empty when there is no such entry.
func readAncestors(q db.Querier, start, id string) (ancestry, error) {
	c, err := scanAncestry(q.QueryRow(ancestryQueries[start][0], id).Scan)
	if errors.Is(err, db.ErrNoRows) {
		c, err = scanAncestry(q.QueryRow(ancestryQueries[start][1], id).Scan)
	}
	if errors.Is(err, db.ErrNoRows) {
		return ancestry{}, nil
	}
	if err != nil {
		return ancestry{}, fmt.Errorf("look up entry: %w", err)
	}
	return c, nil
}

// ancestorsOfAllQuery is the query of readAncestorsOfAll.
var ancestorsOfAllQuery = ancestryByRecursion(db.InChunk)

// readAncestorsOfAll follows the parents of entries up to their roots, as readAncestors does for
// one. It returns them by their ids, without those that do not exist, and the newest config version
// that a query read: 0 when there is no entry.
func readAncestorsOfAll(q db.Querier, ids []string) (found map[string]ancestry, version int64, err error) {
	found = make(map[string]ancestry, len(ids))
	err = db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query(ancestorsOfAllQuery, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			c, err := scanAncestry(rows.Scan)
			if err != nil {
				return err
			}
			found[c.id], version = c, max(version, c.version)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("look up entries: %w", err)
	}
	return found, version, nil
}

// scanAncestry reads a row of ancestryByJoins or ancestryByRecursion.
func scanAncestry(scan func(dest ...any) error) (c ancestry, err error) {
	var s rowScan
	var path, trail string
	if err := scan(append([]any{&c.root, &path, &trail, &c.version}, s.columns()...)...); err != nil {
		return ancestry{}, err
	}
	c.row, c.trail = s.done(), parseTrail(trail)
	if path != "" {
		c.names = strings.Split(path[1:], "/")
	}
	return c, nil
}

// existingEntries returns which of the ids have a row in entries, the trash and graveyard included.
func existingEntries(q db.Querier, ids []string) (map[string]bool, error) {
	there := map[string]bool{}
	err := db.EachChunk(ids, func(args []any) error {
		rows, err := q.Query("SELECT id FROM entries WHERE id "+db.InChunk, args...)
		found, err := scanStrings(rows, err)
		for _, id := range found {
			there[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look entries up: %w", err)
	}
	return there, nil
}
