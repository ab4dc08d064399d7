package files

import (
	"fmt"

	"larder/internal/db"
)

// filesBelow reports whether there is a file in a folder, at any depth.
func filesBelow(q db.Querier, folder string) (found bool, err error) {
	err = q.QueryRow(foldersBelow+`SELECT EXISTS (
		SELECT 1 FROM sub s JOIN entries e ON e.parent_id = s.id AND e.kind = 1)`, folder).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for files in a mount: %w", err)
	}
	return found, nil
}
