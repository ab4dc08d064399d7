package files

import (
	"errors"
	"fmt"

	"larder/internal/db"
)

// filePropertiesOf reads the FileProperties of a file. Fault: NotFound.
func filePropertiesOf(q db.Querier, id string) (p FileProperties, err error) {
	err = q.QueryRow(`
		SELECT COALESCE(u.username, ''), COALESCE(o.sha256, '')
		FROM entries e
			JOIN objects o ON o.id = e.object_id
			LEFT JOIN users u ON u.id = e.owner_id
		WHERE e.id = $1`, id).Scan(&p.Owner, &p.SHA256)
	if errors.Is(err, db.ErrNoRows) { // it was deleted since the caller found it
		return FileProperties{}, noEntry()
	}
	if err != nil {
		return FileProperties{}, fmt.Errorf("read further properties of a file: %w", err)
	}
	return p, nil
}
