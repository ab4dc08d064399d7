package files

import (
	"database/sql"
	"fmt"

	"larder/internal/db"
)

// archiveRow is an entry as it is read for an archive.
type archiveRow struct {
	row
	fold     string
	checksum string // SHA-256 of the object, hexadecimal, "" where it is not known
}

// pageOfFolder reads the files or folders of a folder that come after one in the order of their
// names.
func pageOfFolder(q db.Querier, folder string, kind int, after sortKey, limit int) (page []archiveRow, err error) {
	rows, err := q.Query(`
		SELECT `+listColumns+`, e.name_fold, o.sha256
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.kind = $2 AND (e.name_fold, e.name) > ($3, $4)
		ORDER BY e.name_fold, e.name
		LIMIT $5`, folder, kind, after.fold, after.name, limit)
	if err != nil {
		return nil, fmt.Errorf("read a folder for an archive: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var scan rowScan
		var p archiveRow
		var sum sql.NullString
		if err := rows.Scan(append(scan.columns(), &p.fold, &sum)...); err != nil {
			return nil, fmt.Errorf("read a folder for an archive: %w", err)
		}
		p.row, p.checksum = scan.done(), sum.String
		page = append(page, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read a folder for an archive: %w", err)
	}
	return page, nil
}
