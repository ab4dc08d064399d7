package files

import (
	"database/sql"
	"fmt"
	"strings"

	"larder/internal/db"
)

// coverCandidates reads the first pictures directly in each of some folders, in the order of their
// names, at most maxCoverCandidates of each: id, name, owner and password. It needs db.HasCovers.
func coverCandidates(q db.Querier, folders []string) (map[string][]row, error) {
	found := make(map[string][]row, len(folders))
	err := db.EachChunk(folders, func(args []any) error {
		rows, err := q.Query(coverCandidatesQuery, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var folder string
			var pictures sql.NullString
			if err := rows.Scan(&folder, &pictures); err != nil {
				return err
			}
			if pictures.Valid {
				found[folder] = parseCandidates(folder, pictures.String)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read the first pictures of folders: %w", err)
	}
	return found, nil
}

// coverCandidatesQuery selects, for one chunk of folders, the id of each folder, and a text with
// the first pictures in it, NULL without any. The text contains, for each picture, `id,owner;`
// or `id,owner!password;` as a trail does (see parseTrail), its name, and a slash.
var coverCandidatesQuery = fmt.Sprintf(`
	SELECT f.id, (
		SELECT string_agg(p.picture, '')
		FROM (
			SELECT %s || c.name || '/' AS picture
			FROM entries c
			WHERE c.parent_id = f.id AND %s
			ORDER BY c.sort_key, c.name
			LIMIT %d
		) p
	)
	FROM entries f
	WHERE f.id %s`, trailColumn("c"), db.CoverPicture, maxCoverCandidates, db.InChunk)

// parseCandidates parses the pictures of a folder that coverCandidatesQuery selects.
func parseCandidates(folder, pictures string) []row {
	candidates := make([]row, 0, strings.Count(pictures, "/"))
	for part := range strings.SplitSeq(strings.TrimSuffix(pictures, "/"), "/") {
		at, name, _ := strings.Cut(part, ";")
		level := parseTrail(at + ";")[0]
		candidates = append(candidates, row{id: level.id, parent: folder, name: name, owner: level.owner,
			password: level.password})
	}
	return candidates
}
