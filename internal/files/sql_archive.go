package files

import (
	"context"
	"database/sql"
	"fmt"
)

// archiveRow is an entry as it is read for an archive.
type archiveRow struct {
	row
	orderKey string // of the order of names
	checksum string // SHA-256 of the object, hexadecimal, "" where it is not known
}

// pageOfFolder reads the files or folders (kind) directly in the folder at that come after its
// position at.after in the order of names, at most limit.
func (w *archiveWalk) pageOfFolder(ctx context.Context, at *folderCursor, kind, limit int) (page []archiveRow,
	err error) {
	rows, err := w.tree.DB.Read(ctx).Query(`
		SELECT `+listColumns+`, e.`+w.names.column()+`, o.sha256
		FROM entries e LEFT JOIN objects o ON o.id = e.object_id
		WHERE e.parent_id = $1 AND e.kind = $2 AND `+w.names.after(w.tree.DB.Dialect(), "$3", "$4")+`
		ORDER BY `+w.names.orderBy("")+`
		LIMIT $5`, at.id, kind, at.after.key, at.after.name, limit)
	if err != nil {
		return nil, fmt.Errorf("read a folder for an archive: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var scan rowScan
		var p archiveRow
		var sum sql.NullString
		if err := rows.Scan(append(scan.columns(), &scan.sortKey, &p.orderKey, &sum)...); err != nil {
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
